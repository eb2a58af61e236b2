//! Verifies the signature of a release, and determines who signed it.
//!
//! | key | result |
//! |---|---|
//! | has the fingerprint of HashiCorp's key | signed by HashiCorp |
//! | has a trust signature by HashiCorp's partner key | signed by a HashiCorp partner |
//! | otherwise | self-signed: only the registry attests the key |
//!
//! The keys are tried in order. A key that did not make the signature is skipped; the key that made
//! it determines the result. As in Terraform, a key that has expired is accepted, and an invalid
//! trust signature is an error.

use std::fmt;

use wardian_openpgp::{
    Fingerprint, HASHICORP_FINGERPRINT, KeyError, KeyId, PARTNER_KEY, PublicKeys, SignatureError, Verified,
    verify_armored, verify_detached,
};

/// Maximum number of keys of a release.
pub(super) const MAX_KEYS: usize = wardian_openpgp::MAX_KEYS;

/// A key with which a release may be signed, in the form that the registry publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SigningKey {
    pub(super) armored: String,
    /// A signature of the key by HashiCorp; empty if there is none.
    pub(super) trust_signature: String,
}

/// A verified signature of a release. `Display` formats it in Terraform's wording, for example
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

/// HashiCorp's keys.
struct KnownKeys {
    hashicorp: Fingerprint,
    /// The armored key that signs the keys of partners.
    partner: &'static str,
}

const KNOWN_KEYS: KnownKeys = KnownKeys { hashicorp: HASHICORP_FINGERPRINT, partner: PARTNER_KEY };

/// Verifies that one of the keys made the signature of the checksums.
pub(super) fn verify(
    checksums: &[u8],
    signature: &[u8],
    keys: &[SigningKey],
) -> Result<ReleaseSignature, ReleaseSignatureError> {
    KNOWN_KEYS.verify(checksums, signature, keys)
}

