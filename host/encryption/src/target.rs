//! The encryption of one target: a chain of methods.
//!
//! New content is encrypted with the first method. One key encrypts all content of a command: it is
//! obtained before a run changes anything, so a failure of its source cannot prevent a write. Stored
//! content is decrypted with the first method that succeeds.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::sync::OnceCell;
use wardian_config::{EncryptionConfig, EncryptionTarget};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Expression, Traversal};
use wardian_state::{Decrypted, EncryptionFailure, RecordCipher, StateEncryption, StateIdentity};

use crate::envelope::{self, Envelope, Metadata};
use crate::host::EncryptionHost;
use crate::key_provider::KeyProviders;
use crate::method::{Encryptor, Method};
use crate::record_cipher::JournalCipher;
use crate::scope::StaticScope;
use crate::secret::Secret;

/// The encryption of states or plans.
#[derive(Debug)]
pub struct TargetEncryption {
    /// The content in messages: `the state` or `the plan`.
    content: &'static str,
    /// The methods. The first one encrypts.
    first: Method,
    fallbacks: Vec<Method>,
    encryptor: OnceCell<Encryptor>,
    /// The key that was used last for reading.
    last_key: Mutex<Option<KnownKey>>,
}

struct KnownKey {
    /// The position of the method.
    method: usize,
    metadata: Metadata,
    key: Option<Secret>,
}

impl fmt::Debug for KnownKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KnownKey").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The members of a state that are not encrypted in its stored form.
#[derive(Deserialize)]
struct OwnIdentity {
    serial: Option<u64>,
    #[serde(default)]
    lineage: Option<String>,
}

impl TargetEncryption {
    /// Evaluates the methods of a target.
    ///
    /// # Errors
    /// Returns an error if a method or a key provider does not exist, is not valid or is not permitted.
    pub(crate) fn new(
        content: &'static str,
        target: &EncryptionTarget,
        config: &EncryptionConfig,
        scope: &StaticScope<'_>,
        host: &EncryptionHost,
    ) -> Result<Self, Diagnostics> {
        let mut providers = KeyProviders::default();
        let mut methods = Vec::new();
        let mut next = Some(target);
        while let Some(current) = next {
            let block = method_block(current, config)?;
            methods.push(Method::new(block, config, scope, &mut providers, host)?);
            next = current.fallback.as_deref();
        }
        if target.is_enforced && methods.iter().any(Method::is_unencrypted) {
            let detail = "\"enforced\" is set, so neither the method nor a fallback can be \"unencrypted\".";
            let error = Diagnostic::error("Unencrypted method is forbidden", detail);
            return Err(error.at(target.span.clone()).into());
        }
        let mut methods = methods.into_iter();
        let Some(first) = methods.next() else {
            return Err(Diagnostic::bug("Missing encryption method", "The target has no method.").into());
        };
        Ok(Self {
            content,
            first,
            fallbacks: methods.collect(),
            encryptor: OnceCell::new(),
            last_key: Mutex::default(),
        })
    }

    fn methods(&self) -> impl Iterator<Item = &Method> {
        std::iter::once(&self.first).chain(&self.fallbacks)
    }

    async fn encryptor(&self) -> Result<&Encryptor, EncryptionFailure> {
        let encryptor = self.encryptor.get_or_try_init(|| self.first.encryptor()).await;
        encryptor.map_err(|failure| self.failed("encrypted", &failure))
    }

    /// Decrypts an envelope with the first method that succeeds. Returns the position of the method.
    async fn open(&self, envelope: &Envelope) -> Result<(Vec<u8>, usize), EncryptionFailure> {
        let mut failures: Vec<(&Method, EncryptionFailure)> = Vec::new();
        for (position, method) in self.methods().enumerate().filter(|(_, method)| !method.is_unencrypted()) {
            let opened = async {
                let key = self.key(position, method, &envelope.metadata).await?;
                method.decrypt(key.as_ref(), &envelope.data).await
            };
            match opened.await {
                Ok(plain) => return Ok((plain, position)),
                Err(failure) => failures.push((method, failure)),
            }
        }
        let Some((_, first)) = failures.first() else {
            let message = format!("{} is encrypted, but no configured method can decrypt it", self.content);
            return Err(EncryptionFailure::new(message)
                .with_advice("add the method with which it was encrypted as a fallback"));
        };
        let reasons = failures.iter().map(|(method, failure)| format!("{}: {failure}", method.address));
        let message =
            format!("{} cannot be decrypted: {}", self.content, reasons.collect::<Vec<_>>().join("; "));
        let advice = first.advice.clone().unwrap_or_else(|| {
            "check the passphrase or the key; if it was changed, add the former one as a fallback".to_owned()
        });
        Err(EncryptionFailure::new(message).with_advice(advice))
    }

    /// Returns the key of a method for stored content. Deriving or requesting a key is slow, so the last
    /// one is retained.
    async fn key(
        &self,
        position: usize,
        method: &Method,
        metadata: &Metadata,
    ) -> Result<Option<Secret>, EncryptionFailure> {
        if let Some(own) = self.encryptor.get().filter(|own| own.metadata == *metadata)
            && position == 0
            && method.is_symmetric()
        {
            return Ok(own.key().cloned());
        }
        let known = {
            let last = self.last_key.lock().unwrap_or_else(PoisonError::into_inner);
            let last = last.as_ref();
            last.filter(|last| last.method == position && last.metadata == *metadata)
                .map(|last| last.key.clone())
        };
        if let Some(key) = known {
            return Ok(key);
        }
        let key = method.stored_key(metadata).await?;
        let known = KnownKey { method: position, metadata: metadata.clone(), key: key.clone() };
        *self.last_key.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok(key)
    }

