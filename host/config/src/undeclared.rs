//! References to what is not declared.

use std::collections::BTreeMap;

use wardian_lang::{Diagnostic, Diagnostics, Expression, Reference, Subject};
use wardian_value::PathStep;

use crate::blocks::{Condition, Lifecycle, Resource};
use crate::configuration::{Configuration, ModuleNode};
use crate::content::did_you_mean;
use crate::decode::references;
use crate::names::{block_kind, resource_mode};

impl Configuration {
    /// Every reference to a variable, a local value, a resource, a module or an
    /// output that is not declared. Commands that only need to know the providers
    /// or modules do without.
    pub fn check_references(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for node in self.modules() {
            for (context, reference) in node.module_references() {
                let problem =
                    node.undeclared(&reference.subject).or_else(|| self.check_output(node, &reference));
                if let Some(problem) = problem {
                    problems.push(problem.at(reference.span.clone()).in_block(context));
                }
            }
            node.check_locals(&mut problems);
            node.check_scoped(&mut problems);
        }
        problems
    }

    fn check_output(&self, node: &ModuleNode, reference: &Reference) -> Option<Diagnostic> {
        let Subject::Module(call) = &reference.subject else {
            return None;
        };
        let called = self.module(&node.path.child(call.clone()))?;
        let output = match reference.remaining.as_slice() {
            [PathStep::Attribute(name), ..] => name,
            [PathStep::Index(_) | PathStep::Key(_), PathStep::Attribute(name), ..] => name,
            _ => return None,
        };
        let outputs = &called.module.outputs;
        if outputs.contains_key(output) {
            return None;
        }
        let advice = did_you_mean(output, outputs.keys().map(|known| &**known));
        Some(Diagnostic::error(
            "Unsupported attribute",
            format!("The module \"{call}\" has no output named \"{output}\".{advice}"),
        ))
    }
}

impl ModuleNode {
    /// A local value cannot be made from itself.
    fn check_locals(&self, problems: &mut Diagnostics) {
        for local in self.module.locals.values() {
            let own = Subject::Local(local.name.clone());
            let found = local.expression.references().iter().find(|reference| reference.subject == own);
            if let Some(reference) = found {
                let detail = format!("The value of local.{} would have to be known to find it.", local.name);
                problems.push(
                    Diagnostic::error("Self-referencing local value", detail)
                        .at(reference.span.clone())
                        .in_block("locals"),
                );
            }
        }
    }

    /// What is read for a check can be referred to in that check only.
    fn check_scoped(&self, problems: &mut Diagnostics) {
        let mut scoped = BTreeMap::new();
        for check in self.module.checks.values() {
            if let Some(data) = &check.data {
                let own = Subject::Resource {
                    mode: wardian_lang::ResourceMode::Data,
                    kind: data.type_name.clone(),
                    name: data.name.clone(),
                };
                scoped.insert(own, format!("check \"{}\"", check.name));
            }
        }
        if scoped.is_empty() {
            return;
        }
        for (context, reference) in self.module_references() {
            let Some(check) = scoped.get(&reference.subject).filter(|check| **check != context) else {
                continue;
            };
            let detail = format!(
                "{} is read for the {check} only. Move its block out of there to use it elsewhere.",
                reference.subject
            );
            problems.push(
                Diagnostic::error("Reference to scoped resource", detail)
                    .at(reference.span.clone())
                    .in_block(context),
            );
        }
    }

    /// What is to be said of a reference to something that the module does not
    /// declare; `None` where it does.
    pub fn undeclared(&self, subject: &Subject) -> Option<Diagnostic> {
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
            Subject::Variable(name) if !module.variables.contains_key(name) => undeclared(
                "input variable",
                format!("variable \"{name}\""),
                did_you_mean(name, module.variables.keys().map(|known| &**known)),
            ),
            Subject::Local(name) if !module.locals.contains_key(name) => undeclared(
                "local value",
                format!("local value \"{name}\""),
                did_you_mean(name, module.locals.keys().map(|known| &**known)),
            ),
            Subject::Resource { mode: named, kind, name } => {
                let key = (resource_mode(*named), kind.clone(), name.clone());
                if module.resources.contains_key(&key) {
                    return None;
                }
                let block = block_kind(key.0);
                let of_type = module.resources.keys().filter(|(m, k, _)| (m, k) == (&key.0, kind));
                let mut advice = did_you_mean(name, of_type.map(|(_, _, known)| &**known));
                if advice.is_empty() && block == "resource" {
                    let data = (wardian_plugin::ResourceMode::Data, kind.clone(), name.clone());
                    if module.resources.contains_key(&data) {
                        advice = format!(" Did you mean the data source data.{kind}.{name}?");
                    }
                }
                undeclared("resource", format!("{block} \"{kind}\" \"{name}\""), advice)
            }
            Subject::Module(name) if !module.module_calls.contains_key(name) => undeclared(
                "module",
                format!("module call \"{name}\""),
                did_you_mean(name, module.module_calls.keys().map(|known| &**known)),
            ),
            _ => None,
        }
    }
}

/// Gathers references with the block that they stand in.
struct Gathered {
    found: Vec<(String, Reference)>,
    context: String,
}

impl Gathered {
    fn expression(&mut self, expression: &Expression) {
        self.all(expression.references().iter().cloned());
    }

    fn all(&mut self, references: impl IntoIterator<Item = Reference>) {
        let context = &self.context;
        self.found.extend(references.into_iter().map(|reference| (context.clone(), reference)));
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
        self.all(references(&resource.body, None));
        self.all(resource.depends_on.iter().cloned());
        let Lifecycle { replace_triggered_by, preconditions, postconditions, .. } = &resource.lifecycle;
        for trigger in replace_triggered_by {
            self.expression(trigger);
        }
        self.conditions(preconditions);
        self.conditions(postconditions);
        if let Some(body) = &resource.connection {
            self.all(references(body, None));
        }
        for provisioner in &resource.provisioners {
            self.all(references(&provisioner.body, None));
            if let Some(connection) = &provisioner.connection {
                self.all(references(connection, None));
            }
        }
    }
}

impl ModuleNode {
    fn module_references(&self) -> Vec<(String, Reference)> {
        let module = &self.module;
        let mut gathered = Gathered { found: Vec::new(), context: String::new() };
        for variable in module.variables.values() {
            gathered.context = format!("variable \"{}\"", variable.name);
            gathered.conditions(&variable.validations);
        }
        for local in module.locals.values() {
            gathered.context = String::from("locals");
            gathered.expression(&local.expression);
        }
        for output in module.outputs.values() {
            gathered.context = format!("output \"{}\"", output.name);
            gathered.expression(&output.expression);
            gathered.all(output.depends_on.iter().cloned());
            gathered.conditions(&output.preconditions);
        }
        for resource in module.resources.values() {
            gathered.resource(resource);
        }
        for call in module.module_calls.values() {
            gathered.context = format!("module \"{}\"", call.name);
            gathered.optional(&[&call.count, &call.for_each]);
            gathered.all(call.depends_on.iter().cloned());
            for input in call.inputs.values() {
                gathered.expression(&input.expression);
            }
        }
        for config in module.provider_configs.values() {
            gathered.context = format!("provider \"{}\"", config.local_name);
            gathered.all(references(&config.body, None));
        }
        for check in module.checks.values() {
            gathered.context = format!("check \"{}\"", check.name);
            gathered.conditions(&check.assertions);
        }
        for import in &module.imports {
            gathered.context = String::from("import");
            gathered.optional(&[&import.id, &import.identity, &import.for_each]);
        }
        gathered.found
    }
}
