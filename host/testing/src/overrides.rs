//! The mocks and overrides of a run.
//!
//! If several overrides match an instance, the one whose address has more instance keys applies;
//! among these, those of the run precede those of the test file, and these precede those of the
//! mocked provider. Finding the override of an instance costs O(overrides of its resource).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wardian_address::{
    InstanceKey, ModuleInstance, ModulePath, ProviderConfigAddress, ResourceInstanceAddress, ResourceMode,
};
use wardian_config::{
    MockDefaults, MockProvider as MockBlock, Override, OverrideDuring, OverrideKind, Target, TestFile,
    TestProvider, TestRun,
};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::Overrides;
use wardian_lang::{EmptyScope, Expression};
use wardian_plugin::Provider;
use wardian_value::{PathStep, Str, Value};

use crate::mock::{MockProvider, MockShared, MockSource, MockValues, ValuesByType};

/// The mocks and overrides of a run.
pub(crate) struct RunOverrides {
    mocks: BTreeMap<ProviderConfigAddress, Arc<ValuesByType>>,
    resources: HashMap<(ModulePath, ResourceMode, Str, Str), Vec<ResourceOverride>>,
    modules: HashMap<ModulePath, Vec<ModuleOverride>>,
    shared: MockShared,
}

struct ResourceOverride {
    module_keys: Vec<Option<InstanceKey>>,
    key: Option<InstanceKey>,
    /// The mocked provider configuration to whose objects the override is limited.
    provider: Option<ProviderConfigAddress>,
    values: Arc<MockValues>,
}

struct ModuleOverride {
    keys: Vec<Option<InstanceKey>>,
    outputs: BTreeMap<Str, Value>,
}

impl RunOverrides {
    /// Returns the mocks and overrides of a run. `providers` contains the provider configurations from
    /// the test file, each with its name there.
    ///
    /// # Errors
    /// Returns an error for each value that is not constant.
    pub(crate) fn new(
        providers: &BTreeMap<ProviderConfigAddress, (Str, Option<Str>)>,
        file: &TestFile,
        run: &TestRun,
        shared: MockShared,
    ) -> Result<Self, Diagnostics> {
        let mut overrides =
            Self { mocks: BTreeMap::new(), resources: HashMap::new(), modules: HashMap::new(), shared };
        let mut problems = Diagnostics::new();
        for block in &run.overrides {
            overrides.add(block, None, &mut problems);
        }
        for block in &file.overrides {
            overrides.add(block, None, &mut problems);
        }
        for (address, name) in providers {
            let Some(TestProvider::Mock(mock)) = file.providers.get(name) else { continue };
            for block in &mock.overrides {
                overrides.add(block, Some(address), &mut problems);
            }
            overrides.mocks.insert(address.clone(), Arc::new(values_by_type(mock, &mut problems)));
        }
        problems.into_result(overrides)
    }

    fn add(
        &mut self,
        block: &Override,
        provider: Option<&ProviderConfigAddress>,
        problems: &mut Diagnostics,
    ) {
        let context = match block.kind {
            OverrideKind::Resource => "override_resource",
            OverrideKind::Data => "override_data",
            OverrideKind::Module => "override_module",
        };
        let values = constant(block.values.as_ref(), context, problems);
        let Target { modules, resource } = &block.target;
        let path = modules.iter().fold(ModulePath::root(), |path, (name, _)| path.child(name.clone()));
        let keys: Vec<_> = modules.iter().map(|(_, key)| key.as_ref().and_then(instance_key)).collect();
        match resource {
            None => {
                let outputs = values.as_ref().and_then(Value::as_mapping);
                let outputs = outputs.map(|outputs| outputs.to_map()).unwrap_or_default();
                self.modules.entry(path).or_default().push(ModuleOverride { keys, outputs });
            }
            Some(resource) => {
                let values = MockValues {
                    values,
                    in_plan: block.during == OverrideDuring::Plan,
                    span: block.span.clone(),
                };
                let address = (path, resource.mode, resource.type_name.clone(), resource.name.clone());
                self.resources.entry(address).or_default().push(ResourceOverride {
                    module_keys: keys,
                    key: resource.key.as_ref().and_then(instance_key),
                    provider: provider.cloned(),
                    values: Arc::new(values),
                });
            }
        }
    }

    /// Whether a provider configuration is mocked.
    pub(crate) fn is_mocked(&self, configuration: &ProviderConfigAddress) -> bool {
        self.mocks.contains_key(configuration)
    }

