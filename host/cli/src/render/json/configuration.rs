//! Renders a configuration as JSON without evaluating its expressions.

use std::collections::BTreeMap;

use serde::Serialize;
use wardian_address::{ModulePath, ResourceMode};
use wardian_config::{Configuration, ModuleCall, ModuleNode, Output, Resource, Variable};
use wardian_engine::Schemas;
use wardian_lang::{Expression, Reference};

use super::objects::mode_name;
use super::values::PlainValue;

mod expressions;
mod providers;

use expressions::{ExpressionDocument, Expressions};
use providers::{ProviderConfigDocument, ProviderConfigs};

#[derive(Serialize)]
pub(super) struct ConfigurationDocument<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    provider_config: BTreeMap<String, ProviderConfigDocument<'a>>,
    root_module: ModuleDocument<'a>,
}

impl<'a> ConfigurationDocument<'a> {
    pub(super) fn new(configuration: &'a Configuration, schemas: &Schemas) -> Self {
        let providers = ProviderConfigs::for_configuration(configuration, schemas);
        let source = Source { configuration, schemas, providers: &providers };
        let root_module = source.module(configuration.root());
        Self { provider_config: providers.into_documents(), root_module }
    }
}

#[derive(Serialize)]
struct ModuleDocument<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    outputs: BTreeMap<&'a str, OutputDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resources: Vec<ResourceDocument<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    module_calls: BTreeMap<&'a str, ModuleCallDocument<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<&'a str, VariableDocument<'a>>,
}

#[derive(Serialize)]
struct OutputDocument<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sensitive: bool,
    expression: ExpressionDocument,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

#[derive(Serialize)]
struct ResourceDocument<'a> {
    address: String,
    mode: &'static str,
    #[serde(rename = "type")]
    type_name: &'a str,
    name: &'a str,
    provider_config_key: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    provisioners: Vec<ProvisionerDocument<'a>>,
    #[serde(skip_serializing_if = "Expressions::is_empty")]
    expressions: Expressions,
    schema_version: i64,
    #[serde(flatten)]
    repetition: RepetitionDocument,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
}

#[derive(Serialize)]
struct ProvisionerDocument<'a> {
    #[serde(rename = "type")]
    type_name: &'a str,
    #[serde(skip_serializing_if = "Expressions::is_empty")]
    expressions: Expressions,
}

#[derive(Serialize)]
struct RepetitionDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    count_expression: Option<ExpressionDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    for_each_expression: Option<ExpressionDocument>,
}

impl RepetitionDocument {
    fn new(count: Option<&Expression>, for_each: Option<&Expression>) -> Self {
        let repetition = |expression: Option<&Expression>| {
            expression.map(ExpressionDocument::new).filter(|document| !document.is_empty())
        };
        let count_expression = repetition(count);
        let for_each_expression = if count_expression.is_some() { None } else { repetition(for_each) };
        Self { count_expression, for_each_expression }
    }
}

#[derive(Serialize)]
struct ModuleCallDocument<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    source: &'a str,
    #[serde(skip_serializing_if = "Expressions::is_empty")]
    expressions: Expressions,
    #[serde(flatten)]
    repetition: RepetitionDocument,
    module: ModuleDocument<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_constraint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
}

#[derive(Serialize)]
struct VariableDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<PlainValue<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sensitive: bool,
}

impl<'a> VariableDocument<'a> {
    fn new(variable: &'a Variable) -> Self {
        Self {
            default: variable.default.as_ref().map(PlainValue),
            description: nonempty(variable.description.as_deref()),
            sensitive: variable.sensitive,
        }
    }
}

/// The values from which the documents are built.
struct Source<'a, 'b> {
    configuration: &'a Configuration,
    schemas: &'b Schemas,
    providers: &'b ProviderConfigs<'a>,
}

impl<'a> Source<'a, '_> {
    /// Returns the document for a module. The recursion is limited, because the loader limits the
    /// depth of module calls.
    fn module(&self, node: &'a ModuleNode) -> ModuleDocument<'a> {
        let module = &node.module;
        let resources_of =
            |mode: ResourceMode| module.resources.values().filter(move |resource| resource.mode == mode);
        let mut resources = Vec::new();
        // Terraform omits ephemeral resources.
        for mode in [ResourceMode::Managed, ResourceMode::Data] {
            let mut of_mode: Vec<ResourceDocument<'a>> =
                resources_of(mode).map(|resource| self.resource(&node.path, resource)).collect();
            of_mode.sort_by(|one, other| one.address.cmp(&other.address));
            resources.append(&mut of_mode);
        }
        let calls = module.module_calls.iter();
        ModuleDocument {
            outputs: module.outputs.iter().map(|(name, output)| (&**name, output_document(output))).collect(),
            resources,
            module_calls: calls.filter_map(|(name, call)| Some((&**name, self.call(node, call)?))).collect(),
            variables: module
                .variables
                .iter()
                .map(|(name, variable)| (&**name, VariableDocument::new(variable)))
                .collect(),
        }
    }

    fn call(&self, caller: &ModuleNode, call: &'a ModuleCall) -> Option<ModuleCallDocument<'a>> {
        let called = self.configuration.module(&caller.path.child(call.name.clone()))?;
        let inputs = call.inputs.values().map(|input| (&*input.name, &input.expression));
        Some(ModuleCallDocument {
            source: &call.source,
            expressions: Expressions::of_arguments(inputs),
            repetition: RepetitionDocument::new(call.count.as_ref(), call.for_each.as_ref()),
            module: self.module(called),
            version_constraint: call.version.as_ref().map(|(constraints, _)| constraints.to_string()),
            depends_on: texts(&call.depends_on),
        })
    }

    fn resource(&self, module: &ModulePath, resource: &'a Resource) -> ResourceDocument<'a> {
        let provider = self.configuration.provider_for(module, resource);
        let schema = self.schemas.resource(&provider.provider, resource.mode, &resource.type_name);
        let mode = match resource.mode {
            ResourceMode::Managed => "",
            ResourceMode::Data => "data.",
            ResourceMode::Ephemeral => "ephemeral.",
        };
        ResourceDocument {
            address: format!("{mode}{}.{}", resource.type_name, resource.name),
            mode: mode_name(resource.mode),
            type_name: &resource.type_name,
            name: &resource.name,
            provider_config_key: self.providers.key(module, &resource.provider),
            provisioners: resource
                .provisioners
                .iter()
                .map(|provisioner| ProvisionerDocument {
                    type_name: &provisioner.type_name,
                    expressions: Expressions::without_schema(&provisioner.body),
                })
                .collect(),
            expressions: schema
                .map(|schema| Expressions::of_body(&resource.body, &schema.block))
                .unwrap_or_default(),
            // Only managed objects are stored with a schema version.
            schema_version: schema
                .filter(|_| resource.mode == ResourceMode::Managed)
                .map_or(0, |schema| schema.version),
            repetition: RepetitionDocument::new(resource.count.as_ref(), resource.for_each.as_ref()),
            depends_on: texts(&resource.depends_on),
        }
    }
}

fn output_document(output: &Output) -> OutputDocument<'_> {
    OutputDocument {
        sensitive: output.sensitive,
        expression: ExpressionDocument::new(&output.expression),
        depends_on: texts(&output.depends_on),
        description: nonempty(output.description.as_deref()),
    }
}

fn nonempty(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn texts(references: &[Reference]) -> Vec<String> {
    references.iter().map(ToString::to_string).collect()
}
