//! `wardian state push`: replaces the stored state.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use async_trait::async_trait;
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_app::encryption::NamedStateError;
use wardian_app::sentence;
use wardian_app::state_access::{self, LockPurpose};
use wardian_app::state_change::ChangeRequest;
use wardian_diagnostic::system_reason;
use wardian_state::{BackupRule, State};

use crate::arguments::StatePushArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for StatePushArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &StatePushArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let location = state_access::state_location(&context.app, Some(&configuration), None).await?;
    let mut pushed = read(&arguments.path, context).await?;
    let stop = interrupt::listen(&context.shell)?;
    let open = |backup| {
        let request = ChangeRequest {
            lock: arguments.lock,
            lock_timeout: arguments.lock_timeout,
            location: location.clone(),
            written: None,
            backup,
            purpose: LockPurpose::Push,
        };
        request.open(&context.app, &stop)
    };
    let mut change = open(BackupRule::DefaultPath).await?;
    let exists = change.exists().await?;
    let there = change.state.clone();
    // As in Terraform, a state without objects and outputs can be replaced by any state.
    let is_empty = there.resources().len() == 0 && there.outputs.is_empty();
    if exists && !is_empty && !arguments.force {
        check(&pushed, &there)?;
    }
    let is_same = exists && there.same_content(&pushed);
    if is_same && there.lineage == pushed.lineage && there.serial == pushed.serial {
        change.close().await?;
        return Ok(Status::Success);
    }
    if is_same {
        // Only the lineage and the serial change, so no backup is needed.
        change.close().await?;
        change = open(BackupRule::Off).await?;
    }
    // As in Terraform, replacing the state is a change, so the serial is incremented.
    if exists && !is_same {
        pushed.serial = pushed.serial.saturating_add(1);
    }
    TERRAFORM_VERSION.clone_into(&mut pushed.terraform_version);
    change.save_verbatim(&pushed).await?;
    Ok(Status::Success)
}

async fn read(path: &Path, context: &CommandContext) -> Outcome<State> {
    let unusable = |problem: &str| {
        let name =
            if path.as_os_str() == "-" { "Standard input".to_owned() } else { path.display().to_string() };
        Failure::error("State cannot be pushed", format!("{name}: {}", sentence(problem)))
    };
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        fs::read(path).map(|read| bytes = read)
    };
    read.map_err(|error| unusable(&system_reason(&error)))?;
    let state = context.app.decode_named_state(&bytes).await.map_err(|error| match error {
        NamedStateError::Content(problem) => unusable(&problem.to_string()),
        NamedStateError::Configuration(error) => error.into(),
    })?;
    state.ok_or_else(|| unusable("it is empty"))
}

/// Checks that the stored state is not newer than the pushed state and has the same lineage.
fn check(pushed: &State, there: &State) -> Outcome<()> {
    let refused = |why: String| {
        Err(Failure::error(
            "Failed to write state",
            format!("{why} Nothing was changed. Use -force to store it anyway."),
        ))
    };
    if !pushed.lineage.is_empty() && !there.lineage.is_empty() && pushed.lineage != there.lineage {
        return refused(format!(
            "The pushed state is not a version of the existing state: its lineage is \"{}\", but the \
             existing lineage is \"{}\".",
            pushed.lineage, there.lineage
        ));
    }
    if pushed.serial < there.serial {
        return refused(format!(
            "The pushed state is older than the existing state: its serial is {}, but the existing serial \
             is {}.",
            pushed.serial, there.serial
        ));
    }
    if pushed.serial == there.serial && !pushed.same_content(there) {
        return refused(format!(
            "The existing state has the same serial, {}, but different content.",
            there.serial
        ));
    }
    Ok(())
}
