//! Plan files that are encrypted with a passphrase.
//!
//! | bytes | content |
//! |---|---|
//! | 16 | `WARDIAN-SEALED-1`, the only supported version |
//! | 12 | key derivation: Argon2id's memory in KiB, passes and lanes, big-endian |
//! | 16 | salt |
//! | 16 | a check that distinguishes a wrong passphrase from a changed file |
//! | 12 | nonce |
//! | rest | the archive, encrypted with AES-256-GCM |
//!
//! Argon2id derives 48 bytes from the passphrase and the salt: the encryption key, which is unique
//! for each file, and the check. The bytes before the archive are also authenticated. The check
//! does not make it easier to guess the passphrase: an attacker can use the authentication tag of
//! the archive in the same way.

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use argon2::{Algorithm, Argon2, Params, Version};

const MAGIC: &[u8; 16] = b"WARDIAN-SEALED-1";
const SALT: usize = 16;
const CHECK: usize = 16;
const NONCE: usize = 12;
const KEY: usize = 32;
const PARAMETERS: usize = 12;
const HEADER: usize = MAGIC.len() + PARAMETERS + SALT + CHECK + NONCE;

/// 64 MiB of memory and three passes: the second recommended option of RFC 9106, which is suitable
/// for machines with little memory.
const DEFAULT_PARAMETERS: [u32; 3] = [64 * 1024, 3, 4];
/// The maximum parameters that a reader accepts.
const MAX_PARAMETERS: [u32; 3] = [1024 * 1024, 16, 16];

/// A reason why a file cannot be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The file was sealed with a different passphrase.
    #[error("it is encrypted with a different passphrase")]
    WrongPassphrase,
    /// The file was changed.
    #[error("it is encrypted, and was changed or truncated after it was written")]
    Changed,
    /// The parameters of the key derivation exceed the maximum.
    #[error("its encryption is not supported by this version of Wardian")]
    Unreadable,
    /// The system has no source of randomness, or not enough memory.
    #[error("it cannot be encrypted: the system has no source of randomness, or not enough memory")]
    NoMeans,
}

/// Whether the bytes are a sealed file.
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Seals a file.
///
/// # Errors
/// Returns an error if the system has no source of randomness, or not enough memory.
pub fn seal(bytes: &[u8], passphrase: &str) -> Result<Vec<u8>, SealError> {
    let mut random = [0; SALT + NONCE];
    getrandom::fill(&mut random).map_err(|_| SealError::NoMeans)?;
    let (salt, nonce) = random.split_at(SALT);
    let made = derive(passphrase, salt, DEFAULT_PARAMETERS).ok_or(SealError::NoMeans)?;
    let (key, check) = made.split_at(KEY);
    let mut sealed = Vec::with_capacity(HEADER + bytes.len() + 16);
    sealed.extend_from_slice(MAGIC);
    for number in DEFAULT_PARAMETERS {
        sealed.extend_from_slice(&number.to_be_bytes());
    }
    sealed.extend_from_slice(salt);
    sealed.extend_from_slice(check);
    sealed.extend_from_slice(nonce);
    let cipher = Aes256Gcm::new_from_slice(key).map_err(|_| SealError::NoMeans)?;
    let nonce = Nonce::<Aes256Gcm>::try_from(nonce).map_err(|_| SealError::NoMeans)?;
    let payload = Payload { msg: bytes, aad: &sealed };
    let encrypted = cipher.encrypt(&nonce, payload).map_err(|_| SealError::NoMeans)?;
    sealed.extend_from_slice(&encrypted);
    Ok(sealed)
}

/// Opens a sealed file.
///
/// # Errors
/// Returns an error if the passphrase is wrong, or if the file was changed.
pub fn open(sealed: &[u8], passphrase: &str) -> Result<Vec<u8>, SealError> {
    let (header, encrypted) = sealed.split_at_checked(HEADER).ok_or(SealError::Changed)?;
    let rest = header.strip_prefix(MAGIC).ok_or(SealError::Unreadable)?;
    let (parameters, rest) = rest.split_at(PARAMETERS);
    let (salt, rest) = rest.split_at(SALT);
    let (check, nonce) = rest.split_at(CHECK);
    let mut wanted = [0; 3];
    for ((wanted, bytes), most) in wanted.iter_mut().zip(parameters.chunks_exact(4)).zip(MAX_PARAMETERS) {
        *wanted = u32::from_be_bytes(bytes.try_into().map_err(|_| SealError::Changed)?);
        if *wanted > most {
            return Err(SealError::Unreadable);
        }
    }
    let made = derive(passphrase, salt, wanted).ok_or(SealError::Unreadable)?;
    let (key, expected) = made.split_at(KEY);
    if check != expected {
        return Err(SealError::WrongPassphrase);
    }
    let cipher = Aes256Gcm::new_from_slice(key).map_err(|_| SealError::Unreadable)?;
    let nonce = Nonce::<Aes256Gcm>::try_from(nonce).map_err(|_| SealError::Changed)?;
    let payload = Payload { msg: encrypted, aad: header };
    cipher.decrypt(&nonce, payload).map_err(|_| SealError::Changed)
}

fn derive(passphrase: &str, salt: &[u8], [memory, passes, lanes]: [u32; 3]) -> Option<[u8; KEY + CHECK]> {
    let parameters = Params::new(memory, passes, lanes, None).ok()?;
    let mut made = [0; KEY + CHECK];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
        .hash_password_into(passphrase.as_bytes(), salt, &mut made)
        .ok()?;
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_file_opens_only_unchanged_and_with_its_passphrase() {
        let text = b"PK\x03\x04 an archive".repeat(100);
        let sealed = seal(&text, "open sesame").unwrap();
        assert!(is_sealed(&sealed) && !is_sealed(&text));
        assert!(!sealed.windows(10).any(|part| part == b"an archive"));
        assert_ne!(sealed, seal(&text, "open sesame").unwrap(), "no two are alike");
        assert_eq!(open(&sealed, "open sesame").unwrap(), text);
        assert_eq!(open(&sealed, "open barley"), Err(SealError::WrongPassphrase));
        for at in [HEADER - 1, HEADER, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&changed, "open sesame"), Err(SealError::Changed), "{at}");
        }
        assert_eq!(open(&sealed[..sealed.len() - 1], "open sesame"), Err(SealError::Changed));
        assert_eq!(open(&sealed[..40], "open sesame"), Err(SealError::Changed));
        // A file must not cause its reader to allocate unlimited memory.
        let mut greedy = sealed.clone();
        greedy[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(open(&greedy, "open sesame"), Err(SealError::Unreadable));
    }
}
