//! The engine's entry points.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use wardian_address::{ModuleInstance, ProviderAddress};
use wardian_config::RootVariables;
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_lang::Expression;
use wardian_plugin::SensitiveValues;
use wardian_state::{OutputValue, State};
use wardian_value::{Str, Value};

use crate::context::{Applied, DirectImport, EngineContext, StateSink};
use crate::evaluator::{Evaluator, Phase};
use crate::plan::{ChangeCounts, Plan, PlanOptions};
use crate::plan_walk::Purpose;
use crate::providers::Schemas;
use crate::provisioners::Provisioners;
use crate::reported_references::ReportedReferences;
use crate::stop::StopSignal;
use crate::values::RepetitionData;
use crate::{apply_walk, clock, import, plan_walk, reference_check, state_values, validate};

impl EngineContext {
    /// Loads the schemas of all providers of the configuration and the state, and of all
    /// provisioners of the configuration.
    ///
    /// # Errors
    /// Returns an error if a plugin cannot be started, or does not return its schema.
    pub async fn schemas(&self, state: Option<&State>) -> Result<Schemas, Diagnostics> {
        let mut addresses: BTreeSet<ProviderAddress> =
            self.configuration.provider_requirements().into_keys().collect();
        if let Some(state) = state {
            addresses.extend(state.resources().map(|(_, resource)| resource.provider.provider.clone()));
        }
        let secrets = SensitiveValues::default();
        let provisioners = Provisioners::load(&*self.provisioners, &self.configuration, &secrets).await?;
        Ok(Schemas::load(&*self.providers, addresses, secrets).await?.with_provisioners(provisioners))
    }

    /// Checks whether the configuration is valid, independent of variables and state.
    pub async fn validate(&self) -> Diagnostics {
        match self.schemas(None).await {
            Ok(schemas) => {
                let mut diagnostics = self.validate_with(&schemas).await;
                diagnostics.extend(self.configuration.check_self_references_of_instances());
                schemas.close().await;
                diagnostics
            }
            Err(found) => self.undeclared_and(found),
        }
    }

    pub(crate) async fn validate_with(&self, schemas: &Schemas) -> Diagnostics {
        let (mut diagnostics, reported) = reference_check::check(&self.configuration, schemas);
        diagnostics.extend(validate::validate(self, schemas, reported).await);
        // Evaluation has already reported most of these errors.
        let rest = self.configuration.check_expressions();
        diagnostics.extend(
            rest.into_iter()
                .filter(|problem| {
                    !diagnostics
                        .iter()
                        .any(|known| (&known.summary, &known.subject) == (&problem.summary, &problem.subject))
                })
                .collect::<Vec<_>>(),
        );
        diagnostics
    }

    /// Adds the errors of the configuration that can be found without schemas.
    fn undeclared_and(&self, found: Diagnostics) -> Diagnostics {
        let mut problems = self.configuration.check_references();
        problems.extend(self.configuration.check_expressions());
        problems.extend(found);
        problems
    }

    /// Creates a plan. If an error occurs during planning, the plan is partial and marked as
    /// errored. If planning could not start, or the configuration is not valid, no plan is
    /// returned.
    pub async fn plan(
        &self,
        state: State,
        variables: RootVariables,
        options: &PlanOptions,
        stop: StopSignal,
    ) -> Diagnosed<Plan> {
        self.plan_with_values(state, variables, options, stop).await.map(|(plan, evaluator)| {
            // The process ends after the command, and freeing the values of many objects takes time.
            std::mem::forget(evaluator.values);
            plan
        })
    }

    /// Returns a console in the root module with planned values.
    pub async fn console_of_plan(
        &self,
        state: State,
        variables: RootVariables,
        options: &PlanOptions,
        stop: StopSignal,
    ) -> Diagnosed<Console> {
        let planned = self.plan_with_values(state, variables, options, stop).await;
        planned.map(|(_, evaluator)| Console { evaluator })
    }

    async fn plan_with_values(
        &self,
        state: State,
        variables: RootVariables,
        options: &PlanOptions,
        stop: StopSignal,
    ) -> Diagnosed<(Plan, Evaluator)> {
        self.budget.end_with(stop.now_flag());
        match self.schemas(Some(&state)).await {
            Ok(schemas) => {
                // The cost is proportional to the configuration's text, not to the number of
                // instances. If the configuration is not valid, no object is read and no progress
                // is reported.
                let problems = self.validate_with(&schemas).await;
                let planned = if problems.has_errors() {
                    Diagnosed::failed(problems)
                } else {
                    let planned =
                        plan_walk::plan(self, &schemas, state, variables, options, Purpose::Plan, stop).await;
                    with_warnings(problems, planned)
                };
                schemas.close().await;
                planned
            }
            Err(found) => Diagnosed::failed(self.undeclared_and(found)),
        }
    }

