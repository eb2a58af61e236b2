//! Public key and public subkey packets of version 4.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, digest};

use crate::bytes::ByteReader;
use crate::error::{KeyError, MalformedData};

/// The identifier of a key: the last eight bytes of its fingerprint. `Display` shows 16 upper-case
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; 8]);

impl KeyId {
    pub(crate) const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }
}

/// The fingerprint of a key of version 4. `Display` shows 40 upper-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 20]);

impl Fingerprint {
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    pub fn key_id(&self) -> KeyId {
        let mut id = [0; 8];
        id.iter_mut().zip(self.0.iter().skip(12)).for_each(|(to, from)| *to = *from);
        KeyId(id)
    }
}

macro_rules! show_hexadecimal {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02X}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

show_hexadecimal!(KeyId);
show_hexadecimal!(Fingerprint);

/// An elliptic curve for ECDSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

/// The algorithm-specific integers of a public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyMaterial {
    Rsa {
        modulus: Box<[u8]>,
        exponent: Box<[u8]>,
    },
    Ecdsa {
        curve: Curve,
        point: Box<[u8]>,
    },
    Ed25519([u8; 32]),
    /// An algorithm that is not supported, or that is not a signature algorithm.
    Unsupported(Box<str>),
}

/// A public key or a public subkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The body of the packet, which signatures of the key cover.
    body: Box<[u8]>,
    /// Seconds since 1970.
    pub(crate) created: u32,
    pub(crate) material: KeyMaterial,
    pub(crate) fingerprint: Fingerprint,
}

impl Key {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, KeyError> {
        let mut reader = ByteReader::new(body);
        let version = reader.u8()?;
        if version != 4 {
            return Err(KeyError::UnsupportedVersion(version));
        }
        // Signatures of a key cover its length as a number of two bytes.
        let length = u16::try_from(body.len()).map_err(|_| MalformedData::TrailingData)?;
        let created = reader.u32()?;
        let algorithm = reader.u8()?;
        let material = KeyMaterial::parse(algorithm, &mut reader)?;
        let hashed = [&[0x99], &length.to_be_bytes()[..], body].concat();
        let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, &hashed);
        let mut fingerprint = [0; 20];
        fingerprint.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
        Ok(Self { body: body.into(), created, material, fingerprint: Fingerprint(fingerprint) })
    }

    pub(crate) fn id(&self) -> KeyId {
        self.fingerprint.key_id()
    }

    /// Adds the key to the data that a signature of the key covers.
    pub(crate) fn hash(&self, context: &mut Context) {
        // `parse` has checked that the length fits into two bytes.
        let length = u16::try_from(self.body.len()).unwrap_or(u16::MAX);
        context.update(&[0x99]);
        context.update(&length.to_be_bytes());
        context.update(&self.body);
    }
}

impl KeyMaterial {
    fn parse(algorithm: u8, reader: &mut ByteReader<'_>) -> Result<Self, MalformedData> {
        let unsupported = |name: &str| Ok(Self::Unsupported(name.into()));
        let material = match algorithm {
            1 | 3 => {
                let modulus = reader.integer()?;
                let exponent = reader.integer()?;
                if modulus.is_empty() || exponent.is_empty() {
                    return Err(MalformedData::Number);
                }
                Self::Rsa { modulus: modulus.into(), exponent: exponent.into() }
            }
            19 => match NamedCurve::read(reader)? {
                NamedCurve::Nist(curve) => Self::Ecdsa { curve, point: reader.integer()?.into() },
                other => return unsupported(&format!("ECDSA with the curve {}", other.name())),
            },
            22 => match NamedCurve::read(reader)? {
                // The prefix 0x40 precedes the 32 bytes of the point.
                NamedCurve::Ed25519 => match reader.integer()?.split_first() {
                    Some((0x40, point)) => {
                        Self::Ed25519(point.try_into().map_err(|_| MalformedData::Number)?)
                    }
                    _ => return Err(MalformedData::Number),
                },
                other => return unsupported(&format!("EdDSA with the curve {}", other.name())),
            },
            27 => Self::Ed25519(reader.array()?),
            2 => return unsupported("RSA for encryption only"),
            16 | 20 => return unsupported("ElGamal"),
            17 => return unsupported("DSA"),
            18 => return unsupported("ECDH"),
            25 => return unsupported("X25519"),
            26 => return unsupported("X448"),
            28 => return unsupported("Ed448"),
            other => return unsupported(&format!("the public key algorithm {other}")),
        };
        if reader.is_empty() { Ok(material) } else { Err(MalformedData::TrailingData) }
    }
}

/// The curve that a key specifies with an object identifier.
enum NamedCurve {
    Nist(Curve),
    Ed25519,
    Known(&'static str),
    Unknown,
}

impl NamedCurve {
    fn read(reader: &mut ByteReader<'_>) -> Result<Self, MalformedData> {
        let length = reader.u8()?;
        Ok(match reader.take(usize::from(length))? {
            [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07] => Self::Nist(Curve::P256),
            [0x2b, 0x81, 0x04, 0x00, 0x22] => Self::Nist(Curve::P384),
            [0x2b, 0x81, 0x04, 0x00, 0x23] => Self::Nist(Curve::P521),
            [0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01] => Self::Ed25519,
            [0x2b, 0x65, 0x71] => Self::Known("Ed448"),
            [0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x07] => Self::Known("brainpoolP256r1"),
            [0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0b] => Self::Known("brainpoolP384r1"),
            [0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0d] => Self::Known("brainpoolP512r1"),
            [0x2b, 0x81, 0x04, 0x00, 0x0a] => Self::Known("secp256k1"),
            _ => Self::Unknown,
        })
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Nist(Curve::P256) => "P-256",
            Self::Nist(Curve::P384) => "P-384",
            Self::Nist(Curve::P521) => "P-521",
            Self::Ed25519 => "Ed25519",
            Self::Known(name) => name,
            Self::Unknown => "of an unknown object identifier",
        }
    }
}
