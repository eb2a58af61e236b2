//! Writes schemas for the types that a configuration uses, in the format of
//! `terraform providers schema -json`, with the additional member `provider_meta`.

use serde_json::{Map, Value, json};

use super::guess::{Guess, from_name};
use super::references::Kind;
use super::usage::{AttributeUsage, BlockUsage, NestedUsage, ProviderUsage};

/// Returns the schemas of a provider.
pub(crate) fn document(usage: &ProviderUsage) -> Value {
    let of = |kind: Kind| -> Map<String, Value> {
        let types = usage.types.iter().filter(|((one, _), _)| *one == kind);
        types
            .map(|((_, name), usage)| {
                let mut block = block(usage, Place::Root);
                let has_id = usage.attributes.contains_key("id") || usage.blocks.contains_key("id");
                if kind != Kind::EphemeralResource && !has_id {
                    block["attributes"]["id"] = json!({ "type": "string", "computed": true });
                }
                (name.clone(), json!({ "version": 0, "block": block }))
            })
            .collect()
    };
    let function = json!({
        "return_type": "dynamic",
        "variadic_parameter": { "name": "arguments", "type": "dynamic", "is_nullable": true },
    });
    let functions: Map<String, Value> =
        usage.functions.iter().map(|name| (name.clone(), function.clone())).collect();
    json!({
        "provider": { "version": 0, "block": block(&usage.provider, Place::Root) },
        "resource_schemas": of(Kind::Resource),
        "data_source_schemas": of(Kind::DataSource),
        "ephemeral_resource_schemas": of(Kind::EphemeralResource),
        "functions": functions,
        "provider_meta": usage.metadata.as_ref().map(|usage| json!({ "version": 0, "block": block(usage, Place::Root) })),
    })
}

/// The kind of block that contains an attribute.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    /// In a nested block, which has no attributes of dynamic types: no public provider has them, and
    /// Terraform 1.11 fails with an internal error if a data source has them.
    Nested,
}

fn block(usage: &BlockUsage, place: Place) -> Value {
    let attributes: Map<String, Value> = usage
        .attributes
        .iter()
        .filter(|(name, _)| !usage.blocks.contains_key(*name))
        .map(|(name, attribute)| (name.clone(), described(name, attribute, place)))
        .collect();
    let blocks: Map<String, Value> =
        usage.blocks.iter().map(|(name, nested)| (name.clone(), nested_block(nested))).collect();
    json!({ "attributes": attributes, "block_types": blocks })
}

fn described(name: &str, usage: &AttributeUsage, place: Place) -> Value {
    let mut described = Map::new();
    described.insert("type".to_owned(), attribute_type(name, usage, place));
    if usage.is_set {
        described.insert("optional".to_owned(), json!(true));
    }
    if usage.is_read {
        described.insert("computed".to_owned(), json!(true));
    }
    Value::Object(described)
}

/// Returns the type of an attribute: the type of its arguments if known, or else the type that its
/// readers expect, or else a guess from its name.
fn attribute_type(name: &str, usage: &AttributeUsage, place: Place) -> Value {
    let of_set = match &usage.set_as {
        // An object with few keys is more often a map than a structure.
        Guess::Object(members) => {
            let element = members.values().cloned().fold(Guess::Unknown, Guess::join);
            match element {
                Guess::String | Guess::Number | Guess::Bool | Guess::Unknown if !usage.is_read => {
                    Guess::map(if element == Guess::Unknown { Guess::String } else { element })
                }
                _ => usage.set_as.clone(),
            }
        }
        Guess::List(element) if **element == Guess::Unknown => Guess::list(Guess::String),
        Guess::Set(element) if **element == Guess::Unknown => Guess::set(Guess::String),
        Guess::Map(element) if **element == Guess::Unknown => Guess::map(Guess::String),
        other => other.clone(),
    };
    let unknown = || match place {
        Place::Root => json!("dynamic"),
        Place::Nested if name.ends_with('s') && !name.ends_with("ss") => json!(["list", "string"]),
        Place::Nested => json!("string"),
    };
    if of_set == Guess::Any {
        return unknown();
    }
    of_set
        .to_type()
        .or_else(|| usage.read_as.to_type())
        .or_else(|| from_name(name).to_type().filter(|_| of_set == Guess::Unknown))
        .unwrap_or_else(unknown)
}

fn nested_block(usage: &NestedUsage) -> Value {
    let block = block(&usage.body, Place::Nested);
    let nesting = if usage.labels > 0 {
        "map"
    } else if usage.is_accessed_directly && !usage.is_repeated {
        "single"
    } else if usage.is_repeated && !usage.is_indexed {
        "set"
    } else {
        "list"
    };
    json!({ "nesting_mode": nesting, "block": block })
}

#[cfg(test)]
mod tests {
    use super::super::modules::Modules;
    use super::super::usage::collect;
    use super::*;

    fn schema_of(configuration: &str, type_name: &str) -> Value {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("main.tf"), configuration).unwrap();
        let usage = collect(&Modules::load(directory.path()).unwrap());
        let document = document(&usage["registry.terraform.io/hashicorp/acme"]);
        document["resource_schemas"][type_name]["block"].clone()
    }

    #[test]
    fn attribute_settings_and_types_are_inferred_from_usage() {
        let schema = schema_of(
            r#"
            variable "tags" { type = map(string) }
            resource "acme_net" "a" {
              name = "x"
              tags = var.tags
              size = local.missing
              what = local.missing
              mixed = true ? [1] : "a"
            }
            output "o" { value = [acme_net.a.name, acme_net.a.zone_ids, acme_net.a.other] }
            "#,
            "acme_net",
        );
        assert_eq!(
            schema["attributes"],
            json!({
                "id": { "type": "string", "computed": true },
                "mixed": { "type": "dynamic", "optional": true },
                "name": { "type": "string", "optional": true, "computed": true },
                "other": { "type": "dynamic", "computed": true },
                "size": { "type": "number", "optional": true },
                "tags": { "type": ["map", "string"], "optional": true },
                "what": { "type": "dynamic", "optional": true },
                "zone_ids": { "type": ["list", "string"], "computed": true },
            })
        );
    }

    #[test]
    fn block_nesting_is_inferred_from_usage() {
        let schema = schema_of(
            r#"
            resource "acme_net" "a" {
              once { port = 1 }
              rule { port = 1 }
              rule { port = 2 }
              loose { all = local.unknown_value[0] }
              last { things = local.unknown_value }
              direct { port = 1 }
              named "a" { port = 1 }
            }
            output "o" { value = acme_net.a.direct.port }
            "#,
            "acme_net",
        );
        let nesting = |name: &str| schema["block_types"][name]["nesting_mode"].as_str().unwrap();
        let all = ["once", "rule", "direct", "named"].map(nesting);
        assert_eq!(all, ["list", "set", "single", "map"]);
        let type_of = |block: &str, name: &str| {
            schema["block_types"][block]["block"]["attributes"][name]["type"].clone()
        };
        assert_eq!(type_of("loose", "all"), "string");
        assert_eq!(type_of("last", "things"), json!(["list", "string"]));
        assert_eq!(
            schema["block_types"]["direct"]["block"]["attributes"]["port"],
            json!({ "type": "number", "optional": true, "computed": true })
        );
    }
}
