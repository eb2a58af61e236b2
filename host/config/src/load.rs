//! Loads a configuration from a directory.
//!
//! Files of one directory are read in the order of their names, and all of them are read before
//! errors are returned. Every module is read only once, even if it is called several times.

mod directory;
mod file_blocks;
mod overrides;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::ModulePath;
use wardian_diagnostic::{Diagnostic, Diagnostics};

use crate::blocks::ModuleCall;
use crate::configuration::{Configuration, ModuleNode};
use crate::files::Files;
use crate::gated_files::GatedFiles;
use crate::module::Module;
use crate::path::lexically_normalize;

/// Loads the configuration whose root module is in a directory.
///
/// # Errors
///
/// All errors in the configuration. Every diagnostic with a source span contains the source text.
pub fn load_root(directory: &Path) -> Result<Configuration, Diagnostics> {
    load_root_from(&GatedFiles::default(), directory)
}

/// Loads a configuration from the given files.
///
/// # Errors
///
/// The same errors as those of [`load_root`].
pub fn load_root_from(files: &dyn Files, directory: &Path) -> Result<Configuration, Diagnostics> {
    let mut loader =
        Loader { files, read: BTreeMap::new(), modules: BTreeMap::new(), problems: Diagnostics::new() };
    let directory = lexically_normalize(directory);
    loader.load(&ModulePath::root(), &directory, None, &mut Vec::new());
    let mut problems = loader.problems;
    let mut configuration = Configuration {
        modules: loader.modules,
        warnings: Diagnostics::new(),
        unresolved: Diagnostics::new(),
    };
    if let Some(root) = configuration.modules.get(&ModulePath::root()) {
        check_root(&root.module, &mut problems);
    }
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
        let detail = "The root module's outputs are stored, and ephemeral values must not be. Remove the \
            argument ephemeral.";
        problems.push(
            Diagnostic::error("Ephemeral output not allowed", detail)
                .at(output.span.clone())
                .in_block(format!("output \"{}\"", output.name)),
        );
    }
}

struct Loader<'a> {
    files: &'a dyn Files,
    /// The modules by directory; `None` if the module could not be read.
    read: BTreeMap<PathBuf, Option<Arc<Module>>>,
    modules: BTreeMap<ModulePath, ModuleNode>,
    problems: Diagnostics,
}

impl Loader<'_> {
    /// Loads a module and the modules that it calls. `above` contains the directories of its
    /// callers.
    fn load(
        &mut self,
        path: &ModulePath,
        directory: &Path,
        call: Option<&ModuleCall>,
        above: &mut Vec<PathBuf>,
    ) {
        let module = match self.read.get(directory) {
            Some(read) => read.clone(),
            None => {
                let mut found = Diagnostics::new();
                let mut read = directory::read(self.files, directory, call, &mut found);
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
        above.push(directory.to_owned());
        for call in module.module_calls.values() {
            let target = match source::local_directory(directory, call, &mut self.problems) {
                Ok(target) if above.contains(&target) => {
                    self.push_once(call_cycle(call, &target));
                    continue;
                }
                Ok(target) => target,
                Err(problem) => {
                    self.push_once(problem);
                    continue;
                }
            };
            self.load(&path.child(call.name.clone()), &target, Some(call), above);
        }
        above.pop();
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
