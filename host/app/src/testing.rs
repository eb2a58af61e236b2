//! Provides tests with configurations, plugins and records of real objects.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_config::{Configuration, Files, GatedFiles, LoadedTests, TestFile, TestRun, load_tests};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::{EngineContext, Silent};
use wardian_install::lock_file::LockFile;
use wardian_state::State;
use wardian_testing::{StateRecorder, TestHost};

use crate::context::AppContext;
use crate::error::AppError;
use crate::plugins::Plugins;

impl AppContext {
    /// Reads the test files of the configuration in the current directory.
    ///
    /// # Errors
    /// Returns all errors in test files.
    pub fn load_tests(&self, test_directory: &Path) -> Result<(LoadedTests, Diagnostics), Diagnostics> {
        let everything = GatedFiles::default();
        let files: &dyn Files = match &self.confinement {
            Some(confinement) => confinement,
            None => &everything,
        };
        let mut problems = Diagnostics::new();
        let tests = load_tests(files, Path::new("."), test_directory, &mut problems);
        let warnings = problems.clone();
        problems.into_result(()).map(|()| (tests, warnings))
    }
}

/// The environment of a suite.
pub struct AppTestHost<'a> {
    app: &'a AppContext,
    root: Arc<Configuration>,
    lock: LockFile,
    parallelism: usize,
    /// The plugins, by the providers and provisioners that a configuration requires.
    plugins: RefCell<BTreeMap<String, Arc<Plugins>>>,
}

impl<'a> AppTestHost<'a> {
    /// Returns the environment for the tests of a root module.
    ///
    /// # Errors
    /// Returns an error if the dependency lock file cannot be read.
    pub fn new(app: &'a AppContext, root: Arc<Configuration>, parallelism: usize) -> Result<Self, AppError> {
        let lock = app.lock_file()?;
        Ok(Self { app, root, lock, parallelism, plugins: RefCell::default() })
    }

    fn plugins(&self, configuration: &Configuration) -> Result<Arc<Plugins>, AppError> {
        let providers: Vec<String> =
            configuration.provider_requirements().keys().map(ToString::to_string).collect();
        let key = format!("{} {}", providers.join(" "), provisioner_types(configuration).join(" "));
        if let Some(known) = self.plugins.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let plugins = self.app.plugins(configuration, None, &self.lock, self.parallelism)?;
        self.plugins.borrow_mut().insert(key, Arc::clone(&plugins));
        Ok(plugins)
    }
}

fn provisioner_types(configuration: &Configuration) -> Vec<String> {
    let blocks = wardian_engine::provisioner_blocks(configuration);
    let mut types: Vec<String> = blocks.map(|block| block.type_name.to_string()).collect();
    types.sort();
    types.dedup();
    types
}

#[async_trait(?Send)]
impl TestHost for AppTestHost<'_> {
    fn configuration(&self, file: &TestFile, run: &TestRun) -> Result<Configuration, Diagnostics> {
        let _ = (file, run);
        Ok((*self.root).clone())
    }

    fn engine(&self, configuration: Arc<Configuration>) -> Result<EngineContext, Diagnostics> {
        let plugins = self.plugins(&configuration).map_err(AppError::into_diagnostics)?;
        Ok(self.app.engine_run(configuration, plugins, Arc::new(Silent)))
    }

    async fn begin_apply(
        &self,
        _file: &TestFile,
        _key: &str,
        _base: &State,
    ) -> Result<Box<dyn StateRecorder>, Diagnostics> {
        Err(Diagnostic::error("Not recorded", "").into())
    }
}
