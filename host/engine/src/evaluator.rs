//! Evaluates the objects of a configuration that no provider has a part in, and
//! the arguments of those that one has.

use std::path::PathBuf;
use std::sync::Arc;

use wardian_address::{ModuleInstance, ModulePath, ProviderAddress, ProviderConfigAddress};
use wardian_config::{Configuration, ModuleNode, Resource, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_plugin::FileGate;
use wardian_value::{Marks, Str, Value};

use crate::checks::{Checkable, CheckedObject, Checks};
use crate::conditions::{self, Complaint, OUTPUT_PRECONDITION, Weight};
use crate::ephemeral::Expired;
use crate::function_results::FunctionResults;
use crate::nodes::provider_block;
use crate::providers::Schemas;
use crate::reference_check::Told;
use crate::scope::ModuleScope;
use crate::values::{RepetitionData, Values};

/// Where a run takes place.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The directory of the root module, absolute.
    pub root_directory: PathBuf,
    /// The directory that the program was started in, absolute.
    pub working_directory: PathBuf,
    /// What `~` stands for.
    pub home_directory: Option<PathBuf>,
    /// Which files functions may read.
    pub file_gate: FileGate,
}

/// How much is known while evaluating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing: only whether it could be valid is asked for.
    Validate,
    /// What the state and the plan say; impure functions are unknown.
    Plan,
    /// Everything.
    Apply,
}

/// Evaluates the objects of a configuration.
pub struct Evaluator {
    /// The configuration.
    pub configuration: Arc<Configuration>,
    /// Schemas of all providers.
    pub schemas: Schemas,
    /// What was evaluated so far.
    pub values: Values,
    /// How much is known.
    pub phase: Phase,
    /// `terraform.workspace`
    pub workspace: Str,
    /// Where the run takes place.
    pub environment: Arc<Environment>,
    /// When the plan was made.
    pub timestamp: String,
    /// References that something was said about already.
    pub told: Arc<Told>,
    /// What was found of conditions so far.
    pub checks: Checks,
    /// What providers' functions gave so far.
    pub function_results: FunctionResults,
    /// Ephemeral resources that must not be used any more.
    pub expired: Expired,
}

impl Evaluator {
    /// The module at a path. Walks only visit paths of the configuration.
    pub fn module(&self, path: &ModulePath) -> Result<&ModuleNode, Diagnostics> {
        self.configuration.module(path).ok_or_else(|| {
            Diagnostic::error("Unknown module", format!("The configuration has no {path}.")).into()
        })
    }

    /// A scope of a module instance.
    pub fn scope<'a>(&'a self, instance: &'a ModuleInstance, repetition: RepetitionData) -> ModuleScope<'a> {
        ModuleScope::new(self, instance, repetition)
    }

    /// Expands a module call in every instance of its caller.
    pub fn expand_module(&mut self, path: &ModulePath) -> Result<(), Diagnostics> {
        // The root module is there from the start.
        let Some((caller, name)) = path.parent() else { return Ok(()) };
        let configuration = Arc::clone(&self.configuration);
        let Some(call) = configuration.module(&caller).and_then(|m| m.module.module_calls.get(name)) else {
            return Ok(());
        };
        let mut diagnostics = Diagnostics::new();
        for instance in self.values.module_instances(&caller).to_vec() {
            let context = format!("module \"{name}\"");
            match self.repetition(&instance, call.count.as_ref(), call.for_each.as_ref()) {
                Ok(repetition) => self.values.expand(&instance, name, repetition),
                Err(found) => diagnostics.extend(found.in_block(&context)),
            }
        }
        diagnostics.into_result(())
    }

