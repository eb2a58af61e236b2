//! Encrypts the records of a journal with a key that is used only for that journal.

use std::sync::Arc;

use aws_lc_rs::rand;
use wardian_state::{EncryptionFailure, RecordCipher};

use crate::method::aes_gcm;
use crate::secret::Secret;

const KEY_BYTES: usize = 32;

#[derive(Debug)]
pub(crate) struct JournalCipher {
    key: Secret,
}

impl JournalCipher {
    /// Returns a cipher with a new key, and the key.
    pub(crate) fn generate() -> Result<(Secret, Arc<dyn RecordCipher>), EncryptionFailure> {
        let mut key = vec![0; KEY_BYTES];
        rand::fill(&mut key).map_err(|_| EncryptionFailure::new("the system has no source of randomness"))?;
        let key = Secret::new(key);
        Ok((key.clone(), Arc::new(Self { key })))
    }

    pub(crate) fn for_key(key: Secret) -> Result<Arc<dyn RecordCipher>, EncryptionFailure> {
        if key.len() != KEY_BYTES {
            return Err(EncryptionFailure::new("the key of the journal has another length"));
        }
        Ok(Arc::new(Self { key }))
    }
}

impl RecordCipher for JournalCipher {
    fn seal(&self, context: &[u8], record: &[u8]) -> Result<Vec<u8>, EncryptionFailure> {
        aes_gcm::seal(&self.key, context, record)
    }

    fn open(&self, context: &[u8], sealed: Vec<u8>) -> Result<Vec<u8>, EncryptionFailure> {
        aes_gcm::open(&self.key, context, &sealed)
    }
}
