//! The key provider `external`: a program that returns keys.
//!
//! The input is `null` for a new key, or else the metadata that the program has returned for the
//! stored key: `{"external_data": {...}}`.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wardian_diagnostic::Diagnostics;
use wardian_plugin::Block;
use wardian_state::EncryptionFailure;
use wardian_value::Type;
use zeroize::Zeroizing;

use super::{KeySource, encode_metadata, parse_metadata};
use crate::arguments::Arguments;
use crate::host::EncryptionHost;
use crate::program::Program;
use crate::secret::Secret;

const MAGIC: &str = "OpenTofu-External-Key-Provider";
const MAX_OUTPUT_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct ExternalKey {
    command: Vec<String>,
    host: EncryptionHost,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct ExternalMetadata {
    external_data: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    keys: Keys,
    #[serde(default)]
    meta: ExternalMetadata,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    encryption_key: Option<String>,
    decryption_key: Option<String>,
}

pub(super) fn schema() -> Block {
    crate::arguments::schema([("command", Type::list(Type::String))])
}

impl ExternalKey {
    pub(super) fn new(arguments: &Arguments, host: &EncryptionHost) -> Result<Self, Diagnostics> {
        let command = arguments.strings("command");
        if command.first().is_none_or(String::is_empty) {
            return Err(arguments.invalid("\"command\" must contain the program and its arguments"));
        }
        Ok(Self { command, host: host.clone() })
    }

    async fn run(&self, metadata: &ExternalMetadata) -> Result<Output, EncryptionFailure> {
        let input = match metadata.external_data {
            None => b"null".to_vec(),
            Some(_) => encode_metadata(metadata)?,
        };
        let program = Program { command: &self.command, magic: MAGIC, max_output_bytes: MAX_OUTPUT_BYTES };
        let output = program.run(input, &self.host).await?;
        // The error of the parser could contain a part of a key.
        serde_json::from_slice(&output).map_err(|error| {
            EncryptionFailure::new(format!(
                "the output of the program is not valid JSON with \"keys\" and \"meta\" (line {}, column {})",
                error.line(),
                error.column()
            ))
        })
    }
}

#[async_trait]
impl KeySource for ExternalKey {
    async fn new_key(&self, _upstream: Option<Secret>) -> Result<(Secret, Vec<u8>), EncryptionFailure> {
        let output = self.run(&ExternalMetadata::default()).await?;
        let key = decode(output.keys.encryption_key, "encryption_key")?;
        Ok((key, encode_metadata(&output.meta)?))
    }

    async fn stored_key(
        &self,
        metadata: &[u8],
        _upstream: Option<Secret>,
    ) -> Result<Secret, EncryptionFailure> {
        let output = self.run(&parse_metadata(metadata)?).await?;
        decode(output.keys.decryption_key, "decryption_key")
    }
}

fn decode(text: Option<String>, name: &str) -> Result<Secret, EncryptionFailure> {
    let text = text.filter(|text| !text.is_empty());
    let text =
        text.ok_or_else(|| EncryptionFailure::new(format!("the program did not return \"{name}\"")))?;
    let text = Zeroizing::new(text);
    STANDARD
        .decode(text.as_bytes())
        .map(Secret::new)
        .map_err(|_| EncryptionFailure::new(format!("the \"{name}\" of the program is not Base64")))
}
