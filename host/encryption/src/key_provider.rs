//! The providers of keys.
//!
//! A provider returns a new key with metadata, which is stored with the encrypted content, and later
//! returns the same key for that metadata. The metadata of each provider has a name: the provider's
//! address, or its `encrypted_metadata_alias`.

mod aws_kms;
mod external;
mod openbao;
mod pbkdf2;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use wardian_config::{EncryptionConfig, EncryptionOrigin, KeyProviderBlock};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_state::EncryptionFailure;

use crate::arguments::Arguments;
use crate::envelope::Metadata;
use crate::host::{EncryptionHost, EncryptionTrust};
use crate::method;
use crate::scope::StaticScope;
use crate::secret::Secret;

/// A source of keys.
#[async_trait]
trait KeySource: fmt::Debug + Send + Sync {
    /// Returns a new key and its metadata as JSON. `upstream` is a new key of the provider's `chain`.
    async fn new_key(&self, upstream: Option<Secret>) -> Result<(Secret, Vec<u8>), EncryptionFailure>;

    /// Returns the key with this metadata. `upstream` is the corresponding key of the provider's `chain`.
    async fn stored_key(
        &self,
        metadata: &[u8],
        upstream: Option<Secret>,
    ) -> Result<Secret, EncryptionFailure>;
}

/// A configured key provider.
#[derive(Debug)]
pub(crate) struct KeyProvider {
    address: String,
    metadata_key: String,
    source: Box<dyn KeySource>,
    /// The provider whose key this provider uses.
    chain: Option<Arc<Self>>,
}

/// The key providers of one target. Each is evaluated once.
#[derive(Debug, Default)]
pub(crate) struct KeyProviders {
    known: Vec<Arc<KeyProvider>>,
    /// The addresses of the providers that are being evaluated.
    evaluating: Vec<String>,
}

/// Maximum number of key providers of one target, which limits the time to obtain their keys.
const MAX_PROVIDERS: usize = 16;

const INVALID: &str = "Unable to build encryption key data";

impl KeyProviders {
    /// Returns the provider to which the value of an argument refers: its address.
    ///
    /// # Errors
    /// Returns an error if the provider does not exist or is not valid, or if it would start a program
    /// or send a request for an untrusted configuration.
    pub(crate) fn resolve(
        &mut self,
        reference: &str,
        config: &EncryptionConfig,
        scope: &StaticScope<'_>,
        host: &EncryptionHost,
        span: &Span,
    ) -> Result<Arc<KeyProvider>, Diagnostics> {
        let parts: Vec<&str> = reference.split('.').collect();
        let &["key_provider", type_name, name] = &*parts else {
            let detail = "A reference such as key_provider.pbkdf2.NAME is required here.";
            return Err(Diagnostic::error("Expected key_provider value", detail).at(span.clone()).into());
        };
        let Some(block) = config.key_provider(type_name, name) else {
            let detail =
                format!("The encryption configuration has no key_provider \"{type_name}\" \"{name}\".");
            let error = Diagnostic::error("Reference to undeclared key provider", detail);
            return Err(error.at(span.clone()).into());
        };
        let address = block.address();
        if let Some(known) = self.known.iter().find(|known| known.address == address) {
            return Ok(Arc::clone(known));
        }
        if self.evaluating.contains(&address) {
            let detail =
                format!("{address} uses its own key: {} -> {address}.", self.evaluating.join(" -> "));
            return Err(Diagnostic::error("Circular reference detected", detail)
                .at(block.span.clone())
                .into());
        }
        if self.known.len() + self.evaluating.len() >= MAX_PROVIDERS {
            let detail = format!("One target can use at most {MAX_PROVIDERS} key providers.");
            return Err(Diagnostic::error("Too many key providers", detail).at(block.span.clone()).into());
        }
        self.evaluating.push(address);
        let provider = self.evaluate(block, config, scope, host);
        self.evaluating.pop();
        let provider = Arc::new(provider?);
        self.known.push(Arc::clone(&provider));
        Ok(provider)
    }

