//! Runs configurations, given as text, on a state that persists between runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::{MemoryFiles, load_root_from};
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_engine::{
    Action, Applied, Directories, EngineContext, Event, Events, FlushReply, Mode, ObjectSecrets, Plan,
    PlanOptions, ResourceChange, StateSink, StopSignal,
};
use wardian_state::{Instance, State};
use wardian_value::{Str, Value};

use crate::provider::{MemorySource, Twist, World};
use crate::provisioner::MemoryProvisioners;

const REQUIRED: &str = r#"
terraform {
  required_providers {
    memory = { source = "example.com/test/memory" }
  }
}
"#;

/// A state, and the objects of the memory provider.
pub struct Fixture {
    pub world: Arc<World>,
    pub state: State,
    /// Whether expressions and plans contain the sensitive values of objects.
    pub secrets: ObjectSecrets,
    /// The events of provisioners and runs.
    pub event_log: Arc<EventLog>,
    runtime: tokio::runtime::Runtime,
}

/// The events of changes and provisioners, in order.
#[derive(Default)]
pub struct EventLog(pub Mutex<Vec<String>>);

impl Events for EventLog {
    fn event(&self, event: &Event<'_>) {
        let line = match event {
            Event::Started { address, action, .. } => format!("{address} begins: {action:?}"),
            Event::Completed { address, action, .. } => format!("{address} done: {action:?}"),
            Event::Failed { address, action, .. } => format!("{address} failed: {action:?}"),
            Event::ProvisionStarted { address, provisioner } => format!("{address} {provisioner} begins"),
            Event::ProvisionOutput { address, provisioner, text } => {
                format!("{address} {provisioner} shows: {text}")
            }
            Event::ProvisionCompleted { address, provisioner } => format!("{address} {provisioner} done"),
            Event::ActionStarted { address, .. } => format!("{address} begins"),
            Event::ActionProgress { address, message, .. } => format!("{address} shows: {message}"),
            Event::ActionCompleted { address, .. } => format!("{address} done"),
            Event::ActionFailed { address, error, .. } => format!("{address} failed: {error}"),
            Event::ProvisionFailed { address, provisioner } => format!("{address} {provisioner} failed"),
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

/// The recorded changes and intents, in order.
#[derive(Debug, Default)]
pub struct Recorded(pub Vec<String>, pub Vec<String>);

impl StateSink for Recorded {
    fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str) {
        self.1.push(format!("{action} {address}"));
    }

    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        _provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) {
        let what = match instance {
            None => "gone",
            Some(instance) if instance.deposed.is_empty() => "here",
            Some(instance) if instance.current.is_none() => "deposed",
            Some(_) => "here, and deposed",
        };
        self.0.push(format!("{address} {what}"));
    }

    fn commit(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn flush(&mut self, done: FlushReply) {
        done(Ok(()));
    }
}

impl Fixture {
    pub fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Self {
            world: Arc::default(),
            state: State::with_new_lineage(),
            secrets: ObjectSecrets::Available,
            event_log: Arc::default(),
            runtime: runtime.expect("a runtime"),
        }
    }

    pub fn run_with_modules(
        &self,
        configuration: &str,
        modules: &[(&str, &str)],
    ) -> Result<EngineContext, Diagnostics> {
        let root = ("main.tf".to_owned(), configuration.as_bytes().to_vec());
        let required = ("versions.tf".to_owned(), REQUIRED.as_bytes().to_vec());
        let called = modules.iter().flat_map(|(directory, text)| {
            [
                (format!("{directory}/main.tf"), text.as_bytes().to_vec()),
                (format!("{directory}/versions.tf"), REQUIRED.as_bytes().to_vec()),
            ]
        });
        let required = (!configuration.contains("required_providers")).then_some(required);
        let files = MemoryFiles::new([root].into_iter().chain(required).chain(called));
        let configuration = load_root_from(&files, std::path::Path::new(""))?;
        Ok(EngineContext {
            configuration: Arc::new(configuration),
            providers: Arc::new(MemorySource(Arc::clone(&self.world))),
            provisioners: Arc::new(MemoryProvisioners {
                world: Arc::clone(&self.world),
                stopped: Arc::default(),
            }),
            events: Arc::clone(&self.event_log) as Arc<dyn Events>,
            workspace: Str::new("default"),
            directories: Directories::default(),
            secrets: self.secrets,
            budget: Arc::default(),
            test: None,
            accepted: None,
        })
    }

    /// Runs a future to completion.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub fn plan_with(
        &self,
        configuration: &str,
        modules: &[(&str, &str)],
        options: &PlanOptions,
    ) -> (Option<Plan>, Diagnostics) {
        self.plan_given(configuration, modules, BTreeMap::new(), options)
    }

