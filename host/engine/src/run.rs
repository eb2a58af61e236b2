//! The engine's entry points.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wardian_address::{ModuleInstance, ProviderAddress, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::{Configuration, RootVariables};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::Expression;
use wardian_plugin::{ProviderSource, ProvisionerSource, Secrets};
use wardian_state::{Instance, OutputValue, State};
use wardian_value::{Str, Value};

use crate::checks::Checks;
use crate::ephemeral::Expired;
use crate::evaluator::{Environment, Evaluator, Phase};
use crate::events::Events;
use crate::function_results::FunctionResults;
use crate::plan::{ChangeCounts, Plan, PlanOptions};
use crate::plan_walk::Purpose;
use crate::providers::Schemas;
use crate::provisioners::Provisioners;
use crate::stop::StopSignal;
use crate::values::{RepetitionData, Values};
use crate::{apply_walk, clock, import, plan_walk, reference_check, stored, validate};

/// A configuration and all that is needed to plan and apply it.
pub struct Run {
    /// The configuration.
    pub configuration: Arc<Configuration>,
    /// Where providers come from.
    pub providers: Arc<dyn ProviderSource>,
    /// Where provisioners come from.
    pub provisioners: Arc<dyn ProvisionerSource>,
    /// Who hears what happens.
    pub events: Arc<dyn Events>,
    /// `terraform.workspace`
    pub workspace: Str,
    /// Where it takes place.
    pub environment: Environment,
}

/// Makes finished changes durable before anything relies on them.
pub trait StateSink: Send {
    /// A provider is about to be asked to `create`, `update` or `delete` an instance;
    /// what comes of it is recorded next.
    ///
    /// # Errors
    /// Why it could not be noted; it is not begun then.
    fn intend(&mut self, address: &ResourceInstanceAddress, action: &str) -> Result<(), String>;

    /// An instance is now so; `None` where it is gone.
    ///
    /// # Errors
    /// Why it could not be recorded; the run then ends in order.
    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) -> Result<(), String>;
}

/// Which object is imported at once, and what it becomes.
#[derive(Clone, Debug)]
pub struct ImportOrder {
    /// The instance that it becomes.
    pub address: ResourceInstanceAddress,
    /// The provider's name for it.
    pub id: String,
}

/// What an apply came to.
#[derive(Debug)]
pub struct Applied {
    /// The state as it is now, also after errors.
    pub state: State,
    /// What was done.
    pub counts: ChangeCounts,
    /// What there is to say; with errors, not all was done.
    pub diagnostics: Diagnostics,
    /// Whether the run was stopped before it was through.
    pub stopped: bool,
}

impl Run {
    /// The schemas of all providers of the configuration and the state, and of all
    /// provisioners of the configuration.
    ///
    /// # Errors
    /// One that cannot be had, or does not tell its schema.
    pub async fn schemas(&self, state: Option<&State>) -> Result<Schemas, Diagnostics> {
        let mut addresses: BTreeSet<ProviderAddress> =
            self.configuration.provider_requirements().into_keys().collect();
        if let Some(state) = state {
            addresses.extend(state.resources().map(|(_, resource)| resource.provider.provider.clone()));
        }
        let secrets = Secrets::default();
        let provisioners = Provisioners::load(&*self.provisioners, &self.configuration, &secrets).await?;
        Ok(Schemas::load(&*self.providers, addresses, secrets).await?.with_provisioners(provisioners))
    }

    /// Whether the configuration is valid, whatever variables and state.
    pub async fn validate(&self) -> Diagnostics {
        match self.schemas(None).await {
            Ok(schemas) => {
                let diagnostics = self.validate_with(&schemas).await;
                schemas.close().await;
                diagnostics
            }
            Err(found) => self.undeclared_and(found),
        }
    }

