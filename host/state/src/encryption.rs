//! The interface between the state manager and the encryption of states.
//!
//! A [`StateEncryption`] converts between the text of a state and the bytes in its storage. The state
//! manager calls it for everything that it stores: states, backups, and `errored.tfstate`. Records of
//! the journal are encrypted with a key that is generated for each journal and stored in its first
//! line; that key is encrypted like a state.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

/// Encrypts and decrypts states.
#[async_trait]
pub trait StateEncryption: fmt::Debug + Send + Sync {
    /// Whether new content is encrypted. If not, stored content may still be encrypted.
    fn encrypts(&self) -> bool;

    /// Obtains the key with which new content is encrypted, so that a later failure of its source
    /// cannot prevent a write.
    ///
    /// # Errors
    /// Returns an error if the key cannot be obtained.
    async fn prepare(&self) -> Result<(), EncryptionFailure>;

    /// Returns the encrypted form of a text. For a state, it contains the identity of the state
    /// unencrypted.
    ///
    /// # Errors
    /// Returns an error if the text cannot be encrypted.
    async fn encrypt(
        &self,
        plain: &[u8],
        identity: Option<StateIdentity<'_>>,
    ) -> Result<String, EncryptionFailure>;

    /// Decrypts stored bytes, which are not empty.
    ///
    /// # Errors
    /// Returns an error if the bytes are encrypted and cannot be decrypted.
    async fn decrypt(&self, stored: &[u8]) -> Result<Decrypted, EncryptionFailure>;

    /// Returns a new cipher for the records of a journal, and its encrypted key.
    ///
    /// # Errors
    /// Returns an error if there is no randomness, or the key cannot be encrypted.
    async fn new_record_cipher(&self) -> Result<(String, Arc<dyn RecordCipher>), EncryptionFailure>;

    /// Returns the cipher whose encrypted key a journal contains.
    ///
    /// # Errors
    /// Returns an error if the key cannot be decrypted.
    async fn record_cipher(&self, encrypted_key: &str) -> Result<Arc<dyn RecordCipher>, EncryptionFailure>;

    /// Whether content that is not encrypted is accepted.
    fn accepts_plain(&self) -> bool;
}

/// Encrypts the records of a journal.
pub trait RecordCipher: fmt::Debug + Send + Sync {
    /// Encrypts a record. It can be decrypted only in the same context.
    ///
    /// # Errors
    /// Returns an error if there is no randomness.
    fn seal(&self, context: &[u8], record: &[u8]) -> Result<Vec<u8>, EncryptionFailure>;

    /// Decrypts a record.
    ///
    /// # Errors
    /// Returns an error if the record was changed.
    fn open(&self, context: &[u8], sealed: Vec<u8>) -> Result<Vec<u8>, EncryptionFailure>;
}

/// The parts of a state that remain readable in its encrypted form.
#[derive(Clone, Copy, Debug)]
pub struct StateIdentity<'a> {
    pub lineage: &'a str,
    pub serial: u64,
}

/// The result of decrypting stored bytes.
#[derive(Clone, PartialEq, Eq)]
pub enum Decrypted {
    /// The bytes were encrypted.
    Text {
        plain: Vec<u8>,
        /// Whether another method than the one for new content has decrypted the bytes.
        is_outdated: bool,
    },
    /// The bytes are not encrypted.
    Plain,
}

/// Shows no content.
impl fmt::Debug for Decrypted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { is_outdated, .. } => {
                formatter.debug_struct("Text").field("is_outdated", is_outdated).finish_non_exhaustive()
            }
            Self::Plain => formatter.write_str("Plain"),
        }
    }
}

/// The reason why content cannot be encrypted or decrypted. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EncryptionFailure {
    /// The failure and its reason.
    pub message: String,
    /// A suggestion for the user.
    pub advice: Option<String>,
}

impl EncryptionFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), advice: None }
    }

    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