    fn resource(
        &self,
        address: &ResourceInstanceAddress,
        configuration: &ProviderConfigAddress,
    ) -> Option<&ResourceOverride> {
        let ResourceInstanceAddress { key, .. } = address;
        let module = address.module();
        let place = (module.path(), address.mode(), address.type_name().clone(), address.name().clone());
        let matching = self.resources.get(&place)?.iter().filter(|one| {
            matches_keys(&one.module_keys, module)
                && one.key.as_ref().is_none_or(|wanted| wanted == key)
                && one.provider.as_ref().is_none_or(|provider| provider == configuration)
        });
        let keys = |one: &ResourceOverride| {
            one.module_keys.iter().flatten().count() + usize::from(one.key.is_some())
        };
        // `max_by_key` returns the last of equal elements, and the first has precedence.
        matching.rev().max_by_key(|one| keys(one))
    }

    fn provider(
        &self,
        real: &Arc<dyn Provider>,
        source: MockSource,
        configuration: &ProviderConfigAddress,
    ) -> Arc<dyn Provider> {
        let shared = self.shared.clone();
        Arc::new(MockProvider::new(Arc::clone(real), source, &configuration.provider, shared))
    }
}

fn values_by_type(block: &MockBlock, problems: &mut Diagnostics) -> ValuesByType {
    let of_type = |(key, defaults): (&(ResourceMode, Str), &MockDefaults)| {
        let context = match defaults.mode {
            ResourceMode::Data => "mock_data",
            ResourceMode::Managed | ResourceMode::Ephemeral => "mock_resource",
        };
        let values = MockValues {
            values: defaults_of(defaults, context, problems),
            in_plan: defaults.during == OverrideDuring::Plan,
            span: defaults.span.clone(),
        };
        (key.clone(), values)
    };
    block.defaults.iter().map(of_type).collect()
}

impl Overrides for RunOverrides {
    fn mocked(
        &self,
        configuration: &ProviderConfigAddress,
        real: &Arc<dyn Provider>,
    ) -> Option<Arc<dyn Provider>> {
        let source = MockSource::Types(Arc::clone(self.mocks.get(configuration)?));
        Some(self.provider(real, source, configuration))
    }

    fn overridden(
        &self,
        address: &ResourceInstanceAddress,
        configuration: &ProviderConfigAddress,
        provider: &Arc<dyn Provider>,
    ) -> Option<Arc<dyn Provider>> {
        let found = self.resource(address, configuration)?;
        let source = MockSource::Object(Arc::clone(&found.values));
        Some(self.provider(provider, source, configuration))
    }

    fn module_outputs(&self, module: &ModuleInstance) -> Option<&BTreeMap<Str, Value>> {
        let matching = self.modules.get(&module.path())?.iter().filter(|one| {
            // The address of a call without a key selects all its instances.
            let callers = one.keys.len().saturating_sub(1);
            let is_every_instance = one.keys.last().is_some_and(Option::is_none);
            matches_keys(if is_every_instance { &one.keys[..callers] } else { &one.keys }, module)
        });
        let found = matching.rev().max_by_key(|one| one.keys.iter().flatten().count());
        found.map(|found| &found.outputs)
    }
}

fn defaults_of(defaults: &MockDefaults, context: &str, problems: &mut Diagnostics) -> Option<Value> {
    let expression = defaults.defaults.as_ref()?;
    let values = constant(Some(expression), context, problems)?;
    if values.as_mapping().is_none() {
        let detail = format!("The defaults must be an object, but this is {}.", values.ty().friendly_name());
        let problem = Diagnostic::error("Invalid replacement value", detail);
        problems.push(problem.at(expression.span().clone()).in_block(context));
        return None;
    }
    Some(values)
}

/// Whether the keys are those of a module instance. A step without a key selects only the instance of
/// a call without `count` and `for_each`.
fn matches_keys(keys: &[Option<InstanceKey>], module: &ModuleInstance) -> bool {
    keys.iter().zip(module.steps()).all(|(wanted, step)| match wanted {
        Some(wanted) => *wanted == step.key,
        None => step.key.is_none(),
    })
}

/// Returns the key that a step of an address selects.
pub(crate) fn instance_key(step: &PathStep) -> Option<InstanceKey> {
    match step {
        PathStep::Index(index) => Some(InstanceKey::Int(*index)),
        PathStep::Key(key) => Some(InstanceKey::String(key.clone())),
        PathStep::Attribute(_) => None,
    }
}

fn constant(expression: Option<&Expression>, context: &str, problems: &mut Diagnostics) -> Option<Value> {
    let evaluated = expression?.evaluate(&EmptyScope).map_err(|found| found.in_block(context));
    problems.collect(evaluated)
}
