//! `module` blocks.

use std::collections::BTreeMap;

use wardian_lang::{Attribute, Expression, Reference, Span};
use wardian_plugin::version::Constraints;
use wardian_value::Str;

use super::ProviderReference;

/// A `module` block.
#[derive(Clone, Debug)]
pub struct ModuleCall {
    /// Its name.
    pub name: Str,
    /// Where the module is.
    pub source: String,
    /// The place of that.
    pub source_span: Span,
    /// Which versions of it will do.
    pub version: Option<(Constraints, Span)>,
    /// How many instances.
    pub count: Option<Expression>,
    /// One instance for each element.
    pub for_each: Option<Expression>,
    /// What all in it waits for.
    pub depends_on: Vec<Reference>,
    /// Configurations handed over: as the module names them, and as they are
    /// named here. `None` where the argument is not given.
    pub providers: Option<Vec<(ProviderReference, ProviderReference)>>,
    /// Values of the module's variables by name.
    pub inputs: BTreeMap<Str, Attribute>,
    /// The header.
    pub span: Span,
}
