//! The method `aes_gcm`. The encrypted content begins with the nonce (12 bytes), and ends with the
//! authentication tag (16 bytes). The length of the key selects AES-128, AES-192 or AES-256.

use aws_lc_rs::aead::{
    AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use aws_lc_rs::rand;
use wardian_diagnostic::Diagnostics;
use wardian_plugin::Block;
use wardian_state::EncryptionFailure;
use wardian_value::convert::convert;
use wardian_value::{Type, Value};

use crate::arguments::Arguments;

const TAG_BYTES: usize = 16;

pub(super) fn schema() -> Block {
    crate::arguments::schema([("aad", Type::list(Type::Number)), ("keys", Type::String)])
}

/// Returns the bytes in the argument `aad`.
pub(super) fn authenticated_data(arguments: &Arguments) -> Result<Vec<u8>, Diagnostics> {
    let elements = arguments.get("aad").and_then(Value::as_elements).unwrap_or_default();
    let byte = |value: &Value| convert(value, &Type::String).ok()?.as_str()?.parse::<u8>().ok();
    let bytes = elements.iter().map(byte).collect::<Option<Vec<u8>>>();
    bytes.ok_or_else(|| arguments.invalid("\"aad\" must be a list of numbers from 0 to 255"))
}

/// Checks the length of a key.
pub(super) fn check_key(key: &[u8]) -> Result<(), EncryptionFailure> {
    cipher(key).map(drop)
}

fn cipher(key: &[u8]) -> Result<LessSafeKey, EncryptionFailure> {
    let algorithm = match key.len() {
        16 => &AES_128_GCM,
        24 => &AES_192_GCM,
        32 => &AES_256_GCM,
        other => {
            let message = format!("aes_gcm requires a key of 16, 24 or 32 bytes, but the key has {other}");
            return Err(
                EncryptionFailure::new(message).with_advice("change \"key_length\" of the key provider")
            );
        }
    };
    let key = UnboundKey::new(algorithm, key).map_err(|_| EncryptionFailure::new("the key is not valid"))?;
    Ok(LessSafeKey::new(key))
}

/// Encrypts a text with a random nonce.
pub(crate) fn seal(key: &[u8], authenticated: &[u8], plain: &[u8]) -> Result<Vec<u8>, EncryptionFailure> {
    let cipher = cipher(key)?;
    let mut nonce = [0; NONCE_LEN];
    rand::fill(&mut nonce).map_err(|_| EncryptionFailure::new("the system has no source of randomness"))?;
    let mut sealed = Vec::with_capacity(NONCE_LEN + plain.len() + TAG_BYTES);
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(plain);
    let content = sealed.get_mut(NONCE_LEN..).unwrap_or_default();
    let tag = cipher
        .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(authenticated), content)
        .map_err(|_| EncryptionFailure::new("the content is too long to be encrypted"))?;
    sealed.extend_from_slice(tag.as_ref());
    Ok(sealed)
}

/// Decrypts content.
pub(crate) fn open(key: &[u8], authenticated: &[u8], sealed: &[u8]) -> Result<Vec<u8>, EncryptionFailure> {
    let cipher = cipher(key)?;
    let (nonce, content) = sealed
        .split_first_chunk::<NONCE_LEN>()
        .filter(|(_, content)| content.len() >= TAG_BYTES)
        .ok_or_else(|| EncryptionFailure::new("the encrypted content is truncated"))?;
    let mut content = content.to_vec();
    let plain = cipher
        .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(authenticated), &mut content)
        .map_err(|_| {
            EncryptionFailure::new(
                "the key is not the one that encrypted the content, or the content was changed",
            )
        })?
        .len();
    content.truncate(plain);
    Ok(content)
}
