//! Renders provider schemas and function signatures: `providers schema -json` and `metadata
//! functions -json`.

use std::collections::BTreeMap;

use serde::Serialize;
use wardian_address::ProviderAddress;
use wardian_lang::{FunctionSignature, NullArgument, ParameterSignature};
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, NestedBlock,
    ObjectNesting, Parameter, ProviderSchema, Schema, SchemaTable,
};
use wardian_value::Str;

use super::compact;
use super::values::TypeDocument;

/// The format version of schemas and functions.
const FORMAT_VERSION: &str = "1.0";

/// Returns the provider schemas: one line, without a trailing line break.
pub(crate) fn schemas_json<'a>(
    providers: impl Iterator<Item = (ProviderAddress, &'a ProviderSchema)>,
) -> String {
    let providers: BTreeMap<String, ProviderDocument<'_>> = providers
        .map(|(address, schema)| (address.to_string(), ProviderDocument::new(&address, schema)))
        .collect();
    compact(&SchemasDocument { format_version: FORMAT_VERSION, provider_schemas: providers })
}

/// Returns the function signatures: one line, without a trailing line break. Each function is
/// listed both with and without its namespace.
pub(crate) fn functions_json(functions: impl Iterator<Item = FunctionSignature>) -> String {
    let functions: Vec<FunctionSignature> = functions.collect();
    let mut signatures = BTreeMap::new();
    for function in &functions {
        for name in [function.name.to_owned(), format!("core::{}", function.name)] {
            signatures.insert(name, FunctionDocument::of_language(function));
        }
    }
    compact(&FunctionsDocument { format_version: FORMAT_VERSION, function_signatures: signatures })
}

#[derive(Serialize)]
struct SchemasDocument<'a> {
    format_version: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    provider_schemas: BTreeMap<String, ProviderDocument<'a>>,
}

#[derive(Serialize)]
struct FunctionsDocument<'a> {
    format_version: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    function_signatures: BTreeMap<String, FunctionDocument<'a>>,
}

#[derive(Serialize)]
struct ProviderDocument<'a> {
    provider: SchemaDocument<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resource_schemas: BTreeMap<&'a str, SchemaDocument<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    data_source_schemas: BTreeMap<&'a str, SchemaDocument<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ephemeral_resource_schemas: BTreeMap<&'a str, SchemaDocument<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    functions: BTreeMap<&'a str, FunctionDocument<'a>>,
}

impl<'a> ProviderDocument<'a> {
    fn new(address: &ProviderAddress, schema: &'a ProviderSchema) -> Self {
        let all = |schemas: &'a SchemaTable| {
            schemas.iter().map(|(name, schema)| (&**name, SchemaDocument::new(schema))).collect()
        };
        Self {
            provider: if address.is_built_in() {
                // The built-in provider has no configuration, not even an empty one.
                SchemaDocument { version: 0, block: None }
            } else {
                SchemaDocument::new(&schema.provider)
            },
            resource_schemas: all(&schema.resources),
            data_source_schemas: all(&schema.data_sources),
            ephemeral_resource_schemas: all(&schema.ephemeral_resources),
            functions: schema
                .functions
                .iter()
                .map(|(name, function)| (&**name, FunctionDocument::of_provider(function)))
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct SchemaDocument<'a> {
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<BlockDocument<'a>>,
}

impl<'a> SchemaDocument<'a> {
    fn new(schema: &'a Schema) -> Self {
        Self { version: schema.version, block: Some(BlockDocument::new(&schema.block)) }
    }
}

#[derive(Serialize)]
struct BlockDocument<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'a str, AttributeDocument<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    block_types: BTreeMap<&'a str, NestedBlockDocument<'a>>,
    #[serde(flatten)]
    description: DescriptionDocument<'a>,
    #[serde(skip_serializing_if = "is_false")]
    deprecated: bool,
}

impl<'a> BlockDocument<'a> {
    fn new(block: &'a Block) -> Self {
        Self {
            attributes: attributes(&block.attributes),
            block_types: block
                .block_types
                .iter()
                .map(|(name, block)| (&**name, NestedBlockDocument::new(block)))
                .collect(),
            description: DescriptionDocument::new(&block.description),
            deprecated: block.deprecation.is_deprecated(),
        }
    }
}

fn attributes(attributes: &BTreeMap<Str, Attribute>) -> BTreeMap<&str, AttributeDocument<'_>> {
    attributes.iter().map(|(name, attribute)| (&**name, AttributeDocument::new(attribute))).collect()
}

#[derive(Serialize)]
struct NestedBlockDocument<'a> {
    nesting_mode: &'static str,
    block: BlockDocument<'a>,
    #[serde(skip_serializing_if = "is_zero")]
    min_items: u64,
    #[serde(skip_serializing_if = "is_zero")]
    max_items: u64,
}

