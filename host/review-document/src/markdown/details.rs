//! The differences of a group in a collapsed element.

use wardian_review::{
    AttributeChange, ChangeGroup, ChangeId, DifferenceLine, GroupAttribute, Review, ReviewedChange,
    ReviewedValue, line_difference, omitted_starts,
};

use super::text::{FencedLines, MAX_NAME_LENGTH, MarkdownText};
use crate::explanation::{Fragment, member_explanations};
use crate::value_text::{ShownValue, cut, shown_values};

/// Maximum length of a value.
const MAX_VALUE_LENGTH: usize = 300;
/// Maximum number of lines of one text.
const MAX_TEXT_LINES: usize = 60;
/// Maximum number of attributes of one change.
const MAX_ATTRIBUTES: usize = 100;
/// Maximum number of addresses with the same values.
const MAX_ADDRESSES: usize = 100;
/// Maximum length of the differences of one group.
const MAX_LENGTH: usize = 20_000;
/// Length that the element and the notes need in addition to the differences.
const OVERHEAD: usize = 400;
/// Length of the differences without which a group is omitted.
const MIN_LENGTH: usize = 200;

/// Returns the differences of a group, which are not longer than `left` unless a single difference is;
/// empty if there are none, and `None` if there is no room.
pub(super) fn group_details(review: &Review, group: &ChangeGroup, left: usize) -> Option<MarkdownText> {
    let length = left.checked_sub(OVERHEAD)?.min(MAX_LENGTH);
    if length < MIN_LENGTH {
        return None;
    }
    let (_, first) = review.members(group).next()?;
    let mut lines = FencedLines::default();
    let mut text = MarkdownText::new();
    text.push("<details><summary>");
    if group.members.len() == 1 {
        push_changes(&mut lines, first.attributes.iter(), length);
        text.push_html_code(&first.address, MAX_NAME_LENGTH);
    } else {
        push_group(&mut lines, review, group, length);
        text.push_number(group.members.len());
        text.push(" \u{d7} ");
        text.push_html_code(&group.type_name, MAX_NAME_LENGTH);
    }
    if lines.is_empty() {
        return Some(MarkdownText::new());
    }
    text.push("</summary>\n\n");
    text.push_fenced(&lines);
    text.push("\n</details>\n");
    Some(text)
}

/// Adds the differences that all members have in common, and then each member with its own differences.
fn push_group(lines: &mut FencedLines, review: &Review, group: &ChangeGroup, length: usize) {
    let shared: Vec<AttributeChange> = group.attributes.iter().filter_map(GroupAttribute::shared).collect();
    push_changes(lines, shared.iter(), length);
    // Their new values are not known.
    let replaced = group.attributes.iter().filter(|attribute| attribute.varies() && !attribute.differs());
    for attribute in replaced.take(MAX_ATTRIBUTES) {
        let path = cut(attribute.path.as_str(), MAX_VALUE_LENGTH).0;
        let note = if attribute.forces_replacement { " # forces replacement" } else { "" };
        lines.push("+ ", &[path, " = (known after apply)", note]);
    }
    let differing = group.differing();
    let mut left = group.members.len();
    for variant in review.variants(group) {
        if lines.len() > length {
            break;
        }
        left -= variant.len();
        push_members(lines, review, group, &variant, length);
        let first = variant.first().and_then(|id| review.change(*id));
        let own =
            first.iter().flat_map(|first| differing.iter().filter_map(|index| first.attributes.get(*index)));
        push_changes(lines, own, length);
    }
    if left > 0 {
        lines.push("# and ", &[&left.to_string(), " more objects with other values"]);
    }
}

/// Adds the addresses of members with equal values, and the facts that only one of them has.
fn push_members(
    lines: &mut FencedLines,
    review: &Review,
    group: &ChangeGroup,
    members: &[ChangeId],
    length: usize,
) {
    let mut shown = 0;
    for change in members.iter().take(MAX_ADDRESSES).filter_map(|id| review.change(*id)) {
        if shown > 0 && lines.len() > length {
            break;
        }
        shown += 1;
        push_member(lines, group, change);
    }
    if members.len() > shown {
        lines.push("# and ", &[&(members.len() - shown).to_string(), " more"]);
    }
}

fn push_member(lines: &mut FencedLines, group: &ChangeGroup, change: &ReviewedChange) {
    let clauses = member_explanations(group, change);
    let mut parts: Vec<&str> = vec![cut(&change.address, MAX_VALUE_LENGTH).0];
    for clause in &clauses {
        parts.push("; ");
        for fragment in clause {
            parts.push(match fragment {
                Fragment::Words(words) => words,
                Fragment::Name(name) => cut(name, MAX_VALUE_LENGTH).0,
                Fragment::Change(_, address) => cut(address, MAX_VALUE_LENGTH).0,
            });
        }
    }
    lines.push("# ", &parts);
}

fn push_changes<'a>(
    lines: &mut FencedLines,
    attributes: impl Iterator<Item = &'a AttributeChange>,
    length: usize,
) {
    let mut more = 0;
    for (index, attribute) in attributes.enumerate() {
        if index < MAX_ATTRIBUTES && (index == 0 || lines.len() <= length) {
            push_change(lines, attribute);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        lines.push("# and ", &[&more.to_string(), " more attributes"]);
    }
}

fn push_change(lines: &mut FencedLines, attribute: &AttributeChange) {
    let path = cut(attribute.path.as_str(), MAX_VALUE_LENGTH).0;
    let note = if attribute.forces_replacement { " # forces replacement" } else { "" };
    if let (Some(ReviewedValue::Text(before)), Some(ReviewedValue::Text(after))) =
        (&attribute.before, &attribute.after)
        && (before.contains('\n') || after.contains('\n'))
    {
        lines.push("! ", &[path, ":", note]);
        let difference = line_difference(before, after);
        let omitted = omitted_starts(&difference, MAX_VALUE_LENGTH);
        for (line, omitted) in difference.iter().zip(omitted).take(MAX_TEXT_LINES) {
            let mut push = |start: &'static str, line: &str| {
                let value = ShownValue::new(line, omitted, MAX_VALUE_LENGTH);
                lines.push(start, &[&value.start(), &value.text, &value.end()]);
            };
            match line {
                DifferenceLine::Equal(line) => push("    ", line),
                DifferenceLine::Removed(line) => push("-   ", line),
                DifferenceLine::Added(line) => push("+   ", line),
                DifferenceLine::Skipped => lines.push("    ...", &[]),
                DifferenceLine::EndRemoved => lines.push("-   (line break at the end)", &[]),
                DifferenceLine::EndAdded => lines.push("+   (line break at the end)", &[]),
            }
        }
        if difference.len() > MAX_TEXT_LINES {
            lines.push("# and ", &[&(difference.len() - MAX_TEXT_LINES).to_string(), " more lines"]);
        }
        return;
    }
    let values = shown_values(attribute.before.as_ref(), attribute.after.as_ref(), MAX_VALUE_LENGTH);
    let [before, after] = values;
    let note_before = if after.is_none() { note } else { "" };
    for (start, value, note) in [("- ", before, note_before), ("+ ", after, note)] {
        if let Some(value) = value {
            push_value(lines, start, path, &value, note);
        }
    }
}

fn push_value(lines: &mut FencedLines, start: &'static str, path: &str, value: &ShownValue, note: &str) {
    lines.push(start, &[path, " = ", &value.start(), &value.text, &value.end(), note]);
}
