//! Computes and parses SHA-256 digests.

use std::fmt;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// A SHA-256 digest. `Display` shows it in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

impl Sha256Digest {
    /// Parses a digest in hexadecimal.
    pub fn parse(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        let is_hexadecimal = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        for (index, byte) in digest.iter_mut().enumerate().filter(|_| is_hexadecimal) {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        is_hexadecimal.then_some(Self(digest))
    }

    /// Computes the digest of bytes.
    pub fn hash(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Creates a digest from bytes that were computed elsewhere, for example at build time.
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Computes the digest of the remaining bytes of a reader.
    ///
    /// # Errors
    /// Returns an error if reading fails.
    pub fn hash_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut hasher = Sha256Hasher::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = reader.read(&mut buffer)?;
            if count == 0 {
                return Ok(hasher.finish());
            }
            hasher.update(buffer.get(..count).unwrap_or_default());
        }
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sha256Digest({self})")
    }
}

/// Computes the digest of data that arrives in chunks.
#[derive(Clone, Default)]
pub struct Sha256Hasher(Sha256);

impl Sha256Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Sha256Digest {
        Sha256Digest(self.0.finalize().into())
    }
}

impl fmt::Debug for Sha256Hasher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sha256Hasher")
    }
}
