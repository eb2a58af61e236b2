//! What a plan is: the promise that an apply keeps.

mod change;
mod target;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use wardian_address::{ResourceInstanceAddress, ResourceMode};
use wardian_state::{CheckResult, State};
use wardian_value::{Path, Str, Value};

use crate::function_results::CallDigest;
use crate::import::check::MissingConfiguration;

pub use change::{Action, ActionReason, Importing, OutputChange, ResourceChange};
pub use target::Target;

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Bring the objects to what the configuration says.
    #[default]
    Normal,
    /// Destroy every object.
    Destroy,
    /// Only bring the state to what the objects are.
    RefreshOnly,
}

/// What is asked of a plan.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// What the run is for.
    pub mode: Mode,
    /// Whether objects are read before they are planned.
    pub refresh: bool,
    /// Only these, and what they need; empty for everything.
    pub targets: Vec<Target>,
    /// Not these, nor what depends on them; together with targets it makes no sense.
    pub excludes: Vec<Target>,
    /// Instances to replace though nothing asks for it.
    pub replace: Vec<ResourceInstanceAddress>,
    /// What becomes of imported objects whose resource has no configuration.
    pub missing_configuration: MissingConfiguration,
    /// The most provider operations at a time, at least 1.
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
            missing_configuration: MissingConfiguration::Refused,
            parallelism: 10,
        }
    }
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the run is for.
    pub mode: Mode,
    /// Values of the root module's variables, those with defaults included, with the
    /// marks that their declarations give them.
    pub variables: BTreeMap<Str, Value>,
    /// Values of the root module's variables as they were given, before they were
    /// converted, with the same marks.
    pub given_variables: BTreeMap<Str, Value>,
    /// Ephemeral variables of the root module that were given a value: their values are
    /// not kept, and are needed again for an apply.
    pub ephemeral_variables: BTreeSet<Str>,
    /// What providers' functions gave.
    pub function_results: BTreeMap<CallDigest, CallDigest>,
    /// What was asked to be looked at alone.
    pub targets: Vec<Target>,
    /// What was asked to be left out.
    pub excludes: Vec<Target>,
    /// Changes in the order of their addresses, those that do nothing included.
    pub changes: Vec<ResourceChange>,
    /// What had changed outside of any run.
    pub drift: Vec<ResourceChange>,
    /// Changes of the root module's outputs.
    pub outputs: BTreeMap<Str, OutputChange>,
    /// The state before anything was read.
    pub previous_state: State,
    /// The state after objects were read: what the changes start from.
    pub prior_state: State,
    /// What was found of all conditions; those of objects that are still to change are
    /// not known yet.
    pub checks: Vec<CheckResult>,
    /// What the values of the plan were made from: attributes of managed objects whose
    /// drift people must hear of.
    pub relevant_attributes: Vec<RelevantAttribute>,
    /// When the plan was made, RFC 3339.
    pub timestamp: String,
    /// Whether an error ended the planning early: such a plan cannot be applied.
    pub errored: bool,
}

/// An attribute of a resource that something in a plan was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct RelevantAttribute {
    /// The object.
    pub resource: ResourceInstanceAddress,
    /// What of it.
    pub path: Path,
}

/// How many objects a plan, or an apply, adds, changes and destroys. A
/// replacement counts as one added and one destroyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Objects that come to be.
    pub add: usize,
    /// Objects that change in place.
    pub change: usize,
    /// Objects that go.
    pub destroy: usize,
    /// Objects that come under management.
    pub import: usize,
    /// Objects that stay and are managed no more.
    pub forget: usize,
}

impl ChangeCounts {
    /// Counts one more action.
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
    /// How many managed objects change.
    pub fn counts(&self) -> ChangeCounts {
        let mut counts = ChangeCounts::default();
        for change in self.changes.iter().filter(|c| c.address.mode() == ResourceMode::Managed) {
            counts.count(change.action);
            counts.import += usize::from(change.importing.is_some());
        }
        counts
    }

    /// Whether it was asked to look at a part of the configuration alone.
    pub fn is_partial(&self) -> bool {
        !self.targets.is_empty() || !self.excludes.is_empty()
    }

    /// Whether any object or output changes.
    pub fn has_changes(&self) -> bool {
        let acts = |change: &ResourceChange| {
            change.is_effective() || change.is_moved() || change.importing.is_some()
        };
        self.changes.iter().any(acts) || self.has_output_changes()
    }

    /// Whether any output changes.
    pub fn has_output_changes(&self) -> bool {
        self.outputs.values().any(|output| output.action != Action::NoOp)
    }

    /// Whether applying it would do anything, if only to the state.
    pub fn is_applyable(&self) -> bool {
        !self.errored
            && match self.mode {
                // A mere move is recorded by an apply, and is no reason for one.
                // An output that is declared no more stays until something else is done.
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
