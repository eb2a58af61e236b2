//! `locals` blocks.

use wardian_lang::{Expression, Span};
use wardian_value::Str;

/// A local value.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: Str,
    /// What it stands for.
    pub expression: Expression,
    /// The whole definition.
    pub span: Span,
}
