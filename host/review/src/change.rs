//! Changes of objects and outputs.

use std::sync::Arc;

use crate::cause::{PlannedReason, ReviewCause};
use crate::configuration::SourcePosition;
use crate::value::{AttributeChange, AttributePath};

/// The index of a change in [`Review::changes`](crate::Review::changes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId(pub(crate) u32);

impl ChangeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The order in which a replacement destroys and creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplaceOrder {
    DestroyFirst,
    CreateFirst,
    /// The old object is removed from the state without being destroyed.
    ForgetFirst,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    Destroy,
    Replace(ReplaceOrder),
    Update,
    Create,
    /// The object has another address; nothing else changes.
    Move,
    /// The object is imported; nothing else changes.
    Import,
    /// The object is removed from the state without being destroyed.
    Forget,
    /// A data source is read during the apply.
    Read,
}

impl ChangeKind {
    pub fn class(self) -> ChangeClass {
        match self {
            Self::Destroy => ChangeClass::Destroy,
            Self::Replace(_) => ChangeClass::Replace,
            Self::Update => ChangeClass::Update,
            Self::Create => ChangeClass::Create,
            Self::Move => ChangeClass::Move,
            Self::Import => ChangeClass::Import,
            Self::Forget => ChangeClass::Forget,
            Self::Read => ChangeClass::Read,
        }
    }
}

/// The classes of changes, the most severe one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeClass {
    Destroy,
    Replace,
    Update,
    Create,
    Move,
    Import,
    Forget,
    Read,
}

impl ChangeClass {
    /// All classes, the most severe one first.
    pub const ALL: [Self; 8] = [
        Self::Destroy,
        Self::Replace,
        Self::Update,
        Self::Create,
        Self::Move,
        Self::Import,
        Self::Forget,
        Self::Read,
    ];

    /// Returns the verb of the class: `destroy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Destroy => "destroy",
            Self::Replace => "replace",
            Self::Update => "update",
            Self::Create => "create",
            Self::Move => "move",
            Self::Import => "import",
            Self::Forget => "forget",
            Self::Read => "read",
        }
    }

    /// Returns the symbol of the class in a plan: `-/+`.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Destroy => "-",
            Self::Replace => "-/+",
            Self::Update => "~",
            Self::Create => "+",
            Self::Move => "=>",
            Self::Import => "<-",
            Self::Forget => ".",
            Self::Read => "<=",
        }
    }

    /// Whether the change destroys an object.
    pub fn destroys(self) -> bool {
        matches!(self, Self::Destroy | Self::Replace)
    }
}

/// The change of one object.
#[derive(Clone, Debug)]
pub struct ReviewedChange {
    /// The address of the instance: `module.a["x"].aws_instance.web[0]`.
    pub address: Arc<str>,
    /// The address of the module instance; empty for the root module.
    pub module: Arc<str>,
    /// The address of the resource in the configuration, without instance keys:
    /// `module.a.aws_instance.web`.
    pub resource: Arc<str>,
    pub type_name: Arc<str>,
    /// Whether the resource is a data source.
    pub is_data: bool,
    /// The source address of the provider.
    pub provider: Arc<str>,
    /// The key of a deposed object; `None` for the current object.
    pub deposed: Option<Arc<str>>,
    pub kind: ChangeKind,
    /// The address before the move, for every kind of change.
    pub moved_from: Option<Arc<str>>,
    /// The ID of an imported object, for every kind of change. It is empty if the object is
    /// identified by attributes, or if the ID is unknown.
    pub imported_id: Option<Arc<str>>,
    /// The differences of the attributes, in the order of their names.
    pub attributes: Box<[AttributeChange]>,
    /// The number of attributes at the top level that do not change.
    pub unchanged: u32,
    /// The paths that force a replacement.
    pub forced_by: Box<[AttributePath]>,
    /// The reason for the action that the plan states.
    pub reason: Option<PlannedReason>,
    /// The causes that follow from the configuration and the rest of the plan, the most specific
    /// one first.
    pub causes: Box<[ReviewCause]>,
    /// The resource's block. JSON documents contain no positions.
    pub source: Option<SourcePosition>,
}

impl ReviewedChange {
    pub fn class(&self) -> ChangeClass {
        self.kind.class()
    }

    /// Returns whether another change in the plan causes this change.
    pub fn is_consequence(&self) -> bool {
        self.causes.iter().any(|cause| matches!(cause, ReviewCause::Upstream { .. }))
    }
}

/// The change of an output of the root module.
#[derive(Clone, Debug)]
pub struct ReviewedOutput {
    pub name: Arc<str>,
    /// `Create`, `Update` or `Destroy`.
    pub class: ChangeClass,
    /// The differences; the root of each path is the output's name.
    pub attributes: Box<[AttributeChange]>,
}
