//! Checks references without evaluating them: whether objects are declared, whether resources have
//! `count` or `for_each`, and whether schemas permit their steps. These errors do not depend on
//! values, and are reported even for references that are never evaluated.

use std::collections::HashSet;

use wardian_address::ModulePath;
use wardian_config::{Configuration, ModuleNode, Resource, resource_mode};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Expression, Reference, ReferenceSubject};
use wardian_value::PathStep;

use crate::providers::Schemas;
use crate::repeats::{Repeats, resource_repeats};
use crate::reported_references::ReportedReferences;
use crate::schema_steps::SchemaSteps;

/// Returns all errors in references that do not depend on values, and warnings about deprecated
/// attributes.
pub fn check(configuration: &Configuration, schemas: &Schemas) -> (Diagnostics, ReportedReferences) {
    let problems = configuration.check_references();
    let mut reported = ReportedReferences::default();
    problems.iter().filter_map(|problem| problem.subject.as_ref()).for_each(|span| reported.insert(span));
    let mut check = ReferenceCheck { configuration, schemas, problems, reported };
    for node in configuration.modules() {
        check.check_module(node);
    }
    (check.problems, check.reported)
}

struct ReferenceCheck<'a> {
    configuration: &'a Configuration,
    schemas: &'a Schemas,
    problems: Diagnostics,
    reported: ReportedReferences,
}

impl ReferenceCheck<'_> {
    fn check_module(&mut self, node: &ModuleNode) {
        let triggers = triggers(node);
        node.each_reference(&mut |context, reference| {
            if self.configuration.check_reference(node, reference).is_some() {
                self.reported.insert(&reference.span);
                return;
            }
            // A trigger need not refer to a single instance: it can refer to changes of all
            // instances.
            if !triggers.contains(&ReportedReferences::position(&reference.span)) {
                self.check_resource(node, reference, context);
            }
        });
        node.each_self_reference(&mut |resource, reference| {
            self.check_steps(node, resource, reference, 0, &resource.context());
        });
    }

    /// Checks the instance key and the steps of a reference to a resource.
    fn check_resource(&mut self, node: &ModuleNode, reference: &Reference, context: &str) {
        let ReferenceSubject::Resource { mode, kind, name } = &reference.subject else { return };
        let key = (resource_mode(*mode), kind.clone(), name.clone());
        let Some(resource) = node.module.resources.get(&key) else { return };
        let (skipped, problem) = check_key(resource, reference);
        if let Some(problem) = problem {
            self.report(problem, reference, context);
        }
        self.check_steps(node, resource, reference, skipped, context);
    }

    /// Checks the steps of a reference after those that select an instance of a resource.
    fn check_steps(
        &mut self,
        node: &ModuleNode,
        resource: &Resource,
        reference: &Reference,
        skipped: usize,
        context: &str,
    ) {
        let provider = self.configuration.provider_for(&node.path, resource);
        let schema = self.schemas.resource(&provider.provider, resource.mode, &resource.type_name);
        let (Some(schema), Some(steps)) = (schema, reference.remaining.get(skipped..)) else { return };
        if matches!(steps.first(), Some(PathStep::Attribute(name)) if &**name == "count") {
            let problem = count_attribute(resource).at(reference.object_span());
            return self.report(problem, reference, context);
        }
        let followed = SchemaSteps::follow(&schema.block, steps);
        for problem in followed.diagnostics(|position| reference.step_span(skipped + position)) {
            self.report(problem, reference, context);
        }
    }

    fn report(&mut self, problem: Diagnostic, reference: &Reference, context: &str) {
        if problem.is_error() {
            self.reported.insert(&reference.span);
        }
        self.problems.push(problem.in_block(context));
    }
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

fn count_attribute(resource: &Resource) -> Diagnostic {
    let module = ModulePath::root().unkeyed_instance();
    let address = module.resource(resource.mode, resource.type_name.clone(), resource.name.clone());
    let detail = format!(
        "No resource has an attribute \"count\". If {address} has the argument count, then length({address}) \
         is the number of its instances."
    );
    Diagnostic::error("Invalid resource count attribute", detail)
}

/// Returns the number of steps of the instance key, and the error if the key is missing or
/// unexpected.
fn check_key(resource: &Resource, reference: &Reference) -> (usize, Option<Diagnostic>) {
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
                    (1, Some(Diagnostic::error("Unexpected resource instance key", detail).at(span)))
                }
                _ => (0, None),
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
            let problem = Diagnostic::error("Missing resource instance key", detail);
            (0, Some(problem.at(reference.subject_span())))
        }
        [_, ..] => (1, None),
        [] => (0, None),
    }
}
