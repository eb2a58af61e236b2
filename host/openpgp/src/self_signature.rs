//! Determines the properties of a key from its self-signatures: whether it is revoked, when it
//! expires, and whether it may sign data.
//!
//! The newest valid signature of each kind applies, even to data signatures that are older, because
//! the owner of a key may have revoked or extended the key since then. A signature that does not
//! verify has no effect, because anyone can add a signature to a public key.

use crate::algorithm::{self, SignedContent};
use crate::error::{RevocationReason, SignatureError};
use crate::key::Key;
use crate::public_key::{PublicKey, SigningKey, Subkey, User};
use crate::signature_packet::{Properties, SignaturePacket, end, kind};

/// The properties of a signing key that is neither revoked nor excluded from signing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SigningKeyState {
    /// The time at which the key or its primary key expires, in seconds since 1970.
    pub(crate) expires: Option<u32>,
}

impl PublicKey {
    /// Returns the key that makes signatures.
    pub(crate) fn key<'a>(&'a self, signing: SigningKey<'a>) -> &'a Key {
        match signing {
            SigningKey::Primary => &self.primary,
            SigningKey::Subkey(subkey) => &subkey.key,
        }
    }

    /// Returns the state of a signing key at a time in seconds since 1970.
    ///
    /// # Errors
    /// Returns an error if the key must not sign data.
    pub(crate) fn signing_key_state(
        &self,
        signing: SigningKey<'_>,
        now: u32,
    ) -> Result<SigningKeyState, SignatureError> {
        let id = self.primary.id();
        if let Some(reason) = self.revocation(&self.signatures, kind::KEY_REVOCATION, None) {
            return Err(SignatureError::Revoked { key: id, reason });
        }
        let properties = self.primary_properties(now)?;
        let expires = properties.expires(&self.primary);
        let SigningKey::Subkey(subkey) = signing else {
            return match properties.allows_signing() {
                Some(false) => Err(SignatureError::NotASigningKey { key: id }),
                _ => Ok(SigningKeyState { expires }),
            };
        };
        let subkey_expires = self.subkey_expires(subkey, now)?;
        Ok(SigningKeyState { expires: expires.into_iter().chain(subkey_expires).min() })
    }

    /// Returns the reason for a valid revocation. The primary key revokes itself and its subkeys.
    fn revocation(
        &self,
        signatures: &[SignaturePacket],
        revocation: u8,
        subkey: Option<&Subkey>,
    ) -> Option<RevocationReason> {
        signatures
            .iter()
            .find(|signature| signature.kind == revocation && self.is_own(signature, subkey))
            .map(|signature| signature.properties.revocation_reason)
    }

    /// Whether the primary key made a signature of itself or of a subkey.
    fn is_own(&self, signature: &SignaturePacket, subkey: Option<&Subkey>) -> bool {
        algorithm::verify(signature, &self.primary, SignedContent::OwnKey, |context| {
            self.primary.hash(context);
            if let Some(subkey) = subkey {
                subkey.key.hash(context);
            }
        })
        .is_ok()
    }

    /// Whether the primary key made a signature of a user ID.
    fn is_own_certification(&self, signature: &SignaturePacket, user: &User) -> bool {
        algorithm::verify(signature, &self.primary, SignedContent::OwnKey, |context| {
            self.primary.hash(context);
            context.update(&[user.prefix]);
            // A key is smaller than `MAX_KEY_SIZE`.
            context.update(&u32::try_from(user.content.len()).unwrap_or(u32::MAX).to_be_bytes());
            context.update(&user.content);
        })
        .is_ok()
    }

