//! Withholds sensitive values of objects from an untrusted configuration.
//!
//! The values that a schema or the state marks as sensitive belong to the operator. If they are
//! [withheld](ObjectSecrets::Withheld), each of them is an unknown value in expressions. Therefore
//! no function, condition or error depends on a sensitive value, and no value derived from a
//! sensitive value is passed to a plugin. A provider still receives the stored objects that it
//! wrote itself. The plan that is shown and saved does not contain sensitive values either
//! ([`plan_secrets`](crate::plan_secrets)).
//!
//! Plugins can copy values. For example, the output of a `terraform_data` contains its input, but
//! is not marked as sensitive. Therefore, any string that contains a sensitive value of the state,
//! as is or encoded ([`SensitiveValues`]), is treated as sensitive in every object.

use std::collections::BTreeSet;
use std::sync::Arc;

use wardian_plugin::{Block, RawState, SensitiveValues};
use wardian_state::{Attributes, State};
use wardian_value::{Marks, Path, PathStep, Type, Value};

use crate::object::sensitive::sensitive_paths;
use crate::providers::Schemas;

/// Whether expressions and plans contain the sensitive values of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectSecrets {
    /// Expressions and plans contain the sensitive values, with marks.
    #[default]
    Available,
    /// Expressions and plans do not contain the sensitive values: the configuration is untrusted.
    Withheld,
}

impl ObjectSecrets {
    /// Returns the value of an object for expressions. `known` contains the sensitive values of all
    /// objects.
    pub(crate) fn for_expressions(self, object: Value, known: &SensitiveValues) -> Value {
        if self == Self::Available {
            return object;
        }
        known.add_marked(&object);
        let object = mark_copies(&object, known);
        if object.has_sensitive() { without_secrets(&object) } else { object }
    }

    /// Returns the object, and marks each attribute that has a mark in `sources` but not in the
    /// schema. Such a mark is from the state: the attribute was derived from a secret when it was
    /// written. The whole attribute is marked, because the positions of list elements can change.
    pub(crate) fn keep_marks(self, block: &Block, sources: &[&Value], object: Value) -> Value {
        if self == Self::Available {
            return object;
        }
        let mut kept = BTreeSet::new();
        for source in sources {
            if !source.has_sensitive() {
                continue;
            }
            let explained: BTreeSet<Path> =
                sensitive_paths(block, source).into_iter().map(|(path, _)| path).collect();
            for (path, marks) in source.mark_paths() {
                if marks.is_sensitive() && !explained.contains(&path) {
                    kept.insert(path.steps().first().cloned());
                }
            }
        }
        if kept.is_empty() {
            return object;
        }
        let marks: Vec<(Path, Marks)> = kept
            .into_iter()
            .map(|step| (step.map_or_else(Path::root, |step| Path::from(vec![step])), Marks::SENSITIVE))
            .collect();
        object.mark_at(&marks)
    }
}

pub(crate) fn sensitive_values_of(state: &State, schemas: &Schemas) -> SensitiveValues {
    let known = SensitiveValues::default();
    for (address, resource) in state.resources() {
        let provider = &resource.provider.provider;
        let schema = schemas.resource(provider, address.mode, &address.type_name);
        let objects = resource.instances.values().flat_map(|instance| {
            instance.current.iter().chain(instance.deposed.values()).map(|object| &**object)
        });
        for object in objects {
            let stored = match &object.attributes {
                Attributes::Json(json) => RawState::Json(Arc::clone(json)),
                Attributes::Flat(flat) => RawState::Flatmap(Arc::clone(flat)),
            };
            known.add_stored_parts(&stored, &object.sensitive_paths);
            if let Some(schema) = schema {
                known.add_stored(&stored, schema);
            }
        }
    }
    for output in state.outputs.values().filter(|output| output.sensitive) {
        known.add_all(&output.value);
    }
    known
}

/// Returns an object in which all strings that contain a sensitive value are marked. The cost is
/// linear in the length of the strings.
pub(crate) fn mark_copies(object: &Value, known: &SensitiveValues) -> Value {
    let is_copy = |text: &str| known.redact(text) != text;
    object.transform(&mut |_, part| {
        let has_copy = match part.as_str() {
            Some(text) => is_copy(text),
            None => part.as_mapping().is_some_and(|map| map.keys().any(|key| is_copy(key))),
        };
        if has_copy { part.with_marks(Marks::SENSITIVE) } else { part }
    })
}

/// Returns a value with unknown values in place of its sensitive parts.
fn without_secrets(value: &Value) -> Value {
    value.transform(&mut |path, part| {
        if part.marks().is_sensitive() { unknown_in_place_of(&part, path) } else { part }
    })
}

/// Returns an unknown value of a part's type, unless the type reveals information: in an attribute
/// of dynamic type, the type of an object or tuple reveals the structure of the value.
fn unknown_in_place_of(part: &Value, path: &Path) -> Value {
    let is_element = path.steps().iter().any(|step| matches!(step, PathStep::Index(_) | PathStep::Key(_)));
    let ty = match part.ty() {
        Type::Object(_) | Type::Tuple(_) if !is_element => Type::Dynamic,
        ty => ty.clone(),
    };
    Value::unknown(ty).with_marks(part.inside_marks())
}
