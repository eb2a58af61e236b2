//! The records of the objects that tests have created, in `.terraform/test`. A record is a state file
//! with its journal, so an interruption at any moment loses nothing. Objects of mocked providers and
//! of the built-in provider are not recorded.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wardian_backend::DEFAULT_WORKSPACE;
use wardian_config::{Backend, TestFile, TestRun};
use wardian_diagnostic::{Diagnostics, system_reason};
use wardian_digest::Sha256Digest;
use wardian_engine::StateSink;
use wardian_state::{BackupRule, Sidecars, State, StateManager};
use wardian_testing::{LeftState, StateRecorder, objects};

use crate::backend;
use crate::context::AppContext;
use crate::error::AppError;
use crate::state_access::{LockPurpose, StateLocation, lock_request, workspace_location};
use crate::state_recorder::Recorder;

/// The directory of records within the data directory.
const DIRECTORY: &str = "test";

/// The test file and the run to which a record belongs, in a file next to the state file.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct RecordOwner {
    /// The path of the test file.
    file: String,
    /// The key of the state within the file; empty for the root module.
    key: String,
    /// The run that changed the state last.
    run: String,
    /// Whether the state was kept because the run has `skip_cleanup`.
    kept: bool,
}

/// The record of one state while a plan is applied.
pub(super) struct TestRecord {
    manager: StateManager,
    recorder: Recorder,
    base: State,
    /// The state file of the record; `None` for a state in a backend, which remains.
    path: Option<PathBuf>,
}

/// A record that an earlier test has left.
pub struct LeftRecord {
    pub state: LeftState,
    /// Whether the state was kept because the run has `skip_cleanup`.
    pub kept: bool,
}

impl RecordOwner {
    /// Returns the path of the state file. Its name is a digest, because keys and paths are arbitrary
    /// text.
    fn state_path(&self, app: &AppContext) -> PathBuf {
        let digest = Sha256Digest::hash(format!("{}\0{}", self.file, self.key).as_bytes()).to_string();
        let name: String = digest.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        app.data_directory().join(DIRECTORY).join(format!("{name}.tfstate"))
    }
}

fn owner_path(state: &Path) -> PathBuf {
    state.with_extension("json")
}

impl TestRecord {
    pub(super) async fn begin(
        app: &AppContext,
        file: &TestFile,
        run: &TestRun,
        key: &str,
        base: &State,
    ) -> Result<Self, AppError> {
        let owner = RecordOwner {
            file: file.path.to_string(),
            key: key.to_owned(),
            run: run.name.to_string(),
            kept: false,
        };
        let path = owner.state_path(app);
        let location = StateLocation::File(path.clone());
        location.create_directories()?;
        write_owner(&path, &owner)?;
        let mut manager = location.open(app, BackupRule::Off, None)?;
        manager.lock(&lock_request(app, LockPurpose::Test)).await?;
        // The record contains what earlier runs of the file have created.
        manager.write(base).await?;
        let recorder = Recorder::begin(app, &mut manager, base).await?;
        Ok(Self { manager, recorder, base: base.clone(), path: Some(path) })
    }

    /// Begins to record changes of a state that is stored in the backend of a run.
    pub(super) async fn begin_in_backend(
        app: &AppContext,
        backend: &Backend,
        base: &State,
    ) -> Result<Self, AppError> {
        let mut manager = open_backend(app, backend)?;
        manager.lock(&lock_request(app, LockPurpose::Test)).await?;
        let recorder = Recorder::begin(app, &mut manager, base).await?;
        Ok(Self { manager, recorder, base: base.clone(), path: None })
    }
}

/// Reads a state from the backend of a run.
pub(super) async fn read_backend(app: &AppContext, backend: &Backend) -> Result<State, AppError> {
    let state = open_backend(app, backend)?.read().await?;
    Ok((*state).clone())
}

/// Tests use the default workspace, whichever one is selected.
fn open_backend(app: &AppContext, block: &Backend) -> Result<StateManager, AppError> {
    let backend = backend::for_test(app, block)?;
    let location = workspace_location(app, &backend, DEFAULT_WORKSPACE)?;
    location.create_directories()?;
    location.open(app, BackupRule::Off, None)
}

