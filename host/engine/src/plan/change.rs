//! What happens to one object, or to one output.

use std::fmt;
use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_plugin::{PrivateBytes, Schema};
use wardian_value::{Marks, Path, Str, Value};

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
    /// It stays as it is, and the state no longer has it.
    Forget,
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
    /// A `moved` block names an instance that the configuration does not have.
    DeleteBecauseNoMoveTarget,
    /// The configuration of a data source is not known yet.
    ReadBecauseConfigUnknown,
    /// Something that a data source depends on is still to change.
    ReadBecauseDependencyPending,
    /// The data source belongs to a `check` block, which is looked at again when all
    /// is applied.
    ReadBecauseCheckNested,
}

impl ActionReason {
    /// All of them.
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
            Self::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            Self::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Self::ReadBecauseDependencyPending => "read_because_dependency_pending",
            Self::ReadBecauseCheckNested => "read_because_check_nested",
        }
    }
}

/// What identifies an object that comes under management.
#[derive(Clone, Debug, PartialEq)]
pub enum Importing {
    /// The provider's name for it.
    Id(Str),
    /// The attributes of its identity.
    Identity(Value),
    /// Not known before the apply.
    Unknown,
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
    /// What identifies the object, where it was not managed before.
    pub importing: Option<Importing>,
    /// The configuration that was written for an imported object, where the person
    /// asked for that and there was none.
    pub generated_config: Option<String>,
}

impl ResourceChange {
    /// A change without anything special: of a current object, without a reason, that
    /// is neither moved nor imported.
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

    /// Whether it had another address before.
    pub fn is_moved(&self) -> bool {
        self.previous_address.as_ref().is_some_and(|from| *from != self.address)
    }

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
