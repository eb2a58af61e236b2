//! Renders plans, states, outputs and values as human-readable text and as JSON.
//!
//! The functions depend only on their arguments and not on the terminal: [`RenderOptions`] selects
//! color, line width and the product whose wording the text uses.
//!
//! | module | output |
//! |---|---|
//! | [`plan`] | a plan, with `difference` (the changes) and `layout` (their text) |
//! | [`component_check`] | the mistakes in a component and the parts of its size |
//! | [`consent_view`] | the capability requests of a plugin |
//! | [`plugin`] | a component's imports and capability requests |
//! | [`policy`] | the effective policy of a plugin |
//! | [`query`] | the results of a query |
//! | [`review`] | the summary of a plan |
//! | [`state`] | a state, as differences without changes |
//! | [`value`] | values as expressions |
//! | [`json`] | plans, states, outputs and events as JSON |
//!
//! Invariants: human-readable text never contains a sensitive value; for all values, the cost is
//! linear in the length of the output.

pub(crate) mod audit;
pub(crate) mod component_check;
pub(crate) mod consent_view;
pub(crate) mod counted;
mod difference;
mod isolation;
pub(crate) mod json;
mod layout;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod policy;
pub(crate) mod query;
pub(crate) mod review;
pub(crate) mod state;
pub(crate) mod style;
pub(crate) mod value;
pub(crate) mod wrapping;

use crate::product::Product;

/// The layout of human-readable text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderOptions {
    /// Whether color is used.
    pub(crate) color: bool,
    /// The maximum line width of sentences, in columns.
    pub(crate) width: usize,
    /// The product whose wording the text uses.
    pub(crate) product: Product,
}

impl RenderOptions {
    /// Returns the maximum line width of sentences around a plan. With the wording of Terraform or
    /// OpenTofu, it is one column less.
    pub(crate) fn sentence_width(self) -> usize {
        if self.product.is_own() { self.width } else { self.width.saturating_sub(1) }
    }
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { color: false, width: 78, product: Product::Wardian }
    }
}
