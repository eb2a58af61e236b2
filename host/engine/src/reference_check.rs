//! Checks references without evaluating them: whether objects are declared, whether resources have
//! `count` or `for_each`, and whether attributes exist. These errors do not depend on values, and
//! are reported even for references that are never evaluated.

use std::collections::HashSet;

use wardian_config::{Configuration, ModuleNode, Resource, resource_mode};
use wardian_diagnostic::{Diagnostic, Diagnostics, closest};
use wardian_lang::{Expression, Reference, ReferenceSubject};
use wardian_plugin::Block;
use wardian_value::{PathStep, Str, Type};

use crate::providers::Schemas;
use crate::repeats::{Repeats, resource_repeats};
use crate::reported_references::ReportedReferences;

/// Returns all errors in references that do not depend on values, and warnings about deprecated
/// attributes.
pub fn check(configuration: &Configuration, schemas: &Schemas) -> (Diagnostics, ReportedReferences) {
    let mut problems = configuration.check_references();
    let mut reported = ReportedReferences::default();
    problems.iter().filter_map(|problem| problem.subject.as_ref()).for_each(|span| reported.insert(span));
    for node in configuration.modules() {
        let triggers = triggers(node);
        node.each_reference(&mut |context, reference| {
            if configuration.check_reference(node, reference).is_some() {
                reported.insert(&reference.span);
                return;
            }
            // A trigger need not refer to a single instance: it can refer to changes of all
            // instances.
            let is_value = !triggers.contains(&ReportedReferences::position(&reference.span));
            let problem = is_value.then(|| check_resource(configuration, schemas, node, reference));
            if let Some(problem) = problem.flatten() {
                if problem.is_error() {
                    reported.insert(&reference.span);
                }
                problems.push(problem.in_block(context));
            }
        });
    }
    (problems, reported)
}

/// Returns the positions of the references in `replace_triggered_by`.
fn triggers(node: &ModuleNode) -> HashSet<(usize, usize)> {
    let resources = node.module.resources.values();
    let triggers = resources.flat_map(|resource| &resource.lifecycle.replace_triggered_by);
    triggers
        .flat_map(Expression::references)
        .map(|reference| ReportedReferences::position(&reference.span))
        .collect()
}

fn check_resource(
    configuration: &Configuration,
    schemas: &Schemas,
    node: &ModuleNode,
    reference: &Reference,
) -> Option<Diagnostic> {
    let ReferenceSubject::Resource { mode, kind, name } = &reference.subject else { return None };
    let resource = node.module.resources.get(&(resource_mode(*mode), kind.clone(), name.clone()))?;
    let (skipped, steps) = match check_key(resource, reference) {
        Ok(steps) => steps,
        Err(problem) => return Some(problem),
    };
    let provider = configuration.provider_for(&node.path, resource);
    let schema = schemas.resource(&provider.provider, resource.mode, &resource.type_name)?;
    let (position, problem) = match invalid_step(schema.implied_type(), steps) {
        Some((position, detail)) => (position, Diagnostic::error("Unsupported attribute", detail)),
        None => deprecated_step(&schema.block, steps)?,
    };
    Some(problem.at(reference.step_span(skipped + position)))
}

/// Returns the position of the step that selects a deprecated attribute, and the warning about the
/// attribute.
fn deprecated_step(block: &Block, steps: &[PathStep]) -> Option<(usize, Diagnostic)> {
    let mut block = block;
    for (position, step) in steps.iter().enumerate() {
        let PathStep::Attribute(name) = step else { continue };
        if let Some(attribute) = block.attributes.get(name) {
            return attribute.deprecation.is_deprecated().then(|| {
                let detail = format!(
                    "The attribute \"{name}\" is deprecated. The provider's documentation may name a \
                     replacement."
                );
                (position, Diagnostic::warning("Deprecated attribute", detail))
            });
        }
        block = &block.block_types.get(name)?.block;
    }
    None
}

/// Returns the steps after the instance key, and the number of steps before them.
fn check_key<'a>(
    resource: &Resource,
    reference: &'a Reference,
) -> Result<(usize, &'a [PathStep]), Diagnostic> {
    let steps = reference.remaining.as_slice();
    let subject = &reference.subject;
    let (argument, example) = match resource_repeats(resource) {
        Repeats::No => {
            return match steps.first() {
                Some(PathStep::Index(_) | PathStep::Key(_)) => {
                    let detail = format!(
                        "{subject} has neither count nor for_each, so it has one instance, without a key. \
                         Remove the brackets."
                    );
                    let mut span = reference.subject_span();
                    span.end = reference.step_span(0).end;
                    Err(Diagnostic::error("Unexpected resource instance key", detail).at(span))
                }
                _ => Ok((0, steps)),
            };
        }
        Repeats::Count => ("count", "[count.index]"),
        Repeats::ForEach => ("for_each", "[each.key]"),
    };
    match steps {
        [PathStep::Attribute(_), ..] => {
            let detail = format!(
                "{subject} uses {argument}; to select one instance, use an index or key, such as \
                 {subject}{example}; to refer to all instances, use a for expression."
            );
            Err(Diagnostic::error("Missing resource instance key", detail).at(reference.subject_span()))
        }
        [_, rest @ ..] => Ok((1, rest)),
        [] => Ok((0, &[])),
    }
}

/// Returns the first step that does not exist in any value of a type, and the reason.
pub fn invalid_step(ty: &Type, steps: &[PathStep]) -> Option<(usize, String)> {
    let mut current = ty;
    for (position, step) in steps.iter().enumerate() {
        current = match (current, step) {
            (Type::Dynamic, _) => return None,
            (Type::Object(object), PathStep::Attribute(name)) => match object.attribute(name) {
                Some(ty) => ty,
                None => return Some((position, no_attribute(name, object.iter().map(|(known, _)| known)))),
            },
            (Type::Map(element), PathStep::Attribute(_) | PathStep::Key(_))
            | (Type::List(element), PathStep::Index(_)) => element,
            (Type::Tuple(types), PathStep::Index(at)) => {
                usize::try_from(*at).ok().and_then(|at| types.get(at))?
            }
            (ty @ (Type::List(_) | Type::Set(_) | Type::Tuple(_)), PathStep::Attribute(name)) => {
                let detail = format!(
                    "This is a {}, which has no attribute \"{name}\" itself: select an element.",
                    ty.friendly_name()
                );
                return Some((position, detail));
            }
            (ty, PathStep::Attribute(_)) if ty.is_primitive() => {
                return Some((position, format!("A {} has no attributes.", ty.friendly_name())));
            }
            // Indexes are checked during evaluation.
            _ => return None,
        };
    }
    None
}

fn no_attribute<'a>(name: &str, known: impl Iterator<Item = &'a Str>) -> String {
    let advice = match closest(name, known.map(|known| &**known)) {
        Some(near) => format!(" Did you mean \"{near}\"?"),
        None => String::new(),
    };
    format!("There is no argument, block or exported attribute named \"{name}\" here.{advice}")
}
