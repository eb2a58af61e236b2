//! The terminal view of a plan's review, without input and output.
//!
//! [`ReviewView`] is a state machine: [`ReviewView::press`] handles a key and returns the effect that
//! the caller must carry out, and [`ReviewView::draw`] draws the view into a buffer. The caller reads
//! keys, writes the buffer to the terminal, starts the editor and applies the plan.
//!
//! Invariants: all text of the plan is escaped (`wardian-printable`) before it is drawn, and is cut by
//! its width on a terminal, so it cannot leave its place; a frame costs time in proportion to the
//! screen, not to the plan; every size of the screen is possible; color never conveys information
//! that is missing from the text.

mod detail;
mod draw;
mod graph;
mod help;
mod hidden;
mod list;
mod palette;
mod text;
mod view;

#[cfg(test)]
mod tests;

pub use view::{ReviewView, ViewApproval, ViewEffect, ViewKey, ViewSettings};
