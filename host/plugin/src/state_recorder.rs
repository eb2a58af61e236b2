//! Records the state that a running change of an object has reached.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_value::Value;

use crate::provider::PrivateBytes;

/// The state of an object during a change.
#[derive(Clone, Debug)]
pub struct RecordedState {
    /// The object, of its schema's type; null if it does not exist.
    pub state: Value,
    /// Replaces the private data; empty if they do not change.
    pub private: PrivateBytes,
    /// The identity, if the resource type has an identity schema.
    pub identity: Option<Value>,
}

/// The reason why a state was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The call changes no object whose state is kept.
    #[error("the call does not change an object whose state is kept")]
    Unavailable,
    /// The state does not fit the schema.
    #[error("{0}")]
    Invalid(String),
    /// The state could not be written.
    #[error("{0}")]
    Failed(String),
}

/// Records states of one object durably. The implementation of a call's transport calls it when the
/// plugin requests it.
#[async_trait]
pub trait ObjectRecorder: Send + Sync {
    /// Returns when the state is durable: it is then stored even if the call fails or this process
    /// ends. A state that the call returns replaces it.
    ///
    /// # Errors
    /// Returns the reason why the state is not recorded.
    async fn record(&self, recorded: RecordedState) -> Result<(), RecordError>;
}

/// The recorder of a call context, if there is one.
#[derive(Clone, Default)]
pub(crate) struct ContextRecorder(pub(crate) Option<Arc<dyn ObjectRecorder>>);

impl fmt::Debug for ContextRecorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "recorder" } else { "no recorder" })
    }
}
