//! Copies states when the backend changes. The old files remain.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_diagnostic::system_reason;
use wardian_engine::StopSignal;
use wardian_state::{BackupRule, State, StateFile};

use crate::backend::{BackendOptions, LocalBackend};
use crate::cancellation::unless_stopped;
use crate::compatibility::DEFAULT_WORKSPACE;
use crate::context::AppContext;
use crate::error::AppError;
use crate::frontend::{AppEvent, Confirmation};
use crate::state_access::{self, LockPurpose};
use crate::workspaces;

/// A state to be copied to another file.
#[derive(Clone, Debug)]
pub struct StateCopy {
    pub workspace: String,
    /// The path of the old file.
    pub from: PathBuf,
    /// The path of the new file.
    pub to: PathBuf,
    /// The state that the copy would overwrite.
    pub replaces: Option<Arc<State>>,
}

/// Copies the states of all workspaces after the user has confirmed.
///
/// # Errors
/// Returns an error if the user cannot be asked, or a state cannot be read or written.
pub(crate) async fn migrate(
    context: &AppContext,
    old: &LocalBackend,
    new: &LocalBackend,
    options: &BackendOptions,
    stop: &StopSignal,
) -> Result<(), AppError> {
    let copies = copies(old, new)?;
    if copies.is_empty() || !is_wanted(context, &copies, options, stop).await? {
        return Ok(());
    }
    for copy in &copies {
        let mut from = StateFile::open(&copy.from, state_access::options(BackupRule::Off, None));
        let mut to = StateFile::open(&copy.to, state_access::options(BackupRule::DefaultPath, None));
        state_access::create_state_directory(&copy.to)?;
        if options.lock {
            for file in [&mut from, &mut to] {
                state_access::acquire(context, file, options.lock_timeout, LockPurpose::Migration, stop)
                    .await?;
            }
        }
        let state = from.read()?;
        to.write_verbatim(&state)?;
        context.frontend.report(AppEvent::StateCopied { from: &copy.from, to: &copy.to });
        // As in Terraform, a state at the default path is kept only as a backup. Otherwise, it
        // could be mistaken for the current state.
        if *old == LocalBackend::default() && copy.workspace == DEFAULT_WORKSPACE {
            let backup = copy.from.with_file_name("terraform.tfstate.backup");
            fs::rename(&copy.from, &backup).map_err(|error| {
                AppError::new(
                    "Old state cannot be renamed",
                    format!("{} cannot be renamed: {}.", copy.from.display(), system_reason(&error)),
                )
            })?;
        }
    }
    Ok(())
}

fn copies(old: &LocalBackend, new: &LocalBackend) -> Result<Vec<StateCopy>, AppError> {
    let mut copies = Vec::new();
    for workspace in workspaces::all(old)?.into_iter().filter(|name| workspaces::is_name(name)) {
        let (from, to) = (old.state_path(&workspace), new.state_path(&workspace));
        if is_same_place(&from, &to) {
            continue;
        }
        let Some(state) = nonempty_state(&from)? else { continue };
        let replaces = nonempty_state(&to)?;
        let is_there = replaces
            .as_ref()
            .is_some_and(|other| other.lineage == state.lineage && other.same_content(&state));
        if !is_there {
            copies.push(StateCopy { workspace, from, to, replaces });
        }
    }
    Ok(copies)
}

fn is_same_place(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns a state; `None` if it is empty or does not exist.
fn nonempty_state(path: &Path) -> Result<Option<Arc<State>>, AppError> {
    let mut file = StateFile::open(path, state_access::options(BackupRule::Off, None));
    let state = file.read()?;
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
