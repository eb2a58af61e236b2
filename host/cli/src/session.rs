//! The composition root: where the rooms of the house are put together for one
//! command, in one directory.
//!
//! A command asks for what it needs (configuration, lock file, plugins, a run)
//! and nothing else is loaded: `output` never starts WebAssembly, and `version`
//! reads no configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wardian_address::{Constraints, ProviderAddress, Version};
use wardian_config::{Configuration, Files, load_root, load_root_from};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::{Environment as Place, Run};
use wardian_install::catalogue::Catalogue;
use wardian_install::cli_config::CliConfig;
use wardian_install::installed::{ResolveError, ResolvedPlugins, resolve};
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_install::mirror::Platform;
use wardian_install::package::PluginArtifact;
use wardian_install::plugin_directories::PluginDirectories;
use wardian_install::selection::Requirements;
use wardian_install::sources::Sources;
use wardian_legacy_grpc_bridge::{Reattachment, parse_reattachments};
use wardian_monitor::AuditLog;
use wardian_plugin::ProviderSource;
use wardian_policy::{Policy, load};
use wardian_state::State;
use wardian_value::Str;

use crate::agreements;
use crate::backend;
use crate::catalogue;
use crate::compatibility::{DEFAULT_WORKSPACE, TERRAFORM_VERSION};
use crate::environment::Environment;
use crate::failure::{Failure, Outcome, sentence};
use crate::kept;
use crate::plugins::{NativeProcesses, Plugins, Supervision};
use crate::progress::Progress;
use crate::provisioners;
use crate::shell::Shell;
use crate::untrusted::{self, Confinement, Trust};
use crate::workspaces::Workspace;

/// One command in one directory.
pub(crate) struct Session {
    /// Where output goes.
    pub(crate) shell: Arc<Shell>,
    /// What the environment asks for.
    pub(crate) environment: Environment,
    /// The root module's directory, absolute; the process is in it.
    pub(crate) directory: PathBuf,
    /// Where the program was started, absolute.
    pub(crate) started_in: PathBuf,
    /// The workspace whose state is worked on.
    pub(crate) workspace: Workspace,
    pub(crate) catalogue: Catalogue,
    /// The CLI configuration is read where it is needed, and complained about once.
    warned_of_settings: AtomicBool,
    /// Providers that run already, in a process that somebody else started.
    pub(crate) reattached: BTreeMap<ProviderAddress, Reattachment>,
    /// Native plugins that were handed out, whose processes have to end.
    native: Mutex<Vec<NativeProcesses>>,
    policy: OnceLock<Arc<Policy>>,
    /// Where it is recorded what plugins touch.
    pub(crate) audit_log: Arc<AuditLog>,
    /// What the host reads for the configuration of a stranger; any other may name
    /// whatever the user can read.
    pub(crate) confinement: Option<Confinement>,
}

