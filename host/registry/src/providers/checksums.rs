//! The checksums of a release: the file `SHA256SUMS`, whose signature was verified.

use std::collections::BTreeSet;

use url::Url;
use wardian_digest::Sha256Digest;

use super::signature::ReleaseSignature;

/// Maximum size of the file in bytes.
pub(super) const MAX_CHECKSUMS_BYTES: u64 = 1 << 20;

/// The lines of `SHA256SUMS`. As in Terraform, the fields of a line are separated by any white
/// space, and additional fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChecksumLines(Vec<ChecksumLine>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ChecksumLine {
    /// `None` if the first field is not a digest.
    digest: Option<Sha256Digest>,
    name: String,
}

/// The checksums of a release, which a key of the registry has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedChecksums {
    lines: ChecksumLines,
    signature: ReleaseSignature,
    /// The URL of the file.
    pub url: Url,
    pub file_digest: Sha256Digest,
}

impl ChecksumLines {
    pub(super) fn parse(text: &[u8]) -> Self {
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
            let (digest, name) = (fields.next()?, fields.next()?);
            let digest = std::str::from_utf8(digest).ok().and_then(Sha256Digest::parse);
            Some(ChecksumLine { digest, name: String::from_utf8_lossy(name).into_owned() })
        });
        Self(lines.collect())
    }

    /// Returns the digest in the first line for a file; `None` if there is no such line, or its first
    /// field is not a digest.
    fn digest(&self, name: &str) -> Option<Sha256Digest> {
        self.0.iter().find(|line| line.name == name)?.digest
    }
}

impl SignedChecksums {
    pub(super) fn new(url: Url, text: &[u8], signature: ReleaseSignature) -> Self {
        Self { lines: ChecksumLines::parse(text), signature, url, file_digest: Sha256Digest::hash(text) }
    }

    /// Returns the signature of the checksums.
    pub fn signature(&self) -> &ReleaseSignature {
        &self.signature
    }

    /// Returns the digest of a file in the release.
    pub fn digest(&self, name: &str) -> Option<Sha256Digest> {
        self.lines.digest(name)
    }

    /// Returns the digests of all files in the release. With the prefix `zh:`, they are the hashes
    /// that Terraform writes to a lock file.
    pub fn digests(&self) -> BTreeSet<Sha256Digest> {
        self.lines.0.iter().filter_map(|line| line.digest).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest(digit: char) -> Sha256Digest {
        Sha256Digest::parse(&digit.to_string().repeat(64)).unwrap()
    }

    /// Each line was verified with Terraform 1.11.4 and its lock file.
    #[test]
    fn checksum_lines_are_parsed_as_in_terraform() {
        let line = |digit: char, rest: &str| format!("{}{rest}", digit.to_string().repeat(64));
        let text = [
            line('1', "  plain"),
            line('2', " single"),
            line('3', "\ttab"),
            line('4', "  name and more"),
            format!(" {}", line('5', "  leading")),
            line('6', "  crlf\r"),
            line('A', "  upper"),
            line('7', "  *binary"),
            line('8', ""),
            "nonsense line here".to_owned(),
            "abcd  short".to_owned(),
            line('z', "  letters"),
            String::new(),
            line('9', "  plain"),
        ];
        let lines = ChecksumLines::parse(text.join("\n").as_bytes());
        for (name, digit) in [
            ("plain", '1'),
            ("single", '2'),
            ("tab", '3'),
            ("name", '4'),
            ("leading", '5'),
            ("crlf", '6'),
            ("upper", 'a'),
            ("*binary", '7'),
        ] {
            assert_eq!(lines.digest(name), Some(digest(digit)), "{name}");
        }
        for name in ["binary", "other", "", "and", "short", "letters", "line"] {
            assert_eq!(lines.digest(name), None, "{name}");
        }
        let all = lines.0.iter().filter_map(|line| line.digest).collect::<BTreeSet<_>>();
        assert_eq!(all, "1234567a9".chars().map(digest).collect());
    }

    proptest! {
        #[test]
        fn parsing_any_bytes_never_panics(text in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let lines = ChecksumLines::parse(&text);
            let _ = lines.digest("a");
        }
    }
}
