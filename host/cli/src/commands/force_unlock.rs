//! `wardian force-unlock`

use crate::arguments::ForceUnlockArguments;
use crate::failure::{Failure, Outcome};
use crate::session::Session;
use crate::state_access;

/// Refuses: the lock on a local state is the system's, which releases it when the
/// process that holds it ends, however it ends.
pub(crate) fn run(session: &Session, arguments: &ForceUnlockArguments) -> Outcome {
    let configuration = session.configuration()?;
    let path = state_access::state_path(session, Some(&configuration), None)?;
    Err(Failure::error(
        "Local state cannot be unlocked",
        format!(
            "The lock {} on {} is held by a process of this machine, and the system releases it when that process ends: \
             no lock is ever left behind. End the process that the message about the lock names, or wait for it.",
            arguments.id,
            path.display()
        ),
    ))
}
