//! What the standard library does not offer, and the C library below it does.
#![allow(unsafe_code, reason = "functions of C")]

use std::ffi::{CString, c_char, c_int};
use std::io;

/// Makes a link, whatever it leads to.
pub(crate) fn symlink(target: &str, path: &str) -> io::Result<()> {
    unsafe extern "C" {
        fn symlink(target: *const c_char, path: *const c_char) -> c_int;
    }
    let (target, path) = (CString::new(target)?, CString::new(path)?);
    // SAFETY: both are texts that end in a zero, and live until it returns.
    match unsafe { symlink(target.as_ptr(), path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
