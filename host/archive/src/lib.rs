//! Unpacks archives from untrusted sources within limits, and copies directory trees.
//!
//! [`unpack`] writes a zip or tar archive to a new directory. [`CheckedZip`] reads a zip archive
//! without unpacking it. Both check everything that an archive states before they use it, and
//! return an error that contains the name of the entry.
//!
//! | property | provider package | module package |
//! |---|---|---|
//! | name | relative, without `.`, `..`, `\`, `:` and control characters | relative, without `..`, `\` and control characters; `./` is ignored |
//! | duplicate names, also a file that is the parent of another | error, regardless of case | error, regardless of case only if file systems of the platform are |
//! | symbolic links | error | if the target is in the directory |
//! | hard links, devices, pipes, sparse files, encrypted files | error | error |
//! | mode | `0755` of the recorded bits, and always readable and writable for the user | the same |
//!
//! Invariants:
//! - no file is written outside of the new directory, and none through a link: links are created
//!   last, after their targets were resolved within the archive;
//! - memory is bounded by the limits, and not by what an archive states: lists of entries, names,
//!   dictionaries of decoders;
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
