//! Decodes the schemas of a provider. Blocks and nested objects are stored in flat lists, in which an
//! entry refers only to later entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_plugin::transport::DecodedSchema;
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, IdentityAttribute,
    IdentitySchema, NestedBlock, NestedObject, ObjectNesting, Parameter, ProviderSchema, Schema,
    ServerCapabilities, Setting,
};
use wardian_sdk::bindings::exports::wardian::plugin::provider as wit;
use wardian_sdk::bindings::wardian::plugin::types as wit_types;
use wardian_value::{Str, Type};

/// Decodes all schemas. The error describes the fault and its location.
pub(super) fn provider_schema(
    answer: wit::ProviderSchema,
    identities: Vec<(String, wit::IdentitySchema)>,
) -> Result<DecodedSchema, String> {
    let capabilities = answer.server_capabilities;
    let schema = ProviderSchema {
        capabilities: ServerCapabilities {
            plan_destroy: capabilities.plan_destroy,
            get_provider_schema_optional: capabilities.get_provider_schema_optional,
            move_resource_state: capabilities.move_resource_state,
            generate_resource_config: capabilities.generate_resource_config,
        },
        provider: schema("the provider's configuration", answer.provider)?,
        provider_meta: answer.provider_meta.map(|meta| schema("provider_meta", meta)).transpose()?,
        resources: schemas("resource", answer.resources)?.into(),
        data_sources: schemas("data source", answer.data_sources)?.into(),
        ephemeral_resources: schemas("ephemeral resource", answer.ephemeral_resources)?.into(),
        list_resources: schemas("list resource", answer.list_resources)?.into(),
        actions: schemas("action", answer.actions)?.into(),
        functions: by_name("function", answer.functions, function)?,
        identities: by_name("identity of resource", identities, identity)?,
    };
    Ok(DecodedSchema::new(schema))
}

fn schemas(
    kind: &str,
    named: Vec<(String, wit_types::Schema)>,
) -> Result<BTreeMap<Str, Arc<Schema>>, String> {
    by_name(kind, named, |place, answer| schema(place, answer).map(Arc::new))
}

fn by_name<A, B>(
    kind: &str,
    named: Vec<(String, A)>,
    decode: impl Fn(&str, A) -> Result<B, String>,
) -> Result<BTreeMap<Str, B>, String> {
    let decode_one = |(name, answer): (String, A)| {
        let value = decode(&format!("{kind} {name:?}"), answer)?;
        Ok((Str::from(name), value))
    };
    named.into_iter().map(decode_one).collect()
}

fn schema(place: &str, answer: wit_types::Schema) -> Result<Schema, String> {
    let mut tree = Tree {
        blocks: answer.blocks.into_iter().map(Some).collect(),
        objects: answer.objects.into_iter().map(Some).collect(),
    };
    Ok(Schema::new(answer.version, tree.block(place, 0)?))
}

/// The entries that are not decoded yet. Each entry is referred to once, because the schema is a tree.
struct Tree {
    blocks: Vec<Option<wit_types::Block>>,
    objects: Vec<Option<wit_types::NestedObject>>,
}

impl Tree {
    fn block(&mut self, place: &str, index: u32) -> Result<Block, String> {
        let block =
            take(&mut self.blocks, index).ok_or_else(|| format!("{place}: there is no block {index}"))?;
        let attributes = self.attributes(place, block.attributes)?;
        let mut block_types = BTreeMap::new();
        for inner in block.block_types {
            let here = format!("{place}, block {:?}", inner.type_name);
            let nested = NestedBlock {
                block: self.block(&here, inner.block)?,
                nesting: match inner.nesting {
                    wit_types::BlockNesting::Single => BlockNesting::Single,
                    wit_types::BlockNesting::Group => BlockNesting::Group,
                    wit_types::BlockNesting::List => BlockNesting::List,
                    wit_types::BlockNesting::Set => BlockNesting::Set,
                    wit_types::BlockNesting::Map => BlockNesting::Map,
                },
                min_items: inner.min_items,
                max_items: inner.max_items,
            };
            if attributes.contains_key(inner.type_name.as_str()) {
                return Err(format!("{here}: there is an attribute with the same name"));
            }
            if block_types.insert(inner.type_name.into(), nested).is_some() {
                return Err(format!("{here}: defined twice"));
            }
        }
        Ok(Block {
            attributes,
            block_types,
            description: description(block.description),
            deprecation: deprecation(block.deprecation),
        })
    }

