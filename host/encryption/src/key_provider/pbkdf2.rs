//! The key provider `pbkdf2`, which derives a key from a passphrase or from the key of another
//! provider. Each key has a new random salt.

use std::fmt;
use std::num::NonZeroU32;

use async_trait::async_trait;
use aws_lc_rs::{pbkdf2, rand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use wardian_diagnostic::Diagnostics;
use wardian_plugin::Block;
use wardian_state::EncryptionFailure;
use wardian_value::Type;

use super::{KeySource, encode_metadata, parse_metadata};
use crate::arguments::Arguments;
use crate::host::EncryptionTrust;
use crate::secret::Secret;

const MIN_PASSPHRASE_BYTES: usize = 16;
const MIN_ITERATIONS: u32 = 200_000;
const DEFAULT_ITERATIONS: u32 = 600_000;
const DEFAULT_LENGTH: u32 = 32;
const MAX_SALT_BYTES: u32 = 1 << 16;
const MAX_KEY_BYTES: u32 = 1 << 16;
/// The maximum number of evaluations of the hash function for one key: about a minute. Stored metadata
/// determines the number, and is not authenticated before the key is derived.
const MAX_COST: u64 = 100_000_000;
/// The maximum number for an untrusted configuration, which also determines the stored metadata.
const MAX_UNTRUSTED_COST: u64 = 2_000_000;

#[derive(Debug)]
pub(super) struct Pbkdf2 {
    /// [`None`] if the passphrase is the key of another provider.
    passphrase: Option<Secret>,
    key_length: u32,
    iterations: u32,
    salt_length: u32,
    hash: HashFunction,
    max_cost: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HashFunction {
    Sha256,
    Sha512,
}

#[derive(Serialize, Deserialize)]
struct StoredMetadata {
    salt: String,
    iterations: u32,
    hash_function: HashFunction,
    key_length: u32,
}

pub(super) fn schema() -> Block {
    crate::arguments::schema([
        ("chain", Type::String),
        ("hash_function", Type::String),
        ("iterations", Type::Number),
        ("key_length", Type::Number),
        ("passphrase", Type::String),
        ("salt_length", Type::Number),
    ])
}

impl Pbkdf2 {
    pub(super) fn new(arguments: &Arguments, trust: EncryptionTrust) -> Result<Self, Diagnostics> {
        let passphrase = arguments.text("passphrase").map(|text| Secret::new(text.as_bytes().to_vec()));
        match (&passphrase, arguments.text("chain")) {
            (None, None) => return Err(arguments.invalid("either \"passphrase\" or \"chain\" is required")),
            (Some(_), Some(_)) => {
                return Err(arguments.invalid("\"passphrase\" and \"chain\" cannot be combined"));
            }
            (Some(passphrase), None) if passphrase.len() < MIN_PASSPHRASE_BYTES => {
                let problem = format!("the passphrase is shorter than {MIN_PASSPHRASE_BYTES} characters");
                return Err(arguments.invalid(&problem));
            }
            _ => {}
        }
        let hash = match arguments.text("hash_function") {
            None | Some("sha512") => HashFunction::Sha512,
            Some("sha256") => HashFunction::Sha256,
            Some(_) => return Err(arguments.invalid("\"hash_function\" must be \"sha256\" or \"sha512\"")),
        };
        let provider = Self {
            passphrase,
            key_length: arguments.number("key_length", (1, MAX_KEY_BYTES), DEFAULT_LENGTH)?,
            iterations: arguments.number("iterations", (MIN_ITERATIONS, u32::MAX), DEFAULT_ITERATIONS)?,
            salt_length: arguments.number("salt_length", (1, MAX_SALT_BYTES), DEFAULT_LENGTH)?,
            hash,
            max_cost: match trust {
                EncryptionTrust::Trusted => MAX_COST,
                EncryptionTrust::Untrusted => MAX_UNTRUSTED_COST,
            },
        };
        if hash.cost(provider.iterations, provider.key_length) > provider.max_cost {
            let problem = format!(
                "\"iterations\" and \"key_length\" require more than {} evaluations of the hash function",
                provider.max_cost
            );
            return Err(arguments.invalid(&problem));
        }
        Ok(provider)
    }

    fn passphrase(&self, upstream: Option<Secret>) -> Result<Secret, EncryptionFailure> {
        let passphrase = self.passphrase.clone().or(upstream);
        let passphrase = passphrase.ok_or_else(|| EncryptionFailure::new("there is no passphrase"))?;
        if passphrase.len() < MIN_PASSPHRASE_BYTES {
            let message = format!("the key of \"chain\" is shorter than {MIN_PASSPHRASE_BYTES} bytes");
            return Err(EncryptionFailure::new(message));
        }
        Ok(passphrase)
    }
}

#[async_trait]
impl KeySource for Pbkdf2 {
    async fn new_key(&self, upstream: Option<Secret>) -> Result<(Secret, Vec<u8>), EncryptionFailure> {
        let mut salt = vec![0; self.salt_length as usize];
        rand::fill(&mut salt)
            .map_err(|_| EncryptionFailure::new("the system has no source of randomness"))?;
        let metadata = encode_metadata(&StoredMetadata {
            salt: STANDARD.encode(&salt),
            iterations: self.iterations,
            hash_function: self.hash,
            key_length: self.key_length,
        })?;
        let passphrase = self.passphrase(upstream)?;
        let key = derive(passphrase, salt, self.iterations, self.hash, self.key_length).await?;
        Ok((key, metadata))
    }

    async fn stored_key(
        &self,
        metadata: &[u8],
        upstream: Option<Secret>,
    ) -> Result<Secret, EncryptionFailure> {
        let stored: StoredMetadata = parse_metadata(metadata)?;
        let salt = STANDARD
            .decode(&stored.salt)
            .map_err(|_| EncryptionFailure::new("the salt in the encrypted content is not Base64"))?;
        let is_valid = stored.iterations > 0 && (1..=MAX_KEY_BYTES).contains(&stored.key_length);
        if !is_valid || stored.hash_function.cost(stored.iterations, stored.key_length) > self.max_cost {
            let message = format!(
                "the encrypted content requires {} iterations for a key of {} bytes, which is not supported",
                stored.iterations, stored.key_length
            );
            return Err(EncryptionFailure::new(message));
        }
        let passphrase = self.passphrase(upstream)?;
        derive(passphrase, salt, stored.iterations, stored.hash_function, stored.key_length).await
    }
}

impl HashFunction {
    /// Returns the number of evaluations for one key.
    fn cost(self, iterations: u32, key_length: u32) -> u64 {
        let output: u32 = match self {
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        };
        u64::from(iterations) * u64::from(key_length.div_ceil(output))
    }
}

impl fmt::Display for HashFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        })
    }
}

/// Derives a key on another thread, because this takes a large part of a second.
async fn derive(
    passphrase: Secret,
    salt: Vec<u8>,
    iterations: u32,
    hash: HashFunction,
    key_length: u32,
) -> Result<Secret, EncryptionFailure> {
    let iterations = NonZeroU32::new(iterations)
        .ok_or_else(|| EncryptionFailure::new("the number of iterations is zero"))?;
    tracing::debug!(iterations, %hash, "deriving a key");
    let derived = tokio::task::spawn_blocking(move || {
        let algorithm = match hash {
            HashFunction::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            HashFunction::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        };
        let mut key = vec![0; key_length as usize];
        pbkdf2::derive(algorithm, iterations, &salt, &passphrase, &mut key);
        Secret::new(key)
    });
    derived.await.map_err(|error| EncryptionFailure::new(format!("the key cannot be derived: {error}")))
}
