//! Executes the steps of a test, and the final destroy.

mod expectations;
mod import;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::{
    InstalledModules, MemoryFiles, QueryFiles, RootVariables, VariableInputs, VariableSource,
    load_root_with_queries, root_variables,
};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, SourceFile, did_you_mean};
use wardian_engine::{
    Action, Directories, EngineContext, FlushReply, Mode, ObjectSecrets, Plan, PlanOptions, QueriedList,
    QueryOptions, ResourceChange, StateSink, StopSignal,
};
use wardian_plugin::NoProvisioners;
use wardian_state::{Instance, State};
use wardian_value::Str;

use crate::acceptance_test::AcceptanceTest;
use crate::failure::{Failure, diagnostics_text};
use crate::provider_source::TestedProviders;
use crate::run_events::RunEvents;
use crate::step::{Step, StepKind};
use crate::tested_state::TestedState;
use wardian_sdk::testing::value_path::differences;

/// The name of the query file of a step.
const QUERY_FILE: &str = "query.tfquery.hcl";

/// Maximum number of concurrent operations of the engine.
const PARALLELISM: usize = 10;

/// The failure of a step, without its place.
struct StepFailure {
    summary: String,
    detail: String,
}

impl StepFailure {
    fn new(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { summary: summary.into(), detail: detail.into() }
    }
}

/// The files and the variables of a step.
#[derive(Clone)]
struct Loaded {
    files: Vec<(String, String)>,
    variables: serde_json::Map<String, serde_json::Value>,
}

/// The execution of a test.
pub(crate) struct Run<'t> {
    test: &'t AcceptanceTest,
    source: Arc<TestedProviders>,
    state: State,
    /// The state as checks read it.
    tested: TestedState,
    /// The newest state that contained objects.
    last_objects: TestedState,
    /// The events of the current step.
    events: Arc<RunEvents>,
    /// The configuration of the current step.
    loaded: Option<Loaded>,
    /// The configuration of the last apply, with which the objects are destroyed.
    applied: Option<Loaded>,
}

/// The result of a plan or an apply.
struct Outcome {
    /// The plan, unless it has errors.
    plan: Option<Plan>,
    /// The results of a query.
    found: Vec<QueriedList>,
    diagnostics: Diagnostics,
}

impl Outcome {
    fn failed(diagnostics: Diagnostics) -> Self {
        Self { plan: None, found: Vec::new(), diagnostics }
    }
}

impl<'t> Run<'t> {
    pub(crate) fn new(test: &'t AcceptanceTest, source: Arc<TestedProviders>) -> Self {
        Self {
            test,
            source,
            state: State::with_new_lineage(),
            tested: TestedState::default(),
            last_objects: TestedState::default(),
            events: Arc::default(),
            loaded: None,
            applied: None,
        }
    }

    /// Executes the steps until one fails, and then destroys all objects. Returns the failures.
    pub(crate) async fn execute(mut self) -> Vec<Failure> {
        let mut failures = Vec::new();
        let steps = &self.test.steps;
        for (number, step) in (1..).zip(steps) {
            if let Err(StepFailure { summary, detail }) = self.step(number, step).await {
                let place = format!("step {number} of {} ({}, {})", steps.len(), step.kind, step.location);
                failures.push(Failure::new(place, summary, detail));
                break;
            }
        }
        if let Err(StepFailure { summary, detail }) = self.destroy_all().await {
            failures.push(Failure::new("the final destroy", summary, detail));
        }
        failures
    }

