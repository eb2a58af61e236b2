//! Plans imports.

use std::collections::HashMap;
use std::sync::Arc;

use wardian_address::{
    AbsoluteResourceAddress, ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress, ResourceMode,
};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Span};
use wardian_plugin::ImportTarget;
use wardian_state::Object;
use wardian_value::{Str, Value};

use super::{Outcome, Pending, PlanWalk, Purpose};
use crate::context::DirectImport;
use crate::import::blocks::{self, PlannedImport};
use crate::import::check::no_instance;
use crate::operation::Subject;
use crate::operation::import::{ConfigurationBy, GeneratedOutcome, find, generate, read_found};
use crate::plan::Mode;
use crate::scheduler::{StartResult, VisitResult};
use crate::state_values::decode_stored;
use crate::values::Repetition;

/// An object that a direct import found.
pub(super) struct ImportedObject {
    address: ResourceInstanceAddress,
    object: Arc<Object>,
    value: Value,
    diagnostics: Diagnostics,
}

impl PlanWalk<'_> {
    /// Returns the objects that `import` blocks import into a resource; `None` after an error.
    pub(super) fn planned_imports(
        &mut self,
        address: &ResourceAddress,
        provider: &ProviderConfigAddress,
    ) -> Option<HashMap<ResourceInstanceAddress, PlannedImport>> {
        let is_planned = matches!(self.purpose, Purpose::Plan) && self.options.mode == Mode::Normal;
        let blocks = self.imports.to(address);
        if !is_planned || blocks.is_empty() {
            return Some(HashMap::new());
        }
        let schema = self.evaluator.schemas.provider(&provider.provider);
        let identity = schema.and_then(|schema| schema.identities.get(&address.type_name));
        match blocks::planned_imports(&self.evaluator, blocks, identity.map(|identity| &**identity)) {
            Ok(imports) => Some(imports),
            Err(found) => {
                self.diagnostics.extend(found.in_block("import"));
                None
            }
        }
    }

    /// Checks that all target instances of imports are in the configuration; `left` contains the
    /// targets that are not.
    pub(super) fn all_found(&mut self, left: &HashMap<ResourceInstanceAddress, PlannedImport>) -> bool {
        let mut left: Vec<&PlannedImport> = left.values().collect();
        left.sort_by(|a, b| a.address.cmp(&b.address));
        for import in &left {
            let problem = no_instance(&import.address).at(import.place.clone());
            self.diagnostics.push(problem.in_block("import"));
        }
        left.is_empty()
    }

    /// Visits a resource that has no configuration and for which one is generated.
    pub(super) fn visit_import(&mut self, address: &ResourceAddress) -> VisitResult<Pending> {
        let Some(import) = self.imports.to(address).first().copied() else { return VisitResult::Done };
        let Some(provider) = self.context.configuration.provider_of_import(import) else {
            return VisitResult::Done;
        };
        let place = import.to.span().clone();
        let mut refuse = |problem: Diagnostic| {
            self.diagnostics.push(problem.at(place.clone()).in_block("import"));
            VisitResult::Failed
        };
        let is_managed = self.state.resource(&address.in_module(&wardian_address::ModuleInstance::root()));
        if is_managed.is_some() {
            let detail = format!(
                "The object {address} is already in the state and its resource is not in the configuration, \
                 so it would be destroyed. Add its block; or remove the object from the state to \
                 import it again with a generated block."
            );
            return refuse(Diagnostic::error(crate::import::check::NO_CONFIGURATION, detail));
        }
        if self.evaluator.schemas.resource(&provider.provider, address.mode, &address.type_name).is_none() {
            let detail = format!(
                "The provider {} does not support resource type \"{}\".",
                provider.provider.for_display(),
                address.type_name
            );
            return refuse(Diagnostic::error("Invalid resource type", detail));
        }
        let Some(imports) = self.planned_imports(address, &provider) else { return VisitResult::Failed };
        VisitResult::Operations(imports.into_values().map(Pending::Generate).collect())
    }

    pub(super) fn start_generate(&mut self, import: PlannedImport) -> StartResult<Outcome> {
        let PlannedImport { address, target, place } = import;
        let resource = address.config();
        let Some(import) = self.imports.to(&resource).first().copied() else { return StartResult::Done };
        let named = import.provider_reference();
        let Some((named, provider)) = named.zip(self.context.configuration.provider_of_import(import)) else {
            return StartResult::Done;
        };
        let Some(subject) = self.subject(address, &provider) else { return StartResult::Failed };
        let schema = self.evaluator.schemas.provider(&provider.provider);
        let by = match schema {
            Some(schema) if schema.capabilities.generate_resource_config => ConfigurationBy::Provider,
            _ => ConfigurationBy::Schema,
        };
        StartResult::running(async move {
            let result = Box::new(generate(&subject, target, &named, by).await);
            Outcome::Generated { subject, place, result }
        })
    }

    pub(super) fn generated(
        &mut self,
        subject: &Subject,
        place: &Span,
        result: Diagnosed<GeneratedOutcome>,
    ) -> bool {
        let failed = result.has_errors();
        for problem in result.diagnostics {
            let has_place = problem.subject.is_some();
            self.diagnostics.push(if has_place {
                problem
            } else {
                problem.at(place.clone()).in_block("import")
            });
        }
        if let Some(GeneratedOutcome { change, object }) = result.value {
            self.state.set_current(&subject.address, &subject.provider_config, Some(object));
            self.push_change(change);
        }
        !failed
    }

    /// Determines the instances of a resource and sets their values from the state. Returns the
    /// operation that imports the requested instance.
    pub(super) fn expand_for_import(
        &mut self,
        address: &AbsoluteResourceAddress,
        repetition: Repetition,
        provider: &ProviderConfigAddress,
        order: &DirectImport,
    ) -> Vec<Pending> {
        let schema =
            self.evaluator.schemas.resource(&provider.provider, address.mode, &address.type_name).cloned();
        let mut pending = Vec::new();
        let mut known = Vec::new();
        for key in repetition.keys() {
            let instance = address.instance(key.clone());
            let repetition = repetition.data(&key);
            if address.mode == ResourceMode::Data {
                pending.push(Pending::Data { address: instance, repetition });
            } else if instance == order.address {
                let (id, provider) = (order.id.clone(), provider.clone());
                pending.push(Pending::Import { address: instance, id, provider });
            } else if let (Some(object), Some(schema)) = (self.state.current(&instance), &schema)
                && let Some(value) = decode_stored(object, schema)
            {
                known.push((instance, value));
            }
        }
        let values = self.evaluator.values.module_mut(&address.module);
        values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
        for (instance, value) in known {
            self.evaluator.values.set_instance(&instance, value);
        }
        pending
    }

    pub(super) fn start_import(
        &mut self,
        address: ResourceInstanceAddress,
        id: String,
        provider: &ProviderConfigAddress,
    ) -> StartResult<Outcome> {
        if self.state.current(&address).is_some() {
            let detail = format!(
                "The state already contains an object at {address}. To import another object to this \
                 address, first remove the existing one with `wardian state rm`."
            );
            let problem = Diagnostic::error("Resource already managed by Wardian", detail);
            self.diagnostics.push(problem.for_address(address.to_string()));
            return StartResult::Failed;
        }
        let Some(subject) = self.subject(address, provider) else { return StartResult::Failed };
        let provider_schema = self.evaluator.schemas.provider(&provider.provider).cloned();
        StartResult::running(async move {
            let result = async {
                let target = ImportTarget::Id(id);
                let (found, mut warnings) = find(&subject, &target).await.into_result()?;
                let mut imported: Vec<ImportedObject> = Vec::with_capacity(found.len());
                let mut names: HashMap<Str, usize> = HashMap::new();
                for one in found {
                    let of_type = names.entry(one.type_name.clone()).or_default();
                    let name = subject.address.name();
                    let name =
                        if *of_type == 0 { name.clone() } else { Str::new(&format!("{name}-{of_type}")) };
                    *of_type += 1;
                    let Some(subject) = provider_schema
                        .as_deref()
                        .and_then(|schema| subject.for_type(&one.type_name, name, schema))
                    else {
                        let problem = format!(
                            "found an object of type {}, which is not one of its types.",
                            one.type_name
                        );
                        let summary = "Import returned another resource type";
                        return Err(subject.provider_error(summary, &problem).into());
                    };
                    let (read, found) = read_found(&subject, one, &target).await.into_result()?;
                    warnings.extend(found);
                    imported.push(ImportedObject {
                        address: subject.address.clone(),
                        object: read.object,
                        value: read.current,
                        diagnostics: std::mem::take(&mut warnings),
                    });
                }
                Ok(imported)
            };
            let result = result.await;
            Outcome::Imported { subject, result }
        })
    }

    pub(super) fn imported(
        &mut self,
        subject: &Subject,
        result: Result<Vec<ImportedObject>, Diagnostics>,
    ) -> bool {
        let imported = match result {
            Ok(imported) => imported,
            Err(found) => return self.failed(&subject.address, found),
        };
        for ImportedObject { address, object, value, diagnostics } in imported {
            self.diagnostics.extend(diagnostics);
            self.state.set_current(&address, &subject.provider_config, Some(object));
            if address == subject.address {
                self.evaluator.values.set_instance(&address, value);
            }
        }
        true
    }

    /// Whether a provider can be configured. A direct import requires a known configuration.
    pub(super) fn may_configure(&mut self, address: &ProviderConfigAddress, config: &Value) -> bool {
        if matches!(self.purpose, Purpose::Plan) || config.is_wholly_known() {
            return true;
        }
        let detail = format!(
            "The configuration of {address} depends on values that are known only after apply. An import \
             requires a provider configuration that uses only variables and values from the state."
        );
        let found = Diagnostic::error("Invalid provider configuration", detail).into();
        self.diagnostics.extend(crate::diagnostic_spans::in_provider(
            &self.context.configuration,
            address,
            found,
        ));
        false
    }
}
