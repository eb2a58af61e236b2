//! Evaluates modules, variables, local values and outputs, and the arguments of resources and
//! providers.

mod actions;
mod condition_checks;
mod repetition;
mod scope;

use std::path::PathBuf;
use std::sync::Arc;

use wardian_address::{ModuleInstance, ModulePath, ProviderAddress, ProviderConfigAddress};
use wardian_config::{Configuration, GatedFiles, ModuleNode, ProviderConfigOrigin, decode_body};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Span};
use wardian_lang::{Budget, ReferenceSubject};
use wardian_value::{Marks, Str, Type, Value};

use crate::checks::{Checkable, CheckedObject, Checks};
use crate::conditions::{OUTPUT_PRECONDITION, check, check_validations};
use crate::expired::Expired;
use crate::function_results::FunctionResults;
use crate::nodes::provider_block;
use crate::providers::Schemas;
use crate::repeats::{Repeats, call_repeats};
use crate::reported_references::ReportedReferences;
use crate::test_inputs::{AcceptedConfigurations, Coverage, TestInputs, TestValues};
use crate::values::{RepetitionData, Values};
pub use scope::ModuleScope;

/// The directories and files that functions and `path` values use.
#[derive(Clone, Debug, Default)]
pub struct Directories {
    /// The directory of the root module, an absolute path.
    pub root_directory: PathBuf,
    /// The directory in which Wardian was started, an absolute path.
    pub working_directory: PathBuf,
    /// The directory that replaces `~`.
    pub home_directory: Option<PathBuf>,
    /// The files that functions may read.
    pub files: GatedFiles,
}

/// The values that are known during evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No values: only the validity of the configuration is checked.
    Validate,
    /// Values from the state and planned values. Impure functions return unknown values.
    Plan,
    /// All values.
    Apply,
}

/// Evaluates the objects of a configuration.
pub struct Evaluator {
    pub configuration: Arc<Configuration>,
    pub schemas: Schemas,
    pub values: Values,
    pub phase: Phase,
    /// `terraform.workspace`
    pub workspace: Str,
    pub directories: Arc<Directories>,
    /// The budget that limits the values that evaluations produce.
    pub budget: Arc<Budget>,
    /// The time of the plan.
    pub timestamp: String,
    /// References for which an error has already been reported.
    pub reported: Arc<ReportedReferences>,
    pub checks: Checks,
    pub function_results: FunctionResults,
    pub expired: Expired,
    pub test: Option<Arc<TestInputs>>,
    pub accepted: Option<Arc<dyn AcceptedConfigurations>>,
}

impl Evaluator {
    /// Returns the module at a path. Walks visit only modules that are in the configuration.
    pub fn module(&self, path: &ModulePath) -> Result<&ModuleNode, Diagnostics> {
        self.configuration.module(path).ok_or_else(|| {
            Diagnostic::error("Unknown module", format!("The configuration has no {path}.")).into()
        })
    }

    pub fn scope<'a>(&'a self, instance: &'a ModuleInstance, repetition: RepetitionData) -> ModuleScope<'a> {
        ModuleScope::new(self, instance, repetition)
    }

    /// Returns the record of evaluated parts, if a test measures its coverage.
    pub fn coverage(&self) -> Option<&Coverage> {
        self.test.as_ref()?.coverage.as_deref()
    }

    /// Expands a module call in every instance of its caller.
    pub fn expand_module(&mut self, path: &ModulePath) -> Result<(), Diagnostics> {
        // The root module always has one instance.
        let Some((caller, name)) = path.parent() else { return Ok(()) };
        let configuration = Arc::clone(&self.configuration);
        let Some(call) = configuration.module(&caller).and_then(|m| m.module.module_calls.get(name)) else {
            return Ok(());
        };
        let mut diagnostics = Diagnostics::new();
        for instance in self.values.module_instances(&caller).to_vec() {
            let context = format!("module \"{name}\"");
            match self.repetition(&instance, call.count.as_ref(), call.for_each.as_ref()) {
                Ok(repetition) => {
                    let test = self.test.clone();
                    let overridden = |module: &ModuleInstance| {
                        let outputs = test.as_ref()?.overrides.module_outputs(module)?;
                        let declared = configuration.module(path)?.module.outputs.keys();
                        let value = |name: &Str| {
                            outputs.get(name).cloned().unwrap_or_else(|| Value::null(Type::Dynamic))
                        };
                        Some(declared.map(|name| (name.clone(), value(name))).collect())
                    };
                    self.values.expand(&instance, name, repetition, &overridden);
                }
                Err(found) => diagnostics.extend(found.in_block(&context)),
            }
        }
        diagnostics.into_result(())
    }

