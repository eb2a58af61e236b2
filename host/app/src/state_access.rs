//! The state that a command uses: its location, its lock, and recovery after an interrupted run.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wardian_backend::DEFAULT_WORKSPACE;
use wardian_config::{Configuration, lexically_normalize};
use wardian_diagnostic::{Diagnostic, system_reason};
use wardian_digest::Sha256Digest;
use wardian_engine::StopSignal;
use wardian_state::{
    BackupRule, LocalStorage, LockError, LockRequest, State, StateFileOptions, StateManager,
    StateManagerOptions, StateStorage,
};

use crate::backend::{self, ConfiguredBackend};
use crate::cancellation::unless_stopped;
use crate::compatibility::TERRAFORM_VERSION;
use crate::context::AppContext;
use crate::error::AppError;
use crate::frontend::AppEvent;
use crate::paths::resolve_symlinks;
use crate::workspaces::Workspace;

/// The directory of the journals of remote states, in the data directory.
const JOURNALS: &str = "journals";

/// The operation for which a state is locked, as shown in the lock information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPurpose {
    /// Creating a plan.
    Plan,
    /// Creating and applying a plan.
    Apply,
    /// Applying a saved plan.
    SavedPlan,
    /// Updating the state from the remote objects.
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
    /// `state restore`
    Restoration,
    /// `test`
    Test,
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
            Self::Restoration => "state-restore",
            Self::Test => "test",
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

/// The state that a command uses.
#[derive(Clone, Debug)]
pub enum StateLocation {
    /// A local file.
    File(PathBuf),
    /// A storage of a backend that does not store states in local files.
    Remote {
        storage: Arc<dyn StateStorage>,
        /// The path of the journal on this machine.
        journal: PathBuf,
        /// Whether the storage is opened. An untrusted configuration opens only permitted storages.
        is_opened: bool,
    },
}

impl fmt::Display for StateLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Remote { storage, .. } => formatter.write_str(&storage.location()),
        }
    }
}

impl StateLocation {
    /// Opens the state. The backup applies only to local files: other storages keep versions
    /// themselves, if they are configured to do so.
    ///
    /// # Errors
    /// Returns an error if the configuration of the state's encryption is not valid.
    pub fn open(
        &self,
        context: &AppContext,
        backup: BackupRule,
        read_from: Option<PathBuf>,
    ) -> Result<StateManager, AppError> {
        let terraform_version = TERRAFORM_VERSION.to_owned();
        // With an untrusted configuration, an absent state is not created.
        let is_used = match self {
            _ if context.confinement.is_none() => true,
            Self::File(path) => path.exists(),
            Self::Remote { is_opened, .. } => *is_opened,
        };
        let encryption = if is_used { context.state_encryption()? } else { None };
        let manager = match self {
            Self::File(path) => {
                StateManager::open_file(path, StateFileOptions { terraform_version, backup, read_from })
            }
            Self::Remote { storage, journal, .. } => {
                let options = StateManagerOptions { terraform_version, journal: journal.clone(), read_from };
                StateManager::new(Arc::clone(storage), options)
            }
        };
        Ok(manager.with_encryption(encryption))
    }

    /// Returns the storage of the state, which is not opened.
    pub fn storage(&self) -> Arc<dyn StateStorage> {
        match self {
            Self::File(path) => Arc::new(LocalStorage::new(path, BackupRule::Off)),
            Self::Remote { storage, .. } => Arc::clone(storage),
        }
    }

    /// Returns the local file that contains the state.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Remote { .. } => None,
        }
    }

    /// Creates the directories that are required before the state is locked or written.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be created.
    pub fn create_directories(&self) -> Result<(), AppError> {
        let path = match self {
            Self::File(path) => path,
            Self::Remote { journal, .. } => journal,
        };
        let Some(directory) = path.parent() else { return Ok(()) };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        // Journals contain objects, and there may be no other copy of a remote state on this machine.
        #[cfg(unix)]
        if matches!(self, Self::Remote { .. }) {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        }
        builder.create(directory).map_err(|error| {
            AppError::new(
                "Directory of the state cannot be created",
                format!(
                    "The directory {} cannot be created: {}.",
                    directory.display(),
                    system_reason(&error)
                ),
            )
        })
    }
}

/// Reads a state without locking it, for commands that do not write it.
///
/// # Errors
/// Returns an error if the state exists but cannot be read.
pub async fn read_unlocked(
    context: &AppContext,
    configuration: Option<&Configuration>,
    named: Option<&Path>,
) -> Result<UnlockedState, AppError> {
    let location = state_location(context, configuration, named).await?;
    read_location_unlocked(context, location).await
}

