//! The context of the engine's operations: their inputs and results.

use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::Configuration;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::Budget;
use wardian_plugin::{ProviderSource, ProvisionerSource};
use wardian_state::{Instance, State};
use wardian_value::Str;

use crate::checks::Checks;
use crate::evaluator::{Directories, Evaluator, Phase};
use crate::events::Events;
use crate::expired::Expired;
use crate::function_results::FunctionResults;
use crate::object_secrets::ObjectSecrets;
use crate::plan::ChangeCounts;
use crate::providers::Schemas;
use crate::test_inputs::{AcceptedConfigurations, TestInputs};
use crate::values::Values;

/// A configuration, and everything else that is required to plan and apply it.
pub struct EngineContext {
    pub configuration: Arc<Configuration>,
    pub providers: Arc<dyn ProviderSource>,
    pub provisioners: Arc<dyn ProvisionerSource>,
    pub events: Arc<dyn Events>,
    /// `terraform.workspace`
    pub workspace: Str,
    pub directories: Directories,
    /// Whether expressions and plans contain the sensitive values of objects.
    pub secrets: ObjectSecrets,
    /// The budget that limits the values that evaluations produce.
    pub budget: Arc<Budget>,
    /// The configurations that providers have accepted earlier. With [`None`], every configuration is
    /// validated by its provider.
    pub accepted: Option<Arc<dyn AcceptedConfigurations>>,
    /// The inputs of a test's run; [`None`] outside of tests.
    pub test: Option<Arc<TestInputs>>,
}

/// Makes finished changes durable before the operations that depend on them start. Records are
/// collected until [`Self::commit`] makes all of them durable at once.
pub trait StateSink: Send {
    /// Records that an instance is about to be created, updated or deleted (`action`); the next call
    /// of [`Self::record`] contains the result. The record must be committed before the provider
    /// receives the request.
    fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str);

    /// Records the new value of an instance; `None` if it was destroyed.
    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    );

    /// Makes the records durable: they survive the end of this process. Their cost is much lower if many
    /// of them are committed together.
    ///
    /// # Errors
    /// Returns the reason why the records are lost. In this case, the recorded changes are not
    /// made, and the run stops gracefully.
    fn commit(&mut self) -> Result<(), String>;

    /// Calls `done` when the committed records survive a power failure, without waiting for it.
    fn flush(&mut self, done: FlushReply);
}

/// Receives the result of a flush: the reason why records may not survive a power failure.
pub type FlushReply = Box<dyn FnOnce(Result<(), String>) + Send>;

/// An object that is imported immediately, without an `import` block.
#[derive(Clone, Debug)]
pub struct DirectImport {
    /// The resource instance for the object.
    pub address: ResourceInstanceAddress,
    /// The provider's ID of the object.
    pub id: String,
}

/// The result of an apply.
#[derive(Debug)]
pub struct Applied {
    /// The new state. It is set even after errors.
    pub state: State,
    pub counts: ChangeCounts,
    /// The warnings and errors. After errors, some changes were not made.
    pub diagnostics: Diagnostics,
    /// Whether the run was stopped before it finished.
    pub stopped: bool,
}

impl EngineContext {
    pub(crate) fn evaluator(&self, schemas: &Schemas, phase: Phase, timestamp: String) -> Evaluator {
        Evaluator {
            configuration: Arc::clone(&self.configuration),
            schemas: schemas.clone(),
            values: Values::new(self.secrets),
            phase,
            workspace: self.workspace.clone(),
            directories: Arc::new(self.directories.clone()),
            budget: Arc::clone(&self.budget),
            timestamp,
            reported: Arc::default(),
            checks: Checks::for_configuration(&self.configuration),
            expired: Expired::default(),
            function_results: FunctionResults::default(),
            test: self.test.clone(),
            accepted: self.accepted.clone(),
        }
    }
}

/// Returns the error of a run that was stopped.
pub(crate) fn stopped() -> Diagnostic {
    Diagnostic::error(
        "Execution halted",
        "The run was stopped before it finished. Completed changes are \
        saved.",
    )
}
