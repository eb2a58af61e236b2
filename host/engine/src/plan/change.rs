//! Planned changes of objects and outputs.

use std::fmt;
use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_plugin::{PrivateBytes, Schema};
use wardian_value::{Marks, Path, Str, Value};

/// The planned action for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    NoOp,
    /// The object is created.
    Create,
    /// A data source is read during the apply.
    Read,
    /// The object is changed in place.
    Update,
    /// The object is destroyed.
    Delete,
    /// The object is destroyed, then created again.
    DeleteThenCreate,
    /// The replacement is created, then the old object is destroyed.
    CreateThenDelete,
    /// The object is removed from the state without being destroyed.
    Forget,
}

impl Action {
    /// Whether the object is destroyed and recreated, in either order.
    pub fn is_replace(self) -> bool {
        matches!(self, Self::DeleteThenCreate | Self::CreateThenDelete)
    }
}

/// The reason for an action that is not obvious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionReason {
    /// The object is tainted.
    ReplaceBecauseTainted,
    /// An attribute cannot be changed in place.
    ReplaceBecauseCannotUpdate,
    /// The user requested the replacement.
    ReplaceByRequest,
    /// `replace_triggered_by` requires the replacement.
    ReplaceByTriggers,
    /// The resource is not in the configuration.
    DeleteBecauseNoResourceConfig,
    /// The module instance is not in the configuration.
    DeleteBecauseNoModule,
    /// The resource's `count` or `for_each` was added, removed, or replaced by the other one.
    DeleteBecauseWrongRepetition,
    /// The index is not less than `count`.
    DeleteBecauseCountIndex,
    /// The key is not in `for_each`.
    DeleteBecauseEachKey,
    /// The target of a `moved` block is an instance that is not in the configuration.
    DeleteBecauseNoMoveTarget,
    /// The configuration of the data source is not known yet.
    ReadBecauseConfigUnknown,
    /// The data source depends on an object with a pending change.
    ReadBecauseDependencyPending,
    /// The data source is nested in a `check` block, which is evaluated again after the apply.
    ReadBecauseCheckNested,
}

impl ActionReason {
    pub const ALL: [Self; 13] = [
        Self::ReplaceBecauseTainted,
        Self::ReplaceBecauseCannotUpdate,
        Self::ReplaceByRequest,
        Self::ReplaceByTriggers,
        Self::DeleteBecauseNoResourceConfig,
        Self::DeleteBecauseNoModule,
        Self::DeleteBecauseWrongRepetition,
        Self::DeleteBecauseCountIndex,
        Self::DeleteBecauseEachKey,
        Self::DeleteBecauseNoMoveTarget,
        Self::ReadBecauseConfigUnknown,
        Self::ReadBecauseDependencyPending,
        Self::ReadBecauseCheckNested,
    ];

    /// Returns the reason's name in machine-readable plans.
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
            Self::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            Self::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Self::ReadBecauseDependencyPending => "read_because_dependency_pending",
            Self::ReadBecauseCheckNested => "read_because_check_nested",
        }
    }
}

/// The identification of an imported object.
#[derive(Clone, Debug, PartialEq)]
pub enum Importing {
    /// The provider's ID of the object.
    Id(Str),
    /// The attributes of the object's identity.
    Identity(Value),
    /// The identification is unknown before the apply.
    Unknown,
}

/// The planned change of one object.
#[derive(Clone, Debug)]
pub struct ResourceChange {
    pub address: ResourceInstanceAddress,
    /// The object's address before it was moved.
    pub previous_address: Option<ResourceInstanceAddress>,
    /// The key of a deposed object; `None` for the current object.
    pub deposed: Option<Str>,
    pub provider: ProviderConfigAddress,
    pub action: Action,
    /// The reason for the action, if it is not obvious.
    pub reason: Option<ActionReason>,
    /// The current object; null if it does not exist. Sensitive attributes are marked.
    pub before: Value,
    /// The object after the change; null if it will not exist. Sensitive attributes are marked.
    pub after: Value,
    /// Paths whose change forces a replacement.
    pub required_replace: Vec<Path>,
    /// The private data for the apply.
    pub planned_private: PrivateBytes,
    pub schema: Arc<Schema>,
    /// The identification of an object that is being imported.
    pub importing: Option<Importing>,
    /// The generated configuration of an imported object, if the user requested it.
    pub generated_config: Option<String>,
}

impl ResourceChange {
    /// Returns a change, without a reason, of a current object that is neither moved nor imported.
    pub fn new(
        address: ResourceInstanceAddress,
        provider: ProviderConfigAddress,
        action: Action,
        (before, after): (Value, Value),
        schema: Arc<Schema>,
    ) -> Self {
        Self {
            address,
            previous_address: None,
            deposed: None,
            provider,
            action,
            reason: None,
            before,
            after,
            required_replace: Vec::new(),
            planned_private: Arc::default(),
            schema,
            importing: None,
            generated_config: None,
        }
    }

    /// Whether the object had a different address before.
    pub fn is_moved(&self) -> bool {
        self.previous_address.as_ref().is_some_and(|from| *from != self.address)
    }

    /// Whether an apply carries out the change: changes of managed objects, and reads of data
    /// sources.
    pub fn is_effective(&self) -> bool {
        self.action != Action::NoOp
    }
}

/// The planned change of an output of the root module. Values have no marks; `Debug` redacts
/// sensitive values.
#[derive(Clone)]
pub struct OutputChange {
    /// Create, update, delete or nothing.
    pub action: Action,
    /// The value in the state; null if the state has none.
    pub before: Value,
    /// The value after the apply; null if the output will not exist.
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
