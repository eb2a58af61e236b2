//! The formats of archives.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArchiveFormat {
    Zip,
    Tar,
    TarGzip,
    TarBzip2,
    TarXz,
}

/// The suffixes of file names. If a suffix ends with another suffix, the longer one is first.
const SUFFIXES: [(&str, ArchiveFormat); 9] = [
    ("tar.tbz2", ArchiveFormat::TarBzip2),
    ("tar.bz2", ArchiveFormat::TarBzip2),
    ("tbz2", ArchiveFormat::TarBzip2),
    ("tar.gz", ArchiveFormat::TarGzip),
    ("tgz", ArchiveFormat::TarGzip),
    ("tar.xz", ArchiveFormat::TarXz),
    ("txz", ArchiveFormat::TarXz),
    ("tar", ArchiveFormat::Tar),
    ("zip", ArchiveFormat::Zip),
];

const TAR_MAGIC: &[u8] = b"ustar";
const TAR_MAGIC_POSITION: usize = 257;

impl ArchiveFormat {
    /// The number of bytes that [`Self::from_content`] needs to recognize every format.
    pub const MAX_HEADER_BYTES: usize = TAR_MAGIC_POSITION + TAR_MAGIC.len();

    /// Returns the format for the name of a file or the path of a URL.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let matching = SUFFIXES.iter().find(|(suffix, _)| {
            name.strip_suffix(suffix).is_some_and(|stem| stem.ends_with('.') && stem.len() > 1)
        });
        matching.map(|(_, format)| *format)
    }

    /// Returns the format for a suffix without the leading dot, such as the value of the query
    /// parameter `archive` of a module source.
    pub fn from_suffix(suffix: &str) -> Option<Self> {
        SUFFIXES.iter().find(|(known, _)| *known == suffix).map(|(_, format)| *format)
    }

    /// Returns the format for the first bytes of a file. A compressed file is assumed to contain a
    /// tar archive.
    pub fn from_content(header: &[u8]) -> Option<Self> {
        const MAGICS: [(&[u8], ArchiveFormat); 5] = [
            (b"PK\x03\x04", ArchiveFormat::Zip),
            (b"PK\x05\x06", ArchiveFormat::Zip),
            (b"\x1f\x8b", ArchiveFormat::TarGzip),
            (b"BZh", ArchiveFormat::TarBzip2),
            (b"\xfd7zXZ\0", ArchiveFormat::TarXz),
        ];
        let magic = MAGICS.iter().find(|(magic, _)| header.starts_with(magic)).map(|(_, format)| *format);
        let is_tar = header.get(TAR_MAGIC_POSITION..).is_some_and(|rest| rest.starts_with(TAR_MAGIC));
        magic.or(is_tar.then_some(Self::Tar))
    }
}

impl fmt::Display for ArchiveFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::TarGzip => "tar.gz",
            Self::TarBzip2 => "tar.bz2",
            Self::TarXz => "tar.xz",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_determines_the_format() {
        for (name, expected) in [
            ("a.zip", Some(ArchiveFormat::Zip)),
            ("/x/a.tar", Some(ArchiveFormat::Tar)),
            ("a.tar.gz", Some(ArchiveFormat::TarGzip)),
            ("v1.2.tgz", Some(ArchiveFormat::TarGzip)),
            ("a.tar.bz2", Some(ArchiveFormat::TarBzip2)),
            ("a.tbz2", Some(ArchiveFormat::TarBzip2)),
            ("a.tar.tbz2", Some(ArchiveFormat::TarBzip2)),
            ("a.tar.xz", Some(ArchiveFormat::TarXz)),
            ("a.txz", Some(ArchiveFormat::TarXz)),
            ("zip", None),
            (".zip", None),
            ("azip", None),
            ("a.gz", None),
            ("a.zip.sig", None),
            ("", None),
        ] {
            assert_eq!(ArchiveFormat::from_file_name(name), expected, "{name}");
        }
    }

    #[test]
    fn suffix_determines_the_format() {
        for format in [
            ArchiveFormat::Zip,
            ArchiveFormat::Tar,
            ArchiveFormat::TarGzip,
            ArchiveFormat::TarBzip2,
            ArchiveFormat::TarXz,
        ] {
            assert_eq!(ArchiveFormat::from_suffix(&format.to_string()), Some(format));
        }
        for unknown in ["", ".zip", "ZIP", "gz", "false", "rar"] {
            assert_eq!(ArchiveFormat::from_suffix(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn content_determines_the_format() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (content, expected) in [
            (&b"PK\x03\x04..."[..], Some(ArchiveFormat::Zip)),
            (b"PK\x05\x06", Some(ArchiveFormat::Zip)),
            (b"\x1f\x8b\x08", Some(ArchiveFormat::TarGzip)),
            (b"BZh9", Some(ArchiveFormat::TarBzip2)),
            (b"\xfd7zXZ\0", Some(ArchiveFormat::TarXz)),
            (&tar, Some(ArchiveFormat::Tar)),
            (&tar[..ArchiveFormat::MAX_HEADER_BYTES], Some(ArchiveFormat::Tar)),
            (&tar[..ArchiveFormat::MAX_HEADER_BYTES - 1], None),
            (b"PK", None),
            (b"", None),
            (b"<html>", None),
        ] {
            assert_eq!(ArchiveFormat::from_content(content), expected, "{content:?}");
        }
    }
}
