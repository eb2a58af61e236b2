//! The lines of groups, outputs and changes outside of the configuration.

use std::collections::BTreeMap;

use wardian_review::{
    ChangeClass, ChangeGroup, GroupValue, Review, ReviewedChange, ReviewedOutput, SourcePosition,
};

use super::actions;
use super::text::MarkdownText;
use crate::explanation::{Fragment, explanations, group_explanations};
use crate::value_text::{ShownValue, shown_values};

/// Maximum number of addresses that the line of a group contains.
const MAX_ADDRESSES: usize = 3;
/// The same, for changes that destroy objects.
const MAX_DESTROYED_ADDRESSES: usize = 10;
/// Maximum number of explanations in a line.
const MAX_EXPLANATIONS: usize = 3;
/// Maximum length of a value in a line.
const MAX_VALUE_LENGTH: usize = 100;
/// Maximum number of attributes in the line of an output or of a change outside of the configuration.
const MAX_ATTRIBUTES: usize = 3;

/// Returns the line of a group.
pub(super) fn group(review: &Review, group: &ChangeGroup) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("- ");
    let Some((_, first)) = review.members(group).next() else { return text };
    let count = group.members.len();
    if count > 1 {
        text.push_number(count);
        text.push(" \u{d7} ");
        text.push_code(&group.type_name);
        push_attributes(&mut text, review, group);
        text.push(": ");
        let limit = if group.class().destroys() { MAX_DESTROYED_ADDRESSES } else { MAX_ADDRESSES };
        for (index, (_, change)) in review.members(group).take(limit).enumerate() {
            text.push(if index == 0 { "" } else { ", " });
            text.push_code(&change.address);
        }
        if count > limit {
            text.push(" and ");
            text.push_number(count - limit);
            text.push(" more");
        }
    } else {
        text.push_code(&first.address);
    }
    let source = first.source.as_ref().filter(|_| group.has_one_source);
    push_explanations(&mut text, &group_explanations(group, first), source);
    actions::push_triggered(&mut text, &group.actions);
    text.push("\n");
    text
}

/// Returns the line of a group with no more than what identifies it.
pub(super) fn short_group(review: &Review, group: &ChangeGroup) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("- ");
    let count = group.members.len();
    if count > 1 {
        text.push_number(count);
        text.push(" \u{d7} ");
    }
    if let Some((_, first)) = review.members(group).next() {
        text.push_code(&first.address);
    }
    if count > 1 {
        text.push(" and others");
    }
    text.push("\n");
    text
}

fn push_attributes(text: &mut MarkdownText, review: &Review, group: &ChangeGroup) {
    if !matches!(group.class(), ChangeClass::Update | ChangeClass::Replace) {
        return;
    }
    let forcing = group.attributes.iter().filter(|attribute| attribute.forces_replacement);
    let others = group.attributes.iter().filter(|attribute| !attribute.forces_replacement);
    for (index, attribute) in forcing.chain(others).take(MAX_ADDRESSES).enumerate() {
        text.push(if index == 0 { " " } else { ", " });
        text.push_code(attribute.path.as_str());
        if let (GroupValue::Same(Some(before)), GroupValue::Same(Some(after))) =
            (&attribute.before, &attribute.after)
        {
            push_values(text, shown_values(Some(before), Some(after), MAX_VALUE_LENGTH));
        }
    }
    if group.attributes.len() > MAX_ADDRESSES {
        text.push(" and ");
        text.push_number(group.attributes.len() - MAX_ADDRESSES);
        text.push(" more attributes");
    }
    if !group.is_uniform() {
        text.push(" (");
        text.push_number(review.variants(group).len());
        text.push(" different changes)");
    }
}

fn push_values(text: &mut MarkdownText, [before, after]: [Option<ShownValue>; 2]) {
    let is_change = before.is_some() && after.is_some();
    for (index, value) in [before, after].into_iter().flatten().enumerate() {
        text.push(if index == 0 && is_change {
            " "
        } else if is_change {
            " \u{2192} "
        } else {
            " = "
        });
        let start = if value.omitted > 0 { "..." } else { "" };
        let end = if value.removed > 0 { "..." } else { "" };
        text.push_code(&format!("{start}{}{end}", value.text));
    }
}

fn push_explanations(
    text: &mut MarkdownText,
    clauses: &[Vec<Fragment<'_>>],
    source: Option<&SourcePosition>,
) {
    for (index, clause) in clauses.iter().take(MAX_EXPLANATIONS).enumerate() {
        text.push(if index == 0 { " \u{2014} " } else { "; " });
        for fragment in clause {
            match fragment {
                Fragment::Words(words) => text.push(words),
                Fragment::Name(name) => text.push_code(name),
                Fragment::Change(_, address) => text.push_code(address),
            }
        }
    }
    if clauses.len() > MAX_EXPLANATIONS {
        text.push("; ...");
    }
    if let Some(source) = source {
        text.push(" (");
        text.push_code(&format!("{}:{}", source.file, source.line));
        text.push(")");
    }
}

/// Returns the line of an output.
pub(super) fn output(output: &ReviewedOutput) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("- ");
    text.push(output.class.name());
    text.push(" ");
    text.push_code(&output.name);
    match &*output.attributes {
        [] => {}
        [only] if *only.path.as_str() == *output.name => {
            push_values(&mut text, shown_values(only.before.as_ref(), only.after.as_ref(), MAX_VALUE_LENGTH));
        }
        attributes => {
            text.push(":");
            push_differences(&mut text, attributes);
        }
    }
    text.push("\n");
    text
}

/// Returns the line of a change that was made outside of the configuration's runs.
pub(super) fn drift(review: &Review, change: &ReviewedChange) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push(match change.class() {
        ChangeClass::Destroy => "- destroyed: ",
        ChangeClass::Move => "- moved: ",
        _ => "- changed: ",
    });
    text.push_code(&change.address);
    if review.is_relevant_drift(change) {
        text.push(" (the plan depends on it)");
    }
    if change.class() == ChangeClass::Move {
        push_explanations(&mut text, &explanations(change), None);
    } else if change.class() != ChangeClass::Destroy {
        push_differences(&mut text, &change.attributes);
    }
    text.push("\n");
    text
}

/// Returns the lines of the providers whose objects change.
pub(super) fn providers(review: &Review) -> Vec<MarkdownText> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for change in review.changes.iter().filter(|change| !change.provider.is_empty()) {
        *counts.entry(&change.provider).or_default() += 1;
    }
    let line = |(provider, count): (&str, usize)| {
        let mut text = MarkdownText::new();
        text.push("- ");
        text.push_code(provider);
        text.push(": ");
        text.push_number(count);
        text.push(if count == 1 { " change\n" } else { " changes\n" });
        text
    };
    counts.into_iter().map(line).collect()
}

/// Adds the first differences of attributes.
fn push_differences(text: &mut MarkdownText, attributes: &[wardian_review::AttributeChange]) {
    for (index, attribute) in attributes.iter().take(MAX_ATTRIBUTES).enumerate() {
        text.push(if index == 0 { " " } else { ", " });
        text.push_code(attribute.path.as_str());
        let values = shown_values(attribute.before.as_ref(), attribute.after.as_ref(), MAX_VALUE_LENGTH);
        push_values(text, values);
    }
    if attributes.len() > MAX_ATTRIBUTES {
        text.push(" and ");
        text.push_number(attributes.len() - MAX_ATTRIBUTES);
        text.push(" more");
    }
}
