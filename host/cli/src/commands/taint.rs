//! `wardian taint` and `wardian untaint`

use std::sync::Arc;

use wardian_address::ResourceMode;
use wardian_diagnostic::Diagnostic;
use wardian_state::{Object, ObjectStatus};

use crate::arguments::TaintArguments;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::session::Session;
use crate::state_access::LockedFor;
use crate::state_change::{ChangeRequest, DefaultBackup};

/// Marks an instance to be replaced by the next apply.
pub(crate) async fn taint(session: &Session, arguments: &TaintArguments) -> Outcome {
    set(session, arguments, ObjectStatus::Tainted).await
}

/// Takes the mark away.
pub(crate) async fn untaint(session: &Session, arguments: &TaintArguments) -> Outcome {
    set(session, arguments, ObjectStatus::Ready).await
}

async fn set(session: &Session, arguments: &TaintArguments, status: ObjectStatus) -> Outcome {
    let address = &arguments.address;
    if address.mode() != ResourceMode::Managed {
        return Err(Failure::error(
            "Invalid address",
            format!("{address} is read, not made, so it can neither be tainted nor replaced."),
        ));
    }
    let configuration = session.configuration()?;
    let stop = interrupt::listen(&session.shell)?;
    let purpose = if status == ObjectStatus::Tainted { LockedFor::Taint } else { LockedFor::Untaint };
    let (lock, out) = (&arguments.lock, &arguments.state_out);
    let request = ChangeRequest::new(session, &configuration, lock, out, DefaultBackup::Beside, purpose)?;
    let change = request.open(session, &stop).await?;
    let Some(instance) = change.state.instance(address) else {
        return missing(session, arguments);
    };
    let Some(object) = &instance.current else {
        return Err(Failure::error(
            "Resource instance is part-way through replacement",
            format!(
                "{address} has no object now: its replacement was not made yet, and old objects wait to be destroyed. \
                 The next `wardian apply` goes on with that."
            ),
        ));
    };
    if status == ObjectStatus::Ready && !object.is_tainted() {
        return Err(Failure::error(
            "Resource instance is not tainted",
            format!("{address} is whole already, so there is no mark to take away."),
        ));
    }
    let object = Arc::new(Object { status, ..(**object).clone() });
    let mut state = (*change.state).clone();
    let provider = state.resource(&address.resource).map(|resource| resource.provider.clone());
    if let Some(provider) = provider {
        state.set_current(address, &provider, Some(object));
    }
    change.save(&state)?;
    session.shell.say(match status {
        ObjectStatus::Tainted => format!("{address} is tainted: the next apply replaces it."),
        ObjectStatus::Ready => format!("{address} is no longer tainted."),
    });
    Ok(Status::Success)
}

fn missing(session: &Session, arguments: &TaintArguments) -> Outcome {
    const SUMMARY: &str = "No such resource instance";
    let address = &arguments.address;
    if arguments.allow_missing {
        let detail = format!("The state has no {address}; with -allow-missing that is no error.");
        session.shell.diagnostics(&Diagnostic::warning(SUMMARY, detail).into());
        return Ok(Status::Success);
    }
    Err(Failure::error(
        SUMMARY,
        format!(
            "The state has no {address}. `wardian state list` lists what there is; instances of count and for_each are \
             named with their key, and what is new in the configuration is there after the next `wardian apply`."
        ),
    ))
}