    /// Returns the properties of the primary key from the signatures of its primary user ID and
    /// from its direct key signatures.
    fn primary_properties(&self, now: u32) -> Result<PrimaryProperties<'_>, SignatureError> {
        let direct = newest(self.signatures.iter().filter(|signature| {
            signature.kind == kind::DIRECT_KEY && is_current(signature, now) && self.is_own(signature, None)
        }));
        let mut has_revoked_user = false;
        let mut of_users: Vec<&SignaturePacket> = Vec::new();
        for user in &self.users {
            let by_owner = |signature: &&SignaturePacket| self.is_own_certification(signature, user);
            let Some(certification) = newest(user.signatures.iter().filter(|signature| {
                kind::CERTIFICATIONS.contains(&signature.kind)
                    && is_current(signature, now)
                    && by_owner(signature)
            })) else {
                continue;
            };
            let is_revoked = user.signatures.iter().any(|signature| {
                signature.kind == kind::CERTIFICATION_REVOCATION
                    && signature.properties.created >= certification.properties.created
                    && by_owner(&signature)
            });
            if is_revoked {
                has_revoked_user = true;
            } else {
                of_users.push(certification);
            }
        }
        let primary_user = of_users
            .into_iter()
            .max_by_key(|one| (one.properties.is_primary_user_id, one.properties.created));
        let key = self.primary.id();
        match (primary_user, direct) {
            (None, None) if has_revoked_user => {
                Err(SignatureError::Revoked { key, reason: RevocationReason::Unspecified })
            }
            (None, None) => Err(SignatureError::NoSelfSignature { key }),
            (user, direct) => Ok(PrimaryProperties {
                user: user.map(|one| &one.properties),
                direct: direct.map(|one| &one.properties),
            }),
        }
    }

    /// Returns the time at which a signing subkey expires.
    fn subkey_expires(&self, subkey: &Subkey, now: u32) -> Result<Option<u32>, SignatureError> {
        let key = subkey.key.id();
        if let Some(reason) = self.revocation(&subkey.signatures, kind::SUBKEY_REVOCATION, Some(subkey)) {
            return Err(SignatureError::Revoked { key, reason });
        }
        let unbound = SignatureError::UnboundSubkey { key, primary: self.primary.id() };
        let binding = newest(subkey.signatures.iter().filter(|signature| {
            signature.kind == kind::SUBKEY_BINDING
                && is_current(signature, now)
                && self.is_own(signature, Some(subkey))
        }));
        let Some(binding) = binding else { return Err(unbound) };
        if binding.properties.allows_signing() == Some(false) {
            return Err(SignatureError::NotASigningKey { key });
        }
        // The subkey must have a back signature. Otherwise anyone could present another person's
        // signatures as their own.
        let is_confirmed = binding.embedded().is_some_and(|confirmation| {
            confirmation.kind == kind::PRIMARY_KEY_BINDING
                && is_current(&confirmation, now)
                && algorithm::verify(&confirmation, &subkey.key, SignedContent::OwnKey, |context| {
                    self.primary.hash(context);
                    subkey.key.hash(context);
                })
                .is_ok()
        });
        if is_confirmed {
            Ok(key_expires(&subkey.key, binding.properties.key_lifetime))
        } else {
            Err(unbound)
        }
    }
}

/// The properties of a primary key in the signature of its user ID and in its direct key signature.
/// The properties in the user ID's signature take precedence.
struct PrimaryProperties<'a> {
    user: Option<&'a Properties>,
    direct: Option<&'a Properties>,
}

impl PrimaryProperties<'_> {
    fn allows_signing(&self) -> Option<bool> {
        let of_user = self.user.and_then(Properties::allows_signing);
        of_user.or_else(|| self.direct.and_then(Properties::allows_signing))
    }

    fn expires(&self, key: &Key) -> Option<u32> {
        let of_user = self.user.and_then(|properties| properties.key_lifetime);
        key_expires(key, of_user.or_else(|| self.direct.and_then(|properties| properties.key_lifetime)))
    }
}

fn key_expires(key: &Key, lifetime: Option<u32>) -> Option<u32> {
    end(key.created, lifetime.unwrap_or_default())
}

/// Whether a signature of a key has been made and has not expired.
fn is_current(signature: &SignaturePacket, now: u32) -> bool {
    let properties = &signature.properties;
    !properties.is_from_future(now) && properties.expires().is_none_or(|expires| expires > now)
}

fn newest<'a>(signatures: impl Iterator<Item = &'a SignaturePacket>) -> Option<&'a SignaturePacket> {
    signatures.max_by_key(|signature| signature.properties.created)
}
