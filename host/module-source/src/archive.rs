//! The archive formats of module packages.

use std::fmt;

/// The format of an archive that contains a module package, or of a single compressed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackageArchive {
    Zip,
    TarGzip,
    TarBzip2,
    TarXz,
    /// A single compressed file, which cannot be a module.
    Gzip,
    /// A single compressed file, which cannot be a module.
    Bzip2,
    /// A single compressed file, which cannot be a module.
    Xz,
}

/// The values of the `archive` argument, and the file suffixes. If one suffix ends with another
/// one, the longer one is listed first.
const NAMES: [(&str, PackageArchive); 11] = [
    ("zip", PackageArchive::Zip),
    ("tar.gz", PackageArchive::TarGzip),
    ("tgz", PackageArchive::TarGzip),
    ("tar.bz2", PackageArchive::TarBzip2),
    ("tar.tbz2", PackageArchive::TarBzip2),
    ("tbz2", PackageArchive::TarBzip2),
    ("tar.xz", PackageArchive::TarXz),
    ("txz", PackageArchive::TarXz),
    ("gz", PackageArchive::Gzip),
    ("bz2", PackageArchive::Bzip2),
    ("xz", PackageArchive::Xz),
];

impl PackageArchive {
    /// Returns the format with this name in the `archive` argument.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Returns the format that the suffix of a path selects.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        let has_suffix = |name: &str| path.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        NAMES.iter().find(|(name, _)| has_suffix(name)).map(|(_, format)| *format)
    }
}

impl fmt::Display for PackageArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Zip => "zip",
            Self::TarGzip => "tar.gz",
            Self::TarBzip2 => "tar.bz2",
            Self::TarXz => "tar.xz",
            Self::Gzip => "gz",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_suffix_selects_the_format() {
        for (path, expected) in [
            ("/a/vpc.zip", Some(PackageArchive::Zip)),
            ("/a/vpc-1.0.tar.gz", Some(PackageArchive::TarGzip)),
            ("/a/main.tf.gz", Some(PackageArchive::Gzip)),
            ("/a.tbz2", Some(PackageArchive::TarBzip2)),
            ("/a.tar.xz", Some(PackageArchive::TarXz)),
            ("/a.tar", None),
            ("/a.tar.zst", None),
            ("/a.ZIP", None),
            ("/zip", None),
            ("", None),
        ] {
            assert_eq!(PackageArchive::from_path(path), expected, "{path}");
        }
    }
}
