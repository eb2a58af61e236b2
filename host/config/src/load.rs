//! Loads a configuration from a directory.
//!
//! Files of one directory are read in the order of their names, and all of them are read before
//! errors are returned. Every module is read only once, even if it is called several times.
//!
//! A module whose source is not a local path is read from the directory in which it is installed.
//! If it is not installed, loading continues with the other modules, to report all missing modules.

pub(crate) mod directory;
mod file_blocks;
mod overrides;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::ModulePath;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_module_source::ModuleSource;

use self::directory::CallOfDirectory;
pub use self::directory::QueryFiles;
use crate::blocks::ModuleCall;
use crate::configuration::{Configuration, ModuleNode};
use crate::files::Files;
use crate::gated_files::GatedFiles;
use crate::installed_modules::{InstalledModules, MissingModule, MissingModuleReason, RunKey, key};
use crate::module::Module;
use crate::path::lexically_normalize;

/// Loads the configuration whose root module is in a directory.
///
/// # Errors
///
/// Returns all errors in the configuration. Every diagnostic with a source span contains the source text.
pub fn load_root(directory: &Path) -> Result<Configuration, Diagnostics> {
    load_root_from(&GatedFiles::default(), directory)
}

/// Loads a configuration from the given files, without installed modules.
///
/// # Errors
///
/// Returns the same errors as [`load_root`].
pub fn load_root_from(files: &dyn Files, directory: &Path) -> Result<Configuration, Diagnostics> {
    load_root_with(files, directory, &InstalledModules::default()).into_result()
}

/// The result of loading a configuration with installed modules.
#[derive(Debug)]
pub enum LoadedRoot {
    Complete(Configuration),
    /// Modules must be installed first.
    Incomplete {
        /// The root module; `None` if it could not be read.
        root: Option<Arc<Module>>,
        /// The missing modules. The modules that they call are not known yet.
        missing: Vec<MissingModule>,
        /// The errors in the modules that were read.
        problems: Diagnostics,
    },
    /// The configuration has errors.
    Invalid(Diagnostics),
}

impl LoadedRoot {
    /// Returns the configuration.
    ///
    /// # Errors
    /// Returns all errors. If there are no other errors, each missing module is an error.
    pub fn into_result(self) -> Result<Configuration, Diagnostics> {
        match self {
            Self::Complete(configuration) => Ok(configuration),
            Self::Incomplete { problems, .. } if problems.has_errors() => Err(problems),
            Self::Incomplete { missing, mut problems, .. } => {
                for module in missing {
                    problems.push(module.diagnostic());
                }
                Err(problems)
            }
            Self::Invalid(problems) => Err(problems),
        }
    }
}

/// Loads a configuration from the given files and from installed modules.
pub fn load_root_with(files: &dyn Files, directory: &Path, installed: &InstalledModules) -> LoadedRoot {
    load_root_with_queries(files, directory, installed, QueryFiles::Ignored)
}

/// Loads a configuration like [`load_root_with`], with or without the query files in its directory.
pub fn load_root_with_queries(
    files: &dyn Files,
    directory: &Path,
    installed: &InstalledModules,
    queries: QueryFiles,
) -> LoadedRoot {
    let mut loader = Loader { queries, ..Loader::new(files, installed) };
    let directory = lexically_normalize(directory);
    loader.load(&ModulePath::root(), &directory, None, &mut Callers::default());
    if !loader.missing.is_empty() {
        let root = loader.modules.remove(&ModulePath::root()).map(|node| node.module);
        return LoadedRoot::Incomplete { root, missing: loader.missing, problems: loader.problems };
    }
    match complete(loader.modules, loader.problems, None) {
        Ok(configuration) => LoadedRoot::Complete(configuration),
        Err(problems) => LoadedRoot::Invalid(problems),
    }
}

/// The module of a run: its key, and the call that a `module` block of a run is equivalent to.
pub(crate) struct RunModuleCall {
    pub(crate) run: RunKey,
    pub(crate) call: ModuleCall,
}

/// Loads the modules that runs execute, each as the root module of a configuration. Files are read
/// only once, even if several runs use them. Modules that must be installed first are returned; the
/// configuration of a run is `None` if a module is missing or invalid.
pub(crate) fn load_run_modules(
    files: &dyn Files,
    directory: &Path,
    installed: &InstalledModules,
    calls: Vec<RunModuleCall>,
    problems: &mut Diagnostics,
) -> (Vec<Option<Configuration>>, Vec<MissingModule>) {
    let mut loader = Loader::new(files, installed);
    let mut configurations = Vec::new();
    let mut missing = Vec::new();
    for RunModuleCall { run, call } in calls {
        let context = format!("run \"{}\"", run.name);
        loader.run = Some(run);
        loader.load_called(&ModulePath::root(), directory, &call, &mut Callers::default());
        let modules = std::mem::take(&mut loader.modules);
        let has_missing = !loader.missing.is_empty();
        missing.append(&mut loader.missing);
        let found = std::mem::take(&mut loader.problems);
        let found = found.into_iter().map(|problem| match &problem.subject {
            Some(span) if Arc::ptr_eq(&span.file, &call.span.file) => problem.in_block(&context),
            _ => problem,
        });
        let found = Diagnostics::from(found.collect::<Vec<_>>());
        // The errors of a module that another run uses have already been reported.
        let is_invalid = modules.values().any(|node| node.module.has_errors);
        let configuration = if has_missing || is_invalid {
            extend_once(problems, found);
            None
        } else {
            match complete(modules, found, loader.run.as_ref()) {
                Ok(configuration) => {
                    extend_once(problems, configuration.warnings.clone());
                    Some(configuration)
                }
                Err(found) => {
                    extend_once(problems, found);
                    None
                }
            }
        };
        configurations.push(configuration);
    }
    (configurations, missing)
}

