//! Converts the types of locks.

use wardian_plugin::transport::PluginFailure;
use wardian_plugin::{LockOutcome, PluginDiagnostic, StateLockInfo, UnlockOutcome, has_errors};

use crate::bindings::state_store::exports::wardian::plugin::state_store as wit;

pub(super) fn lock_info(info: StateLockInfo) -> wit::LockInfo {
    let StateLockInfo { id, operation, info, who, version, created } = info;
    wit::LockInfo { id, operation, info, who, version, created }
}

/// Returns a holder, whose text is shown to users.
fn holder(info: wit::LockInfo) -> StateLockInfo {
    let wit::LockInfo { id, operation, info, who, version, created } = info;
    StateLockInfo { id, operation, info, who, version, created }
}

/// Returns the outcome; [`None`] if the diagnostics contain an error.
pub(super) fn lock_outcome(
    outcome: wit::LockOutcome,
    reported: &[PluginDiagnostic],
) -> Result<Option<LockOutcome>, PluginFailure> {
    match outcome {
        // A lock that the plugin reports must be released, whatever else it reports.
        wit::LockOutcome::Locked(id) if !id.is_empty() => Ok(Some(LockOutcome::Locked(id))),
        wit::LockOutcome::Held(info) => Ok(Some(LockOutcome::Held(info.map(holder)))),
        _ if has_errors(reported) => Ok(None),
        wit::LockOutcome::Unsupported => Ok(Some(LockOutcome::Unsupported)),
        wit::LockOutcome::Locked(_) => Err(PluginFailure::InvalidResponse("the lock has no ID".into())),
        wit::LockOutcome::Failed => Err(without_reason()),
    }
}

/// Returns the outcome; [`None`] if the diagnostics contain an error.
pub(super) fn unlock_outcome(
    outcome: wit::UnlockOutcome,
    reported: &[PluginDiagnostic],
) -> Result<Option<UnlockOutcome>, PluginFailure> {
    match outcome {
        wit::UnlockOutcome::OtherLock(info) => Ok(Some(UnlockOutcome::OtherLock(info.map(holder)))),
        _ if has_errors(reported) => Ok(None),
        wit::UnlockOutcome::Unlocked => Ok(Some(UnlockOutcome::Unlocked)),
        wit::UnlockOutcome::Failed => Err(without_reason()),
    }
}

fn without_reason() -> PluginFailure {
    PluginFailure::InvalidResponse("the call failed without an error that gives the reason".into())
}
