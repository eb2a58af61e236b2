//! Loads the modules that runs execute instead of the root module.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_value::Str;

use super::file_names::TEST_FILES;
use super::{LoadedTests, TestFile, TestModule, TestRun};
use crate::blocks::ModuleCall;
use crate::configuration::Configuration;
use crate::files::Files;
use crate::installed_modules::{InstalledModules, MissingModule, RunKey};
use crate::load::{RunModuleCall, load_run_modules};
use crate::path::lexically_normalize;

/// The configurations of the modules that runs execute, by file and run.
#[derive(Clone, Debug, Default)]
pub struct RunModules {
    configurations: BTreeMap<(Str, Str), Arc<Configuration>>,
    /// Modules that must be installed first.
    pub missing: Vec<MissingModule>,
}

impl LoadedTests {
    /// Loads the modules of all runs. The errors of modules are added to `problems`, except for missing
    /// modules.
    pub fn load_modules(
        &self,
        files: &dyn Files,
        directory: &Path,
        installed: &InstalledModules,
        problems: &mut Diagnostics,
    ) -> RunModules {
        let mut names = Vec::new();
        let mut calls = Vec::new();
        for file in self.files.values() {
            for run in &file.runs {
                if let Some(module) = &run.module {
                    names.push((file.path.clone(), run.name.clone()));
                    calls.push(RunModuleCall { run: run_key(file, run), call: call(run, module) });
                }
            }
        }
        let directory = lexically_normalize(directory);
        let (loaded, missing) = load_run_modules(files, &directory, installed, calls, problems);
        let loaded = names.into_iter().zip(loaded);
        let configurations =
            loaded.filter_map(|(name, configuration)| Some((name, Arc::new(configuration?)))).collect();
        RunModules { configurations, missing }
    }
}

impl RunModules {
    /// Returns the configuration that a run executes; `root` is the root module's. Returns `None` if
    /// the run's module is missing or has errors.
    pub fn configuration<'a>(
        &'a self,
        root: &'a Arc<Configuration>,
        file: &TestFile,
        run: &TestRun,
    ) -> Option<&'a Arc<Configuration>> {
        match run.module {
            None => Some(root),
            Some(_) => self.configurations.get(&(file.path.clone(), run.name.clone())),
        }
    }

    /// Returns the configurations of modules, each with the key of its root module in the module
    /// manifest, and the run with its `module` block.
    pub fn iter<'a>(
        &'a self,
        tests: &'a LoadedTests,
    ) -> impl Iterator<Item = (String, &'a TestRun, &'a TestModule, &'a Arc<Configuration>)> {
        tests.files.values().flat_map(move |file| {
            file.runs.iter().filter_map(move |run| {
                let configuration = self.configurations.get(&(file.path.clone(), run.name.clone()))?;
                Some((run_key(file, run).key, run, run.module.as_ref()?, configuration))
            })
        })
    }
}

/// Returns the key of a run's module: `test`, the components of the file's path without the suffix of the
/// native syntax, and the run's name.
fn run_key(file: &TestFile, run: &TestRun) -> RunKey {
    let path = TEST_FILES.strip(&file.path).replace('/', ".");
    RunKey { key: format!("test.{path}.{}", run.name), name: run.name.clone() }
}

fn call(run: &TestRun, module: &TestModule) -> ModuleCall {
    ModuleCall {
        name: run.name.clone(),
        source: module.source.clone(),
        // Terraform reports a missing module at the block.
        source_span: module.span.clone(),
        version: module.version.clone(),
        count: None,
        for_each: None,
        depends_on: Vec::new(),
        providers: None,
        inputs: BTreeMap::new(),
        span: module.span.clone(),
        missing_input_span: module.span.clone(),
    }
}
