//! Checks that references refer to declared objects.

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use wardian_lang::{Body, Expression, Reference, ReferenceSubject};
use wardian_value::PathStep;

use crate::blocks::{ActionReference, Condition, Lifecycle, ProviderConfigOrigin, Resource};
use crate::configuration::{Configuration, ModuleNode};
use crate::decode::references;
use crate::names::{block_kind, resource_mode};
use crate::walk::{check_body, each_expression};

impl Configuration {
    /// Reports every reference to a variable, local value, resource, module or output that is not
    /// declared. Commands that need only the configuration's providers or modules skip this check.
    pub fn check_references(&self) -> Diagnostics {
        let mut problems = self.unresolved.clone();
        for node in self.modules() {
            node.each_reference(&mut |context, reference| {
                if let Some(problem) = self.check_reference(node, reference) {
                    problems.push(problem.in_block(context));
                }
            });
            node.check_locals(&mut problems);
            node.check_scoped(&mut problems);
            node.check_triggered_actions(&mut problems);
            node.check_lists(&mut problems);
            self.check_import_targets(node, &mut problems);
        }
        self.check_self_references(&mut problems);
        problems
    }

    /// Returns the diagnostic, with its span, for a reference in a module to an object that is not
    /// declared.
    pub fn check_reference(&self, node: &ModuleNode, reference: &Reference) -> Option<Diagnostic> {
        let undeclared = node.check_declared(&reference.subject);
        undeclared
            .map(|problem| problem.at(reference.object_span()))
            .or_else(|| self.check_output(node, reference))
    }

    /// Checks the target addresses of imports against `count` and `for_each`.
    fn check_import_targets(&self, node: &ModuleNode, problems: &mut Diagnostics) {
        for import in &node.module.imports {
            let path = import
                .target
                .modules
                .iter()
                .fold(node.path.clone(), |path, (name, _)| path.child(name.clone()));
            let mut refuse = |summary: &str, detail: String| {
                problems
                    .push(Diagnostic::error(summary, detail).at(import.to.span().clone()).in_block("import"));
            };
            let Some(called) = self.module(&path) else {
                let detail = format!("The configuration has no {path}, so nothing can be imported to it.");
                refuse("Configuration for import target does not exist", detail);
                continue;
            };
            let Some(target) = &import.target.resource else { continue };
            let key = (target.mode, target.type_name.clone(), target.name.clone());
            let Some(resource) = called.module.resources.get(&key) else { continue };
            let traversal = import.to.as_traversal();
            let last = traversal.as_ref().and_then(|traversal| traversal.steps.last()).map(|last| &last.step);
            let problem = match (last, &resource.count, &resource.for_each) {
                (None, ..) => continue,
                (Some(PathStep::Index(_)), None, _) => "it has no count, so its instances have no number",
                (Some(PathStep::Key(_)), _, None) => "it has no for_each, so its instances have no key",
                (Some(PathStep::Attribute(_)), Some(_), _) => {
                    "it has a count: an instance number is required"
                }
                (Some(PathStep::Attribute(_)), _, Some(_)) => {
                    "it has a for_each: an instance key is required"
                }
                _ => continue,
            };
            let detail = format!("The resource has no such instance: {problem}.");
            refuse("Invalid import 'to' expression", detail);
        }
    }

    /// Reports errors in expressions that do not depend on values: unknown functions, calls with
    /// too few arguments, names that are not valid references. Evaluation also reports these
    /// errors, but only in expressions that it evaluates.
    pub fn check_expressions(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for node in self.modules() {
            node.each_place(&mut |context, place| {
                let mut found = Diagnostics::new();
                match place {
                    ReferenceSite::Expression(expression) => found = expression.check(),
                    ReferenceSite::Body(body) => check_body(body, &mut found),
                    ReferenceSite::Reference(_) => {}
                }
                if !found.is_empty() {
                    problems.extend(found.in_block(context));
                }
            });
        }
        problems
    }

    /// Warns about references to deprecated outputs.
    pub(crate) fn warn_of_deprecated_outputs(&self, problems: &mut Diagnostics) {
        for node in self.modules() {
            node.each_reference(&mut |context, reference| {
                let ReferenceSubject::Module(call) = &reference.subject else { return };
                let Some(called) = self.module(&node.path.child(call.clone())) else { return };
                let names = reference.remaining.iter().take(2);
                let output = names.filter_map(|step| match step {
                    PathStep::Attribute(name) => called.module.outputs.get(name),
                    _ => None,
                });
                if let Some((output, advice)) =
                    output.into_iter().find_map(|output| Some((output, output.deprecated.as_ref()?)))
                {
                    let detail = format!(
                        "The module \"{call}\" marks its output \"{}\" as deprecated: {advice}",
                        output.name
                    );
                    problems.push(
                        Diagnostic::warning("Deprecated value used", detail)
                            .at(reference.span.clone())
                            .in_block(context),
                    );
                }
            });
        }
    }

