//! `import` blocks: what says which object is meant.

use wardian_config::{Import, resource_mode};
use wardian_lang::{Diagnostic, Diagnostics, Expression, Subject};
use wardian_plugin::{ModuleInstance, ResourceMode};
use wardian_value::convert::convert;
use wardian_value::{Number, Str, Type, Value};

use crate::evaluator::Evaluator;
use crate::values::RepetitionData;

const INVALID_ID: &str = "Invalid import id argument";
const INVALID_TO: &str = "Invalid import 'to' expression";

pub(super) fn validate(evaluator: &Evaluator, root: &ModuleInstance, import: &Import) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let mut elements = vec![RepetitionData::None];
    if let Some(for_each) = &import.for_each {
        let scope = evaluator.scope(root, RepetitionData::None);
        match for_each.evaluate(&scope) {
            Ok(value) => elements = repetitions(&value),
            Err(found) => return found,
        }
    }
    let Some(id) = &import.id else { return diagnostics };
    if let Some(target) = target(import) {
        let own = id.references().iter().find(|reference| reference.subject == target);
        if let Some(own) = own {
            let detail = "What identifies the object must be known before it is imported, so that it cannot \
                          come from the resource itself.";
            diagnostics.push(Diagnostic::error(INVALID_ID, detail).at(own.span.clone()));
            return diagnostics;
        }
    }
    for repetition in elements {
        if let Err(found) = check_key(evaluator, root, import, &repetition) {
            diagnostics.extend(found);
            break;
        }
        let value = id.evaluate(&evaluator.scope(root, repetition));
        if let Err(found) = value.and_then(|value| check_id(id, &value)) {
            // One element is like the other.
            diagnostics.extend(found);
            break;
        }
    }
    diagnostics
}

/// The resource that is imported, where its address is written without keys that
/// are computed and in the root module.
fn target(import: &Import) -> Option<Subject> {
    let references = import.to.references();
    let subject = &references.first()?.subject;
    match subject {
        Subject::Resource { mode, .. } if resource_mode(*mode) == ResourceMode::Managed => {
            Some(subject.clone())
        }
        _ => None,
    }
}

/// What `each` stands for by element. An import block takes lists, too.
fn repetitions(value: &Value) -> Vec<RepetitionData> {
    let value = value.unmark_deep();
    let unknown = || vec![RepetitionData::UnknownEach];
    if !value.is_known() {
        return unknown();
    }
    if let Some(elements) = value.as_mapping() {
        let each = |(key, value): (&Str, &Value)| RepetitionData::Each {
            key: Value::string(key.clone()),
            value: value.clone(),
        };
        return elements.iter().map(each).collect();
    }
    let is_set = matches!(value.ty(), Type::Set(_));
    let each = |(index, element): (usize, &Value)| RepetitionData::Each {
        key: if is_set { element.clone() } else { Value::number(Number::from(index)) },
        value: element.clone(),
    };
    value.as_elements().map_or_else(unknown, |elements| elements.iter().enumerate().map(each).collect())
}

/// Whether the key that is computed for an element is one that the resource's
/// instances have.
fn check_key(
    evaluator: &Evaluator,
    root: &ModuleInstance,
    import: &Import,
    repetition: &RepetitionData,
) -> Result<(), Diagnostics> {
    let Some(computed) = import.to.computed_key() else { return Ok(()) };
    let Some(resource) = &import.target.resource else { return Ok(()) };
    let path = import.target.modules.iter().fold(root.path(), |path, (name, _)| path.child(name.clone()));
    let name = (resource.mode, resource.type_name.clone(), resource.name.clone());
    let declared = evaluator.configuration.module(&path).and_then(|node| node.module.resources.get(&name));
    let Some(declared) = declared else { return Ok(()) };
    let key = computed.evaluate(&evaluator.scope(root, repetition.clone()))?.unmark_deep();
    let problem = |summary: &str, detail: &str| -> Result<(), Diagnostics> {
        Err(Diagnostic::error(summary, detail).at(import.to.span().clone()).into())
    };
    if *key.ty() == Type::Dynamic && !key.is_known() {
        return Ok(());
    }
    match key.ty() {
        Type::Number if declared.count.is_none() => {
            problem(INVALID_TO, "The key comes out as a number, and the resource has no count.")
        }
        Type::String if declared.for_each.is_none() => {
            problem(INVALID_TO, "The key comes out as a text, and the resource has no for_each.")
        }
        Type::Number | Type::String => Ok(()),
        _ => problem("Invalid address", "The key of an instance is a text or a whole number."),
    }
}

fn check_id(id: &Expression, value: &Value) -> Result<(), Diagnostics> {
    let problem = |summary: &str, detail: String| -> Result<(), Diagnostics> {
        Err(Diagnostic::error(summary, detail).at(id.span().clone()).into())
    };
    let text = match convert(&value.unmark_deep(), &Type::String) {
        Ok(text) => text,
        Err(error) => return problem("Incorrect value type", format!("The id must be a text: {error}.")),
    };
    if value.inside_marks().is_ephemeral() {
        return problem(INVALID_ID, "An ephemeral value cannot be an id: it would be stored.".to_owned());
    }
    if text.is_null() {
        return problem(INVALID_ID, "The id is null, and a text is needed.".to_owned());
    }
    if text.as_str() == Some("") {
        return problem(INVALID_ID, "The id is empty, and identifies nothing.".to_owned());
    }
    Ok(())
}
