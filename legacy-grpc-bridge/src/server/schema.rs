//! Encodes schemas in the responses of either protocol version.

use std::collections::HashMap;

use bytes::Bytes;
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, IdentitySchema,
    NestedObject, ObjectNesting, Parameter, ProviderSchema, Schema, SchemaTable,
};
use wardian_value::{Str, Type};

use super::ServeError;
use crate::protocol::{tfplugin as m, tfplugin5 as five, tfplugin6 as six};

/// Encodes all schemas in protocol 6.
pub(super) fn of_six(schema: &ProviderSchema) -> six::get_provider_schema::Response {
    six::get_provider_schema::Response {
        provider: Some(six_schema(&schema.provider)),
        resource_schemas: schema.resources.iter().map(|(n, s)| (n.to_string(), six_schema(s))).collect(),
        data_source_schemas: schema
            .data_sources
            .iter()
            .map(|(n, s)| (n.to_string(), six_schema(s)))
            .collect(),
        diagnostics: Vec::new(),
        provider_meta: schema.provider_meta.as_ref().map(six_schema),
        server_capabilities: Some(capabilities(schema)),
        functions: functions(schema),
        ephemeral_resource_schemas: schema
            .ephemeral_resources
            .iter()
            .map(|(n, s)| (n.to_string(), six_schema(s)))
            .collect(),
        list_resource_schemas: schema
            .list_resources
            .iter()
            .map(|(n, s)| (n.to_string(), six_schema(s)))
            .collect(),
        action_schemas: schema
            .actions
            .iter()
            .map(|(n, s)| (n.to_string(), six::ActionSchema { schema: Some(six_schema(s)) }))
            .collect(),
        ..six::get_provider_schema::Response::default()
    }
}

/// Encodes all schemas in protocol 5, which has no nested attributes.
pub(super) fn of_five(schema: &ProviderSchema) -> Result<five::get_provider_schema::Response, ServeError> {
    let all =
        |kind: &'static str, table: &SchemaTable| -> Result<HashMap<String, five::Schema>, ServeError> {
            let one = |(name, schema): (&Str, &std::sync::Arc<Schema>)| {
                Ok((name.to_string(), five_schema(&format!("{kind} {name:?}"), schema)?))
            };
            table.iter().map(one).collect()
        };
    Ok(five::get_provider_schema::Response {
        provider: Some(five_schema("provider configuration", &schema.provider)?),
        resource_schemas: all("resource", &schema.resources)?,
        data_source_schemas: all("data source", &schema.data_sources)?,
        diagnostics: Vec::new(),
        provider_meta: schema
            .provider_meta
            .as_ref()
            .map(|meta| five_schema("provider metadata", meta))
            .transpose()?,
        server_capabilities: Some(capabilities(schema)),
        functions: functions(schema),
        ephemeral_resource_schemas: all("ephemeral resource", &schema.ephemeral_resources)?,
        list_resource_schemas: all("list resource", &schema.list_resources)?,
        action_schemas: all("action", &schema.actions)?
            .into_iter()
            .map(|(name, schema)| (name, five::ActionSchema { schema: Some(schema) }))
            .collect(),
    })
}

/// Returns the names of all types, actions and functions of the provider, for hosts that serve
/// several providers as one plugin.
pub(super) fn metadata(schema: &ProviderSchema) -> m::get_metadata::Response {
    let types = |table: &SchemaTable| {
        let one = |name: &Str| m::get_metadata::TypeMetadata { type_name: name.to_string() };
        table.keys().map(one).collect()
    };
    m::get_metadata::Response {
        server_capabilities: Some(capabilities(schema)),
        diagnostics: Vec::new(),
        data_sources: types(&schema.data_sources),
        resources: types(&schema.resources),
        functions: schema
            .functions
            .keys()
            .map(|name| m::get_metadata::FunctionMetadata { name: name.to_string() })
            .collect(),
        ephemeral_resources: types(&schema.ephemeral_resources),
        list_resources: types(&schema.list_resources),
        actions: types(&schema.actions),
    }
}

