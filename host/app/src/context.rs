//! The composition root: connects the crates for one command in one directory.
//!
//! A command requests the components that it needs (configuration, lock file, plugins, engine), and
//! nothing else is loaded: `output` never starts WebAssembly, and `version` reads no configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wardian_access::{AddressKind, HttpAuthority};
use wardian_address::ProviderAddress;
use wardian_backend::BackendHost;
use wardian_builtin::OtherBackends;
use wardian_config::{
    Configuration, Files, GatedFiles, InstalledModules, LoadedRoot, QueryFiles, load_root_with,
    load_root_with_queries,
};
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_download::{DownloadObserver, NetworkAccess};
use wardian_engine::{Directories, EngineContext, Events, ObjectSecrets};
use wardian_install::catalog::Catalog;
use wardian_install::cli_config::{CliConfig, CliConfigError, LoadedCliConfig};
use wardian_install::installed::{ResolveError, ResolvedPlugins, resolve};
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_install::mirror::Platform;
use wardian_install::package::PluginArtifact;
use wardian_install::package_cache::PackageCache;
use wardian_install::plugin_directories::PluginDirectories;
use wardian_install::selection::Requirements;
use wardian_install::sources::Sources;
use wardian_lang::Budget;
use wardian_legacy_grpc_bridge::{Reattachment, parse_reattachments};
use wardian_monitor::AuditLog;
use wardian_network::OperatorAuthority;
use wardian_plugin::ProviderSource;
use wardian_policy::{GrantedDirectory, Level, Policy, load};
use wardian_state::State;
use wardian_value::Str;

use crate::backend;
use crate::catalog;
use crate::configuration_shape::{CONFIGURATION_TARGET, ConfigurationShape};
use crate::consent_lock;
use crate::encryption::{CommandEncryption, RemoteStates};
use crate::enterprise_hosts::EnterpriseHosts;
use crate::environment::ProcessEnvironment;
use crate::error::{AppError, sentence};
use crate::evaluation_limits;
use crate::frontend::{AppEvent, Frontend};
use crate::granted_paths::{self, GrantedPaths, OnChange};
use crate::host_network::{self, HostNetwork, NetworkSettings};
use crate::module_manifest;
use crate::package_servers::PackageServers;
use crate::plugin_caches;
use crate::plugin_path;
use crate::plugins::{self, NativeProcesses, Plugins, Supervision};
use crate::policy_learning;
use crate::protected_files::{Locations, NamedFile};
use crate::requirements::{check_required_versions, requirements_with_tests};
use crate::saved_plan;
use crate::state_store::StateStorePlugins;
use crate::test_suite::TestFiles;
use crate::untrusted::{self, ConfigurationTrust, HostConfinement};
use crate::workspaces::Workspace;

/// A root module's directory and everything that a command requires in it.
pub struct AppContext {
    /// Shows warnings and progress, and asks the user.
    pub frontend: Arc<dyn Frontend>,
    /// Receives the progress of downloads.
    pub(crate) downloads: Arc<dyn DownloadObserver>,
    /// The environment variables.
    pub environment: ProcessEnvironment,
    /// The root module's directory, an absolute path. It is the process's working directory.
    pub directory: PathBuf,
    /// The directory in which Wardian was started, an absolute path.
    pub started_in: PathBuf,
    /// The selected workspace.
    pub workspace: Workspace,
    /// The embedded plugins.
    pub catalog: Catalog,
    /// Whether the warnings of the CLI configuration have been shown. The file is read when it is
    /// needed, and its warnings are shown only once.
    has_shown_cli_config_warnings: AtomicBool,
    /// The keys of warnings that were shown and must not be shown again.
    shown_warnings: Mutex<BTreeSet<&'static str>>,
    /// Providers whose processes are already running because another program has started them.
    pub reattached: BTreeMap<ProviderAddress, Reattachment>,
    /// Native plugins in use, whose processes must be terminated.
    native: Mutex<Vec<NativeProcesses>>,
    /// The addresses of the native plugins that the command uses.
    native_plugins: Mutex<BTreeSet<ProviderAddress>>,
    /// The kinds of addresses that the run may learn; [`None`] if it does not learn.
    learnt_addresses: Option<BTreeSet<AddressKind>>,
    pub(crate) query_files: QueryFiles,
    policy: OnceLock<Arc<Policy>>,
    /// Files named by the command's options.
    named_files: Vec<NamedFile>,
    /// The plugins of state stores.
    pub(crate) state_store_plugins: StateStorePlugins,
    /// The encryption of states and plans.
    pub(crate) encryption: CommandEncryption,
    /// Records plugin accesses.
    pub audit_log: Arc<AuditLog>,
    /// Restricts the files that the host reads for an untrusted configuration. `None` for a trusted
    /// configuration, which can refer to any file that the user can read.
    pub confinement: Option<HostConfinement>,
}

