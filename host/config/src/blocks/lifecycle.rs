//! `lifecycle` blocks.

use wardian_lang::{Expression, Span};
use wardian_value::Path;

use super::Condition;

/// How a resource's objects live.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// Create the replacement before the replaced is destroyed; `None` where it
    /// is not said.
    pub create_before_destroy: Option<bool>,
    /// Refuse plans that destroy.
    pub prevent_destroy: bool,
    /// Which arguments may differ from what exists.
    pub ignore_changes: IgnoreChanges,
    /// What causes a replacement when it changes.
    pub replace_triggered_by: Vec<Expression>,
    /// What must hold before.
    pub preconditions: Vec<Condition>,
    /// What must hold after.
    pub postconditions: Vec<Condition>,
}

/// Which arguments may differ from what exists.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// None.
    #[default]
    Nothing,
    /// All.
    All,
    /// These.
    Paths(Vec<(Path, Span)>),
}
