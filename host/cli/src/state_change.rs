//! States that a command changes by itself, without a plan: locked, read, changed in
//! memory and written at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_config::Configuration;
use wardian_engine::StopSignal;
use wardian_state::{BackupRule, State, StateFile};

use crate::arguments::{LockArguments, StateOutArguments};
use crate::failure::{Failure, Outcome};
use crate::session::Session;
use crate::state_access::{self, LockedFor};

/// Where the state as it was is kept, where nobody says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultBackup {
    /// In the one file beside the state; `-backup=-` switches it off.
    Beside,
    /// In a file of its own with the time in its name, which cannot be switched off.
    Timed,
}

/// A state that a command changes.
pub(crate) struct StateChange {
    file: StateFile,
    /// As it was read.
    pub(crate) state: Arc<State>,
}

/// Which state, and how it is used.
pub(crate) struct ChangeRequest<'a> {
    /// The lock.
    pub(crate) lock: bool,
    /// How long to wait for it.
    pub(crate) lock_timeout: Duration,
    /// The file that is read.
    pub(crate) path: PathBuf,
    /// The file that is written, where it is another one.
    pub(crate) written: Option<&'a Path>,
    /// Where the state as it was is kept.
    pub(crate) backup: BackupRule,
    /// What the lock is held for.
    pub(crate) purpose: LockedFor,
}

impl<'a> ChangeRequest<'a> {
    /// As options say.
    ///
    /// # Errors
    /// Where the backend is not the one that was initialised.
    pub(crate) fn new(
        session: &Session,
        configuration: &Configuration,
        lock: &LockArguments,
        out: &'a StateOutArguments,
        default: DefaultBackup,
        purpose: LockedFor,
    ) -> Outcome<Self> {
        let path = state_access::state_path(session, Some(configuration), lock.state.as_deref())?;
        let written = out.state_out.as_deref().filter(|written| **written != *path);
        let backup = backup_rule(out.backup.as_deref(), default, written.unwrap_or(&path));
        Ok(Self { lock: lock.lock, lock_timeout: lock.lock_timeout, path, written, backup, purpose })
    }

    /// Locks and reads the state.
    ///
    /// # Errors
    /// Where somebody else holds the lock, or it cannot be read.
    pub(crate) async fn open(self, session: &Session, stop: &StopSignal) -> Outcome<StateChange> {
        let (path, read_from) = match self.written {
            Some(written) => (written.to_owned(), Some(self.path)),
            None => (self.path, None),
        };
        state_access::make_directory_of(&path)?;
        let mut file = StateFile::open(path, state_access::options(self.backup, read_from));
        if self.lock {
            state_access::acquire(session, &mut file, self.lock_timeout, self.purpose, stop).await?;
        }
        let state = file.read()?;
        state_access::warn_of_recovery(session, &file);
        Ok(StateChange { file, state })
    }
}

impl StateChange {
    /// Writes the state as it is now, with the next serial.
    ///
    /// # Errors
    /// Where it cannot be written; the state is as it was then.
    pub(crate) fn save(mut self, state: &State) -> Outcome<()> {
        self.file.write(state)?;
        Ok(())
    }

    /// Whether there is a state on disk.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(crate) fn exists(&mut self) -> Outcome<bool> {
        Ok(self.file.exists()?)
    }

    /// Writes a state with the serial and lineage that it has.
    ///
    /// # Errors
    /// Where it cannot be written; the state is as it was then.
    pub(crate) fn save_verbatim(mut self, state: &State) -> Outcome<()> {
        self.file.write_verbatim(state)?;
        Ok(())
    }
}

/// Where the state that `-backup` is about is kept.
pub(crate) fn backup_rule(given: Option<&Path>, default: DefaultBackup, of: &Path) -> BackupRule {
    match (given, default) {
        (Some(path), _) if path.as_os_str() != "-" => BackupRule::At(path.to_owned()),
        (None, DefaultBackup::Beside) => BackupRule::DefaultPath,
        (_, DefaultBackup::Beside) => BackupRule::Off,
        (_, DefaultBackup::Timed) => BackupRule::At(timed_backup(of)),
    }
}

/// `terraform.tfstate.1700000000.backup`: the second, or the next one that is free.
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

/// That there is a state, before anything is locked.
///
/// # Errors
/// Where there is none, or it cannot be read.
pub(crate) fn require(session: &Session, path: &Path) -> Outcome<()> {
    if state_access::look_at(session, path.to_owned())?.exists {
        return Ok(());
    }
    Err(missing(path))
}

/// What is said where a state is needed and there is none.
pub(crate) fn missing(path: &Path) -> Failure {
    Failure::error(
        "No state file was found",
        format!(
            "There is no {} here. The commands on states need one: run them where `wardian apply` was run, or name \
             the file with -state.",
            path.display()
        ),
    )
}