    /// Imports an object directly. Returns the state with the object, and with new values of data
    /// sources and outputs. After errors, nothing is imported.
    pub async fn import(
        &self,
        state: State,
        variables: RootVariables,
        order: &DirectImport,
        parallelism: usize,
        stop: StopSignal,
    ) -> Diagnosed<State> {
        self.budget.end_with(stop.now_flag());
        let schemas = match self.schemas(Some(&state)).await {
            Ok(schemas) => schemas,
            Err(found) => return Diagnosed::failed(self.undeclared_and(found)),
        };
        let (mut problems, _) = reference_check::check(&self.configuration, &schemas);
        problems.extend(self.configuration.check_expressions());
        if problems.has_errors() {
            schemas.close().await;
            return Diagnosed::failed(problems);
        }
        let options = PlanOptions { parallelism, ..PlanOptions::default() };
        let purpose = Purpose::Import(order);
        let Diagnosed { value: walked, mut diagnostics } =
            plan_walk::plan(self, &schemas, state, variables, &options, purpose, stop).await;
        schemas.close().await;
        let Some((plan, _)) = walked.filter(|_| !diagnostics.has_errors()) else {
            return Diagnosed::failed(diagnostics);
        };
        if plan.prior_state.current(&order.address).is_none() {
            diagnostics.push(import::check::no_instance(&order.address));
            return Diagnosed::failed(diagnostics);
        }
        let mut state = plan.prior_state;
        for (name, output) in plan.outputs {
            // Outputs that are known only after the apply keep their values.
            if output.after.is_wholly_known() && !output.after.is_null() {
                state.outputs.insert(name, OutputValue { value: output.after, sensitive: output.sensitive });
            }
        }
        Diagnosed::with_diagnostics(state, diagnostics)
    }

    pub async fn apply(
        &self,
        plan: &Plan,
        sink: &mut dyn StateSink,
        parallelism: usize,
        stop: StopSignal,
    ) -> Applied {
        self.budget.end_with(stop.now_flag());
        match self.schemas(Some(&plan.prior_state)).await {
            Ok(schemas) => {
                let (applied, evaluator) =
                    apply_walk::apply(self, &schemas, plan, sink, parallelism, stop).await;
                // The process ends after the command, and freeing the values of many objects takes time.
                std::mem::forget(evaluator.map(|evaluator| evaluator.values));
                schemas.close().await;
                applied
            }
            Err(diagnostics) => Applied {
                state: plan.prior_state.clone(),
                counts: ChangeCounts::default(),
                diagnostics,
                stopped: false,
            },
        }
    }

    /// Returns a console in the root module with values from the state.
    ///
    /// # Errors
    /// Returns an error if a provider cannot be started, or if the configuration has a cycle.
    pub async fn console(
        &self,
        state: State,
        variables: BTreeMap<Str, Value>,
    ) -> Result<Console, Diagnostics> {
        let schemas = self.schemas(Some(&state)).await?;
        let mut evaluator = self.evaluator(&schemas, Phase::Plan, clock::now());
        let graph = crate::nodes::build(&self.configuration)?;
        state_values::evaluate_all(&mut evaluator, &graph, &state, variables);
        // A console creates no objects, so values must not remain unknown.
        evaluator.phase = Phase::Apply;
        Ok(Console { evaluator })
    }
}

/// Adds the warnings of the validation that the plan does not report.
pub(crate) fn with_warnings<T>(warnings: Diagnostics, planned: Diagnosed<T>) -> Diagnosed<T> {
    if warnings.is_empty() {
        return planned;
    }
    let key = |warning: &Diagnostic| {
        let place = warning.subject.as_ref().map(ReportedReferences::position);
        (warning.summary.clone(), place)
    };
    let repeated: HashSet<_> = planned.diagnostics.iter().map(key).collect();
    let mut all: Diagnostics =
        warnings.into_iter().filter(|warning| !repeated.contains(&key(warning))).collect();
    all.extend(planned.diagnostics);
    Diagnosed { value: planned.value, diagnostics: all }
}

/// Evaluates expressions in the root module.
pub struct Console {
    pub(crate) evaluator: Evaluator,
}

impl Console {
    /// Evaluates an expression.
    ///
    /// # Errors
    /// Returns all errors in the expression.
    pub fn evaluate(&self, expression: &Expression) -> Result<Value, Diagnostics> {
        let root = ModuleInstance::root();
        expression.evaluate(&self.evaluator.scope(&root, RepetitionData::None))
    }
}
