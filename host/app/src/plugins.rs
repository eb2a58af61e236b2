//! The plugins of a run. They are checked before the run begins. Each plugin is loaded on first
//! use.

mod provisioners;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use wardian_address::{ProviderAddress, provisioner_name};
use wardian_builtin::OtherBackends;
use wardian_declaration::InspectError;
use wardian_diagnostic::{Diagnostic, system_reason};
use wardian_files::WritableDirectories;
use wardian_install::package::{ComponentArtifact, NativeArtifact, PluginArtifact, PluginOrigin};
use wardian_legacy_grpc_bridge::{
    Bridge, NativeLimits, NativePackage, NativePlugin, NativeProvisioner, ProcessConfinement, Reattachment,
    Security,
};
use wardian_monitor::{AuditLog, Monitor};
use wardian_network::proxy::ProxySettings;
use wardian_plugin::{
    CallContext, FileGate, MistakeKind, PluginDiagnostic, PluginDiagnostics, Provider, ProviderSource,
    StateStorePlugin, schema_mistakes,
};
use wardian_policy::{CapabilityRequest, NativePlugins, PluginPolicy, Policy};
use wardian_sandbox::{
    CacheDirectories, Compiler, CompilerProcess, DeclaredCapabilities, EngineSettings, Grants, InProcess,
    LoadEvent, LoadedPlugin, NetworkOptions, Sandbox, SandboxOptions,
};

use crate::built_in;
use crate::call_recording::CallRecording;
use crate::encryption::RemoteStates;
use crate::environment::ProcessEnvironment;
use crate::error::AppError;
use crate::frontend::{AppEvent, Frontend};
use crate::host_secrets::HostSecrets;
use crate::native_confinement::{self, NativeProgram};
use crate::native_environment;
use crate::paths::lies_within;
use crate::plugin_caches;
use crate::plugin_name::plugin_name;
use crate::plugin_policy;
use provisioners::LoadedProvisioners;

/// Provides the installed providers and provisioners of a run.
pub struct Plugins {
    pub(crate) sandbox: Arc<Sandbox>,
    /// The reason why the cache is not used, if plugins could write to it.
    exposed_cache: Option<String>,
    pub(crate) by_address: BTreeMap<ProviderAddress, Plugin>,
    native: BTreeMap<ProviderAddress, NativePlugin>,
    pub(crate) native_provisioners: BTreeMap<ProviderAddress, NativeProvisioner>,
    /// The absolute path of the directory to which relative paths in grants are relative.
    pub(crate) working_directory: PathBuf,
    /// The host's environment variables. A policy may grant some of them.
    pub(crate) environment: Vec<(String, String)>,
    states: FileGate,
    backends: OtherBackends,
    remote_states: RemoteStates,
    pub(crate) frontend: Arc<dyn Frontend>,
    /// The policy and the audit log, which also apply to provisioners.
    pub(crate) supervision: Supervision,
    pub(crate) provisioners: LoadedProvisioners,
    /// The file in which calls are recorded.
    recording: Option<Arc<CallRecording>>,
}

/// A native plugin whose processes must be terminated.
#[derive(Clone)]
pub enum NativeProcesses {
    /// The processes of a provider.
    Provider(NativePlugin),
    /// The process of a provisioner.
    Provisioner(NativeProvisioner),
}

impl NativeProcesses {
    /// Terminates the processes.
    pub async fn close(&self) {
        match self {
            Self::Provider(plugin) => plugin.close().await,
            Self::Provisioner(plugin) => plugin.close().await,
        }
    }
}

/// The policy, and the audit log in which accesses are recorded.
#[derive(Clone)]
pub struct Supervision {
    pub policy: Arc<Policy>,
    /// Records plugin accesses.
    pub audit_log: Arc<AuditLog>,
    /// Checks which files with other states may be read.
    pub states: FileGate,
    /// The backends whose states can be read.
    pub backends: OtherBackends,
    /// The encryption of other states.
    pub(crate) remote_states: RemoteStates,
}

pub(crate) struct Plugin {
    pub(crate) artifact: PluginArtifact,
    /// The monitor of a component. `None` for a native plugin, which runs outside the sandbox.
    monitor: Option<Monitor>,
    /// The loaded component.
    loaded: OnceCell<Result<(LoadedPlugin, DeclaredCapabilities), String>>,
    /// Whether the schema of a plugin under development has been checked.
    checked: OnceCell<()>,
}

