//! Withholds sensitive values of objects from an untrusted configuration.
//!
//! The values that a schema or the state marks as sensitive belong to the operator. If they are
//! [withheld](ObjectSecrets::Withheld), each is unknown to expressions. Therefore no function,
//! condition or error depends on a sensitive value, and nothing derived from one is passed to a
//! plugin. A provider still receives the stored objects that it wrote itself. The plan that is
//! shown and saved does not contain sensitive values either.
//!
//! Plugins can copy values. For example, the output of a `terraform_data` contains its input, but
//! is not marked as sensitive. Therefore, any string that contains a sensitive value of the state,
//! as is or encoded ([`SensitiveValues`]), is treated as sensitive in every object.

use std::collections::BTreeSet;
use std::sync::Arc;

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{Block, RawState, SensitiveValues};
use wardian_state::{Attributes, State};
use wardian_value::{Marks, Path, PathStep, Type, Value};

use crate::context::EngineContext;
use crate::object::sensitive::sensitive_paths;
use crate::plan::{Action, OutputChange, Plan, ResourceChange};
use crate::providers::Schemas;

/// The text that a plan shows in place of a sensitive string that does not change.
const PLACEHOLDER: &str = "(sensitive value)";

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
fn mark_copies(object: &Value, known: &SensitiveValues) -> Value {
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

/// Returns an unknown value of the type of a part, unless the type reveals something: in an
/// attribute of dynamic type, the type of an object or tuple shows the shape of the value.
fn unknown_in_place_of(part: &Value, path: &Path) -> Value {
    let is_element = path.steps().iter().any(|step| matches!(step, PathStep::Index(_) | PathStep::Key(_)));
    let ty = match part.ty() {
        Type::Object(_) | Type::Tuple(_) if !is_element => Type::Dynamic,
        ty => ty.clone(),
    };
    Value::unknown(ty).with_marks(part.inside_marks())
}

/// Removes the sensitive values from a finished plan: a change shows whether a sensitive value
/// changes, but neither the old nor the new value, and the plan's states contain no objects.
pub(crate) fn withhold_from_plan(plan: &mut Plan, known: &SensitiveValues) {
    plan.secrets = ObjectSecrets::Withheld;
    for change in plan.changes.iter_mut().chain(&mut plan.drift) {
        for value in [&change.before, &change.after] {
            known.add_marked(value);
        }
    }
    for change in plan.changes.iter_mut().chain(&mut plan.drift) {
        withhold_from_change(change, known);
    }
    for output in plan.outputs.values_mut() {
        if output.sensitive || mark_copies(&output.before, known).has_sensitive() {
            withhold_from_output(output);
        }
    }
    plan.prior_state = without_objects(&plan.prior_state);
    plan.previous_state = without_objects(&plan.previous_state);
}

fn withhold_from_change(change: &mut ResourceChange, known: &SensitiveValues) {
    // Only the provider can interpret private data.
    change.planned_private = Arc::default();
    let block = &change.schema.block;
    let sources = [&change.before, &change.after];
    let withheld = |object: &Value| {
        mark_copies(&ObjectSecrets::Withheld.keep_marks(block, &sources, object.clone()), known)
    };
    let (before, after) = (withheld(&change.before), withheld(&change.after));
    let object = change.schema.implied_type();
    change.after = after.transform(&mut |path, part| {
        if !part.marks().is_sensitive() {
            return part;
        }
        let ty = declared_type(object, path, &part);
        let is_same = path.apply(&before).is_some_and(|old| old.unmark_deep() == part.unmark_deep());
        if is_same && part.is_wholly_known() || part.is_null() {
            return placeholder(&part, ty);
        }
        Value::unknown(ty.clone()).with_marks(part.inside_marks())
    });
    change.before = before.transform(&mut |path, part| {
        if !part.marks().is_sensitive() {
            return part;
        }
        placeholder(&part, declared_type(object, path, &part))
    });
}

/// Hides whether a sensitive output changes: otherwise, the configuration could compare the stored
/// value with any other value.
fn withhold_from_output(output: &mut OutputChange) {
    if !output.before.is_null() && !output.after.is_null() {
        output.action = Action::Update;
    }
    if !output.after.is_null() {
        output.after = Value::unknown(Type::Dynamic);
    }
    output.before = placeholder(&output.before, &Type::Dynamic);
}

/// Returns a known value that reveals only the declared type of a value and whether it is null.
fn placeholder(part: &Value, ty: &Type) -> Value {
    let shown = match ty {
        Type::String | Type::Dynamic if !part.is_null() => Value::string(PLACEHOLDER),
        ty => Value::null(ty.clone()),
    };
    shown.with_marks(part.inside_marks())
}

/// Returns the type of a part according to the schema of its object. In an attribute of dynamic
/// type, it is the type of the value itself.
fn declared_type<'a>(object: &'a Type, path: &Path, part: &'a Value) -> &'a Type {
    match (object, path.steps()) {
        (Type::Object(object), [PathStep::Attribute(name)]) => object.attribute(name).unwrap_or(part.ty()),
        _ => part.ty(),
    }
}

/// Returns a state with the same serial and lineage, but without content.
fn without_objects(state: &State) -> State {
    let mut empty = State::default();
    (empty.serial, empty.lineage) = (state.serial, state.lineage.clone());
    empty
}

/// Checks that the configuration assigns each stored object to the provider that wrote it, because
/// no other provider may receive the object.
///
/// # Errors
/// The configuration assigns an object to another provider.
pub(crate) fn check_providers(context: &EngineContext, state: &State) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    if context.secrets == ObjectSecrets::Available {
        return Ok(());
    }
    for (address, stored) in state.resources() {
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let path = address.module.path();
        let declared = context.configuration.module(&path).and_then(|node| node.module.resources.get(&key));
        let Some(declared) = declared.filter(|_| address.mode == ResourceMode::Managed) else { continue };
        let provider = context.configuration.provider_for(&path, declared).provider;
        if provider != stored.provider.provider {
            let detail = format!(
                "In the state, {address} is an object of the provider {}, but the configuration manages it \
                 with {}. Under -untrusted, stored objects are passed only to the provider that wrote them. \
                 Keep the provider, or plan this change without -untrusted after you have reviewed it.",
                stored.provider.provider.for_display(),
                provider.for_display(),
            );
            let problem = Diagnostic::error("Object of another provider", detail).at(declared.span.clone());
            problems.push(problem.for_address(address.to_string()));
        }
    }
    problems.into_result(())
}