impl Session {
    /// A session in the process's directory.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn new(
        shell: Arc<Shell>,
        environment: Environment,
        started_in: PathBuf,
        workspace: Workspace,
        audit_log: Arc<AuditLog>,
        trust: Trust,
    ) -> Outcome<Self> {
        let directory = std::env::current_dir().map_err(|error| {
            Failure::error("No working directory", format!("The working directory cannot be found: {error}."))
        })?;
        let catalogue = catalogue::embedded();
        let reattached = parse_reattachments(environment.reattached()).map_err(|error| {
            let detail = format!("The variable TF_REATTACH_PROVIDERS cannot be followed: {error}.");
            Failure::error("Invalid providers to reattach to", detail)
        })?;
        let mut session = Self {
            shell,
            environment,
            directory,
            started_in,
            workspace,
            catalogue,
            warned_of_settings: AtomicBool::new(false),
            reattached,
            native: Mutex::default(),
            policy: OnceLock::new(),
            audit_log,
            confinement: None,
        };
        if trust == Trust::Stranger {
            let confinement = Confinement::new(
                &session.directory,
                &session.data_directory(),
                &session.states()?,
                &session.audit_log,
            )?;
            session.confinement = Some(confinement);
        }
        Ok(session)
    }

    /// The configuration in the directory. Warnings are shown.
    pub(crate) fn configuration(&self) -> Outcome<Arc<Configuration>> {
        self.accept(self.load_files(Path::new(".")))
    }

    /// The configuration in a directory, with what there is to say about it.
    ///
    /// # Errors
    /// Where it cannot be read; all that is wrong then.
    pub(crate) fn load(&self, directory: &Path) -> Outcome<(Arc<Configuration>, Diagnostics)> {
        Ok(checked(self.load_files(directory)?))
    }

    fn load_files(&self, directory: &Path) -> Result<Configuration, Diagnostics> {
        match &self.confinement {
            Some(confinement) => load_root_from(confinement, directory),
            None => load_root(directory),
        }
    }

    /// Where states of this directory are.
    fn states(&self) -> Outcome<Vec<PathBuf>> {
        let backend = backend::as_recorded(self)?;
        let directory = backend.workspace_directory();
        Ok(vec![backend.state_path(DEFAULT_WORKSPACE), directory])
    }

    /// A configuration in other files, such as those of a saved plan.
    pub(crate) fn configuration_in(&self, files: &dyn Files) -> Outcome<Arc<Configuration>> {
        self.accept(load_root_from(files, Path::new(".")))
    }

    fn accept(&self, loaded: Result<Configuration, Diagnostics>) -> Outcome<Arc<Configuration>> {
        let (configuration, diagnostics) = checked(loaded?);
        self.shell.warned(configuration, &diagnostics)
    }

    /// A configuration that must have files: without any, a plan would destroy
    /// everything.
    pub(crate) fn configuration_with_files(&self) -> Outcome<Arc<Configuration>> {
        let configuration = self.configuration()?;
        if configuration.files().next().is_none() {
            return Err(Failure::error(
                "No configuration files",
                "There is no .tf file in this directory. A plan without a configuration would destroy everything, which \
                 is rarely meant; if it is, run `wardian destroy`.",
            ));
        }
        Ok(configuration)
    }

    /// The lock file's content. Warnings are shown.
    pub(crate) fn lock_file(&self) -> Outcome<LockFile> {
        self.accept_lock(LockFile::load(Path::new(LOCK_FILE_NAME)))
    }

    /// The content of a lock file that is elsewhere.
    pub(crate) fn lock_file_in(&self, text: &str) -> Outcome<LockFile> {
        self.accept_lock(LockFile::parse(text, Path::new(LOCK_FILE_NAME)))
    }

    fn accept_lock(
        &self,
        loaded: Result<wardian_install::lock_file::LoadedLockFile, wardian_install::lock_file::LockFileError>,
    ) -> Outcome<LockFile> {
        let loaded = loaded
            .map_err(|error| Failure::error("Lock file cannot be used", sentence(&error.to_string())))?;
        let warnings: Diagnostics = loaded
            .warnings
            .iter()
            .map(|warning| Diagnostic::warning("Lock file", format!("{warning}.")))
            .collect();
        self.shell.warned(loaded.lock, &warnings)
    }

    /// Where plugins and other data of this directory are.
    pub(crate) fn data_directory(&self) -> PathBuf {
        self.environment.data_directory()
    }

    /// Where plugins may come from. Warnings are shown.
    pub(crate) fn sources(&self) -> Outcome<Sources<'_>> {
        let home = self.environment.home();
        let named = self.environment.cli_config_file();
        let own = || home.as_ref().map(|home| home.join(".terraformrc")).filter(|path| path.is_file());
        let main_file = named.clone().or_else(own);
        // A file that is asked for stands alone.
        let directory = match named {
            Some(_) => None,
            None => home.as_ref().map(|home| home.join(".terraform.d")),
        };
        let variables = |name: &str| self.environment.get(name);
        let loaded =
            CliConfig::load(main_file.as_deref(), directory.as_deref(), &variables).map_err(|error| {
                Failure::error("CLI configuration cannot be used", sentence(&error.to_string()))
            })?;
        if !self.warned_of_settings.swap(true, Ordering::Relaxed) {
            for warning in &loaded.warnings {
                self.shell.note(format_args!("Warning: {warning}"));
            }
        }
        // What lies in the directory of a stranger's configuration is the stranger's.
        let beside = self.confinement.is_none().then(|| PathBuf::from("terraform.d/plugins"));
        let mut implied: Vec<PathBuf> = beside.into_iter().collect();
        implied.extend(home.map(|home| home.join(".terraform.d/plugins")));
        implied.extend(self.environment.plugin_directories());
        let installation = loaded.config.provider_installation.as_ref();
        let mut sources = Sources::new(&self.catalogue, installation, &implied, Platform::current())
            .map_err(|error| {
                Failure::error("Plugin directory cannot be read", sentence(&error.to_string()))
            })?;
        sources.running = self.reattached.keys().cloned().collect();
        sources.digests = Arc::new(kept::file_digests(&self.environment, &self.directory));
        Ok(sources.with_plugin_directories(self.plugin_directories()))
    }

    /// Where provisioners are files, in Terraform's order.
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

    /// The installed plugins that a configuration and a state need, checked
    /// against the lock file.
    pub(crate) fn plugins(
        &self,
        configuration: &Configuration,
        state: Option<&State>,
        lock: &LockFile,
        parallelism: usize,
    ) -> Outcome<Arc<Plugins>> {
        let mut requirements = requirements(configuration, state);
        provisioners::require(&mut requirements, configuration, |address| {
            lock.providers.contains_key(address)
        });
        let resolved = if requirements.providers.keys().all(ProviderAddress::is_built_in) {
            ResolvedPlugins::default()
        } else {
            let sources = self.sources()?;
            self.warn_of_overrides(&requirements, &sources);
            resolve(&requirements, lock, &sources, &self.data_directory()).map_err(|errors| {
                let told =
                    |error: &ResolveError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
                errors.iter().map(told).collect::<Diagnostics>()
            })?
        };
        agreements::check(&resolved.artifacts, self)?;
        let running =
            self.reattached.iter().filter(|(address, _)| requirements.providers.contains_key(*address));
        let running = running.map(|(address, running)| (address.clone(), running.clone())).collect();
        let plugins = self.plugins_of(resolved.artifacts, running, parallelism)?;
        let mut native = self.native.lock().unwrap_or_else(PoisonError::into_inner);
        native.extend(plugins.native());
        Ok(Arc::new(plugins))
    }

    /// Plugins that are there, whoever asks for them.
    pub(crate) fn plugins_of(
        &self,
        artifacts: BTreeMap<ProviderAddress, PluginArtifact>,
        running: BTreeMap<ProviderAddress, Reattachment>,
        parallelism: usize,
    ) -> Outcome<Plugins> {
        let supervision = Supervision {
            policy: self.policy()?,
            audit_log: Arc::clone(&self.audit_log),
            states: self.confinement.as_ref().map(Confinement::of_states).unwrap_or_default(),
        };
        let directory = self.directory.clone();
        Plugins::new(artifacts, running, directory, parallelism, &supervision, &self.environment, &self.shell)
    }

    /// What plugins may touch.
    ///
    /// # Errors
    /// All that is wrong with any policy file: nothing runs then.
    pub(crate) fn policy(&self) -> Outcome<Arc<Policy>> {
        if let Some(policy) = self.policy.get() {
            return Ok(Arc::clone(policy));
        }
        let mut policy = load(&self.environment.policy_places(&self.directory, &self.started_in))?;
        if let Some(path) = self.audit_log.path() {
            policy.protect(path);
        }
        if self.confinement.is_some() {
            policy.distrust(untrusted::hidden(&self.directory, &self.data_directory(), &self.states()?));
        }
        Ok(Arc::clone(self.policy.get_or_init(|| Arc::new(policy))))
    }

    /// Ends what goes on outside of the process.
    pub(crate) async fn close(&self) {
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
                match self.catalogue.versions_of(address).max() {
                    Some(embedded) => format!("{place}, instead of v{embedded} that is part of this program"),
                    None => place,
                }
            })
            .collect();
        if !used.is_empty() {
            let detail = format!(
                "The CLI configuration says to take these plugins from places under development. Neither their \
                 version nor their hash is checked:\n{}",
                used.join("\n")
            );
            let warning = Diagnostic::warning("Provider development overrides are in effect", detail);
            self.shell.diagnostics(&warning.into());
        }
    }

    /// All that the engine needs to work on a configuration.
    pub(crate) fn run(&self, configuration: Arc<Configuration>, plugins: Arc<Plugins>) -> Run {
        Run {
            configuration,
            providers: Arc::clone(&plugins) as Arc<dyn ProviderSource>,
            provisioners: plugins,
            events: Arc::new(Progress::new(&self.shell)),
            workspace: Str::new(&self.workspace.name),
            environment: Place {
                root_directory: self.directory.clone(),
                working_directory: self.started_in.clone(),
                home_directory: self.environment.home(),
                file_gate: self.confinement.as_ref().map(Confinement::of_functions).unwrap_or_default(),
            },
        }
    }
}

