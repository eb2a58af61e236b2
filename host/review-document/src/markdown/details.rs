//! The differences of a group in a collapsed element.

use wardian_review::{
    AttributeChange, AttributeEffect, ChangeGroup, GroupAttribute, GroupValue, Review, ReviewedValue,
};

use super::text::{FencedLines, MarkdownText};
use crate::line_difference::{DifferenceLine, line_difference};
use crate::value_text::{cut, value_text};

/// Maximum length of a value.
const MAX_VALUE_LENGTH: usize = 300;
/// Maximum number of lines of one text.
const MAX_TEXT_LINES: usize = 60;
/// Maximum number of attributes of one change.
const MAX_ATTRIBUTES: usize = 100;
/// Maximum number of addresses of one group.
const MAX_ADDRESSES: usize = 100;
/// Maximum length of the differences of one group.
const MAX_LENGTH: usize = 20_000;

/// Returns the differences of a group; empty if there are none.
pub(super) fn group_details(review: &Review, group: &ChangeGroup) -> MarkdownText {
    let mut lines = FencedLines::default();
    let first = review.members(group).next().map(|(_, change)| change);
    let mut text = MarkdownText::new();
    text.push("<details><summary>");
    if group.members.len() == 1 {
        for attribute in first.into_iter().flat_map(|change| &change.attributes).take(MAX_ATTRIBUTES) {
            push_change(&mut lines, attribute);
        }
        text.push_html_code(first.map(|change| &*change.address).unwrap_or_default());
    } else {
        for attribute in group.attributes.iter().take(MAX_ATTRIBUTES) {
            push_group_attribute(&mut lines, attribute);
        }
        for (_, change) in review.members(group).take(MAX_ADDRESSES) {
            if lines.len() > MAX_LENGTH {
                break;
            }
            lines.push("# ", &[&change.address]);
        }
        if group.members.len() > MAX_ADDRESSES {
            lines.push("# and ", &[&(group.members.len() - MAX_ADDRESSES).to_string(), " more"]);
        }
        text.push_number(group.members.len());
        text.push(" \u{d7} ");
        text.push_html_code(&group.type_name);
    }
    let attributes = group.attributes.len();
    if attributes > MAX_ATTRIBUTES {
        lines.push("# and ", &[&(attributes - MAX_ATTRIBUTES).to_string(), " more attributes"]);
    }
    if lines.is_empty() {
        return MarkdownText::new();
    }
    text.push("</summary>\n\n");
    text.push_fenced(&lines);
    text.push("\n</details>\n");
    text
}

fn push_change(lines: &mut FencedLines, attribute: &AttributeChange) {
    if lines.len() > MAX_LENGTH {
        return;
    }
    let path = attribute.path.as_str();
    let note = if attribute.forces_replacement { " # forces replacement" } else { "" };
    if let (Some(ReviewedValue::Text(before)), Some(ReviewedValue::Text(after))) =
        (&attribute.before, &attribute.after)
        && (before.contains('\n') || after.contains('\n'))
    {
        lines.push("! ", &[path, ":", note]);
        let difference = line_difference(before, after);
        for line in difference.iter().take(MAX_TEXT_LINES) {
            match line {
                DifferenceLine::Equal(line) => lines.push("    ", &[cut(line, MAX_VALUE_LENGTH).0]),
                DifferenceLine::Removed(line) => lines.push("-   ", &[cut(line, MAX_VALUE_LENGTH).0]),
                DifferenceLine::Added(line) => lines.push("+   ", &[cut(line, MAX_VALUE_LENGTH).0]),
                DifferenceLine::Skipped => lines.push("    ...", &[]),
            }
        }
        if difference.len() > MAX_TEXT_LINES {
            lines.push("# and ", &[&(difference.len() - MAX_TEXT_LINES).to_string(), " more lines"]);
        }
        return;
    }
    if let Some(before) = &attribute.before {
        push_value(lines, "- ", path, before, if attribute.after.is_none() { note } else { "" });
    }
    if let Some(after) = &attribute.after {
        push_value(lines, "+ ", path, after, note);
    }
}

fn push_value(lines: &mut FencedLines, start: &'static str, path: &str, value: &ReviewedValue, note: &str) {
    let text = value_text(value);
    let (kept, removed) = cut(&text, MAX_VALUE_LENGTH);
    if removed > 0 {
        lines.push(start, &[path, " = ", kept, "... (", &removed.to_string(), " more characters)", note]);
    } else {
        lines.push(start, &[path, " = ", kept, note]);
    }
}

fn push_group_attribute(lines: &mut FencedLines, attribute: &GroupAttribute) {
    let path = attribute.path.as_str();
    let note = if attribute.forces_replacement { " # forces replacement" } else { "" };
    if let (GroupValue::Same(before), GroupValue::Same(after)) = (&attribute.before, &attribute.after) {
        let change = AttributeChange {
            path: attribute.path.clone(),
            before: before.clone(),
            after: after.clone(),
            forces_replacement: attribute.forces_replacement,
        };
        push_change(lines, &change);
        return;
    }
    let effect = match (&attribute.before, &attribute.after) {
        (GroupValue::Same(None), _) => AttributeEffect::Add,
        (_, GroupValue::Same(None)) => AttributeEffect::Remove,
        _ => AttributeEffect::Change,
    };
    match effect {
        AttributeEffect::Add => lines.push("+ ", &[path, " = (different values)", note]),
        AttributeEffect::Remove => lines.push("- ", &[path, " = (different values)", note]),
        AttributeEffect::Change => lines.push("! ", &[path, ": different values", note]),
    }
}
