//! Renders a plan as text.
//!
//! The sections, from top to bottom: changes outside of Wardian (refresh-only plans), the action
//! symbols, the changes, the summary, the outputs, and the instructions for applying the plan.
//! Empty sections are omitted. The headers are the same as Terraform's, since programs search for
//! them.

use std::collections::BTreeMap;

use wardian_address::ResourceMode;
use wardian_engine::{Action, ChangeCounts, Mode, OutputChange, Plan, ResourceChange};
use wardian_printable::{PrintableText, append, append_line, printable};
use wardian_value::{Str, Value};

pub(crate) use folding::Folding;

use super::RenderOptions;
use super::difference::{Difference, Effect, Forcing, Sides, dynamic, schema};
use super::layout::{self, Context};
use super::style::{Page, Style};
use crate::product::Product;

mod actions;
mod drift;
mod folding;
mod header;
mod lines;

/// The note about applying a plan, shown after the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlanNote<'a> {
    /// No note, because the user is asked for approval, or the plan is only shown.
    None,
    /// The plan was not saved.
    NotSaved,
    /// The plan was saved to a file.
    Saved {
        /// The path of the plan file.
        path: &'a str,
        /// The command that applies the file.
        apply_command: &'a str,
    },
}

/// Whether a change is planned or has already happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Planned,
    Drift,
}

/// Returns the whole plan: drift, changes, summary, outputs, note. Begins with an empty line and
/// ends with a line break.
pub(crate) fn render_plan(plan: &Plan, note: PlanNote<'_>, options: RenderOptions) -> PrintableText {
    render_folded_plan(plan, &Folding::default(), note, options)
}

/// Returns the whole plan like [`render_plan`], with one change for each group of equal changes.
pub(crate) fn render_folded_plan(
    plan: &Plan,
    folding: &Folding,
    note: PlanNote<'_>,
    options: RenderOptions,
) -> PrintableText {
    let mut page = Page::new(options.color);
    let has_drift = drift::write(&mut page, plan, options);
    let changes: Vec<&ResourceChange> = plan.changes.iter().filter(|change| is_shown(change)).collect();
    let outputs = output_differences(&plan.outputs);
    let invokes = !plan.invocations.is_empty();
    if changes.is_empty() && outputs.is_empty() && !invokes {
        if !has_drift || plan.errored {
            write_no_changes(&mut page, plan, options);
        }
    } else {
        if has_drift {
            page.rule(options.width);
        }
        write_changes(&mut page, plan, &changes, folding, options);
        if changes.is_empty() && invokes {
            actions::write_requested(&mut page, plan, options);
            write_summary(&mut page, plan);
        }
        write_outputs(&mut page, plan, &outputs);
        if !outputs.is_empty() && changes.iter().all(|change| !change.is_effective()) {
            page.push("\n");
            page.paragraph(options.product.outputs_note(), options.sentence_width());
        }
    }
    let is_anything_to_do = has_drift || !changes.is_empty() || !outputs.is_empty() || invokes;
    if is_anything_to_do && !plan.errored {
        write_note(&mut page, note, options);
    }
    page.finish()
}

/// Returns `Plan: 1 to import, 1 to add, 0 to change, 0 to destroy.`
pub(crate) fn summary(counts: ChangeCounts) -> String {
    let ChangeCounts { add, change, destroy, import, forget: _, invoke } = counts;
    let import = if import > 0 { format!("{import} to import, ") } else { String::new() };
    let actions = if invoke > 0 { format!(" Actions: {invoke} to invoke.") } else { String::new() };
    format!("Plan: {import}{add} to add, {change} to change, {destroy} to destroy.{actions}")
}

/// Returns whether a change is shown. Removed data sources are not shown; objects that are only
/// moved are shown.
fn is_shown(change: &ResourceChange) -> bool {
    match change.address.mode() {
        ResourceMode::Managed => change.is_effective() || change.is_moved() || change.importing.is_some(),
        ResourceMode::Data => !matches!(change.action, Action::NoOp | Action::Delete),
        ResourceMode::Ephemeral => false,
    }
}

fn write_changes(
    page: &mut Page,
    plan: &Plan,
    changes: &[&ResourceChange],
    folding: &Folding,
    options: RenderOptions,
) {
    if changes.is_empty() {
        return;
    }
    write_legend(page, changes, options);
    page.push("\n");
    let name = options.product.name();
    if plan.errored {
        append_line!(page, "{name} planned the following actions, but then encountered a problem:");
    } else {
        append_line!(page, "{name} will perform the following actions:");
    }
    let invocations = actions::Invocations::new(plan);
    for change in changes.iter().filter(|change| !folding.hides(change)) {
        page.push("\n");
        write_change(page, change, Cause::Planned, options.product);
        if let Some(note) = folding.note(change) {
            page.paint(Style::Gray, note.clone());
            page.push("\n");
        }
        invocations.write(page, change);
    }
    write_summary(page, plan);
}