/// Returns the state that a command uses: the file in an option, or the workspace's state.
///
/// # Errors
/// Returns an error if the backend differs from the initialized backend.
pub async fn state_location(
    context: &AppContext,
    configuration: Option<&Configuration>,
    named: Option<&Path>,
) -> Result<StateLocation, AppError> {
    let backend = backend::in_effect(context, configuration).await?;
    if let Some(named) = named {
        return Ok(StateLocation::File(named.to_owned()));
    }
    workspace_location(context, &backend, &context.workspace.name)
}

/// Returns the state of a workspace in a backend.
///
/// # Errors
/// Returns an error if the backend does not support the workspace. For a local file, returns an error
/// if the file is a link out of its directory, or if the configuration is untrusted and the file is
/// not in the configuration's directory.
pub fn workspace_location(
    context: &AppContext,
    backend: &ConfiguredBackend,
    workspace: &str,
) -> Result<StateLocation, AppError> {
    if let Some(local) = backend.as_local() {
        let path = local.state_path(workspace);
        if let Some(confinement) = &context.confinement {
            confinement.check_state_path(&path)?;
        }
        check_links(&context.directory, &path)?;
        return Ok(StateLocation::File(path));
    }
    if context.confinement.is_some() {
        let (storage, is_opened) = backend.untrusted_state(context, workspace)?;
        // A journal in an untrusted directory is not used.
        return Ok(StateLocation::Remote { storage, journal: PathBuf::new(), is_opened });
    }
    let storage = backend.state(workspace)?;
    let identity = Sha256Digest::hash(storage.location().as_bytes()).to_string();
    let name = format!("{}-{}.journal", backend.type_name(), identity.get(..16).unwrap_or(&identity));
    let journal = context.data_directory().join(JOURNALS).join(name);
    Ok(StateLocation::Remote { storage, journal, is_opened: true })
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
         that is the state of this configuration, specify it with -state or in the backend's argument \
         \"path\"; otherwise remove the link.",
        path.display()
    );
    Err(AppError::new("State file is a link", detail))
}

/// Reads the state of the selected workspace in a new backend without locking it. If no workspace of
/// the backend is selected yet, the state is empty.
///
/// # Errors
/// Returns an error if the state exists but cannot be read.
pub async fn read_workspace_unlocked(
    context: &AppContext,
    backend: &ConfiguredBackend,
) -> Result<Arc<State>, AppError> {
    // `init` may have just selected another workspace than the context's.
    let selected = Workspace::selected(&context.environment)?.name;
    let workspace = match backend.default_workspace() {
        Some(only) if !backend.has_workspaces() => only,
        None if selected == DEFAULT_WORKSPACE => return Ok(Arc::default()),
        _ => &selected,
    };
    let location = workspace_location(context, backend, workspace)?;
    Ok(read_location_unlocked(context, location).await?.state)
}

/// Reads a state without locking it.
///
/// # Errors
/// Returns an error if the state exists but cannot be read.
pub async fn read_location_unlocked(
    context: &AppContext,
    location: StateLocation,
) -> Result<UnlockedState, AppError> {
    let mut manager = location.open(context, BackupRule::Off, None)?;
    let state = manager.read().await?;
    let exists = manager.exists().await?;
    warn_of_recovery(context, &manager);
    Ok(UnlockedState { location, exists, state })
}

/// Opens the versions of the workspace's state.
///
/// # Errors
/// Returns an error if the backend does not keep versions.
pub async fn open_versions(
    context: &AppContext,
    configuration: Option<&Configuration>,
) -> Result<StateManager, AppError> {
    let backend = backend::in_effect(context, configuration).await?;
    let location = workspace_location(context, &backend, &context.workspace.name)?;
    let manager = location.open(context, BackupRule::Off, None)?;
    if manager.has_rows() {
        return Ok(manager);
    }
    let detail = format!(
        "The backend \"{}\" does not keep versions of the state. The backend \"postgres\" does; other services \
         may have their own versions, such as those of a bucket.",
        backend.type_name()
    );
    Err(AppError::new("No versions", detail))
}

/// Reads a version of the workspace's state.
///
/// # Errors
/// Returns an error if there is no version with the serial, or it cannot be read.
pub async fn read_version(
    context: &AppContext,
    configuration: Option<&Configuration>,
    serial: u64,
) -> Result<State, AppError> {
    let manager = open_versions(context, configuration).await?;
    manager.read_version(serial).await?.ok_or_else(|| {
        let detail = format!(
            "The state has no version with the serial {serial}. `wardian state history` lists the versions."
        );
        AppError::new("No such version", detail)
    })
}

