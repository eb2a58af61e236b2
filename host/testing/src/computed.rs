//! The values of computed attributes that a mock or an override sets.
//!
//! The value that the test file gives for an attribute has precedence. Without one, a value is
//! generated: a random string of eight characters, zero, false, an empty collection, or null if the
//! type is dynamic.

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};
use wardian_value::convert::convert;
use wardian_value::{Str, Type, Value};

const GENERATED_LENGTH: usize = 8;
const CHARACTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

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

/// Sets the computed attributes of an object. `given` contains values by attribute.
///
/// # Errors
/// Returns an error for each given value that does not have the type of its attribute.
pub(crate) fn complete(
    object: &Value,
    block: &Block,
    given: Option<&Value>,
    computed: Computed,
) -> Result<Value, Vec<Mismatch>> {
    let mut completion = Completion { computed, mismatches: Vec::new() };
    let completed = completion.block(object, block, given);
    if completion.mismatches.is_empty() { Ok(completed) } else { Err(completion.mismatches) }
}

struct Completion {
    computed: Computed,
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
        let Some(given) = given else { return generate(attribute) };
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
        match convert(&fitted(given, &ty), &ty) {
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

/// Completes the objects in a given value with generated attributes, and removes attributes that the
/// type does not have.
fn fitted(given: &Value, ty: &Type) -> Value {
    match (ty, given.as_mapping(), given.as_elements()) {
        (Type::Object(object), Some(mapping), _) => Value::object(object.iter().map(|(name, ty)| {
            let value = mapping.get(name).map_or_else(|| generate_for(ty), |given| fitted(given, ty));
            (name.clone(), value)
        })),
        (Type::Map(element), Some(mapping), _) => {
            Value::object(mapping.iter().map(|(key, given)| (key.clone(), fitted(given, element))))
        }
        (Type::List(element) | Type::Set(element), _, Some(elements)) => {
            Value::tuple(elements.iter().map(|given| fitted(given, element)))
        }
        _ => given.clone(),
    }
}

/// Generates the value of a computed attribute.
fn generate(attribute: &Attribute) -> Value {
    match &attribute.ty {
        AttributeType::Value(ty) => generate_for(ty),
        AttributeType::Nested(nested) => match nested.nesting {
            ObjectNesting::Single => {
                // Attributes that only the configuration can set remain null.
                Value::object(nested.attributes.iter().map(|(name, attribute)| {
                    let value = if attribute.setting.is_computed() {
                        generate(attribute)
                    } else {
                        Value::null(attribute.implied_type())
                    };
                    (name.clone(), value)
                }))
            }
            ObjectNesting::List | ObjectNesting::Set | ObjectNesting::Map => {
                generate_for(&nested.implied_type())
            }
        },
    }
}

fn generate_for(ty: &Type) -> Value {
    match ty {
        Type::String => Value::string(random_text()),
        Type::Number => Value::number(0_u64),
        Type::Bool => Value::bool(false),
        Type::List(element) => Value::list((**element).clone(), []),
        Type::Set(element) => Value::set((**element).clone(), []),
        Type::Map(element) => Value::map((**element).clone(), []),
        Type::Object(object) => {
            Value::object(object.iter().map(|(name, ty)| (name.clone(), generate_for(ty))))
        }
        Type::Tuple(elements) => Value::tuple(elements.iter().map(generate_for)),
        Type::Dynamic => Value::null(Type::Dynamic),
    }
}

fn random_text() -> String {
    let mut bytes = [0_u8; GENERATED_LENGTH];
    // Without randomness, the text is constant, which no test may rely on in either case.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| char::from(CHARACTERS[usize::from(*byte) % CHARACTERS.len()])).collect()
}
