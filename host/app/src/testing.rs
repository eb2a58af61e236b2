//! Provides tests with configurations, plugins and records of real objects.

mod accepted;
mod record;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_config::{Backend, Configuration, RunConfiguration, RunModules, TestFile, TestRun};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::{AcceptedConfigurations, EngineContext, Events};
use wardian_install::lock_file::LockFile;
use wardian_state::State;
use wardian_testing::{StateRecorder, TestHost};

use crate::context::AppContext;
use crate::error::AppError;
use crate::plugins::Plugins;

use accepted::Accepted;
pub use record::LeftRecord;
use record::TestRecord;

/// The environment of a suite.
pub struct AppTestHost<'a> {
    app: &'a AppContext,
    root: Arc<Configuration>,
    modules: &'a RunModules,
    lock: LockFile,
    parallelism: usize,
    /// The plugins, by the providers and provisioners that a configuration requires.
    plugins: RefCell<BTreeMap<String, Arc<Plugins>>>,
    accepted: Option<Arc<Accepted>>,
    events: Arc<dyn Events>,
}

impl<'a> AppTestHost<'a> {
    /// Returns the environment for the tests of a root module.
    ///
    /// # Errors
    /// Returns an error if the dependency lock file cannot be read.
    pub fn new(
        app: &'a AppContext,
        root: Arc<Configuration>,
        modules: &'a RunModules,
        parallelism: usize,
        events: Arc<dyn Events>,
    ) -> Result<Self, AppError> {
        let lock = app.lock_file()?;
        let accepted = Accepted::open(app).map(Arc::new);
        Ok(Self { app, root, modules, lock, parallelism, plugins: RefCell::default(), accepted, events })
    }

    /// Stores what later tests need, after the suite.
    pub fn finish(&self) {
        if let Some(accepted) = &self.accepted {
            accepted.store();
        }
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
    fn configuration(&self, file: &TestFile, run: &TestRun) -> Result<RunConfiguration, Diagnostics> {
        match self.modules.configuration(&self.root, file, run) {
            Some(configuration) => configuration.for_run(file, run),
            None => {
                let detail = format!("The module of the run \"{}\" was not loaded.", run.name);
                Err(Diagnostic::bug("Module not loaded", detail).into())
            }
        }
    }

    fn check_file(&self, file: &TestFile) -> Diagnostics {
        file.check(&self.root, self.modules)
    }

    fn engine(&self, configuration: Arc<Configuration>) -> Result<EngineContext, Diagnostics> {
        let plugins = self.plugins(&configuration).map_err(AppError::into_diagnostics)?;
        if let Some(accepted) = &self.accepted {
            accepted.add_packages(plugins.native_package_hashes());
        }
        let engine = self.app.engine_run(configuration, plugins, Arc::clone(&self.events));
        let accepted = self.accepted.clone().map(|accepted| accepted as Arc<dyn AcceptedConfigurations>);
        Ok(EngineContext { accepted, ..engine })
    }

    async fn begin_apply(
        &self,
        file: &TestFile,
        run: &TestRun,
        key: &str,
        backend: Option<&Backend>,
        base: &State,
    ) -> Result<Box<dyn StateRecorder>, Diagnostics> {
        let record = match backend {
            Some(backend) => TestRecord::begin_in_backend(self.app, backend, base).await,
            None => TestRecord::begin(self.app, file, run, key, base).await,
        };
        record.map(|record| Box::new(record) as Box<dyn StateRecorder>).map_err(AppError::into_diagnostics)
    }

    fn keep(&self, file: &TestFile, run: &TestRun, key: &str) -> Result<(), Diagnostics> {
        record::keep(self.app, file, run, key).map_err(AppError::into_diagnostics)
    }

    async fn read_backend(&self, backend: &Backend) -> Result<State, Diagnostics> {
        record::read_backend(self.app, backend).await.map_err(AppError::into_diagnostics)
    }
}
