//! Trust roots: the authorities whose certificates, logs and timestamps are trusted.

use std::fmt;

use crate::error::TrustRootError;
use crate::sigstore::Instance;

/// Maximum size of a trust root, in bytes.
pub const MAX_TRUST_ROOT_SIZE: usize = 1 << 20;

/// The authorities of one or more instances of Sigstore.
pub struct TrustRoot {
    instances: Vec<Instance>,
}

impl TrustRoot {
    /// Returns the trust root that is embedded in Wardian: the public instance of Sigstore, and
    /// GitHub's instance, which signs the attestations of private repositories.
    ///
    /// # Errors
    /// Returns an error if an embedded trust root cannot be read.
    pub fn embedded() -> Result<Self, TrustRootError> {
        Ok(Self { instances: vec![Instance::public()?, Instance::github()?] })
    }

    /// Parses a trust root in the format of Sigstore (`trusted_root.json`), which replaces the
    /// embedded one. If it contains no transparency logs, bundles do not require log entries; if it
    /// contains no certificate transparency logs, certificates do not require timestamps from such
    /// a log.
    ///
    /// # Errors
    /// Returns an error if the trust root is invalid, or if it contains no certificate authority or
    /// no source of signing times.
    pub fn from_json(json: &[u8]) -> Result<Self, TrustRootError> {
        if json.len() > MAX_TRUST_ROOT_SIZE {
            return Err(TrustRootError::TooLarge);
        }
        Ok(Self { instances: vec![Instance::from_json(json)?] })
    }

    /// Returns the instance for a bundle. If there are several instances, the log entries in the
    /// bundle select one.
    pub(crate) fn instance_for(&self, has_log_entries: bool) -> Option<&Instance> {
        let suitable = self.instances.iter().find(|instance| instance.has_log() == has_log_entries);
        suitable.or(self.instances.first())
    }
}

impl fmt::Debug for TrustRoot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TrustRoot").field("instances", &self.instances.len()).finish()
    }
}