/// The fields of an [`AppContext`] that the caller provides.
pub struct AppOptions {
    pub frontend: Arc<dyn Frontend>,
    /// Receives the progress of downloads.
    pub downloads: Arc<dyn DownloadObserver>,
    pub environment: ProcessEnvironment,
    /// The directory in which Wardian was started, an absolute path.
    pub started_in: PathBuf,
    pub workspace: Workspace,
    pub audit_log: Arc<AuditLog>,
    pub trust: ConfigurationTrust,
    /// Files named by the command's options. Plugins must not change them.
    pub named_files: Vec<NamedFile>,
    /// For a run that learns a policy, the kinds of addresses that it may learn in addition to public
    /// ones.
    pub learnt_addresses: Option<BTreeSet<AddressKind>>,
    /// Whether the query files of the directory are read.
    pub query_files: QueryFiles,
}

impl AppContext {
    /// Returns the context of the process's working directory.
    ///
    /// # Errors
    /// Returns an error if the directory does not exist, or the environment contains invalid settings.
    pub fn new(options: AppOptions) -> Result<Self, AppError> {
        let AppOptions {
            frontend,
            downloads,
            environment,
            started_in,
            workspace,
            audit_log,
            trust,
            named_files,
            learnt_addresses,
            query_files,
        } = options;
        let directory = std::env::current_dir().map_err(|error| {
            AppError::new("No working directory", format!("The working directory cannot be found: {error}."))
        })?;
        let catalog = catalog::embedded();
        let reattached = parse_reattachments(environment.reattached()).map_err(|error| {
            let detail = format!("The variable TF_REATTACH_PROVIDERS is not valid: {error}.");
            AppError::new("Invalid value for TF_REATTACH_PROVIDERS", detail)
        })?;
        let mut context = Self {
            frontend,
            downloads,
            environment,
            directory,
            started_in,
            workspace,
            catalog,
            has_shown_cli_config_warnings: AtomicBool::new(false),
            shown_warnings: Mutex::default(),
            reattached,
            native: Mutex::default(),
            native_plugins: Mutex::default(),
            learnt_addresses,
            query_files,
            policy: OnceLock::new(),
            named_files,
            state_store_plugins: StateStorePlugins::default(),
            encryption: CommandEncryption::default(),
            audit_log,
            confinement: None,
        };
        if trust == ConfigurationTrust::Untrusted {
            let confinement = HostConfinement::new(
                &context.directory,
                &context.data_directory(),
                &context.states()?,
                &context.audit_log,
            )?;
            context.confinement = Some(confinement);
        }
        Ok(context)
    }

    /// Loads the configuration in the directory, and shows its warnings.
    pub fn configuration(&self) -> Result<Arc<Configuration>, AppError> {
        self.accept(self.load_files(Path::new(".")))
    }

    /// Loads the configuration in the directory. Modules that are not installed are omitted.
    pub fn load_with(&self, installed: &InstalledModules) -> LoadedRoot {
        let directory = Path::new(".");
        match &self.confinement {
            Some(confinement) => load_root_with_queries(confinement, directory, installed, self.query_files),
            None => load_root_with_queries(&GatedFiles::default(), directory, installed, self.query_files),
        }
    }

    /// Shows the warnings of a configuration that [`Self::load_with`] has loaded.
    pub fn accept_loaded(&self, configuration: Configuration) -> Result<Arc<Configuration>, AppError> {
        self.accept(Ok(configuration))
    }

    /// Loads the configuration in a directory, with its warnings.
    ///
    /// # Errors
    /// Returns an error if the configuration cannot be read or contains errors; all errors are
    /// returned.
    pub fn load(&self, directory: &Path) -> Result<(Arc<Configuration>, Diagnostics), AppError> {
        Ok(checked(self.load_files(directory)?))
    }

