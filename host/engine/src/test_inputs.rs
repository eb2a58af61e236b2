//! The inputs of a test's run that replace parts of the configuration: mocked providers, overridden
//! objects and modules, and values that only blocks of a test file can refer to.
//!
//! The engine asks for them at four places: if it configures a provider, if it starts an operation
//! on an instance, if it expands a module call, and if it evaluates a block of a test file. All
//! other steps are the same as in other runs.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use wardian_address::{ModuleInstance, ProviderAddress, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_diagnostic::Span;
use wardian_plugin::{ConfigKind, Provider, ValidateConfigRequest};
use wardian_value::{Str, Value};

/// Decides which parts of a configuration a test replaces.
pub trait Overrides: Send + Sync {
    /// Returns the provider that is used instead of a mocked provider; [`None`] if the provider
    /// configuration is not mocked. `real` answers requests for schemas and validations.
    fn mocked(
        &self,
        configuration: &ProviderConfigAddress,
        real: &Arc<dyn Provider>,
    ) -> Option<Arc<dyn Provider>>;

    /// Returns the provider that answers for an overridden instance; [`None`] if the instance is not
    /// overridden. `provider` is the provider of the instance.
    fn overridden(
        &self,
        address: &ResourceInstanceAddress,
        configuration: &ProviderConfigAddress,
        provider: &Arc<dyn Provider>,
    ) -> Option<Arc<dyn Provider>>;

    /// Returns the outputs of an overridden module instance, of which nothing is evaluated; [`None`]
    /// if the module instance is not overridden. Outputs that are not included are null.
    fn module_outputs(&self, module: &ModuleInstance) -> Option<&BTreeMap<Str, Value>>;
}

/// Remembers the configurations of resources that a provider has accepted without diagnostics. With
/// them, a test over mocks does not have to start the provider.
pub trait AcceptedConfigurations: Send + Sync {
    fn contains(&self, provider: &ProviderAddress, kind: ConfigKind, request: &ValidateConfigRequest)
    -> bool;

    fn add(&self, provider: &ProviderAddress, kind: ConfigKind, request: &ValidateConfigRequest);
}

/// Values to which blocks of a test file can refer, in addition to those of the root module.
#[derive(Clone, Debug, Default)]
pub struct TestValues {
    /// `var.NAME`, for variables that have no value in the root module.
    pub variables: BTreeMap<Str, Value>,
    /// `run.NAME`: the outputs of earlier runs.
    pub runs: BTreeMap<Str, Value>,
}

/// The parts of a configuration that runs have evaluated.
#[derive(Debug, Default)]
pub struct Coverage {
    evaluated: Mutex<HashSet<EvaluatedSpan>>,
}

/// A file name and a range of bytes.
type EvaluatedSpan = (String, usize, usize);

impl Coverage {
    pub(crate) fn record(&self, span: &Span) {
        let evaluated = (span.file.name().to_owned(), span.start, span.end);
        self.evaluated.lock().unwrap_or_else(PoisonError::into_inner).insert(evaluated);
    }

    /// Returns whether any run has evaluated the part at a span.
    pub fn contains(&self, span: &Span) -> bool {
        let evaluated = (span.file.name().to_owned(), span.start, span.end);
        self.evaluated.lock().unwrap_or_else(PoisonError::into_inner).contains(&evaluated)
    }
}

/// The parts of a run that a test determines.
pub struct TestInputs {
    pub overrides: Arc<dyn Overrides>,
    pub values: TestValues,
    /// Receives the spans of evaluated resources, outputs, conditions and sides of conditionals.
    pub coverage: Option<Arc<Coverage>>,
}

impl fmt::Debug for TestInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestInputs").field("values", &self.values).finish_non_exhaustive()
    }
}
