//! Errors about keys and signatures.

use std::fmt;

use jiff::Timestamp;

use crate::key::KeyId;

/// The reason why an armored text cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArmorError {
    #[error("it contains no \"-----BEGIN PGP ...-----\" line")]
    NotArmored,
    #[error("it is not a {expected}")]
    OtherContent { expected: &'static str },
    #[error("its last line \"-----END PGP ...-----\" is missing")]
    Truncated,
    #[error("its content is not valid base64")]
    NotBase64,
    #[error("its content does not match its checksum")]
    Checksum,
}

/// The reason why bytes are not a sequence of valid packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedData {
    #[error("its data ends in the middle of a packet")]
    Truncated,
    #[error("its data does not start with an OpenPGP packet")]
    NotAPacket,
    #[error("it contains an unexpected packet")]
    UnexpectedPacket,
    #[error("a packet has more data than its format allows")]
    TrailingData,
    #[error("a number in a packet is out of range")]
    Number,
    #[error("a signature does not contain its creation time")]
    NoCreationTime,
}

/// The reason why a public key cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    #[error("the public key is larger than {} KiB", crate::MAX_KEY_SIZE / 1024)]
    TooLarge,
    #[error("the armored public key cannot be decoded: {0}")]
    Armor(#[from] ArmorError),
    #[error("the public key is invalid: {0}")]
    Malformed(#[from] MalformedData),
    #[error("the armored text contains no public key")]
    Empty,
    #[error("the armored text contains more than {} public keys", crate::MAX_KEYS)]
    TooManyKeys,
    #[error("the public key has more than 512 self-signatures")]
    TooManySignatures,
    #[error("the armored text contains a secret key; publish only the public key")]
    SecretKey,
    #[error("the public key has version {0} of the OpenPGP format, but only version 4 is supported")]
    UnsupportedVersion(u8),
}

/// The reason why a signature is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    #[error("the signature is larger than {} KiB", crate::MAX_SIGNATURE_SIZE / 1024)]
    TooLarge,
    #[error("there are more than {} public keys", crate::MAX_KEYS)]
    TooManyKeys,
    /// The signature is armored, but a binary signature is required.
    #[error("the signature is armored (it starts with \"-----BEGIN PGP\"), but it must be binary")]
    Armored,
    #[error("the armored signature cannot be decoded: {0}")]
    Armor(#[from] ArmorError),
    #[error("the signature is invalid: {0}")]
    Malformed(#[from] MalformedData),
    #[error("the file contains no signature")]
    Empty,
    #[error("the signature has version {0} of the OpenPGP format, but only version 4 is supported")]
    UnsupportedVersion(u8),
    #[error("the signature does not identify its issuer key")]
    NoIssuer,
    /// None of the keys made the signature.
    #[error("the signature is from an unknown issuer: key {issuer}, which is not a known signing key")]
    UnknownIssuer { issuer: KeyId },
    #[error("the signature by key {key} does not match the signed data")]
    Invalid { key: KeyId },
    #[error(
        "the signature by key {key} uses {hash}, which is not secure; the publisher must sign with SHA-256 or \
         SHA-512"
    )]
    WeakHash { key: KeyId, hash: &'static str },
    #[error("the signature by key {key} uses {algorithm}, which is not supported")]
    UnsupportedAlgorithm { key: KeyId, algorithm: Box<str> },
    #[error(
        "the signature by key {key} is of type {kind:#04x}, but only signatures of binary documents (0x00) are \
         supported"
    )]
    UnsupportedType { key: KeyId, kind: u8 },
    #[error(
        "the signature by key {key} has a critical property (subpacket {subpacket}) that is not supported"
    )]
    UnsupportedProperty { key: KeyId, subpacket: u8 },
    #[error("the key {key} is an RSA key with {bits} bits, but at least 2048 bits are required")]
    ShortKey { key: KeyId, bits: usize },
    #[error("the signature by key {key} expired at {expired}")]
    Expired { key: KeyId, expired: Timestamp },
    #[error("the signature by key {key} was made at {created}, which is in the future; check the clock")]
    FromFuture { key: KeyId, created: Timestamp },
    #[error("the signature by key {key} is older than the key")]
    OlderThanKey { key: KeyId },
    #[error("the key {key} was revoked by its owner{reason}")]
    Revoked { key: KeyId, reason: RevocationReason },
    #[error("the key {key} has no valid self-signature")]
    NoSelfSignature { key: KeyId },
    #[error("the key {key} must not be used for signatures, according to its owner")]
    NotASigningKey { key: KeyId },
    /// The signing subkey and its primary key have not signed each other (binding and back signature).
    #[error("the key {key} is not a valid signing subkey of the key {primary}")]
    UnboundSubkey { key: KeyId, primary: KeyId },
}

/// The reason of a revocation, according to the owner of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevocationReason {
    Unspecified,
    Superseded,
    Compromised,
    Retired,
}

impl RevocationReason {
    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Superseded,
            2 => Self::Compromised,
            3 => Self::Retired,
            _ => Self::Unspecified,
        }
    }
}

impl fmt::Display for RevocationReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unspecified => "",
            Self::Superseded => ", because another key supersedes it",
            Self::Compromised => ", because its secret key is compromised",
            Self::Retired => ", because it is no longer used",
        })
    }
}
