//! Lists the existing objects of a resource type.

use std::sync::Arc;

use wardian_address::{InstanceKey, ModuleInstance, ProviderConfigAddress, ResourceMode};
use wardian_config::ProviderReference;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{CallContext, Continue, ListEvent, ListRequest, Provider, Schema, ValidateListRequest};
use wardian_value::{Type, Value};

use crate::events::{Event, Events};
use crate::import::generate;
use crate::object::sensitive::mark_by_schema;
use crate::plugin_diagnostics::from_plugin_about;
use crate::query::{GeneratedImport, ListInstance, ListedObject};

/// A query and its provider.
pub struct ListSubject {
    pub address: ListInstance,
    pub provider_config: ProviderConfigAddress,
    pub provider: Arc<dyn Provider>,
    /// The configuration, wholly known.
    pub config: Value,
    pub include_resource: bool,
    /// The maximum number of results.
    pub limit: u64,
    /// The schema of the resource type; `None` if the provider has no such resource type.
    pub resource: Option<Arc<Schema>>,
    /// Whether the provider generates configurations.
    pub generates: bool,
    /// The provider argument of the list block.
    pub reference: ProviderReference,
    /// The prefix of the names of generated resources; `None` if nothing is generated.
    pub name_prefix: Option<String>,
    /// The receiver of progress events.
    pub events: Arc<dyn Events>,
}

/// The result of a query. Objects that were found before an error are included.
pub struct ListOutcome {
    pub found: Vec<ListedObject>,
    /// The value of the query for expressions.
    pub value: Value,
    pub diagnostics: Diagnostics,
}

/// Runs a query. Objects are reported as soon as they are found; if their configuration is
/// generated, after it was generated.
pub async fn list(subject: &ListSubject) -> ListOutcome {
    let address = subject.address.to_string();
    let context = CallContext::new(address.as_str());
    let config = context.unmark_and_register(&subject.config);
    let validation = ValidateListRequest {
        type_name: subject.address.type_name.clone(),
        config: config.clone(),
        include_resource_object: Value::bool(subject.include_resource),
        limit: Value::number(subject.limit),
    };
    let found = subject.provider.validate_list_resource_config(&context, validation).await;
    let mut diagnostics = from_plugin_about(&found, &address);
    if diagnostics.has_errors() {
        return ListOutcome { found: Vec::new(), value: Value::unknown(Type::Dynamic), diagnostics };
    }
    subject.events.event(&Event::ListStarted { list: &subject.address, config: &subject.config });
    let request = ListRequest {
        type_name: subject.address.type_name.clone(),
        config,
        include_resource_object: subject.include_resource,
        limit: Some(subject.limit),
    };
    let mut objects: Vec<ListedObject> = Vec::new();
    let mut receive = |event: ListEvent| {
        diagnostics.extend(from_plugin_about(&event.diagnostics, &address));
        match subject.accept(event) {
            Ok(Some(object)) => {
                if subject.name_prefix.is_none() {
                    subject.events.event(&Event::ListFound { list: &subject.address, object: &object });
                }
                objects.push(object);
            }
            Ok(None) => {}
            Err(problem) => diagnostics.push(problem),
        }
        if u64::try_from(objects.len()).unwrap_or(u64::MAX) < subject.limit {
            Continue::Yes
        } else {
            Continue::Stop
        }
    };
    let found = subject.provider.list_resource(&context, request, &mut receive).await;
    diagnostics.extend(from_plugin_about(&found, &address));
    if let Some(prefix) = &subject.name_prefix {
        for (number, object) in objects.iter_mut().enumerate() {
            let name = format!("{prefix}_{number}");
            object.generated = subject.generate(&context, &name, object, &mut diagnostics).await;
            subject.events.event(&Event::ListFound { list: &subject.address, object });
        }
    }
    subject.events.event(&Event::ListCompleted { list: &subject.address, found: &objects });
    let value = subject.value(&objects);
    ListOutcome { found: objects, value, diagnostics }
}

impl ListSubject {
    /// Returns the object in a result; `None` if the result contains only diagnostics.
    fn accept(&self, event: ListEvent) -> Result<Option<ListedObject>, Diagnostic> {
        let Some(identity) = event.identity.filter(|identity| !identity.is_null()) else {
            if !event.diagnostics.is_empty() {
                return Ok(None);
            }
            return Err(self.provider_error("returned an object without an identity"));
        };
        if !identity.is_wholly_known() {
            return Err(self.provider_error("returned an identity that is not wholly known"));
        }
        let object = event.resource_object.filter(|object| !object.is_null());
        if object.as_ref().is_some_and(|object| !object.is_wholly_known()) {
            return Err(self.provider_error("returned an object that is not wholly known"));
        }
        let object = match (&self.resource, object) {
            (Some(schema), Some(object)) => Some(mark_by_schema(&schema.block, &object)),
            (_, object) => object,
        };
        Ok(Some(ListedObject { identity, display_name: event.display_name, object, generated: None }))
    }

    fn provider_error(&self, problem: &str) -> Diagnostic {
        let detail = format!(
            "Provider \"{}\" {problem} for {}.\n\nThis is a bug in the provider; please report it to its \
             maintainers.",
            self.provider_config.provider, self.address
        );
        Diagnostic::error("Provider produced invalid list result", detail)
            .for_address(self.address.to_string())
    }

    /// Generates the configuration that imports an object.
    async fn generate(
        &self,
        context: &CallContext,
        name: &str,
        object: &ListedObject,
        diagnostics: &mut Diagnostics,
    ) -> Option<GeneratedImport> {
        let (Some(schema), Some(value)) = (&self.resource, &object.object) else {
            diagnostics.push(self.provider_error(
                "returned only the identity of an object whose configuration was to be generated",
            ));
            return None;
        };
        let plain = context.unmark_and_register(value);
        let type_name = &self.address.type_name;
        let model = if self.generates {
            let answer =
                self.provider.generate_resource_config(context, type_name.clone(), plain.clone()).await;
            diagnostics.extend(from_plugin_about(&answer.diagnostics, &self.address.to_string()));
            answer.config.filter(|config| !config.is_null() && config.is_wholly_known()).unwrap_or(plain)
        } else {
            plain
        };
        let resource = ModuleInstance::root()
            .resource(ResourceMode::Managed, type_name.clone(), name)
            .instance(InstanceKey::None);
        // Missing arguments are reported when the generated configuration is planned.
        let made = generate::generate(&resource, &self.reference, &schema.block, &model);
        let import = generate::import_block(&resource, &self.reference, &object.identity);
        Some(GeneratedImport { resource: made.text, import })
    }

    /// Returns the value of the query: `data` contains an object for each result.
    fn value(&self, objects: &[ListedObject]) -> Value {
        let no_object = || {
            let ty = self.resource.as_ref().map_or(Type::Dynamic, |schema| schema.implied_type().clone());
            Value::null(ty)
        };
        let results = objects.iter().map(|found| {
            Value::object([
                ("display_name", Value::string(found.display_name.as_str())),
                ("identity", found.identity.clone()),
                ("state", found.object.clone().unwrap_or_else(no_object)),
            ])
        });
        Value::object([("data", Value::tuple(results))])
    }
}
