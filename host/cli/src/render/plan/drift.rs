//! Renders the changes outside of Wardian that are relevant to users.
//!
//! A refresh-only plan shows all of them. Any other plan shows only changes that may have affected
//! it, and only if the plan itself has changes: for each object, the attributes to which the plan
//! refers.

use std::borrow::Cow;
use std::collections::HashMap;

use wardian_address::ResourceInstanceAddress;
use wardian_engine::{Action, Mode, Plan, ResourceChange};
use wardian_printable::printable;
use wardian_value::{PathStep, Value, View};

use super::{Cause, header};
use crate::render::RenderOptions;
use crate::render::difference::{Effect, Forcing, Sides, schema};
use crate::render::layout::{self, Context};
use crate::render::style::{Page, Style};

/// An object that changed. Only the current values that are shown are included.
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
    let (name, command) = (options.product.name(), options.product.command());
    page.paint(Style::Bold, printable!("Objects have changed outside of {name}"));
    page.push("\n\n");
    let introduction = match plan.mode {
        _ if !options.product.is_own() => printable!(
            "{name} detected the following changes made outside of {name} since the last \"{command} apply\" \
             which may have affected this plan:"
        ),
        Mode::RefreshOnly => {
            printable!("Since the last apply, the following objects were changed outside of {name}:")
        }
        Mode::Normal | Mode::Destroy => printable!(
            "Since the last apply, the following changes were made outside of {name}, which may have \
             affected this plan:"
        ),
    };
    page.paragraph(introduction, options.sentence_width());
    for object in drift {
        page.push("\n");
        write_object(page, &object, options);
    }
    page.push("\n\n");
    let consequence = match (plan.mode, options.product.is_own()) {
        (Mode::RefreshOnly, true) => printable!(
            "This is a refresh-only plan: it does not undo these changes. Apply it to record them in the \
             state without changing any object."
        ),
        (Mode::RefreshOnly, false) => printable!(
            "This is a refresh-only plan, so {name} will not take any actions to undo these. If you were \
             expecting these changes then you can apply this plan to record the updated values in the {name} \
             state without changing any remote objects."
        ),
        (Mode::Normal | Mode::Destroy, true) => printable!(
            "Unless the configuration has the same values or ignores them (ignore_changes), the actions below \
             may undo these changes or respond to them."
        ),
        (Mode::Normal | Mode::Destroy, false) => printable!(
            "Unless you have made equivalent changes to your configuration, or ignored the relevant attributes \
             using ignore_changes, the following plan may include actions to undo or respond to these changes."
        ),
    };
    page.paragraph(consequence, options.sentence_width());
    true
}

fn write_object(page: &mut Page, object: &Shown<'_>, options: RenderOptions) {
    let Shown { change, after } = object;
    header::write(page, change, Cause::Drift, options.product);
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

/// Returns `before` with the changes at the given paths.
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