    fn load_files(&self, directory: &Path) -> Result<Configuration, Diagnostics> {
        let installed = module_manifest::read_installed_modules(&self.data_directory());
        let loaded = match &self.confinement {
            Some(confinement) => load_root_with_queries(confinement, directory, &installed, self.query_files),
            None => load_root_with_queries(&GatedFiles::default(), directory, &installed, self.query_files),
        };
        loaded.into_result()
    }

    /// Returns the paths of this directory's states.
    fn states(&self) -> Result<Vec<PathBuf>, AppError> {
        backend::recorded_state_paths(&self.data_directory())
    }

    /// Loads a configuration from another source of files, such as a saved plan.
    pub fn configuration_in(&self, files: &dyn Files) -> Result<(Arc<Configuration>, Diagnostics), AppError> {
        let manifest = files.read(Path::new(saved_plan::MODULE_MANIFEST)).unwrap_or_default();
        let installed = module_manifest::installed_modules(&manifest);
        Ok(checked(load_root_with(files, Path::new("."), &installed).into_result()?))
    }

    fn accept(&self, loaded: Result<Configuration, Diagnostics>) -> Result<Arc<Configuration>, AppError> {
        let (configuration, diagnostics) = checked(loaded?);
        self.set_encryption_root(&configuration.root().module);
        self.frontend.accept(configuration, &diagnostics)
    }

    /// Loads a configuration that must contain files, because a plan for an empty configuration
    /// would destroy everything.
    pub fn configuration_with_files(&self) -> Result<Arc<Configuration>, AppError> {
        require_files(self.configuration()?)
    }

    /// Reads the dependency lock file, and shows its warnings.
    pub fn lock_file(&self) -> Result<LockFile, AppError> {
        self.accept_lock(LockFile::load(Path::new(LOCK_FILE_NAME)))
    }

    /// Parses the content of another dependency lock file.
    pub fn lock_file_in(&self, text: &str) -> Result<LockFile, AppError> {
        self.accept_lock(LockFile::parse(text, Path::new(LOCK_FILE_NAME)))
    }

    fn accept_lock(
        &self,
        loaded: Result<wardian_install::lock_file::LoadedLockFile, wardian_install::lock_file::LockFileError>,
    ) -> Result<LockFile, AppError> {
        let loaded = loaded
            .map_err(|error| AppError::new("Lock file cannot be used", sentence(&error.to_string())))?;
        let warnings: Diagnostics = loaded
            .warnings
            .iter()
            .map(|warning| Diagnostic::warning("Lock file", format!("{warning}.")))
            .collect();
        self.frontend.accept(loaded.lock, &warnings)
    }

    /// Returns the data directory, which contains plugins among other files.
    pub fn data_directory(&self) -> PathBuf {
        self.environment.data_directory()
    }

    /// Returns the CLI configuration, and shows its warnings once.
    ///
    /// # Errors
    /// Returns an error if a file is invalid.
    pub fn cli_config(&self) -> Result<CliConfig, AppError> {
        let loaded = self.load_cli_config().map_err(|error| {
            AppError::new("CLI configuration cannot be used", sentence(&error.to_string()))
        })?;
        if !self.has_shown_cli_config_warnings.swap(true, Ordering::Relaxed) {
            for warning in &loaded.warnings {
                self.frontend.report(AppEvent::CliConfigWarning(&warning.to_string()));
            }
        }
        Ok(loaded.config)
    }

