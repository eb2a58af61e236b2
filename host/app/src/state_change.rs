//! State changes without a plan: a command locks and reads the state, changes it, and immediately
//! writes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_config::Configuration;
use wardian_engine::StopSignal;
use wardian_state::{BackupRule, State, StateManager};

use crate::context::AppContext;
use crate::error::AppError;
use crate::state_access::{self, LockOptions, LockPurpose, StateLocation, StateOutOptions};

/// The backup of a state if no option specifies a backup file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultBackup {
    /// The sidecar file, unless it is disabled with `-backup=-`.
    Beside,
    /// A separate file with the time in its name. This backup cannot be disabled.
    Timed,
}

/// A state that a command changes.
pub struct StateChange {
    manager: StateManager,
    /// The state that was read, before the change.
    pub state: Arc<State>,
}

/// A request to change a state: the files, the lock and the backup.
pub struct ChangeRequest<'a> {
    /// Whether to lock the state.
    pub lock: bool,
    /// The maximum time to wait for the lock.
    pub lock_timeout: Duration,
    /// The state that is read.
    pub location: StateLocation,
    /// The file that is written, if it differs from the state that is read.
    pub written: Option<&'a Path>,
    /// The backup of the previous state.
    pub backup: BackupRule,
    /// The operation, as shown in the lock information.
    pub purpose: LockPurpose,
}

impl<'a> ChangeRequest<'a> {
    /// Returns the request that corresponds to the options.
    ///
    /// # Errors
    /// Returns an error if the backend differs from the initialized backend.
    pub async fn new(
        context: &AppContext,
        configuration: &Configuration,
        lock: &LockOptions,
        out: &'a StateOutOptions,
        default: DefaultBackup,
        purpose: LockPurpose,
    ) -> Result<Self, AppError> {
        let location =
            state_access::state_location(context, Some(configuration), lock.state.as_deref()).await?;
        let written = out.state_out.as_deref().filter(|written| location.file() != Some(written));
        let backup = match written.or(location.file()) {
            Some(path) => backup_rule(out.backup.as_deref(), default, path),
            None => BackupRule::Off,
        };
        Ok(Self { lock: lock.lock, lock_timeout: lock.lock_timeout, location, written, backup, purpose })
    }

    /// Locks and reads the state.
    ///
    /// # Errors
    /// Returns an error if another process holds the lock, or the state cannot be read.
    pub async fn open(self, context: &AppContext, stop: &StopSignal) -> Result<StateChange, AppError> {
        let (location, read_from) = match (self.written, self.location) {
            (Some(written), StateLocation::File(read)) => {
                (StateLocation::File(written.to_owned()), Some(read))
            }
            (_, location) => (location, None),
        };
        location.create_directories()?;
        let mut manager = location.open(context, self.backup, read_from)?;
        if self.lock {
            state_access::acquire(context, &mut manager, self.lock_timeout, self.purpose, stop).await?;
        }
        let state = manager.read().await?;
        state_access::warn_of_recovery(context, &manager);
        Ok(StateChange { manager, state })
    }
}

impl StateChange {
    /// Writes the new state with the next serial, and unlocks it.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written. In this case, the stored state is unchanged.
    pub async fn save(mut self, state: &State) -> Result<(), AppError> {
        self.manager.write(state).await?;
        self.close().await
    }

    /// Returns whether the state exists.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    pub async fn exists(&mut self) -> Result<bool, AppError> {
        Ok(self.manager.exists().await?)
    }

    /// Writes a state with the serial and lineage that it contains, and unlocks it.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written. In this case, the stored state is unchanged.
    pub async fn save_verbatim(mut self, state: &State) -> Result<(), AppError> {
        self.manager.write_verbatim(state).await?;
        self.close().await
    }

    /// Unlocks the state.
    ///
    /// # Errors
    /// Returns an error if the lock may still be held.
    pub async fn close(mut self) -> Result<(), AppError> {
        self.manager.unlock().await.map_err(AppError::for_unlock)
    }
}

/// Returns the backup that the value of `-backup` selects.
pub fn backup_rule(given: Option<&Path>, default: DefaultBackup, of: &Path) -> BackupRule {
    match (given, default) {
        (Some(path), _) if path.as_os_str() != "-" => BackupRule::At(path.to_owned()),
        (None, DefaultBackup::Beside) => BackupRule::DefaultPath,
        (_, DefaultBackup::Beside) => BackupRule::Off,
        (_, DefaultBackup::Timed) => BackupRule::At(timed_backup(of)),
    }
}

/// Returns a name such as `terraform.tfstate.1700000000.backup`. The number is the current second,
/// or the next second for which no file exists.
fn timed_backup(of: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let name = |second: u64| {
        let mut name = of.to_owned().into_os_string();
        name.push(format!(".{second}.backup"));
        PathBuf::from(name)
    };
    let mut second = now;
    while name(second).exists() {
        second = second.saturating_add(1);
    }
    name(second)
}

/// Before a state is locked, checks that it exists.
///
/// # Errors
/// Returns an error if the state does not exist or cannot be read.
pub async fn require(context: &AppContext, location: &StateLocation) -> Result<(), AppError> {
    if state_access::read_location_unlocked(context, location.clone()).await?.exists {
        return Ok(());
    }
    Err(missing(location))
}

/// Returns the error for a command that requires a state, if the state does not exist.
pub fn missing(location: &StateLocation) -> AppError {
    let detail = match location {
        StateLocation::File(path) => format!(
            "The file {} does not exist. State commands require a state file: run them in the directory in \
             which `wardian apply` was run, or specify the file with -state.",
            path.display()
        ),
        StateLocation::Remote { storage, .. } => {
            format!("There is no state at {}. `wardian apply` creates it.", storage.location())
        }
    };
    AppError::new("No state file was found", detail)
}
