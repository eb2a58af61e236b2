//! The state of a session: which file it is, its lock, and what an interrupted
//! run left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::Configuration;
use wardian_diagnostic::Diagnostic;
use wardian_engine::{StateSink, StopSignal};
use wardian_state::{
    BackupRule, Instance, Journal, LockError, LockRequest, State, StateError, StateFile, StateFileOptions,
};

use crate::arguments::{LockArguments, StateOutArguments};
use crate::backend::{self, LocalBackend};
use crate::compatibility::TERRAFORM_VERSION;
use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::session::Session;

/// What a lock is held for, as its note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockedFor {
    /// To make a plan.
    Plan,
    /// To make one and carry it out.
    Apply,
    /// To carry out one that was saved.
    SavedPlan,
    /// To bring the state to what the objects are.
    Refresh,
    /// To copy it to another backend.
    Migration,
    /// `state mv`
    Move,
    /// `state rm`
    Removal,
    /// `state push`
    Push,
    /// `state replace-provider`
    ProviderReplacement,
    /// `taint`
    Taint,
    /// `untaint`
    Untaint,
    /// `workspace new`
    NewWorkspace,
    /// `workspace delete`
    WorkspaceDeletion,
    /// To put an object into it.
    Import,
}

impl LockedFor {
    fn operation(self) -> &'static str {
        match self {
            Self::Plan => "OperationTypePlan",
            Self::Apply | Self::SavedPlan => "OperationTypeApply",
            Self::Refresh => "OperationTypeRefresh",
            Self::Migration => "migrate",
            Self::Move => "state-mv",
            Self::Removal => "state-rm",
            Self::Push => "state-push",
            Self::ProviderReplacement => "state-replace-provider",
            Self::Taint => "taint",
            Self::Untaint => "untaint",
            Self::NewWorkspace => "workspace-new",
            Self::WorkspaceDeletion => "workspace-delete",
            Self::Import => "import",
        }
    }
}

/// A state that is only looked at: never locked, never written.
///
/// # Errors
/// Where it is there and cannot be read.
pub(crate) fn look(
    session: &Session,
    configuration: Option<&Configuration>,
    named: Option<&Path>,
) -> Outcome<Look> {
    let path = state_path(session, configuration, named)?;
    look_at(session, path)
}

/// The file that a command means: the one it names, or that of the workspace.
///
/// # Errors
/// Where the backend is not the one that was initialised.
pub(crate) fn state_path(
    session: &Session,
    configuration: Option<&Configuration>,
    named: Option<&Path>,
) -> Outcome<PathBuf> {
    let backend = backend::in_effect(session, configuration)?;
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    path_of_workspace(session, &backend)
}

/// Where a backend keeps the state of the workspace.
///
/// # Errors
/// Where that is no place for a stranger's configuration to name.
fn path_of_workspace(session: &Session, backend: &LocalBackend) -> Outcome<PathBuf> {
    let path = backend.state_path(&session.workspace.name);
    if let Some(confinement) = &session.confinement {
        confinement.check_state_path(&path)?;
    }
    Ok(path)
}

/// As [`look`], in a file.
///
/// # Errors
/// Where it is there and cannot be read.
pub(crate) fn look_at(session: &Session, path: PathBuf) -> Outcome<Look> {
    let mut file = StateFile::open(&path, options(BackupRule::Off, None));
    let state = file.read()?;
    let exists = file.exists()?;
    warn_of_recovery(session, &file);
    Ok(Look { path, exists, state })
}

/// A state that was looked at.
pub(crate) struct Look {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Whether there is one.
    pub(crate) exists: bool,
    /// What it holds.
    pub(crate) state: Arc<State>,
}

/// Opens and locks the state of an operation.
///
/// # Errors
/// Where somebody else holds the lock, or the state cannot be read.
pub(crate) async fn open(
    session: &Session,
    configuration: &Configuration,
    lock: &LockArguments,
    out: &StateOutArguments,
    purpose: LockedFor,
    stop: &StopSignal,
) -> Outcome<StateFile> {
    let backend = match purpose {
        LockedFor::SavedPlan => backend::of_plan(session, configuration)?,
        _ => backend::in_effect(session, Some(configuration))?,
    };
    if lock.state.is_some() {
        warn_of_state_option(session);
    }
    let read = match &lock.state {
        Some(named) => named.clone(),
        None => path_of_workspace(session, &backend)?,
    };
    let (path, read_from) = match &out.state_out {
        Some(written) if *written != read => (written.clone(), Some(read)),
        _ => (read, None),
    };
    let backup = match &out.backup {
        None => BackupRule::DefaultPath,
        Some(path) if path.as_os_str() == "-" => BackupRule::Off,
        Some(path) => BackupRule::At(path.clone()),
    };
    if lock.lock || purpose != LockedFor::Plan {
        make_directory_of(&path)?;
    }
    let mut file = StateFile::open(path, options(backup, read_from));
    if lock.lock {
        acquire(session, &mut file, lock.lock_timeout, purpose, stop).await?;
    }
    file.read()?;
    warn_of_recovery(session, &file);
    Ok(file)
}

