//! What a caller gives a plugin. The default is nothing.

use std::path::Path;
use std::sync::Arc;

use wardian_access::{AccessRequest, EnvironmentName};
use wardian_address::ProviderAddress;
use wardian_monitor::Monitor;
use wardian_plugin::PluginCall;

use crate::capability::filesystem::granted::GrantedFiles;

/// Everything that one provider configuration may reach beyond clocks and
/// randomness.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Decides on everything that is asked for while the plugin runs.
    pub(crate) monitor: Monitor,
    pub(crate) files: Arc<GrantedFiles>,
    /// The guest's name of the directory that it works in: its `initial-cwd` and
    /// its variable `PWD`. By itself this gives access to nothing.
    pub(crate) working_directory: Option<String>,
    /// Variables of the host's environment that the plugin sees.
    pub(crate) environment: Vec<(String, String)>,
}

impl Grants {
    /// Nothing, for a plugin that nobody has named.
    pub fn nothing() -> Self {
        let nobody = ProviderAddress::built_in("nobody");
        Self::denied_by(Monitor::deny_all(&nobody))
    }

    /// No directory and no variable, for a plugin of which a monitor decides the rest.
    pub(crate) fn denied_by(monitor: Monitor) -> Self {
        Self { monitor, files: Arc::default(), working_directory: None, environment: Vec::new() }
    }

    /// What a monitor's policy grants in a run whose root module is in `root_module`,
    /// an absolute path. `environment` is the host's; of it the plugin sees what the
    /// policy names.
    ///
    /// Directories are found under their absolute names, and under relative ones where
    /// they are in the root module. One that is not there is no error: the plugin finds
    /// nothing in it, and makes it where it may write.
    ///
    /// The C library of a guest does not tell `/tmp/x` from `tmp/x` unless the guest has
    /// made the directory its own in which it works: `initial-cwd` and `PWD` say which
    /// that is. What a path of a guest that has not is taken for, says
    /// `capability/filesystem/beginning.rs`.
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
        // What is granted is given, and recorded, once for all instances.
        let given = |name: &str| {
            let name = EnvironmentName::new(name).ok().filter(|name| monitor.grants_variable(name.as_str()));
            name.is_some_and(|name| monitor.begin(&call, AccessRequest::Environment(name)).is_ok())
        };
        let environment = environment.into_iter().filter(|(name, _)| given(name)).collect();
        Self { monitor, files: Arc::new(files), working_directory, environment }
    }

    /// Whether clock and randomness are the same in each run.
    pub(crate) fn is_deterministic(&self) -> bool {
        self.monitor.policy().settings().deterministic.as_ref().is_some_and(|set| set.value)
    }
}
