//! The modules that `init` has installed.
//!
//! A module whose source is not a local path is read from the directory in which `init` installed
//! it. The caller provides these directories, because this crate does not install modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wardian_address::{Constraints, ModulePath, Version};
use wardian_diagnostic::{Diagnostic, Span};
use wardian_value::Str;

use crate::blocks::ModuleCall;

/// The installed modules of a root module by their key: the names of the module calls on the path to
/// the module, separated by dots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledModules {
    modules: BTreeMap<String, InstalledModule>,
}

/// An installed module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledModule {
    /// The normalized address from which the module was installed.
    pub source: String,
    /// The version, if the module is from a registry.
    pub version: Option<Version>,
    /// The directory, relative to the root module's directory.
    pub directory: PathBuf,
}

impl InstalledModules {
    pub fn insert(&mut self, key: String, module: InstalledModule) {
        self.modules.insert(key, module);
    }

    pub fn get(&self, key: &str) -> Option<&InstalledModule> {
        self.modules.get(key)
    }

    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &InstalledModule)> {
        self.modules.iter().map(|(key, module)| (key.as_str(), module))
    }
}

impl FromIterator<(String, InstalledModule)> for InstalledModules {
    fn from_iter<I: IntoIterator<Item = (String, InstalledModule)>>(modules: I) -> Self {
        Self { modules: modules.into_iter().collect() }
    }
}

/// A module that a configuration calls and that is not installed, or not in an acceptable version.
#[derive(Clone, Debug)]
pub struct MissingModule {
    pub path: ModulePath,
    /// The key of the run whose module contains the call; `None` for the root module's configuration.
    pub(crate) run: Option<RunKey>,
    /// The `source` argument.
    pub source: String,
    pub source_span: Span,
    /// The span of the call's header.
    pub span: Span,
    /// The accepted versions.
    pub version: Option<(Constraints, Span)>,
    /// The directory of the caller, relative to the root module's directory.
    pub caller: PathBuf,
    pub reason: MissingModuleReason,
}

/// The reason why an installed module cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingModuleReason {
    NotInstalled,
    /// The module call's source has changed since the module was installed.
    SourceChanged,
    /// The installed version no longer meets the module call's version constraint.
    VersionChanged(Option<Version>),
}

impl MissingModule {
    pub(crate) fn new(
        path: ModulePath,
        run: Option<RunKey>,
        call: &ModuleCall,
        caller: &Path,
        reason: MissingModuleReason,
    ) -> Self {
        Self {
            path,
            run,
            source: call.source.clone(),
            source_span: call.source_span.clone(),
            span: call.span.clone(),
            version: call.version.clone(),
            caller: caller.to_owned(),
            reason,
        }
    }

    /// Returns the key of the module in [`InstalledModules`].
    pub fn key(&self) -> String {
        match &self.run {
            Some(run) => run.module_key(&self.path),
            None => key(&self.path),
        }
    }

    /// Returns the header of the block that calls the module.
    pub fn context(&self) -> String {
        match (self.path.names().last(), &self.run) {
            (None, Some(run)) => format!("run \"{}\"", run.name),
            (name, _) => format!("module \"{}\"", name.map(|name| name.as_str()).unwrap_or_default()),
        }
    }

    /// Returns the error for commands that do not install modules.
    pub fn diagnostic(&self) -> Diagnostic {
        let install = "Run `wardian init` to install all modules that the configuration calls.";
        let (summary, detail) = match &self.reason {
            MissingModuleReason::NotInstalled => {
                ("Module not installed", format!("This module is not yet installed. {install}"))
            }
            MissingModuleReason::SourceChanged => (
                "Module source has changed",
                format!("The source address was changed since this module was installed. {install}"),
            ),
            MissingModuleReason::VersionChanged(installed) => {
                let installed =
                    installed.as_ref().map_or_else(String::new, |version| format!(" ({version})"));
                (
                    "Module version requirements have changed",
                    format!(
                        "The version requirements have changed since this module was installed, and the \
                         installed version{installed} is no longer acceptable. {install}"
                    ),
                )
            }
        };
        let span = match self.reason {
            MissingModuleReason::NotInstalled => &self.span,
            MissingModuleReason::SourceChanged | MissingModuleReason::VersionChanged(_) => &self.source_span,
        };
        Diagnostic::error(summary, detail).at(span.clone()).in_block(self.context())
    }
}

/// The key of the module that a run executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunKey {
    /// The key in [`InstalledModules`].
    pub(crate) key: String,
    /// The run's name.
    pub(crate) name: Str,
}

impl RunKey {
    /// Returns the key of a module below the run's module.
    pub(crate) fn module_key(&self, path: &ModulePath) -> String {
        if path.is_root() { self.key.clone() } else { format!("{}.{}", self.key, key(path)) }
    }
}

/// Returns the key of a module: the names on its path, separated by dots.
pub fn key(path: &ModulePath) -> String {
    path.names().iter().map(|name| name.as_str()).collect::<Vec<_>>().join(".")
}
