//! Reads schemas in the format of `terraform providers schema -json`, which may also have the
//! member `provider_meta`.
//!
//! A resource schema may have the member `drift`: null if its objects no longer exist when they are
//! read, or the values of the attributes that have changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, NestedBlock,
    NestedObject, ObjectNesting, Parameter, ProviderSchema, Schema, SchemaTable, Setting,
};
use wardian_value::{Str, Type, json};

pub(crate) fn provider_schema(document: &Value) -> Result<ProviderSchema> {
    Ok(ProviderSchema {
        provider: schema(&document["provider"]).context("the schema of the provider")?,
        provider_meta: match &document["provider_meta"] {
            Value::Null => None,
            metadata => Some(schema(metadata).context("the schema of provider_meta")?),
        },
        resources: table(&document["resource_schemas"])?,
        data_sources: table(&document["data_source_schemas"])?,
        ephemeral_resources: table(&document["ephemeral_resource_schemas"])?,
        functions: functions(&document["functions"])?,
        ..ProviderSchema::default()
    })
}

/// The difference between the objects of a resource type and their stored values.
#[derive(Debug)]
pub(crate) enum Drift {
    Missing,
    Changed(BTreeMap<Str, wardian_value::Value>),
}

/// Reads the drift of resource types.
pub(crate) fn drift(document: &Value, schema: &ProviderSchema) -> Result<BTreeMap<Str, Drift>> {
    let mut found = BTreeMap::new();
    for (name, one) in members(&document["resource_schemas"]) {
        let drift = match one.get("drift") {
            None => continue,
            Some(Value::Null) => Drift::Missing,
            Some(values) => {
                let table = schema.resources.get(name).context("a resource type has no schema")?;
                let changed = members(values).map(|(attribute, value)| {
                    let attribute = Str::from(attribute.as_str());
                    let declared = table.block.attributes.get(&attribute);
                    let ty = declared.with_context(|| format!("{name} has no attribute {attribute}"))?;
                    let value = json::decode(value.to_string(), &ty.implied_type())?;
                    Ok((attribute, value))
                });
                Drift::Changed(
                    changed.collect::<Result<_>>().with_context(|| format!("the drift of {name}"))?,
                )
            }
        };
        found.insert(Str::from(name.as_str()), drift);
    }
    Ok(found)
}

fn table(document: &Value) -> Result<SchemaTable> {
    let schemas: BTreeMap<Str, Arc<Schema>> = members(document)
        .map(|(name, one)| {
            let schema = schema(one).with_context(|| format!("the schema of {name}"))?;
            Ok((Str::from(name.as_str()), Arc::new(schema)))
        })
        .collect::<Result<_>>()?;
    Ok(schemas.into())
}

fn schema(document: &Value) -> Result<Schema> {
    let version = document["version"].as_i64().unwrap_or_default();
    Ok(Schema::new(version, block(&document["block"])?))
}

fn block(document: &Value) -> Result<Block> {
    let block_types = members(&document["block_types"])
        .map(|(name, one)| {
            let nesting = match one["nesting_mode"].as_str() {
                Some("single") => BlockNesting::Single,
                Some("group") => BlockNesting::Group,
                Some("list") => BlockNesting::List,
                Some("set") => BlockNesting::Set,
                Some("map") => BlockNesting::Map,
                other => bail!("the block {name} has the unknown nesting {other:?}"),
            };
            let block = block(&one["block"]).with_context(|| format!("the block {name}"))?;
            let count = |name: &str| one[name].as_u64().unwrap_or_default();
            let (min_items, max_items) = (count("min_items"), count("max_items"));
            Ok((Str::from(name.as_str()), NestedBlock { block, nesting, min_items, max_items }))
        })
        .collect::<Result<_>>()?;
    Ok(Block {
        attributes: attributes(&document["attributes"])?,
        block_types,
        description: Description::default(),
        deprecation: deprecation(document),
    })
}

fn attributes(document: &Value) -> Result<BTreeMap<Str, Attribute>> {
    members(document)
        .map(|(name, one)| {
            let attribute = attribute(one).with_context(|| format!("the attribute {name}"))?;
            Ok((Str::from(name.as_str()), attribute))
        })
        .collect()
}

fn attribute(document: &Value) -> Result<Attribute> {
    let flag = |name: &str| document[name].as_bool().unwrap_or_default();
    let ty = match &document["nested_type"] {
        Value::Null => AttributeType::Value(read_type(&document["type"])?),
        nested => {
            let nesting = match nested["nesting_mode"].as_str() {
                Some("single") => ObjectNesting::Single,
                Some("list") => ObjectNesting::List,
                Some("set") => ObjectNesting::Set,
                Some("map") => ObjectNesting::Map,
                other => bail!("the unknown nesting {other:?}"),
            };
            let attributes = attributes(&nested["attributes"])?;
            AttributeType::Nested(Arc::new(NestedObject { attributes, nesting }))
        }
    };
    let setting = Setting::from_flags(flag("required"), flag("optional"), flag("computed"));
    Ok(Attribute {
        ty,
        description: Description::default(),
        setting: setting.context("the combination of required, optional and computed is invalid")?,
        sensitive: flag("sensitive"),
        write_only: flag("write_only"),
        deprecation: deprecation(document),
    })
}

