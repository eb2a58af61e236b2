//! A plan for people.

use wardian_engine::{ChangeCounts, Plan};

use super::RenderOptions;

/// What is said below a plan about carrying it out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlanNote<'a> {
    /// Nothing: approval follows, or the plan is only shown.
    None,
    /// It was not saved.
    NotSaved,
    /// It was saved to a file.
    Saved {
        /// Where.
        path: &'a str,
        /// What to type to carry it out.
        apply_command: &'a str,
    },
}

/// The whole plan, with a line break at its end: drift, changes, summary,
/// outputs, note.
pub(crate) fn render_plan(plan: &Plan, note: PlanNote<'_>, options: RenderOptions) -> String {
    let _ = (plan, note, options);
    String::new()
}

/// `Plan: 1 to add, 0 to change, 0 to destroy.`
pub(crate) fn summary(counts: ChangeCounts) -> String {
    let ChangeCounts { add, change, destroy } = counts;
    format!("Plan: {add} to add, {change} to change, {destroy} to destroy.")
}
