//! The access that a caller grants a plugin. The default is no access.

use std::path::Path;
use std::sync::Arc;

use wardian_access::{AccessRequest, EnvironmentName};
use wardian_address::ProviderAddress;
use wardian_monitor::Monitor;
use wardian_plugin::PluginCall;

use crate::capability::filesystem::granted::GrantedFiles;

/// All access of one provider configuration, except for clocks and randomness.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Checks every access while the plugin runs.
    pub(crate) monitor: Monitor,
    pub(crate) files: Arc<GrantedFiles>,
    /// The guest's name of its working directory: the result of `initial-cwd` and the variable
    /// `PWD`. It does not grant access to the directory.
    pub(crate) working_directory: Option<String>,
    /// The host's environment variables that are visible to the plugin.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) declared: DeclaredCapabilities,
}

/// Whether the component declares capabilities whose interfaces the runtimes of some languages always
/// import. Without a declaration, the imports are linked, and each use is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredCapabilities {
    pub network: bool,
    pub filesystem: bool,
}

impl Default for DeclaredCapabilities {
    /// Returns all capabilities, for components whose declaration is not compared with their imports.
    fn default() -> Self {
        Self { network: true, filesystem: true }
    }
}

impl Grants {
    /// Returns grants without any access, for a plugin without a name.
    pub fn nothing() -> Self {
        let nobody = ProviderAddress::built_in("nobody");
        Self::denied_by(Monitor::deny_all(&nobody))
    }

    /// Returns grants without directories and variables, for a plugin whose other accesses a
    /// monitor checks.
    pub(crate) fn denied_by(monitor: Monitor) -> Self {
        Self {
            monitor,
            files: Arc::default(),
            working_directory: None,
            environment: Vec::new(),
            declared: DeclaredCapabilities::default(),
        }
    }

    /// Returns the access that a monitor's policy grants in a run whose root module is in
    /// `root_module`, an absolute path. `environment` is the host's environment; the plugin
    /// receives the variables that the policy grants.
    ///
    /// Directories are available under their absolute names, and also under relative names if they
    /// are in the root module. A missing directory does not cause an error. The plugin finds no
    /// files in it, and can create it if it has write access.
    ///
    /// A guest's C library does not distinguish `/tmp/x` from `tmp/x` unless the guest has changed
    /// to its working directory, whose name is the value of `initial-cwd` and `PWD`.
    /// `capability/filesystem/implicit_preopens.rs` describes how the paths of other guests are
    /// interpreted.
    pub fn by_policy(
        monitor: Monitor,
        root_module: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let files = GrantedFiles::by_policy(monitor.policy(), root_module);
        let works_there = files.working_directory().is_some();
        let working_directory = root_module.to_str().filter(|_| works_there).map(str::to_owned);
        let plugin = monitor.policy().plugin().for_display().to_string().into();
        let call = PluginCall::outside_of_calls(&plugin);
        // Variables are granted, and the grants recorded, once for all instances.
        let given = |name: &str| {
            let name = EnvironmentName::new(name).ok().filter(|name| monitor.grants_variable(name.as_str()));
            name.is_some_and(|name| monitor.begin(&call, AccessRequest::Environment(name)).is_ok())
        };
        let environment = environment.into_iter().filter(|(name, _)| given(name)).collect();
        let declared = DeclaredCapabilities::default();
        Self { monitor, files: Arc::new(files), working_directory, environment, declared }
    }

    /// Returns the grants of a component that declares only these capabilities.
    #[must_use]
    pub fn with_declared(self, declared: DeclaredCapabilities) -> Self {
        Self { declared, ..self }
    }

    /// Whether instances have open directories. A component that neither declares files nor has a grant
    /// for a directory has none, so its runtime does not search for files. While a policy is learnt, the
    /// accesses of every component are observed.
    pub(crate) fn has_directories(&self) -> bool {
        self.declared.filesystem
            || !self.files.directories().is_empty()
            || self.monitor.policy().is_learning()
    }

    /// Whether clocks and randomness return the same values in each run.
    pub(crate) fn is_deterministic(&self) -> bool {
        self.monitor.policy().settings().deterministic.as_ref().is_some_and(|set| set.value)
    }
}
