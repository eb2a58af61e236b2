//! The plan: the changes that an apply makes.

mod change;
mod invocation;
mod row_locks;
mod target;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use wardian_address::{ResourceInstanceAddress, ResourceMode};
use wardian_state::{CheckResult, State};
use wardian_value::{Path, Str, Value};

use crate::function_results::CallDigest;
use crate::object_secrets::ObjectSecrets;

pub use change::{Action, ActionReason, Importing, OutputChange, ResourceChange};
pub use invocation::{
    ActionInvocation, ChangeInvocations, InvocationTrigger, InvokeAddress, sort_invocations,
};
pub use row_locks::{has_same_changes, row_locks};
pub use target::TargetAddress;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Changes the objects to match the configuration.
    #[default]
    Normal,
    /// Destroys every object.
    Destroy,
    /// Only updates the state to match the objects.
    RefreshOnly,
}

/// The treatment of imported objects whose resource is not in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingConfiguration {
    /// Planning fails.
    #[default]
    Refused,
    /// A configuration is generated for the objects.
    Generated,
}

#[derive(Clone, Debug)]
pub struct PlanOptions {
    pub mode: Mode,
    /// Whether objects are read before they are planned.
    pub refresh: bool,
    /// Plans only these addresses and their dependencies; if empty, plans everything.
    pub targets: Vec<TargetAddress>,
    /// Omits these addresses and their dependents. Cannot be combined with `targets`.
    pub excludes: Vec<TargetAddress>,
    /// Instances to replace even if no change requires it.
    pub replace: Vec<ResourceInstanceAddress>,
    /// The actions to invoke. If there are any, the plan contains only their invocations.
    pub invoke: Vec<InvokeAddress>,
    /// The treatment of imported objects whose resource is not in the configuration.
    pub missing_configuration: MissingConfiguration,
    /// Maximum number of concurrent provider operations, at least 1.
    pub parallelism: usize,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Normal,
            refresh: true,
            targets: Vec::new(),
            excludes: Vec::new(),
            replace: Vec::new(),
            invoke: Vec::new(),
            missing_configuration: MissingConfiguration::Refused,
            parallelism: 10,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub mode: Mode,
    /// The root module's variable values, including defaults, with the marks of their declarations.
    pub variables: BTreeMap<Str, Value>,
    /// The root module's variable values before their conversion to the declared types, with the
    /// same marks.
    pub given_variables: BTreeMap<Str, Value>,
    /// The ephemeral variables of the root module that have a value. Their values are not stored,
    /// so the user must pass them to the apply again.
    pub ephemeral_variables: BTreeSet<Str>,
    pub function_results: BTreeMap<CallDigest, CallDigest>,
    /// The targets to which the plan is limited.
    pub targets: Vec<TargetAddress>,
    /// The addresses that the plan omits.
    pub excludes: Vec<TargetAddress>,
    /// The changes, sorted by address, including those without effect.
    pub changes: Vec<ResourceChange>,
    /// The invocations of actions, in the order in which they are displayed.
    pub invocations: Vec<ActionInvocation>,
    /// The changes that were made outside of Wardian.
    pub drift: Vec<ResourceChange>,
    /// The changes of the root module's outputs.
    pub outputs: BTreeMap<Str, OutputChange>,
    /// The state before any object was read.
    pub previous_state: State,
    /// The state after refreshing, on which the changes are based.
    pub prior_state: State,
    /// The results of all conditions. Conditions of objects with pending changes are unknown.
    pub checks: Vec<CheckResult>,
    /// The attributes of managed objects on which planned values depend. Drift in these attributes
    /// is reported.
    pub relevant_attributes: Vec<RelevantAttribute>,
    /// The time of the plan, RFC 3339.
    pub timestamp: String,
    /// Whether an error ended planning early. Such a plan cannot be applied.
    pub errored: bool,
    /// Whether the plan contains the sensitive values of objects. A plan without them cannot be
    /// applied.
    pub secrets: ObjectSecrets,
}

/// An attribute of a resource on which a plan depends.
#[derive(Clone, Debug, PartialEq)]
pub struct RelevantAttribute {
    pub resource: ResourceInstanceAddress,
    pub path: Path,
}

/// The numbers of objects that a plan or an apply changes. A replacement counts as one added and
/// one destroyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Objects that are created.
    pub add: usize,
    /// Objects that change in place.
    pub change: usize,
    /// Objects that are destroyed.
    pub destroy: usize,
    /// Objects that are imported.
    pub import: usize,
    /// Objects that are removed from the state without being destroyed.
    pub forget: usize,
    /// Actions that are invoked.
    pub invoke: usize,
}

impl ChangeCounts {
    pub fn count(&mut self, action: Action) {
        match action {
            Action::Create => self.add += 1,
            Action::Update => self.change += 1,
            Action::Delete => self.destroy += 1,
            Action::DeleteThenCreate | Action::CreateThenDelete => {
                self.add += 1;
                self.destroy += 1;
            }
            Action::Forget => self.forget += 1,
            Action::NoOp | Action::Read => {}
        }
    }
}

impl Plan {
    /// Returns the numbers of managed objects that change.
    pub fn counts(&self) -> ChangeCounts {
        let mut counts = ChangeCounts::default();
        for change in self.changes.iter().filter(|c| c.address.mode() == ResourceMode::Managed) {
            counts.count(change.action);
            counts.import += usize::from(change.importing.is_some());
        }
        counts.invoke = self.invocations.len();
        counts
    }

    /// Whether the plan is limited to some of the objects.
    pub fn is_partial(&self) -> bool {
        !self.targets.is_empty() || !self.excludes.is_empty()
    }

    /// Whether any object or output changes, or an action is invoked.
    pub fn has_changes(&self) -> bool {
        let acts = |change: &ResourceChange| {
            change.is_effective() || change.is_moved() || change.importing.is_some()
        };
        self.changes.iter().any(acts) || self.has_output_changes() || !self.invocations.is_empty()
    }

    pub fn has_output_changes(&self) -> bool {
        self.outputs.values().any(|output| output.action != Action::NoOp)
    }

    /// Whether applying the plan would change anything, including the state.
    pub fn is_applyable(&self) -> bool {
        !self.errored
            && match self.mode {
                // A move alone does not make a refresh-only plan applyable, and neither does an
                // output that is no longer declared. Both are recorded when another change is
                // applied.
                Mode::RefreshOnly => {
                    let is_recorded =
                        |output: &OutputChange| !matches!(output.action, Action::NoOp | Action::Delete);
                    self.drift.iter().any(ResourceChange::is_effective)
                        || self.outputs.values().any(is_recorded)
                }
                Mode::Normal | Mode::Destroy => self.has_changes(),
            }
    }
}
