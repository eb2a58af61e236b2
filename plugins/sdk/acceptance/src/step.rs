//! The steps of an acceptance test.

use std::fmt;
use std::panic::Location;

use serde_json::Value as Json;

use crate::expected_error::ExpectedDiagnostic;
use crate::plan_check::PlanCheck;
use crate::query_check::QueryCheck;
use crate::run_events::ExpectedProgress;
use crate::state_check::StateCheck;

/// A step of an acceptance test: a command on a configuration, and its expected results.
///
/// ```
/// use wardian_acceptance::{ExpectedAction, PlanCheck, StateCheck, Step, json};
///
/// let step = Step::apply(r#"
///     variable "size" { type = number }
///     resource "cloud_server" "web" { size = var.size }
/// "#)
/// .variable("size", json!(8))
/// .expect_plan(PlanCheck::action("cloud_server.web", ExpectedAction::Create))
/// .check(StateCheck::value("cloud_server.web", "size", json!(8)));
/// ```
pub struct Step {
    pub(crate) kind: StepKind,
    pub(crate) location: &'static Location<'static>,
    /// The text of the root module; without a text, the configuration of the step before.
    pub(crate) configuration: Option<String>,
    /// The texts of further files, such as those of modules.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) variables: Vec<(String, Json)>,
    pub(crate) expected_errors: Vec<ExpectedDiagnostic>,
    pub(crate) expected_warnings: Vec<ExpectedDiagnostic>,
    pub(crate) plan_checks: Vec<PlanCheck>,
    pub(crate) state_checks: Vec<StateCheck>,
    pub(crate) query_checks: Vec<QueryCheck>,
    pub(crate) expected_progress: Vec<ExpectedProgress>,
    pub(crate) is_idempotent: bool,
    pub(crate) before: Option<Box<dyn Fn() + Send + Sync>>,
}

/// The command of a step.
#[derive(Clone, Debug)]
pub(crate) enum StepKind {
    Apply,
    Plan,
    Refresh,
    Destroy,
    Import(ImportStep),
    /// The text of a query file.
    Query(String),
    /// The address of an action.
    Invoke(String),
}

/// An import whose result is compared with the state.
#[derive(Clone, Debug)]
pub(crate) struct ImportStep {
    pub(crate) address: String,
    pub(crate) key: ImportKey,
    pub(crate) ignored: Vec<String>,
}

/// The identification of the object that a step imports.
#[derive(Clone, Debug)]
pub(crate) enum ImportKey {
    /// The attribute of the object in the state that is its ID.
    Attribute(String),
    Id(String),
    /// The identity of the object in the state.
    Identity,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply => f.write_str("apply"),
            Self::Plan => f.write_str("plan"),
            Self::Refresh => f.write_str("refresh"),
            Self::Destroy => f.write_str("destroy"),
            Self::Import(import) => write!(f, "import of {}", import.address),
            Self::Query(_) => f.write_str("query"),
            Self::Invoke(address) => write!(f, "invocation of {address}"),
        }
    }
}

impl Step {
    #[track_caller]
    fn new(kind: StepKind, configuration: Option<String>) -> Self {
        Self {
            kind,
            location: Location::caller(),
            configuration,
            files: Vec::new(),
            variables: Vec::new(),
            expected_errors: Vec::new(),
            expected_warnings: Vec::new(),
            plan_checks: Vec::new(),
            state_checks: Vec::new(),
            query_checks: Vec::new(),
            expected_progress: Vec::new(),
            is_idempotent: true,
            before: None,
        }
    }

    /// Plans and applies a configuration. Then, a second plan must be empty.
    ///
    /// ```
    /// wardian_acceptance::Step::apply(r#"resource "cloud_server" "web" {}"#);
    /// ```
    #[track_caller]
    pub fn apply(configuration: impl Into<String>) -> Self {
        Self::new(StepKind::Apply, Some(configuration.into()))
    }