    /// Creates a plan with root variable values.
    pub fn plan_given(
        &self,
        configuration: &str,
        modules: &[(&str, &str)],
        variables: BTreeMap<Str, Value>,
        options: &PlanOptions,
    ) -> (Option<Plan>, Diagnostics) {
        match self.run_with_modules(configuration, modules) {
            Ok(run) => {
                let never = StopSignal::never();
                let plan = run.plan(self.state.clone(), variables.into(), options, never);
                let Diagnosed { value: plan, diagnostics } = self.runtime.block_on(plan);
                (plan, diagnostics)
            }
            Err(diagnostics) => (None, diagnostics),
        }
    }

    /// Returns the plan of a configuration without errors.
    pub fn plan(&self, configuration: &str) -> Plan {
        let (plan, diagnostics) = self.plan_with(configuration, &[], &PlanOptions::default());
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        plan.expect("a plan")
    }

    pub fn plan_errors(&self, configuration: &str) -> String {
        let (_, diagnostics) = self.plan_with(configuration, &[], &PlanOptions::default());
        assert!(diagnostics.has_errors(), "nothing is wrong");
        diagnostics.to_string()
    }

    pub fn validate(&self, configuration: &str) -> Diagnostics {
        self.validate_with(configuration, &[])
    }

    pub fn validate_with(&self, configuration: &str, modules: &[(&str, &str)]) -> Diagnostics {
        match self.run_with_modules(configuration, modules) {
            Ok(run) => self.runtime.block_on(run.validate()),
            Err(diagnostics) => diagnostics,
        }
    }

    /// Creates a plan and applies it. The state is stored even after errors.
    pub fn apply_with(
        &mut self,
        configuration: &str,
        modules: &[(&str, &str)],
        options: &PlanOptions,
    ) -> (Applied, Vec<String>) {
        let (plan, diagnostics) = self.plan_with(configuration, modules, options);
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        let plan = plan.expect("a plan");
        let run = self.run_with_modules(configuration, modules).expect("a configuration");
        let mut recorded = Recorded::default();
        let applied =
            self.runtime.block_on(run.apply(&plan, &mut recorded, options.parallelism, StopSignal::never()));
        self.state = applied.state.clone();
        // An intent must have been recorded for every call that changes a managed object.
        let asks =
            |change: &&ResourceChange| !matches!(change.action, Action::NoOp | Action::Read | Action::Forget);
        let asked: Vec<String> = plan.changes.iter().filter(asks).map(|c| c.address.to_string()).collect();
        let announced = |line: &String| {
            let address = line.split(' ').next().unwrap_or_default();
            let is_asked = asked.iter().any(|asked| asked == address);
            !is_asked || recorded.1.iter().any(|intent| intent.ends_with(address))
        };
        assert!(recorded.0.iter().all(announced), "{recorded:?}");
        (applied, recorded.0)
    }

    /// Applies a plan. The state is stored even after errors.
    pub fn apply_plan(&mut self, configuration: &str, plan: &Plan) -> Applied {
        let run = self.run_with_modules(configuration, &[]).expect("a configuration");
        let mut recorded = Recorded::default();
        let applied = self.runtime.block_on(run.apply(plan, &mut recorded, 10, StopSignal::never()));
        self.state = applied.state.clone();
        applied
    }

    /// Changes the provider's responses.
    pub fn twist(&self, change: impl FnOnce(&mut Twist)) {
        change(&mut self.world.twist.lock().unwrap());
    }

    pub fn configuration(&self, configuration: &str) -> Arc<wardian_config::Configuration> {
        self.run_with_modules(configuration, &[]).expect("a configuration").configuration
    }

    /// Applies a configuration without errors.
    pub fn apply(&mut self, configuration: &str) -> Vec<String> {
        let (applied, recorded) = self.apply_with(configuration, &[], &PlanOptions::default());
        assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
        recorded
    }

    /// Applies a configuration with errors and returns them.
    pub fn apply_errors(&mut self, configuration: &str) -> String {
        let (applied, _) = self.apply_with(configuration, &[], &PlanOptions::default());
        assert!(applied.diagnostics.has_errors(), "nothing went wrong");
        applied.diagnostics.to_string()
    }

    pub fn destroy(&mut self, configuration: &str) -> Applied {
        let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
        self.apply_with(configuration, &[], &options).0
    }
}

/// Returns the addresses and actions of all effective changes.
pub fn actions(plan: &Plan) -> Vec<(String, Action)> {
    plan.changes.iter().filter(|c| c.is_effective()).map(|c| (c.address.to_string(), c.action)).collect()
}

pub fn addresses(state: &State) -> Vec<String> {
    state.instances().map(|(address, _, _)| address.to_string()).collect()
}