pub use provisioners::require as require_provisioners;

impl Plugins {
    /// Returns the plugins for these artifacts and running processes. `parallelism` is the number
    /// of concurrent calls.
    ///
    /// # Errors
    /// Returns an error if WebAssembly cannot be executed on this machine.
    pub fn new(
        artifacts: BTreeMap<ProviderAddress, PluginArtifact>,
        running: BTreeMap<ProviderAddress, Reattachment>,
        working_directory: PathBuf,
        parallelism: usize,
        supervision: &Supervision,
        environment: &ProcessEnvironment,
        frontend: &Arc<dyn Frontend>,
    ) -> Result<Self, AppError> {
        let Supervision { policy, audit_log, states, backends, remote_states } = supervision;
        let bridge = match plugin_caches::schemas(environment, &working_directory) {
            Some(cache) => Bridge::new(NativeLimits::default()).with_schema_cache(cache),
            None => Bridge::new(NativeLimits::default()),
        };
        let mut native = BTreeMap::new();
        let mut native_provisioners = BTreeMap::new();
        let mut by_address = BTreeMap::new();
        for (address, artifact) in artifacts {
            let monitor = match &artifact {
                PluginArtifact::Native(program) => {
                    let policy = policy.for_plugin(&address);
                    if policy.native() == NativePlugins::Deny {
                        return Err(native_denied(&address, &policy));
                    }
                    if policy.is_untrusted() {
                        check_origin(program, &working_directory)?;
                    }
                    let native_program = NativeProgram {
                        address: &address,
                        name: plugin_name(&program.address, program.version.as_ref()).into(),
                        version: program.version.as_ref().map(ToString::to_string),
                        policy: &policy,
                        audit_log,
                        proxies: ProxySettings::from_variables(|name| environment.get(name)),
                        host_program: environment.own_program().map(Path::to_owned),
                        search_path: environment.get("PATH").unwrap_or_default().into(),
                    };
                    let confinement = native_confinement::for_program(native_program, &**frontend)?;
                    let package =
                        native_package(program, &policy, confinement, &working_directory, environment);
                    if provisioner_name(&address).is_some() {
                        native_provisioners.insert(address.clone(), bridge.provisioner(package));
                    } else {
                        native.insert(address.clone(), bridge.plugin(package));
                    }
                    None
                }
                PluginArtifact::Component(component) => {
                    Some(plugin_policy::monitor_for(policy, component, audit_log))
                }
            };
            by_address.insert(
                address,
                Plugin { artifact, monitor, loaded: OnceCell::new(), checked: OnceCell::new() },
            );
        }
        for (address, running) in running {
            let policy = policy.for_plugin(&address);
            if policy.native() == NativePlugins::Deny {
                return Err(native_denied(&address, &policy));
            }
            native_confinement::check_running(&address, &running, &policy, &**frontend)?;
            let name = format!("{} ({running})", address.for_display());
            native.insert(address, bridge.reattached(name.into(), running));
        }
        let is_development = by_address
            .values()
            .any(|plugin| matches!(plugin.artifact.origin(), PluginOrigin::DevelopmentOverride(_)));
        let settings = if is_development { EngineSettings::Development } else { EngineSettings::Standard };
        let (sandbox, exposed_cache) = sandbox(environment, parallelism, settings, &working_directory)?;
        Ok(Self {
            sandbox: Arc::new(sandbox),
            exposed_cache,
            by_address,
            native,
            native_provisioners,
            working_directory,
            environment: environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            states: states.clone(),
            backends: backends.clone(),
            remote_states: remote_states.clone(),
            frontend: Arc::clone(frontend),
            supervision: supervision.clone(),
            provisioners: LoadedProvisioners::new(environment),
            recording: call_recording(environment)?,
        })
    }

    /// Returns the native plugins.
    pub fn native(&self) -> impl Iterator<Item = NativeProcesses> {
        let providers = self.native.values().cloned().map(NativeProcesses::Provider);
        providers.chain(self.native_provisioners.values().cloned().map(NativeProcesses::Provisioner))
    }

    /// Returns the addresses of the native plugins.
    pub(crate) fn native_addresses(&self) -> impl Iterator<Item = &ProviderAddress> {
        self.native.keys().chain(self.native_provisioners.keys())
    }

    /// Returns the directories to which a rule grants any plugin write access.
    pub fn writable_directories(&self) -> WritableDirectories {
        WritableDirectories::new(self.supervision.policy.writable_directories().map(Path::to_owned))
    }