impl KnownKeys {
    fn verify(
        &self,
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
            match verify_detached(signature, checksums, std::slice::from_ref(&public_keys)) {
                Ok(verified) => {
                    return Ok(ReleaseSignature {
                        signer: self.signer(key, &public_keys, &verified)?,
                        key_id: verified.key_id.to_string(),
                        key_expired: verified.expired.map(|time| time.to_string()),
                    });
                }
                Err(error @ SignatureError::UnknownIssuer { .. }) => unknown_issuer = Some(error),
                Err(error) => return Err(ReleaseSignatureError::Signature(error)),
            }
        }
        Err(match (invalid_key, unknown_issuer) {
            (Some(error), _) => ReleaseSignatureError::Key(error),
            (None, Some(error)) => ReleaseSignatureError::Signature(error),
            (None, None) => ReleaseSignatureError::NoKeys,
        })
    }

    fn signer(
        &self,
        key: &SigningKey,
        public_keys: &PublicKeys,
        verified: &Verified,
    ) -> Result<ReleaseSigner, ReleaseSignatureError> {
        if verified.fingerprint == self.hashicorp {
            return Ok(ReleaseSigner::HashiCorp);
        }
        if key.trust_signature.is_empty() {
            return Ok(ReleaseSigner::SelfSigned);
        }
        let partner = PublicKeys::from_armored(self.partner).map_err(ReleaseSignatureError::Key)?;
        verify_armored(&key.trust_signature, public_keys.as_bytes(), &[partner])
            .map(|_| ReleaseSigner::Partner)
            .map_err(|error| ReleaseSignatureError::TrustSignature { key_id: verified.key_id, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! release_file {
        ($name:literal) => {
            include_bytes!(concat!("../../tests/registry/release/", $name))
        };
    }

    const SUMS: &[u8] = release_file!("native.sums");
    const SIGNATURE: &[u8] = release_file!("native.sig");

    fn key(armored: &[u8]) -> SigningKey {
        SigningKey { armored: String::from_utf8(armored.to_vec()).unwrap(), trust_signature: String::new() }
    }

    fn author() -> SigningKey {
        key(release_file!("author.asc"))
    }

    fn trusted(trust_signature: &[u8]) -> SigningKey {
        SigningKey { trust_signature: String::from_utf8(trust_signature.to_vec()).unwrap(), ..author() }
    }

    fn key_id(key: &SigningKey) -> String {
        let keys = PublicKeys::from_armored(&key.armored).unwrap();
        keys.fingerprints().next().unwrap().key_id().to_string()
    }

    /// The known keys, with a partner key from the tests' directory.
    const TEST_KEYS: KnownKeys = KnownKeys {
        partner: match std::str::from_utf8(release_file!("partner.asc")) {
            Ok(text) => text,
            Err(_) => "",
        },
        ..KNOWN_KEYS
    };

    #[test]
    fn signature_by_any_listed_key_is_accepted() {
        let other = key(release_file!("other.asc"));
        for keys in [vec![author()], vec![other.clone(), author()], vec![key(b"nonsense"), author()]] {
            let signature = verify(SUMS, SIGNATURE, &keys).unwrap();
            assert_eq!(signature.to_string(), format!("self-signed, key ID {}", key_id(&author())));
            assert_eq!((signature.signer, signature.key_expired), (ReleaseSigner::SelfSigned, None));
        }
        let error = verify(SUMS, SIGNATURE, &[other]).unwrap_err();
        assert!(error.to_string().contains("unknown issuer"), "{error}");
        assert_eq!(verify(SUMS, SIGNATURE, &[]), Err(ReleaseSignatureError::NoKeys));
        assert!(matches!(verify(SUMS, SIGNATURE, &[key(b"nonsense")]), Err(ReleaseSignatureError::Key(_))));
    }

    #[test]
    fn wrong_signature_is_rejected() {
        let changed = [SUMS, b"\n"].concat();
        for (sums, signature) in [
            (&changed[..], SIGNATURE),
            (SUMS, release_file!("component.sig")),
            (SUMS, release_file!("native.armored.sig")),
            (SUMS, b""),
            (SUMS, b"nonsense"),
        ] {
            let error = verify(sums, signature, &[author()]).unwrap_err();
            assert!(matches!(error, ReleaseSignatureError::Signature(_)), "{error}");
        }
        // The first key that made the signature determines the result.
        assert!(verify(&changed, SIGNATURE, &[author(), author()]).is_err());
    }

    #[test]
    fn expired_key_is_accepted_and_reported() {
        let expired = key(release_file!("expired.asc"));
        let signature = verify(SUMS, release_file!("native.expired.sig"), &[expired]).unwrap();
        assert_eq!(signature.key_expired.as_deref(), Some("2020-01-31T00:00:00Z"));
    }

    #[test]
    fn signer_is_known_by_fingerprint_or_trust_signature() {
        let fingerprints: Vec<_> =
            PublicKeys::from_armored(&author().armored).unwrap().fingerprints().collect();
        let hashicorp = KnownKeys { hashicorp: fingerprints[0], ..TEST_KEYS };
        let signature = hashicorp.verify(SUMS, SIGNATURE, &[author()]).unwrap();
        assert_eq!(signature.to_string(), "signed by HashiCorp");

        let partner = trusted(release_file!("author.trust.asc"));
        let signature = TEST_KEYS.verify(SUMS, SIGNATURE, std::slice::from_ref(&partner)).unwrap();
        assert_eq!(
            signature.to_string(),
            format!("signed by a HashiCorp partner, key ID {}", key_id(&author()))
        );
        // HashiCorp's own key did not make this signature.
        assert!(matches!(
            verify(SUMS, SIGNATURE, &[partner]),
            Err(ReleaseSignatureError::TrustSignature { .. })
        ));
        for wrong in [&b"bogus"[..], release_file!("native.armored.sig")] {
            let error = TEST_KEYS.verify(SUMS, SIGNATURE, &[trusted(wrong)]).unwrap_err();
            assert!(error.to_string().contains("trust signature"), "{error}");
        }
    }
}
