//! The reason why an archive is rejected.

use std::io;
use std::path::PathBuf;

use zip::result::ZipError;

/// Maximum length of a name in a message.
const MAX_SHOWN_NAME_BYTES: usize = 200;

/// An archive that could not be unpacked.
#[derive(Debug, thiserror::Error)]
#[error("failed to unpack {}: {problem}", archive.display())]
pub struct UnpackError {
    pub archive: PathBuf,
    pub problem: ArchiveError,
}

/// The reason why an archive is rejected. The subject of the sentence is "it", the archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The archive could not be read.
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The file is not a zip archive, or is damaged.
    #[error("{0}")]
    Zip(#[source] ZipError),
    /// The file is not a tar archive, is not compressed as expected, or is damaged.
    #[error("it is not a {format} archive, or it is damaged: {source}")]
    Damaged { format: crate::ArchiveFormat, source: io::Error },
    /// The archive is truncated.
    #[error("it is incomplete: {0}")]
    Incomplete(&'static str),
    #[error("it is larger than {} MiB", limit >> 20)]
    PackedTooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    #[error("its files are larger than {} MiB in total", limit >> 20)]
    UnpackedTooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    #[error(
        "its files are larger than {} MiB in total, which is more than {ratio} times its own size; it may be a \
         decompression bomb", limit >> 20
    )]
    Ratio {
        /// The limit in bytes, for the size of this archive.
        limit: u64,
        ratio: u64,
    },
    #[error("it has more than {limit} entries")]
    TooManyEntries { limit: usize },
    #[error("the list of its files is larger than {} MiB", limit >> 20)]
    DirectoryTooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The name refers to a path outside of the directory, or has a different meaning on some systems.
    #[error("it contains a file with the unsafe name {name:?}")]
    UnsafeName { name: String },
    #[error("it contains the name {name:?}, which is longer than {limit} bytes")]
    LongName { name: String, limit: usize },
    #[error("it contains the name {name:?}, which has more than {limit} components")]
    DeepName { name: String, limit: usize },
    /// Two entries have the same name, at least on some systems, or a file has the name of another
    /// entry's parent directory.
    #[error("it contains {name:?} twice")]
    RepeatedName { name: String },
    /// The entry is neither a file nor a directory.
    #[error("it contains {name:?}, which is a link or another special file")]
    SpecialEntry { name: String },
    #[error("it contains the hard link {name:?}; only files, directories and symbolic links are unpacked")]
    HardLink { name: String },
    #[error("it contains the sparse file {name:?}; create the archive without support for sparse files")]
    SparseFile { name: String },
    /// The symbolic link points outside of the archive, or the links form a cycle.
    #[error(
        "it contains the symbolic link {name:?} to {target:?}, which does not point to a file in the archive"
    )]
    UnsafeLink { name: String, target: String },
    #[error("it contains more symbolic links than can be followed")]
    TooManyLinks,
    #[error("it contains the encrypted file {name:?}")]
    Encrypted { name: String },
    /// Entries overlap, which allows a small archive to have large content.
    #[error("its entries overlap; it may be a decompression bomb")]
    Overlap,
    /// The size of an entry's content differs from the size in its header.
    #[error("the size of {name:?} differs from the stated size")]
    WrongSize { name: String },
    /// An extended header of a tar archive is too large or invalid.
    #[error("it contains an invalid extended header: {0}")]
    ExtendedHeader(&'static str),
    /// A file could not be written.
    #[error("cannot write {}: {source}{}", path.display(), disk_advice(source))]
    Write { path: PathBuf, source: io::Error },
}

fn disk_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and run the command again"
        }
        _ => "",
    }
}

/// Returns a name for a message.
pub(crate) fn shown_name(name: &[u8]) -> String {
    let mut shown = String::from_utf8_lossy(name).into_owned();
    if shown.len() > MAX_SHOWN_NAME_BYTES {
        let end = (0..=MAX_SHOWN_NAME_BYTES).rev().find(|end| shown.is_char_boundary(*end)).unwrap_or(0);
        shown.truncate(end);
        shown.push_str("...");
    }
    shown
}
