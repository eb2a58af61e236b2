//! The values of computed attributes that a mock or an override sets.
//!
//! The value that the test file gives for an attribute has precedence. Without one, a value is
//! generated: a string of eight characters, zero, false, an empty collection, or null if the type is
//! dynamic. Strings differ for each object, attribute and creation, but they are the same whenever the
//! tests are executed, so what depends on them can be cached.

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};
use wardian_value::convert::convert;
use wardian_value::{Str, Type, Value};

use crate::generated::{Seed, fitted, generate};

/// The computed attributes that receive a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Computed {
    /// Attributes that the configuration does not set. They are unknown.
    NullAsUnknown,
    /// Attributes that the configuration does not set.
    Null,
    /// Attributes that are unknown in the plan.
    Unknown,
}

/// A value in a test file that cannot be the value of an attribute.
#[derive(Debug)]
pub(crate) struct Mismatch {
    pub(crate) attribute: Str,
    pub(crate) ty: Type,
    /// The reason, without a period.
    pub(crate) reason: String,
}

/// Sets the computed attributes of an object. `given` contains values by attribute, and `seed` determines
/// generated values.
///
/// # Errors
/// Returns an error for each given value that does not have the type of its attribute.
pub(crate) fn complete(
    object: &Value,
    block: &Block,
    given: Option<&Value>,
    computed: Computed,
    seed: Seed,
) -> Result<Value, Vec<Mismatch>> {
    let mut completion = Completion { computed, seed, mismatches: Vec::new() };
    let completed = completion.block(object, block, given);
    if completion.mismatches.is_empty() { Ok(completed) } else { Err(completion.mismatches) }
}

struct Completion {
    computed: Computed,
    seed: Seed,
    mismatches: Vec<Mismatch>,
}

impl Completion {
    fn block(&mut self, object: &Value, block: &Block, given: Option<&Value>) -> Value {
        let Some(mapping) = object.as_mapping() else { return object.clone() };
        let parts: Vec<(Str, Value)> = mapping
            .iter()
            .map(|(name, value)| {
                let given = given.and_then(|given| given.get(name));
                let value = match (block.attributes.get(name), block.block_types.get(name)) {
                    (Some(attribute), _) => self.attribute(name, value, attribute, given),
                    (None, Some(nested)) => self.blocks(name, value, nested, given),
                    (None, None) => value.clone(),
                };
                (name.clone(), value)
            })
            .collect();
        Value::object(parts)
    }

    fn attribute(
        &mut self,
        name: &Str,
        value: &Value,
        attribute: &Attribute,
        given: Option<&Value>,
    ) -> Value {
        if attribute.setting.is_computed() && self.is_to_be_set(value) {
            return self.computed_value(name, attribute, given);
        }
        match &attribute.ty {
            AttributeType::Nested(nested) if value.is_known() && !value.is_null() => {
                self.nested_attribute(name, value, nested, given)
            }
            _ => value.clone(),
        }
    }

    fn is_to_be_set(&self, value: &Value) -> bool {
        match self.computed {
            Computed::NullAsUnknown | Computed::Null => value.is_null(),
            Computed::Unknown => !value.is_known(),
        }
    }

    fn computed_value(&mut self, name: &Str, attribute: &Attribute, given: Option<&Value>) -> Value {
        let ty = attribute.implied_type();
        if self.computed == Computed::NullAsUnknown {
            return Value::unknown(ty);
        }
        let Some(given) = given else { return generate(attribute, &mut self.seed) };
        if let AttributeType::Nested(nested) = &attribute.ty
            && nested.nesting == ObjectNesting::Single
            && given.as_mapping().is_some()
        {
            let empty = Value::object(
                nested
                    .attributes
                    .iter()
                    .map(|(name, attribute)| (name.clone(), Value::null(attribute.implied_type()))),
            );
            return self.nested_object(&empty, nested, Some(given), Computed::Null);
        }
        match convert(&fitted(given, &ty, &mut self.seed), &ty) {
            Ok(value) => value,
            Err(error) => {
                let reason = error.to_string();
                self.mismatches.push(Mismatch { attribute: name.clone(), ty: ty.clone(), reason });
                Value::unknown(ty)
            }
        }
    }

