//! OCI digests: `sha256:HEX`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wardian_digest::Sha256Digest;

/// Parses `sha256:HEX`. The hexadecimal digits must be in lower case, as the specification requires.
///
/// # Errors
/// Returns an error if the text is not a digest, or a digest of another algorithm.
pub fn parse_digest(text: &str) -> Result<Sha256Digest, DigestError> {
    let invalid = || DigestError::Invalid { text: shorten(text) };
    let (algorithm, value) = text.split_once(':').ok_or_else(invalid)?;
    if algorithm != "sha256" {
        let is_algorithm = !algorithm.is_empty()
            && algorithm.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+._-".contains(&byte));
        return Err(if is_algorithm {
            DigestError::Unsupported { algorithm: shorten(algorithm) }
        } else {
            invalid()
        });
    }
    if value.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(invalid());
    }
    Sha256Digest::parse(value).ok_or_else(invalid)
}

fn shorten(text: &str) -> String {
    text.chars().take(100).collect()
}

/// Text that is not a usable digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    #[error("{text:?} is not a digest; a digest is \"sha256:\" and 64 hexadecimal digits in lower case")]
    Invalid { text: String },
    #[error("digests of the algorithm {algorithm:?} are not supported; only sha256 is")]
    Unsupported { algorithm: String },
}

/// The digest in a descriptor. A manifest may refer to content by digests of other algorithms, and
/// is valid unless that content is needed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentDigest {
    Sha256(Sha256Digest),
    /// A digest that cannot be verified, as it was written.
    Unsupported(Box<str>),
}

impl ContentDigest {
    /// Returns the digest.
    ///
    /// # Errors
    /// Returns an error if the digest is invalid, or of another algorithm.
    pub fn sha256(&self) -> Result<Sha256Digest, DigestError> {
        match self {
            Self::Sha256(digest) => Ok(*digest),
            Self::Unsupported(text) => parse_digest(text),
        }
    }
}

impl From<Sha256Digest> for ContentDigest {
    fn from(digest: Sha256Digest) -> Self {
        Self::Sha256(digest)
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(digest) => write!(formatter, "sha256:{digest}"),
            Self::Unsupported(text) => formatter.write_str(text),
        }
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ContentDigest({:?})", self.to_string())
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(parse_digest(&text).map_or_else(|_| Self::Unsupported(text.into()), Self::Sha256))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha256_in_lower_case() {
        let hex = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(parse_digest(&format!("sha256:{hex}")).unwrap(), Sha256Digest::hash(b"{}"));
        for bad in [
            String::new(),
            "sha256".to_owned(),
            "sha256:".to_owned(),
            hex.to_owned(),
            format!(":{hex}"),
            format!("sha256:{}", hex.to_uppercase()),
            format!("sha256:{hex}0"),
            format!("sha 256:{hex}"),
        ] {
            assert!(matches!(parse_digest(&bad), Err(DigestError::Invalid { .. })), "{bad:?}");
        }
        assert_eq!(
            parse_digest("sha512:ab"),
            Err(DigestError::Unsupported { algorithm: "sha512".to_owned() })
        );
    }

    #[test]
    fn unsupported_digest_is_an_error_only_when_used() {
        let digest: ContentDigest = serde_json::from_str("\"sha512:ab\"").unwrap();
        assert_eq!(serde_json::to_string(&digest).unwrap(), "\"sha512:ab\"");
        assert!(digest.sha256().is_err());
    }
}
