//! Copies states when the backend changes. The old states remain.
//!
//! | old backend | new backend | copied |
//! |---|---|---|
//! | with workspaces | with workspaces | every workspace |
//! | with workspaces | one state | the selected workspace |
//! | one state | with workspaces | the state, to the selected workspace |
//! | one state | one state | the state |

use std::fs;
use std::sync::Arc;

use wardian_backend::DEFAULT_WORKSPACE;
use wardian_diagnostic::system_reason;
use wardian_engine::StopSignal;
use wardian_state::{BackupRule, State};

use crate::backend::{BackendOptions, ConfiguredBackend};
use crate::cancellation::unless_stopped;
use crate::context::AppContext;
use crate::error::AppError;
use crate::frontend::{AppEvent, Confirmation};
use crate::state_access::{self, LockPurpose, StateLocation};
use crate::workspaces;

/// A state to be copied to another location.
#[derive(Clone, Debug)]
pub struct StateCopy {
    pub workspace: String,
    pub from: StateLocation,
    pub to: StateLocation,
    /// The state that the copy would overwrite.
    pub replaces: Option<Arc<State>>,
}

/// Copies the states of all workspaces after the user has confirmed.
///
/// # Errors
/// Returns an error if the user cannot be asked, or a state cannot be read or written.
pub(crate) async fn migrate(
    context: &AppContext,
    old: &ConfiguredBackend,
    new: &ConfiguredBackend,
    options: &BackendOptions,
    stop: &StopSignal,
) -> Result<(), AppError> {
    let copies = copies(context, old, new).await?;
    if copies.is_empty() || !is_wanted(context, &copies, options, stop).await? {
        return Ok(());
    }
    for copy in &copies {
        let mut from = copy.from.open(context, BackupRule::Off, None)?;
        let mut to = copy.to.open(context, BackupRule::DefaultPath, None)?;
        copy.to.create_directories()?;
        if options.lock {
            for manager in [&mut from, &mut to] {
                state_access::acquire(context, manager, options.lock_timeout, LockPurpose::Migration, stop)
                    .await?;
            }
        }
        let state = from.read().await?;
        to.write_verbatim(&state).await?;
        for manager in [&mut from, &mut to] {
            manager.unlock().await.map_err(AppError::for_unlock)?;
        }
        context.frontend.report(AppEvent::StateCopied { from: &copy.from, to: &copy.to });
        // As in Terraform, a state at the default path is kept only as a backup. Otherwise, it
        // could be mistaken for the current state.
        if *old == ConfiguredBackend::local()
            && copy.workspace == DEFAULT_WORKSPACE
            && let StateLocation::File(path) = &copy.from
        {
            let backup = path.with_file_name("terraform.tfstate.backup");
            fs::rename(path, &backup).map_err(|error| {
                AppError::new(
                    "Old state cannot be renamed",
                    format!("{} cannot be renamed: {}.", path.display(), system_reason(&error)),
                )
            })?;
        }
    }
    Ok(())
}

async fn copies(
    context: &AppContext,
    old: &ConfiguredBackend,
    new: &ConfiguredBackend,
) -> Result<Vec<StateCopy>, AppError> {
    let selected = context.workspace.name.clone();
    let only =
        |backend: &ConfiguredBackend| backend.default_workspace().unwrap_or(DEFAULT_WORKSPACE).to_owned();
    let pairs: Vec<(String, String)> = match (old.has_workspaces(), new.has_workspaces()) {
        (true, true) => {
            let names = old.workspaces().await?.into_iter().filter(|name| workspaces::is_name(name));
            names.map(|name| (name.clone(), name)).collect()
        }
        (true, false) => vec![(selected, only(new))],
        (false, true) => vec![(only(old), selected)],
        (false, false) => vec![(only(old), only(new))],
    };
    let mut copies = Vec::new();
    for (from_workspace, to_workspace) in pairs {
        let from = state_access::workspace_location(context, old, &from_workspace)?;
        let Some(state) = nonempty_state(context, &from).await? else { continue };
        let to = state_access::workspace_location(context, new, &to_workspace)?;
        if is_same_place(&from, &to) {
            continue;
        }
        let replaces = nonempty_state(context, &to).await?;
        let is_there = replaces
            .as_ref()
            .is_some_and(|other| other.lineage == state.lineage && other.same_content(&state));
        if !is_there {
            copies.push(StateCopy { workspace: from_workspace, from, to, replaces });
        }
    }
    Ok(copies)
}

fn is_same_place(one: &StateLocation, other: &StateLocation) -> bool {
    match (one, other) {
        (StateLocation::File(one), StateLocation::File(other)) => {
            one == other
                || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
        }
        // The journal's name is derived from the location.
        (StateLocation::Remote { journal: one, .. }, StateLocation::Remote { journal: other, .. }) => {
            one == other
        }
        _ => false,
    }
}

/// Returns a state; `None` if it is empty or does not exist.
async fn nonempty_state(
    context: &AppContext,
    location: &StateLocation,
) -> Result<Option<Arc<State>>, AppError> {
    let state = location.open(context, BackupRule::Off, None)?.read().await?;
    Ok((!state.is_empty()).then_some(state))
}

async fn is_wanted(
    context: &AppContext,
    copies: &[StateCopy],
    options: &BackendOptions,
    stop: &StopSignal,
) -> Result<bool, AppError> {
    if options.force_copy {
        return Ok(true);
    }
    let unanswered = |why: &str| {
        AppError::new(
            "State migration needs confirmation",
            format!(
                "There are states in the old location, and {why}. Run `wardian init -force-copy` to copy \
                 them without confirmation. Nothing was changed."
            ),
        )
    };
    if !options.input || !context.environment.may_ask() {
        return Err(unanswered("questions are disabled"));
    }
    let question = Confirmation::CopyStates(copies);
    let answer = unless_stopped(stop, context.frontend.confirm(question)).await;
    match answer.ok_or_else(AppError::interrupted)? {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(unanswered("the input ended without an answer")),
        Err(error) => Err(unanswered(&format!("the answer cannot be read ({error})"))),
    }
}