    fn nested_object(
        &mut self,
        object: &Value,
        nested: &NestedObject,
        given: Option<&Value>,
        computed: Computed,
    ) -> Value {
        let Some(mapping) = object.as_mapping() else { return object.clone() };
        let outer = std::mem::replace(&mut self.computed, computed);
        let parts: Vec<(Str, Value)> = mapping
            .iter()
            .map(|(name, value)| {
                let given = given.and_then(|given| given.get(name));
                let value = match nested.attributes.get(name) {
                    Some(attribute) => self.attribute(name, value, attribute, given),
                    None => value.clone(),
                };
                (name.clone(), value)
            })
            .collect();
        self.computed = outer;
        Value::object(parts)
    }

    fn nested_attribute(
        &mut self,
        name: &Str,
        value: &Value,
        nested: &NestedObject,
        given: Option<&Value>,
    ) -> Value {
        let given = self.object_for_each(name, &nested.object_type(), given);
        let computed = self.computed;
        let element = |completion: &mut Self, value: &Value| {
            if value.is_known() && !value.is_null() {
                completion.nested_object(value, nested, given, computed)
            } else {
                value.clone()
            }
        };
        let ty = nested.object_type();
        match nested.nesting {
            ObjectNesting::Single => element(self, value),
            ObjectNesting::List => Value::list(ty, self.elements(value, element)),
            ObjectNesting::Set => Value::set(ty, self.elements(value, element)),
            ObjectNesting::Map => Value::map(ty, self.entries(value, element)),
        }
    }

    fn blocks(&mut self, name: &Str, value: &Value, nested: &NestedBlock, given: Option<&Value>) -> Value {
        if !value.is_known() || value.is_null() {
            return value.clone();
        }
        let ty = nested.block.implied_type();
        let given = self.object_for_each(name, &ty, given);
        let element = |completion: &mut Self, value: &Value| completion.block(value, &nested.block, given);
        match nested.nesting {
            BlockNesting::Single | BlockNesting::Group => element(self, value),
            BlockNesting::Set => Value::set(ty, self.elements(value, element)),
            BlockNesting::List if ty.has_dynamic() => Value::tuple(self.elements(value, element)),
            BlockNesting::List => Value::list(ty, self.elements(value, element)),
            BlockNesting::Map if ty.has_dynamic() => Value::object(self.entries(value, element)),
            BlockNesting::Map => Value::map(ty, self.entries(value, element)),
        }
    }