    /// Returns the sources of plugins for a command that makes no requests.
    ///
    /// # Errors
    /// Returns an error if the CLI configuration or a directory of plugins cannot be read.
    pub fn sources(&self) -> Result<Sources<'_>, AppError> {
        let home = self.environment.home();
        let config = self.cli_config()?;
        // No plugins are loaded from the directory of an untrusted configuration.
        let beside = self.confinement.is_none().then(|| PathBuf::from("terraform.d/plugins"));
        let mut implied: Vec<PathBuf> = beside.into_iter().collect();
        implied.extend(home.map(|home| home.join(".terraform.d/plugins")));
        implied.extend(self.environment.plugin_directories());
        let recorded = plugin_path::read(&self.data_directory());
        let given = recorded.map(|directories| plugin_path::installation(&directories));
        let installation = given.as_ref().or(config.provider_installation.as_ref());
        let mut sources =
            Sources::new(&self.catalog, installation, &implied, Platform::current()).map_err(|error| {
                AppError::new("Plugin directory cannot be read", sentence(&error.to_string()))
            })?;
        sources.running = self.reattached.keys().cloned().collect();
        sources.digests = Arc::new(plugin_caches::file_digests(&self.environment, &self.directory));
        Ok(sources.with_plugin_directories(self.plugin_directories()))
    }

    /// Returns the clients for the host's own requests. No request is sent.
    ///
    /// # Errors
    /// Returns an error if a setting in the environment or in the CLI configuration is invalid.
    pub fn network(&self, access: NetworkAccess) -> Result<HostNetwork, AppError> {
        self.network_with(access, Arc::new(OperatorAuthority))
    }

    fn network_with(
        &self,
        access: NetworkAccess,
        authority: Arc<dyn HttpAuthority>,
    ) -> Result<HostNetwork, AppError> {
        let access = if self.environment.is_offline() { NetworkAccess::Offline } else { access };
        let platform = Platform::current();
        let own = self.environment.home().map(|home| home.join(".terraform.d/plugins"));
        let helper_directories = own.into_iter().flat_map(|own| [own.join(platform.as_str()), own]);
        HostNetwork::new(NetworkSettings {
            authority,
            environment: &self.environment,
            config: &self.cli_config()?,
            access,
            observer: Arc::clone(&self.downloads),
            helper_directories: helper_directories.collect(),
            directory: &self.directory,
        })
    }

    /// Returns the environment in which backends work. No request is sent. The CLI configuration is
    /// read only for backends that find services of hosts.
    pub(crate) fn backend_host(&self, needs_service_hosts: bool) -> BackendHost {
        let mut host = host_network::backend_host(&self.environment, &self.directory, &self.audit_log);
        if needs_service_hosts {
            // An error is reported when a backend needs a service of a host.
            let requests = self.host_requests("backend");
            let registry = self.network_with(NetworkAccess::Online, requests).map(|network| network.registry);
            let registry = registry.map_err(|error| {
                let problems = error.into_diagnostics();
                problems
                    .iter()
                    .map(|one| format!("{}: {}", one.summary, one.detail))
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            host.services = Arc::new(EnterpriseHosts::new(registry));
        }
        host
    }

    /// Returns the authority that records the host's own requests for a purpose.
    pub(crate) fn host_requests(&self, purpose: &'static str) -> Arc<dyn HttpAuthority> {
        host_network::host_requests(purpose, &self.audit_log)
    }

    /// Shows a warning that a command may encounter several times, once.
    pub(crate) fn warn_once(&self, key: &'static str, warning: &Diagnostic) {
        if self.shown_warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            self.frontend.warn(&warning.clone().into());
        }
    }

    /// Returns the sources of plugins for a command that may send requests.
    ///
    /// # Errors
    /// Returns an error if the CLI configuration, the plugin cache or a directory of plugins cannot
    /// be read.
    pub fn network_sources(&self, network: &HostNetwork) -> Result<Sources<'_>, AppError> {
        let mut sources = self.sources()?;
        let servers =
            PackageServers::new(network.downloader.clone(), network.registry.clone(), network.oci.clone());
        sources.network = Some(Arc::new(servers));
        sources.cache = self.plugin_cache()?;
        Ok(sources)
    }

    /// Returns the plugin cache, if one is configured.
    ///
    /// # Errors
    /// Returns an error if the cache's directory does not exist and cannot be created.
    pub fn plugin_cache(&self) -> Result<Option<PackageCache>, AppError> {
        let config = self.cli_config()?;
        let Some(directory) = self.environment.plugin_cache().or(config.plugin_cache_dir) else {
            return Ok(None);
        };
        if let Err(error) = std::fs::create_dir_all(&directory) {
            let detail = format!(
                "The plugin cache directory {} cannot be created: {}.",
                directory.display(),
                system_reason(&error)
            );
            return Err(AppError::new("Plugin cache directory cannot be used", detail));
        }
        let may_break = config.plugin_cache_may_break_dependency_lock_file
            || self.environment.plugin_cache_may_break_lock_file();
        Ok(Some(PackageCache::new(directory, may_break)))
    }

    fn load_cli_config(&self) -> Result<LoadedCliConfig, CliConfigError> {
        let home = self.environment.home();
        let named = self.environment.cli_config_file();
        let own = || home.as_ref().map(|home| home.join(".terraformrc")).filter(|path| path.is_file());
        let main_file = named.clone().or_else(own);
        // If the environment specifies a CLI configuration file, the files in `~/.terraform.d` are
        // not read.
        let directory = match named {
            Some(_) => None,
            None => home.as_ref().map(|home| home.join(".terraform.d")),
        };
        let variables = |name: &str| self.environment.get(name);
        CliConfig::load(main_file.as_deref(), directory.as_deref(), &variables)
    }

    /// Returns the directories that are searched for provisioners, in Terraform's order.
    fn plugin_directories(&self) -> PluginDirectories {
        let platform = Platform::current();
        let program = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned));
        let own = self.environment.home().map(|home| home.join(".terraform.d/plugins"));
        let of_this_machine = program.into_iter();
        let of_the_person = own.into_iter().flat_map(|own| [own.clone(), own.join(platform.as_str())]);
        if self.confinement.is_some() {
            return PluginDirectories::new(of_this_machine.chain(of_the_person).collect());
        }
        let beside = PathBuf::from("terraform.d/plugins");
        let of_the_project = [
            beside.join(platform.as_str()),
            beside,
            self.data_directory().join("plugins").join(platform.as_str()),
        ];
        let first = std::iter::once(PathBuf::from(".")).chain(of_this_machine);
        PluginDirectories::new(first.chain(of_the_project).chain(of_the_person).collect())
    }

    /// Returns the installed plugins that a configuration and a state require. The plugins are
    /// checked against the lock files.
    pub fn plugins(
        &self,
        configuration: &Configuration,
        state: Option<&State>,
        lock: &LockFile,
        parallelism: usize,
    ) -> Result<Arc<Plugins>, AppError> {
        self.plugins_with_tests(configuration, &TestFiles::default(), state, lock, parallelism)
    }

    /// Returns the plugins of a configuration, a state and test files.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::plugins`].
    pub fn plugins_with_tests(
        &self,
        configuration: &Configuration,
        tests: &TestFiles,
        state: Option<&State>,
        lock: &LockFile,
        parallelism: usize,
    ) -> Result<Arc<Plugins>, AppError> {
        let mut requirements = requirements_with_tests(configuration, state, tests);
        for configuration in tests.with_root(configuration) {
            plugins::require_provisioners(&mut requirements, configuration, |address| {
                lock.providers.contains_key(address)
            });
        }
        let resolved = if requirements.providers.keys().all(ProviderAddress::is_built_in) {
            ResolvedPlugins::default()
        } else {
            let sources = self.sources()?;
            self.warn_of_overrides(&requirements, &sources);
            resolve(&requirements, lock, &sources, &self.data_directory()).map_err(|errors| {
                let to_diagnostic =
                    |error: &ResolveError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
                errors.iter().map(to_diagnostic).collect::<Diagnostics>()
            })?
        };
        consent_lock::check(&resolved.artifacts, &self.directory)?;
        let running =
            self.reattached.iter().filter(|(address, _)| requirements.providers.contains_key(*address));
        let running = running.map(|(address, running)| (address.clone(), running.clone())).collect();
        let plugins = self.plugins_from(resolved.artifacts, running, parallelism)?;
        self.record_native(&plugins);
        Ok(Arc::new(plugins))
    }

    /// Records the native plugins, whose processes must be terminated.
    pub(crate) fn record_native(&self, plugins: &Plugins) {
        let mut native = self.native.lock().unwrap_or_else(PoisonError::into_inner);
        native.extend(plugins.native());
        drop(native);
        let mut addresses = self.native_plugins.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.extend(plugins.native_addresses().cloned());
    }

    /// Returns the native plugins that the command uses.
    pub(crate) fn native_plugins(&self) -> BTreeSet<ProviderAddress> {
        self.native_plugins.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns plugins for the given artifacts and running processes.
    pub fn plugins_from(
        &self,
        artifacts: BTreeMap<ProviderAddress, PluginArtifact>,
        running: BTreeMap<ProviderAddress, Reattachment>,
        parallelism: usize,
    ) -> Result<Plugins, AppError> {
        let mut policy = (*self.policy()?).clone();
        policy.fix_targets(self.check_granted_paths(&policy, &artifacts)?);
        let supervision = Supervision {
            policy: Arc::new(policy),
            audit_log: Arc::clone(&self.audit_log),
            states: self.confinement.as_ref().map(HostConfinement::state_gate).unwrap_or_default(),
            backends: match &self.confinement {
                None => OtherBackends::All(Box::new(self.backend_host(true))),
                Some(_) => OtherBackends::Permitted(Arc::new(self.untrusted_services()?)),
            },
            remote_states: RemoteStates::new(self),
        };
        let directory = self.directory.clone();
        Plugins::new(
            artifacts,
            running,
            directory,
            parallelism,
            &supervision,
            &self.environment,
            &self.frontend,
        )
    }

    /// Returns the policy in effect.
    ///
    /// # Errors
    /// Returns all errors in all policy files. No plugin runs with an invalid policy.
    pub fn policy(&self) -> Result<Arc<Policy>, AppError> {
        if let Some(policy) = self.policy.get() {
            return Ok(Arc::clone(policy));
        }
        let policy = self.load_policy()?;
        Ok(Arc::clone(self.policy.get_or_init(|| Arc::new(policy))))
    }

    fn load_policy(&self) -> Result<Policy, AppError> {
        let mut policy = load(&self.environment.policy_places(&self.directory, &self.started_in))?;
        Locations {
            directory: &self.directory,
            environment: &self.environment,
            // An invalid CLI configuration is ignored here, because no plugins are found with it.
            cli_config: &self.load_cli_config().unwrap_or_default().config,
            states: &self.states()?,
            named_files: &self.named_files,
        }
        .protect(&mut policy);
        if let Some(path) = self.audit_log.path() {
            policy.make_read_only(path);
        }
        if let Some(private) = self.environment.private_directory() {
            policy.protect(
                wardian_access::ProtectedClass::Policies,
                &private.join(granted_paths::DIRECTORY_NAME),
            );
        }
        if let Some(addresses) = &self.learnt_addresses {
            policy.learn(policy_learning::learning(addresses, &self.directory, &self.environment));
        }
        if self.confinement.is_some() {
            policy.distrust(untrusted::hidden_paths(
                &self.directory,
                &self.data_directory(),
                &self.states()?,
            ));
        }
        Ok(policy)
    }

    /// Compares the directories that policies grant to these plugins and to provisioners with the
    /// recorded directories, and records new directories. Returns the directories that the granted
    /// paths resolve to.
    fn check_granted_paths(
        &self,
        policy: &Policy,
        artifacts: &BTreeMap<ProviderAddress, PluginArtifact>,
    ) -> Result<BTreeMap<PathBuf, PathBuf>, AppError> {
        let provisioners = catalog::provisioner_types();
        let provisioners = provisioners.iter().map(|name| ProviderAddress::built_in(name));
        let used: Vec<ProviderAddress> = artifacts.keys().cloned().chain(provisioners).collect();
        self.check_grants(policy, OnChange::Reject, |granted| {
            used.iter().any(|address| granted.is_for(address))
        })
    }

    fn check_grants(
        &self,
        policy: &Policy,
        on_change: OnChange,
        is_checked: impl Fn(&GrantedDirectory<'_>) -> bool,
    ) -> Result<BTreeMap<PathBuf, PathBuf>, AppError> {
        let is_untrusted = self.confinement.is_some();
        let granted = policy.granted_directories().filter(|granted| {
            // In an untrusted configuration, the root module's policy grants nothing.
            is_checked(granted) && !(is_untrusted && granted.level == Level::RootModule)
        });
        let private = self.environment.private_directory();
        let mut record = GrantedPaths::open(private.as_deref(), &self.directory)?;
        let (targets, warnings) = record.check(policy, granted, on_change)?;
        if !warnings.is_empty() {
            self.frontend.warn(&warnings);
        }
        if !is_untrusted {
            record.save();
        }
        Ok(targets)
    }

    /// Records the directories that all policies grant. Warns about directories that have changed,
    /// because the user now grants the new directories.
    ///
    /// # Errors
    /// Returns an error if the path of a directory contains a link that a plugin may have created.
    pub fn record_granted_paths(&self) -> Result<(), AppError> {
        let on_change = if self.confinement.is_some() { OnChange::Reject } else { OnChange::Record };
        // Consent may have added rules since the policies were read.
        self.check_grants(&self.load_policy()?, on_change, |_| true).map(drop)
    }

    /// Records the directories that the root module's policy grants to a plugin, after the user has
    /// changed the policy.
    ///
    /// # Errors
    /// Returns an error if the policies cannot be read, or the path of a directory contains a link
    /// that a plugin may have created.
    pub fn record_grants_to(&self, address: &ProviderAddress) -> Result<(), AppError> {
        let is_new =
            |granted: &GrantedDirectory<'_>| granted.level == Level::RootModule && granted.is_for(address);
        self.check_grants(&self.load_policy()?, OnChange::Record, is_new).map(drop)
    }

    /// Terminates the processes of native plugins.
    pub async fn close(&self) {
        self.state_store_plugins.close().await;
        let native = std::mem::take(&mut *self.native.lock().unwrap_or_else(PoisonError::into_inner));
        for plugin in native {
            plugin.close().await;
        }
    }

    fn warn_of_overrides(&self, requirements: &Requirements, sources: &Sources<'_>) {
        let used: Vec<String> = sources
            .overrides
            .iter()
            .filter(|(address, _)| requirements.providers.contains_key(address))
            .map(|(address, path)| {
                let place = format!(" - {} in {}", address.for_display(), path.display());
                match self.catalog.versions_of(address).max() {
                    Some(embedded) => format!("{place}, instead of the embedded v{embedded}"),
                    None => place,
                }
            })
            .collect();
        if !used.is_empty() {
            let detail = format!(
                "The CLI configuration overrides these plugins with versions under development. Neither \
                 their version nor their hash is checked:\n{}",
                used.join("\n")
            );
            let warning = Diagnostic::warning("Provider development overrides are in effect", detail);
            self.frontend.warn(&warning.into());
        }
    }

    /// Returns all inputs of the engine for a configuration.
    pub fn engine_run(
        &self,
        configuration: Arc<Configuration>,
        plugins: Arc<Plugins>,
        events: Arc<dyn Events>,
    ) -> EngineContext {
        let files = match &self.confinement {
            Some(confinement) => confinement.function_files(),
            None => GatedFiles::anywhere(plugins.writable_directories()),
        };
        EngineContext {
            configuration,
            providers: Arc::clone(&plugins) as Arc<dyn ProviderSource>,
            provisioners: plugins,
            events,
            workspace: Str::new(&self.workspace.name),
            directories: Directories {
                root_directory: self.directory.clone(),
                working_directory: self.started_in.clone(),
                home_directory: self.environment.home(),
                files,
            },
            secrets: match self.confinement {
                Some(_) => ObjectSecrets::Withheld,
                None => ObjectSecrets::Available,
            },
            test: None,
            accepted: None,
            budget: Arc::new(Budget::new(evaluation_limits::for_run(
                self.policy.get().map(|policy| &**policy),
                self.confinement.is_some(),
            ))),
        }
    }
}

/// Returns a configuration that contains files.
///
/// # Errors
/// Returns an error if the configuration contains no files.
pub fn require_files(configuration: Arc<Configuration>) -> Result<Arc<Configuration>, AppError> {
    if configuration.files().next().is_none() {
        return Err(AppError::new(
            "No configuration files",
            "There is no .tf file in this directory. Create one, or specify another directory with \
             -chdir=DIR. A plan without a configuration would destroy everything, which is rarely \
             intended; if it is, run `wardian destroy`.",
        ));
    }
    Ok(configuration)
}

/// Returns a loaded configuration with its warnings and version errors.
pub(crate) fn checked(configuration: Configuration) -> (Arc<Configuration>, Diagnostics) {
    let mut diagnostics = configuration.warnings.clone();
    check_required_versions(&configuration, &mut diagnostics);
    tracing::info!(target: CONFIGURATION_TARGET, shape = %ConfigurationShape(&configuration));
    let configuration = Arc::new(configuration);
    // The process exits after the command, so the memory is not freed. Freeing it would take a
    // tenth of the time that `validate` takes.
    std::mem::forget(Arc::clone(&configuration));
    (configuration, diagnostics)
}