    /// Returns a hash of each plugin, by address. A saved plan identifies its plugins by these
    /// hashes.
    pub fn digests(&self) -> BTreeMap<String, String> {
        let digest = |(address, plugin): (&ProviderAddress, &Plugin)| match &plugin.artifact {
            PluginArtifact::Component(component) => Some((address.to_string(), component.sha256.to_string())),
            PluginArtifact::Native(native) => {
                Some((address.to_string(), native.package_hash.as_ref()?.to_string()))
            }
        };
        self.by_address.iter().filter_map(digest).collect()
    }

    /// Returns the package hashes of the native providers whose answers only their packages determine.
    pub(crate) fn native_package_hashes(&self) -> BTreeMap<ProviderAddress, Arc<str>> {
        let hash = |(address, plugin): (&ProviderAddress, &Plugin)| match &plugin.artifact {
            PluginArtifact::Native(native) => Some((address.clone(), plugin_caches::schema_key(native)?)),
            PluginArtifact::Component(_) => None,
        };
        self.by_address.iter().filter_map(hash).collect()
    }

    /// Loads every component and the provisioners of these types, to cache the compiled code for
    /// later runs. Native plugins are not run. Calls `tell` for each compilation.
    ///
    /// # Errors
    /// Returns an error for each plugin that cannot be loaded, with the reason.
    pub async fn load_all(
        &self,
        provisioners: &BTreeSet<&str>,
        tell: impl Fn(LoadEvent) + Send + Sync + 'static,
    ) -> Result<(), PluginDiagnostics> {
        let tell = Arc::new(tell);
        let mut problems = Vec::new();
        let components = self.by_address.iter().filter(|(_, plugin)| plugin.monitor.is_some());
        for address in components.map(|(address, _)| address).filter(|one| provisioner_name(one).is_none()) {
            let tell = Arc::clone(&tell);
            if let Err(problem) = self.loaded(address, move |event| tell(event)).await {
                problems.extend(problem);
            }
        }
        for component in provisioners.iter().filter_map(|name| self.provisioner_component(name)) {
            let tell = Arc::clone(&tell);
            if let Err(problem) = self.load_provisioner(component, move |event| tell(event)).await {
                problems.extend(problem);
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Returns the reason why compiled code is not cached between runs; `None` if it is cached.
    pub fn cache_problem(&self) -> Option<String> {
        self.exposed_cache.clone().or_else(|| self.sandbox.cache_refusal().map(ToString::to_string))
    }

    /// Returns the state stores of a provider.
    ///
    /// # Errors
    /// Returns an error if the provider is not installed, or its component cannot be loaded.
    pub(crate) async fn state_stores(
        &self,
        address: &ProviderAddress,
    ) -> Result<Arc<dyn StateStorePlugin>, PluginDiagnostics> {
        if let Some(native) = self.native.get(address) {
            return Ok(native.state_stores());
        }
        let (plugin, grants) = self.component(address).await?;
        Ok(plugin.state_stores(grants))
    }

    /// Returns a component with its grants.
    async fn component(
        &self,
        address: &ProviderAddress,
    ) -> Result<(&LoadedPlugin, Grants), PluginDiagnostics> {
        let frontend = Arc::clone(&self.frontend);
        let report = move |event| report_compiling(&*frontend, event);
        let (plugin, declared) = self.loaded(address, report).await?;
        let monitor = self.by_address.get(address).and_then(|plugin| plugin.monitor.clone());
        let monitor = monitor.ok_or_else(|| unavailable(address))?;
        let grants = Grants::by_policy(monitor, &self.working_directory, self.environment.iter().cloned());
        Ok((plugin, grants.with_declared(*declared)))
    }

    /// Shows the mistakes in the schema of a plugin under development, once.
    async fn check_schema(&self, address: &ProviderAddress, provider: &dyn Provider) {
        let Some(plugin) = self.by_address.get(address) else { return };
        if !matches!(plugin.artifact.origin(), PluginOrigin::DevelopmentOverride(_)) {
            return;
        }
        let check = || async {
            // If the schema is not available, the engine's request for it reports the reason.
            let Ok(schema) = provider.schema(&CallContext::default()).await else { return };
            let mistakes = schema_mistakes(&schema, address.type_name());
            let errors = mistakes.iter().filter(|mistake| mistake.kind == MistakeKind::Error);
            let lines: Vec<String> = errors.map(|mistake| format!("- {mistake}.")).collect();
            if !lines.is_empty() {
                let summary = format!("Mistakes in the schema of {}", address.for_display());
                self.frontend.warn(&Diagnostic::warning(summary, lines.join("\n")).into());
            }
        };
        plugin.checked.get_or_init(check).await;
    }

    async fn loaded(
        &self,
        address: &ProviderAddress,
        tell: impl Fn(LoadEvent) + Send + Sync + 'static,
    ) -> Result<&(LoadedPlugin, DeclaredCapabilities), PluginDiagnostics> {
        let plugin = self.by_address.get(address).ok_or_else(|| unavailable(address))?;
        let component = match &plugin.artifact {
            PluginArtifact::Component(component) => component,
            PluginArtifact::Native(_) => return Err(unavailable(address)),
        };
        let name = plugin_name(&component.address, component.version.as_ref());
        let loading = || async {
            let (sandbox, component, name) = (Arc::clone(&self.sandbox), component.clone(), name.clone());
            let (monitor, directory) = (plugin.monitor.clone(), self.working_directory.clone());
            let load = move || {
                let (declared, requests) = declared_capabilities(&component, &directory)?;
                if let Some(monitor) = &monitor {
                    monitor.set_declared(requests);
                }
                let (digest, policy) = (*component.sha256.as_bytes(), monitor.as_ref().map(Monitor::policy));
                sandbox
                    .load(name, component.bytes(), Some(digest), policy, &tell)
                    .map(|plugin| (plugin, declared))
                    .map_err(|error| error.to_string())
            };
            tokio::task::spawn_blocking(load).await.map_err(|error| error.to_string()).flatten()
        };
        let loaded = plugin.loaded.get_or_init(loading).await;
        loaded.as_ref().map_err(|problem| {
            let detail = format!("{problem}\n\nThe file is from {}.", component.origin);
            vec![PluginDiagnostic::error("Plugin cannot be loaded", detail)]
        })
    }
}

/// Returns the capabilities that a component declares, and the declared requests. Embedded components
/// declare what they import.
fn declared_capabilities(
    component: &ComponentArtifact,
    directory: &Path,
) -> Result<(DeclaredCapabilities, Vec<CapabilityRequest>), String> {
    if matches!(component.origin, PluginOrigin::Embedded) {
        return Ok(Default::default());
    }
    let found = match wardian_declaration::inspect(component.bytes(), directory) {
        Ok(found) => found,
        // The sandbox describes bytes that are not a component.
        Err(InspectError::NotAComponent | InspectError::Invalid(_) | InspectError::Limit(_)) => {
            return Ok(Default::default());
        }
        Err(error) => return Err(error.to_string()),
    };
    let declared =
        DeclaredCapabilities { network: found.declares("network"), filesystem: found.declares("filesystem") };
    Ok((declared, found.declaration.requests))
}

#[async_trait]
impl ProviderSource for Plugins {
    async fn provider(&self, address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
        if address.is_built_in() {
            return built_in::provider(
                address,
                &self.working_directory,
                &self.states,
                &self.backends,
                &self.remote_states,
            );
        }
        let provider = match self.native.get(address) {
            Some(native) => native.provider(),
            None => {
                let (plugin, grants) = self.component(address).await?;
                let provider = plugin.provider(grants);
                self.check_schema(address, &*provider).await;
                provider
            }
        };
        Ok(match &self.recording {
            Some(recording) => recording.wrap(address, provider),
            None => provider,
        })
    }
}

/// Opens the file in which the user wants calls to be recorded.
fn call_recording(environment: &ProcessEnvironment) -> Result<Option<Arc<CallRecording>>, AppError> {
    let Some(path) = environment.call_log() else { return Ok(None) };
    let recording = CallRecording::create(&path).map_err(|error| {
        let detail = format!("{} cannot be written: {}.", path.display(), system_reason(&error));
        AppError::new("Calls cannot be recorded", detail)
    })?;
    Ok(Some(Arc::new(recording)))
}

/// Reports the compilation of a plugin.
fn report_compiling(frontend: &dyn Frontend, event: LoadEvent) {
    if let LoadEvent::Compiling { plugin, .. } = event {
        frontend.report(AppEvent::Compiling { plugin: &plugin });
    }
}

/// Returns the sandbox. If the sandbox does not cache compiled code, the reason is also returned. A
/// user who can write both the cache and its key controls which code runs. Therefore, neither may
/// be in a directory to which a plugin may be granted access.
fn sandbox(
    environment: &ProcessEnvironment,
    parallelism: usize,
    settings: EngineSettings,
    working_directory: &Path,
) -> Result<(Sandbox, Option<String>), AppError> {
    let cache = environment.cache_directory().zip(environment.private_directory());
    let cache = cache.map(|(cache, private)| CacheDirectories { code: cache.join("code"), key: private });
    let exposed = cache.as_ref().and_then(|cache| {
        let inside =
            [&cache.code, &cache.key].into_iter().find(|path| lies_within(path, working_directory))?;
        Some(format!(
            "{} is inside the configuration's directory, where plugins may be allowed to write; set \
             WARDIAN_CACHE_DIR and XDG_DATA_HOME to directories elsewhere to cache compiled plugins",
            inside.display()
        ))
    });
    let cache = cache.filter(|_| exposed.is_none());
    let network = NetworkOptions {
        proxies: ProxySettings::from_variables(|name| environment.get(name)),
        secrets: Arc::new(HostSecrets::new(environment)),
        ..NetworkOptions::default()
    };
    let compiler: Arc<dyn Compiler> = match environment.own_program() {
        Some(program) => Arc::new(CompilerProcess::new(program.to_owned())),
        None => Arc::new(InProcess),
    };
    let options =
        SandboxOptions { cache, parallelism, network, compiler, settings, ..SandboxOptions::default() };
    let sandbox =
        Sandbox::new(options).map_err(|error| AppError::new("Plugins cannot be run", format!("{error}.")))?;
    Ok((sandbox, exposed))
}

/// Returns the program of a native plugin and the settings for its process.
fn native_package(
    native: &NativeArtifact,
    policy: &PluginPolicy,
    confinement: Option<ProcessConfinement>,
    working_directory: &Path,
    environment: &ProcessEnvironment,
) -> NativePackage {
    let is_supervised = confinement.as_ref().is_some_and(|confinement| confinement.supervisor.is_some());
    NativePackage {
        name: plugin_name(&native.address, native.version.as_ref()).into(),
        // The path is absolute, so it does not depend on the directory in which the program runs.
        executable: working_directory.join(&native.file),
        environment: native_environment::variables(&native.address, policy, environment, is_supervised),
        working_directory: working_directory.to_owned(),
        socket_directory: environment.temporary_directory(),
        security: if environment.secures_plugins() { Security::MutualTls } else { Security::Plain },
        confinement,
        content: plugin_caches::schema_key(native),
    }
}

/// Checks that the author of an untrusted configuration cannot have chosen the program of a native
/// plugin. The lock file, with the program's hash, is part of the configuration.
fn check_origin(native: &NativeArtifact, working_directory: &Path) -> Result<(), AppError> {
    if !lies_within(&working_directory.join(&native.file), working_directory) {
        return Ok(());
    }
    let detail = format!(
        "The program of {} is in the configuration's directory, so the author of the untrusted configuration may \
         have chosen it. Set TF_DATA_DIR to a directory outside of the configuration, and run `wardian init \
         -untrusted`.",
        native.address.for_display()
    );
    Err(AppError::new("Native plugin is not trusted", detail))
}

/// Returns the error for a native plugin that the policy does not allow.
fn native_denied(address: &ProviderAddress, policy: &PluginPolicy) -> AppError {
    if policy.is_untrusted() {
        let detail = format!(
            "{} is a native plugin. Under -untrusted, it runs only if the organisation's policy contains native = \
             \"confine\" and untrusted = \"read-only-credentials\" for it, and no other policy denies it.",
            address.for_display()
        );
        return AppError::new("Native plugin denied by policy", detail);
    }
    let why = match &policy.settings().native {
        Some(set) if set.value == NativePlugins::Deny => format!("{} denies native plugins", set.location),
        _ => "a policy file has no rule for the plugin, and does not defer to other files".to_owned(),
    };
    let detail = format!(
        "{} is a native plugin, which would run outside of the sandbox, and policy does not allow it to run: \
         {why}. Use a plugin that is a component, or set native = \"warn\" for it in the policy.",
        address.for_display()
    );
    AppError::new("Native plugin denied by policy", detail)
}

fn unavailable(address: &ProviderAddress) -> PluginDiagnostics {
    let detail = format!("The provider {} is not installed. Run `wardian init`.", address.for_display());
    vec![PluginDiagnostic::error("Provider not available", detail)]
}
