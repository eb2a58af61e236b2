//! Loads plugins, and creates their providers and provisioners.

use std::sync::Arc;

use tokio::sync::OnceCell;
use wardian_cache::CacheError;
use wardian_plugin::transport::Transport;
use wardian_plugin::{Provider, StateStorePlugin};
use wardian_policy::PluginPolicy;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::artifact::{self, ComponentDigest, LoadEvent};
use crate::bindings::provisioner::ProvisionerPluginPre;
use crate::bindings::state_store::StateStoreExportsPre;
use crate::code_cache::{CacheDirectories, CodeCache};
use crate::compiler::{CompileLimits, Compiler, InProcess};
use crate::engine::{self, Compatibility, EngineSettings};
use crate::error::{LoadError, SandboxError};
use crate::error_chain::chain;
use crate::exports::LinkedProvider;
use crate::grants::Grants;
use crate::imports::World;
use crate::limits::SandboxLimits;
use crate::network::NetworkOptions;
use crate::plugin::Plugin;
use crate::pool::Pool;
use crate::provider::ComponentWire;
use crate::provider_run::KnownSchema;
use crate::provisioner::{LoadedProvisioner, ProvisionerPlugin};
use crate::state::GuestState;
use crate::state_store::ComponentStateStores;
use crate::symbols::Symbols;
use crate::ticker::Ticker;
use crate::{capability, imports};

/// Settings for loading and running plugins.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// The directories of the code cache. Without them, the component is compiled each time it is
    /// loaded.
    pub cache: Option<CacheDirectories>,
    /// Limits of an instance and of a call.
    pub limits: SandboxLimits,
    /// Maximum number of instances, and therefore of concurrent calls, of one provider
    /// configuration.
    pub parallelism: usize,
    /// The settings for network access, which a policy must also allow.
    pub network: NetworkOptions,
    /// Compiles components.
    pub compiler: Arc<dyn Compiler>,
    /// The settings of compiled code.
    pub settings: EngineSettings,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            cache: None,
            limits: SandboxLimits::default(),
            parallelism: 10,
            network: NetworkOptions::default(),
            compiler: Arc::new(InProcess),
            settings: EngineSettings::Standard,
        }
    }
}

/// Loads and runs plugins. A process needs only one sandbox.
///
/// Calls of its providers need a tokio runtime whose time driver is enabled.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<GuestState>,
    cache: Result<Option<CodeCache>, CacheError>,
    ticker: Arc<Ticker>,
    limits: SandboxLimits,
    parallelism: usize,
    network: Arc<NetworkOptions>,
    compiler: Arc<dyn Compiler>,
    settings: EngineSettings,
}

impl Sandbox {
    /// Creates a sandbox. If the cache is unusable, code is not cached; [`Sandbox::cache_refusal`]
    /// returns the reason.
    pub fn new(options: SandboxOptions) -> Result<Self, SandboxError> {
        let failed = |error: wasmtime::Error| SandboxError(chain(&error));
        let engine = engine::create(options.settings).map_err(failed)?;
        let mut linker = Linker::new(&engine);
        capability::link(&mut linker).map_err(failed)?;
        let cache = options
            .cache
            .map(|directories| CodeCache::open(&directories, Compatibility::from_engine(&engine)))
            .transpose();
        Ok(Self {
            ticker: Arc::new(Ticker::new(&engine)),
            engine,
            linker,
            cache,
            limits: options.limits,
            parallelism: options.parallelism.max(1),
            network: Arc::new(options.network),
            compiler: options.compiler,
            settings: options.settings,
        })
    }

    /// Returns the reason why compiled code is not cached, if a cache was requested but cannot be
    /// used.
    pub fn cache_refusal(&self) -> Option<&CacheError> {
        self.cache.as_ref().err()
    }

    /// Returns a component's code, from the cache if possible.
    fn component(
        &self,
        name: &str,
        bytes: &[u8],
        digest: &ComponentDigest,
        policy: Option<&PluginPolicy>,
        tell: &dyn Fn(LoadEvent),
    ) -> Result<Component, LoadError> {
        let cache = self.cache.as_ref().ok().and_then(Option::as_ref);
        let limits = match policy {
            Some(policy) => CompileLimits::by_policy(&self.limits, policy, bytes.len()),
            None => CompileLimits::of_host(&self.limits, bytes.len()),
        };
        artifact::read(
            &self.engine,
            cache,
            (name, policy.map(PluginPolicy::plugin)),
            bytes,
            digest,
            (&*self.compiler, self.settings, &limits),
            tell,
        )
    }

    /// Returns the debug information of a component, if code is compiled for development.
    fn symbols(&self, bytes: &[u8]) -> Option<Arc<Symbols>> {
        (self.settings == EngineSettings::Development).then(|| Arc::new(Symbols::new(bytes)))
    }

