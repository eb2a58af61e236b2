//! The environment of a suite.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_config::{Backend, Configuration, RunConfiguration, TestFile, TestRun};
use wardian_diagnostic::Diagnostics;
use wardian_engine::{EngineContext, StateSink};
use wardian_state::State;

/// Provides configurations, plugins and storage.
#[async_trait(?Send)]
pub trait TestHost {
    /// Returns the configuration under test of a run: the root module or the module of the run, with
    /// the provider configurations of the test file.
    ///
    /// # Errors
    /// Returns the errors in the module, or the errors in its provider configurations.
    fn configuration(&self, file: &TestFile, run: &TestRun) -> Result<RunConfiguration, Diagnostics>;

    /// Returns warnings about a file that belong to no single run.
    fn check_file(&self, file: &TestFile) -> Diagnostics;

    /// Returns the engine's inputs for a configuration.
    ///
    /// # Errors
    /// Returns an error if a plugin is not installed or must not be used.
    fn engine(&self, configuration: Arc<Configuration>) -> Result<EngineContext, Diagnostics>;

    /// Begins to record the changes of an apply to real objects: an interruption at any moment leaves
    /// a record of them. `key` identifies the state within the file. With a backend, the
    /// state is stored there, and remains.
    ///
    /// # Errors
    /// Returns an error if the record cannot be created. In this case, nothing is applied.
    async fn begin_apply(
        &self,
        file: &TestFile,
        run: &TestRun,
        key: &str,
        backend: Option<&Backend>,
        base: &State,
    ) -> Result<Box<dyn StateRecorder>, Diagnostics>;

    /// Reads a state from the backend of a run; an empty state if there is none.
    ///
    /// # Errors
    /// Returns an error if the backend is not valid, or the state cannot be read.
    async fn read_backend(&self, backend: &Backend) -> Result<State, Diagnostics>;

    /// Records that the objects of a state are kept although its file has ended.
    ///
    /// # Errors
    /// Returns an error if the record cannot be written.
    fn keep(&self, file: &TestFile, run: &TestRun, key: &str) -> Result<(), Diagnostics>;
}

/// Records the changes of an apply.
#[async_trait(?Send)]
pub trait StateRecorder {
    fn sink(&mut self) -> &mut dyn StateSink;

    /// Stores the state after the apply. If the state contains no objects, the record is removed.
    ///
    /// # Errors
    /// Returns an error if the state cannot be stored. The record of the changes remains.
    async fn finish(self: Box<Self>, state: &State) -> Result<(), Diagnostics>;
}
