//! Verifies the signature of a release, and determines who signed it.
//!
//! | key | result |
//! |---|---|
//! | has the fingerprint of HashiCorp's key | signed by HashiCorp |
//! | has a trust signature by HashiCorp's key for partners | signed by a HashiCorp partner |
//! | otherwise | self-signed: the registry alone vouches for the key |
//!
//! The keys are tried in order. A key that did not make the signature is skipped; the key that made
//! it determines the result. As in Terraform, a key that has expired is accepted, and an invalid
//! trust signature is an error.

use std::fmt;

use wardian_openpgp::{
    HASHICORP_FINGERPRINT, KeyError, KeyId, PARTNER_KEY, PublicKeys, SignatureError, verify_armored,
    verify_detached,
};

/// Maximum number of keys of a release.
pub(super) const MAX_KEYS: usize = wardian_openpgp::MAX_KEYS;

/// A key with which a release may be signed, as the registry publishes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SigningKey {
    pub(super) armored: String,
    /// A signature of the key by HashiCorp; empty if there is none.
    pub(super) trust_signature: String,
}

/// A verified signature of a release. `Display` shows it in the words of Terraform, for example
/// "self-signed, key ID 34365D9472D7468F".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSignature {
    pub signer: ReleaseSigner,
    /// The identifier of the primary key: 16 hexadecimal digits.
    pub key_id: String,
    /// The time when the key expired, if it has expired.
    pub key_expired: Option<String>,
}

/// The owner of the key with which a release is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseSigner {
    HashiCorp,
    /// HashiCorp has signed the key.
    Partner,
    /// The registry publishes the key, without any other attestation.
    SelfSigned,
}

impl fmt::Display for ReleaseSignature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key_id = &self.key_id;
        match self.signer {
            ReleaseSigner::HashiCorp => formatter.write_str("signed by HashiCorp"),
            ReleaseSigner::Partner => write!(formatter, "signed by a HashiCorp partner, key ID {key_id}"),
            ReleaseSigner::SelfSigned => write!(formatter, "self-signed, key ID {key_id}"),
        }
    }
}

/// The reason why the signature of a release is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseSignatureError {
    #[error(
        "the release is not authenticated: the registry publishes no signing key for it, so its signature is from \
         an unknown issuer"
    )]
    NoKeys,
    #[error("the registry publishes a signing key that cannot be used: {0}")]
    Key(KeyError),
    #[error("{0}")]
    Signature(SignatureError),
    #[error("the trust signature of the signing key {key_id} cannot be verified: {error}")]
    TrustSignature { key_id: KeyId, error: SignatureError },
}

/// Verifies that one of the keys made the signature of the checksums.
pub(super) fn verify(
    checksums: &[u8],
    signature: &[u8],
    keys: &[SigningKey],
) -> Result<ReleaseSignature, ReleaseSignatureError> {
    let mut invalid_key = None;
    let mut unknown_issuer = None;
    for key in keys {
        let public_keys = match PublicKeys::from_armored(&key.armored) {
            Ok(public_keys) => public_keys,
            Err(error) => {
                // Another key may have made the signature.
                invalid_key = invalid_key.or(Some(error));
                continue;
            }
        };
        let verified = match verify_detached(signature, checksums, std::slice::from_ref(&public_keys)) {
            Ok(verified) => verified,
            Err(error @ SignatureError::UnknownIssuer { .. }) => {
                unknown_issuer = Some(error);
                continue;
            }
            Err(error) => return Err(ReleaseSignatureError::Signature(error)),
        };
        let signer = if verified.fingerprint == HASHICORP_FINGERPRINT {
            ReleaseSigner::HashiCorp
        } else if key.trust_signature.is_empty() {
            ReleaseSigner::SelfSigned
        } else {
            verify_trust(&key.trust_signature, &public_keys)
                .map_err(|error| ReleaseSignatureError::TrustSignature { key_id: verified.key_id, error })?;
            ReleaseSigner::Partner
        };
        return Ok(ReleaseSignature {
            signer,
            key_id: verified.key_id.to_string(),
            key_expired: verified.expired.map(|time| time.to_string()),
        });
    }
    Err(match (invalid_key, unknown_issuer) {
        (Some(error), _) => ReleaseSignatureError::Key(error),
        (None, Some(error)) => ReleaseSignatureError::Signature(error),
        (None, None) => ReleaseSignatureError::NoKeys,
    })
}

fn verify_trust(trust_signature: &str, key: &PublicKeys) -> Result<(), SignatureError> {
    match PublicKeys::from_armored(PARTNER_KEY) {
        Ok(partner) => verify_armored(trust_signature, key.as_bytes(), &[partner]).map(|_| ()),
        // A test verifies that the key is valid.
        Err(_) => Err(SignatureError::NoIssuer),
    }
}
