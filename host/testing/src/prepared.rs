//! Configurations under test, with their schemas. Runs with the same module and the same provider
//! configurations share them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wardian_address::{ProviderAddress, ProviderConfigAddress};
use wardian_config::{Configuration, ProviderReference, RunConfiguration, TestFile, TestProvider, TestRun};
use wardian_diagnostic::Diagnostics;
use wardian_engine::{EngineContext, Schemas};
use wardian_state::State;
use wardian_value::Str;

use crate::host::TestHost;

/// A validated configuration with its schemas.
pub(crate) struct Prepared {
    pub(crate) engine: EngineContext,
    pub(crate) schemas: Schemas,
    /// The result of validating the configuration.
    pub(crate) validated: Diagnostics,
    /// The provider configurations from the test file: for each, its name there.
    pub(crate) providers: BTreeMap<ProviderConfigAddress, (Str, Option<Str>)>,
}

impl Prepared {
    pub(crate) fn configuration(&self) -> &Arc<Configuration> {
        &self.engine.configuration
    }

    /// Returns the schemas of all providers of the configuration and of a state.
    ///
    /// # Errors
    /// Returns an error if a provider of the state cannot be used.
    pub(crate) async fn schemas_for(&self, state: &State) -> Result<Schemas, Diagnostics> {
        let mut providers = state.resources().map(|(_, resource)| &resource.provider.provider);
        if providers.all(|provider| self.schemas.provider(provider).is_some()) {
            return Ok(self.schemas.clone());
        }
        self.engine.schemas(Some(state)).await
    }
}

/// The properties that distinguish the configurations of runs: the module, the provider configurations
/// of the test file (with the path of the file, or [`None`] for a mock), and those that the run passes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    module: String,
    declared: BTreeMap<Name, Option<Str>>,
    passed: Vec<(Name, Name)>,
}

type Name = (Str, Option<Str>);

impl Key {
    fn new(file: &TestFile, run: &TestRun) -> Self {
        let origin = |provider: &TestProvider| match provider {
            TestProvider::Real(_) => Some(file.path.clone()),
            TestProvider::Mock(_) => None,
        };
        let name = |reference: &ProviderReference| (reference.local_name.clone(), reference.alias.clone());
        let declared = file.providers.iter().map(|(name, provider)| (name.clone(), origin(provider)));
        let passed = run.providers.iter().map(|(inside, here)| (name(inside), name(here)));
        Self { module: module_key(run), declared: declared.collect(), passed: passed.collect() }
    }
}

/// Returns the text that identifies the module under test; empty for the root module.
pub(crate) fn module_key(run: &TestRun) -> String {
    run.module.as_ref().map(|module| module.source.clone()).unwrap_or_default()
}

type SchemaKey = (String, BTreeSet<ProviderAddress>);

/// The configurations that were prepared.
#[derive(Default)]
pub(crate) struct PreparedConfigurations {
    by_key: RefCell<HashMap<Key, Result<Arc<Prepared>, Diagnostics>>>,
    schemas: RefCell<HashMap<SchemaKey, Schemas>>,
}

impl PreparedConfigurations {
    /// Returns the configuration of a run.
    ///
    /// # Errors
    /// Returns an error if the configuration or a plugin cannot be loaded.
    pub(crate) async fn get(
        &self,
        host: &dyn TestHost,
        file: &TestFile,
        run: &TestRun,
    ) -> Result<Arc<Prepared>, Diagnostics> {
        let key = Key::new(file, run);
        if let Some(known) = self.by_key.borrow().get(&key) {
            return known.clone();
        }
        let prepared = self.prepare(host, file, run, &key).await.map(Arc::new);
        self.by_key.borrow_mut().insert(key, prepared.clone());
        prepared
    }

    async fn prepare(
        &self,
        host: &dyn TestHost,
        file: &TestFile,
        run: &TestRun,
        key: &Key,
    ) -> Result<Prepared, Diagnostics> {
        let RunConfiguration { configuration, providers } = host.configuration(file, run)?;
        let engine = host.engine(Arc::clone(&configuration))?;
        let requirements = configuration.provider_requirements().into_keys().collect();
        let schema_key = (key.module.clone(), requirements);
        let known = self.schemas.borrow().get(&schema_key).cloned();
        let schemas = match known {
            Some(schemas) => schemas,
            None => {
                let schemas = engine.schemas(None).await?;
                self.schemas.borrow_mut().insert(schema_key, schemas.clone());
                schemas
            }
        };
        let validated = engine.validate_for_test(&schemas).await;
        Ok(Prepared { engine, schemas, validated, providers })
    }

    /// Closes the providers that answered for schemas and validations.
    pub(crate) async fn close(&self) {
        let schemas = std::mem::take(&mut *self.schemas.borrow_mut());
        for schemas in schemas.into_values() {
            schemas.close().await;
        }
    }
}