/// Returns the functions, for hosts that request them again from a configured provider. The
/// functions are the same.
pub(super) fn functions_alone(schema: &ProviderSchema) -> m::get_functions::Response {
    m::get_functions::Response { functions: functions(schema), diagnostics: Vec::new() }
}

pub(super) fn identities(schema: &ProviderSchema) -> m::get_resource_identity_schemas::Response {
    let one = |schema: &IdentitySchema| m::ResourceIdentitySchema {
        version: schema.version,
        identity_attributes: schema
            .attributes
            .iter()
            .map(|(name, attribute)| m::resource_identity_schema::IdentityAttribute {
                name: name.to_string(),
                r#type: type_json(&attribute.ty),
                required_for_import: attribute.required_for_import,
                optional_for_import: attribute.optional_for_import,
                description: attribute.description.clone(),
            })
            .collect(),
    };
    m::get_resource_identity_schemas::Response {
        identity_schemas: schema.identities.iter().map(|(name, s)| (name.to_string(), one(s))).collect(),
        diagnostics: Vec::new(),
    }
}

fn capabilities(schema: &ProviderSchema) -> m::ServerCapabilities {
    m::ServerCapabilities {
        plan_destroy: schema.capabilities.plan_destroy,
        // The server also accepts calls from clients that have not requested the schema.
        get_provider_schema_optional: true,
        move_resource_state: schema.capabilities.move_resource_state,
        generate_resource_config: schema.capabilities.generate_resource_config,
    }
}

fn type_json(ty: &Type) -> Bytes {
    ty.to_json().into()
}

fn kind(description: &Description) -> i32 {
    let kind = if description.markdown { m::StringKind::Markdown } else { m::StringKind::Plain };
    kind.into()
}

fn message(deprecation: &Deprecation) -> String {
    match deprecation {
        Deprecation::Message(message) => message.clone(),
        Deprecation::None | Deprecation::Deprecated => String::new(),
    }
}

fn count(items: u64) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

fn functions(schema: &ProviderSchema) -> std::collections::HashMap<String, m::Function> {
    schema.functions.iter().map(|(name, function)| (name.to_string(), self::function(function))).collect()
}

fn function(function: &Function) -> m::Function {
    let parameter = |parameter: &Parameter| m::function::Parameter {
        name: parameter.name.clone(),
        r#type: type_json(&parameter.ty),
        allow_null_value: parameter.allow_null,
        allow_unknown_values: parameter.allow_unknown,
        description: parameter.description.text.clone(),
        description_kind: kind(&parameter.description),
    };
    m::Function {
        parameters: function.parameters.iter().map(parameter).collect(),
        variadic_parameter: function.variadic_parameter.as_ref().map(parameter),
        r#return: Some(m::function::Return { r#type: type_json(&function.return_type) }),
        summary: function.summary.clone(),
        description: function.description.text.clone(),
        description_kind: kind(&function.description),
        deprecation_message: message(&function.deprecation),
    }
}

fn six_schema(schema: &Schema) -> six::Schema {
    six::Schema { version: schema.version, block: Some(six_block(&schema.block)) }
}

fn six_block(block: &Block) -> six::schema::Block {
    use six::schema::nested_block::NestingMode;
    six::schema::Block {
        version: 0,
        attributes: block.attributes.iter().map(|(name, a)| six_attribute(name, a)).collect(),
        block_types: block
            .block_types
            .iter()
            .map(|(name, nested)| six::schema::NestedBlock {
                type_name: name.to_string(),
                block: Some(six_block(&nested.block)),
                nesting: i32::from(match nested.nesting {
                    BlockNesting::Single => NestingMode::Single,
                    BlockNesting::List => NestingMode::List,
                    BlockNesting::Set => NestingMode::Set,
                    BlockNesting::Map => NestingMode::Map,
                    BlockNesting::Group => NestingMode::Group,
                }),
                min_items: count(nested.min_items),
                max_items: count(nested.max_items),
            })
            .collect(),
        description: block.description.text.clone(),
        description_kind: kind(&block.description),
        deprecated: block.deprecation.is_deprecated(),
        deprecation_message: message(&block.deprecation),
    }
}

