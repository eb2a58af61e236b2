//! States that are brought along when the backend changes: copied, with the old ones
//! kept.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_engine::StopSignal;
use wardian_state::{BackupRule, State, StateFile};

use super::LocalBackend;
use crate::arguments::BackendArguments;
use crate::compatibility::DEFAULT_WORKSPACE;
use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::session::Session;
use crate::shell::Paint;
use crate::state_access::{self, LockedFor};
use crate::workspaces;

/// A state that belongs in another place.
struct Copy {
    workspace: String,
    from: PathBuf,
    to: PathBuf,
    /// What would be lost there.
    replaces: Option<Arc<State>>,
}

/// Copies the states of all workspaces, if a person agrees.
///
/// # Errors
/// Where nobody can be asked, or a state cannot be read or written.
pub(super) async fn migrate(
    session: &Session,
    old: &LocalBackend,
    new: &LocalBackend,
    arguments: &BackendArguments,
    stop: &StopSignal,
) -> Outcome<()> {
    let copies = copies(old, new)?;
    if copies.is_empty() || !is_wanted(session, &copies, arguments, stop).await? {
        return Ok(());
    }
    for copy in &copies {
        let mut from = StateFile::open(&copy.from, state_access::options(BackupRule::Off, None));
        let mut to = StateFile::open(&copy.to, state_access::options(BackupRule::DefaultPath, None));
        state_access::make_directory_of(&copy.to)?;
        if arguments.lock {
            for file in [&mut from, &mut to] {
                state_access::acquire(session, file, arguments.lock_timeout, LockedFor::Migration, stop)
                    .await?;
            }
        }
        let state = from.read()?;
        to.write_verbatim(&state)?;
        session.shell.say(format_args!("Copied {} to {}.", copy.from.display(), copy.to.display()));
        // As Terraform does: what was in the place that is meant where no backend is
        // stays as a backup only, so that nobody takes it for the state.
        if *old == LocalBackend::default() && copy.workspace == DEFAULT_WORKSPACE {
            let backup = copy.from.with_file_name("terraform.tfstate.backup");
            fs::rename(&copy.from, &backup).map_err(|error| {
                Failure::error(
                    "Old state cannot be put aside",
                    format!("{} cannot be renamed: {error}.", copy.from.display()),
                )
            })?;
        }
    }
    Ok(())
}

fn copies(old: &LocalBackend, new: &LocalBackend) -> Outcome<Vec<Copy>> {
    let mut copies = Vec::new();
    for workspace in workspaces::all(old)?.into_iter().filter(|name| workspaces::is_name(name)) {
        let (from, to) = (old.state_path(&workspace), new.state_path(&workspace));
        if is_same_place(&from, &to) {
            continue;
        }
        let Some(state) = there(&from)? else { continue };
        let replaces = there(&to)?;
        let is_there = replaces
            .as_ref()
            .is_some_and(|other| other.lineage == state.lineage && other.same_content(&state));
        if !is_there {
            copies.push(Copy { workspace, from, to, replaces });
        }
    }
    Ok(copies)
}

fn is_same_place(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// A state that has anything in it.
fn there(path: &Path) -> Outcome<Option<Arc<State>>> {
    let mut file = StateFile::open(path, state_access::options(BackupRule::Off, None));
    let state = file.read()?;
    Ok((!state.is_empty()).then_some(state))
}

async fn is_wanted(
    session: &Session,
    copies: &[Copy],
    arguments: &BackendArguments,
    stop: &StopSignal,
) -> Outcome<bool> {
    if arguments.force_copy {
        return Ok(true);
    }
    let unanswered = |why: &str| {
        Failure::error(
            "State migration needs an answer",
            format!(
                "There are states in the old place, and {why}. Run `wardian init -force-copy` to copy them without \
                 being asked. Nothing was changed."
            ),
        )
    };
    if !arguments.input || !session.environment.may_ask() {
        return Err(unanswered("asking whether to copy them is switched off"));
    }
    let shell = &session.shell;
    let mut question =
        format!("\n{}\n", shell.paint(Paint::Bold, "Do you want to copy the states to their new place?"));
    for Copy { workspace, from, to, replaces } in copies {
        let over = match replaces {
            Some(state) => format!(
                ", over a state at serial {} with {} resources",
                state.serial,
                state.resources().len()
            ),
            None => String::new(),
        };
        let _ =
            writeln!(question, "  {} to {}{over} (workspace \"{workspace}\")", from.display(), to.display());
    }
    let _ = write!(
        question,
        "  Only 'yes' copies them. After any other answer they stay where they are, and the new place is used as it \
         is.\n\n  {} ",
        shell.paint(Paint::Bold, "Enter a value:")
    );
    let answer =
        interrupt::unless_stopped(stop, shell.ask(&question)).await.ok_or_else(Failure::interrupted)?;
    match answer {
        Ok(Some(answer)) => Ok(answer.trim() == "yes"),
        Ok(None) => Err(unanswered("the input ended without an answer")),
        Err(error) => Err(unanswered(&format!("the answer cannot be read ({error})"))),
    }
}
