//! Executes one run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use wardian_address::{
    InstanceKey, ModuleInstance, ProviderConfigAddress, ResourceInstanceAddress, ResourceMode,
};
use wardian_config::{
    Backend, Configuration, RootVariables, Target, TestCommand, TestFile, TestPlanAddresses, TestPlanMode,
    TestRun, TestValue, variables_for_run,
};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_engine::{
    Action, Console, Coverage, EngineContext, FlushReply, Mode, Plan, PlanOptions, Schemas, StateSink,
    StopSignal, TargetAddress, TestApplied, TestInputs, TestPlanned, TestValues,
};
use wardian_state::{Instance, State};
use wardian_value::{Marks, PathStep, Str, Type, Value};

use crate::assertions;
use crate::events::{RunDetails, RunResult};
use crate::expectations::Expectations;
use crate::generated::Creations;
use crate::host::TestHost;
use crate::mock::MockShared;
use crate::overrides::{RunOverrides, instance_key};
use crate::prepared::{Prepared, PreparedConfigurations, module_key};
use crate::status::TestStatus;
use crate::variables::{self, RunValues};

/// The inputs of a run from its suite and its file.
#[derive(Clone, Copy)]
pub(crate) struct RunInputs<'s, 'a> {
    pub(crate) host: &'s dyn TestHost,
    pub(crate) configurations: &'s PreparedConfigurations,
    pub(crate) file: &'s TestFile,
    pub(crate) run: &'a TestRun,
    /// The key of the run's state.
    pub(crate) state_key: &'s str,
    pub(crate) globals: &'s BTreeMap<Str, TestValue>,
    /// The outputs of earlier runs.
    pub(crate) outputs: &'s BTreeMap<Str, Value>,
    pub(crate) parallelism: usize,
    pub(crate) stop: &'s StopSignal,
    /// Receives the parts of the configuration that the run evaluates.
    pub(crate) coverage: Option<&'s Arc<Coverage>>,
    /// Whether only plans over mocks are executed.
    pub(crate) only_mocks: bool,
    pub(crate) creations: &'s Arc<Creations>,
}

/// A run that was executed.
pub(crate) struct Executed<'a> {
    pub(crate) result: RunResult<'a>,
    /// The state after the run, if it changed.
    pub(crate) state: Option<State>,
    /// How the objects of the state are destroyed; [`None`] if the run ended before its plan.
    pub(crate) setup: Option<Arc<Setup>>,
    /// The outputs to which later runs can refer.
    pub(crate) outputs: Option<Value>,
}

/// A configuration under test with the variables, mocks and overrides of a run.
pub(crate) struct Setup {
    pub(crate) prepared: Arc<Prepared>,
    /// The schemas of all providers of the configuration and of the state.
    pub(crate) schemas: Schemas,
    pub(crate) inputs: Arc<TestInputs>,
    pub(crate) given: BTreeMap<Str, TestValue>,
    pub(crate) run_name: Str,
}

impl Setup {
    /// Returns the engine's inputs for this run.
    pub(crate) fn engine(&self) -> EngineContext {
        let engine = &self.prepared.engine;
        EngineContext {
            configuration: Arc::clone(&engine.configuration),
            providers: Arc::clone(&engine.providers),
            provisioners: Arc::clone(&engine.provisioners),
            events: Arc::clone(&engine.events),
            workspace: engine.workspace.clone(),
            directories: engine.directories.clone(),
            secrets: engine.secrets,
            budget: Arc::clone(&engine.budget),
            accepted: engine.accepted.clone(),
            test: Some(Arc::clone(&self.inputs)),
        }
    }