    fn check_output(&self, node: &ModuleNode, reference: &Reference) -> Option<Diagnostic> {
        let ReferenceSubject::Module(call) = &reference.subject else {
            return None;
        };
        let called = self.module(&node.path.child(call.clone()))?;
        let (position, output) = match reference.remaining.as_slice() {
            [PathStep::Attribute(name), ..] => (0, name),
            [PathStep::Index(_) | PathStep::Key(_), PathStep::Attribute(name), ..] => (1, name),
            _ => return None,
        };
        let outputs = &called.module.outputs;
        if outputs.contains_key(output) {
            return None;
        }
        let advice = did_you_mean(output, outputs.keys().map(|known| &**known));
        let detail = format!("The module \"{call}\" has no output named \"{output}\".{advice}");
        Some(Diagnostic::error("Unsupported attribute", detail).at(reference.step_span(position)))
    }
}

impl ModuleNode {
    /// Reports local values that refer to themselves.
    fn check_locals(&self, problems: &mut Diagnostics) {
        for local in self.module.locals.values() {
            let own = ReferenceSubject::Local(local.name.clone());
            let found = local.expression.references().iter().find(|reference| reference.subject == own);
            if let Some(reference) = found {
                let detail = format!("The value of local.{} depends on itself.", local.name);
                problems.push(
                    Diagnostic::error("Self-referencing local value", detail)
                        .at(reference.span.clone())
                        .in_block("locals"),
                );
            }
        }
    }

    /// Reports references to the data source of a check from outside the check.
    fn check_scoped(&self, problems: &mut Diagnostics) {
        let mut scoped = BTreeMap::new();
        for check in self.module.checks.values() {
            if let Some(data) = &check.data {
                let own = ReferenceSubject::Resource {
                    mode: wardian_lang::ReferenceMode::Data,
                    kind: data.type_name.clone(),
                    name: data.name.clone(),
                };
                scoped.insert(own, format!("check \"{}\"", check.name));
            }
        }
        if scoped.is_empty() {
            return;
        }
        self.each_reference(&mut |context, reference| {
            let Some(check) = scoped.get(&reference.subject).filter(|check| **check != context) else {
                return;
            };
            let detail = format!(
                "{} is only read for the {check}. Move its block out of the check to use it elsewhere.",
                reference.subject
            );
            problems.push(
                Diagnostic::error("Reference to scoped resource", detail)
                    .at(reference.object_span())
                    .in_block(context),
            );
        });
    }

    /// Reports lists that refer to themselves.
    fn check_lists(&self, problems: &mut Diagnostics) {
        for list in self.module.lists.values() {
            let own = ReferenceSubject::List { kind: list.type_name.clone(), name: list.name.clone() };
            let expressions = list.expressions().flat_map(Expression::references).cloned();
            let found = expressions.chain(references(&list.config, None)).find(|named| named.subject == own);
            if let Some(reference) = found {
                let detail = format!(
                    "The results of {own} are known only after the query, so it cannot refer to itself."
                );
                problems.push(
                    Diagnostic::error("Self-referential block", detail)
                        .at(reference.span)
                        .in_block(list.context()),
                );
            }
        }
    }

    /// Reports references to actions that are not declared, and instance keys that contradict the
    /// action's block.
    fn check_triggered_actions(&self, problems: &mut Diagnostics) {
        for resource in self.module.resources.values() {
            let triggers = resource.lifecycle.action_triggers.iter();
            for reference in triggers.flat_map(|trigger| &trigger.actions) {
                if let Some(problem) = self.check_triggered_action(reference) {
                    problems
                        .push(problem.at(reference.expression.span().clone()).in_block(resource.context()));
                }
            }
        }
    }

    fn check_triggered_action(&self, reference: &ActionReference) -> Option<Diagnostic> {
        let (kind, name) = &reference.key;
        let actions = &self.module.actions;
        let Some(action) = actions.get(&reference.key) else {
            let place =
                if self.path.is_root() { "the root module".to_owned() } else { self.path.to_string() };
            let of_type = actions.keys().filter(|(known, _)| known == kind).map(|(_, known)| &**known);
            let mut advice = did_you_mean(name, of_type);
            if advice.is_empty() {
                let of_name = actions.keys().filter(|(_, known)| known == name).map(|(known, _)| &**known);
                advice = did_you_mean(kind, of_name);
            }
            if advice.is_empty() {
                advice = format!(" Declare it with an action \"{kind}\" \"{name}\" {{}} block.");
            }
            return Some(Diagnostic::error(
                "Reference to undeclared action",
                format!("There is no action \"{kind}\" \"{name}\" in {place}.{advice}"),
            ));
        };
        let is_repeated = action.count.is_some() || action.for_each.is_some();
        (reference.has_key && !is_repeated).then(|| {
            let detail = format!(
                "action.{kind}.{name} has neither count nor for_each, so it has one instance, without a key. \
                 Remove the brackets."
            );
            Diagnostic::error("Unexpected action instance key", detail)
        })
    }

