//! References, held against what there is: what is declared, whether resources
//! repeat, and which attributes they have. That is so whatever the values are, and
//! so it is told also where a reference is never evaluated.

use std::collections::HashSet;
use std::sync::Arc;

use wardian_config::{Configuration, ModuleNode, Resource, resource_mode};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span, closest};
use wardian_lang::{Expression, Reference, Subject};
use wardian_value::{PathStep, Str, Type};

use crate::evaluator::{Repeats, resource_repeats};
use crate::providers::Schemas;

/// References that something was said about, by where they begin: they are unknown
/// to whatever is made of them, so that nothing is said twice.
#[derive(Debug, Default)]
pub struct Told(HashSet<(usize, usize)>);

impl Told {
    /// Whether something was said about a reference.
    pub fn contains(&self, reference: &Span) -> bool {
        !self.0.is_empty() && self.0.contains(&Self::place(reference))
    }

    fn insert(&mut self, reference: &Span) {
        self.0.insert(Self::place(reference));
    }

    fn place(span: &Span) -> (usize, usize) {
        (Arc::as_ptr(&span.file).addr(), span.start)
    }
}

/// Everything that is wrong with references, whatever the values are.
pub fn check(configuration: &Configuration, schemas: &Schemas) -> (Diagnostics, Told) {
    let mut problems = configuration.check_references();
    let mut told = Told::default();
    problems.iter().filter_map(|problem| problem.subject.as_ref()).for_each(|span| told.insert(span));
    for node in configuration.modules() {
        let triggers = triggers(node);
        node.each_reference(&mut |context, reference| {
            if configuration.check_reference(node, reference).is_some() {
                told.insert(&reference.span);
                return;
            }
            // A trigger names changes, of one instance or of all.
            let is_value = !triggers.contains(&Told::place(&reference.span));
            let problem = is_value.then(|| check_resource(configuration, schemas, node, reference));
            if let Some(problem) = problem.flatten() {
                told.insert(&reference.span);
                problems.push(problem.in_block(context));
            }
        });
    }
    (problems, told)
}

/// Where the references of `replace_triggered_by` are.
fn triggers(node: &ModuleNode) -> HashSet<(usize, usize)> {
    let resources = node.module.resources.values();
    let triggers = resources.flat_map(|resource| &resource.lifecycle.replace_triggered_by);
    triggers.flat_map(Expression::references).map(|reference| Told::place(&reference.span)).collect()
}

fn check_resource(
    configuration: &Configuration,
    schemas: &Schemas,
    node: &ModuleNode,
    reference: &Reference,
) -> Option<Diagnostic> {
    let Subject::Resource { mode, kind, name } = &reference.subject else { return None };
    let resource = node.module.resources.get(&(resource_mode(*mode), kind.clone(), name.clone()))?;
    let (skipped, steps) = match check_key(resource, reference) {
        Ok(steps) => steps,
        Err(problem) => return Some(problem),
    };
    let provider = configuration.provider_for(&node.path, resource);
    let schema = schemas.resource(&provider.provider, resource.mode, &resource.type_name)?;
    let (position, detail) = misstep(schema.implied_type(), steps)?;
    Some(Diagnostic::error("Unsupported attribute", detail).at(reference.step_span(skipped + position)))
}

/// The steps behind the instance, and how many there are before them.
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
                        "{subject} has neither count nor for_each, so that there is one instance of it, without \
                         a key. Leave out the brackets."
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
                "{subject} has {argument}, so that an attribute is one of a certain instance. Say which, for \
                 example {subject}{example} where the instances belong together, or take all of them with a \
                 for expression."
            );
            Err(Diagnostic::error("Missing resource instance key", detail).at(reference.subject_span()))
        }
        [_, rest @ ..] => Ok((1, rest)),
        [] => Ok((0, &[])),
    }
}

/// The first step that leads nowhere in any value of a type, and why.
pub fn misstep(ty: &Type, steps: &[PathStep]) -> Option<(usize, String)> {
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
                    "This is a {}, which has no attribute \"{name}\" itself: say of which element.",
                    ty.friendly_name()
                );
                return Some((position, detail));
            }
            (ty, PathStep::Attribute(_)) if ty.is_primitive() => {
                return Some((position, format!("A {} has no attributes.", ty.friendly_name())));
            }
            // What an index leads to is seen where it is evaluated.
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