    /// Whether an apply of the plan changes objects outside of the process.
    pub(crate) fn changes_real_objects(&self, plan: &Plan) -> bool {
        let schemas = &self.schemas;
        plan.changes.iter().any(|change| {
            let provider = &change.provider.provider;
            let Some(real) = schemas.unconfigured(provider) else { return true };
            change.address.mode() == ResourceMode::Managed
                && change.is_effective()
                && !provider.is_built_in()
                && self.inputs.overrides.mocked(&change.provider, real).is_none()
                && self.inputs.overrides.overridden(&change.address, &change.provider, real).is_none()
        })
    }
}

impl<'a> RunInputs<'_, 'a> {
    /// Executes the run on a state.
    pub(crate) async fn execute(self, state: State) -> Executed<'a> {
        let started = SystemTime::now();
        let begun = Instant::now();
        let result = RunResult {
            run: self.run,
            status: TestStatus::Pending,
            diagnostics: Diagnostics::new(),
            failed_assertions: 0,
            started: Some(started),
            elapsed: Duration::ZERO,
            details: None,
        };
        let mut executed = Executed { result, state: None, setup: None, outputs: None };
        let mut found = Diagnostics::new();
        let status = match self.steps(state, &mut executed, &mut found).await {
            Ok(status) => status,
            Err(errors) => {
                found.extend(errors);
                TestStatus::Error
            }
        };
        let context = format!("run \"{}\"", self.run.name);
        executed.result.diagnostics = in_run(found, self.file, &context);
        executed.result.status = status;
        executed.result.elapsed = begun.elapsed();
        executed
    }

    async fn steps(
        &self,
        state: State,
        executed: &mut Executed<'a>,
        found: &mut Diagnostics,
    ) -> Result<TestStatus, Diagnostics> {
        let mut expectations = Expectations::new(&self.run.expect_failures);
        self.run.problems().clone().into_result(())?;
        let (setup, root) = self.set_up(&state, found).await?;
        executed.setup = Some(Arc::clone(&setup));
        let engine = setup.engine();
        let options = self.plan_options()?;
        let Diagnosed { value: planned, diagnostics } = engine
            .plan_for_test(
                &setup.schemas,
                setup.prepared.validated.clone(),
                state.clone(),
                root,
                &options,
                self.stop.clone(),
            )
            .await;
        let is_partial = !options.targets.is_empty();
        if is_partial {
            found.push(targeting("Resource targeting is in effect", "planned"));
        }
        match self.run.command {
            TestCommand::Plan => {
                found.extend(expectations.apply(diagnostics));
                found.extend(expectations.missing());
                let Some(TestPlanned { plan, console }) = planned else { return Ok(TestStatus::Error) };
                executed.outputs = Some(planned_outputs(&plan));
                let status = self.assert(&setup, &console, executed, found);
                executed.result.details = Some(details(&setup, plan, None));
                Ok(status)
            }
            TestCommand::Apply => {
                if diagnostics.has_errors() {
                    found.extend(expected_while_planning(&expectations, &diagnostics));
                    found.extend(diagnostics);
                    return Ok(TestStatus::Error);
                }
                // Checks are evaluated again during the apply.
                found.extend(diagnostics.into_iter().filter(|problem| problem.checked_object.is_none()));
                let Some(TestPlanned { plan, .. }) = planned else { return Ok(TestStatus::Error) };
                let TestApplied { applied, console } =
                    self.recorded().apply(&setup, &engine, &plan, &state).await?;
                found.extend(expectations.apply(applied.diagnostics));
                if is_partial {
                    found.push(targeting("Applied changes may be incomplete", "applied"));
                }
                found.extend(expectations.missing());
                executed.outputs = Some(applied_outputs(&setup, &applied.state));
                let status = match &console {
                    Some(console) => self.assert(&setup, console, executed, found),
                    None if found.has_errors() => TestStatus::Error,
                    None => TestStatus::Pass,
                };
                executed.result.details = Some(details(&setup, plan, Some(applied.state.clone())));
                executed.state = Some(applied.state);
                Ok(status)
            }
        }
    }

    /// Evaluates the assertions, unless the run already failed.
    fn assert(
        &self,
        setup: &Setup,
        console: &Console,
        executed: &mut Executed<'a>,
        found: &mut Diagnostics,
    ) -> TestStatus {
        if found.has_errors() {
            return TestStatus::Error;
        }
        let outputs = executed.outputs.as_ref().and_then(Value::as_mapping);
        let outputs = outputs.map(|outputs| outputs.to_map()).unwrap_or_default();
        let asserted = console.with_test_scope(&setup.inputs.values, &outputs, |scope| {
            assertions::evaluate(&self.run.assertions, scope)
        });
        let failed = asserted.diagnostics.iter().filter(|problem| problem.is_error());
        executed.result.failed_assertions = failed.count();
        found.extend(asserted.diagnostics);
        asserted.status
    }

    /// Returns the errors for values that do not match their variables.
    fn refused(&self, root: &RootVariables) -> Diagnostics {
        let mut refused = Diagnostics::new();
        for (name, found) in &root.refused {
            let is_in_file = !self.run.variables.contains_key(name) && self.file.variables.contains_key(name);
            let found = found.clone();
            refused.extend(if is_in_file { found.in_block("variables") } else { found });
        }
        refused
    }

    /// Returns an error if the run does more than a plan over mocks, and only these are allowed.
    fn check_trust(
        &self,
        configuration: &Configuration,
        overrides: &RunOverrides,
    ) -> Result<(), Diagnostics> {
        if !self.only_mocks {
            return Ok(());
        }
        let mut problems = Diagnostics::new();
        if self.run.command == TestCommand::Apply {
            let detail = "For an untrusted configuration, only runs with `command = plan` are executed.";
            let problem = Diagnostic::error("Apply of an untrusted configuration", detail);
            problems.push(problem.at(self.run.span.clone()));
        }
        let mut real = BTreeSet::new();
        for node in configuration.modules() {
            for resource in node.module.resources.values() {
                let provider = configuration.provider_for(&node.path, resource);
                if !provider.provider.is_built_in() && !overrides.is_mocked(&provider) {
                    real.insert(provider.to_string());
                }
            }
        }
        if !real.is_empty() {
            let real: Vec<String> = real.into_iter().collect();
            let detail = format!(
                "For an untrusted configuration, every provider must be mocked, but there is no mock_provider \
                 for {}.",
                real.join(", ")
            );
            problems.push(Diagnostic::error("Provider not mocked", detail).at(self.run.span.clone()));
        }
        problems.into_result(())
    }

    /// Prepares the configuration, the variables, the mocks and the overrides for a run on a state.
    pub(crate) async fn set_up(
        &self,
        state: &State,
        found: &mut Diagnostics,
    ) -> Result<(Arc<Setup>, RootVariables), Diagnostics> {
        let prepared = self.configurations.get(self.host, self.file, self.run).await?;
        let warnings = self.run.check(prepared.configuration()).into_iter();
        found.extend(warnings.filter(|problem| !problem.is_error()).collect::<Diagnostics>());
        if prepared.validated.has_errors() {
            return Err(prepared.validated.clone());
        }
        let RunValues { given, diagnostics } =
            variables::evaluate(&prepared, self.file, self.run, self.globals, self.outputs)?;
        found.extend(diagnostics);
        let module = &prepared.configuration().root().module;
        let root = variables_for_run(module, &self.run.name, &given)?;
        let refused = self.refused(&root);
        if refused.has_errors() {
            return Err(refused);
        }
        let shared =
            MockShared { creations: Arc::clone(self.creations), accepted: prepared.engine.accepted.clone() };
        let overrides = RunOverrides::new(&prepared.providers, self.file, self.run, shared)?;
        let values = TestValues { variables: variables::values(&given), runs: self.outputs.clone() };
        self.check_trust(prepared.configuration(), &overrides)?;
        let coverage = self.coverage.cloned();
        let inputs = Arc::new(TestInputs { overrides: Arc::new(overrides), values, coverage });
        let schemas = prepared.schemas_for(state).await?;
        let setup = Arc::new(Setup { prepared, schemas, inputs, given, run_name: self.run.name.clone() });
        Ok((setup, root))
    }

    pub(crate) fn recorded(&self) -> RecordedApply<'_> {
        RecordedApply {
            host: self.host,
            file: self.file,
            run: self.run,
            key: self.state_key,
            backend: backend_of(self.file, self.state_key),
            parallelism: self.parallelism,
            stop: self.stop,
        }
    }

    fn plan_options(&self) -> Result<PlanOptions, Diagnostics> {
        let options = &self.run.options;
        let TestPlanAddresses { targets, replace } = options.addresses()?;
        Ok(PlanOptions {
            mode: match options.mode {
                TestPlanMode::Normal => Mode::Normal,
                TestPlanMode::RefreshOnly => Mode::RefreshOnly,
            },
            refresh: options.refresh,
            targets: targets.iter().map(target_address).collect(),
            replace: replace.iter().filter_map(instance_address).collect(),
            parallelism: self.parallelism,
            ..PlanOptions::default()
        })
    }
}

