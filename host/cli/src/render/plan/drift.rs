//! Renders the changes outside of Wardian that are relevant to people.
//!
//! A refresh-only plan shows all of them. Any other plan shows only changes that may have affected
//! it, and only if the plan itself has changes: for each object, the attributes to which the plan
//! refers.

use std::borrow::Cow;
use std::collections::HashMap;

use wardian_address::ResourceInstanceAddress;
use wardian_engine::{Action, Mode, Plan, ResourceChange};
use wardian_value::{PathStep, Value, View};

use super::{Cause, header};
use crate::render::RenderOptions;
use crate::render::difference::{Effect, Forcing, Sides, schema};
use crate::render::layout::{self, Context};
use crate::render::style::{Page, Style};

/// An object that changed, with only those current values that are shown.
struct Shown<'a> {
    change: &'a ResourceChange,
    after: Cow<'a, Value>,
}

/// Writes the changes, and returns whether any were written.
pub(super) fn write(page: &mut Page, plan: &Plan, options: RenderOptions) -> bool {
    let drift = shown(plan);
    if drift.is_empty() {
        return false;
    }
    page.push("\n");
    page.paint(Style::BoldCyan, "Note:");
    page.push(" ");
    page.paint(Style::Bold, "Objects have changed outside of Wardian");
    page.push("\n\n");
    page.paragraph(
        match plan.mode {
            Mode::RefreshOnly => {
                "Since the last apply, the following objects were changed outside of Wardian:"
            }
            Mode::Normal | Mode::Destroy => {
                "Since the last apply, the following changes were made outside of Wardian, which may have \
                 affected this plan:"
            }
        },
        options.width,
    );
    for object in drift {
        page.push("\n");
        write_object(page, &object);
    }
    page.push("\n\n");
    page.paragraph(
        match plan.mode {
            Mode::RefreshOnly => {
                "This is a refresh-only plan: it does not undo these changes. Apply it to record them in \
                 the state without changing any object."
            }
            Mode::Normal | Mode::Destroy => {
                "Unless the configuration has the same values or ignores them (ignore_changes), the actions \
                 below may undo these changes or respond to them."
            }
        },
        options.width,
    );
    true
}

fn write_object(page: &mut Page, object: &Shown<'_>) {
    let Shown { change, after } = object;
    header::write(page, change, Cause::Drift);
    let sides = Sides::new(Some(&change.before), Some(after));
    let mut difference = schema::of_block(sides, &change.schema.block, &Forcing::default());
    if change.action == Action::Delete {
        difference.effect = Effect::Delete;
    }
    layout::write(page, &difference, 0, Context::of_change());
    page.push("\n");
}

fn shown(plan: &Plan) -> Vec<Shown<'_>> {
    if plan.mode == Mode::RefreshOnly {
        let all = plan.drift.iter().filter(|change| change.is_effective() || change.is_moved());
        return all.map(|change| Shown { change, after: Cow::Borrowed(&change.after) }).collect();
    }
    if plan.drift.is_empty() || !plan.has_changes() {
        return Vec::new();
    }
    let mut relevant: HashMap<&ResourceInstanceAddress, Vec<&[PathStep]>> = HashMap::new();
    for attribute in &plan.relevant_attributes {
        relevant.entry(&attribute.resource).or_default().push(attribute.path.steps());
    }
    plan.drift
        .iter()
        .filter(|change| change.is_effective())
        .filter_map(|change| {
            let after = with_changes_at(&change.before, &change.after, relevant.get(&change.address)?);
            (change.action == Action::Delete || after != change.before)
                .then_some(Shown { change, after: Cow::Owned(after) })
        })
        .collect()
}

/// Returns the first value with only the changes at the given paths.
fn with_changes_at(before: &Value, after: &Value, paths: &[&[PathStep]]) -> Value {
    let View::Object(attributes) = before.view() else { return after.clone() };
    if paths.iter().any(|path| path.is_empty()) {
        return after.clone();
    }
    let mut changed = before.clone();
    for (name, part) in attributes {
        let inside: Vec<&[PathStep]> = paths
            .iter()
            .filter_map(|path| match path {
                [PathStep::Attribute(first) | PathStep::Key(first), rest @ ..] if first == name => Some(rest),
                _ => None,
            })
            .collect();
        if inside.is_empty() {
            continue;
        }
        let gone = || Value::null(part.ty().clone());
        let now = after.get(name).map_or_else(gone, |now| with_changes_at(part, now, &inside));
        changed = changed.with_attribute(name, now);
    }
    changed
}