    /// Returns the diagnostic for a reference to an object that the module does not declare, or
    /// `None` if it is declared.
    pub fn check_declared(&self, subject: &ReferenceSubject) -> Option<Diagnostic> {
        let module = &self.module;
        let undeclared = |what: &str, called: String, advice: String| {
            let place =
                if self.path.is_root() { "the root module".to_owned() } else { self.path.to_string() };
            Some(Diagnostic::error(
                format!("Reference to undeclared {what}"),
                format!("There is no {called} in {place}.{advice}"),
            ))
        };
        match subject {
            ReferenceSubject::Variable(name) if !module.variables.contains_key(name) => undeclared(
                "input variable",
                format!("variable \"{name}\""),
                Some(did_you_mean(name, module.variables.keys().map(|known| &**known)))
                    .filter(|advice| !advice.is_empty())
                    .unwrap_or_else(|| format!(" Declare it with a variable \"{name}\" {{}} block.")),
            ),
            ReferenceSubject::Local(name) if !module.locals.contains_key(name) => undeclared(
                "local value",
                format!("local value \"{name}\""),
                did_you_mean(name, module.locals.keys().map(|known| &**known)),
            ),
            ReferenceSubject::Resource { mode: named, kind, name } => {
                let key = (resource_mode(*named), kind.clone(), name.clone());
                if module.resources.contains_key(&key) {
                    return None;
                }
                let block = block_kind(key.0);
                let of_type = module.resources.keys().filter(|(m, k, _)| (m, k) == (&key.0, kind));
                let mut advice = did_you_mean(name, of_type.map(|(_, _, known)| &**known));
                if advice.is_empty() && block == "resource" {
                    let data = (wardian_address::ResourceMode::Data, kind.clone(), name.clone());
                    if module.resources.contains_key(&data) {
                        advice = format!(" Did you mean the data source data.{kind}.{name}?");
                    }
                }
                undeclared("resource", format!("{block} \"{kind}\" \"{name}\""), advice)
            }
            ReferenceSubject::Action { .. } => Some(Diagnostic::error(
                "Invalid action reference",
                format!(
                    "An action has no value, so {subject} cannot be used in an expression. Actions are named only \
                     in the argument \"actions\" of action_trigger blocks."
                ),
            )),
            ReferenceSubject::List { kind, name } => {
                if module.lists.contains_key(&(kind.clone(), name.clone())) {
                    return None;
                }
                let of_type = module.lists.keys().filter(|(known, _)| known == kind);
                let advice = Some(did_you_mean(name, of_type.map(|(_, known)| &**known)))
                    .filter(|advice| !advice.is_empty())
                    .unwrap_or_else(|| {
                        " Lists are declared in query files, and only `wardian query` reads them.".to_owned()
                    });
                undeclared("list", format!("list \"{kind}\" \"{name}\""), advice)
            }
            ReferenceSubject::Module(name) if !module.module_calls.contains_key(name) => undeclared(
                "module",
                format!("module call \"{name}\""),
                did_you_mean(name, module.module_calls.keys().map(|known| &**known)),
            ),
            _ => None,
        }
    }
}

/// A location in a block that can contain references.
enum ReferenceSite<'a> {
    Expression(&'a Expression),
    Body(&'a Body),
    /// A reference that is not an expression, for example in `depends_on`.
    Reference(&'a Reference),
}

impl ReferenceSite<'_> {
    fn each_reference(&self, visit: &mut dyn FnMut(&Reference)) {
        match self {
            Self::Expression(expression) => expression.references().iter().for_each(visit),
            Self::Body(body) => references(body, None).iter().for_each(visit),
            Self::Reference(reference) => visit(reference),
        }
    }
}

/// Visits reference sites, together with the header of their block.
struct SiteVisitor<'a> {
    visit: &'a mut dyn FnMut(&str, ReferenceSite<'_>),
    context: String,
}

