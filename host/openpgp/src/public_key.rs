//! Parses public keys: a primary key with its user IDs, its subkeys and their signatures.

use crate::armor::{self, ArmorKind};
use crate::error::{KeyError, MalformedData};
use crate::key::{Fingerprint, Key};
use crate::packet::{PacketKind, Packets};
use crate::signature_packet::{Issuer, SignaturePacket, VersionedSignature};

/// Maximum size of an armored public key, in bytes.
pub const MAX_KEY_SIZE: usize = 256 << 10;

/// Maximum number of public keys in an armored text, and maximum number of texts for one verification.
pub const MAX_KEYS: usize = 16;

/// Maximum number of self-signatures of a key. Each of them is verified when the key is used.
const MAX_SELF_SIGNATURES: usize = 512;

/// The public keys in one armored text, which usually contains one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKeys {
    bytes: Vec<u8>,
    keys: Vec<PublicKey>,
}

impl PublicKeys {
    /// Parses the first armored block of a text.
    ///
    /// # Errors
    /// Returns an error if the text is not an armored public key of version 4.
    pub fn from_armored(text: &str) -> Result<Self, KeyError> {
        if text.len() > MAX_KEY_SIZE {
            return Err(KeyError::TooLarge);
        }
        let bytes = armor::decode(text, ArmorKind::PublicKey)?;
        let keys = parse(&bytes)?;
        Ok(Self { bytes, keys })
    }

    /// Returns the bytes that the armor encodes, which a trust signature covers.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the fingerprints of the primary keys.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        self.keys.iter().map(|key| key.primary.fingerprint)
    }

    /// Returns each key that may have made a signature of this issuer, with its public key.
    pub(crate) fn by_issuer(&self, issuer: Issuer) -> impl Iterator<Item = (&PublicKey, SigningKey<'_>)> {
        self.keys.iter().flat_map(move |key| {
            let primary = issuer.is(&key.primary).then_some((key, SigningKey::Primary));
            let subkeys = key.subkeys.iter().filter(move |subkey| issuer.is(&subkey.key));
            primary.into_iter().chain(subkeys.map(move |subkey| (key, SigningKey::Subkey(subkey))))
        })
    }
}

/// The primary key or subkey that makes a signature.
#[derive(Clone, Copy)]
pub(crate) enum SigningKey<'a> {
    Primary,
    Subkey(&'a Subkey),
}

/// A primary key and the data that it signs: its properties, its user IDs, its subkeys. Signatures
/// by other keys are omitted. No signature is verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    pub(crate) primary: Key,
    /// Direct key signatures of the primary key.
    pub(crate) signatures: Vec<SignaturePacket>,
    pub(crate) users: Vec<User>,
    pub(crate) subkeys: Vec<Subkey>,
}

/// A user ID or a user attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// The first byte of the data that a signature covers.
    pub(crate) prefix: u8,
    pub(crate) content: Box<[u8]>,
    pub(crate) signatures: Vec<SignaturePacket>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subkey {
    pub(crate) key: Key,
    pub(crate) signatures: Vec<SignaturePacket>,
}

/// The component of a public key to which the next signatures belong.
enum Signed {
    Primary,
    User,
    Subkey,
    /// A subkey of an unsupported version.
    Skipped,
}

fn parse(bytes: &[u8]) -> Result<Vec<PublicKey>, KeyError> {
    let mut keys: Vec<PublicKey> = Vec::new();
    let mut signed = Signed::Primary;
    let mut signature_count = 0;
    for packet in Packets::new(bytes) {
        let packet = packet?;
        let is_full = keys.len() >= MAX_KEYS;
        match (packet.kind, keys.last_mut()) {
            (PacketKind::PublicKey, _) => {
                if is_full {
                    return Err(KeyError::TooManyKeys);
                }
                let primary = Key::parse(&packet.body)?;
                keys.push(PublicKey {
                    primary,
                    signatures: Vec::new(),
                    users: Vec::new(),
                    subkeys: Vec::new(),
                });
                signed = Signed::Primary;
                signature_count = 0;
            }
            (PacketKind::SecretKey, _) => return Err(KeyError::SecretKey),
            (PacketKind::Ignored, _) => {}
            (PacketKind::UserId | PacketKind::UserAttribute, Some(key)) => {
                let prefix = if packet.kind == PacketKind::UserId { 0xb4 } else { 0xd1 };
                key.users.push(User { prefix, content: packet.body[..].into(), signatures: Vec::new() });
                signed = Signed::User;
            }
            (PacketKind::PublicSubkey, Some(key)) => match Key::parse(&packet.body) {
                Ok(subkey) => {
                    key.subkeys.push(Subkey { key: subkey, signatures: Vec::new() });
                    signed = Signed::Subkey;
                }
                Err(KeyError::UnsupportedVersion(_)) => signed = Signed::Skipped,
                Err(error) => return Err(error),
            },
            (PacketKind::Signature, Some(key)) => {
                let signatures = match signed {
                    Signed::Primary => Some(&mut key.signatures),
                    Signed::User => key.users.last_mut().map(|user| &mut user.signatures),
                    Signed::Subkey => key.subkeys.last_mut().map(|subkey| &mut subkey.signatures),
                    Signed::Skipped => None,
                };
                let signature = self_signature(&packet.body, &key.primary);
                if let (Some(signatures), Some(signature)) = (signatures, signature) {
                    signature_count += 1;
                    if signature_count > MAX_SELF_SIGNATURES {
                        return Err(KeyError::TooManySignatures);
                    }
                    signatures.push(signature);
                }
            }
            _ => return Err(MalformedData::UnexpectedPacket.into()),
        }
    }
    if keys.is_empty() { Err(KeyError::Empty) } else { Ok(keys) }
}

/// Parses a signature that the primary key may have made. Signatures of other keys and of other
/// versions have no effect, even if they are malformed.
fn self_signature(body: &[u8], primary: &Key) -> Option<SignaturePacket> {
    match SignaturePacket::parse(body) {
        Ok(VersionedSignature::Supported(signature)) => {
            signature.issuer.is_none_or(|issuer| issuer.is(primary)).then_some(*signature)
        }
        _ => None,
    }
}