    /// Evaluates a variable of a module that is called, in all its instances.
    pub fn evaluate_variable(&mut self, path: &ModulePath, name: &Str) -> Result<Diagnostics, Diagnostics> {
        let configuration = Arc::clone(&self.configuration);
        let Some((caller, call_name)) = path.parent() else { return Ok(Diagnostics::new()) };
        let (Some(module), Some(call)) = (
            configuration.module(path),
            configuration.module(&caller).and_then(|m| m.module.module_calls.get(call_name)),
        ) else {
            return Ok(Diagnostics::new());
        };
        let Some(variable) = module.module.variables.get(name) else { return Ok(Diagnostics::new()) };
        let mut diagnostics = Diagnostics::new();
        let checkable = Checkable::Variable(path.clone(), name.clone());
        self.checks.expand_in(&checkable, self.values.module_instances(path));
        for instance in self.values.module_instances(path).to_vec() {
            let Some((caller, _)) = instance.parent() else { continue };
            let repetition = self.values.module(&instance).map(|m| m.repetition.clone()).unwrap_or_default();
            let given = match call.inputs.get(name) {
                Some(argument) => {
                    let scope =
                        self.scope(&caller, self.repetition_or_unknown(call_repeats(call), repetition));
                    match argument.expression.evaluate(&scope) {
                        Ok(value) => Some((value, argument.expression.span().clone())),
                        Err(found) => {
                            diagnostics.extend(found.in_block(&format!("module \"{call_name}\"")));
                            continue;
                        }
                    }
                }
                None => None,
            };
            let value = match given {
                Some((value, _)) if value.is_null() && !variable.nullable && variable.default.is_some() => {
                    variable.default.clone().unwrap_or_else(|| value.clone())
                }
                Some((value, span)) if value.inside_marks().is_ephemeral() && !variable.ephemeral => {
                    let detail = format!(
                        "The variable \"{name}\" of the module is not declared as ephemeral, and this value \
                         is ephemeral."
                    );
                    diagnostics.push(Diagnostic::error("Ephemeral value not allowed", detail).at(span));
                    continue;
                }
                Some((value, span)) => match variable.constraint.apply(&value) {
                    Ok(value) if value.is_null() && !variable.nullable => {
                        diagnostics.push(
                            Diagnostic::error(
                                "Required variable not set",
                                format!("The variable \"{name}\" does not accept null."),
                            )
                            .at(span),
                        );
                        continue;
                    }
                    Ok(value) => value,
                    Err(error) => {
                        diagnostics.push(
                            Diagnostic::error(
                                "Invalid value for input variable",
                                format!(
                                    "It does not suit the variable \"{name}\" of the module, declared at {}: {error}.",
                                    variable.span
                                ),
                            )
                            .at(span),
                        );
                        continue;
                    }
                },
                // The loader has seen to it that what is required is given.
                None => {
                    variable.default.clone().unwrap_or_else(|| Value::null(variable.constraint.ty.clone()))
                }
            };
            let place = call.inputs.get(name).map_or(&variable.span, |given| given.expression.span());
            self.accept_variable(&instance, variable, value, place, &mut diagnostics);
        }
        if diagnostics.has_errors() { Err(diagnostics) } else { Ok(diagnostics) }
    }

    /// Sets the variables of the root module.
    pub fn set_root_variable(&mut self, name: &Str, value: Value) -> Result<Diagnostics, Diagnostics> {
        let configuration = Arc::clone(&self.configuration);
        let Some(variable) = configuration.root().module.variables.get(name) else {
            return Ok(Diagnostics::new());
        };
        let mut diagnostics = Diagnostics::new();
        self.accept_variable(&ModuleInstance::root(), variable, value, &variable.span, &mut diagnostics);
        if diagnostics.has_errors() { Err(diagnostics) } else { Ok(diagnostics) }
    }

    fn accept_variable(
        &mut self,
        instance: &ModuleInstance,
        variable: &wardian_config::Variable,
        value: Value,
        place: &Span,
        diagnostics: &mut Diagnostics,
    ) {
        let value = value.with_marks(declared_marks(variable));
        self.schemas.secrets().add_marked(&value);
        self.values.module_mut(instance).variables.insert(variable.name.clone(), value);
        if variable.validations.is_empty() {
            return;
        }
        let scope = self.scope(instance, RepetitionData::None);
        let complaint =
            Complaint { summary: "Invalid value for variable", place: Some(place), weight: Weight::Refusal };
        let (problems, found) = conditions::check(&variable.validations, &scope, complaint);
        let checkable = Checkable::Variable(instance.path(), variable.name.clone());
        self.checks.report(&checkable, CheckedObject::of_module(instance), 0, found);
        if problems.has_errors() {
            // What is made of a value that is refused tells nothing.
            self.values.module_mut(instance).variables.remove(&variable.name);
        }
        diagnostics.extend(problems.in_block(&format!("variable \"{}\"", variable.name)));
    }

    /// Evaluates a local value in all instances of its module.
    pub fn evaluate_local(&mut self, path: &ModulePath, name: &Str) -> Result<(), Diagnostics> {
        let configuration = Arc::clone(&self.configuration);
        let Some(local) = configuration.module(path).and_then(|m| m.module.locals.get(name)) else {
            return Ok(());
        };
        for instance in self.values.module_instances(path).to_vec() {
            let value = local
                .expression
                .evaluate(&self.scope(&instance, RepetitionData::None))
                .map_err(|found| found.in_block("locals"))?;
            self.schemas.secrets().add_marked(&value);
            self.values.module_mut(&instance).locals.insert(name.clone(), value);
        }
        Ok(())
    }