fn functions(document: &Value) -> Result<BTreeMap<Str, Function>> {
    members(document)
        .map(|(name, one)| {
            let parameters = one["parameters"].as_array().into_iter().flatten();
            let variadic = &one["variadic_parameter"];
            let function = Function {
                parameters: parameters.map(parameter).collect::<Result<_>>()?,
                variadic_parameter: (!variadic.is_null()).then(|| parameter(variadic)).transpose()?,
                return_type: read_type(&one["return_type"])?,
                summary: String::new(),
                description: Description::default(),
                deprecation: Deprecation::None,
            };
            Ok((Str::from(name.as_str()), function))
        })
        .collect()
}

fn parameter(document: &Value) -> Result<Parameter> {
    Ok(Parameter {
        name: document["name"].as_str().unwrap_or_default().to_owned(),
        ty: read_type(&document["type"])?,
        allow_null: document["is_nullable"].as_bool().unwrap_or_default(),
        allow_unknown: false,
        description: Description::default(),
    })
}

fn read_type(document: &Value) -> Result<Type> {
    Type::from_json(&document.to_string()).with_context(|| format!("{document} is not a type"))
}

fn deprecation(document: &Value) -> Deprecation {
    if document["deprecated"].as_bool().unwrap_or_default() {
        Deprecation::Deprecated
    } else {
        Deprecation::None
    }
}

fn members(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document.as_object().into_iter().flatten()
}

/// Whether only protocol 6 can express the schemas.
pub(crate) fn has_nested_attributes(schema: &ProviderSchema) -> bool {
    fn in_block(block: &Block) -> bool {
        block.attributes.values().any(|one| matches!(one.ty, AttributeType::Nested(_)))
            || block.block_types.values().any(|nested| in_block(&nested.block))
    }
    let tables = [&schema.resources, &schema.data_sources, &schema.ephemeral_resources];
    in_block(&schema.provider.block)
        || tables.iter().any(|table| table.iter().any(|(_, schema)| in_block(&schema.block)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_of_all_kinds_are_parsed() {
        let document = json!({
            "provider": { "block": {} },
            "resource_schemas": { "acme_net": { "version": 2, "block": {
                "attributes": {
                    "id": { "type": "string", "computed": true },
                    "parts": { "optional": true, "nested_type": {
                        "nesting_mode": "list",
                        "attributes": { "a": { "type": ["set", "number"], "required": true } },
                    } },
                },
                "block_types": { "rule": { "nesting_mode": "set", "max_items": 3, "block": {} } },
            } } },
        });
        let schema = provider_schema(&document).unwrap();
        let net = schema.resources.get("acme_net").unwrap();
        assert_eq!(net.version, 2);
        assert_eq!(net.block.block_types["rule"].max_items, 3);
        let part = Type::object([("a", Type::set(Type::Number))]);
        assert_eq!(
            net.implied_type().to_json(),
            Type::object([
                ("id", Type::String),
                ("parts", Type::list(part)),
                ("rule", Type::set(Type::object::<&str>([]))),
            ])
            .to_json()
        );
        assert!(has_nested_attributes(&schema));
    }

    #[test]
    fn drift_is_parsed_for_each_resource_type() {
        let block = json!({ "attributes": { "a": { "type": "string", "optional": true } } });
        let document = json!({ "resource_schemas": {
            "acme_same": { "block": block },
            "acme_gone": { "block": block, "drift": null },
            "acme_other": { "block": block, "drift": { "a": "b" } },
        } });
        let schema = provider_schema(&document).unwrap();
        let drift = drift(&document, &schema).unwrap();
        assert_eq!(drift.len(), 2);
        assert!(matches!(drift["acme_gone"], Drift::Missing));
        let Drift::Changed(changed) = &drift["acme_other"] else { panic!("{drift:?}") };
        assert_eq!(changed["a"].as_str(), Some("b"));
        let document = json!({ "resource_schemas": { "acme_net": { "block": block, "drift": { "b": 1 } } } });
        assert!(super::drift(&document, &provider_schema(&document).unwrap()).is_err());
    }

    #[test]
    fn error_names_invalid_attribute() {
        let block = json!({ "attributes": { "a": { "type": "text", "optional": true } } });
        let document = json!({ "provider": { "block": block } });
        let error = format!("{:#}", provider_schema(&document).unwrap_err());
        assert!(error.contains("the attribute a"), "{error}");
    }
}
