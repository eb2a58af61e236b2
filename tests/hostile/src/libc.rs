//! Functions of the C library that Rust's standard library does not provide.
#![allow(unsafe_code, reason = "functions of C")]

use std::ffi::{CString, c_char, c_int};
use std::io;

/// Creates a symbolic link with an arbitrary target.
pub(crate) fn symlink(target: &str, path: &str) -> io::Result<()> {
    unsafe extern "C" {
        fn symlink(target: *const c_char, path: *const c_char) -> c_int;
    }
    let (target, path) = (CString::new(target)?, CString::new(path)?);
    // SAFETY: both are NUL-terminated strings that live until the call returns.
    match unsafe { symlink(target.as_ptr(), path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