    async fn step(&mut self, number: usize, step: &Step) -> Result<(), StepFailure> {
        expectations::check(step)?;
        if let Some(before) = &step.before {
            guarded(|| {
                before();
                Ok(())
            })
            .map_err(|problem| StepFailure::new("the function before the step failed", problem))?;
        }
        let loaded = self.configuration(number, step)?;
        let before = self.tested.clone();
        let outcome = match &step.kind {
            StepKind::Import(import) => self.import(&loaded, import).await?,
            StepKind::Query(lists) => self.query(&loaded, lists).await,
            StepKind::Invoke(address) => self.invoke(&loaded, address, step).await?,
            StepKind::Apply => self.command(&loaded, Mode::Normal, step).await,
            StepKind::Plan => self.plan(&loaded, None, self.state.clone(), &PlanOptions::default()).await,
            StepKind::Refresh => self.command(&loaded, Mode::RefreshOnly, step).await,
            StepKind::Destroy => self.command(&loaded, Mode::Destroy, step).await,
        };
        let messages = self.events.take();
        if let Some(plan) = &outcome.plan {
            checked(step.plan_checks.iter().map(|check| check.run(plan)), "the plan is not as expected")?;
        }
        let diagnostics = &outcome.diagnostics;
        expectations::compare(step, diagnostics)?;
        let progress = step.expected_progress.iter().map(|expected| expected.run(&messages));
        checked(progress, "an action is not as expected")?;
        let query_checks = step.query_checks.iter().map(|check| check.run(&outcome.found));
        checked(query_checks, "the result of the query is not as expected")?;
        self.read_tested(&loaded).await?;
        let state_checks = step.state_checks.iter().map(|check| guarded(|| check.run(&self.tested, &before)));
        checked(state_checks, "the state is not as expected")?;
        if matches!(step.kind, StepKind::Apply) && step.is_idempotent && !diagnostics.has_errors() {
            self.check_idempotence(&loaded).await?;
        }
        Ok(())
    }

    /// Returns the configuration of the step, and retains it for later steps.
    fn configuration(&mut self, number: usize, step: &Step) -> Result<Loaded, StepFailure> {
        let variables = step.variables.iter().cloned().collect();
        let loaded = match (&step.configuration, self.loaded.take()) {
            (Some(text), _) => {
                let root = (format!("step{number}.tf"), text.clone());
                let files = std::iter::once(root).chain(step.files.iter().cloned()).collect();
                Loaded { files, variables }
            }
            (None, Some(loaded)) if step.variables.is_empty() => loaded,
            (None, Some(loaded)) => Loaded { variables, ..loaded },
            (None, None) => {
                return Err(StepFailure::new(
                    "there is no configuration",
                    "This step uses the configuration of the step before; the first step must be \
                     Step::apply or Step::plan.",
                ));
            }
        };
        self.loaded = Some(loaded.clone());
        Ok(loaded)
    }

    /// Plans and applies.
    async fn command(&mut self, loaded: &Loaded, mode: Mode, step: &Step) -> Outcome {
        let options = PlanOptions { mode, ..PlanOptions::default() };
        self.plan_and_apply(loaded, &options, step).await
    }

    /// Plans and applies. A plan that fails a check is not applied.
    async fn plan_and_apply(&mut self, loaded: &Loaded, options: &PlanOptions, step: &Step) -> Outcome {
        let mut outcome = self.plan(loaded, None, self.state.clone(), options).await;
        let is_as_expected = |plan: &Plan| step.plan_checks.iter().all(|check| check.run(plan).is_ok());
        if let Some(plan) = &outcome.plan
            && is_as_expected(plan)
        {
            outcome.diagnostics.extend(self.apply(loaded, plan).await);
        }
        outcome
    }

    /// Invokes an action.
    async fn invoke(&mut self, loaded: &Loaded, address: &str, step: &Step) -> Result<Outcome, StepFailure> {
        let parsed = address.parse().map_err(|error| {
            StepFailure::new("the address of the action is not valid", format!("{address:?}: {error}"))
        })?;
        let options = PlanOptions { invoke: vec![parsed], ..PlanOptions::default() };
        Ok(self.plan_and_apply(loaded, &options, step).await)
    }

    /// Runs the lists of a query file.
    async fn query(&self, loaded: &Loaded, lists: &str) -> Outcome {
        let (engine, variables, mut diagnostics) = match self.engine(loaded, Some((QUERY_FILE, lists))) {
            Ok(loaded) => loaded,
            Err(diagnostics) => return Outcome::failed(diagnostics),
        };
        let options = QueryOptions { generate: false, parallelism: PARALLELISM };
        let Diagnosed { value, diagnostics: found } =
            engine.query(variables, options, StopSignal::never()).await;
        diagnostics.extend(found);
        Outcome { plan: None, found: value.unwrap_or_default(), diagnostics }
    }