    fn evaluate(
        &mut self,
        block: &KeyProviderBlock,
        config: &EncryptionConfig,
        scope: &StaticScope<'_>,
        host: &EncryptionHost,
    ) -> Result<KeyProvider, Diagnostics> {
        let address = block.address();
        let place = (address.clone(), &block.span);
        let evaluate = |schema| Arguments::evaluate(&block.body, &schema, scope, place, INVALID);
        let is_restricted =
            host.trust == EncryptionTrust::Untrusted && block.origin == EncryptionOrigin::Block;
        let refused =
            |reason: &str| Diagnostics::from(method::untrusted(&address, reason).at(block.span.clone()));
        let permitted = |arguments: &Arguments| match &host.rules {
            _ if !is_restricted => Ok(host.clone()),
            None => Err(refused("it would send a request that the configuration determines")),
            Some(rules) => {
                rules.permit(&block.type_name, arguments.value(), host).map_err(|reason| refused(&reason))
            }
        };
        let mut chain = None;
        let source: Box<dyn KeySource> = match &*block.type_name {
            "pbkdf2" => {
                let arguments = evaluate(pbkdf2::schema())?;
                if let Some(reference) = arguments.text("chain") {
                    chain = Some(self.resolve(reference, config, scope, host, &block.span)?);
                }
                Box::new(pbkdf2::Pbkdf2::new(&arguments, host.trust)?)
            }
            "external" if is_restricted => {
                return Err(refused("it would start a program that the configuration determines"));
            }
            "external" => Box::new(external::ExternalKey::new(&evaluate(external::schema())?, host)?),
            "openbao" => {
                let arguments = evaluate(openbao::schema())?;
                Box::new(openbao::OpenBao::new(&arguments, &permitted(&arguments)?)?)
            }
            "aws_kms" => {
                let arguments = evaluate(aws_kms::schema())?;
                Box::new(aws_kms::AwsKms::new(&arguments, &permitted(&arguments)?)?)
            }
            known @ ("gcp_kms" | "azure_vault") => {
                let detail = format!(
                    "The key provider \"{known}\" is not supported yet. The key providers are pbkdf2, external, openbao \
                     and aws_kms. A program for the key provider \"external\" can request keys from any other service."
                );
                let error = Diagnostic::error("Key provider not available yet", detail);
                return Err(error.at(block.span.clone()).into());
            }
            other => {
                let detail = format!(
                    "There is no key provider \"{other}\". The key providers are pbkdf2, external, openbao and aws_kms."
                );
                let error = Diagnostic::error("Unknown key_provider type", detail);
                return Err(error.at(block.span.clone()).into());
            }
        };
        Ok(KeyProvider { address, metadata_key: block.metadata_key(), source, chain })
    }
}

impl KeyProvider {
    /// Returns a new key, and adds the metadata of all providers that were used.
    pub(crate) async fn new_key(&self, metadata: &mut Metadata) -> Result<Secret, EncryptionFailure> {
        let upstream = match &self.chain {
            None => None,
            Some(chain) => Some(Box::pin(chain.new_key(metadata)).await?),
        };
        let (key, own) = self.source.new_key(upstream).await.map_err(|failure| self.failed(failure))?;
        if metadata.insert(self.metadata_key.clone(), own).is_some() {
            let message = format!("several key providers store their metadata as \"{}\"", self.metadata_key);
            let advice = "set a different \"encrypted_metadata_alias\" in each key provider";
            return Err(EncryptionFailure::new(message).with_advice(advice));
        }
        Ok(key)
    }

    /// Returns the key with which content was encrypted.
    pub(crate) async fn stored_key(&self, metadata: &Metadata) -> Result<Secret, EncryptionFailure> {
        let own = metadata.get(&self.metadata_key).ok_or_else(|| {
            let message = format!("the encrypted content has no metadata of \"{}\"", self.metadata_key);
            let advice =
                "if the key provider was renamed, set its \"encrypted_metadata_alias\" to the former address";
            EncryptionFailure::new(message).with_advice(advice)
        })?;
        let upstream = match &self.chain {
            None => None,
            Some(chain) => Some(Box::pin(chain.stored_key(metadata)).await?),
        };
        self.source.stored_key(own, upstream).await.map_err(|failure| self.failed(failure))
    }

    fn failed(&self, failure: EncryptionFailure) -> EncryptionFailure {
        EncryptionFailure { message: format!("{}: {}", self.address, failure.message), ..failure }
    }
}

/// Parses the metadata of a provider.
fn parse_metadata<T: DeserializeOwned>(metadata: &[u8]) -> Result<T, EncryptionFailure> {
    serde_json::from_slice(metadata).map_err(|error| {
        EncryptionFailure::new(format!("the metadata in the encrypted content is not valid: {error}"))
            .with_advice("check whether the type of the key provider was changed")
    })
}

/// Encodes the metadata of a provider.
fn encode_metadata(metadata: &impl serde::Serialize) -> Result<Vec<u8>, EncryptionFailure> {
    serde_json::to_vec(metadata)
        .map_err(|error| EncryptionFailure::new(format!("the metadata cannot be encoded: {error}")))
}
