//! What a plan is: the promise that an apply keeps.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use wardian_plugin::{
    InstanceAddressError, ModuleInstance, PrivateBytes, ProviderConfigAddress, ResourceInstanceAddress,
    ResourceMode, Schema,
};
use wardian_state::State;
use wardian_value::{Marks, Path, Str, Value};

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
    /// Instances to replace though nothing asks for it.
    pub replace: Vec<ResourceInstanceAddress>,
    /// The most provider operations at a time, at least 1.
    pub parallelism: usize,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { mode: Mode::Normal, refresh: true, targets: Vec::new(), replace: Vec::new(), parallelism: 10 }
    }
}

/// What `-target` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A module instance, or all instances of a module, with all below.
    Module(wardian_plugin::ModuleInstance),
    /// A resource with all its instances in all instances of its module.
    Resource(wardian_plugin::ResourceAddress),
    /// One instance.
    Instance(ResourceInstanceAddress),
}

impl Target {
    /// Whether an instance is meant.
    pub fn includes(&self, address: &ResourceInstanceAddress) -> bool {
        match self {
            Self::Module(module) => lies_in(address.module(), module),
            Self::Resource(resource) => address.config() == *resource,
            Self::Instance(instance) => address == instance,
        }
    }
}

/// Whether a module instance is the target or below it. A step without a key means
/// all instances of that call.
fn lies_in(module: &ModuleInstance, target: &ModuleInstance) -> bool {
    module.steps().len() >= target.steps().len()
        && module.steps().iter().zip(target.steps()).all(|(step, wanted)| {
            step.name == wanted.name && (wanted.key.is_none() || step.key == wanted.key)
        })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(module) => module.fmt(f),
            Self::Resource(resource) => resource.fmt(f),
            Self::Instance(instance) => instance.fmt(f),
        }
    }
}

/// A resource without keys means all its instances.
impl FromStr for Target {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(resource) = text.parse() {
            return Ok(Self::Resource(resource));
        }
        match text.parse() {
            Ok(instance) => Ok(Self::Instance(instance)),
            Err(problem) => text.parse().map(Self::Module).map_err(|_| problem),
        }
    }
}

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// It comes to be.
    Create,
    /// A data source is read during the apply.
    Read,
    /// It is changed in place.
    Update,
    /// It is destroyed.
    Delete,
    /// It is destroyed, then made anew.
    DeleteThenCreate,
    /// It is made anew, then the old one is destroyed.
    CreateThenDelete,
}

impl Action {
    /// Whether it is destroyed and made anew, in either order.
    pub fn is_replace(self) -> bool {
        matches!(self, Self::DeleteThenCreate | Self::CreateThenDelete)
    }
}

/// Why an action was chosen, where that is not plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionReason {
    /// The object was left half made.
    ReplaceBecauseTainted,
    /// An attribute cannot be changed in place.
    ReplaceBecauseCannotUpdate,
    /// The person asked for it.
    ReplaceByRequest,
    /// `replace_triggered_by` says so.
    ReplaceByTriggers,
    /// There is no such resource in the configuration.
    DeleteBecauseNoResourceConfig,
    /// There is no such module instance.
    DeleteBecauseNoModule,
    /// The resource's `count` or `for_each` came, went or changed kind.
    DeleteBecauseWrongRepetition,
    /// The index is not below `count`.
    DeleteBecauseCountIndex,
    /// The key is not in `for_each`.
    DeleteBecauseEachKey,
    /// The configuration of a data source is not known yet.
    ReadBecauseConfigUnknown,
    /// Something that a data source depends on is still to change.
    ReadBecauseDependencyPending,
}

impl ActionReason {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::ReplaceBecauseTainted,
        Self::ReplaceBecauseCannotUpdate,
        Self::ReplaceByRequest,
        Self::ReplaceByTriggers,
        Self::DeleteBecauseNoResourceConfig,
        Self::DeleteBecauseNoModule,
        Self::DeleteBecauseWrongRepetition,
        Self::DeleteBecauseCountIndex,
        Self::DeleteBecauseEachKey,
        Self::ReadBecauseConfigUnknown,
        Self::ReadBecauseDependencyPending,
    ];

    /// The name in machine-readable plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReplaceBecauseTainted => "replace_because_tainted",
            Self::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            Self::ReplaceByRequest => "replace_by_request",
            Self::ReplaceByTriggers => "replace_by_triggers",
            Self::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            Self::DeleteBecauseNoModule => "delete_because_no_module",
            Self::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            Self::DeleteBecauseCountIndex => "delete_because_count_index",
            Self::DeleteBecauseEachKey => "delete_because_each_key",
            Self::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Self::ReadBecauseDependencyPending => "read_because_dependency_pending",
        }
    }
}

/// The planned change of one object.
#[derive(Clone, Debug)]
pub struct ResourceChange {
    /// Which object.
    pub address: ResourceInstanceAddress,
    /// Its address before it was moved.
    pub previous_address: Option<ResourceInstanceAddress>,
    /// The key of a deposed object; `None` for the current one.
    pub deposed: Option<Str>,
    /// The provider configuration that does it.
    pub provider: ProviderConfigAddress,
    /// What happens.
    pub action: Action,
    /// Why, where that is not plain.
    pub reason: Option<ActionReason>,
    /// The object now, null where there is none. Sensitive parts are marked.
    pub before: Value,
    /// The object afterwards, null where there will be none. Sensitive parts are
    /// marked.
    pub after: Value,
    /// Paths whose change forces a replacement.
    pub required_replace: Vec<Path>,
    /// What the provider wants back at the apply.
    pub planned_private: PrivateBytes,
    /// The resource's schema.
    pub schema: Arc<Schema>,
}

impl ResourceChange {
    /// Whether anything is to be done for it: changes of managed objects, reads of
    /// data sources.
    pub fn is_effective(&self) -> bool {
        self.action != Action::NoOp
    }
}

/// The planned change of a root output. Values bear no marks; `Debug` masks them
/// where they are sensitive.
#[derive(Clone)]
pub struct OutputChange {
    /// Create, update, delete or nothing.
    pub action: Action,
    /// The value in the state, null where there is none.
    pub before: Value,
    /// The value afterwards, null where there will be none.
    pub after: Value,
    /// Whether the value must not be shown.
    pub sensitive: bool,
}

impl fmt::Debug for OutputChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = |value: &Value| {
            let marks = if self.sensitive { Marks::SENSITIVE } else { Marks::NONE };
            value.clone().with_marks(marks)
        };
        f.debug_struct("OutputChange")
            .field("action", &self.action)
            .field("before", &masked(&self.before))
            .field("after", &masked(&self.after))
            .field("sensitive", &self.sensitive)
            .finish()
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
    /// What was asked to be looked at alone.
    pub targets: Vec<Target>,
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
    /// When the plan was made, RFC 3339.
    pub timestamp: String,
    /// Whether an error ended the planning early: such a plan cannot be applied.
    pub errored: bool,
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
        }
        counts
    }

    /// Whether any object or output changes.
    pub fn has_changes(&self) -> bool {
        self.changes.iter().any(ResourceChange::is_effective) || self.has_output_changes()
    }

    /// Whether any output changes.
    pub fn has_output_changes(&self) -> bool {
        self.outputs.values().any(|output| output.action != Action::NoOp)
    }

    /// Whether applying it would do anything, if only to the state.
    pub fn is_applyable(&self) -> bool {
        !self.errored
            && match self.mode {
                Mode::RefreshOnly => !self.drift.is_empty() || self.has_output_changes(),
                Mode::Normal | Mode::Destroy => self.has_changes(),
            }
    }
}