fn write_summary(page: &mut Page, plan: &Plan) {
    let summary = summary(plan.counts());
    let (start, rest) = summary.split_once(' ').unwrap_or((&summary, ""));
    page.push("\n");
    page.paint(Style::Bold, printable!("{start}"));
    append_line!(page, " {rest}");
}

fn write_legend(page: &mut Page, changes: &[&ResourceChange], options: RenderOptions) {
    let legend = [
        (Action::Create, "create"),
        (Action::Update, "update in-place"),
        (Action::Delete, "destroy"),
        (Action::DeleteThenCreate, "destroy and then create replacement"),
        (Action::CreateThenDelete, "create replacement and then destroy"),
        (Action::Read, "read (data resources)"),
    ];
    let mut used = legend.map(|(action, _)| (action, false));
    for change in changes {
        for (action, is_used) in &mut used {
            *is_used |= *action == change.action;
        }
    }
    if used.iter().all(|(_, is_used)| !is_used) {
        return;
    }
    page.push("\n");
    page.paragraph(options.product.plan_introduction(), options.sentence_width());
    for ((action, meaning), (_, is_used)) in legend.into_iter().zip(used) {
        if is_used {
            header::symbol(page, action);
            append_line!(page, " {meaning}");
        }
    }
}

fn write_change(page: &mut Page, change: &ResourceChange, cause: Cause, product: Product) {
    header::write(page, change, cause, product);
    let forcing = Forcing::new(change.required_replace.iter().map(|path| path.steps()));
    // A forgotten object does not change.
    let after = if change.action == Action::Forget { &change.before } else { &change.after };
    let sides = Sides::new(Some(&change.before), Some(after));
    let difference = schema::of_block(sides, &change.schema.block, &forcing);
    // An imported object is shown in full.
    let is_new_here = change.action == Action::NoOp && change.importing.is_some();
    let context = Context { show_unchanged: is_new_here, ..Context::of_change() };
    layout::write(page, &difference, 0, context);
    page.push("\n");
}

fn output_differences(outputs: &BTreeMap<Str, OutputChange>) -> Vec<(&Str, Difference<'_>)> {
    let changed = outputs.iter().filter(|(_, output)| output.action != Action::NoOp);
    changed.map(|(name, output)| (name, output_difference(output))).collect()
}

fn output_difference<'a>(output: &'a OutputChange) -> Difference<'a> {
    let present = |value: &'a Value| Some(value).filter(|value| !value.is_null());
    let sides = Sides::new(present(&output.before), present(&output.after));
    let mut difference =
        if output.sensitive { dynamic::sensitive(sides) } else { dynamic::difference(sides) };
    if difference.effect == Effect::None {
        // Only a property that is not shown changes, such as whether the output is sensitive.
        difference.effect = Effect::Update;
    }
    difference
}

/// Writes the changes of outputs. The names are aligned with the names of all outputs in the plan,
/// including unchanged ones.
fn write_outputs(page: &mut Page, plan: &Plan, outputs: &[(&Str, Difference<'_>)]) {
    if outputs.is_empty() {
        return;
    }
    page.push("\nChanges to Outputs:\n");
    let width = plan.outputs.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, difference) in outputs {
        layout::symbol(page, difference.effect, Context::of_change());
        append!(page, "{:<width$} = ", &***name);
        layout::write(page, difference, 0, Context::of_change());
        page.push("\n");
    }
}

fn write_no_changes(page: &mut Page, plan: &Plan, options: RenderOptions) {
    page.push("\n");
    if plan.errored {
        page.paint(Style::BoldRed, "Planning failed.");
        page.push(" ");
        page.paint(Style::Bold, options.product.planning_failed());
        page.push("\n\n");
        return;
    }
    let headline = match plan.mode {
        Mode::Normal => "Your infrastructure matches the configuration.",
        Mode::RefreshOnly => "Your infrastructure still matches the configuration.",
        Mode::Destroy => "No objects need to be destroyed.",
    };
    page.paint(Style::BoldGreen, "No changes.");
    page.push(" ");
    page.paint(Style::Bold, headline);
    page.push("\n\n");
    page.paragraph(options.product.no_changes(plan.mode), options.sentence_width());
}

/// Returns the note about applying a plan. Begins with an empty line.
pub(crate) fn render_note(note: PlanNote<'_>, options: RenderOptions) -> PrintableText {
    let mut page = Page::new(options.color);
    write_note(&mut page, note, options);
    page.finish()
}

fn write_note(page: &mut Page, note: PlanNote<'_>, options: RenderOptions) {
    match note {
        PlanNote::None => {}
        PlanNote::NotSaved => {
            page.push("\n");
            page.rule(options.width);
            page.push("\n");
            page.paragraph(options.product.plan_not_saved(), options.sentence_width());
        }
        PlanNote::Saved { path, apply_command } => {
            page.push("\n");
            page.rule(options.width);
            append_line!(page, "\nSaved the plan to: {path}\n");
            append_line!(page, "{}", options.product.how_to_apply());
            append_line!(page, "    {apply_command}");
        }
    }
}

#[cfg(test)]
mod tests;
