//! What people and programs read: plans, states, outputs and values as text.
//!
//! Pure functions from data to text. Nothing here knows a terminal: whether
//! colours are wanted and how wide lines may be is said by [`RenderOptions`].
//!
//! | module | what it writes |
//! |---|---|
//! | [`plan`] | a plan, on top of `difference` (what changed) and `layout` (how it looks) |
//! | [`asking`] | what a plugin asks for |
//! | [`plugin`] | what a component is linked with and asks for |
//! | [`policy`] | what policies come to for a plugin |
//! | [`state`] | a state, as differences in which nothing changed |
//! | [`value`] | values as expressions |
//! | [`json`] | plans, states, outputs and events for programs |
//!
//! Always holds: a sensitive value is never part of a text for people; the cost
//! is linear in what is shown, whatever the values are.

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

/// How texts for people are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderOptions {
    /// Whether colours are used.
    pub(crate) color: bool,
    /// How many columns sentences may take.
    pub(crate) width: usize,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { color: false, width: 78 }
    }
}