fn six_attribute(name: &str, attribute: &Attribute) -> six::schema::Attribute {
    let (ty, nested) = match &attribute.ty {
        AttributeType::Value(ty) => (type_json(ty), None),
        AttributeType::Nested(object) => (Bytes::new(), Some(six_object(object))),
    };
    six::schema::Attribute {
        name: name.to_owned(),
        r#type: ty,
        description: attribute.description.text.clone(),
        required: attribute.setting.is_required(),
        optional: attribute.setting.is_optional(),
        computed: attribute.setting.is_computed(),
        sensitive: attribute.sensitive,
        description_kind: kind(&attribute.description),
        deprecated: attribute.deprecation.is_deprecated(),
        nested_type: nested,
        write_only: attribute.write_only,
        deprecation_message: message(&attribute.deprecation),
    }
}

fn six_object(object: &NestedObject) -> six::schema::Object {
    use six::schema::object::NestingMode;
    six::schema::Object {
        attributes: object.attributes.iter().map(|(name, a)| six_attribute(name, a)).collect(),
        nesting: i32::from(match object.nesting {
            ObjectNesting::Single => NestingMode::Single,
            ObjectNesting::List => NestingMode::List,
            ObjectNesting::Set => NestingMode::Set,
            ObjectNesting::Map => NestingMode::Map,
        }),
    }
}

fn five_schema(place: &str, schema: &Schema) -> Result<five::Schema, ServeError> {
    Ok(five::Schema { version: schema.version, block: Some(five_block(place, &schema.block)?) })
}

fn five_block(place: &str, block: &Block) -> Result<five::schema::Block, ServeError> {
    let mut attributes = Vec::with_capacity(block.attributes.len());
    for (name, attribute) in &block.attributes {
        let AttributeType::Value(ty) = &attribute.ty else {
            return Err(ServeError::NestedAttribute { place: format!("{place}, attribute {name:?}") });
        };
        attributes.push(five::schema::Attribute {
            name: name.to_string(),
            r#type: type_json(ty),
            description: attribute.description.text.clone(),
            required: attribute.setting.is_required(),
            optional: attribute.setting.is_optional(),
            computed: attribute.setting.is_computed(),
            sensitive: attribute.sensitive,
            description_kind: kind(&attribute.description),
            deprecated: attribute.deprecation.is_deprecated(),
            write_only: attribute.write_only,
            deprecation_message: message(&attribute.deprecation),
        });
    }
    let mut block_types = Vec::with_capacity(block.block_types.len());
    for (name, nested) in &block.block_types {
        use five::schema::nested_block::NestingMode;
        block_types.push(five::schema::NestedBlock {
            type_name: name.to_string(),
            block: Some(five_block(&format!("{place}, block {name:?}"), &nested.block)?),
            nesting: i32::from(match nested.nesting {
                BlockNesting::Single => NestingMode::Single,
                BlockNesting::List => NestingMode::List,
                BlockNesting::Set => NestingMode::Set,
                BlockNesting::Map => NestingMode::Map,
                BlockNesting::Group => NestingMode::Group,
            }),
            min_items: count(nested.min_items),
            max_items: count(nested.max_items),
        });
    }
    Ok(five::schema::Block {
        version: 0,
        attributes,
        block_types,
        description: block.description.text.clone(),
        description_kind: kind(&block.description),
        deprecated: block.deprecation.is_deprecated(),
        deprecation_message: message(&block.deprecation),
    })
}
