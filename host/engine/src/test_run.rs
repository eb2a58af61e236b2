//! Plans and applies of a test's runs. They return the values of the run, which assertions refer to.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{ModuleInstance, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::RootVariables;
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_lang::{Expression, Scope};
use wardian_plugin::Provider;
use wardian_state::State;
use wardian_value::{Str, Value};

use crate::context::{Applied, EngineContext, StateSink};
use crate::evaluator::Phase;
use crate::plan::{Plan, PlanOptions};
use crate::plan_walk::{self, Purpose};
use crate::providers::Schemas;
use crate::run::{Console, with_warnings};
use crate::stop::StopSignal;
use crate::test_inputs::TestValues;
use crate::values::RepetitionData;
use crate::{apply_walk, clock};

/// A plan, with the planned values.
pub struct TestPlanned {
    pub plan: Plan,
    pub console: Console,
}

/// The result of an apply, with the new values.
pub struct TestApplied {
    pub applied: Applied,
    /// [`None`] if nothing was evaluated.
    pub console: Option<Console>,
}

impl EngineContext {
    /// Validates the configuration with schemas that are already loaded. The result applies to all
    /// runs of the configuration.
    pub async fn validate_for_test(&self, schemas: &Schemas) -> Diagnostics {
        self.validate_with(schemas).await
    }

    /// Creates a plan. `validated` is the result of [`Self::validate_for_test`]; it contains no
    /// errors.
    pub async fn plan_for_test(
        &self,
        schemas: &Schemas,
        validated: Diagnostics,
        state: State,
        variables: RootVariables,
        options: &PlanOptions,
        stop: StopSignal,
    ) -> Diagnosed<TestPlanned> {
        self.budget.end_with(stop.now_flag());
        let planned = plan_walk::plan(self, schemas, state, variables, options, Purpose::Plan, stop).await;
        with_warnings(validated, planned)
            .map(|(plan, evaluator)| TestPlanned { plan, console: Console { evaluator } })
    }

    /// Applies a plan.
    pub async fn apply_for_test(
        &self,
        schemas: &Schemas,
        plan: &Plan,
        sink: &mut dyn StateSink,
        parallelism: usize,
        stop: StopSignal,
    ) -> TestApplied {
        let (applied, evaluator) = apply_walk::apply(self, schemas, plan, sink, parallelism, stop).await;
        TestApplied { applied, console: evaluator.map(|evaluator| Console { evaluator }) }
    }

    /// Evaluates an expression of a test file that can refer only to test values.
    ///
    /// # Errors
    /// Returns all errors in the expression.
    pub fn evaluate_test_value(
        &self,
        schemas: &Schemas,
        expression: &Expression,
        values: &TestValues,
    ) -> Result<Value, Diagnostics> {
        let evaluator = self.evaluator(schemas, Phase::Apply, clock::now());
        let root = ModuleInstance::root();
        expression.evaluate(&evaluator.scope(&root, RepetitionData::None).with_test_values(values))
    }

    /// Returns the provider that receives the requests for an instance.
    pub(crate) fn provider_for_instance(
        &self,
        address: &ResourceInstanceAddress,
        configuration: &ProviderConfigAddress,
        provider: &Arc<dyn Provider>,
    ) -> Arc<dyn Provider> {
        let test = self.test.as_ref();
        let overridden = test.and_then(|test| test.overrides.overridden(address, configuration, provider));
        overridden.unwrap_or_else(|| Arc::clone(provider))
    }
}

impl Console {
    /// Calls `evaluate` with the scope of a run's assertions: the root module, test values and
    /// outputs.
    pub fn with_test_scope<R>(
        &self,
        values: &TestValues,
        outputs: &BTreeMap<Str, Value>,
        evaluate: impl FnOnce(&dyn Scope) -> R,
    ) -> R {
        let root = ModuleInstance::root();
        let scope = self.evaluator.scope(&root, RepetitionData::None);
        evaluate(&scope.with_test_values(values).with_outputs(outputs))
    }
}
