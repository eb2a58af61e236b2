//! `rsadecrypt`: RSA with the padding of PKCS #1 v1.5.
//!
//! The function uses the big integers of a crate that is already a dependency: the RSA crates
//! either do not decrypt with this padding, need a C compiler, or have an open advisory for a
//! timing leak. The leak matters if an attacker can request decryptions and measure their time;
//! here, the key's owner and the author of the configuration are the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use num_traits::Zero as _;
use wardian_value::Value;

use super::{Body, Failure, Function, Outcome, ResultType, string, text};

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "rsadecrypt",
    &[string("ciphertext"), string("privatekey")],
    ResultType::String,
    Body::Pure(rsadecrypt),
)];

/// Maximum key size in bits. Decryption with larger keys takes minutes, and such keys are not used
/// in practice.
const MAX_BITS: u64 = 16_384;

struct PrivateKey {
    modulus: BigUint,
    exponent: BigUint,
}

fn rsadecrypt(arguments: &[Value]) -> Outcome {
    let joined: String = text(arguments, 0).chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let ciphertext = STANDARD.decode(joined).map_err(|_| Failure::argument(0, "it is not valid Base64"))?;
    let key = private_key(text(arguments, 1)).map_err(|reason| Failure::argument(1, reason))?;
    let plain = key.decrypt(&ciphertext).ok_or_else(|| {
        Failure::call("the text was not encrypted with the public key of this key pair, or is damaged")
    })?;
    let plain = String::from_utf8(plain)
        .map_err(|_| Failure::argument(0, "the decrypted content is not UTF-8 text"))?;
    Ok(Value::string(plain))
}

impl PrivateKey {
    /// Builds a key from its components if they are consistent.
    fn new(modulus: BigUint, exponent: BigUint, primes: [BigUint; 2]) -> Result<Self, &'static str> {
        let one = BigUint::from(1_u8);
        let consistent = primes.iter().all(|prime| *prime > one)
            && &primes[0] * &primes[1] == modulus
            && !exponent.is_zero();
        if modulus.bits() > MAX_BITS {
            Err("the key is too large to be processed in reasonable time")
        } else if consistent {
            Ok(Self { modulus, exponent })
        } else {
            Err("the components of the key are inconsistent")
        }
    }

    /// Decrypts a message. Returns `None` if the padding is invalid.
    fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let number = BigUint::from_bytes_be(ciphertext);
        let length = usize::try_from(self.modulus.bits().div_ceil(8)).ok()?;
        if number >= self.modulus || length < 11 {
            return None;
        }
        let message = number.modpow(&self.exponent, &self.modulus).to_bytes_be();
        // The leading zero is not among the bytes of the number.
        if message.len() != length - 1 || message.first() != Some(&2) {
            return None;
        }
        let end = message.iter().position(|byte| *byte == 0)?;
        // The padding has at least eight bytes.
        if end < 9 { None } else { Some(message[end + 1..].to_vec()) }
    }
}

/// Parses a private key in one of the formats that `ssh-keygen` and `openssl` write.
fn private_key(pem: &str) -> Result<PrivateKey, &'static str> {
    const NOT_PEM: &str = "it is not a private key in PEM format (-----BEGIN ... PRIVATE KEY-----)";
    const DAMAGED: &str = "the key is damaged: its content does not match its first line";
    let begin = pem.find("-----BEGIN ").ok_or(NOT_PEM)?;
    let (kind, rest) = pem[begin + "-----BEGIN ".len()..].split_once("-----").ok_or(NOT_PEM)?;
    let (body, _) = rest.split_once(&format!("-----END {kind}-----")).ok_or(NOT_PEM)?;
    if body.contains("ENCRYPTED") || kind.contains("ENCRYPTED") {
        return Err("the key is protected by a passphrase; use a key without one");
    }
    let encoded: String = body.split_whitespace().collect();
    let bytes = STANDARD.decode(encoded).map_err(|_| NOT_PEM)?;
    match kind {
        "RSA PRIVATE KEY" => pkcs1(&bytes).ok_or(DAMAGED)?,
        "PRIVATE KEY" => pkcs8(&bytes).ok_or("it is not an RSA key, or it is damaged")?,
        "OPENSSH PRIVATE KEY" => openssh(&bytes)?.ok_or(DAMAGED)?,
        _ => Err("it is not an RSA key"),
    }
}