    async fn validate_with(&self, schemas: &Schemas) -> Diagnostics {
        let (mut diagnostics, told) = reference_check::check(&self.configuration, schemas);
        diagnostics.extend(validate::validate(self, schemas, told).await);
        // Most of it was found again by evaluation.
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

    /// What a run cannot begin with, where schemas could not be had either.
    fn undeclared_and(&self, found: Diagnostics) -> Diagnostics {
        let mut problems = self.configuration.check_references();
        problems.extend(self.configuration.check_expressions());
        problems.extend(found);
        problems
    }

    /// Plans. The plan is there also after errors, as far as it came, and says so;
    /// it is not where planning could not begin, nor where the configuration is not
    /// valid, whatever variables and state.
    pub async fn plan(
        &self,
        state: State,
        variables: RootVariables,
        options: &PlanOptions,
        stop: StopSignal,
    ) -> (Option<Plan>, Diagnostics) {
        let (planned, diagnostics) = self.plan_with_values(state, variables, options, stop).await;
        (planned.map(|(plan, _)| plan), diagnostics)
    }

    /// A console in the root module, with the values that a plan leads to.
    pub async fn console_of_plan(
        &self,
        state: State,
        variables: RootVariables,
        options: &PlanOptions,
        stop: StopSignal,
    ) -> (Option<Console>, Diagnostics) {
        let (planned, diagnostics) = self.plan_with_values(state, variables, options, stop).await;
        (planned.map(|(_, evaluator)| Console { evaluator }), diagnostics)
    }

    async fn plan_with_values(
        &self,
        state: State,
        variables: RootVariables,
        options: &PlanOptions,
        stop: StopSignal,
    ) -> (Option<(Plan, Evaluator)>, Diagnostics) {
        match self.schemas(Some(&state)).await {
            Ok(schemas) => {
                // Costs what the configuration's text does, whatever the instances: nothing
                // is read, and no progress told, where the configuration is not valid.
                let problems = self.validate_with(&schemas).await;
                let planned = if problems.has_errors() {
                    (None, problems)
                } else {
                    plan_walk::plan(self, &schemas, state, variables, options, Purpose::Plan, stop).await
                };
                schemas.close().await;
                planned
            }
            Err(found) => (None, self.undeclared_and(found)),
        }
    }

    /// Imports an object at once: the state with it, and with what data sources and
    /// outputs have become. `None` after errors: then nothing is imported.
    pub async fn import(
        &self,
        state: State,
        variables: RootVariables,
        order: &ImportOrder,
        parallelism: usize,
        stop: StopSignal,
    ) -> (Option<State>, Diagnostics) {
        let schemas = match self.schemas(Some(&state)).await {
            Ok(schemas) => schemas,
            Err(found) => return (None, self.undeclared_and(found)),
        };
        let (mut problems, _) = reference_check::check(&self.configuration, &schemas);
        problems.extend(self.configuration.check_expressions());
        if problems.has_errors() {
            schemas.close().await;
            return (None, problems);
        }
        let options = PlanOptions { parallelism, ..PlanOptions::default() };
        let purpose = Purpose::Import(order);
        let (walked, mut diagnostics) =
            plan_walk::plan(self, &schemas, state, variables, &options, purpose, stop).await;
        schemas.close().await;
        let Some((plan, _)) = walked.filter(|_| !diagnostics.has_errors()) else {
            return (None, diagnostics);
        };
        if plan.prior_state.current(&order.address).is_none() {
            diagnostics.push(import::check::no_instance(&order.address));
            return (None, diagnostics);
        }
        let mut state = plan.prior_state;
        for (name, output) in plan.outputs {
            // What cannot be told without an apply stays as it was.
            if output.after.is_wholly_known() && !output.after.is_null() {
                state.outputs.insert(name, OutputValue { value: output.after, sensitive: output.sensitive });
            }
        }
        (Some(state), diagnostics)
    }

    /// Carries out a plan.
    pub async fn apply(
        &self,
        plan: &Plan,
        sink: &mut dyn StateSink,
        parallelism: usize,
        stop: StopSignal,
    ) -> Applied {
        match self.schemas(Some(&plan.prior_state)).await {
            Ok(schemas) => {
                let applied = apply_walk::apply(self, &schemas, plan, sink, parallelism, stop).await;
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

    /// A console in the root module, with values from the state.
    ///
    /// # Errors
    /// A provider that cannot be had, or a configuration with a cycle.
    pub async fn console(
        &self,
        state: State,
        variables: BTreeMap<Str, Value>,
    ) -> Result<Console, Diagnostics> {
        let schemas = self.schemas(Some(&state)).await?;
        let mut evaluator = self.evaluator(&schemas, Phase::Plan, clock::now());
        let graph = crate::nodes::build(&self.configuration)?;
        stored::evaluate_all(&mut evaluator, &graph, &state, variables);
        // Nothing is created from a console, so that nothing has to stay unknown.
        evaluator.phase = Phase::Apply;
        Ok(Console { evaluator })
    }

    pub(crate) fn evaluator(&self, schemas: &Schemas, phase: Phase, timestamp: String) -> Evaluator {
        Evaluator {
            configuration: Arc::clone(&self.configuration),
            schemas: schemas.clone(),
            values: Values::default(),
            phase,
            workspace: self.workspace.clone(),
            environment: Arc::new(self.environment.clone()),
            timestamp,
            told: Arc::default(),
            checks: Checks::of(&self.configuration),
            expired: Expired::default(),
            function_results: FunctionResults::default(),
        }
    }
}

/// Evaluates expressions in the root module.
pub struct Console {
    evaluator: Evaluator,
}

impl Console {
    /// The value of an expression.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn evaluate(&self, expression: &Expression) -> Result<Value, Diagnostics> {
        let root = ModuleInstance::root();
        expression.evaluate(&self.evaluator.scope(&root, RepetitionData::None))
    }
}

/// An error that says that the run was stopped.
pub(crate) fn stopped() -> Diagnostic {
    Diagnostic::error("Execution halted", "The run was stopped before it was through. What was done is kept.")
}
