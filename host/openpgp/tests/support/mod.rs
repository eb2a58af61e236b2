//! Creates keys and signatures that GnuPG 2.2 cannot create, with Ed25519 keys from aws-lc.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "only tests use it")]

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_openpgp::PublicKeys;

/// 2024-01-01, the creation time of keys.
pub const CREATED: u32 = 1_704_067_200;
/// 2024-02-01, the signing time of documents.
pub const SIGNED: u32 = 1_706_745_600;

pub const SIGN_DATA: u8 = 0x02;
pub const CERTIFY: u8 = 0x01;

/// Returns the content of a file with a key or a signature that GnuPG created.
pub fn data(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn text(name: &str) -> String {
    String::from_utf8(data(name)).unwrap()
}

pub fn keys(name: &str) -> PublicKeys {
    PublicKeys::from_armored(&text(name)).unwrap()
}

/// Encloses packets in armor.
pub fn armor(packets: &[u8]) -> String {
    format!(
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{}\n-----END PGP PUBLIC KEY BLOCK-----\n",
        STANDARD.encode(packets)
    )
}

pub fn parse(packets: &[u8]) -> PublicKeys {
    PublicKeys::from_armored(&armor(packets)).unwrap()
}

/// Encodes a packet with a header of the new format.
pub fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    [&[0xc0 | tag, 255], &length.to_be_bytes()[..], body].concat()
}

/// Returns a subpacket of a signature.
pub fn subpacket(tag: u8, content: &[u8]) -> Vec<u8> {
    [&[u8::try_from(content.len() + 1).unwrap(), tag], content].concat()
}

/// The encoding of an Ed25519 key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Public-key algorithm 22 (EdDSA) of RFC 4880bis.
    Legacy,
    /// Public-key algorithm 27 (Ed25519) of RFC 9580.
    Current,
}

/// An Ed25519 key.
pub struct Signer {
    pair: Ed25519KeyPair,
    notation: Notation,
    pub created: u32,
}

impl Signer {
    /// Creates a key from a seed.
    pub fn new(seed: u8, notation: Notation) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        Self { pair, notation, created: CREATED }
    }

    /// Returns the body of the key's packet.
    pub fn body(&self) -> Vec<u8> {
        let point = self.pair.public_key().as_ref();
        let numbers = match self.notation {
            Notation::Legacy => {
                let identifier = [9, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];
                [&[22][..], &identifier, &[1, 7, 0x40], point].concat()
            }
            Notation::Current => [&[27][..], point].concat(),
        };
        [&[4], &self.created.to_be_bytes()[..], &numbers].concat()
    }

    /// Returns the data that a signature of this key covers.
    pub fn signed(&self) -> Vec<u8> {
        let body = self.body();
        [&[0x99], &u16::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
    }

    pub fn fingerprint(&self) -> Vec<u8> {
        digest(&SHA1_FOR_LEGACY_USE_ONLY, &self.signed()).as_ref().to_vec()
    }

    pub fn primary_packet(&self) -> Vec<u8> {
        packet(6, &self.body())
    }

    pub fn subkey_packet(&self) -> Vec<u8> {
        packet(14, &self.body())
    }

    /// Starts a signature of a type.
    pub fn signature(&self, kind: u8) -> Draft<'_> {
        Draft {
            signer: self,
            kind,
            created: Some(SIGNED),
            hash: 8,
            hashed: Vec::new(),
            unhashed: Vec::new(),
            has_issuer: true,
        }
    }

    /// Returns the packets of a public key with a user ID and its signature.
    pub fn public_key(&self, flags: u8) -> Vec<u8> {
        let certification = self.signature(0x13).created(CREATED).hashed(27, &[flags]);
        [self.primary_packet(), user_id(b"user"), certification.sign(&self.signed_user(b"user"))].concat()
    }

    /// Returns the data that a certification of a user ID covers.
    pub fn signed_user(&self, name: &[u8]) -> Vec<u8> {
        let length = u32::try_from(name.len()).unwrap().to_be_bytes();
        [&self.signed(), &[0xb4][..], &length, name].concat()
    }

    /// Returns the body of a back signature (primary key binding signature) by a subkey.
    pub fn confirmation(&self, primary: &Signer) -> Vec<u8> {
        let signed = [primary.signed(), self.signed()].concat();
        self.signature(0x19).created(CREATED).sign_body(&signed)
    }
}

pub fn user_id(name: &[u8]) -> Vec<u8> {
    packet(13, name)
}

/// The properties of a signature that is to be made.
pub struct Draft<'a> {
    signer: &'a Signer,
    kind: u8,
    created: Option<u32>,
    hash: u8,
    hashed: Vec<u8>,
    unhashed: Vec<u8>,
    has_issuer: bool,
}

impl Draft<'_> {
    pub fn created(mut self, created: u32) -> Self {
        self.created = Some(created);
        self
    }

    pub fn without_creation_time(mut self) -> Self {
        self.created = None;
        self
    }

    pub fn without_issuer(mut self) -> Self {
        self.has_issuer = false;
        self
    }

    pub fn with_hash(mut self, hash: u8) -> Self {
        self.hash = hash;
        self
    }

    pub fn hashed(mut self, tag: u8, content: &[u8]) -> Self {
        self.hashed.extend(subpacket(tag, content));
        self
    }

    pub fn unhashed(mut self, tag: u8, content: &[u8]) -> Self {
        self.unhashed.extend(subpacket(tag, content));
        self
    }

    pub fn sign(self, content: &[u8]) -> Vec<u8> {
        packet(2, &self.sign_body(content))
    }

    /// Returns the body of the signature packet. The digest is always SHA-256.
    pub fn sign_body(mut self, content: &[u8]) -> Vec<u8> {
        if let Some(created) = self.created {
            self.hashed.extend(subpacket(2, &created.to_be_bytes()));
        }
        if self.has_issuer {
            let fingerprint = [&[4], &self.signer.fingerprint()[..]].concat();
            self.hashed.extend(subpacket(33, &fingerprint));
        }
        let algorithm = if self.signer.notation == Notation::Legacy { 22 } else { 27 };
        let length = |area: &[u8]| u16::try_from(area.len()).unwrap().to_be_bytes();
        let mut body = vec![4, self.kind, algorithm, self.hash];
        body.extend(length(&self.hashed));
        body.extend(&self.hashed);
        let covered = u32::try_from(body.len()).unwrap().to_be_bytes();
        let digest = digest(&SHA256, &[content, &body, &[4, 0xff], &covered].concat());
        body.extend(length(&self.unhashed));
        body.extend(&self.unhashed);
        body.extend(&digest.as_ref()[..2]);
        let signature = self.signer.pair.sign(digest.as_ref());
        match self.signer.notation {
            Notation::Legacy => {
                for number in signature.as_ref().chunks(32) {
                    body.extend([1, 0]);
                    body.extend(number);
                }
            }
            Notation::Current => body.extend(signature.as_ref()),
        }
        body
    }
}