/// A state that was read without a lock.
pub struct UnlockedState {
    pub location: StateLocation,
    pub exists: bool,
    /// The content; empty if the state does not exist.
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
) -> Result<StateManager, AppError> {
    let backend = match purpose {
        LockPurpose::SavedPlan => backend::for_plan(context, configuration).await?,
        _ => backend::in_effect(context, Some(configuration)).await?,
    };
    let is_local = backend.as_local().is_some();
    if is_local && lock.state.is_some() {
        warn_of_state_option(context);
    }
    if !is_local && (lock.state.is_some() || out.state_out.is_some() || out.backup.is_some()) {
        warn_of_ignored_options(context, &backend);
    }
    let location = match &lock.state {
        Some(named) if is_local => StateLocation::File(named.clone()),
        _ => workspace_location(context, &backend, &context.workspace.name)?,
    };
    let (location, read_from) = match (&out.state_out, location) {
        (Some(written), StateLocation::File(read)) if *written != read => {
            (StateLocation::File(written.clone()), Some(read))
        }
        (_, location) => (location, None),
    };
    let backup = match &out.backup {
        None => BackupRule::DefaultPath,
        Some(path) if path.as_os_str() == "-" => BackupRule::Off,
        Some(path) => BackupRule::At(path.clone()),
    };
    if lock.lock || purpose != LockPurpose::Plan {
        location.create_directories()?;
    }
    let mut manager = location.open(context, backup, read_from)?;
    if lock.lock {
        acquire(context, &mut manager, lock.lock_timeout, purpose, stop).await?;
    }
    manager.read().await?;
    warn_of_recovery(context, &manager);
    Ok(manager)
}

/// Locks a state. The first attempt is made immediately, and further attempts with increasing
/// pauses until the timeout. An interrupt ends the wait.
///
/// # Errors
/// Returns an error if another process holds the lock, or the system rejects the lock.
pub async fn acquire(
    context: &AppContext,
    manager: &mut StateManager,
    timeout: Duration,
    purpose: LockPurpose,
    stop: &StopSignal,
) -> Result<(), AppError> {
    let request = lock_request(context, purpose);
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_secs(1);
    let mut has_reported = false;
    loop {
        let refused = match manager.lock(&request).await {
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

/// Encrypts the initial state of a new workspace. Some backends store it without encryption when they
/// create the workspace; it has no content.
///
/// # Errors
/// Returns an error if the state cannot be locked or written.
pub async fn encrypt_initial_state(
    context: &AppContext,
    backend: &ConfiguredBackend,
    workspace: &str,
    lock: Option<&LockRequest>,
) -> Result<(), AppError> {
    if context.state_encryption()?.is_none() {
        return Ok(());
    }
    let mut manager =
        workspace_location(context, backend, workspace)?.open(context, BackupRule::Off, None)?;
    if !manager.exists().await? || !manager.is_outdated().await? {
        return Ok(());
    }
    if let Some(request) = lock {
        manager.lock(request).await?;
    }
    let state = manager.read().await?;
    let written = manager.write_verbatim(&state).await;
    manager.unlock().await.map_err(AppError::for_unlock)?;
    written.map(drop).map_err(AppError::from)
}

/// Returns the data with which a lock is requested.
pub fn lock_request(context: &AppContext, purpose: LockPurpose) -> LockRequest {
    LockRequest {
        operation: purpose.operation().to_owned(),
        info: String::new(),
        who: format!("{}@{}", context.environment.user(), host_name()),
        version: TERRAFORM_VERSION.to_owned(),
    }
}

fn warn_of_ignored_options(context: &AppContext, backend: &ConfiguredBackend) {
    let detail = format!(
        "-state, -state-out and -backup apply only to states in local files. The state is in the backend \"{}\".",
        backend.type_name()
    );
    context.frontend.warn(&Diagnostic::warning("Options without effect", detail).into());
}

fn warn_of_state_option(context: &AppContext) {
    let detail = "Instead of giving -state to every command, set the argument \"path\" of a \"local\" \
        backend once.";
    context.frontend.warn(&Diagnostic::warning("Deprecated flag: -state", detail).into());
}

/// Reports that the changes of an interrupted run were recovered.
pub fn warn_of_recovery(context: &AppContext, manager: &StateManager) {
    let Some(recovery) = manager.recovery() else { return };
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
                "The journal {journal} contains {changes} changes that are not in the stored state: a run is \
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
