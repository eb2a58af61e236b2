//! Verifies the integers of a signature with aws-lc.

use aws_lc_rs::digest::{self, Context, Digest};
use aws_lc_rs::signature::{self as algorithms, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

use crate::key::{Curve, Key, KeyMaterial};
use crate::signature_packet::{SignaturePacket, SignatureValue};

const MIN_RSA_BITS: usize = 2048;
const MAX_RSA_BITS: usize = 8192;

/// The length of the longest integer in an ECDSA signature, for P-521.
const MAX_ECDSA_NUMBER: usize = 66;

/// The content that a signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignedContent {
    /// A document, whose author may be an attacker.
    Document,
    /// A key and its properties. SHA-1 is accepted for RSA keys, because old keys have such
    /// signatures. The key's owner chose the content, so a forgery requires a second preimage of
    /// SHA-1, which is infeasible.
    OwnKey,
}

/// The reason why a signature does not verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VerificationFailure {
    Mismatch,
    WeakHash(&'static str),
    UnsupportedAlgorithm(Box<str>),
    UnsupportedProperty(u8),
    ShortKey(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HashAlgorithm {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl HashAlgorithm {
    fn from_id(id: u8, content: SignedContent, key: &Key) -> Result<Self, VerificationFailure> {
        let accepts_sha1 =
            content == SignedContent::OwnKey && matches!(key.material, KeyMaterial::Rsa { .. });
        let unsupported = |name: &str| Err(VerificationFailure::UnsupportedAlgorithm(name.into()));
        match id {
            8 => Ok(Self::Sha256),
            9 => Ok(Self::Sha384),
            10 => Ok(Self::Sha512),
            2 if accepts_sha1 => Ok(Self::Sha1),
            1 => Err(VerificationFailure::WeakHash("MD5")),
            2 => Err(VerificationFailure::WeakHash("SHA-1")),
            3 => Err(VerificationFailure::WeakHash("RIPEMD-160")),
            11 => unsupported("the hash algorithm SHA-224"),
            12 => unsupported("the hash algorithm SHA3-256"),
            14 => unsupported("the hash algorithm SHA3-512"),
            other => unsupported(&format!("the hash algorithm {other}")),
        }
    }

    fn digest_algorithm(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn rsa_parameters(self) -> &'static RsaParameters {
        match self {
            Self::Sha1 => &algorithms::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &algorithms::RSA_PKCS1_2048_8192_SHA256,
            Self::Sha384 => &algorithms::RSA_PKCS1_2048_8192_SHA384,
            Self::Sha512 => &algorithms::RSA_PKCS1_2048_8192_SHA512,
        }
    }

    fn ecdsa_algorithm(self, curve: Curve) -> Option<&'static dyn algorithms::VerificationAlgorithm> {
        Some(match (curve, self) {
            (Curve::P256, Self::Sha256) => &algorithms::ECDSA_P256_SHA256_ASN1,
            (Curve::P256, Self::Sha384) => &algorithms::ECDSA_P256_SHA384_ASN1,
            (Curve::P256, Self::Sha512) => &algorithms::ECDSA_P256_SHA512_ASN1,
            (Curve::P384, Self::Sha256) => &algorithms::ECDSA_P384_SHA256_ASN1,
            (Curve::P384, Self::Sha384) => &algorithms::ECDSA_P384_SHA384_ASN1,
            (Curve::P384, Self::Sha512) => &algorithms::ECDSA_P384_SHA512_ASN1,
            (Curve::P521, Self::Sha256) => &algorithms::ECDSA_P521_SHA256_ASN1,
            (Curve::P521, Self::Sha384) => &algorithms::ECDSA_P521_SHA384_ASN1,
            (Curve::P521, Self::Sha512) => &algorithms::ECDSA_P521_SHA512_ASN1,
            (_, Self::Sha1) => return None,
        })
    }
}

/// Verifies a signature by a key. `add_content` adds the signed content to the digest.
pub(crate) fn verify(
    signature: &SignaturePacket,
    key: &Key,
    content: SignedContent,
    add_content: impl FnOnce(&mut Context),
) -> Result<(), VerificationFailure> {
    if let KeyMaterial::Unsupported(name) = &key.material {
        return Err(VerificationFailure::UnsupportedAlgorithm(name.clone()));
    }
    if let KeyMaterial::Rsa { modulus, .. } = &key.material {
        let bits = bit_length(modulus);
        if bits < MIN_RSA_BITS {
            return Err(VerificationFailure::ShortKey(bits));
        }
        if bits > MAX_RSA_BITS {
            return Err(VerificationFailure::UnsupportedAlgorithm(format!("RSA with {bits} bits").into()));
        }
    }
    let hash = HashAlgorithm::from_id(signature.hash, content, key)?;
    if let Some(subpacket) = signature.properties.unsupported {
        return Err(VerificationFailure::UnsupportedProperty(subpacket));
    }
    let mut context = Context::new(hash.digest_algorithm());
    add_content(&mut context);
    context.update(&signature.hashed);
    context.update(&[4, 0xff]);
    // The signed part of a packet is shorter than 64 KiB and six bytes.
    context.update(&u32::try_from(signature.hashed.len()).unwrap_or(u32::MAX).to_be_bytes());
    let digest = context.finish();
    if !digest.as_ref().starts_with(&signature.digest_prefix) {
        return Err(VerificationFailure::Mismatch);
    }
    verify_numbers(&signature.value, &key.material, hash, &digest).ok_or(VerificationFailure::Mismatch)
}

/// Returns `None` if the integers are not a signature of the digest.
fn verify_numbers(
    value: &SignatureValue,
    material: &KeyMaterial,
    hash: HashAlgorithm,
    digest: &Digest,
) -> Option<()> {
    match (material, value) {
        (KeyMaterial::Rsa { modulus, exponent }, SignatureValue::Rsa(number)) => {
            let padded = pad(number, modulus.len())?;
            let key = RsaPublicKeyComponents { n: modulus, e: exponent };
            let key = key.to_parsed_public_key(hash.rsa_parameters()).ok()?;
            key.verify_digest_sig(digest, &padded).ok()
        }
        (KeyMaterial::Ecdsa { curve, point }, SignatureValue::Pair(r, s)) => {
            let algorithm = hash.ecdsa_algorithm(*curve)?;
            let signature = encode_ecdsa(r, s)?;
            UnparsedPublicKey::new(algorithm, point).verify_digest(digest, &signature).ok()
        }
        (KeyMaterial::Ed25519(point), SignatureValue::Pair(r, s)) => {
            let signature = [pad(r, 32)?, pad(s, 32)?].concat();
            UnparsedPublicKey::new(&algorithms::ED25519, point).verify(digest.as_ref(), &signature).ok()
        }
        (KeyMaterial::Ed25519(point), SignatureValue::Ed25519(signature)) => {
            UnparsedPublicKey::new(&algorithms::ED25519, point).verify(digest.as_ref(), signature).ok()
        }
        _ => None,
    }
}

fn bit_length(number: &[u8]) -> usize {
    // Numbers have no leading zeros.
    let unused = number.first().map_or(0, |first| first.leading_zeros() as usize);
    (8 * number.len()).saturating_sub(unused)
}

/// Restores the leading zeros of an integer. Returns `None` if the integer is too long.
fn pad(number: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut padded = vec![0; length.checked_sub(number.len())?];
    padded.extend_from_slice(number);
    Some(padded)
}

/// Encodes the two integers of an ECDSA signature as an ASN.1 sequence of integers.
fn encode_ecdsa(r: &[u8], s: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(2 * (MAX_ECDSA_NUMBER + 3));
    for number in [r, s] {
        // A signed integer has a leading zero if its first bit is set.
        let is_negative = number.first().is_none_or(|first| first & 0x80 != 0);
        let length = u8::try_from(number.len() + usize::from(is_negative)).ok()?;
        if number.len() > MAX_ECDSA_NUMBER {
            return None;
        }
        content.extend([0x02, length]);
        content.extend(is_negative.then_some(0));
        content.extend_from_slice(number);
    }
    let length = u8::try_from(content.len()).ok()?;
    let mut encoded = vec![0x30];
    encoded.extend((length > 0x7f).then_some(0x81));
    encoded.push(length);
    encoded.append(&mut content);
    Some(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_integers_of_all_lengths() {
        assert_eq!(encode_ecdsa(&[1], &[0x80]).unwrap(), [0x30, 7, 2, 1, 1, 2, 2, 0, 0x80]);
        assert_eq!(encode_ecdsa(&[], &[2]).unwrap(), [0x30, 6, 2, 1, 0, 2, 1, 2]);
        let long = encode_ecdsa(&[0x7f; 66], &[0xff; 66]).unwrap();
        assert_eq!((&long[..5], long.len()), (&[0x30, 0x81, 137, 2, 66][..], 140));
        assert_eq!(encode_ecdsa(&[1; 67], &[1]), None);
    }

    #[test]
    fn counts_significant_bits() {
        assert_eq!(bit_length(&[]), 0);
        assert_eq!(bit_length(&[1, 0]), 9);
        assert_eq!(bit_length(&[0x80; 256]), 2048);
    }
}
