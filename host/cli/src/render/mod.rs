//! Plans, states, outputs and values as text for people and as JSON for programs.
//!
//! The functions depend only on their arguments and not on the terminal: [`RenderOptions`] selects
//! color, line width and the product in whose wording the text is written.
//!
//! | module | output |
//! |---|---|
//! | [`plan`] | a plan, with `difference` (the changes) and `layout` (their text) |
//! | [`consent_view`] | the capability requests of a plugin |
//! | [`plugin`] | a component's imports and capability requests |
//! | [`policy`] | the effective policy of a plugin |
//! | [`state`] | a state, as differences without changes |
//! | [`value`] | values as expressions |
//! | [`json`] | plans, states, outputs and events as JSON |
//!
//! Invariants: text for people never contains a sensitive value; for all values, the cost is linear
//! in the length of the output.

pub(crate) mod audit;
pub(crate) mod consent_view;
mod difference;
pub(crate) mod json;
mod layout;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod policy;
pub(crate) mod state;
pub(crate) mod style;
pub(crate) mod value;
pub(crate) mod wrapping;

use crate::product::Product;

/// The layout of text for people.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderOptions {
    /// Whether color is used.
    pub(crate) color: bool,
    /// The maximum line width of sentences, in columns.
    pub(crate) width: usize,
    /// The product in whose wording the text is written.
    pub(crate) product: Product,
}

impl RenderOptions {
    /// Returns the maximum line width of sentences around a plan. In the wording of Terraform and
    /// OpenTofu, one column is left free.
    pub(crate) fn sentence_width(self) -> usize {
        if self.product.is_own() { self.width } else { self.width.saturating_sub(1) }
    }
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { color: false, width: 78, product: Product::Wardian }
    }
}