/// Returns the key of the state that a run uses.
pub(crate) fn state_key(run: &TestRun) -> String {
    match &run.state_key {
        Some((key, _)) => key.to_string(),
        None => module_key(run),
    }
}

/// Returns the backend of a state, which one of the runs that use the state declares.
pub(crate) fn backend_of<'a>(file: &'a TestFile, key: &str) -> Option<&'a Backend> {
    let mut runs = file.runs.iter().filter(|run| state_key(run) == key);
    runs.find_map(|run| run.backend.as_ref())
}

/// Applies plans, and records the changes of real objects.
#[derive(Clone, Copy)]
pub(crate) struct RecordedApply<'a> {
    pub(crate) host: &'a dyn TestHost,
    pub(crate) file: &'a TestFile,
    pub(crate) run: &'a TestRun,
    /// The key of the state.
    pub(crate) key: &'a str,
    /// The backend in which the state is stored.
    pub(crate) backend: Option<&'a Backend>,
    pub(crate) parallelism: usize,
    pub(crate) stop: &'a StopSignal,
}

impl RecordedApply<'_> {
    /// Applies a plan to the state `base`.
    ///
    /// # Errors
    /// Returns an error if the changes cannot be recorded. In this case, nothing is applied.
    pub(crate) async fn apply(
        self,
        setup: &Setup,
        engine: &EngineContext,
        plan: &Plan,
        base: &State,
    ) -> Result<TestApplied, Diagnostics> {
        let schemas = &setup.schemas;
        if self.backend.is_none() && !setup.changes_real_objects(plan) {
            let sink = &mut Unrecorded;
            return Ok(engine.apply_for_test(schemas, plan, sink, self.parallelism, self.stop.clone()).await);
        }
        let mut recorder = self.host.begin_apply(self.file, self.run, self.key, self.backend, base).await?;
        let applying =
            engine.apply_for_test(schemas, plan, recorder.sink(), self.parallelism, self.stop.clone());
        let mut tested = applying.await;
        if let Err(problems) = recorder.finish(&tested.applied.state).await {
            tested.applied.diagnostics.extend(problems);
        }
        Ok(tested)
    }
}