/// Adds problems that have not been added before, because several runs may use a module.
fn extend_once(problems: &mut Diagnostics, found: Diagnostics) {
    for problem in found {
        if !problems.iter().any(|known| *known == problem) {
            problems.push(problem);
        }
    }
}

/// Completes the configuration: runs the checks that involve several modules. `run` is the run that
/// executes the configuration's root module.
fn complete(
    modules: BTreeMap<ModulePath, ModuleNode>,
    mut problems: Diagnostics,
    run: Option<&RunKey>,
) -> Result<Configuration, Diagnostics> {
    let mut configuration =
        Configuration { modules, warnings: Diagnostics::new(), unresolved: Diagnostics::new() };
    if let Some(root) = configuration.modules.get(&ModulePath::root()) {
        check_root(&root.module, &mut problems);
        if let Some(run) = run {
            check_run_module(&root.module, run, &mut problems);
        }
    }
    configuration.warn_of_backends(run.is_some(), &mut problems);
    configuration.check_imports(&mut problems);
    // If a file could not be read, it is unknown which providers were intended.
    let mut unresolved = Diagnostics::new();
    if !problems.has_errors() {
        let mut missing = Diagnostics::new();
        configuration.resolve_providers(&mut problems, &mut missing);
        // If providers are passed incorrectly, the intended provider configurations are unknown.
        if !problems.has_errors() {
            unresolved.extend(missing);
        }
    }
    configuration.check_calls(&mut problems, &mut unresolved);
    configuration.warn_of_deprecated_outputs(&mut problems);
    if problems.has_errors() || !configuration.modules.contains_key(&ModulePath::root()) {
        problems.extend(unresolved);
        return Err(problems);
    }
    configuration.warnings = problems;
    configuration.unresolved = unresolved;
    Ok(configuration)
}

/// Reports settings that are not allowed in the root module, because it has no caller.
fn check_root(module: &Module, problems: &mut Diagnostics) {
    for output in module.outputs.values().filter(|output| output.ephemeral) {
        let detail = "The root module's outputs are stored, but ephemeral values must not be stored. Remove \
                      the \"ephemeral\" argument.";
        problems.push(
            Diagnostic::error("Ephemeral output not allowed", detail)
                .at(output.span.clone())
                .in_block(format!("output \"{}\"", output.name)),
        );
    }
}

/// Reports content that only the root module under test can have.
fn check_run_module(module: &Module, run: &RunKey, problems: &mut Diagnostics) {
    for import in &module.imports {
        let detail = format!(
            "The run \"{}\" executes this module, but import blocks have an effect only in the root module \
             under test.",
            run.name
        );
        problems.push(
            Diagnostic::error("Invalid import configuration", detail)
                .at(import.span.clone())
                .in_block("import"),
        );
    }
}

impl Configuration {
    /// Warns about `backend` blocks in modules. In a configuration that a run executes, the block of
    /// the root module has no effect either.
    fn warn_of_backends(&self, is_run: bool, problems: &mut Diagnostics) {
        for node in self.modules().filter(|node| is_run || !node.path.is_root()) {
            if let Some(backend) = &node.module.backend {
                let detail = "A module cannot determine where the state is stored; this block has no effect \
                              when the module is called by another module or by a test.";
                problems.push(
                    Diagnostic::warning("Backend configuration ignored", detail)
                        .at(backend.span.clone())
                        .in_block("terraform"),
                );
            }
        }
    }
}

struct Loader<'a> {
    files: &'a dyn Files,
    installed: &'a InstalledModules,
    /// Whether the query files of the root module are read.
    queries: QueryFiles,
    /// The run whose module is the root module.
    run: Option<RunKey>,
    /// The modules by directory; `None` if the module could not be read.
    read: BTreeMap<PathBuf, Option<Arc<Module>>>,
    modules: BTreeMap<ModulePath, ModuleNode>,
    missing: Vec<MissingModule>,
    problems: Diagnostics,
}

