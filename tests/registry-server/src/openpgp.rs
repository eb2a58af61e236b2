//! Signs SHA256SUMS with the keys in `keys/`, which GnuPG generated.
//!
//! Signatures have fixed times. RSA signatures are therefore the same in every run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PKCS_ED25519, PKCS_RSA_SHA256, SigningKey as _};
use sha2::{Digest as _, Sha256};

use crate::description::SignatureKind;

/// 2025-02-01.
const SIGNED: u32 = 1_738_368_000;
/// 2024-03-01, a time at which the expired key was valid.
const SIGNED_BEFORE_EXPIRY: u32 = 1_709_251_200;
const THIRTY_DAYS: u32 = 30 * 24 * 3600;

const RSA: u8 = 1;
const EDDSA: u8 = 22;

/// A key in `keys/`.
pub(crate) struct Key {
    fingerprint: &'static str,
    /// The public key with armor, as GnuPG exported it.
    pub(crate) public: &'static str,
    private: &'static str,
    algorithm: u8,
}

macro_rules! key {
    ($name:literal, $algorithm:expr, $fingerprint:literal) => {
        Key {
            fingerprint: $fingerprint,
            public: include_str!(concat!("../keys/", $name, ".asc")),
            private: include_str!(concat!("../keys/", $name, ".pem")),
            algorithm: $algorithm,
        }
    };
}

static ACME: Key = key!("acme", RSA, "9FB5157AEB5A8B8A27E2AC5203B252CF1183C082");
static OTHER: Key = key!("other", RSA, "51F9B422BE7A2EEE52A29C54505567FBF1D7533D");
static EXPIRED: Key = key!("expired", RSA, "CC30677F74E6FE8317DE8E58EAC2423852B5FEA9");
static REVOKED: Key = key!("revoked", RSA, "69E13A8577827425B8BC32A29249977088788720");
static EDWARDS: Key = key!("ed25519", EDDSA, "47CFEE2822B287113B372B05738BDE55928EB619");

impl Key {
    pub(crate) fn id(&self) -> &'static str {
        &self.fingerprint[24..]
    }

    /// Returns a detached binary signature.
    fn sign(&self, data: &[u8], time: u32, lifetime: Option<u32>) -> Vec<u8> {
        let mut hashed = subpacket(2, &time.to_be_bytes());
        if let Some(lifetime) = lifetime {
            hashed.extend(subpacket(3, &lifetime.to_be_bytes()));
        }
        let fingerprint = hex::decode(self.fingerprint).unwrap();
        hashed.extend(subpacket(33, &[&[4], &fingerprint[..]].concat()));
        let unhashed = subpacket(16, &fingerprint[12..]);

        // A version 4 signature of a binary document with SHA-256.
        let mut body = vec![4, 0, self.algorithm, 8];
        body.extend(u16::try_from(hashed.len()).unwrap().to_be_bytes());
        body.extend(&hashed);
        let trailer = [&[4, 0xff], &u32::try_from(body.len()).unwrap().to_be_bytes()[..]].concat();
        let signed = [data, &body, &trailer].concat();
        let digest = Sha256::digest(&signed);

        body.extend(u16::try_from(unhashed.len()).unwrap().to_be_bytes());
        body.extend(&unhashed);
        body.extend(&digest[..2]);
        if self.algorithm == RSA {
            let key = KeyPair::from_pem_and_sign_algo(self.private, &PKCS_RSA_SHA256).unwrap();
            body.extend(integer(&key.sign(&signed).unwrap()));
        } else {
            let key = KeyPair::from_pem_and_sign_algo(self.private, &PKCS_ED25519).unwrap();
            let signature = key.sign(&digest).unwrap();
            body.extend(integer(&signature[..32]));
            body.extend(integer(&signature[32..]));
        }
        let mut packet = vec![0xc2, 0xff];
        packet.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        packet.extend(body);
        packet
    }
}

fn subpacket(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[u8::try_from(content.len() + 1).unwrap(), kind], content].concat()
}

/// Returns a multiprecision integer: the number of bits, and the bytes without leading zeros.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = &bytes[start..];
    let bits = bytes.first().map_or(0, |first| bytes.len() * 8 - first.leading_zeros() as usize);
    [&u16::try_from(bits).unwrap().to_be_bytes()[..], bytes].concat()
}

/// The signature and the keys that a registry returns with SHA256SUMS.
pub(crate) struct Signed {
    /// `None` if the file is missing.
    pub(crate) signature: Option<Vec<u8>>,
    /// The identifiers and the texts of the keys that the registry returns.
    pub(crate) keys: Vec<(String, String)>,
    /// The trust signature of the keys.
    pub(crate) trust: &'static str,
}

/// Signs the content of SHA256SUMS.
pub(crate) fn sign(kind: SignatureKind, sums: &[u8]) -> Signed {
    let stated = |key: &Key| (key.id().to_owned(), key.public.to_owned());
    let with = |key: &Key, data: &[u8], time| Signed {
        signature: Some(key.sign(data, time, None)),
        keys: vec![stated(key)],
        trust: "",
    };
    let mut signed = match kind {
        SignatureKind::Ed25519 => with(&EDWARDS, sums, SIGNED),
        SignatureKind::ExpiredKey => with(&EXPIRED, sums, SIGNED_BEFORE_EXPIRY),
        SignatureKind::RevokedKey => with(&REVOKED, sums, SIGNED),
        SignatureKind::ChangedSums => with(&ACME, &[sums, b"changed\n"].concat(), SIGNED),
        _ => with(&ACME, sums, SIGNED),
    };
    match kind {
        SignatureKind::ExpiredSignature => {
            signed.signature = Some(ACME.sign(sums, SIGNED, Some(THIRTY_DAYS)));
        }
        SignatureKind::WrongKey => signed.keys = vec![stated(&OTHER)],
        SignatureKind::SecondKey => signed.keys.insert(0, stated(&OTHER)),
        SignatureKind::Damaged => {
            if let Some(last) = signed.signature.iter_mut().flatten().last() {
                *last ^= 1;
            }
        }
        SignatureKind::Armored => {
            let text = signed.signature.map(|bytes| armor(&bytes).into_bytes());
            signed.signature = text;
        }
        SignatureKind::MissingFile => signed.signature = None,
        SignatureKind::NoKeys => signed.keys.clear(),
        SignatureKind::BrokenKey => {
            let (id, text) = signed.keys.remove(0);
            signed.keys.push((id, text.replace("mQ", "!!")));
        }
        SignatureKind::BadTrust => signed.trust = OTHER.public,
        SignatureKind::Good
        | SignatureKind::Ed25519
        | SignatureKind::ExpiredKey
        | SignatureKind::RevokedKey
        | SignatureKind::ChangedSums => {}
    }
    signed
}

fn armor(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap_or_default()).collect();
    let text = lines.join("\n");
    format!("-----BEGIN PGP SIGNATURE-----\n\n{text}\n-----END PGP SIGNATURE-----\n")
}
