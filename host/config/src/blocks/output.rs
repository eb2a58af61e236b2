//! `output` blocks.

use wardian_lang::{Expression, Reference, Span};
use wardian_value::Str;

use super::Condition;

/// An output.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: Str,
    /// What it is for.
    pub description: Option<String>,
    /// Its value.
    pub expression: Expression,
    /// Whether it must not be shown.
    pub sensitive: bool,
    /// Whether it must not be stored.
    pub ephemeral: bool,
    /// What it waits for besides what it refers to.
    pub depends_on: Vec<Reference>,
    /// What must hold.
    pub preconditions: Vec<Condition>,
    /// The header.
    pub span: Span,
}
