//! The plugins of state stores. A plugin is loaded once for each command.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_address::{Constraints, ProviderAddress, Version};
use wardian_backend::StateStoreBackend;
use wardian_config::Module;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_install::installed::{ResolveError, resolve};
use wardian_install::lock_file::LockFile;
use wardian_install::selection::Requirements;
use wardian_plugin::StateStorePlugin;

use super::{located, required_provider};
use crate::backend::{BackendOptions, Recorded};
use crate::consent_lock;
use crate::context::AppContext;
use crate::error::{AppError, sentence};

/// The plugins of the state stores that a command uses.
#[derive(Default)]
pub(crate) struct StateStorePlugins(Mutex<Loaded>);

#[derive(Default)]
struct Loaded {
    plugins: BTreeMap<ProviderAddress, (Arc<dyn StateStorePlugin>, Option<Version>)>,
    opened: Vec<Arc<StateStoreBackend>>,
    /// The selection of `init`, which is in effect before the lock file is written.
    lock: Option<LockFile>,
}

impl StateStorePlugins {
    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a backend, whose plugin is closed at the end of the command.
    pub(super) fn opened(&self, backend: &Arc<StateStoreBackend>) {
        self.loaded().opened.push(Arc::clone(backend));
    }

    /// Returns the version of a loaded plugin.
    pub(super) fn version(&self, address: &ProviderAddress) -> Option<Version> {
        self.loaded().plugins.get(address)?.1.clone()
    }

    /// Closes all state stores.
    pub(crate) async fn close(&self) {
        let opened = std::mem::take(&mut self.loaded().opened);
        for backend in opened {
            backend.close().await;
        }
    }
}

/// Returns the providers that must be installed before the states can be read: that of the root
/// module's state store, and if states are copied, that of the state store that `init` has recorded.
///
/// # Errors
/// Returns an error if the record cannot be read, or the provider is not in `required_providers`.
pub fn store_requirements(
    context: &AppContext,
    root: &Module,
    options: &BackendOptions,
) -> Result<Requirements, AppError> {
    let mut requirements = Requirements::default();
    if context.confinement.is_some() {
        return Ok(requirements);
    }
    if let Some(block) = &root.state_store {
        let required = required_provider(root, block)?;
        let origin = format!("{}:{}", required.span.file.name(), required.span.start_position().line);
        requirements.add(required.address.clone(), required.constraints.clone(), origin);
    }
    let copies = !options.reconfigure && (options.migrate_state || options.force_copy);
    if copies && let Some(Recorded::StateStore(recorded)) = Recorded::read(&context.data_directory())? {
        let address = recorded.provider();
        if !requirements.providers.contains_key(address) {
            requirements.add(address.clone(), Constraints::default(), "the recorded state store");
        }
    }
    Ok(requirements)
}

impl AppContext {
    /// Uses the selection of `init` for state stores.
    pub fn select_state_store_plugins(&self, lock: LockFile) {
        self.state_store_plugins.loaded().lock = Some(lock);
    }

    /// Returns the plugin of a state store, which must be installed.
    ///
    /// # Errors
    /// Returns an error if the plugin is not installed or cannot be loaded, or the policy denies it.
    pub(super) async fn state_store_plugin(
        &self,
        address: &ProviderAddress,
    ) -> Result<Arc<dyn StateStorePlugin>, AppError> {
        let selected = {
            let loaded = self.state_store_plugins.loaded();
            if let Some((plugin, _)) = loaded.plugins.get(address) {
                return Ok(Arc::clone(plugin));
            }
            loaded.lock.clone()
        };
        if address.is_built_in() {
            let detail = format!("The built-in provider {} has no state stores.", address.for_display());
            return Err(AppError::new("Provider without state stores", detail));
        }
        let lock = match selected {
            Some(lock) => lock,
            None => self.lock_file()?,
        };
        let mut requirements = Requirements::default();
        requirements.add(address.clone(), Constraints::default(), "the state store");
        let resolved = resolve(&requirements, &lock, &self.sources()?, &self.data_directory());
        let resolved = resolved.map_err(|errors| {
            let to_diagnostic =
                |error: &ResolveError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
            errors.iter().map(to_diagnostic).collect::<Diagnostics>()
        })?;
        consent_lock::check(&resolved.artifacts, &self.directory)?;
        let version = lock.providers.get(address).map(|entry| entry.version.clone());
        let running = self.reattached.iter().filter(|(running, _)| *running == address);
        let running = running.map(|(address, running)| (address.clone(), running.clone())).collect();
        let plugins = self.plugins_from(resolved.artifacts, running, 1)?;
        self.record_native(&plugins);
        let plugin = plugins.state_stores(address).await.map_err(|problems| located(problems, None))?;
        let entry = (Arc::clone(&plugin), version);
        self.state_store_plugins.loaded().plugins.insert(address.clone(), entry);
        Ok(plugin)
    }
}
