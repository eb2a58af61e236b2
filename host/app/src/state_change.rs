//! State changes without a plan: a command locks and reads the state, changes it, and immediately
//! writes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_config::Configuration;
use wardian_engine::StopSignal;
use wardian_state::{BackupRule, State, StateFile};

use crate::context::AppContext;
use crate::error::AppError;
use crate::state_access::{self, LockOptions, LockPurpose, StateOutOptions};

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
    file: StateFile,
    /// The state that was read, before the change.
    pub state: Arc<State>,
}

/// A request to change a state: the files, the lock and the backup.
pub struct ChangeRequest<'a> {
    /// Whether to lock the state.
    pub lock: bool,
    /// The maximum time to wait for the lock.
    pub lock_timeout: Duration,
    /// The file that is read.
    pub path: PathBuf,
    /// The file that is written, if it differs from the file that is read.
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
    pub fn new(
        context: &AppContext,
        configuration: &Configuration,
        lock: &LockOptions,
        out: &'a StateOutOptions,
        default: DefaultBackup,
        purpose: LockPurpose,
    ) -> Result<Self, AppError> {
        let path = state_access::state_path(context, Some(configuration), lock.state.as_deref())?;
        let written = out.state_out.as_deref().filter(|written| **written != *path);
        let backup = backup_rule(out.backup.as_deref(), default, written.unwrap_or(&path));
        Ok(Self { lock: lock.lock, lock_timeout: lock.lock_timeout, path, written, backup, purpose })
    }

    /// Locks and reads the state.
    ///
    /// # Errors
    /// Returns an error if another process holds the lock, or the state cannot be read.
    pub async fn open(self, context: &AppContext, stop: &StopSignal) -> Result<StateChange, AppError> {
        let (path, read_from) = match self.written {
            Some(written) => (written.to_owned(), Some(self.path)),
            None => (self.path, None),
        };
        state_access::create_state_directory(&path)?;
        let mut file = StateFile::open(path, state_access::options(self.backup, read_from));
        if self.lock {
            state_access::acquire(context, &mut file, self.lock_timeout, self.purpose, stop).await?;
        }
        let state = file.read()?;
        state_access::warn_of_recovery(context, &file);
        Ok(StateChange { file, state })
    }
}

impl StateChange {
    /// Writes the new state with the next serial.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written. In this case, the state file is unchanged.
    pub fn save(mut self, state: &State) -> Result<(), AppError> {
        self.file.write(state)?;
        Ok(())
    }

    /// Returns whether the state file exists.
    ///
    /// # Errors
    /// Returns an error if the state file cannot be read.
    pub fn exists(&mut self) -> Result<bool, AppError> {
        Ok(self.file.exists()?)
    }

    /// Writes a state with the serial and lineage that it contains.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written. In this case, the state file is unchanged.
    pub fn save_verbatim(mut self, state: &State) -> Result<(), AppError> {
        self.file.write_verbatim(state)?;
        Ok(())
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
pub fn require(context: &AppContext, path: &Path) -> Result<(), AppError> {
    if state_access::read_file_unlocked(context, path.to_owned())?.exists {
        return Ok(());
    }
    Err(missing(path))
}

/// Returns the error for a command that requires a state, if the state does not exist.
pub fn missing(path: &Path) -> AppError {
    AppError::new(
        "No state file was found",
        format!(
            "The file {} does not exist. State commands require a state file: run them in the directory in \
             which `wardian apply` was run, or name the file with -state.",
            path.display()
        ),
    )
}