    /// Evaluates a variable of a called module in all instances of the module.
    pub fn evaluate_variable(&mut self, path: &ModulePath, name: &Str) -> Diagnosed<()> {
        let configuration = Arc::clone(&self.configuration);
        let Some((caller, call_name)) = path.parent() else { return Diagnosed::new(()) };
        let (Some(module), Some(call)) = (
            configuration.module(path),
            configuration.module(&caller).and_then(|m| m.module.module_calls.get(call_name)),
        ) else {
            return Diagnosed::new(());
        };
        let Some(variable) = module.module.variables.get(name) else { return Diagnosed::new(()) };
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
                        "The variable \"{name}\" of the module is not declared as ephemeral, but this value \
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
                                    "The value is not suitable for the variable \"{name}\" of the module, \
                                     declared at {}: {error}.",
                                    variable.span
                                ),
                            )
                            .at(span),
                        );
                        continue;
                    }
                },
                // The loader has checked that required variables have values.
                None => {
                    variable.default.clone().unwrap_or_else(|| Value::null(variable.constraint.ty.clone()))
                }
            };
            let place = call.inputs.get(name).map_or(&variable.span, |given| given.expression.span());
            diagnostics.extend(self.accept_variable(&instance, variable, value, place));
        }
        Diagnosed::unless_errors((), diagnostics)
    }

    /// Sets a variable of the root module. `position` is the value's source position; `None` for a
    /// value without a position, and for a default.
    pub fn set_root_variable(&mut self, name: &Str, value: Value, position: Option<&Span>) -> Diagnosed<()> {
        let configuration = Arc::clone(&self.configuration);
        let Some(variable) = configuration.root().module.variables.get(name) else {
            return Diagnosed::new(());
        };
        let place = position.unwrap_or(&variable.span);
        let found = self.accept_variable(&ModuleInstance::root(), variable, value, place);
        Diagnosed::unless_errors((), found)
    }

    fn accept_variable(
        &mut self,
        instance: &ModuleInstance,
        variable: &wardian_config::Variable,
        value: Value,
        place: &Span,
    ) -> Diagnostics {
        let value = value.with_marks(declared_marks(variable));
        self.schemas.secrets().add_marked(&value);
        // `validate` treats the variables of a module as unknown. The value that a call sets is
        // used only in the variable's own validations.
        if self.phase != Phase::Validate {
            self.values.module_mut(instance).variables.insert(variable.name.clone(), value.clone());
        }
        if variable.validations.is_empty() {
            return Diagnostics::new();
        }
        let scope = self.scope(instance, RepetitionData::None).with_validated_variable(&variable.name, value);
        let checkable = Checkable::Variable(instance.path(), variable.name.clone());
        let address = || checkable.object_address(&CheckedObject::for_module(instance));
        let (problems, found) = check_validations(&variable.validations, &scope, place, self.phase, &address);
        self.checks.report(&checkable, CheckedObject::for_module(instance), 0, found);
        if problems.has_errors() {
            // No other value may be computed from a rejected value.
            self.values.module_mut(instance).variables.remove(&variable.name);
        }
        let declaration = format!("variable \"{}\"", variable.name);
        let in_its_block = |mut problem: Diagnostic| {
            let is_at_value = *place != variable.span && problem.subject.as_ref() == Some(place);
            let block = if is_at_value { call_context(instance) } else { Some(declaration.clone()) };
            problem.context = problem.context.or(block);
            problem
        };
        problems.into_iter().map(in_its_block).collect()
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
    pub fn evaluate_output(&mut self, path: &ModulePath, name: &Str) -> Diagnosed<()> {
        let configuration = Arc::clone(&self.configuration);
        let Some(output) = configuration.module(path).and_then(|m| m.module.outputs.get(name)) else {
            return Diagnosed::new(());
        };
        let context = format!("output \"{name}\"");
        let mut diagnostics = Diagnostics::new();
        let checkable = Checkable::Output(path.clone(), name.clone());
        self.checks.expand_in(&checkable, self.values.module_instances(path));
        for instance in self.values.module_instances(path).to_vec() {
            let scope = self.scope(&instance, RepetitionData::None);
            let address = || checkable.object_address(&CheckedObject::for_module(&instance));
            let (problems, found) = check(&output.preconditions, &scope, OUTPUT_PRECONDITION, &address);
            let failed = problems.has_errors();
            diagnostics.extend(problems.in_block(&context));
            self.checks.report(&checkable, CheckedObject::for_module(&instance), 0, found);
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
            // Outputs of the root module are stored and displayed in full, so their full size is
            // counted.
            if path.is_root()
                && let Err(problem) = self.budget.spend_value(&value, output.expression.span())
            {
                diagnostics.push(problem.in_block(&context));
                continue;
            }
            if path.is_root() && value.has_sensitive() && !output.sensitive {
                diagnostics.push(
                    Diagnostic::error(
                        "Output refers to sensitive values",
                        "Outputs of the root module are displayed, and this one contains a value that is \
                         marked as sensitive. To output it nevertheless without displaying it, \
                         declare:\n    sensitive = true",
                    )
                    .at(output.span.clone())
                    .in_block(&context),
                );
                continue;
            }
            if !output.ephemeral && value.inside_marks().is_ephemeral() {
                let detail = if path.is_root() {
                    "Outputs of the root module are stored, and this one contains an ephemeral value."
                } else {
                    "This output contains an ephemeral value: set `ephemeral = true` for it."
                };
                diagnostics.push(
                    Diagnostic::error("Ephemeral value not allowed", detail)
                        .at(output.expression.span().clone())
                        .in_block(&context),
                );
                continue;
            }
            // The values of called modules have no marks during validation.
            let may_lack_marks = self.phase == Phase::Validate
                && output
                    .expression
                    .references()
                    .iter()
                    .any(|r| matches!(r.subject, ReferenceSubject::Module(_)));
            if output.ephemeral && !value.inside_marks().is_ephemeral() && !may_lack_marks {
                let detail = "This output is declared as ephemeral, so its value must be ephemeral. Remove \
                              the \"ephemeral\" argument if the value may be stored.";
                diagnostics.push(
                    Diagnostic::error("Value not allowed in ephemeral output", detail)
                        .at(output.expression.span().clone())
                        .in_block(&context),
                );
                continue;
            }
            if let Some(coverage) = self.coverage() {
                coverage.record(&output.span);
            }
            if output.sensitive {
                value = value.with_marks(Marks::SENSITIVE);
            }
            if output.ephemeral {
                value = value.with_marks(Marks::EPHEMERAL);
            }
            self.values.set_output(&instance, name, value);
        }
        Diagnosed::unless_errors((), diagnostics)
    }

    /// Evaluates the configuration of a provider. Without a block, all arguments are null.
    pub fn provider_config(&self, address: &ProviderConfigAddress) -> Result<Value, Diagnostics> {
        let Some(schema) = self.schemas.provider(&address.provider) else {
            return Ok(Value::empty_object());
        };
        let block = &schema.provider.block;
        let Some(config) = provider_block(&self.configuration, address) else {
            return Ok(block.empty_value());
        };
        if config.origin == ProviderConfigOrigin::Mock {
            return Ok(block.empty_value());
        }
        let instance = address.module.unkeyed_instance();
        let mut scope = self.scope(&instance, RepetitionData::None);
        // A configuration is validated once for all runs, without their values.
        let none = TestValues::default();
        if config.origin == ProviderConfigOrigin::TestFile {
            scope = scope.with_test_values(self.test.as_ref().map_or(&none, |test| &test.values));
        }
        let (value, diagnostics) = decode_body(&config.body, block, &scope);
        diagnostics.in_block(&format!("provider \"{}\"", config.local_name)).into_result(value)
    }

    /// Evaluates the `provider_meta` block of a module for a provider.
    ///
    /// # Errors
    /// Returns an error if the provider does not support `provider_meta` or rejects the value.
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
                "The provider {} does not support provider_meta, so the block has no effect. Remove the \
                 block.",
                provider.for_display()
            );
            return Err(Diagnostic::error(
                format!("Provider {provider} doesn't support provider_meta"),
                detail,
            )
            .at(meta.span.clone())
            .in_block("terraform")
            .into());
        };
        let (value, found) =
            decode_body(&meta.body, &schema.block, &self.scope(module, RepetitionData::None));
        found.in_block(&format!("provider_meta \"{name}\"")).into_result(Some(value))
    }

    /// Returns unknown repetition data during validation, in which one instance represents all
    /// instances.
    pub fn repetition_or_unknown(&self, repeats: Repeats, known: RepetitionData) -> RepetitionData {
        match (self.phase, repeats) {
            (Phase::Validate, Repeats::Count) => RepetitionData::UnknownCount,
            (Phase::Validate, Repeats::ForEach) => RepetitionData::UnknownEach,
            _ => known,
        }
    }
}

/// Returns the header of the block that calls a module; `None` for the root module.
fn call_context(instance: &ModuleInstance) -> Option<String> {
    instance.path().names().last().map(|name| format!("module \"{name}\""))
}

/// Returns the marks that a variable's declaration adds to its values.
pub fn declared_marks(variable: &wardian_config::Variable) -> Marks {
    let sensitive = if variable.sensitive { Marks::SENSITIVE } else { Marks::NONE };
    let ephemeral = if variable.ephemeral { Marks::EPHEMERAL } else { Marks::NONE };
    sensitive | ephemeral
}
