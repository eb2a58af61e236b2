//! Lists a directory in batches. Therefore, memory use does not depend on the directory's size.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt as _;

use rustix::fs::FileType;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use rustix::fs::{AtFlags, Dir};

/// A directory that is being listed.
#[derive(Debug)]
pub struct Listing {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    directory: File,
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    entries: Result<Dir, rustix::io::Errno>,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    pub name: OsString,
    /// The type of the name itself. A symbolic link is not followed.
    pub kind: FileType,
}

fn is_itself_or_parent(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl Listing {
    pub(crate) fn new(directory: File) -> Self {
        Self { directory }
    }

    /// Returns the next few kilobytes of names. Returns an empty list at the end.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read.
    pub fn read_piece(&mut self) -> io::Result<Vec<DirectoryEntry>> {
        use std::mem::MaybeUninit;

        use rustix::fs::{AtFlags, RawDir, statat};
        const PIECE: usize = 8 << 10;
        let mut buffer = [MaybeUninit::<u8>::uninit(); PIECE];
        let mut entries = Vec::new();
        let mut raw = RawDir::new(&self.directory, &mut buffer);
        while let Some(entry) = raw.next() {
            let entry = entry?;
            if !is_itself_or_parent(entry.file_name().to_bytes()) {
                let kind = match entry.file_type() {
                    FileType::Unknown => {
                        statat(&self.directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                            .map_or(FileType::Unknown, |metadata| FileType::from_raw_mode(metadata.st_mode))
                    }
                    kind => kind,
                };
                entries.push(DirectoryEntry {
                    name: OsString::from_vec(entry.file_name().to_bytes().to_vec()),
                    kind,
                });
            }
            // A chunk with only `.` and `..` does not mean that the listing is complete.
            if raw.is_buffer_empty() && !entries.is_empty() {
                break;
            }
        }
        Ok(entries)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl Listing {
    pub(crate) fn new(directory: File) -> Self {
        Self { entries: Dir::new(directory) }
    }

    /// Returns the next few names. Returns an empty list at the end.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read.
    pub fn read_piece(&mut self) -> io::Result<Vec<DirectoryEntry>> {
        const PIECE: usize = 128;
        let directory = self.entries.as_mut().map_err(|error| *error)?;
        let mut entries = Vec::new();
        while entries.len() < PIECE
            && let Some(entry) = directory.read()
        {
            let entry = entry?;
            if is_itself_or_parent(entry.file_name().to_bytes()) {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    rustix::fs::statat(directory.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                        .map_or(FileType::Unknown, |metadata| FileType::from_raw_mode(metadata.st_mode))
                }
                kind => kind,
            };
            entries.push(DirectoryEntry {
                name: OsString::from_vec(entry.file_name().to_bytes().to_vec()),
                kind,
            });
        }
        Ok(entries)
    }
}
