//! `variable` blocks.

use wardian_lang::{Span, TypeConstraint};
use wardian_value::{Str, Value};

use super::Condition;

/// An input variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Str,
    /// What it is for.
    pub description: Option<String>,
    /// What values are converted to.
    pub constraint: TypeConstraint,
    /// Whether text from outside (`-var`, environment) is taken as it is rather
    /// than read as an expression.
    pub takes_text: bool,
    /// What it is where nobody says; `None` where somebody must. Converted to the
    /// type.
    pub default: Option<Value>,
    /// Whether it must not be shown.
    pub sensitive: bool,
    /// Whether null may be given.
    pub nullable: bool,
    /// Whether it must not be stored.
    pub ephemeral: bool,
    /// What must hold.
    pub validations: Vec<Condition>,
    /// The header.
    pub span: Span,
}
