//! The state that a command uses: its file, its lock, and recovery after an interrupted run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::{Configuration, lexically_normalize};
use wardian_diagnostic::{Diagnostic, system_reason};
use wardian_engine::{StateSink, StopSignal};
use wardian_state::{
    BackupRule, Instance, Journal, LockError, LockRequest, State, StateError, StateFile, StateFileOptions,
};

use crate::backend::{self, LocalBackend};
use crate::cancellation::unless_stopped;
use crate::compatibility::TERRAFORM_VERSION;
use crate::context::AppContext;
use crate::error::{AppError, state_reason};
use crate::frontend::AppEvent;
use crate::paths::resolve_symlinks;

/// The operation for which a state is locked, as shown in the lock information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPurpose {
    /// Making a plan.
    Plan,
    /// Making and applying a plan.
    Apply,
    /// Applying a saved plan.
    SavedPlan,
    /// Updating the state from the real objects.
    Refresh,
    /// Copying the state to another backend.
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
    /// Importing an existing object.
    Import,
}

impl LockPurpose {
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

/// Options that select and lock a state.
#[derive(Clone, Debug)]
pub struct LockOptions {
    /// Whether to lock the state.
    pub lock: bool,
    /// The maximum time to wait for a lock that another process holds.
    pub lock_timeout: Duration,
    /// The state file, if it is not the workspace's state file.
    pub state: Option<PathBuf>,
}

/// The files to which a changed state is written.
#[derive(Clone, Debug, Default)]
pub struct StateOutOptions {
    /// The file to which the state is written, if it differs from the file that is read.
    pub state_out: Option<PathBuf>,
    /// The file for the backup; `-` for no backup.
    pub backup: Option<PathBuf>,
}

/// Reads a state without locking it, for commands that do not write it.
///
/// # Errors
/// Returns an error if the file exists but cannot be read.
pub fn read_unlocked(
    context: &AppContext,
    configuration: Option<&Configuration>,
    named: Option<&Path>,
) -> Result<UnlockedState, AppError> {
    let path = state_path(context, configuration, named)?;
    read_file_unlocked(context, path)
}

/// Returns the state file that a command uses: the file in an option, or the workspace's state
/// file.
///
/// # Errors
/// Returns an error if the backend differs from the initialized backend.
pub fn state_path(
    context: &AppContext,
    configuration: Option<&Configuration>,
    named: Option<&Path>,
) -> Result<PathBuf, AppError> {
    let backend = backend::in_effect(&context.data_directory(), configuration)?;
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    path_of_workspace(context, &backend)
}

/// Returns the state file of the workspace in a backend.
///
/// # Errors
/// Returns an error if the file is a link out of its directory, or if the configuration is
/// untrusted and the file is not in the configuration's directory.
fn path_of_workspace(context: &AppContext, backend: &LocalBackend) -> Result<PathBuf, AppError> {
    let path = backend.state_path(&context.workspace.name);
    if let Some(confinement) = &context.confinement {
        confinement.check_state_path(&path)?;
    }
    check_links(&context.directory, &path)?;
    Ok(path)
}

/// Checks that no link leads from a state to another directory, since it could be the state of
/// another project that the user has not named. A relative path must not leave the project; for an
/// absolute path, the user has chosen the directory.
fn check_links(project: &Path, path: &Path) -> Result<(), AppError> {
    let state = project.join(path);
    let base = if path.is_relative() && lexically_normalize(&state).starts_with(project) {
        project
    } else {
        state.parent().unwrap_or(project)
    };
    let led = resolve_symlinks(&state).and_then(|led| Ok((led, resolve_symlinks(base)?)));
    let problem = match led {
        Ok((led, base)) if led.starts_with(&base) => return Ok(()),
        Ok((led, base)) => format!("it points to {}, outside of {}", led.display(), base.display()),
        Err(error) => error.to_string(),
    };
    let detail = format!(
        "The state {} is not used, because it is a symbolic link or is in a linked directory: {problem}. If \
         that is the state of this configuration, name it with -state or in the backend's argument \"path\"; \
         otherwise remove the link.",
        path.display()
    );
    Err(AppError::new("State file is a link", detail))
}

/// Reads a state file without locking it.
///
/// # Errors
/// Returns an error if the file exists but cannot be read.
pub fn read_file_unlocked(context: &AppContext, path: PathBuf) -> Result<UnlockedState, AppError> {
    let mut file = StateFile::open(&path, options(BackupRule::Off, None));
    let state = file.read()?;
    let exists = file.exists()?;
    warn_of_recovery(context, &file);
    Ok(UnlockedState { path, exists, state })
}

/// A state that was read without a lock.
pub struct UnlockedState {
    pub path: PathBuf,
    pub exists: bool,
    /// The content; empty if the file does not exist.
    pub state: Arc<State>,
}

/// Opens and locks the state of an operation.
///
/// # Errors
/// Returns an error if another process holds the lock, or the state cannot be read.
pub async fn open(
    context: &AppContext,
    configuration: &Configuration,
    lock: &LockOptions,
    out: &StateOutOptions,
    purpose: LockPurpose,
    stop: &StopSignal,
) -> Result<StateFile, AppError> {
    let backend = match purpose {
        LockPurpose::SavedPlan => backend::for_plan(&context.data_directory(), configuration)?,
        _ => backend::in_effect(&context.data_directory(), Some(configuration))?,
    };
    if lock.state.is_some() {
        warn_of_state_option(context);
    }
    let read = match &lock.state {
        Some(named) => named.clone(),
        None => path_of_workspace(context, &backend)?,
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
    if lock.lock || purpose != LockPurpose::Plan {
        create_state_directory(&path)?;
    }
    let mut file = StateFile::open(path, options(backup, read_from));
    if lock.lock {
        acquire(context, &mut file, lock.lock_timeout, purpose, stop).await?;
    }
    file.read()?;
    warn_of_recovery(context, &file);
    Ok(file)
}

/// Creates the directory of a state before the state is locked or written.
///
/// # Errors
/// Returns an error if the directory cannot be created.
pub fn create_state_directory(path: &Path) -> Result<(), AppError> {
    let Some(directory) = path.parent() else { return Ok(()) };
    fs::create_dir_all(directory).map_err(|error| {
        AppError::new(
            "Directory of the state cannot be created",
            format!("The directory {} cannot be created: {}.", directory.display(), system_reason(&error)),
        )
    })
}

/// Locks a state. The first attempt is made immediately, and further attempts with increasing
/// pauses until the timeout. An interrupt ends the wait.
///
/// # Errors
/// Returns an error if another process holds the lock, or the system rejects the lock.
pub async fn acquire(
    context: &AppContext,
    file: &mut StateFile,
    timeout: Duration,
    purpose: LockPurpose,
    stop: &StopSignal,
) -> Result<(), AppError> {
    let request = LockRequest {
        operation: purpose.operation().to_owned(),
        info: String::new(),
        who: format!("{}@{}", context.environment.user(), host_name()),
        version: TERRAFORM_VERSION.to_owned(),
        timeout: Duration::ZERO,
    };
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_secs(1);
    let mut has_reported = false;
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
        if !has_reported {
            context.frontend.report(AppEvent::WaitingForStateLock(&refused));
            has_reported = true;
        }
        let paused = unless_stopped(stop, sleep(pause.min(left))).await;
        paused.ok_or_else(AppError::interrupted)?;
        pause = (pause * 2).min(Duration::from_secs(16));
    }
}

/// Returns the options with which Wardian opens state files.
pub fn options(backup: BackupRule, read_from: Option<PathBuf>) -> StateFileOptions {
    StateFileOptions { terraform_version: TERRAFORM_VERSION.to_owned(), backup, read_from }
}

fn warn_of_state_option(context: &AppContext) {
    let detail = "Instead of giving -state to every command, set the argument \"path\" of a \"local\" \
        backend once.";
    context.frontend.warn(&Diagnostic::warning("Deprecated flag: -state", detail).into());
}

/// Reports that the changes of an interrupted run were recovered.
pub fn warn_of_recovery(context: &AppContext, file: &StateFile) {
    let Some(recovery) = file.recovery() else { return };
    let whole =
        if recovery.ignored_bytes > 0 { " Its last record is incomplete and was ignored." } else { "" };
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
            "\n\nThe following operations were in progress. Their objects may differ from the state. An \
             object that was being created may exist although it is not in the state: import or remove it \
             before it is created a second time.{}",
            begun.concat()
        )
    };
    let (summary, detail) = if recovery.folded {
        (
            "Interrupted run recovered",
            format!(
                "An earlier run ended before it could save the state. The {changes} changes in its journal \
                 {journal} are now in the state."
            ),
        )
    } else {
        // Without the lock, an active run cannot be distinguished from an interrupted one.
        (
            "State not saved yet",
            format!(
                "The journal {journal} contains {changes} changes that are not in the state file: a run is \
                 in progress, or a run ended before it could save the state. The changes are shown as part \
                 of the state."
            ),
        )
    };
    context.frontend.warn(&Diagnostic::warning(summary, detail + whole + &begun).into());
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    "localhost".to_owned()
}

/// Writes the journal of an engine run.
pub struct Recorder {
    journal: Journal,
    /// The reason why a change could not be recorded.
    problem: Option<StateError>,
}

impl Recorder {
    /// Starts to record changes to a state.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    pub fn begin(file: &mut StateFile) -> Result<Self, AppError> {
        Ok(Self { journal: file.begin()?, problem: None })
    }

    /// Returns the journal, whose changes are then merged into the state.
    pub fn into_journal(self) -> Journal {
        self.journal
    }
}

impl StateSink for Recorder {
    fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str) {
        self.journal.record_intent(address, action);
    }

    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) {
        self.journal.record(address, provider, instance);
    }

    fn commit(&mut self) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(state_reason(problem));
        }
        self.journal.commit().map_err(|error| state_reason(self.problem.insert(error)))
    }
}
