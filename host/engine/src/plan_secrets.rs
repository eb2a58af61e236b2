//! Withholds sensitive values from the plans of an untrusted configuration, and checks that no stored
//! object is passed to another provider; see [`object_secrets`](crate::object_secrets).

use std::sync::Arc;

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::SensitiveValues;
use wardian_state::State;
use wardian_value::{Path, PathStep, Type, Value};

use crate::context::EngineContext;
use crate::object_secrets::{ObjectSecrets, mark_copies};
use crate::plan::{Action, OutputChange, Plan, ResourceChange};

/// The text that a plan shows in place of a sensitive string that does not change.
const PLACEHOLDER: &str = "(sensitive value)";

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

/// Hides whether a sensitive output changes. Otherwise, an untrusted configuration could test
/// whether the stored value equals a given value.
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
/// type, returns the type of the value itself.
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
/// Returns an error if the configuration assigns an object to another provider.
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
