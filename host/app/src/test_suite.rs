//! The test files of the configuration, for the commands that test or validate them or install the
//! modules and plugins that they need.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use wardian_config::{
    Configuration, Files, GatedFiles, InstalledModules, LoadedRoot, LoadedTests, MissingModule, RunModules,
    load_root_with_queries, load_tests,
};
use wardian_diagnostic::Diagnostics;

use crate::context::{AppContext, checked};
use crate::error::AppError;
use crate::module_manifest;
use crate::requirements::check_required_versions;

/// The directory of test files unless an option specifies another one.
pub const DEFAULT_TEST_DIRECTORY: &str = "tests";

/// The test files of a configuration.
#[derive(Clone, Debug, Default)]
pub struct TestFiles {
    pub files: LoadedTests,
    /// The modules that runs execute.
    pub modules: RunModules,
}

/// A configuration with its test files, some of whose modules may not be installed.
pub(crate) struct LoadedSuite {
    pub(crate) root: LoadedRoot,
    pub(crate) suite: TestFiles,
    /// The diagnostics of the test files and of the modules that runs execute.
    pub(crate) problems: Diagnostics,
}

impl TestFiles {
    /// Returns the configurations that runs execute instead of the configuration under test. Runs that
    /// execute the same module have equal configurations, of which one is returned.
    pub fn configurations(&self) -> Vec<&Arc<Configuration>> {
        let mut known = BTreeSet::new();
        let all = self.modules.iter(&self.files).map(|(_, _, _, configuration)| configuration);
        all.filter(|configuration| known.insert(Arc::as_ptr(&configuration.root().module))).collect()
    }

    /// Returns the configuration under test and [`Self::configurations`].
    pub fn with_root<'a>(
        &'a self,
        configuration: &'a Configuration,
    ) -> impl Iterator<Item = &'a Configuration> {
        let modules = self.configurations().into_iter().map(|module| &**module);
        std::iter::once(configuration).chain(modules)
    }
}

impl LoadedSuite {
    pub(crate) fn without_tests(root: LoadedRoot) -> Self {
        Self { root, suite: TestFiles::default(), problems: Diagnostics::new() }
    }

    /// Returns the modules that must be installed first.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &MissingModule> {
        let of_root = match &self.root {
            LoadedRoot::Incomplete { missing, .. } => missing.as_slice(),
            LoadedRoot::Complete(_) | LoadedRoot::Invalid(_) => &[],
        };
        of_root.iter().chain(&self.suite.modules.missing)
    }

    /// Returns true if there are errors in addition to missing modules.
    pub(crate) fn has_errors(&self) -> bool {
        let in_root = match &self.root {
            LoadedRoot::Complete(_) => false,
            LoadedRoot::Incomplete { problems, .. } => problems.has_errors(),
            LoadedRoot::Invalid(_) => true,
        };
        in_root || self.problems.has_errors()
    }

    /// Returns the configuration, its test files, and the warnings of the test files.
    ///
    /// # Errors
    /// Returns all errors. If there are no other errors, each missing module is an error.
    pub(crate) fn into_result(self) -> Result<(Configuration, TestFiles, Diagnostics), Diagnostics> {
        let has_errors = self.has_errors();
        let Self { root, suite, mut problems } = self;
        match root.into_result() {
            Ok(configuration) => {
                problems.extend(suite.files.check_providers(&configuration));
                for configuration in suite.configurations() {
                    check_required_versions(configuration, &mut problems);
                }
                if !has_errors {
                    problems.extend(suite.modules.missing.iter().map(MissingModule::diagnostic));
                }
                if problems.has_errors() {
                    let mut all = configuration.warnings.clone();
                    all.extend(problems);
                    return Err(all);
                }
                Ok((configuration, suite, problems))
            }
            Err(mut found) => {
                found.extend(problems);
                if !has_errors {
                    found.extend(suite.modules.missing.iter().map(MissingModule::diagnostic));
                }
                Err(found)
            }
        }
    }
}

impl AppContext {
    /// Loads the configuration in a directory and its test files, with their warnings. The test
    /// directory is relative to the directory.
    ///
    /// # Errors
    /// Returns an error if the configuration or a test file cannot be read or contains errors; all
    /// errors are returned.
    pub fn load_with_tests(
        &self,
        directory: &Path,
        test_directory: &Path,
    ) -> Result<(Arc<Configuration>, TestFiles, Diagnostics), AppError> {
        let installed = module_manifest::read_installed_modules(&self.data_directory());
        let loaded = self.load_suite(directory, test_directory, &installed);
        let (configuration, suite, found) = loaded.into_result()?;
        let (configuration, mut diagnostics) = checked(configuration);
        diagnostics.extend(found);
        Ok((configuration, suite, diagnostics))
    }

    /// Loads the configuration in the working directory and its test files, and shows their warnings.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::load_with_tests`].
    pub fn configuration_with_tests(
        &self,
        test_directory: Option<&Path>,
    ) -> Result<(Arc<Configuration>, TestFiles), AppError> {
        let installed = module_manifest::read_installed_modules(&self.data_directory());
        let test_directory = test_directory.unwrap_or(Path::new(DEFAULT_TEST_DIRECTORY));
        let loaded = self.load_suite(Path::new("."), test_directory, &installed);
        let (configuration, suite, warnings) = loaded.into_result()?;
        let configuration = self.accept_loaded(configuration)?;
        self.frontend.warn(&warnings);
        Ok((configuration, suite))
    }

    /// Loads the configuration and its test files. Modules that are not installed are omitted.
    pub(crate) fn load_suite(
        &self,
        directory: &Path,
        test_directory: &Path,
        installed: &InstalledModules,
    ) -> LoadedSuite {
        self.with_files(|files| {
            let root = load_root_with_queries(files, directory, installed, self.query_files);
            let mut problems = Diagnostics::new();
            let tests = load_tests(files, directory, test_directory, &mut problems);
            let modules = tests.load_modules(files, directory, installed, &mut problems);
            LoadedSuite { root, suite: TestFiles { files: tests, modules }, problems }
        })
    }

    /// Calls `read` with the files that the host may read for the configuration.
    pub(crate) fn with_files<T>(&self, read: impl FnOnce(&dyn Files) -> T) -> T {
        match &self.confinement {
            Some(confinement) => read(confinement),
            None => read(&GatedFiles::default()),
        }
    }
}
