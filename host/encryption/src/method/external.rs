//! The method `external`: programs that encrypt and decrypt.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use wardian_diagnostic::Diagnostics;
use wardian_plugin::Block;
use wardian_state::EncryptionFailure;
use wardian_value::Type;
use zeroize::Zeroizing;

use crate::arguments::Arguments;
use crate::host::EncryptionHost;
use crate::program::Program;
use crate::secret::Secret;

const MAGIC: &str = "OpenTofu-External-Encryption-Method";
/// Maximum size of the output, which contains a state in Base64.
const MAX_OUTPUT_BYTES: usize = 1 << 31;

#[derive(Debug)]
pub(super) struct ExternalMethod {
    encrypt_command: Vec<String>,
    decrypt_command: Vec<String>,
    host: EncryptionHost,
}

#[derive(Serialize)]
struct Input<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    payload: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    payload: String,
}

pub(super) fn schema() -> Block {
    let command = Type::list(Type::String);
    crate::arguments::schema([
        ("decrypt_command", command.clone()),
        ("encrypt_command", command),
        ("keys", Type::String),
    ])
}

impl ExternalMethod {
    pub(super) fn new(arguments: &Arguments, host: &EncryptionHost) -> Result<Self, Diagnostics> {
        let command = |name: &str| {
            let command = arguments.strings(name);
            match command.first() {
                Some(program) if !program.is_empty() => Ok(command),
                _ => {
                    Err(arguments.invalid(&format!("\"{name}\" must contain the program and its arguments")))
                }
            }
        };
        Ok(Self {
            encrypt_command: command("encrypt_command")?,
            decrypt_command: command("decrypt_command")?,
            host: host.clone(),
        })
    }

    pub(super) async fn encrypt(
        &self,
        key: Option<&Secret>,
        plain: &[u8],
    ) -> Result<Vec<u8>, EncryptionFailure> {
        self.run(&self.encrypt_command, key, plain).await
    }

    pub(super) async fn decrypt(
        &self,
        key: Option<&Secret>,
        data: &[u8],
    ) -> Result<Vec<u8>, EncryptionFailure> {
        if data.is_empty() {
            return Err(EncryptionFailure::new("the encrypted content is empty"));
        }
        self.run(&self.decrypt_command, key, data).await
    }

    async fn run(
        &self,
        command: &[String],
        key: Option<&Secret>,
        payload: &[u8],
    ) -> Result<Vec<u8>, EncryptionFailure> {
        let key = key.map(|key| Zeroizing::new(STANDARD.encode(&**key)));
        let payload = Zeroizing::new(STANDARD.encode(payload));
        let input = Input { key: key.as_ref().map(|key| key.as_str()), payload: &payload };
        let invalid = |problem: &str| {
            EncryptionFailure::new(format!("the output of the program is not valid: {problem}"))
        };
        let input = serde_json::to_vec(&input).map_err(|error| invalid(&error.to_string()))?;
        let program = Program { command, magic: MAGIC, max_output_bytes: MAX_OUTPUT_BYTES };
        let output = program.run(input, &self.host).await?;
        // The error of the parser could contain a part of the payload.
        let output: Output = serde_json::from_slice(&output)
            .map_err(|_| invalid("it is not an object with the string \"payload\""))?;
        STANDARD.decode(output.payload).map_err(|_| invalid("\"payload\" is not Base64"))
    }
}
