//! Computes and verifies the bcrypt hash of a password.

/// The bcrypt cost in the official provider. The hashes of both providers therefore have the same
/// strength.
const COST: u32 = 10;

/// The number of password bytes that bcrypt uses. It ignores all additional bytes.
const MAX_PASSWORD_BYTES: usize = 72;

/// The reason why a password could not be hashed.
#[derive(Debug, thiserror::Error)]
#[error("failed to hash the password")]
pub(crate) struct HashError(#[from] bcrypt::BcryptError);

/// Returns a salted hash of the password's first 72 bytes.
pub(crate) fn hash(password: &str) -> Result<String, HashError> {
    let bytes = &password.as_bytes()[..password.len().min(MAX_PASSWORD_BYTES)];
    let parts = bcrypt::hash_with_result(bytes, COST)?;
    Ok(parts.format_for_version(bcrypt::Version::TwoA))
}

/// Returns whether the hash is valid and belongs to the password.
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
    fn hash_covers_first_72_bytes() {
        let long = "x".repeat(100);
        let hashed = hash(&long).unwrap();
        assert!(verifies(&long, &hashed));
        assert!(verifies(&"x".repeat(72), &hashed));
        assert!(!verifies(&"x".repeat(71), &hashed));
    }

    #[test]
    fn invalid_hash_does_not_verify() {
        assert!(!verifies("", ""));
        assert!(!verifies("a", "$2a$10$short"));
    }
}
