//! Handles requests for metadata, schemas and functions.

use super::{Service, diagnostics_record};
use crate::Schema;
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::function::{Function, Parameter};
use crate::schema::{deprecation, description, schema_record};

impl Service {
    /// Returns the optional calls of the protocol that this library implements.
    fn capabilities() -> protocol::ServerCapabilities {
        protocol::ServerCapabilities {
            plan_destroy: true,
            get_provider_schema_optional: true,
            move_resource_state: true,
            generate_resource_config: false,
        }
    }

    pub(crate) fn metadata(&self) -> protocol::Metadata {
        let parts = &self.parts;
        protocol::Metadata {
            server_capabilities: Self::capabilities(),
            diagnostics: diagnostics_record(parts.problems.clone()),
            resources: parts.resources.keys().cloned().collect(),
            data_sources: parts.data_sources.keys().cloned().collect(),
            ephemeral_resources: parts.ephemeral_resources.keys().cloned().collect(),
            list_resources: parts.list_resources.keys().cloned().collect(),
            actions: parts.actions.keys().cloned().collect(),
            functions: parts.functions.keys().cloned().collect(),
        }
    }

    pub(crate) fn provider_schema(&self) -> protocol::ProviderSchema {
        let parts = &self.parts;
        let named = |(name, schema): (&String, &Schema)| (name.clone(), schema_record(schema));
        protocol::ProviderSchema {
            server_capabilities: Self::capabilities(),
            diagnostics: diagnostics_record(parts.problems.clone()),
            provider: schema_record(parts.schema.schema()),
            provider_meta: parts.meta.as_ref().map(|meta| schema_record(meta.schema())),
            resources: parts.resources.iter().map(|(n, p)| named((n, p.schema()))).collect(),
            data_sources: parts.data_sources.iter().map(|(n, p)| named((n, p.schema()))).collect(),
            ephemeral_resources: parts
                .ephemeral_resources
                .iter()
                .map(|(n, p)| named((n, p.schema())))
                .collect(),
            list_resources: parts.list_resources.iter().map(|(n, p)| named((n, p.schema()))).collect(),
            actions: parts.actions.iter().map(|(n, p)| named((n, p.schema()))).collect(),
            functions: self.functions(),
        }
    }

    pub(crate) fn functions(&self) -> Vec<(String, protocol::Function)> {
        self.parts
            .functions
            .iter()
            .map(|(name, function)| (name.clone(), function_record(function)))
            .collect()
    }
}

fn function_record(function: &Function) -> protocol::Function {
    let signature = &function.signature;
    protocol::Function {
        parameters: signature.parameters.iter().map(parameter_record).collect(),
        variadic_parameter: signature.variadic.as_ref().map(parameter_record),
        return_type: signature.returns.to_json(),
        summary: signature.summary.clone(),
        description: description(&signature.description),
        deprecation: deprecation(&signature.deprecation),
    }
}

fn parameter_record(parameter: &Parameter) -> protocol::Parameter {
    protocol::Parameter {
        name: parameter.name.clone(),
        type_: parameter.ty.to_json(),
        allow_null_value: parameter.allow_null,
        allow_unknown_values: parameter.allow_unknown,
        description: description(&parameter.description),
    }
}