/// What the configuration, and objects that it no longer has, need.
pub(crate) fn requirements(configuration: &Configuration, state: Option<&State>) -> Requirements {
    let mut requirements = Requirements::default();
    for (address, requirement) in configuration.provider_requirements() {
        if requirement.origins.is_empty() {
            requirements.add(address, requirement.constraints, "the configuration");
            continue;
        }
        for (module, constraints, span) in requirement.origins {
            let origin = match (span, module.is_root()) {
                (Some(span), _) => {
                    format!("{}:{}", span.file.name(), span.start_position().line)
                }
                (None, true) => "the root module".to_owned(),
                (None, false) => module.to_string(),
            };
            requirements.add(address.clone(), constraints, origin);
        }
    }
    for address in state.into_iter().flat_map(providers_of) {
        if !requirements.providers.contains_key(&address) {
            requirements.add(address, Constraints::default(), "the state");
        }
    }
    requirements
}

/// The providers of what is in a state.
pub(crate) fn providers_of(state: &State) -> BTreeSet<ProviderAddress> {
    state.resources().map(|(_, resource)| resource.provider.provider.clone()).collect()
}

/// A configuration that could be read, with what there is to say about it.
fn checked(configuration: Configuration) -> (Arc<Configuration>, Diagnostics) {
    let mut diagnostics = configuration.warnings.clone();
    check_required_versions(&configuration, &mut diagnostics);
    let configuration = Arc::new(configuration);
    // The process ends with its command: taking a large tree apart before would be
    // a tenth of a `validate`.
    std::mem::forget(Arc::clone(&configuration));
    (configuration, diagnostics)
}

fn check_required_versions(configuration: &Configuration, diagnostics: &mut Diagnostics) {
    let Ok(ours) = TERRAFORM_VERSION.parse::<Version>() else { return };
    for node in configuration.modules() {
        for required in &node.module.required_versions {
            if required.constraints.accepts(&ours) {
                continue;
            }
            let whose = if node.path.is_root() {
                "This configuration".to_owned()
            } else {
                format!("The module {}", node.path)
            };
            diagnostics.push(
                Diagnostic::error(
                    "Unsupported Terraform version",
                    format!(
                        "{whose} asks for Terraform {}, and this program has the behaviour of Terraform \
                         {TERRAFORM_VERSION}. Use another version of the program, or change required_version if it \
                         is stricter than it has to be.",
                        required.constraints
                    ),
                )
                .at(required.span.clone()),
            );
        }
    }
}
