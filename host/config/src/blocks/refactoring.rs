//! `moved`, `removed` and `import` blocks.

use wardian_lang::{Body, Expression, Span, Traversal};

use super::{ProviderReference, Provisioner};

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The old address, relative to the module.
    pub from: Traversal,
    /// The new address.
    pub to: Traversal,
    /// The header.
    pub span: Span,
}

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The address that the configuration no longer has.
    pub from: Traversal,
    /// Whether objects are destroyed, or only forgotten.
    pub destroy: bool,
    /// What to run before an object is destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The header.
    pub span: Span,
}

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// The address of the resource instance; keys may be expressions.
    pub to: Expression,
    /// What identifies the object, as one text.
    pub id: Option<Expression>,
    /// What identifies the object, as attributes.
    pub identity: Option<Expression>,
    /// Several at once.
    pub for_each: Option<Expression>,
    /// Which provider configuration to ask.
    pub provider: Option<ProviderReference>,
    /// All of it.
    pub body: Body,
    /// The header.
    pub span: Span,
}