#[async_trait(?Send)]
impl StateRecorder for TestRecord {
    fn sink(&mut self) -> &mut dyn StateSink {
        &mut self.recorder
    }

    async fn finish(self: Box<Self>, state: &State) -> Result<(), Diagnostics> {
        let Self { mut manager, recorder, base, path } = *self;
        let finished = async {
            let journal = recorder.into_journal(&mut manager).await;
            manager.finish(journal, &base, state).await?;
            if let Some(path) = path.filter(|_| objects(state).is_empty()) {
                remove(&path)?;
            }
            manager.unlock().await?;
            Ok::<(), AppError>(())
        };
        finished.await.map_err(AppError::into_diagnostics)
    }
}

/// Records that a state was kept because its run has `skip_cleanup`.
pub(super) fn keep(app: &AppContext, file: &TestFile, run: &TestRun, key: &str) -> Result<(), AppError> {
    let (file, run) = (file.path.to_string(), run.name.to_string());
    let owner = RecordOwner { file, key: key.to_owned(), run, kept: true };
    let path = owner.state_path(app);
    if path.exists() { write_owner(&path, &owner) } else { Ok(()) }
}

impl AppContext {
    /// Returns the records that earlier tests have left, with the objects that are known to exist.
    ///
    /// # Errors
    /// Returns an error if a record cannot be read.
    pub async fn left_test_records(&self) -> Result<Vec<LeftRecord>, AppError> {
        let directory = self.data_directory().join(DIRECTORY);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(&directory, "read", &error)),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let mut left = Vec::new();
        for path in paths {
            let text = fs::read(&path).map_err(|error| unusable(&path, "read", &error))?;
            let owner: RecordOwner = serde_json::from_slice(&text).map_err(|error| {
                let detail = format!("The file {} is not a record of a test: {error}.", path.display());
                AppError::new("Record of a test cannot be read", detail)
            })?;
            let state_path = owner.state_path(self);
            let mut manager = StateLocation::File(state_path.clone()).open(self, BackupRule::Off, None)?;
            // The lock is held while a test runs.
            manager.lock(&lock_request(self, LockPurpose::Test)).await?;
            let state = manager.read().await?;
            let incomplete =
                manager.recovery().map(|recovery| recovery.incomplete.clone()).unwrap_or_default();
            if objects(&state).is_empty() && incomplete.is_empty() {
                remove(&state_path)?;
            } else {
                let RecordOwner { file, key, run, kept } = owner;
                let unfinished = incomplete.iter().map(|intent| intent.address.clone()).collect();
                let state = LeftState { file, key, run, state: (*state).clone(), unfinished };
                left.push(LeftRecord { state, kept });
            }
            manager.unlock().await?;
        }
        Ok(left)
    }

    /// Removes a record, after all its objects have been destroyed.
    ///
    /// # Errors
    /// Returns an error if a file cannot be removed.
    pub fn remove_test_record(&self, left: &LeftState) -> Result<(), AppError> {
        let LeftState { file, key, run, .. } = left;
        let owner = RecordOwner { file: file.clone(), key: key.clone(), run: run.clone(), kept: false };
        remove(&owner.state_path(self))
    }
}

fn write_owner(state: &Path, owner: &RecordOwner) -> Result<(), AppError> {
    let path = owner_path(state);
    let text = serde_json::to_vec(owner).unwrap_or_default();
    crate::atomic_write::write(&path, &text).map_err(|error| unusable(&path, "written", &error))
}

/// Removes the files of a record.
fn remove(state: &Path) -> Result<(), AppError> {
    let Sidecars { backup, journal, .. } = Sidecars::for_state(state);
    // The owner is removed last: without it, the record is not found.
    for path in [journal, backup, state.to_owned(), owner_path(state)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(unusable(&path, "removed", &error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn unusable(path: &Path, verb: &str, error: &io::Error) -> AppError {
    let detail = format!("{} cannot be {verb}: {}.", path.display(), system_reason(error));
    AppError::new("Record of a test cannot be used", detail)
}
