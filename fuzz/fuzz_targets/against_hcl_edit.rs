//! Files in the native syntax that hcl-edit, an independent parser, accepts: Wardian's parser also
//! accepts them, with the same attributes, blocks, labels and literals.

#![no_main]

// The oracle is shared with a test in wardian-lang.
#[path = "../../host/lang/tests/against_hcl_edit/oracle.rs"]
mod oracle;

use hcl::edit as hcl_edit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        oracle::assert_agrees_with_hcl_edit(text);
    }
});
