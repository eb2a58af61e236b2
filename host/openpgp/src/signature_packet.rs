//! Signature packets of version 4.
//!
//! A signature has subpackets in two areas. Only the first area is signed, so only properties that
//! are verified in another way are read from the second area: the issuer, which selects the key
//! that must verify the signature, and an embedded signature.

use crate::bytes::ByteReader;
use crate::error::{MalformedData, RevocationReason};
use crate::key::{Fingerprint, Key, KeyId};

/// The types of signatures that this crate distinguishes.
pub(crate) mod kind {
    pub(crate) const BINARY_DOCUMENT: u8 = 0x00;
    pub(crate) const CERTIFICATIONS: std::ops::RangeInclusive<u8> = 0x10..=0x13;
    pub(crate) const SUBKEY_BINDING: u8 = 0x18;
    pub(crate) const PRIMARY_KEY_BINDING: u8 = 0x19;
    pub(crate) const DIRECT_KEY: u8 = 0x1f;
    pub(crate) const KEY_REVOCATION: u8 = 0x20;
    pub(crate) const SUBKEY_REVOCATION: u8 = 0x28;
    pub(crate) const CERTIFICATION_REVOCATION: u8 = 0x30;
}

/// The integers of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SignatureValue {
    Rsa(Box<[u8]>),
    /// The integers `r` and `s`, without leading zeros.
    Pair(Box<[u8]>, Box<[u8]>),
    Ed25519([u8; 64]),
    Unsupported,
}

/// The key that made a signature, according to the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issuer {
    Fingerprint(Fingerprint),
    KeyId(KeyId),
}

impl Issuer {
    pub(crate) fn is(self, key: &Key) -> bool {
        match self {
            Self::Fingerprint(fingerprint) => fingerprint == key.fingerprint,
            Self::KeyId(id) => id == key.id(),
        }
    }

    pub(crate) fn key_id(self) -> KeyId {
        match self {
            Self::Fingerprint(fingerprint) => fingerprint.key_id(),
            Self::KeyId(id) => id,
        }
    }
}

/// A signature packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignaturePacket {
    pub(crate) kind: u8,
    /// The algorithm of the key.
    pub(crate) algorithm: u8,
    pub(crate) hash: u8,
    /// The part of the packet that the signature covers.
    pub(crate) hashed: Box<[u8]>,
    /// The first bytes of the digest.
    pub(crate) digest_prefix: [u8; 2],
    pub(crate) value: SignatureValue,
    pub(crate) properties: Properties,
    pub(crate) issuer: Option<Issuer>,
    /// The body of a signature packet by a subkey.
    pub(crate) embedded: Option<Box<[u8]>>,
}

/// The signed properties of a signature. Durations are in seconds; zero means no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Properties {
    /// Seconds since 1970.
    pub(crate) created: u32,
    pub(crate) lifetime: u32,
    pub(crate) key_lifetime: Option<u32>,
    pub(crate) key_flags: Option<u8>,
    pub(crate) is_primary_user_id: bool,
    pub(crate) revocation_reason: RevocationReason,
    /// A critical subpacket that is not supported.
    pub(crate) unsupported: Option<u8>,
}

/// The flag of keys that sign data.
const SIGN_DATA: u8 = 0x02;

/// Maximum difference between this machine's clock and the signer's clock, in seconds.
const MAX_CLOCK_DIFFERENCE: u32 = 60 * 60;

impl Properties {
    /// Whether the key may sign data according to this signature.
    pub(crate) fn allows_signing(&self) -> Option<bool> {
        self.key_flags.map(|flags| flags & SIGN_DATA != 0)
    }

    pub(crate) fn is_from_future(&self, now: u32) -> bool {
        self.created > now.saturating_add(MAX_CLOCK_DIFFERENCE)
    }

    /// Returns the time when the signature expires.
    pub(crate) fn expires(&self) -> Option<u32> {
        end(self.created, self.lifetime)
    }
}

/// Returns the end of a lifetime in seconds, if it is limited. A lifetime that ends after the last
/// representable time is not limited.
pub(crate) fn end(created: u32, lifetime: u32) -> Option<u32> {
    created.checked_add(lifetime).filter(|_| lifetime != 0)
}

/// A signature packet of any version.
pub(crate) enum VersionedSignature {
    Supported(Box<SignaturePacket>),
    Unsupported(u8),
}

