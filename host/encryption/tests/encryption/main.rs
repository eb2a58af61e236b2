//! Encryption of states and plans: documents that were computed by another program, chains of methods,
//! and key providers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod chains;
mod configuration;
mod programs;
mod services;
mod states;
mod vectors;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wardian_config::EncryptionConfig;
use wardian_encryption::{Encryption, EncryptionHost, EncryptionTrust, StaticValues, TargetEncryption};
use wardian_state::{Decrypted, EncryptionFailure, StateEncryption as _};

/// A state without resources.
const STATE: &str = r#"{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"l","outputs":{"a":{"value":"secret text","type":"string"}},"resources":[]}"#;

/// Two methods with different passphrases, and one that does not encrypt.
const METHODS: &str = r#"
    key_provider "pbkdf2" "old" {
        passphrase = "the former passphrase"
        iterations = 200000
    }
    key_provider "pbkdf2" "new" {
        passphrase = "the present passphrase"
        iterations = 200000
    }
    method "aes_gcm" "old" {
        keys = key_provider.pbkdf2.old
    }
    method "aes_gcm" "new" {
        keys = key_provider.pbkdf2.new
    }
    method "unencrypted" "none" {}
"#;

fn host() -> EncryptionHost {
    host_with(&[], Path::new("/"))
}

fn host_with(variables: &[(&str, &str)], directory: &Path) -> EncryptionHost {
    let path = std::env::var("PATH").unwrap();
    let variables = [("PATH", &*path)].into_iter().chain(variables.iter().copied());
    let variables: BTreeMap<String, String> =
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    EncryptionHost {
        variables: Arc::new(variables),
        directory: directory.to_owned(),
        trust: EncryptionTrust::Trusted,
        rules: None,
        ..EncryptionHost::default()
    }
}

/// Returns the encryption of states with a configuration.
fn state_encryption(configuration: &str, host: EncryptionHost) -> Arc<TargetEncryption> {
    encryption(configuration, host).state().unwrap_or_else(|problems| panic!("{problems:?}")).unwrap()
}

fn encryption(configuration: &str, host: EncryptionHost) -> Encryption {
    let config = EncryptionConfig::from_variable(configuration);
    Encryption::new(config.unwrap_or_else(|problems| panic!("{problems:?}")), StaticValues::default(), host)
}

/// Returns the encryption of states with [`METHODS`] and a `state` block.
fn with_state(state: &str) -> Arc<TargetEncryption> {
    state_encryption(&format!("{METHODS}\nstate {{\n{state}\n}}"), host())
}

/// Decrypts an encrypted document. Returns the text, and whether it is outdated.
async fn decrypted(target: &TargetEncryption, document: &str) -> Result<(String, bool), EncryptionFailure> {
    match target.decrypt(document.as_bytes()).await? {
        Decrypted::Text { plain, is_outdated } => Ok((String::from_utf8(plain).unwrap(), is_outdated)),
        Decrypted::Plain => panic!("the document is not encrypted: {document}"),
    }
}