    /// Loads a provisioner from a component's bytes. See [`Sandbox::load`] for the arguments.
    ///
    /// # Errors
    /// Returns an error if the component cannot be read or compiled, or is not a provisioner that
    /// this host can run.
    pub fn load_provisioner(
        &self,
        name: impl Into<Arc<str>>,
        bytes: &[u8],
        known: Option<ComponentDigest>,
        policy: Option<&PluginPolicy>,
        tell: &dyn Fn(LoadEvent),
    ) -> Result<LoadedProvisioner, LoadError> {
        let name = name.into();
        let digest = known.unwrap_or_else(|| artifact::digest(bytes));
        let component = self.component(&name, bytes, &digest, policy, tell)?;
        imports::check(&name, World::Provisioner, &self.engine, &component)?;
        let linked = self.linker.instantiate_pre(&component).and_then(ProvisionerPluginPre::new);
        let component = linked.map_err(|error| LoadError::Mismatch {
            plugin: name.as_ref().to_owned(),
            reason: chain(&error),
        })?;
        let (engine, ticker, limits) = (self.engine.clone(), Arc::clone(&self.ticker), self.limits.clone());
        Ok(LoadedProvisioner::new(ProvisionerPlugin {
            network: Arc::clone(&self.network),
            name,
            engine,
            component,
            ticker,
            limits,
            schema: OnceCell::new(),
        }))
    }

    /// Loads a provider from a component's bytes.
    ///
    /// `name` is the plugin's name in messages. `known` is the SHA-256 of `bytes`, if the caller
    /// has verified it (for an embedded plugin, or a file that has just been checked). `policy`
    /// limits the compilation; without it, the host's limits apply. Compilation can take seconds on
    /// all cores, and blocks the thread. `tell` receives the events.
    ///
    /// # Errors
    /// Returns an error if the component cannot be read or compiled, or is not a provider that this
    /// host can run.
    pub fn load(
        &self,
        name: impl Into<Arc<str>>,
        bytes: &[u8],
        known: Option<ComponentDigest>,
        policy: Option<&PluginPolicy>,
        tell: &dyn Fn(LoadEvent),
    ) -> Result<LoadedPlugin, LoadError> {
        let name = name.into();
        let digest = known.unwrap_or_else(|| artifact::digest(bytes));
        let component = self.component(&name, bytes, &digest, policy, tell)?;
        imports::check(&name, World::Provider, &self.engine, &component)?;
        let has_state_stores = imports::exports_state_stores(&self.engine, &component);
        let linked = self.linker.instantiate_pre(&component).and_then(LinkedProvider::new);
        let mismatch = |error: &wasmtime::Error| LoadError::Mismatch {
            plugin: name.as_ref().to_owned(),
            reason: chain(error),
        };
        let component = linked.map_err(|error| mismatch(&error))?;
        let state_stores = if has_state_stores {
            let exports = StateStoreExportsPre::new(component.instance_pre().clone());
            Some(exports.map_err(|error| mismatch(&error))?)
        } else {
            None
        };
        Ok(LoadedPlugin {
            digest,
            plugin: Arc::new(Plugin {
                name,
                engine: self.engine.clone(),
                component,
                state_stores,
                ticker: Arc::clone(&self.ticker),
                limits: self.limits.clone(),
                network: Arc::clone(&self.network),
                symbols: self.symbols(bytes),
                parallelism: self.parallelism,
                schema: KnownSchema::default(),
            }),
        })
    }
}

/// A provider's component, ready to run. Clones share the component.
#[derive(Clone)]
pub struct LoadedPlugin {
    digest: ComponentDigest,
    plugin: Arc<Plugin>,
}

impl LoadedPlugin {
    /// Returns the plugin's name in messages.
    pub fn name(&self) -> &str {
        &self.plugin.name
    }

    /// Returns the SHA-256 of the component.
    pub fn digest(&self) -> &ComponentDigest {
        &self.digest
    }

    /// Returns a provider with the given access. It is not configured yet, and shares only code and
    /// schema with the other providers of this component.
    ///
    /// No instance is created before the first call.
    pub fn provider(&self, grants: Grants) -> Arc<dyn Provider> {
        Arc::new(Transport::new(ComponentWire::new(Pool::new(Arc::clone(&self.plugin), grants))))
    }

    /// Returns the state stores of the provider, with the given access. No instance is created before
    /// the first call.
    pub fn state_stores(&self, grants: Grants) -> Arc<dyn StateStorePlugin> {
        Arc::new(ComponentStateStores::new(&self.plugin, grants))
    }
}
