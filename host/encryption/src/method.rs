//! The methods with which content is encrypted.

pub(crate) mod aes_gcm;
mod external;

use std::sync::Arc;

use wardian_config::{EncryptionConfig, EncryptionMethod, EncryptionOrigin};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_state::EncryptionFailure;

use crate::arguments::Arguments;
use crate::envelope::Metadata;
use crate::host::{EncryptionHost, EncryptionTrust};
use crate::key_provider::{KeyProvider, KeyProviders};
use crate::scope::StaticScope;
use crate::secret::Secret;
use external::ExternalMethod;

/// The type of the method that does not encrypt.
pub(crate) const UNENCRYPTED: &str = "unencrypted";

/// A configured method.
#[derive(Debug)]
pub(crate) struct Method {
    /// The address: `method.TYPE.NAME`.
    pub(crate) address: String,
    kind: MethodKind,
}

#[derive(Debug)]
enum MethodKind {
    Unencrypted,
    AesGcm {
        keys: Arc<KeyProvider>,
        /// Data that is authenticated with the content.
        authenticated: Vec<u8>,
    },
    External {
        keys: Option<Arc<KeyProvider>>,
        programs: Box<ExternalMethod>,
    },
}

/// A method with the key for new content.
#[derive(Debug)]
pub(crate) struct Encryptor {
    key: Option<Secret>,
    /// The metadata that is stored with the content.
    pub(crate) metadata: Metadata,
}

impl Method {
    /// Evaluates a method and its key provider.
    ///
    /// # Errors
    /// Returns an error if the method does not exist or is not valid, or if it would start a program
    /// for an untrusted configuration.
    pub(crate) fn new(
        block: &EncryptionMethod,
        config: &EncryptionConfig,
        scope: &StaticScope<'_>,
        providers: &mut KeyProviders,
        host: &EncryptionHost,
    ) -> Result<Self, Diagnostics> {
        const INVALID: &str = "Invalid method configuration";
        let address = block.address();
        let place = (address.clone(), &block.span);
        let evaluate = |schema| Arguments::evaluate(&block.body, &schema, scope, place, INVALID);
        let kind = match &*block.type_name {
            UNENCRYPTED => {
                evaluate(crate::arguments::schema([]))?;
                MethodKind::Unencrypted
            }
            "aes_gcm" => {
                let arguments = evaluate(aes_gcm::schema())?;
                let authenticated = aes_gcm::authenticated_data(&arguments)?;
                let reference = arguments.required_text("keys")?;
                let keys = providers.resolve(reference, config, scope, host, &block.span)?;
                MethodKind::AesGcm { keys, authenticated }
            }
            "external" => {
                if host.trust == EncryptionTrust::Untrusted && block.origin == EncryptionOrigin::Block {
                    return Err(untrusted(
                        &address,
                        "it would start a program that the configuration determines",
                    )
                    .at(block.span.clone())
                    .into());
                }
                let arguments = evaluate(external::schema())?;
                let keys = match arguments.text("keys") {
                    Some(reference) => {
                        Some(providers.resolve(reference, config, scope, host, &block.span)?)
                    }
                    None => None,
                };
                MethodKind::External { keys, programs: Box::new(ExternalMethod::new(&arguments, host)?) }
            }
            other => {
                let detail = format!(
                    "There is no encryption method \"{other}\". The methods are aes_gcm, external and unencrypted."
                );
                let error = Diagnostic::error("Unknown encryption method type", detail);
                return Err(error.at(block.span.clone()).into());
            }
        };
        Ok(Self { address, kind })
    }

    pub(crate) fn is_unencrypted(&self) -> bool {
        matches!(self.kind, MethodKind::Unencrypted)
    }

    fn keys(&self) -> Option<&Arc<KeyProvider>> {
        match &self.kind {
            MethodKind::Unencrypted => None,
            MethodKind::AesGcm { keys, .. } => Some(keys),
            MethodKind::External { keys, .. } => keys.as_ref(),
        }
    }

    /// Obtains a key for new content.
    pub(crate) async fn encryptor(&self) -> Result<Encryptor, EncryptionFailure> {
        let mut metadata = Metadata::new();
        let key = match self.keys() {
            None => None,
            Some(keys) => Some(keys.new_key(&mut metadata).await?),
        };
        if let (MethodKind::AesGcm { .. }, Some(key)) = (&self.kind, &key) {
            aes_gcm::check_key(key)?;
        }
        Ok(Encryptor { key, metadata })
    }

    pub(crate) async fn encrypt(
        &self,
        encryptor: &Encryptor,
        plain: &[u8],
    ) -> Result<Vec<u8>, EncryptionFailure> {
        match (&self.kind, &encryptor.key) {
            (MethodKind::AesGcm { authenticated, .. }, Some(key)) => aes_gcm::seal(key, authenticated, plain),
            (MethodKind::External { programs, .. }, key) => programs.encrypt(key.as_ref(), plain).await,
            (MethodKind::AesGcm { .. } | MethodKind::Unencrypted, _) => {
                Err(EncryptionFailure::new(format!("{} has no key", self.address)))
            }
        }
    }

    /// Returns the key with which content was encrypted; [`None`] if the method needs no key.
    pub(crate) async fn stored_key(&self, metadata: &Metadata) -> Result<Option<Secret>, EncryptionFailure> {
        match self.keys() {
            None => Ok(None),
            Some(keys) => keys.stored_key(metadata).await.map(Some),
        }
    }

    /// Returns whether the key for new content also decrypts that content.
    pub(crate) fn is_symmetric(&self) -> bool {
        matches!(self.kind, MethodKind::AesGcm { .. })
    }

    pub(crate) async fn decrypt(
        &self,
        key: Option<&Secret>,
        data: &[u8],
    ) -> Result<Vec<u8>, EncryptionFailure> {
        match (&self.kind, key) {
            (MethodKind::AesGcm { authenticated, .. }, Some(key)) => aes_gcm::open(key, authenticated, data),
            (MethodKind::External { programs, .. }, key) => programs.decrypt(key, data).await,
            (MethodKind::AesGcm { .. } | MethodKind::Unencrypted, _) => {
                Err(EncryptionFailure::new(format!("{} has no key", self.address)))
            }
        }
    }
}

impl Encryptor {
    pub(crate) fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }
}

/// Returns the error for a part of an untrusted configuration that would start a program or send a
/// request.
pub(crate) fn untrusted(address: &str, reason: &str) -> Diagnostic {
    let detail = format!(
        "With -untrusted, {address} is not used: {reason}. To read this state or plan, define the key provider in TF_ENCRYPTION under another name, and \
         select its method there."
    );
    Diagnostic::error("Key provider not permitted", detail)
}