    /// Evaluates an output in all instances of its module.
    pub fn evaluate_output(&mut self, path: &ModulePath, name: &Str) -> Result<Diagnostics, Diagnostics> {
        let configuration = Arc::clone(&self.configuration);
        let Some(output) = configuration.module(path).and_then(|m| m.module.outputs.get(name)) else {
            return Ok(Diagnostics::new());
        };
        let context = format!("output \"{name}\"");
        let mut diagnostics = Diagnostics::new();
        let checkable = Checkable::Output(path.clone(), name.clone());
        self.checks.expand_in(&checkable, self.values.module_instances(path));
        for instance in self.values.module_instances(path).to_vec() {
            let scope = self.scope(&instance, RepetitionData::None);
            let (problems, found) = conditions::check(&output.preconditions, &scope, OUTPUT_PRECONDITION);
            let failed = problems.has_errors();
            diagnostics.extend(problems.in_block(&context));
            self.checks.report(&checkable, CheckedObject::of_module(&instance), 0, found);
            let scope = self.scope(&instance, RepetitionData::None);
            if failed {
                continue;
            }
            let mut value = match output.expression.evaluate(&scope) {
                Ok(value) => value,
                Err(found) => {
                    diagnostics.extend(found.in_block(&context));
                    continue;
                }
            };
            if path.is_root() && value.has_sensitive() && !output.sensitive {
                diagnostics.push(
                    Diagnostic::error(
                        "Output refers to sensitive values",
                        "An output of the root module is shown to whoever runs it, and this one holds a value that is marked as sensitive. If it is meant to be an output, say that it is not to be shown:\n    sensitive = true",
                    )
                    .at(output.span.clone())
                    .in_block(&context),
                );
                continue;
            }
            if !output.ephemeral && value.inside_marks().is_ephemeral() {
                let detail = if path.is_root() {
                    "An output of the root module is stored, and this one holds an ephemeral value."
                } else {
                    "This output holds an ephemeral value: say `ephemeral = true` for it."
                };
                diagnostics.push(
                    Diagnostic::error("Ephemeral value not allowed", detail)
                        .at(output.expression.span().clone())
                        .in_block(&context),
                );
                continue;
            }
            if output.sensitive {
                value = value.with_marks(Marks::SENSITIVE);
            }
            if output.ephemeral {
                value = value.with_marks(Marks::EPHEMERAL);
            }
            self.values.set_output(&instance, name, value);
        }
        if diagnostics.has_errors() { Err(diagnostics) } else { Ok(diagnostics) }
    }

    /// The configuration of a provider: nulls where there is no block.
    pub fn provider_config(&self, address: &ProviderConfigAddress) -> Result<Value, Diagnostics> {
        let Some(schema) = self.schemas.provider(&address.provider) else {
            return Ok(Value::empty_object());
        };
        let block = &schema.provider.block;
        let Some(config) = provider_block(&self.configuration, address) else {
            return Ok(block.empty_value());
        };
        let instance = address.module.unkeyed_instance();
        let (value, diagnostics) =
            decode_body(&config.body, block, &self.scope(&instance, RepetitionData::None));
        diagnostics.in_block(&format!("provider \"{}\"", config.local_name)).into_result(value)
    }

    /// What a module tells a provider about itself.
    ///
    /// # Errors
    /// A provider that wants no such thing, or not this.
    pub fn provider_meta(
        &self,
        module: &ModuleInstance,
        provider: &ProviderAddress,
    ) -> Result<Option<Value>, Diagnostics> {
        let Some(node) = self.configuration.module(&module.path()) else { return Ok(None) };
        let mut metas = node.module.provider_metas.iter();
        let Some((name, meta)) = metas.find(|(name, _)| node.module.provider_address(name) == *provider)
        else {
            return Ok(None);
        };
        let Some(schema) = self.schemas.provider(provider).and_then(|schema| schema.provider_meta.as_ref())
        else {
            let detail = format!(
                "The provider {} takes no provider_meta, so that nobody would read what is said here. Leave the block \
                 out.",
                provider.for_display()
            );
            return Err(Diagnostic::error("Provider does not support provider_meta", detail)
                .at(meta.span.clone())
                .in_block("terraform")
                .into());
        };
        let (value, found) =
            decode_body(&meta.body, &schema.block, &self.scope(module, RepetitionData::None));
        found.in_block(&format!("provider_meta \"{name}\"")).into_result(Some(value))
    }

    /// While validating, the instances of what repeats are not told apart.
    pub fn repetition_or_unknown(&self, repeats: Repeats, known: RepetitionData) -> RepetitionData {
        match (self.phase, repeats) {
            (Phase::Validate, Repeats::Count) => RepetitionData::UnknownCount,
            (Phase::Validate, Repeats::ForEach) => RepetitionData::UnknownEach,
            _ => known,
        }
    }
}

/// The marks that a variable's declaration gives its values.
pub fn declared_marks(variable: &wardian_config::Variable) -> Marks {
    let sensitive = if variable.sensitive { Marks::SENSITIVE } else { Marks::NONE };
    let ephemeral = if variable.ephemeral { Marks::EPHEMERAL } else { Marks::NONE };
    sensitive | ephemeral
}

/// By what something repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// It does not.
    No,
    /// By `count`.
    Count,
    /// By `for_each`.
    ForEach,
}

/// By what a resource repeats.
pub fn resource_repeats(resource: &Resource) -> Repeats {
    match (&resource.count, &resource.for_each) {
        (Some(_), _) => Repeats::Count,
        (None, Some(_)) => Repeats::ForEach,
        (None, None) => Repeats::No,
    }
}

/// By what a module call repeats.
pub fn call_repeats(call: &wardian_config::ModuleCall) -> Repeats {
    match (&call.count, &call.for_each) {
        (Some(_), _) => Repeats::Count,
        (None, Some(_)) => Repeats::ForEach,
        (None, None) => Repeats::No,
    }
}