/// Records nothing, because nothing outside of the process changes.
struct Unrecorded;

impl StateSink for Unrecorded {
    fn record_intent(&mut self, _address: &ResourceInstanceAddress, _action: &str) {}

    fn record(
        &mut self,
        _address: &ResourceInstanceAddress,
        _provider: &ProviderConfigAddress,
        _instance: Option<&Instance>,
    ) {
    }

    fn commit(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn flush(&mut self, done: FlushReply) {
        done(Ok(()));
    }
}

fn targeting(summary: &str, done: &str) -> Diagnostic {
    let detail = format!("The run has targets, so only a part of the configuration was {done}.");
    Diagnostic::warning(summary, detail)
}

fn details(setup: &Setup, plan: Plan, state: Option<State>) -> RunDetails {
    RunDetails {
        configuration: Arc::clone(setup.prepared.configuration()),
        schemas: setup.schemas.clone(),
        plan,
        state,
    }
}

/// Returns the planned outputs. An output of which only a part is unknown contains nulls instead.
fn planned_outputs(plan: &Plan) -> Value {
    Value::object(plan.outputs.iter().filter(|(_, output)| output.action != Action::Delete).map(
        |(name, output)| {
            let marks = if output.sensitive { Marks::SENSITIVE } else { Marks::NONE };
            (name.clone(), without_nested_unknowns(&output.after).with_marks(marks))
        },
    ))
}

/// Replaces the unknown parts of a value by nulls, unless the whole value is unknown.
fn without_nested_unknowns(value: &Value) -> Value {
    if !value.is_known() {
        return value.clone();
    }
    value.transform(&mut |_, part| if part.is_known() { part } else { Value::null(part.ty().clone()) })
}

/// Returns the outputs in a state. Declared outputs without a value are null.
fn applied_outputs(setup: &Setup, state: &State) -> Value {
    let declared = &setup.prepared.configuration().root().module.outputs;
    Value::object(declared.iter().map(|(name, output)| {
        let marks = if output.sensitive { Marks::SENSITIVE } else { Marks::NONE };
        let value = state.outputs.get(name).map(|output| output.value.clone());
        (name.clone(), value.unwrap_or_else(|| Value::null(Type::Dynamic)).with_marks(marks))
    }))
}

/// Returns a warning for each failure that was expected in the apply, but occurred in its plan.
fn expected_while_planning(expectations: &Expectations, diagnostics: &Diagnostics) -> Diagnostics {
    diagnostics
        .iter()
        .filter_map(|problem| expectations.fulfilled_by(problem))
        .map(|(object, span)| {
            let detail = format!(
                "A condition of {object} failed during the plan, so the plan cannot be applied. The failure was \
                 expected, but the run must apply, so it fails. Execute it with `command = plan`."
            );
            Diagnostic::warning("Expected failure while planning", detail).at(span.clone())
        })
        .collect()
}

/// Adds the run to diagnostics about the test file.
fn in_run(found: Diagnostics, file: &TestFile, context: &str) -> Diagnostics {
    let in_file = |mut problem: Diagnostic| {
        let is_in_file = problem.subject.as_ref().is_some_and(|span| span.file.name() == file.source.name());
        if is_in_file && problem.context.is_none() {
            problem.context = Some(context.to_owned());
        }
        problem
    };
    found.into_iter().map(in_file).collect()
}

fn target_address(target: &Target) -> TargetAddress {
    let resource_key = target.resource.as_ref().and_then(|resource| resource.key.as_ref());
    let is_unkeyed = resource_key.is_none() && target.modules.iter().all(|(_, key)| key.is_none());
    match instance_address(target) {
        Some(instance) if is_unkeyed => TargetAddress::Resource(instance.config()),
        Some(instance) => TargetAddress::Instance(instance),
        None => TargetAddress::Module(module_instance(target)),
    }
}

fn instance_address(target: &Target) -> Option<ResourceInstanceAddress> {
    let resource = target.resource.as_ref()?;
    let address =
        module_instance(target).resource(resource.mode, resource.type_name.clone(), resource.name.clone());
    Some(address.instance(key_or_none(resource.key.as_ref())))
}

fn module_instance(target: &Target) -> ModuleInstance {
    let root = ModuleInstance::root();
    target
        .modules
        .iter()
        .fold(root, |module, (name, step)| module.child(name.clone(), key_or_none(step.as_ref())))
}

fn key_or_none(step: Option<&PathStep>) -> InstanceKey {
    step.and_then(instance_key).unwrap_or(InstanceKey::None)
}
