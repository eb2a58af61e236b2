//! Parses the keys and certificates in a `connection` block.

use std::sync::Arc;

use russh::keys::{Certificate, PrivateKey, PublicKey, decode_secret_key};

use super::{Key, SettingsError};

pub(crate) fn private(argument: &'static str, text: &str) -> Result<Arc<PrivateKey>, SettingsError> {
    let error = |problem: &str| SettingsError { argument, problem: problem.to_owned() };
    // A heredoc may contain indentation.
    let text: String = text.lines().flat_map(|line| [line.trim(), "\n"]).collect();
    if !text.contains("-----BEGIN") && !text.starts_with("PuTTY-User-Key-File") {
        return Err(error(
            "this is not a private key. The argument must contain the key itself, not the path of its file; \
             use file(\"...\") to read a file",
        ));
    }
    let is_encrypted = text.contains("ENCRYPTED") || text.contains("DEK-Info:");
    let encrypted = "the key is protected by a passphrase, which is not supported. Remove the passphrase \
        (ssh-keygen -p), or add the key to an SSH agent and set agent = true";
    if is_encrypted {
        return Err(error(encrypted));
    }
    match decode_secret_key(&text, None) {
        Ok(key) if key.is_encrypted() => Err(error(encrypted)),
        Ok(key) => Ok(Arc::new(key)),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(error(encrypted)),
        // The library's message contains no part of the key.
        Err(problem) => {
            Err(SettingsError { argument, problem: format!("the key cannot be read: {problem}") })
        }
    }
}

pub(crate) fn certified(
    key: Arc<PrivateKey>,
    argument: &'static str,
    certificate: Option<&str>,
) -> Result<Key, SettingsError> {
    let certificate = certificate.map(|text| self::certificate(argument, text)).transpose()?;
    if let Some(certificate) = &certificate
        && certificate.public_key() != key.public_key().key_data()
    {
        let problem = "the certificate does not match the private key".to_owned();
        return Err(SettingsError { argument, problem });
    }
    Ok(Key { private: key, certificate })
}

fn certificate(argument: &'static str, text: &str) -> Result<Certificate, SettingsError> {
    Certificate::from_openssh(text.trim()).map_err(|problem| SettingsError {
        argument,
        problem: format!(
            "this is not a certificate written by ssh-keygen -s (the content of a -cert.pub file): \
             {problem}"
        ),
    })
}

pub(crate) fn public(argument: &'static str, text: &str) -> Result<PublicKey, SettingsError> {
    let text = text.trim();
    let line = text.strip_prefix("@cert-authority ").map_or(text, str::trim_start);
    PublicKey::from_openssh(line)
        .or_else(|problem| {
            // A line of a known_hosts file starts with the host name.
            let (_, key) = line.split_once(' ').ok_or(problem)?;
            PublicKey::from_openssh(key.trim_start())
        })
        .map_err(|problem| SettingsError {
            argument,
            problem: format!("this is not a public key (\"ssh-ed25519 AAAA...\"): {problem}"),
        })
}
