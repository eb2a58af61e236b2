//! Unpacks archives from untrusted sources within limits, and copies directory trees.
//!
//! [`unpack`] writes a zip or tar archive to a new directory. [`CheckedZip`] reads a zip archive
//! without unpacking it. Both check every value in an archive's headers before they use it, and
//! return an error that contains the name of the entry.
//!
//! | property | provider package | module package |
//! |---|---|---|
//! | name | relative, without `.`, `..`, `\`, `:` and control characters | relative, without `..`, `\` and control characters; `./` is ignored |
//! | duplicate names, or a file in place of a parent directory | error, case-insensitive | error, case-insensitive if the platform's file systems are |
//! | symbolic links | error | if the target is in the directory |
//! | hard links, devices, pipes, sparse files, encrypted files | error | error |
//! | mode | the recorded mode masked with `0755`, and always readable and writable by the user | the same |
//!
//! Invariants:
//! - no file is written outside of the new directory or through a link: links are created last,
//!   after their targets were resolved within the archive;
//! - the memory for lists of entries, names and decoder dictionaries is bounded by the limits,
//!   regardless of the sizes in an archive's headers;
//! - the checksums of the format are verified, and after an error the new directory is removed.
//!
//! This crate starts no threads, opens no connections, and writes only to the given directory. It
//! is synchronous; async callers run it on a blocking thread.

mod copy_tree;
mod decoder;
mod entry_name;
mod error;
mod extraction;
mod format;
mod limits;
mod name_tree;
mod tar_archive;
mod unpack;
mod zip_archive;

pub use copy_tree::{CopyError, CopyOptions, copy_tree};
pub use error::{ArchiveError, UnpackError};
pub use format::ArchiveFormat;
pub use limits::ArchiveLimits;
pub use unpack::{Unpacked, unpack};
pub use zip_archive::CheckedZip;
