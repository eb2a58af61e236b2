//! Generates the values of computed attributes for which a test file gives no value.
//!
//! Texts differ for each object, attribute and creation, but they are the same whenever the tests are
//! executed: what depends on them, such as the validation of a configuration, can be cached.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use wardian_plugin::{Attribute, AttributeType, ObjectNesting};
use wardian_value::{Type, Value};

/// The length of generated texts, in characters.
const GENERATED_LENGTH: usize = 8;

const CHARACTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Counts the objects that mocks have created in a test file, by address.
#[derive(Debug, Default)]
pub(crate) struct Creations(Mutex<HashMap<String, u64>>);

impl Creations {
    /// Returns the seed of the values that are generated next for an object.
    pub(crate) fn seed(&self, address: &str) -> Seed {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address.to_owned()).or_default();
        *count += 1;
        let mut hasher = DefaultHasher::new();
        (address, *count).hash(&mut hasher);
        Seed { object: hasher.finish(), texts: 0 }
    }
}

/// Determines the generated texts of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    object: u64,
    /// The number of texts that have been generated.
    texts: u64,
}

impl Seed {
    fn text(&mut self) -> String {
        self.texts += 1;
        let mut hasher = DefaultHasher::new();
        (self.object, self.texts).hash(&mut hasher);
        let mut rest = hasher.finish();
        let base = CHARACTERS.len() as u64;
        let mut next = || {
            let character = CHARACTERS[usize::try_from(rest % base).unwrap_or_default()];
            rest /= base;
            char::from(character)
        };
        (0..GENERATED_LENGTH).map(|_| next()).collect()
    }
}

/// Generates the value of a computed attribute.
pub(crate) fn generate(attribute: &Attribute, seed: &mut Seed) -> Value {
    match &attribute.ty {
        AttributeType::Value(ty) => generate_for(ty, seed),
        AttributeType::Nested(nested) => match nested.nesting {
            ObjectNesting::Single => {
                // Attributes that only the configuration can set remain null.
                Value::object(nested.attributes.iter().map(|(name, attribute)| {
                    let value = if attribute.setting.is_computed() {
                        generate(attribute, seed)
                    } else {
                        Value::null(attribute.implied_type())
                    };
                    (name.clone(), value)
                }))
            }
            ObjectNesting::List | ObjectNesting::Set | ObjectNesting::Map => {
                generate_for(&nested.implied_type(), seed)
            }
        },
    }
}

fn generate_for(ty: &Type, seed: &mut Seed) -> Value {
    match ty {
        Type::String => Value::string(seed.text()),
        Type::Number => Value::number(0_u64),
        Type::Bool => Value::bool(false),
        Type::List(element) => Value::list((**element).clone(), []),
        Type::Set(element) => Value::set((**element).clone(), []),
        Type::Map(element) => Value::map((**element).clone(), []),
        Type::Object(object) => {
            Value::object(object.iter().map(|(name, ty)| (name.clone(), generate_for(ty, seed))))
        }
        Type::Tuple(elements) => Value::tuple(elements.iter().map(|ty| generate_for(ty, seed))),
        Type::Dynamic => Value::null(Type::Dynamic),
    }
}

/// Completes the objects in a given value with generated attributes, and removes attributes that the
/// type does not have.
pub(crate) fn fitted(given: &Value, ty: &Type, seed: &mut Seed) -> Value {
    match (ty, given.as_mapping(), given.as_elements()) {
        (Type::Object(object), Some(mapping), _) => Value::object(object.iter().map(|(name, ty)| {
            let value = match mapping.get(name) {
                Some(given) => fitted(given, ty, seed),
                None => generate_for(ty, seed),
            };
            (name.clone(), value)
        })),
        (Type::Map(element), Some(mapping), _) => {
            Value::object(mapping.iter().map(|(key, given)| (key.clone(), fitted(given, element, seed))))
        }
        (Type::List(element) | Type::Set(element), _, Some(elements)) => {
            Value::tuple(elements.iter().map(|given| fitted(given, element, seed)))
        }
        _ => given.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn texts_differ_by_object_creation_and_attribute_but_not_by_execution() {
        let texts = || {
            let creations = Creations::default();
            let mut texts = Vec::new();
            for address in ["a.b", "a.b", "a.c[0]", "a.c[1]"] {
                let mut seed = creations.seed(address);
                texts.extend([seed.text(), seed.text()]);
            }
            texts
        };
        let first = texts();
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), 8);
        assert_eq!(first, texts());
        for text in &first {
            assert_eq!(text.len(), GENERATED_LENGTH);
            assert!(text.bytes().all(|byte| CHARACTERS.contains(&byte)), "{text}");
        }
    }
}
