//! Reads the memory and the descriptors of a confined program through `/proc`.
//!
//! A thread ID can be reused after the thread ends. Therefore, callers check after reading that
//! the thread still waits for the answer to its system call; until then, nothing that was read may
//! be used.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::linux::kernel;

/// Maximum number of bytes of a path, with its terminating NUL byte.
const MAX_PATH_BYTES: usize = 4096;
/// Memory is readable in units of pages.
const PAGE_BYTES: u64 = 4096;

/// A thread of the confined program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread(pub(crate) u32);

/// The file behind a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DescriptorTarget {
    /// A socket with this inode number.
    Socket(u64),
    /// Another file, with its path or description.
    Other(PathBuf),
}

/// The flags of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DescriptorFlags {
    pub(crate) nonblocking: bool,
    pub(crate) close_on_execution: bool,
}

impl Thread {
    /// Reads memory.
    ///
    /// # Errors
    /// Returns an error if the memory is not readable, or this process may not read it.
    pub(crate) fn read(self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.memory()?.read_exact_at(buffer, address)
    }

    /// Reads bytes up to a NUL byte, which is not part of the result.
    ///
    /// # Errors
    /// Returns an error if the memory is not readable, or if there is no NUL in the first 4,096
    /// bytes.
    pub(crate) fn read_string(self, address: u64) -> io::Result<OsString> {
        let memory = self.memory()?;
        let mut text = Vec::new();
        let mut at = address;
        while text.len() < MAX_PATH_BYTES {
            // The page after the string may not be readable.
            let length = usize::try_from(PAGE_BYTES - at % PAGE_BYTES).unwrap_or(1);
            let mut page = vec![0; length];
            memory.read_exact_at(&mut page, at)?;
            if let Some(end) = page.iter().position(|byte| *byte == 0) {
                text.extend(&page[..end]);
                return Ok(OsStr::from_bytes(&text).to_owned());
            }
            text.extend(&page);
            at = at.checked_add(length as u64).ok_or(io::ErrorKind::InvalidInput)?;
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn memory(self) -> io::Result<File> {
        File::open(format!("/proc/{}/mem", self.0))
    }

    /// Returns a copy of a descriptor of the thread's process.
    ///
    /// # Errors
    /// Returns an error if the process has ended or the descriptor is not open.
    pub(crate) fn copy_of_descriptor(self, number: i32) -> io::Result<OwnedFd> {
        let status = std::fs::read_to_string(self.directory().join("status"))?;
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
        kernel::copy_descriptor(process.ok_or(io::ErrorKind::InvalidData)?, number)
    }

    /// Returns the file behind a descriptor.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not open.
    pub(crate) fn descriptor(self, number: i32) -> io::Result<DescriptorTarget> {
        let target = std::fs::read_link(self.descriptor_path(number))?;
        let inode = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
        Ok(match inode.and_then(|inode| inode.parse().ok()) {
            Some(inode) => DescriptorTarget::Socket(inode),
            None => DescriptorTarget::Other(target),
        })
    }

    /// Returns the path at which this process can open the file behind a descriptor.
    pub(crate) fn descriptor_path(self, number: i32) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{number}", self.0))
    }

    /// Returns the path at which this process finds the files of the thread.
    pub(crate) fn directory(self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.0))
    }

    /// Replaces a link that denotes the process which opens the path. For this process, it would denote
    /// other files. Returns nothing for other paths.
    pub(crate) fn own_path(self, path: &Path) -> Option<PathBuf> {
        let links = [("/proc/self", ""), ("/proc/thread-self", ""), ("/dev/fd", "fd")];
        let (rest, below) =
            links.iter().find_map(|(link, below)| Some((path.strip_prefix(link).ok()?, below)))?;
        Some(self.directory().join(below).join(rest))
    }

    /// Returns the path at which this process can open the thread's working directory.
    pub(crate) fn working_directory(self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/cwd", self.0))
    }

    /// Returns the flags of a descriptor.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not open.
    pub(crate) fn descriptor_flags(self, number: i32) -> io::Result<DescriptorFlags> {
        let text = std::fs::read_to_string(format!("/proc/{}/fdinfo/{number}", self.0))?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
        let flags = flags.ok_or(io::ErrorKind::InvalidData)?;
        Ok(DescriptorFlags {
            nonblocking: flags & libc::O_NONBLOCK != 0,
            close_on_execution: flags & libc::O_CLOEXEC != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd as _;

    use super::*;

    fn this_thread() -> Thread {
        Thread(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned())
    }

    #[test]
    fn memory_and_strings_are_read() {
        let text = b"/etc/passwd\0rest".to_vec();
        let thread = this_thread();
        assert_eq!(thread.read_string(text.as_ptr() as u64).unwrap(), "/etc/passwd");
        let mut bytes = [0; 4];
        thread.read(text.as_ptr() as u64, &mut bytes).unwrap();
        assert_eq!(&bytes, b"/etc");
        let endless = vec![b'a'; 2 * MAX_PATH_BYTES];
        assert!(thread.read_string(endless.as_ptr() as u64).is_err());
        for invalid in [0, 1, u64::MAX, u64::MAX - 5000, 1 << 63] {
            assert!(thread.read(invalid, &mut bytes).is_err(), "{invalid}");
            assert!(thread.read_string(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn descriptors_are_identified() {
        let thread = this_thread();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = thread.descriptor(socket.as_raw_fd()).unwrap();
        assert!(matches!(found, DescriptorTarget::Socket(_)), "{found:?}");
        socket.set_nonblocking(true).unwrap();
        let flags = thread.descriptor_flags(socket.as_raw_fd()).unwrap();
        assert_eq!(flags, DescriptorFlags { nonblocking: true, close_on_execution: true });
        let file = File::open("/dev/null").unwrap();
        let found = thread.descriptor(file.as_raw_fd()).unwrap();
        assert_eq!(found, DescriptorTarget::Other("/dev/null".into()));
        assert!(thread.descriptor(1_000_000).is_err() && thread.descriptor(-1).is_err());
    }
}
