//! Records the states that a provider reports while it changes an object.
//!
//! A recorded state passes from the provider's call to its operation, which encodes it, and from there
//! to the walk, which owns the state and its journal. The provider continues when the journal is
//! committed. If the call then fails without a response, the recorded state is the outcome.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use wardian_plugin::{CallContext, ObjectRecorder, RecordError, RecordedState};
use wardian_state::Object;
use wardian_value::{Str, Value};

use super::subject::Subject;

/// Sends the recorded states of one planned change to the walk.
#[derive(Clone)]
pub struct RecordingSender {
    change: usize,
    deposed: Option<Str>,
    to_walk: mpsc::UnboundedSender<Recording>,
}

/// A recorded state, which the walk must make durable.
pub struct Recording {
    /// The index of the planned change.
    pub change: usize,
    /// The key of the deposed object that is destroyed; `None` for the current object.
    pub deposed: Option<Str>,
    /// The object to store; `None` if the object does not exist.
    pub object: Option<Arc<Object>>,
    /// Receives the result. Closed if the operation no longer waits.
    pub reply: oneshot::Sender<Result<(), String>>,
}

/// The last state that a call has recorded.
pub struct LastRecorded {
    /// The object to store; `None` if the object does not exist.
    pub object: Option<Arc<Object>>,
    pub value: Value,
}

impl RecordingSender {
    /// Returns a sender for the change of a current object, or for the destruction of a deposed object.
    pub fn new(change: usize, deposed: Option<Str>, to_walk: &mpsc::UnboundedSender<Recording>) -> Self {
        Self { change, deposed, to_walk: to_walk.clone() }
    }

    async fn send(&self, object: Option<Arc<Object>>) -> Result<(), RecordError> {
        let (reply, result) = oneshot::channel();
        let (change, deposed) = (self.change, self.deposed.clone());
        let recording = Recording { change, deposed, object, reply };
        self.to_walk.send(recording).map_err(|_| RecordError::Unavailable)?;
        result.await.map_err(|_| RecordError::Unavailable)?.map_err(RecordError::Failed)
    }
}

type Request = (RecordedState, oneshot::Sender<Result<(), RecordError>>);

/// Passes the states of one call to its operation.
struct CallRecorder(mpsc::UnboundedSender<Request>);

#[async_trait]
impl ObjectRecorder for CallRecorder {
    async fn record(&self, recorded: RecordedState) -> Result<(), RecordError> {
        let (reply, result) = oneshot::channel();
        self.0.send((recorded, reply)).map_err(|_| RecordError::Unavailable)?;
        result.await.unwrap_or(Err(RecordError::Unavailable))
    }
}

/// Makes a call whose states are recorded. `encode` checks and encodes a state. Returns the response
/// and the last recorded state.
pub async fn record_during<F: Future>(
    subject: &Subject,
    sender: &RecordingSender,
    encode: impl Fn(RecordedState) -> Result<LastRecorded, RecordError>,
    call: impl FnOnce(CallContext) -> F,
) -> (F::Output, Option<LastRecorded>) {
    let (to_operation, mut requests) = mpsc::unbounded_channel();
    let mut call = pin!(call(subject.context.with_recorder(Arc::new(CallRecorder(to_operation)))));
    let mut last = None;
    loop {
        tokio::select! {
            biased;
            Some((state, reply)) = requests.recv() => {
                let result = match encode(state) {
                    Ok(recorded) => {
                        let sent = sender.send(recorded.object.clone()).await;
                        // The object exists even if the journal could not be written.
                        last = Some(recorded);
                        sent
                    }
                    Err(error) => Err(error),
                };
                // If the plugin no longer waits, its call has failed.
                let _ = reply.send(result);
            }
            response = &mut call => return (response, last),
        }
    }
}
