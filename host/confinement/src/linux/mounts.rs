//! Mounts of files and directories at other paths.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::linux::namespace_calls::{self as calls, MountAttributes};

/// A file or directory that is mounted, with everything that is mounted in it, at another path.
pub(crate) struct Mount {
    source: CString,
    target: CString,
    attributes: Option<MountAttributes>,
}

impl Mount {
    /// Prepares a mount that has the attributes of the source.
    ///
    /// # Errors
    /// Returns an error if a path contains a NUL byte.
    pub(crate) fn new(source: &Path, target: &Path) -> io::Result<Self> {
        Ok(Self { source: c_string(source)?, target: c_string(target)?, attributes: None })
    }

    /// Adds restrictions.
    pub(crate) fn with_attributes(self, attributes: MountAttributes) -> Self {
        Self { attributes: Some(attributes), ..self }
    }

    /// Mounts it in the process's mount namespace. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the source's path contains a symbolic link, or if the system does not allow it.
    pub(crate) fn perform(&self) -> io::Result<()> {
        calls::bind_mount(&self.source, &self.target)?;
        self.attributes.map_or(Ok(()), |attributes| calls::set_attributes(&self.target, attributes))
    }
}

/// # Errors
/// Returns an error if the path contains a NUL byte.
pub(crate) fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