    /// Plans a configuration and an additional text, such as an `import` block.
    async fn plan(
        &self,
        loaded: &Loaded,
        addition: Option<(&str, &str)>,
        state: State,
        options: &PlanOptions,
    ) -> Outcome {
        let (engine, variables, mut diagnostics) = match self.engine(loaded, addition) {
            Ok(loaded) => loaded,
            Err(diagnostics) => return Outcome::failed(diagnostics),
        };
        let Diagnosed { value, diagnostics: found } =
            engine.plan(state, variables, options, StopSignal::never()).await;
        diagnostics.extend(found);
        let plan = value.filter(|_| !diagnostics.has_errors());
        Outcome { plan, found: Vec::new(), diagnostics }
    }

    /// Applies a plan, and stores the new state, also after errors.
    async fn apply(&mut self, loaded: &Loaded, plan: &Plan) -> Diagnostics {
        let engine = match self.engine(loaded, None) {
            Ok((engine, _, _)) => engine,
            Err(diagnostics) => return diagnostics,
        };
        self.applied = Some(loaded.clone());
        let applied = engine.apply(plan, &mut MemorySink, PARALLELISM, StopSignal::never()).await;
        self.state = applied.state;
        applied.diagnostics
    }

    /// Returns the engine for a configuration, the values of variables, and warnings.
    fn engine(
        &self,
        loaded: &Loaded,
        addition: Option<(&str, &str)>,
    ) -> Result<(EngineContext, RootVariables, Diagnostics), Diagnostics> {
        let files = loaded.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).chain(addition);
        let files = MemoryFiles::new(files);
        let none = InstalledModules::default();
        let loaded_root = load_root_with_queries(&files, Path::new(""), &none, QueryFiles::Included);
        let configuration = Arc::new(loaded_root.into_result()?);
        let module = &configuration.root().module;
        if let Some(name) = loaded.variables.keys().find(|name| !module.variables.contains_key(name.as_str()))
        {
            let hint = did_you_mean(name, module.variables.keys().map(|known| known.as_str()));
            let detail = format!(
                "The step sets the variable {name:?}, which its configuration does not declare.{hint}"
            );
            return Err(Diagnostic::error("Value for undeclared variable", detail).into());
        }
        let variables = serde_json::Value::from(loaded.variables.clone()).to_string();
        let given = SourceFile::new("variables.tfvars.json", variables);
        let inputs =
            VariableInputs { arguments: vec![VariableSource::File(given)], ..VariableInputs::default() };
        let (variables, warnings) = root_variables(module, &inputs)?;
        let engine = EngineContext {
            configuration,
            providers: Arc::clone(&self.source) as _,
            provisioners: Arc::new(NoProvisioners),
            events: Arc::clone(&self.events) as _,
            workspace: Str::new("default"),
            directories: Directories::default(),
            secrets: ObjectSecrets::Available,
            budget: Arc::default(),
            accepted: None,
            test: None,
        };
        Ok((engine, variables, warnings))
    }

    /// Decodes the state for checks.
    async fn read_tested(&mut self, loaded: &Loaded) -> Result<(), StepFailure> {
        if self.state.is_empty() {
            self.tested = TestedState::default();
            return Ok(());
        }
        let unreadable =
            |found: Diagnostics| StepFailure::new("the state cannot be read", diagnostics_text(&found));
        let (engine, _, _) =
            self.engine(self.applied.as_ref().unwrap_or(loaded), None).map_err(unreadable)?;
        let schemas = engine.schemas(Some(&self.state)).await.map_err(unreadable)?;
        self.tested = TestedState::new(&self.state, &schemas, &self.source.environment.identities);
        schemas.close().await;
        if self.tested.managed().next().is_some() {
            self.last_objects = self.tested.clone();
        }
        Ok(())
    }

    /// Plans the applied configuration again. The plan must be empty.
    async fn check_idempotence(&self, loaded: &Loaded) -> Result<(), StepFailure> {
        let Outcome { plan, diagnostics, .. } =
            self.plan(loaded, None, self.state.clone(), &PlanOptions::default()).await;
        if diagnostics.has_errors() {
            let detail = diagnostics_text(&diagnostics);
            return Err(StepFailure::new("the plan after the apply has an error", detail));
        }
        match plan {
            Some(plan) if plan.has_changes() => Err(StepFailure::new(
                "the plan after the apply is not empty",
                format!(
                    "{}\n\nThe provider returned an object that differs from its configuration, or reads it \
                     differently. If this is intended, use Step::without_idempotence_check.",
                    changes_text(&plan)
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Destroys all objects that exist after the last step, and checks that none remains.
    async fn destroy_all(&mut self) -> Result<(), StepFailure> {
        if let Some(loaded) = self.applied.clone() {
            let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
            let Outcome { plan, mut diagnostics, .. } =
                self.plan(&loaded, None, self.state.clone(), &options).await;
            if let Some(plan) = plan {
                diagnostics.extend(self.apply(&loaded, &plan).await);
            }
            self.read_tested(&loaded).await?;
            let left = self.tested.with_ids();
            if diagnostics.has_errors() || !left.is_empty() {
                let left = if left.is_empty() { "none".to_owned() } else { left.join("\n  ") };
                let errors: Diagnostics = diagnostics.into_iter().filter(|one| one.is_error()).collect();
                let detail =
                    format!("{}\n\nObjects that may still exist:\n  {left}", diagnostics_text(&errors));
                return Err(StepFailure::new("objects could not be destroyed", detail));
            }
        }
        let Some(check) = &self.test.destroy_check else { return Ok(()) };
        guarded(|| check(&self.last_objects))
            .map_err(|problem| StepFailure::new("an object still exists at the service", problem))
    }
}

/// Returns the changes of a plan, one object a paragraph.
fn changes_text(plan: &Plan) -> String {
    let changes = plan.changes.iter().filter(|change| change.is_effective()).map(change_text);
    let outputs = plan.outputs.iter().filter(|(_, output)| output.action != Action::NoOp);
    let outputs = outputs.map(|(name, _)| format!("the output {name} changes"));
    changes.chain(outputs).collect::<Vec<_>>().join("\n")
}

fn change_text(change: &ResourceChange) -> String {
    let action = match change.action {
        Action::NoOp => "is unchanged",
        Action::Create => "is created",
        Action::Read => "is read",
        Action::Update => "is updated",
        Action::Delete => "is destroyed",
        Action::DeleteThenCreate | Action::CreateThenDelete => "is replaced",
        Action::Forget => "is forgotten",
    };
    let mut text = format!("{} {action}", change.address);
    if !change.before.is_null() && !change.after.is_null() {
        for difference in differences(&change.before, &change.after) {
            text.push_str("\n  ");
            text.push_str(&difference);
        }
    }
    text
}

/// Returns all errors of checks as one failure.
fn checked(results: impl Iterator<Item = Result<(), String>>, summary: &str) -> Result<(), StepFailure> {
    let problems: Vec<String> = results.filter_map(Result::err).collect();
    if problems.is_empty() { Ok(()) } else { Err(StepFailure::new(summary, problems.join("\n"))) }
}

/// Calls a function of the test. A panic is an error, because the objects must still be destroyed.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panic_message(&*panic)))
}

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the panic has no message").to_owned()
}

/// Records nothing: the state of a test is only in memory.
struct MemorySink;

impl StateSink for MemorySink {
    fn record_intent(&mut self, _: &ResourceInstanceAddress, _: &str) {}

    fn record(&mut self, _: &ResourceInstanceAddress, _: &ProviderConfigAddress, _: Option<&Instance>) {}

    fn commit(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn flush(&mut self, done: FlushReply) {
        done(Ok(()));
    }
}
