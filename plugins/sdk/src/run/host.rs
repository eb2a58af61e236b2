//! The run in the sandbox: `wardian:plugin/run`.

use crate::bindings::wardian::plugin::run::{self, RecordError, RecordedState};

pub(super) fn interrupted() -> bool {
    run::interrupted()
}

pub(super) fn sleep(milliseconds: u64) -> bool {
    run::sleep(milliseconds)
}

pub(super) fn record_state(
    state: Vec<u8>,
    private: Vec<u8>,
    identity: Option<Vec<u8>>,
) -> Result<(), String> {
    match run::record_state(&RecordedState { state, private, identity }) {
        Ok(()) | Err(RecordError::Unavailable) => Ok(()),
        Err(RecordError::Invalid(problem) | RecordError::Failed(problem)) => Err(problem),
    }
}