    fn failed(&self, done: &str, failure: &EncryptionFailure) -> EncryptionFailure {
        let message = format!("{} cannot be {done}: {}: {failure}", self.content, self.first.address);
        EncryptionFailure { message, advice: failure.advice.clone() }
    }

    /// Encrypts content that is not a state.
    ///
    /// # Errors
    /// Returns an error if the content cannot be encrypted.
    pub async fn encrypt_bytes(&self, plain: &[u8]) -> Result<String, EncryptionFailure> {
        self.encrypt(plain, None).await
    }
}

#[async_trait]
impl StateEncryption for TargetEncryption {
    fn encrypts(&self) -> bool {
        !self.first.is_unencrypted()
    }

    fn accepts_plain(&self) -> bool {
        self.methods().any(Method::is_unencrypted)
    }

    async fn prepare(&self) -> Result<(), EncryptionFailure> {
        if self.encrypts() { self.encryptor().await.map(drop) } else { Ok(()) }
    }

    async fn encrypt(
        &self,
        plain: &[u8],
        identity: Option<StateIdentity<'_>>,
    ) -> Result<String, EncryptionFailure> {
        let encryptor = self.encryptor().await?;
        let data = self.first.encrypt(encryptor, plain).await;
        let data = data.map_err(|failure| self.failed("encrypted", &failure))?;
        envelope::encode(&encryptor.metadata, &data, identity)
    }

    async fn decrypt(&self, stored: &[u8]) -> Result<Decrypted, EncryptionFailure> {
        let Some(envelope) = Envelope::parse(stored)? else { return Ok(Decrypted::Plain) };
        let (plain, position) = self.open(&envelope).await?;
        check_identity(&envelope, &plain)?;
        Ok(Decrypted::Text { plain, is_outdated: position > 0 })
    }

    async fn new_record_cipher(&self) -> Result<(String, Arc<dyn RecordCipher>), EncryptionFailure> {
        let (key, cipher) = JournalCipher::generate()?;
        // The key is text, because a method may support only text.
        let encrypted = self.encrypt(STANDARD.encode(&*key).as_bytes(), None).await?;
        Ok((encrypted, cipher))
    }

    async fn record_cipher(&self, encrypted_key: &str) -> Result<Arc<dyn RecordCipher>, EncryptionFailure> {
        let invalid = || EncryptionFailure::new("the key of the journal is not valid");
        let envelope = Envelope::parse(encrypted_key.as_bytes())?.ok_or_else(invalid)?;
        let (text, _) = self.open(&envelope).await?;
        JournalCipher::for_key(Secret::new(STANDARD.decode(text).map_err(|_| invalid())?))
    }
}

/// Checks that the identity of a state outside of its encrypted content is the identity inside. A
/// backend may have used the one outside.
fn check_identity(envelope: &Envelope, plain: &[u8]) -> Result<(), EncryptionFailure> {
    if envelope.serial.is_none() && envelope.lineage.is_empty() {
        return Ok(());
    }
    // Content that is not a state is reported when it is decoded.
    let Ok(own) = serde_json::from_slice::<OwnIdentity>(plain) else { return Ok(()) };
    let serials = envelope.serial.zip(own.serial);
    let is_serial_other = serials.is_some_and(|(outside, inside)| outside != inside);
    let is_lineage_other =
        !envelope.lineage.is_empty() && own.lineage.as_ref().is_none_or(|inside| *inside != envelope.lineage);
    if is_serial_other || is_lineage_other {
        let name = if is_serial_other { "serial" } else { "lineage" };
        let message = format!("the {name} in the encrypted state differs from the {name} outside of it");
        return Err(EncryptionFailure::new(message)
            .with_advice("the state was changed by another program; restore it from a backup"));
    }
    Ok(())
}

/// Returns the method to which a target refers.
fn method_block<'a>(
    target: &EncryptionTarget,
    config: &'a EncryptionConfig,
) -> Result<&'a wardian_config::EncryptionMethod, Diagnostics> {
    let Some(expression) = &target.method else {
        let detail = "This block has no argument \"method\", and TF_ENCRYPTION does not set it either. If \
             \"enforced\" is set, content is never stored without encryption.";
        return Err(Diagnostic::error("Missing encryption method", detail).at(target.span.clone()).into());
    };
    let invalid = || {
        let detail = "A reference such as method.aes_gcm.NAME is required here.";
        Diagnostic::error("Invalid encryption method identifier", detail).at(expression.span().clone())
    };
    let traversal = reference(expression).ok_or_else(invalid)?;
    let names = traversal.names().ok_or_else(invalid)?;
    let &[root, type_name, name] = &*names else { return Err(invalid().into()) };
    if &**root != "method" {
        return Err(invalid().into());
    }
    config.method(type_name, name).ok_or_else(|| {
        let detail = format!("The encryption configuration has no method \"{type_name}\" \"{name}\".");
        let error = Diagnostic::error("Reference to undeclared encryption method", detail);
        error.at(expression.span().clone()).into()
    })
}

/// Returns a reference. In JSON, it is a string, with or without an interpolation.
fn reference(expression: &Expression) -> Option<Traversal> {
    let unquoted = expression.unquoted().ok()?;
    unquoted.as_traversal().or_else(|| expression.as_traversal())
}
