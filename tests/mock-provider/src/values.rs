//! The values that a mock provider plans, creates and reads. They depend only on the schema and the
//! configuration. Therefore, two programs receive the same values.

use wardian_plugin::{Attribute, AttributeType, Block, BlockNesting, ObjectNesting};
use wardian_value::{Str, Type, Value, View};

/// Returns the planned state: the proposed state, in which every computed attribute without a
/// value is unknown.
pub(crate) fn planned(block: &Block, proposed: &Value) -> Value {
    Fill { sample: None }.block(block, proposed)
}

/// Returns the new state: the planned state, in which every unknown value has a value that is
/// derived from its name.
pub(crate) fn created(block: &Block, planned: &Value, type_name: &str) -> Value {
    Fill { sample: Some(type_name) }.block(block, planned)
}

struct Fill<'a> {
    /// Absent if computed attributes become unknown.
    sample: Option<&'a str>,
}

impl Fill<'_> {
    fn block(&self, block: &Block, value: &Value) -> Value {
        let View::Object(members) = value.view() else { return value.clone() };
        Value::object(members.iter().map(|(name, member)| {
            let filled = if let Some(attribute) = block.attributes.get(name) {
                self.attribute(name, attribute, member)
            } else if let Some(nested) = block.block_types.get(name) {
                match nested.nesting {
                    BlockNesting::Single | BlockNesting::Group => self.block(&nested.block, member),
                    _ => change_elements(member, &nested.block.implied_type(), &|one| {
                        self.block(&nested.block, one)
                    }),
                }
            } else {
                member.clone()
            };
            (name.clone(), filled)
        }))
    }

    fn attribute(&self, name: &Str, attribute: &Attribute, value: &Value) -> Value {
        if attribute.write_only {
            return Value::null(attribute.implied_type());
        }
        if value.is_null() && attribute.setting.is_computed() {
            return self.computed(name, attribute);
        }
        if !value.is_known() && self.sample.is_some() {
            return self.computed(name, attribute);
        }
        match &attribute.ty {
            AttributeType::Nested(object) if value.is_known() && !value.is_null() => {
                let one = |one: &Value| {
                    let View::Object(members) = one.view() else { return one.clone() };
                    Value::object(members.iter().map(|(name, member)| {
                        let filled = match object.attributes.get(name) {
                            Some(attribute) => self.attribute(name, attribute, member),
                            None => member.clone(),
                        };
                        (name.clone(), filled)
                    }))
                };
                match object.nesting {
                    ObjectNesting::Single => one(value),
                    _ => change_elements(value, &object.object_type(), &one),
                }
            }
            // An argument can contain unknown values only in the plan, and a plan's values are
            // known when it is applied.
            _ => value.clone(),
        }
    }

    fn computed(&self, name: &Str, attribute: &Attribute) -> Value {
        let ty = attribute.implied_type();
        match self.sample {
            None => Value::unknown(ty),
            Some(type_name) => sample(&ty, &format!("{type_name}-{name}")),
        }
    }
}

/// Changes every element of a collection.
fn change_elements(value: &Value, element: &Type, change: &dyn Fn(&Value) -> Value) -> Value {
    match value.view() {
        View::List(all) => Value::list(element.clone(), all.iter().map(change)),
        View::Set(all) => Value::set(element.clone(), all.iter().map(change)),
        View::Tuple(all) => Value::tuple(all.iter().map(change)),
        View::Map(all) => {
            Value::map(element.clone(), all.iter().map(|(key, one)| (key.clone(), change(one))))
        }
        View::Object(all) => Value::object(all.iter().map(|(key, one)| (key.clone(), change(one)))),
        _ => value.clone(),
    }
}

/// Returns a value of a type that depends only on the name. Collections have several elements,
/// since configurations access elements by their positions.
fn sample(ty: &Type, name: &str) -> Value {
    const ELEMENTS: usize = 3;
    let numbered = |element: &Type| -> Vec<Value> {
        (0..ELEMENTS).map(|index| sample(element, &format!("{name}-{index}"))).collect()
    };
    match ty {
        Type::Bool => Value::bool(true),
        Type::Number => Value::number(1_u64),
        Type::String | Type::Dynamic => Value::string(name),
        Type::List(element) => Value::list((**element).clone(), numbered(element)),
        Type::Set(element) => Value::set((**element).clone(), numbered(element)),
        Type::Map(element) => {
            Value::map((**element).clone(), [("key".into(), sample(element, &format!("{name}-key")))])
        }
        Type::Object(members) => Value::object(
            members.iter().map(|(key, member)| (key.clone(), sample(member, &format!("{name}-{key}")))),
        ),
        Type::Tuple(elements) => Value::tuple(elements.iter().map(|element| sample(element, name))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wardian_plugin::Schema;

    use super::*;
    use crate::document::provider_schema;

    fn schema() -> std::sync::Arc<Schema> {
        let attributes = json!({
            "id": { "type": "string", "computed": true },
            "size": { "type": "number", "optional": true },
            "zone": { "type": "string", "optional": true, "computed": true },
        });
        let document = json!({
            "provider": { "block": {} },
            "resource_schemas": { "acme_net": { "block": {
                "attributes": attributes,
                "block_types": { "rule": { "nesting_mode": "list", "block": { "attributes": attributes } } },
            } } },
        });
        std::sync::Arc::clone(provider_schema(&document).unwrap().resources.get("acme_net").unwrap())
    }

    #[test]
    fn computed_attributes_are_unknown_until_they_are_created() {
        let schema = schema();
        let decode = |text: serde_json::Value| {
            wardian_value::json::decode(text.to_string(), schema.implied_type()).unwrap()
        };
        let rule = json!({ "id": null, "size": 1, "zone": "a" });
        let proposed = decode(json!({ "id": null, "size": null, "zone": null, "rule": [rule] }));
        let planned = planned(&schema.block, &proposed);
        let unknown = |value: &Value, name: &str| !value.get(name).unwrap().is_known();
        assert!(unknown(&planned, "id") && unknown(&planned, "zone"));
        assert!(planned.get("size").unwrap().is_null());
        let rules = planned.get("rule").unwrap().as_elements().unwrap();
        assert!(unknown(&rules[0], "id") && !unknown(&rules[0], "zone"));
        let created = created(&schema.block, &planned, "acme_net");
        let rule = json!({ "id": "acme_net-id", "size": 1, "zone": "a" });
        let expected = json!({ "id": "acme_net-id", "size": null, "zone": "acme_net-zone", "rule": [rule] });
        assert_eq!(created, decode(expected));
        assert_eq!(super::planned(&schema.block, &created), created);
    }
}
