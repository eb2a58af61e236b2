//! Reports the plan and the result of an operation: as human-readable text, or as JSON messages.

use std::collections::BTreeMap;

use wardian_address::ResourceMode;
use wardian_engine::{Action, ChangeCounts, Plan, ResourceChange};
use wardian_printable::{PrintableText, printable};
use wardian_state::{OutputValue, State};
use wardian_value::Str;

use crate::render::json::{Message, Summary, reported_drift};
use crate::render::plan::{Folding, PlanNote, render_folded_plan, render_note};
use crate::render::value::render_outputs;
use crate::review_source::groups_of_plan;
use crate::shell::{Paint, Shell};

/// Reports a new plan.
pub(crate) fn plan(shell: &Shell, plan: &Plan) {
    // Terraform also prints a line for a failed plan without changes.
    let is_shown = !plan.errored || plan.has_changes() || !shell.product().is_own();
    if !shell.is_for_programs() && is_shown {
        shell.print(plan_text(shell, plan));
    }
    plan_messages(shell, plan);
}

/// Reports a new plan in JSON messages only.
pub(crate) fn plan_messages(shell: &Shell, plan: &Plan) {
    if !shell.wants_messages() {
        return;
    }
    for change in reported_drift(plan) {
        shell.message(&Message::Drift(change));
    }
    for change in plan.changes.iter().filter(|change| is_reported(change)) {
        shell.message(&Message::PlannedChange(change));
    }
    for invocation in &plan.invocations {
        shell.message(&Message::PlannedInvocation(invocation));
    }
    shell.message(&Message::Summary(Summary::Plan, plan.counts()));
    if !plan.outputs.is_empty() {
        shell.message(&Message::PlannedOutputs(&plan.outputs));
    }
}

/// Returns the text of a plan. With `-concise`, groups of equal changes are folded.
pub(crate) fn plan_text(shell: &Shell, plan: &Plan) -> PrintableText {
    let folding = if shell.is_concise() { folding(plan) } else { Folding::default() };
    render_folded_plan(plan, &folding, PlanNote::None, shell.render_options())
}

/// Returns the folding of a plan's groups. A plan that cannot be reviewed is shown in full.
fn folding(plan: &Plan) -> Folding {
    groups_of_plan(plan).map_or_else(|_| Folding::default(), |review| Folding::new(&review))
}

/// Writes the note about applying a plan. Only text output contains this note.
pub(crate) fn note(shell: &Shell, plan: &Plan, note: PlanNote<'_>) {
    if !shell.is_for_programs() && plan.is_applyable() {
        shell.print(render_note(note, shell.render_options()));
    }
}

/// Reports the planned changes of a saved plan in JSON messages. In text output, they were shown
/// when the plan was created.
pub(crate) fn saved_plan(shell: &Shell, plan: &Plan) {
    if shell.wants_messages() {
        for change in
            plan.changes.iter().filter(|change| change.action != Action::NoOp && is_reported(change))
        {
            shell.message(&Message::PlannedChange(change));
        }
        for invocation in &plan.invocations {
            shell.message(&Message::PlannedInvocation(invocation));
        }
    }
}

/// Returns whether a change is reported. Removed data sources are not reported.
fn is_reported(change: &ResourceChange) -> bool {
    let goes = change.address.mode() == ResourceMode::Data && change.action == Action::Delete;
    !goes && (change.action != Action::NoOp || change.is_moved() || change.importing.is_some())
}

/// Reports the result of an apply, and the outputs.
pub(crate) fn done(shell: &Shell, summary: Summary, counts: ChangeCounts, state: &State) {
    if shell.wants_messages() {
        shell.message(&Message::Summary(summary, counts));
    }
    if !shell.is_for_programs() {
        shell.say(printable!("\n{}", shell.paint(Paint::Success, printable!("{}", summary.text(counts)))));
    }
    if summary != Summary::Destroy {
        outputs(shell, &state.outputs);
    }
}

/// Reports outputs. The JSON message is written even if there are no outputs.
pub(crate) fn outputs(shell: &Shell, outputs: &BTreeMap<Str, OutputValue>) {
    if shell.wants_messages() {
        shell.message(&Message::Outputs(outputs));
    }
    if !shell.is_for_programs() && !outputs.is_empty() {
        let heading = shell.paint(Paint::Success, "Outputs:");
        shell.print(printable!("\n{heading}\n\n{}", render_outputs(outputs)));
    }
}
