//! Credentials with which requests are signed.

use std::fmt;

use jiff::Timestamp;

/// A key with which requests are signed. `Debug` output contains only the key ID.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    pub id: String,
    pub secret: String,
    pub session_token: Option<String>,
    /// The time at which the key expires; [`None`] for a permanent key.
    pub expires: Option<Timestamp>,
}

impl SigningKey {
    /// Returns a permanent key, or a key whose expiry is not known.
    pub fn new(id: impl Into<String>, secret: impl Into<String>, session_token: Option<String>) -> Self {
        Self { id: id.into(), secret: secret.into(), session_token, expires: None }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}