    /// Plans a configuration, and does not apply the plan.
    ///
    /// ```
    /// use wardian_acceptance::{PlanCheck, Step};
    /// Step::plan(r#"resource "cloud_server" "web" {}"#).expect_plan(PlanCheck::changes(1));
    /// ```
    #[track_caller]
    pub fn plan(configuration: impl Into<String>) -> Self {
        Self::new(StepKind::Plan, Some(configuration.into()))
    }

    /// Reads all objects, and stores them in the state without changing them. The configuration is that
    /// of the step before.
    ///
    /// ```
    /// use wardian_acceptance::{StateCheck, Step};
    /// Step::refresh().check(StateCheck::absent("cloud_server.web"));
    /// ```
    #[track_caller]
    pub fn refresh() -> Self {
        Self::new(StepKind::Refresh, None)
    }

    /// Destroys all objects before the end of the test. The configuration is that of the step before.
    ///
    /// ```
    /// use wardian_acceptance::{StateCheck, Step};
    /// Step::destroy().check(StateCheck::objects(0));
    /// ```
    #[track_caller]
    pub fn destroy() -> Self {
        Self::new(StepKind::Destroy, None)
    }

    /// Imports an object that is in the state with its attribute `id`, and compares the result with the
    /// state. The configuration is that of the step before, and the imported object must match it. The state does not change.
    ///
    /// ```
    /// wardian_acceptance::Step::import("cloud_server.web").ignore("password");
    /// ```
    #[track_caller]
    pub fn import(address: impl Into<String>) -> Self {
        let key = ImportKey::Attribute("id".to_owned());
        let import = ImportStep { address: address.into(), key, ignored: Vec::new() };
        Self::new(StepKind::Import(import), None)
    }

    /// Runs the lists of a query file. The configuration is that of the step before, whose provider blocks
    /// configure the lists. The state does not change.
    ///
    /// ```
    /// use wardian_acceptance::{QueryCheck, Step};
    /// Step::query(r#"
    ///     list "cloud_server" "all" {
    ///       provider         = cloud
    ///       include_resource = true
    ///     }
    /// "#)
    /// .expect_found(QueryCheck::count("list.cloud_server.all", 2));
    /// ```
    #[track_caller]
    pub fn query(lists: impl Into<String>) -> Self {
        Self::new(StepKind::Query(lists.into()), None)
    }

    /// Invokes an action of the configuration of the step before. Without the key of an instance, all
    /// instances are invoked.
    ///
    /// ```
    /// use wardian_acceptance::Step;
    /// Step::invoke("action.cloud_restart.web").expect_progress("action.cloud_restart.web", "started web");
    /// ```
    #[track_caller]
    pub fn invoke(address: impl Into<String>) -> Self {
        Self::new(StepKind::Invoke(address.into()), None)
    }

    fn change_import(mut self, change: impl FnOnce(&mut ImportStep)) -> Self {
        if let StepKind::Import(import) = &mut self.kind {
            change(import);
        }
        self
    }

    /// Imports with another attribute of the object than `id`.
    ///
    /// ```
    /// wardian_acceptance::Step::import("cloud_server.web").by_attribute("name");
    /// ```
    #[must_use]
    pub fn by_attribute(self, path: &str) -> Self {
        self.change_import(|import| import.key = ImportKey::Attribute(path.to_owned()))
    }

    /// Imports with this ID.
    ///
    /// ```
    /// wardian_acceptance::Step::import("cloud_server.web").by_id("zone-a/web");
    /// ```
    #[must_use]
    pub fn by_id(self, id: &str) -> Self {
        self.change_import(|import| import.key = ImportKey::Id(id.to_owned()))
    }

    /// Imports with the identity that is in the state.
    ///
    /// ```
    /// wardian_acceptance::Step::import("cloud_server.web").by_identity();
    /// ```
    #[must_use]
    pub fn by_identity(self) -> Self {
        self.change_import(|import| import.key = ImportKey::Identity)
    }

    /// Ignores an attribute of the root object that an import cannot know, such as a password.
    ///
    /// ```
    /// wardian_acceptance::Step::import("cloud_server.web").ignore("password").ignore("timeouts");
    /// ```
    #[must_use]
    pub fn ignore(self, attribute: &str) -> Self {
        self.change_import(|import| import.ignored.push(attribute.to_owned()))
    }