type Parsed = Result<PrivateKey, &'static str>;

/// An iterator over the elements of a DER encoding.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    const INTEGER: u8 = 0x02;
    const OCTETS: u8 = 0x04;
    const IDENTIFIER: u8 = 0x06;
    const SEQUENCE: u8 = 0x30;

    /// Returns the content of the next element. The element must have the given tag.
    fn next(&mut self, kind: u8) -> Option<&'a [u8]> {
        let [found, first, rest @ ..] = self.0 else { return None };
        if *found != kind {
            return None;
        }
        let (length, rest) = if *first < 0x80 {
            (usize::from(*first), rest)
        } else {
            let count = usize::from(first & 0x7f);
            let bytes = rest.get(..count).filter(|bytes| matches!(bytes.len(), 1..=4))?;
            let length = bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte));
            (length, &rest[count..])
        };
        let content = rest.get(..length)?;
        self.0 = &rest[length..];
        Some(content)
    }

    fn integer(&mut self) -> Option<BigUint> {
        let content = self.next(Self::INTEGER)?;
        // Negative numbers have the highest bit set.
        let positive = content.first().is_some_and(|first| *first < 0x80);
        positive.then(|| BigUint::from_bytes_be(content))
    }
}

fn pkcs1(bytes: &[u8]) -> Option<Parsed> {
    let mut key = Der(Der(bytes).next(Der::SEQUENCE)?);
    let _version = key.integer()?;
    let modulus = key.integer()?;
    let _public = key.integer()?;
    let exponent = key.integer()?;
    let primes = [key.integer()?, key.integer()?];
    Some(PrivateKey::new(modulus, exponent, primes))
}

fn pkcs8(bytes: &[u8]) -> Option<Parsed> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    let mut key = Der(Der(bytes).next(Der::SEQUENCE)?);
    let _version = key.integer()?;
    let algorithm = Der(key.next(Der::SEQUENCE)?).next(Der::IDENTIFIER)?;
    if algorithm == RSA { pkcs1(key.next(Der::OCTETS)?) } else { None }
}

/// Parses OpenSSH's own format. It consists of strings with a length prefix.
fn openssh(bytes: &[u8]) -> Result<Option<Parsed>, &'static str> {
    fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let content = after.get(..length)?;
        *rest = &after[length..];
        Some(content)
    }
    fn key(bytes: &[u8]) -> Result<Option<Parsed>, &'static str> {
        let Some(mut rest) = bytes.strip_prefix(b"openssh-key-v1\0") else { return Ok(None) };
        let rest = &mut rest;
        let cipher = string(rest);
        if cipher.is_some_and(|cipher| cipher != b"none") {
            return Err("the key is protected by a passphrase; use a key without one");
        }
        let _key_derivation = string(rest);
        let _options = string(rest);
        // The number of keys, which must be one.
        let Some(after) = rest.get(4..) else { return Ok(None) };
        *rest = after;
        let _public = string(rest);
        // Two equal check numbers precede the key.
        let Some(mut private) = string(rest).and_then(|private| private.get(8..)) else { return Ok(None) };
        if string(&mut private) != Some(b"ssh-rsa") {
            return Err("it is not an RSA key");
        }
        let mut number = || string(&mut private).map(BigUint::from_bytes_be);
        let (modulus, _public, exponent, _inverse) = (number(), number(), number(), number());
        let parts = modulus.zip(exponent).zip(number().zip(number()));
        Ok(parts.map(|((modulus, exponent), (p, q))| PrivateKey::new(modulus, exponent, [p, q])))
    }
    key(bytes)
}