    /// Returns the given values of nested objects. They apply to each of the objects.
    fn object_for_each<'v>(&mut self, name: &Str, ty: &Type, given: Option<&'v Value>) -> Option<&'v Value> {
        let given = given?;
        if given.as_mapping().is_some() {
            return Some(given);
        }
        let reason = "an object is required".to_owned();
        self.mismatches.push(Mismatch { attribute: name.clone(), ty: ty.clone(), reason });
        None
    }

    fn elements(&mut self, value: &Value, element: impl Fn(&mut Self, &Value) -> Value) -> Vec<Value> {
        value.as_elements().unwrap_or_default().iter().map(|value| element(self, value)).collect()
    }

    fn entries(&mut self, value: &Value, element: impl Fn(&mut Self, &Value) -> Value) -> Vec<(Str, Value)> {
        let entries = value.as_mapping().into_iter().flat_map(|mapping| mapping.iter());
        entries.map(|(key, value)| (key.clone(), element(self, value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wardian_plugin::{Deprecation, Description, Setting};

    use super::*;
    use crate::generated::Creations;

    fn seed() -> Seed {
        Creations::default().seed("a.b")
    }

    fn attribute(ty: AttributeType, setting: Setting) -> Attribute {
        Attribute {
            ty,
            description: Description::default(),
            setting,
            sensitive: false,
            write_only: false,
            deprecation: Deprecation::None,
        }
    }

    fn value(ty: Type, setting: Setting) -> Attribute {
        attribute(AttributeType::Value(ty), setting)
    }

    fn block() -> Block {
        let endpoint = Type::object([("host", Type::String), ("port", Type::Number)]);
        let attributes = [
            ("id", value(Type::String, Setting::Computed)),
            ("name", value(Type::String, Setting::Optional)),
            ("size", value(Type::Number, Setting::OptionalComputed)),
            ("endpoint", value(endpoint, Setting::Computed)),
            ("any", value(Type::Dynamic, Setting::Computed)),
        ];
        let part = Block {
            attributes: [
                ("label".into(), value(Type::String, Setting::Required)),
                ("device".into(), value(Type::String, Setting::Computed)),
            ]
            .into(),
            ..Block::default()
        };
        let part = NestedBlock { block: part, nesting: BlockNesting::List, min_items: 0, max_items: 0 };
        Block {
            attributes: attributes.into_iter().map(|(name, one)| (Str::new(name), one)).collect(),
            block_types: [("part".into(), part)].into(),
            ..Block::default()
        }
    }

    fn object(with_part: bool) -> Value {
        let block = block();
        let part = Value::object([("label", Value::string("a")), ("device", Value::null(Type::String))]);
        let parts = Value::list(block.block_types["part"].block.implied_type(), with_part.then_some(part));
        block.empty_value().with_attributes([("size", Value::number(7_u64)), ("part", parts)])
    }

    #[test]
    fn planned_computed_attributes_are_unknown() {
        let planned = complete(&object(true), &block(), None, Computed::NullAsUnknown, seed()).unwrap();
        assert!(!planned.get("id").unwrap().is_known());
        assert_eq!(planned.get("size"), Some(&Value::number(7_u64)), "the configuration sets it");
        assert!(planned.get("name").unwrap().is_null(), "only the configuration can set it");
        let part = &planned.get("part").unwrap().as_elements().unwrap()[0];
        assert!(!part.get("device").unwrap().is_known());
    }

    #[test]
    fn values_are_given_or_generated() {
        let given = Value::object([
            ("id", Value::string("x")),
            ("endpoint", Value::object([("host", Value::string("h")), ("unknown", Value::bool(true))])),
            ("part", Value::object([("device", Value::string("d"))])),
        ]);
        let done = complete(&object(true), &block(), Some(&given), Computed::Null, seed()).unwrap();
        assert_eq!(done.get("id"), Some(&Value::string("x")));
        let endpoint = Value::object([("host", Value::string("h")), ("port", Value::number(0_u64))]);
        assert_eq!(
            done.get("endpoint"),
            Some(&endpoint),
            "it is completed, and excess attributes are dropped"
        );
        assert!(done.get("any").unwrap().is_null());
        let part = &done.get("part").unwrap().as_elements().unwrap()[0];
        assert_eq!(part.get("device"), Some(&Value::string("d")), "values apply to every block");
        assert_eq!(part.get("label"), Some(&Value::string("a")));
        let without = complete(&object(false), &block(), Some(&given), Computed::Null, seed()).unwrap();
        assert_eq!(without.get("part").unwrap().as_elements().unwrap().len(), 0, "no block is added");
    }

    #[test]
    fn only_unknown_attributes_are_set_during_the_apply() {
        let planned = object(false).with_attributes([("id", Value::unknown(Type::String))]);
        let done = complete(&planned, &block(), None, Computed::Unknown, seed()).unwrap();
        assert!(done.get("id").unwrap().is_known());
        assert!(done.get("endpoint").unwrap().is_null());
    }

    #[test]
    fn values_of_other_types_are_errors() {
        let given = Value::object([
            ("id", Value::tuple([Value::bool(true)])),
            ("part", Value::tuple([Value::empty_object()])),
        ]);
        let errors = complete(&object(true), &block(), Some(&given), Computed::Null, seed()).unwrap_err();
        let names: Vec<&str> = errors.iter().map(|error| &*error.attribute).collect();
        assert_eq!(names, ["id", "part"]);
        assert_eq!(errors[1].reason, "an object is required");
    }

    #[test]
    fn nested_attributes_are_completed() {
        let nested = NestedObject {
            attributes: [
                ("key".into(), value(Type::String, Setting::Computed)),
                ("note".into(), value(Type::String, Setting::Optional)),
            ]
            .into(),
            nesting: ObjectNesting::Single,
        };
        let nested = attribute(AttributeType::Nested(Arc::new(nested)), Setting::Computed);
        let block = Block { attributes: [("nested".into(), nested)].into(), ..Block::default() };
        let given = Value::object([("nested", Value::object([("key", Value::string("k"))]))]);
        let done = complete(&block.empty_value(), &block, Some(&given), Computed::Null, seed()).unwrap();
        let expected = Value::object([("key", Value::string("k")), ("note", Value::null(Type::String))]);
        assert_eq!(done.get("nested"), Some(&expected));
    }
}
