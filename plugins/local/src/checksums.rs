//! Computes the checksums of a file's content, in the encodings of the schema's attributes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checksums {
    pub(crate) md5: String,
    pub(crate) sha1: String,
    pub(crate) sha256: String,
    pub(crate) base64sha256: String,
    pub(crate) sha512: String,
    pub(crate) base64sha512: String,
}

impl Checksums {
    pub(crate) fn from_content(content: &[u8]) -> Self {
        let sha256 = Sha256::digest(content);
        let sha512 = Sha512::digest(content);
        Self {
            md5: hex::encode(Md5::digest(content)),
            sha1: sha1(content),
            sha256: hex::encode(sha256),
            base64sha256: STANDARD.encode(sha256),
            sha512: hex::encode(sha512),
            base64sha512: STANDARD.encode(sha512),
        }
    }
}

/// Returns the checksum that identifies a file's content in the state.
pub(crate) fn sha1(content: &[u8]) -> String {
    hex::encode(Sha1::digest(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_known_values() {
        let checksums = Checksums::from_content(b"abc");
        assert_eq!(checksums.md5, "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(checksums.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(checksums.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(checksums.base64sha256, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert!(checksums.sha512.starts_with("ddaf35a193617abacc417349ae204131"));
        assert!(checksums.base64sha512.starts_with("3a81oZNherrMQXNJriBBMRLm"));
    }
}
