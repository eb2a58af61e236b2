//! `check` blocks and conditions.

use wardian_lang::{Expression, Span};
use wardian_value::Str;

use super::Resource;

/// A `check` block.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name.
    pub name: Str,
    /// The data source that is only there for it.
    pub data: Option<Resource>,
    /// What must hold; failing is a warning.
    pub assertions: Vec<Condition>,
    /// The header.
    pub span: Span,
}

/// Something that must hold: `validation`, `precondition`, `postcondition`,
/// `assert`.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What must be true.
    pub condition: Expression,
    /// What to say where it is not.
    pub error_message: Expression,
    /// The header.
    pub span: Span,
}
