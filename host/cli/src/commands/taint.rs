//! `wardian taint` and `wardian untaint`: set or remove the tainted mark of an object.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::ResourceMode;
use wardian_app::state_access::LockPurpose;
use wardian_app::state_change::{ChangeRequest, DefaultBackup};
use wardian_diagnostic::Diagnostic;
use wardian_printable::printable;
use wardian_state::{Object, ObjectStatus};

use crate::arguments::{TaintArguments, UntaintArguments};
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for TaintArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        set(context, self, ObjectStatus::Tainted).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for UntaintArguments {
    fn view(&self) -> ViewOptions {
        self.object.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        set(context, &self.object, ObjectStatus::Ready).await
    }
}

async fn set(context: &CommandContext, arguments: &TaintArguments, status: ObjectStatus) -> Outcome {
    let address = &arguments.address;
    if address.mode() != ResourceMode::Managed {
        return Err(Failure::error(
            "Invalid address",
            format!("{address} is a data source, so it can be neither tainted nor replaced."),
        ));
    }
    let configuration = context.app.configuration()?;
    let stop = interrupt::listen(&context.shell)?;
    let purpose = if status == ObjectStatus::Tainted { LockPurpose::Taint } else { LockPurpose::Untaint };
    let (lock, out) = (&arguments.lock.options(), &arguments.state_out.options());
    let request =
        ChangeRequest::new(&context.app, &configuration, lock, out, DefaultBackup::Beside, purpose).await?;
    let change = request.open(&context.app, &stop).await?;
    let Some(instance) = change.state.instance(address) else {
        return missing(context, arguments);
    };
    let Some(object) = &instance.current else {
        return Err(Failure::error(
            "Resource instance is part-way through replacement",
            format!(
                "{address} has no current object: its replacement has not been created yet, and old objects \
                 are waiting to be destroyed. The next `wardian apply` completes the replacement."
            ),
        ));
    };
    if status == ObjectStatus::Ready && !object.is_tainted() {
        return Err(Failure::error(
            "Resource instance is not tainted",
            format!("{address} is not tainted, so there is no mark to remove."),
        ));
    }
    let object = Arc::new(Object { status, ..(**object).clone() });
    let mut state = (*change.state).clone();
    let provider = state.resource(&address.resource).map(|resource| resource.provider.clone());
    if let Some(provider) = provider {
        state.set_current(address, &provider, Some(object));
    }
    change.save(&state).await?;
    let is_own = context.shell.product().is_own();
    context.shell.say(match status {
        ObjectStatus::Tainted if is_own => printable!("{address} is tainted: the next apply replaces it."),
        ObjectStatus::Tainted => printable!("Resource instance {address} has been marked as tainted."),
        ObjectStatus::Ready if is_own => printable!("{address} is no longer tainted."),
        ObjectStatus::Ready => printable!("Resource instance {address} has been successfully untainted."),
    });
    Ok(Status::Success)
}

fn missing(context: &CommandContext, arguments: &TaintArguments) -> Outcome {
    const SUMMARY: &str = "No such resource instance";
    let address = &arguments.address;
    if arguments.allow_missing {
        let detail = format!("The state has no {address}; with -allow-missing this is not an error.");
        context.shell.diagnostics(&Diagnostic::warning(SUMMARY, detail).into());
        return Ok(Status::Success);
    }
    Err(Failure::error(
        SUMMARY,
        format!(
            "The state has no {address}. `wardian state list` lists the instances; with count or for_each, \
             an instance's address includes its key, and a resource that is new in the configuration is \
             stored by the next `wardian apply`."
        ),
    ))
}