    fn attributes(
        &mut self,
        place: &str,
        answer: Vec<wit_types::Attribute>,
    ) -> Result<BTreeMap<Str, Attribute>, String> {
        let mut decoded = BTreeMap::new();
        for attribute in answer {
            let here = format!("{place}, attribute {:?}", attribute.name);
            let value = Attribute {
                ty: match attribute.type_ {
                    wit_types::AttributeType::Value(json) => AttributeType::Value(ty(&here, &json)?),
                    wit_types::AttributeType::Nested(index) => {
                        AttributeType::Nested(Arc::new(self.object(&here, index)?))
                    }
                },
                description: description(attribute.description),
                setting: Setting::from_flags(attribute.required, attribute.optional, attribute.computed)
                    .ok_or_else(|| {
                        format!("{here}: required, optional and computed contradict each other")
                    })?,
                sensitive: attribute.sensitive,
                write_only: attribute.write_only,
                deprecation: deprecation(attribute.deprecation),
            };
            if decoded.insert(attribute.name.into(), value).is_some() {
                return Err(format!("{here}: defined twice"));
            }
        }
        Ok(decoded)
    }

    fn object(&mut self, place: &str, index: u32) -> Result<NestedObject, String> {
        let object =
            take(&mut self.objects, index).ok_or_else(|| format!("{place}: there is no object {index}"))?;
        Ok(NestedObject {
            attributes: self.attributes(place, object.attributes)?,
            nesting: match object.nesting {
                wit_types::ObjectNesting::Single => ObjectNesting::Single,
                wit_types::ObjectNesting::List => ObjectNesting::List,
                wit_types::ObjectNesting::Set => ObjectNesting::Set,
                wit_types::ObjectNesting::Map => ObjectNesting::Map,
            },
        })
    }
}

fn take<T>(entries: &mut [Option<T>], index: u32) -> Option<T> {
    entries.get_mut(index as usize).and_then(Option::take)
}

fn ty(place: &str, json: &str) -> Result<Type, String> {
    Type::from_json(json).map_err(|error| format!("{place}: {error}"))
}

fn description(answer: wit_types::Description) -> Description {
    Description { markdown: answer.kind == wit_types::StringKind::Markdown, text: answer.text }
}

fn deprecation(answer: wit_types::Deprecation) -> Deprecation {
    match answer {
        wit_types::Deprecation::None => Deprecation::None,
        wit_types::Deprecation::Deprecated => Deprecation::Deprecated,
        wit_types::Deprecation::Message(text) => Deprecation::Message(text),
    }
}

fn function(place: &str, answer: wit::Function) -> Result<Function, String> {
    Ok(Function {
        parameters: answer
            .parameters
            .into_iter()
            .map(|one| parameter(place, one))
            .collect::<Result<_, _>>()?,
        variadic_parameter: answer.variadic_parameter.map(|one| parameter(place, one)).transpose()?,
        return_type: ty(place, &answer.return_type)?,
        summary: answer.summary,
        description: description(answer.description),
        deprecation: deprecation(answer.deprecation),
    })
}

fn parameter(place: &str, answer: wit::Parameter) -> Result<Parameter, String> {
    Ok(Parameter {
        ty: ty(&format!("{place}, parameter {:?}", answer.name), &answer.type_)?,
        name: answer.name,
        allow_null: answer.allow_null_value,
        allow_unknown: answer.allow_unknown_values,
        description: description(answer.description),
    })
}

fn identity(place: &str, answer: wit::IdentitySchema) -> Result<Arc<IdentitySchema>, String> {
    let decode = |attribute: wit::IdentityAttribute| {
        let value = IdentityAttribute {
            ty: ty(&format!("{place}, attribute {:?}", attribute.name), &attribute.type_)?,
            required_for_import: attribute.required_for_import,
            optional_for_import: attribute.optional_for_import,
            description: attribute.description,
        };
        Ok((Str::from(attribute.name), value))
    };
    let attributes = answer.attributes.into_iter().map(decode).collect::<Result<_, String>>()?;
    Ok(Arc::new(IdentitySchema { version: answer.version, attributes }))
}
