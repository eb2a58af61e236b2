//! File accesses by two plugins. Each byte of the input selects an operation or its argument.
//!
//! Property: no file is opened or changed outside of the grants, even after links, directories and
//! granted paths were created, moved and removed, and after the grants were resolved again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wardian_sandbox::simulate;

fuzz_target!(|data: &[u8]| {
    let root = tempfile::tempdir().expect("a temporary directory is needed");
    let path = root.path().canonicalize().expect("it exists");
    if let Err(escape) = simulate(&path, &mut data.iter()) {
        panic!("{escape}");
    }
});
