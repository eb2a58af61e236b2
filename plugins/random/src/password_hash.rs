//! The bcrypt hash that stands beside a password.

/// What the official provider uses, so that hashes look and cost the same.
const COST: u32 = 10;

/// bcrypt reads no further than this.
const LONGEST: usize = 72;

/// Why a password has no hash.
#[derive(Debug, thiserror::Error)]
#[error("failed to hash the password")]
pub(crate) struct HashError(#[from] bcrypt::BcryptError);

/// A salted hash of the password's first 72 bytes.
pub(crate) fn hash(password: &str) -> Result<String, HashError> {
    let bytes = &password.as_bytes()[..password.len().min(LONGEST)];
    let parts = bcrypt::hash_with_result(bytes, COST)?;
    Ok(parts.format_for_version(bcrypt::Version::TwoA))
}

/// Whether the hash is one of this password. What is no hash at all is not.
pub(crate) fn verifies(password: &str, hash: &str) -> bool {
    bcrypt::verify(password, hash).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_verify_and_are_salted() {
        let first = hash("correct horse").unwrap();
        assert!(first.starts_with("$2a$10$") && first.len() == 60, "{first}");
        assert!(verifies("correct horse", &first));
        assert!(!verifies("correct house", &first));
        assert_ne!(first, hash("correct horse").unwrap());
    }

    #[test]
    fn long_passwords_count_to_their_72nd_byte() {
        let long = "x".repeat(100);
        let hashed = hash(&long).unwrap();
        assert!(verifies(&long, &hashed));
        assert!(verifies(&"x".repeat(72), &hashed));
        assert!(!verifies(&"x".repeat(71), &hashed));
    }

    #[test]
    fn text_that_is_no_hash_verifies_nothing() {
        assert!(!verifies("", ""));
        assert!(!verifies("a", "$2a$10$short"));
    }
}