/// The modules on the path from the root module to the present module.
#[derive(Default)]
struct Callers {
    directories: Vec<PathBuf>,
    /// The root directories of the installed packages that contain the modules.
    packages: Vec<PathBuf>,
}

impl<'a> Loader<'a> {
    fn new(files: &'a dyn Files, installed: &'a InstalledModules) -> Self {
        Self {
            files,
            installed,
            queries: QueryFiles::Ignored,
            run: None,
            read: BTreeMap::new(),
            modules: BTreeMap::new(),
            missing: Vec::new(),
            problems: Diagnostics::new(),
        }
    }

    fn key(&self, path: &ModulePath) -> String {
        match &self.run {
            Some(run) => run.module_key(path),
            None => key(path),
        }
    }
}

impl Loader<'_> {
    /// Loads a module and the modules that it calls.
    fn load(&mut self, path: &ModulePath, directory: &Path, call: Option<&ModuleCall>, above: &mut Callers) {
        let module = match self.read.get(directory) {
            Some(read) => read.clone(),
            None => {
                let mut found = Diagnostics::new();
                let relative_to = if self.run.is_some() && path.is_root() {
                    "the directory of the root module"
                } else {
                    "the directory of the module that calls it"
                };
                let call = call.map(|call| CallOfDirectory { call, relative_to });
                let mut read = {
                    let queries = if path.is_root() { self.queries } else { QueryFiles::Ignored };
                    directory::read(self.files, directory, call, queries, &mut found)
                };
                if let Some(module) = &mut read {
                    module.has_errors = found.has_errors();
                }
                self.problems.extend(found);
                let read = read.map(Arc::new);
                self.read.insert(directory.to_owned(), read.clone());
                read
            }
        };
        let Some(module) = module else {
            return;
        };
        self.modules.insert(
            path.clone(),
            ModuleNode { path: path.clone(), module: Arc::clone(&module), providers: BTreeMap::new() },
        );
        above.directories.push(directory.to_owned());
        for call in module.module_calls.values() {
            self.load_called(&path.child(call.name.clone()), directory, call, above);
        }
        above.directories.pop();
    }

    fn load_called(&mut self, path: &ModulePath, caller: &Path, call: &ModuleCall, above: &mut Callers) {
        let source = match source::parse(call, &mut self.problems) {
            Ok(source) => source,
            Err(problem) => return self.push_once(problem),
        };
        let (target, package) = match &source {
            ModuleSource::Local(local) => {
                let target = lexically_normalize(&caller.join(local.as_path()));
                if let Some(package) = above.packages.last().filter(|package| !target.starts_with(package)) {
                    return self.push_once(source::escapes(call, package));
                }
                (target, None)
            }
            ModuleSource::Registry(_) | ModuleSource::Remote(_) => {
                let Some(installed) = self.installed_directory(path, caller, call, &source) else { return };
                (
                    lexically_normalize(&installed),
                    Some(source::package_directory(&installed, &self.key(path))),
                )
            }
        };
        if above.directories.contains(&target) {
            return self.push_once(call_cycle(call, &target));
        }
        let is_package = package.is_some();
        above.packages.extend(package);
        self.load(path, &target, Some(call), above);
        if is_package {
            above.packages.pop();
        }
    }

    /// Returns the directory of an installed module. If the module must be installed first, adds it
    /// to the missing modules.
    fn installed_directory(
        &mut self,
        path: &ModulePath,
        caller: &Path,
        call: &ModuleCall,
        source: &ModuleSource,
    ) -> Option<PathBuf> {
        let reason = match self.installed.get(&self.key(path)) {
            None => MissingModuleReason::NotInstalled,
            Some(module) if module.source != source.full_address() => MissingModuleReason::SourceChanged,
            Some(module) => match (&call.version, &module.version) {
                (Some((constraints, _)), Some(version)) if !constraints.accepts(version) => {
                    MissingModuleReason::VersionChanged(Some(version.clone()))
                }
                (Some(_), None) => MissingModuleReason::VersionChanged(None),
                _ if self.files.list(&module.directory).is_err() => MissingModuleReason::NotInstalled,
                _ => return Some(module.directory.clone()),
            },
        };
        self.missing.push(MissingModule::new(path.clone(), self.run.clone(), call, caller, reason));
        None
    }

    /// Adds a problem unless it has already been added, because a module may be called several
    /// times.
    fn push_once(&mut self, problem: Diagnostic) {
        if !self.problems.iter().any(|known| *known == problem) {
            self.problems.push(problem);
        }
    }
}

fn call_cycle(call: &ModuleCall, target: &Path) -> Diagnostic {
    let target = if target == Path::new("") { Path::new(".") } else { target };
    let detail = format!(
        "The module \"{}\" calls the module in {}, which is one of its callers: the configuration would be \
         infinite.",
        call.name,
        target.display()
    );
    Diagnostic::error("Module call cycle", detail)
        .at(call.source_span.clone())
        .in_block(format!("module \"{}\"", call.name))
}