/// The directory of a state that is about to be locked or written.
///
/// # Errors
/// Where it cannot be made.
pub(crate) fn make_directory_of(path: &Path) -> Outcome<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    fs::create_dir_all(directory).map_err(|error| {
        Failure::error(
            "Directory of the state cannot be made",
            format!("The state belongs in {}, which cannot be made: {error}.", directory.display()),
        )
    })
}

/// Tries at once, and then with growing pauses until the time is up. Waiting can
/// be interrupted.
///
/// # Errors
/// Where somebody else holds the lock, or the system refuses.
pub(crate) async fn acquire(
    session: &Session,
    file: &mut StateFile,
    timeout: Duration,
    purpose: LockedFor,
    stop: &StopSignal,
) -> Outcome<()> {
    let request = LockRequest {
        operation: purpose.operation().to_owned(),
        info: String::new(),
        who: format!("{}@{}", session.environment.user(), host_name()),
        version: TERRAFORM_VERSION.to_owned(),
        timeout: Duration::ZERO,
    };
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_secs(1);
    let mut told = false;
    loop {
        let refused = match file.lock(&request) {
            Ok(_) => return Ok(()),
            Err(error @ LockError::Held { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(refused.into());
        }
        if !told {
            session.shell.say(format_args!("Waiting for the state lock: {refused}."));
            told = true;
        }
        let paused = interrupt::unless_stopped(stop, sleep(pause.min(left))).await;
        paused.ok_or_else(Failure::interrupted)?;
        pause = (pause * 2).min(Duration::from_secs(16));
    }
}

/// How this program uses state files.
pub(crate) fn options(backup: BackupRule, read_from: Option<PathBuf>) -> StateFileOptions {
    StateFileOptions { terraform_version: TERRAFORM_VERSION.to_owned(), backup, read_from }
}

fn warn_of_state_option(session: &Session) {
    let detail = "Where states are is better said once, by the argument \"path\" of a backend \"local\", than by the \
                  option -state of every command.";
    session.shell.diagnostics(&Diagnostic::warning("Deprecated flag: -state", detail).into());
}

/// Says what an interrupted run had left.
pub(crate) fn warn_of_recovery(session: &Session, file: &StateFile) {
    let Some(recovery) = file.recovery() else { return };
    let whole = if recovery.ignored_bytes > 0 {
        " Its last record was cut off; what that one said is not known."
    } else {
        ""
    };
    let (journal, changes) = (recovery.journal.display(), recovery.changes);
    let begun: Vec<String> = recovery
        .incomplete
        .iter()
        .map(|begun| format!("\n  - {} ({})", begun.address, begun.action))
        .collect();
    let begun = if begun.is_empty() || !recovery.folded {
        String::new()
    } else {
        format!(
            "\n\nIt was in the middle of the following. Such an object may be other than the state says, and one that \
             was being created may be there without being in the state: look, and import or remove it, before it is \
             created a second time.{}",
            begun.concat()
        )
    };
    let (summary, detail) = if recovery.folded {
        (
            "Interrupted run recovered",
            format!(
                "An earlier run ended before it could save the state. Its journal {journal} had {changes} changes. They \
                 are in the state now."
            ),
        )
    } else {
        // Without the lock nobody knows which of the two it is.
        (
            "State not saved yet",
            format!(
                "The journal {journal} has {changes} changes that are not in the state file: a run is in progress, or one \
                 ended before it could save the state. They are shown as part of the state."
            ),
        )
    };
    session.shell.diagnostics(&Diagnostic::warning(summary, detail + whole + &begun).into());
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    "localhost".to_owned()
}

/// The journal of a run, as the engine wants it.
pub(crate) struct Recorder {
    journal: Journal,
    /// Why a change could not be recorded.
    problem: Option<StateError>,
}

impl Recorder {
    /// Begins to record changes to a state.
    ///
    /// # Errors
    /// Where the state cannot be read.
    pub(crate) fn begin(file: &mut StateFile) -> Outcome<Self> {
        Ok(Self { journal: file.begin()?, problem: None })
    }

    /// The journal, to be folded into the state.
    pub(crate) fn into_journal(self) -> Journal {
        self.journal
    }
}

impl StateSink for Recorder {
    fn intend(&mut self, address: &ResourceInstanceAddress, action: &str) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.to_string());
        }
        self.journal.record_intent(address, action).map_err(|error| self.problem.insert(error).to_string())
    }

    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.to_string());
        }
        self.journal
            .record(address, provider, instance)
            .map_err(|error| self.problem.insert(error).to_string())
    }
}