    /// Adds a file, for example a module: the path is relative to the root module.
    ///
    /// ```
    /// use wardian_acceptance::Step;
    /// Step::apply(r#"module "web" { source = "./web" }"#)
    ///     .file("web/main.tf", r#"resource "cloud_server" "web" {}"#);
    /// ```
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// Sets a variable of the root module.
    ///
    /// ```
    /// use wardian_acceptance::{Step, json};
    /// Step::apply(r#"variable "zones" { type = set(string) }"#).variable("zones", json!(["a", "b"]));
    /// ```
    #[must_use]
    pub fn variable(mut self, name: &str, value: Json) -> Self {
        self.variables.push((name.to_owned(), value));
        self
    }

    /// Expects an error. The step passes if every error is expected, and every expected error occurs.
    ///
    /// ```
    /// use wardian_acceptance::{ExpectedDiagnostic, Step};
    /// Step::plan(r#"resource "cloud_server" "web" { size = 0 }"#)
    ///     .expect_error(ExpectedDiagnostic::containing("at least 1").at("size"));
    /// ```
    #[must_use]
    pub fn expect_error(mut self, expected: impl Into<ExpectedDiagnostic>) -> Self {
        self.expected_errors.push(expected.into());
        self
    }

    /// Expects a warning.
    ///
    /// ```
    /// use wardian_acceptance::Step;
    /// Step::plan(r#"resource "cloud_server" "web" { old = true }"#).expect_warning("deprecated");
    /// ```
    #[must_use]
    pub fn expect_warning(mut self, expected: impl Into<ExpectedDiagnostic>) -> Self {
        self.expected_warnings.push(expected.into());
        self
    }

    /// Adds a check of the plan.
    ///
    /// ```
    /// use wardian_acceptance::{PlanCheck, Step};
    /// Step::plan("").expect_plan(PlanCheck::empty());
    /// ```
    #[must_use]
    pub fn expect_plan(mut self, check: PlanCheck) -> Self {
        self.plan_checks.push(check);
        self
    }

    /// Adds a check of the state after the step.
    ///
    /// ```
    /// use wardian_acceptance::{StateCheck, Step};
    /// Step::apply("").check(StateCheck::objects(0));
    /// ```
    #[must_use]
    pub fn check(mut self, check: StateCheck) -> Self {
        self.state_checks.push(check);
        self
    }

    /// Adds a check of the objects that a query found.
    ///
    /// ```
    /// use wardian_acceptance::{QueryCheck, Step};
    /// Step::query(r#"list "cloud_server" "all" { provider = cloud }"#)
    ///     .expect_found(QueryCheck::named("list.cloud_server.all", "Server web"));
    /// ```
    #[must_use]
    pub fn expect_found(mut self, check: QueryCheck) -> Self {
        self.query_checks.push(check);
        self
    }

    /// Expects that an action reports a progress message that contains a text, in an apply whose changes
    /// trigger the action, or in [`Step::invoke`].
    ///
    /// ```
    /// use wardian_acceptance::Step;
    /// Step::apply("").expect_progress("action.cloud_restart.web", "stopping");
    /// ```
    #[must_use]
    pub fn expect_progress(mut self, address: &str, part: &str) -> Self {
        self.expected_progress.push(ExpectedProgress { address: address.to_owned(), part: part.to_owned() });
        self
    }

    /// Omits the second plan, which must be empty, of a configuration that always has changes.
    ///
    /// ```
    /// wardian_acceptance::Step::apply("").without_idempotence_check();
    /// ```
    #[must_use]
    pub fn without_idempotence_check(mut self) -> Self {
        self.is_idempotent = false;
        self
    }

    /// Calls a function before the step, for example to change an object outside of the configuration.
    ///
    /// ```
    /// use wardian_acceptance::Step;
    /// Step::apply("").before(|| println!("deletes the server through its API"));
    /// ```
    #[must_use]
    pub fn before(mut self, run: impl Fn() + Send + Sync + 'static) -> Self {
        self.before = Some(Box::new(run));
        self
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step({} at {})", self.kind, self.location)
    }
}
