//! `wardian state rm`

use std::fmt::Write as _;

use wardian_address::ResourceInstanceAddress;

use super::state_list::names;
use crate::arguments::StateRmArguments;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::session::Session;
use crate::state_access::LockedFor;
use crate::state_change::{self, ChangeRequest, DefaultBackup};

/// Forgets instances. An address that means nothing is passed over beside others.
pub(crate) async fn run(session: &Session, arguments: &StateRmArguments) -> Outcome {
    let configuration = session.configuration()?;
    let stop = interrupt::listen(&session.shell)?;
    let (lock, out) = (&arguments.lock, &arguments.state_out);
    let request =
        ChangeRequest::new(session, &configuration, lock, out, DefaultBackup::Timed, LockedFor::Removal)?;
    state_change::require(session, &request.path)?;
    let change = request.open(session, &stop).await?;
    let mut state = (*change.state).clone();
    let mut removed: Vec<ResourceInstanceAddress> = Vec::new();
    for target in &arguments.addresses {
        removed
            .extend(state.instances().map(|(address, ..)| address).filter(|address| names(target, address)));
        // What two addresses mean is removed once.
        for address in &removed {
            state.remove_instance(address);
        }
    }
    if removed.is_empty() {
        return Err(Failure::error(
            "Invalid target address",
            "The state has nothing at any of these addresses. `wardian state list` lists what there is.",
        ));
    }
    let what = if arguments.dry_run { "Would remove" } else { "Removed" };
    let mut text = String::new();
    for address in &removed {
        let _ = writeln!(text, "{what} {address}");
    }
    if !arguments.dry_run {
        change.save(&state)?;
        let _ = match removed.len() {
            1 => writeln!(text, "1 instance was removed from the state."),
            count => writeln!(text, "{count} instances were removed from the state."),
        };
    }
    session.shell.print(&text);
    Ok(Status::Success)
}
