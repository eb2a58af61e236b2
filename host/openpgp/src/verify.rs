//! Verifies detached signatures.

use jiff::Timestamp;

use crate::algorithm::{self, SignedContent, VerificationFailure};
use crate::armor::{self, ArmorKind};
use crate::error::{MalformedData, SignatureError};
use crate::key::{Fingerprint, Key, KeyId};
use crate::packet::{PacketKind, Packets};
use crate::public_key::{MAX_KEYS, PublicKey, PublicKeys, SigningKey};
use crate::signature_packet::{SignaturePacket, VersionedSignature, kind};

/// Maximum size of a signature, in bytes.
pub const MAX_SIGNATURE_SIZE: usize = 64 << 10;

/// The key that made a valid signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The ID of the primary key, even if a subkey made the signature.
    pub key_id: KeyId,
    /// The fingerprint of the primary key.
    pub fingerprint: Fingerprint,
    /// Index of the key in the slice that was passed for verification.
    pub key_index: usize,
    /// The time when the key expired, if it has expired. Terraform accepts expired keys.
    pub expired: Option<Timestamp>,
}

/// Verifies that one of the keys made a binary signature of the data.
///
/// The keys are tried in order. A key that did not make the signature is skipped; the first key
/// that made it, according to the signature, determines the result.
///
/// # Errors
/// Returns an error if the signature is not a valid signature by one of the keys.
pub fn verify_detached(
    signature: &[u8],
    data: &[u8],
    keys: &[PublicKeys],
) -> Result<Verified, SignatureError> {
    verify_detached_at(signature, data, keys, Timestamp::now())
}

/// Verifies an armored signature like [`verify_detached`]. For a trust signature, which a registry
/// sends with an author's key, `data` are the bytes of the author's key and `keys` is the key of
/// the registry.
///
/// # Errors
/// Returns an error if the signature is not a valid signature by one of the keys.
pub fn verify_armored(signature: &str, data: &[u8], keys: &[PublicKeys]) -> Result<Verified, SignatureError> {
    if signature.len() > MAX_SIGNATURE_SIZE {
        return Err(SignatureError::TooLarge);
    }
    verify_detached(&armor::decode(signature, ArmorKind::Signature)?, data, keys)
}

/// Verifies a signature like [`verify_detached`], at a given time.
///
/// # Errors
/// Returns an error if the signature is not a valid signature by one of the keys.
pub fn verify_detached_at(
    signature: &[u8],
    data: &[u8],
    keys: &[PublicKeys],
    now: Timestamp,
) -> Result<Verified, SignatureError> {
    if keys.len() > MAX_KEYS {
        return Err(SignatureError::TooManyKeys);
    }
    let now = u32::try_from(now.as_second().max(0)).unwrap_or(u32::MAX);
    let signatures = parse(signature)?;
    for (key_index, keys) in keys.iter().enumerate() {
        for signature in &signatures {
            let Some(issuer) = signature.issuer else { continue };
            let mut result = None;
            // Several keys have the same issuer only if their key IDs are equal.
            for (public_key, signing) in keys.by_issuer(issuer) {
                match verify_by_key(signature, data, public_key, signing, now) {
                    Ok(expires) => {
                        return Ok(Verified {
                            key_id: public_key.primary.id(),
                            fingerprint: public_key.primary.fingerprint,
                            key_index,
                            expired: expires.filter(|expires| *expires <= now).map(timestamp),
                        });
                    }
                    Err(error) => result = result.or(Some(error)),
                }
            }
            if let Some(error) = result {
                return Err(error);
            }
        }
    }
    let issuers = signatures.iter().filter_map(|signature| signature.issuer);
    match issuers.map(|issuer| issuer.key_id()).next() {
        Some(issuer) => Err(SignatureError::UnknownIssuer { issuer }),
        None => Err(SignatureError::NoIssuer),
    }
}

/// Parses the signatures in a file. Signatures of other format versions are ignored if there is a
/// version 4 signature.
fn parse(bytes: &[u8]) -> Result<Vec<SignaturePacket>, SignatureError> {
    if bytes.len() > MAX_SIGNATURE_SIZE {
        return Err(SignatureError::TooLarge);
    }
    if armor::is_armored(bytes) {
        return Err(SignatureError::Armored);
    }
    let mut signatures = Vec::new();
    let mut other_version = None;
    for packet in Packets::new(bytes) {
        let packet = packet?;
        match packet.kind {
            PacketKind::Signature => match SignaturePacket::parse(&packet.body)? {
                VersionedSignature::Supported(signature) => signatures.push(*signature),
                VersionedSignature::Unsupported(version) => other_version = Some(version),
            },
            PacketKind::Ignored => {}
            _ => return Err(MalformedData::UnexpectedPacket.into()),
        }
    }
    match (signatures.is_empty(), other_version) {
        (false, _) => Ok(signatures),
        (true, Some(version)) => Err(SignatureError::UnsupportedVersion(version)),
        (true, None) => Err(SignatureError::Empty),
    }
}

/// Returns the time when the key expires.
fn verify_by_key(
    signature: &SignaturePacket,
    data: &[u8],
    public_key: &PublicKey,
    signing: SigningKey<'_>,
    now: u32,
) -> Result<Option<u32>, SignatureError> {
    let key = public_key.key(signing);
    let id = key.id();
    if signature.kind != kind::BINARY_DOCUMENT {
        return Err(SignatureError::UnsupportedType { key: id, kind: signature.kind });
    }
    algorithm::verify(signature, key, SignedContent::Document, |context| context.update(data))
        .map_err(|failure| error(key, failure))?;
    let state = public_key.signing_key_state(signing, now)?;
    let created = signature.properties.created;
    if signature.properties.is_from_future(now) {
        return Err(SignatureError::FromFuture { key: id, created: timestamp(created) });
    }
    if created < key.created {
        return Err(SignatureError::OlderThanKey { key: id });
    }
    match signature.properties.expires() {
        Some(expires) if expires <= now => {
            Err(SignatureError::Expired { key: id, expired: timestamp(expires) })
        }
        _ => Ok(state.expires),
    }
}

fn error(key: &Key, failure: VerificationFailure) -> SignatureError {
    let key = key.id();
    match failure {
        VerificationFailure::Mismatch => SignatureError::Invalid { key },
        VerificationFailure::WeakHash(hash) => SignatureError::WeakHash { key, hash },
        VerificationFailure::UnsupportedAlgorithm(algorithm) => {
            SignatureError::UnsupportedAlgorithm { key, algorithm }
        }
        VerificationFailure::UnsupportedProperty(subpacket) => {
            SignatureError::UnsupportedProperty { key, subpacket }
        }
        VerificationFailure::ShortKey(bits) => SignatureError::ShortKey { key, bits },
    }
}

/// Converts an OpenPGP timestamp. All such timestamps are representable.
fn timestamp(seconds: u32) -> Timestamp {
    Timestamp::from_second(i64::from(seconds)).unwrap_or_default()
}