impl SignaturePacket {
    pub(crate) fn parse(body: &[u8]) -> Result<VersionedSignature, MalformedData> {
        let mut reader = ByteReader::new(body);
        let version = reader.u8()?;
        if version != 4 {
            return Ok(VersionedSignature::Unsupported(version));
        }
        let [kind, algorithm, hash] = reader.array()?;
        let hashed_length = reader.u16()?;
        let hashed_area = reader.take(usize::from(hashed_length))?;
        let hashed = body.get(..body.len() - reader.remaining().len()).unwrap_or_default();
        let unhashed_length = reader.u16()?;
        let unhashed_area = reader.take(usize::from(unhashed_length))?;
        let digest_prefix = reader.array()?;
        let value = match algorithm {
            1 | 3 => SignatureValue::Rsa(reader.integer()?.into()),
            19 | 22 => SignatureValue::Pair(reader.integer()?.into(), reader.integer()?.into()),
            27 => SignatureValue::Ed25519(reader.array()?),
            _ => SignatureValue::Unsupported,
        };
        if !reader.is_empty() && value != SignatureValue::Unsupported {
            return Err(MalformedData::TrailingData);
        }
        let mut found = Subpackets::default();
        found.read(hashed_area, true)?;
        found.read(unhashed_area, false)?;
        let properties = Properties {
            created: found.created.ok_or(MalformedData::NoCreationTime)?,
            lifetime: found.lifetime,
            key_lifetime: found.key_lifetime,
            key_flags: found.key_flags,
            is_primary_user_id: found.is_primary_user_id,
            revocation_reason: found.revocation_reason,
            unsupported: found.unsupported,
        };
        Ok(VersionedSignature::Supported(Box::new(Self {
            kind,
            algorithm,
            hash,
            hashed: hashed.into(),
            digest_prefix,
            value,
            properties,
            issuer: found.signed_issuer.or(found.unsigned_issuer),
            embedded: found.embedded.map(Into::into),
        })))
    }

    /// Returns the signature of a subkey that this signature contains.
    pub(crate) fn embedded(&self) -> Option<Box<Self>> {
        match Self::parse(self.embedded.as_deref()?) {
            Ok(VersionedSignature::Supported(signature)) => Some(signature),
            _ => None,
        }
    }
}

/// The subpackets that have been read.
struct Subpackets<'a> {
    created: Option<u32>,
    lifetime: u32,
    key_lifetime: Option<u32>,
    key_flags: Option<u8>,
    is_primary_user_id: bool,
    revocation_reason: RevocationReason,
    signed_issuer: Option<Issuer>,
    unsigned_issuer: Option<Issuer>,
    embedded: Option<&'a [u8]>,
    unsupported: Option<u8>,
}

impl Default for Subpackets<'_> {
    fn default() -> Self {
        Self {
            created: None,
            lifetime: 0,
            key_lifetime: None,
            key_flags: None,
            is_primary_user_id: false,
            revocation_reason: RevocationReason::Unspecified,
            signed_issuer: None,
            unsigned_issuer: None,
            embedded: None,
            unsupported: None,
        }
    }
}

impl<'a> Subpackets<'a> {
    fn read(&mut self, area: &'a [u8], is_signed: bool) -> Result<(), MalformedData> {
        let mut area = ByteReader::new(area);
        while !area.is_empty() {
            let first = area.u8()?;
            let length = match first {
                0..192 => u32::from(first),
                192..255 => ((u32::from(first) - 192) << 8) + u32::from(area.u8()?) + 192,
                255 => area.u32()?,
            };
            let mut subpacket = ByteReader::new(area.take_u32(length)?);
            let tag = subpacket.u8()?;
            self.add(tag & 0x7f, tag & 0x80 != 0, subpacket, is_signed)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        tag: u8,
        is_critical: bool,
        mut body: ByteReader<'a>,
        is_signed: bool,
    ) -> Result<(), MalformedData> {
        match tag {
            16 => self.add_issuer(Issuer::KeyId(KeyId::from_bytes(body.array()?)), is_signed),
            33 => {
                // Fingerprints of other versions have other lengths, and match no key.
                let is_supported = body.u8()? == 4;
                let fingerprint = if is_supported { Some(body.array()?) } else { None };
                if let Some(fingerprint) = fingerprint {
                    self.add_issuer(Issuer::Fingerprint(Fingerprint::from_bytes(fingerprint)), is_signed);
                }
            }
            32 => self.embedded = self.embedded.or(Some(body.remaining())),
            _ if !is_signed => {}
            2 => self.created = Some(body.u32()?),
            3 => self.lifetime = body.u32()?,
            9 => self.key_lifetime = Some(body.u32()?),
            25 => self.is_primary_user_id = body.u8()? != 0,
            // Additional bytes contain flags from later versions of the format.
            27 => self.key_flags = Some(body.remaining().first().copied().unwrap_or_default()),
            29 => self.revocation_reason = RevocationReason::from_code(body.u8()?),
            // Properties that do not restrict the use of a signature or key for this crate:
            // exportability, trust, revocability, preferences, revokers, key servers, policy,
            // signer, features, target.
            4 | 5 | 7 | 11 | 12 | 21..=24 | 26 | 28 | 30 | 31 | 34 | 35 | 39 => {}
            _ if is_critical => self.unsupported = self.unsupported.or(Some(tag)),
            _ => {}
        }
        Ok(())
    }

    /// Records the issuer. A fingerprint takes precedence over a key ID.
    fn add_issuer(&mut self, issuer: Issuer, is_signed: bool) {
        let known = if is_signed { &mut self.signed_issuer } else { &mut self.unsigned_issuer };
        if !matches!(known, Some(Issuer::Fingerprint(_))) {
            *known = Some(issuer);
        }
    }
}
