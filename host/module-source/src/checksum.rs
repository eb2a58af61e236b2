//! The `checksum` argument of archives.

use std::fmt;

use crate::error::PackageLocationError;

/// A digest algorithm in the `checksum` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChecksumAlgorithm {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl ChecksumAlgorithm {
    const ALL: [Self; 4] = [Self::Md5, Self::Sha1, Self::Sha256, Self::Sha512];

    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    /// Returns the length of a digest in bytes.
    pub fn length(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }

    fn from_length(length: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.length() == length)
    }
}

/// The digest of an archive.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ArchiveChecksum {
    algorithm: ChecksumAlgorithm,
    digest: Vec<u8>,
}

impl ArchiveChecksum {
    pub fn algorithm(&self) -> ChecksumAlgorithm {
        self.algorithm
    }

    pub fn digest(&self) -> &[u8] {
        &self.digest
    }

    /// Parses a digest in hexadecimal. If no algorithm is given, the digest's length determines the
    /// algorithm.
    fn parse(algorithm: Option<ChecksumAlgorithm>, text: &str) -> Option<Self> {
        let digest = hex::decode(text).ok()?;
        let algorithm = algorithm.or_else(|| ChecksumAlgorithm::from_length(digest.len()))?;
        (digest.len() == algorithm.length()).then_some(Self { algorithm, digest })
    }
}

impl fmt::Display for ArchiveChecksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm.name(), hex::encode(&self.digest))
    }
}

impl fmt::Debug for ArchiveChecksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ArchiveChecksum({self})")
    }
}

/// The value of the `checksum` argument: `ALGORITHM:HEX`, `HEX` or `file:ADDRESS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChecksumArgument {
    Digest(ArchiveChecksum),
    /// The address of a file that lists digests.
    File(String),
}

impl ChecksumArgument {
    pub(crate) fn parse(value: &str) -> Result<Self, PackageLocationError> {
        let invalid = || PackageLocationError::InvalidChecksum { checksum: value.to_owned() };
        match value.split_once(':') {
            Some(("file", address)) => Ok(Self::File(address.to_owned())),
            Some((name, digest)) => {
                let algorithm = ChecksumAlgorithm::from_name(name).ok_or_else(invalid)?;
                ArchiveChecksum::parse(Some(algorithm), digest).map(Self::Digest).ok_or_else(invalid)
            }
            None => ArchiveChecksum::parse(None, value).map(Self::Digest).ok_or_else(invalid),
        }
    }
}

/// A file that lists the digests of files, in the format of `sha256sum` or BSD's `sha256`.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumList<'a> {
    text: &'a str,
}

impl<'a> ChecksumList<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// Returns the digest of a file. A line that contains only a digest applies to any file.
    pub fn find(&self, file_name: &str) -> Option<ArchiveChecksum> {
        self.text.lines().find_map(|line| {
            let (checksum, listed) = parse_line(line)?;
            let is_listed = listed.is_none_or(|listed| {
                let listed = listed.trim_start_matches('*');
                listed == file_name || listed.rsplit('/').next() == Some(file_name)
            });
            is_listed.then_some(checksum)
        })
    }
}

fn parse_line(line: &str) -> Option<(ArchiveChecksum, Option<&str>)> {
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    match words.as_slice() {
        [algorithm, name, "=", digest] => {
            let name = name.strip_prefix('(')?.strip_suffix(')')?;
            let algorithm = ChecksumAlgorithm::from_name(algorithm)?;
            Some((ArchiveChecksum::parse(Some(algorithm), digest)?, Some(name)))
        }
        [digest, name] => Some((ArchiveChecksum::parse(None, digest)?, Some(name))),
        [digest] => Some((ArchiveChecksum::parse(None, digest)?, None)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "d51be7f9b4eee032b6585fbf2537e92359e2f314";

    #[test]
    fn checksum_argument_has_three_forms() {
        let digest = |value: &str| match ChecksumArgument::parse(value).unwrap() {
            ChecksumArgument::Digest(checksum) => checksum.to_string(),
            ChecksumArgument::File(address) => address,
        };
        assert_eq!(digest(SHA1), format!("sha1:{SHA1}"));
        assert_eq!(digest(&format!("sha1:{}", SHA1.to_uppercase())), format!("sha1:{SHA1}"));
        assert_eq!(digest(&"0".repeat(32)), format!("md5:{}", "0".repeat(32)));
        assert_eq!(digest("file:https://a.example/SHA256SUMS"), "https://a.example/SHA256SUMS");
        for bad in ["", "md5:0", "md5:zz", "foo:00", "sha256:", &"0".repeat(33), &format!("md5:{SHA1}"), "00"]
        {
            assert!(ChecksumArgument::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn checksum_list_may_have_gnu_or_bsd_format() {
        let text =
            format!("{SHA1}  other.zip\n\n{SHA1} *dist/a.zip\nSHA1 (b.zip) = {SHA1}\nnot a digest c.zip\n");
        let list = ChecksumList::new(&text);
        for found in ["a.zip", "b.zip", "other.zip"] {
            assert_eq!(list.find(found).unwrap().to_string(), format!("sha1:{SHA1}"));
        }
        assert!(list.find("c.zip").is_none());
        assert!(ChecksumList::new(SHA1).find("any.zip").is_some());
        assert!(ChecksumList::new("").find("any.zip").is_none());
    }
}