impl SiteVisitor<'_> {
    fn expression(&mut self, expression: &Expression) {
        (self.visit)(&self.context, ReferenceSite::Expression(expression));
    }

    fn all(&mut self, references: &[Reference]) {
        for reference in references {
            (self.visit)(&self.context, ReferenceSite::Reference(reference));
        }
    }

    fn body(&mut self, body: &Body) {
        (self.visit)(&self.context, ReferenceSite::Body(body));
    }

    fn conditions(&mut self, conditions: &[Condition]) {
        for condition in conditions {
            self.expression(&condition.condition);
            self.expression(&condition.error_message);
        }
    }

    fn optional(&mut self, expressions: &[&Option<Expression>]) {
        for expression in expressions.iter().copied().flatten() {
            self.expression(expression);
        }
    }

    fn resource(&mut self, resource: &Resource) {
        self.context = resource.context();
        self.optional(&[&resource.count, &resource.for_each]);
        self.body(&resource.body);
        self.all(&resource.depends_on);
        let Lifecycle { replace_triggered_by, preconditions, action_triggers, .. } = &resource.lifecycle;
        for trigger in replace_triggered_by {
            self.expression(trigger);
        }
        self.conditions(preconditions);
        for trigger in action_triggers {
            self.optional(&[&trigger.condition]);
        }
        self.with_self(resource);
    }

    /// Visits the sites in which `self` is the resource.
    fn with_self(&mut self, resource: &Resource) {
        self.conditions(&resource.lifecycle.postconditions);
        if let Some(body) = &resource.connection {
            self.body(body);
        }
        for provisioner in &resource.provisioners {
            self.body(&provisioner.body);
            if let Some(connection) = &provisioner.connection {
                self.body(connection);
            }
        }
    }
}

impl ModuleNode {
    /// Visits all references in the module's blocks, together with the header of the block.
    pub fn each_reference(&self, visit: &mut dyn FnMut(&str, &Reference)) {
        self.each_place(&mut |context, place| {
            place.each_reference(&mut |reference| visit(context, reference));
        });
    }

    /// Visits all expressions in the module's blocks.
    pub fn each_expression(&self, visit: &mut dyn FnMut(&Expression)) {
        self.each_place(&mut |_, place| match place {
            ReferenceSite::Expression(expression) => visit(expression),
            ReferenceSite::Body(body) => each_expression(body, None, &mut |expression, _| visit(expression)),
            ReferenceSite::Reference(_) => {}
        });
    }

    /// Visits all references to `self` in the blocks that can contain them, together with the
    /// resource to which `self` refers.
    pub fn each_self_reference(&self, visit: &mut dyn FnMut(&Resource, &Reference)) {
        for resource in self.module.resources.values() {
            let mut visit_place = |_: &str, place: ReferenceSite<'_>| {
                place.each_reference(&mut |reference| {
                    if reference.subject == ReferenceSubject::SelfValue {
                        visit(resource, reference);
                    }
                });
            };
            SiteVisitor { visit: &mut visit_place, context: String::new() }.with_self(resource);
        }
    }

    fn each_place(&self, visit: &mut dyn FnMut(&str, ReferenceSite<'_>)) {
        let module = &self.module;
        let mut visits = SiteVisitor { visit, context: String::new() };
        for variable in module.variables.values() {
            visits.context = format!("variable \"{}\"", variable.name);
            visits.conditions(&variable.validations);
        }
        for local in module.locals.values() {
            visits.context = String::from("locals");
            visits.expression(&local.expression);
        }
        for output in module.outputs.values() {
            visits.context = format!("output \"{}\"", output.name);
            visits.expression(&output.expression);
            visits.all(&output.depends_on);
            visits.conditions(&output.preconditions);
        }
        for resource in module.resources.values() {
            visits.resource(resource);
        }
        for action in module.actions.values() {
            visits.context = action.context();
            visits.optional(&[&action.count, &action.for_each]);
            visits.body(&action.config);
        }
        for list in module.lists.values() {
            visits.context = list.context();
            for expression in list.expressions() {
                visits.expression(expression);
            }
            visits.body(&list.config);
        }
        for call in module.module_calls.values() {
            visits.context = format!("module \"{}\"", call.name);
            visits.optional(&[&call.count, &call.for_each]);
            visits.all(&call.depends_on);
            for input in call.inputs.values() {
                visits.expression(&input.expression);
            }
        }
        for config in module
            .provider_configs
            .values()
            .filter(|config| config.origin == ProviderConfigOrigin::Configuration)
        {
            visits.context = format!("provider \"{}\"", config.local_name);
            visits.body(&config.body);
        }
        for check in module.checks.values() {
            visits.context = format!("check \"{}\"", check.name);
            visits.conditions(&check.assertions);
        }
        for import in &module.imports {
            visits.context = String::from("import");
            visits.optional(&[&import.id, &import.identity, &import.for_each]);
        }
    }
}
