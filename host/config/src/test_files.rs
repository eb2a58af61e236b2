//! Test files: `.tftest.hcl` and `.tftest.json` files as typed blocks.
//!
//! Test files are read after the configuration that they test. Their expressions are not evaluated
//! here, except for constants. Like all files, they are read through [`Files`](crate::Files).

mod file;
mod file_names;
mod mocks;
mod overrides;
mod references;
mod run_checks;
mod run_configuration;
mod run_modules;
mod runs;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_address::{Constraints, ResourceMode};
use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_lang::{Attribute, Expression, Traversal};
use wardian_value::Str;

use crate::blocks::{Backend, Condition, ProviderConfig, ProviderReference, Target, Variable};

pub use file::load_tests;
pub use references::{CheckableObject, ExpectedFailure};
pub use run_configuration::RunConfiguration;
pub use run_modules::RunModules;

/// The test files of a root module.
#[derive(Clone, Debug, Default)]
pub struct LoadedTests {
    /// The test files by their path, in the order in which they run.
    pub files: BTreeMap<Str, TestFile>,
    /// The text of all test files and mock data files, for display in diagnostics.
    pub sources: Vec<Arc<SourceFile>>,
}

/// A test file.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// The path relative to the root module's directory, with `/` between its components.
    pub path: Str,
    pub source: Arc<SourceFile>,
    /// The `run` blocks in source order.
    pub runs: Vec<TestRun>,
    /// The values of the `variables` block by name.
    pub variables: BTreeMap<Str, Attribute>,
    pub(crate) variables_span: Option<Span>,
    /// `variable` blocks: the types of variables that are not set in the file.
    pub declared_variables: BTreeMap<Str, Variable>,
    /// `provider` and `mock_provider` blocks by local name and alias.
    pub providers: BTreeMap<(Str, Option<Str>), TestProvider>,
    /// `override_resource`, `override_data` and `override_module` blocks outside of runs.
    pub overrides: Vec<Override>,
    /// The default of [`TestRun::parallel`].
    pub parallel: bool,
    /// The default of [`TestRun::skip_cleanup`].
    pub skip_cleanup: bool,
}

/// A provider configuration of a test file.
#[derive(Clone, Debug)]
pub enum TestProvider {
    /// A `provider` block.
    Real(ProviderConfig),
    Mock(MockProvider),
}

/// A `mock_provider` block.
#[derive(Clone, Debug)]
pub struct MockProvider {
    pub local_name: Str,
    pub alias: Option<Str>,
    /// The default of [`MockDefaults::during`] and of [`Override::during`] in the block.
    pub during: OverrideDuring,
    /// The directory of mock data files. `defaults` and `overrides` contain their blocks.
    pub source: Option<(PathBuf, Span)>,
    /// `mock_resource` and `mock_data` blocks.
    pub defaults: BTreeMap<(ResourceMode, Str), MockDefaults>,
    /// Overrides that apply only to objects of this provider configuration.
    pub overrides: Vec<Override>,
    /// The span of the header.
    pub span: Span,
}

/// A `mock_resource` or `mock_data` block: values of computed attributes of all objects of a type.
#[derive(Clone, Debug)]
pub struct MockDefaults {
    pub mode: ResourceMode,
    pub type_name: Str,
    pub(crate) type_span: Span,
    pub defaults: Option<Expression>,
    pub during: OverrideDuring,
    /// The span of the header.
    pub span: Span,
}

/// The operation that generates the values of computed attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OverrideDuring {
    /// The values are known in the plan.
    Plan,
    #[default]
    Apply,
}

/// The block type of an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverrideKind {
    Resource,
    Data,
    Module,
}

/// An `override_resource`, `override_data` or `override_module` block.
#[derive(Clone, Debug)]
pub struct Override {
    pub kind: OverrideKind,
    pub target: Target,
    pub target_span: Span,
    /// `values`, or `outputs` for a module.
    pub values: Option<Expression>,
    pub during: OverrideDuring,
    /// The span of the header.
    pub span: Span,
}

/// A `run` block.
#[derive(Clone, Debug)]
pub struct TestRun {
    pub name: Str,
    /// The span of the label.
    pub name_span: Span,
    pub command: TestCommand,
    pub options: TestPlanOptions,
    /// The module that is run instead of the root module.
    pub module: Option<TestModule>,
    /// The values of the `variables` block by name.
    pub variables: BTreeMap<Str, Attribute>,
    /// The provider configurations that the run uses: for each, its name in the module and its name in
    /// the test file. If the list is empty, the run uses all configurations of the test file.
    pub providers: Vec<(ProviderReference, ProviderReference)>,
    /// The name of the state that the run uses; by default, the root module or the run's module
    /// determines the state.
    pub state_key: Option<(Str, Span)>,
    pub parallel: bool,
    pub skip_cleanup: bool,
    /// The backend from which the run's state is read and in which it is stored.
    pub backend: Option<Backend>,
    /// The objects whose conditions must fail.
    pub expect_failures: Vec<ExpectedFailure>,
    /// Errors that are reported only when the run is validated or executed.
    pub(crate) problems: Diagnostics,
    pub assertions: Vec<Condition>,
    pub overrides: Vec<Override>,
    /// The span of the header.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TestCommand {
    Plan,
    #[default]
    Apply,
}

/// A `plan_options` block.
#[derive(Clone, Debug)]
pub struct TestPlanOptions {
    pub mode: TestPlanMode,
    /// False if the plan does not read the objects first.
    pub refresh: bool,
    /// The uninterpreted addresses; [`Self::addresses`] parses them.
    pub replace: Vec<Traversal>,
    pub targets: Vec<Traversal>,
}

/// The addresses in a `plan_options` block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestPlanAddresses {
    pub targets: Vec<Target>,
    /// Managed resources or instances of them.
    pub replace: Vec<Target>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TestPlanMode {
    #[default]
    Normal,
    RefreshOnly,
}

/// A `module` block in a run.
#[derive(Clone, Debug)]
pub struct TestModule {
    pub source: String,
    pub source_span: Span,
    pub version: Option<(Constraints, Span)>,
    /// The span of the header.
    pub span: Span,
}

impl TestRun {
    /// Returns the errors that are reported only if the run is validated or executed.
    pub fn problems(&self) -> &Diagnostics {
        &self.problems
    }
}