impl<'a> NestedBlockDocument<'a> {
    fn new(nested: &'a NestedBlock) -> Self {
        let nesting_mode = match nested.nesting {
            BlockNesting::Single => "single",
            BlockNesting::Group => "group",
            BlockNesting::List => "list",
            BlockNesting::Set => "set",
            BlockNesting::Map => "map",
        };
        let (min_items, max_items) = (nested.min_items, nested.max_items);
        Self { nesting_mode, block: BlockDocument::new(&nested.block), min_items, max_items }
    }
}

#[derive(Serialize)]
struct AttributeDocument<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<TypeDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nested_type: Option<NestedTypeDocument<'a>>,
    #[serde(flatten)]
    description: DescriptionDocument<'a>,
    #[serde(skip_serializing_if = "is_false")]
    deprecated: bool,
    #[serde(skip_serializing_if = "is_false")]
    required: bool,
    #[serde(skip_serializing_if = "is_false")]
    optional: bool,
    #[serde(skip_serializing_if = "is_false")]
    computed: bool,
    #[serde(skip_serializing_if = "is_false")]
    sensitive: bool,
    #[serde(skip_serializing_if = "is_false")]
    write_only: bool,
}

impl<'a> AttributeDocument<'a> {
    fn new(attribute: &'a Attribute) -> Self {
        let (ty, nested_type) = match &attribute.ty {
            AttributeType::Value(ty) => (Some(TypeDocument(ty)), None),
            AttributeType::Nested(nested) => {
                let nesting_mode = match nested.nesting {
                    ObjectNesting::Single => "single",
                    ObjectNesting::List => "list",
                    ObjectNesting::Set => "set",
                    ObjectNesting::Map => "map",
                };
                (None, Some(NestedTypeDocument { attributes: attributes(&nested.attributes), nesting_mode }))
            }
        };
        Self {
            ty,
            nested_type,
            description: DescriptionDocument::new(&attribute.description),
            deprecated: attribute.deprecation.is_deprecated(),
            required: attribute.setting.is_required(),
            optional: attribute.setting.is_optional(),
            computed: attribute.setting.is_computed(),
            sensitive: attribute.sensitive,
            write_only: attribute.write_only,
        }
    }
}

#[derive(Serialize)]
struct NestedTypeDocument<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'a str, AttributeDocument<'a>>,
    nesting_mode: &'static str,
}

#[derive(Serialize)]
struct DescriptionDocument<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    description_kind: &'static str,
}

impl<'a> DescriptionDocument<'a> {
    fn new(description: &'a Description) -> Self {
        let description_kind = if description.markdown { "markdown" } else { "plain" };
        Self { description: &description.text, description_kind }
    }
}

#[derive(Serialize)]
struct FunctionDocument<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    summary: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    deprecation_message: &'a str,
    return_type: TypeDocument<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<ParameterDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variadic_parameter: Option<ParameterDocument<'a>>,
}

impl<'a> FunctionDocument<'a> {
    fn of_provider(function: &'a Function) -> Self {
        let deprecation_message = match &function.deprecation {
            Deprecation::Message(message) => message,
            Deprecation::None | Deprecation::Deprecated => "",
        };
        Self {
            description: &function.description.text,
            summary: &function.summary,
            deprecation_message,
            return_type: TypeDocument(&function.return_type),
            parameters: function.parameters.iter().map(ParameterDocument::of_provider).collect(),
            variadic_parameter: function.variadic_parameter.as_ref().map(ParameterDocument::of_provider),
        }
    }

    fn of_language(function: &'a FunctionSignature) -> Self {
        Self {
            description: function.description,
            summary: "",
            deprecation_message: "",
            return_type: TypeDocument(&function.result),
            parameters: function.parameters.iter().map(ParameterDocument::of_language).collect(),
            variadic_parameter: function.variadic.as_ref().map(ParameterDocument::of_language),
        }
    }
}

#[derive(Serialize)]
struct ParameterDocument<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    is_nullable: bool,
    #[serde(rename = "type")]
    ty: TypeDocument<'a>,
}

impl<'a> ParameterDocument<'a> {
    fn of_provider(parameter: &'a Parameter) -> Self {
        Self {
            name: &parameter.name,
            description: &parameter.description.text,
            is_nullable: parameter.allow_null,
            ty: TypeDocument(&parameter.ty),
        }
    }

    fn of_language(parameter: &'a ParameterSignature) -> Self {
        Self {
            name: parameter.name,
            description: "",
            is_nullable: parameter.null == NullArgument::Accepted,
            ty: TypeDocument(&parameter.ty),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
