//! The invocations of actions in a comment.

use wardian_review::{ActionEvent, GroupAction, GroupedInvocations, Review};

use super::text::MarkdownText;
use crate::value_text::value_text;

/// Maximum number of objects that the line of an action contains.
const MAX_OBJECTS: usize = 3;
/// Maximum number of actions in the line of a change.
const MAX_TRIGGERED: usize = 3;
/// Maximum number of arguments of an invocation.
const MAX_ARGUMENTS: usize = 5;

/// Adds the actions that each change of a group triggers.
pub(super) fn push_triggered(text: &mut MarkdownText, actions: &[GroupAction]) {
    for (index, action) in actions.iter().take(MAX_TRIGGERED).enumerate() {
        text.push(if index == 0 { "; invokes " } else { ", " });
        text.push_code(&action.action);
        text.push(" ");
        push_event(text, Some(&action.event));
    }
    if actions.len() > MAX_TRIGGERED {
        text.push(" and ");
        text.push_number(actions.len() - MAX_TRIGGERED);
        text.push(" more");
    }
}

/// Returns the line of the invocations of an action.
pub(super) fn group(review: &Review, group: &GroupedInvocations) -> MarkdownText {
    let mut text = MarkdownText::new();
    let members = || group.members.iter().filter_map(|id| review.invocation(*id));
    text.push("- ");
    let count = group.members.len();
    if count > 1 {
        text.push_number(count);
        text.push(" \u{d7} ");
    }
    text.push_code(&group.action);
    text.push(" ");
    push_event(&mut text, group.event.as_ref());
    let objects = members().filter_map(|invocation| invocation.trigger.as_ref());
    for (index, trigger) in objects.take(MAX_OBJECTS).enumerate() {
        text.push(if index == 0 { ": " } else { ", " });
        text.push_code(&trigger.object);
    }
    if count > MAX_OBJECTS {
        text.push(" and ");
        text.push_number(count - MAX_OBJECTS);
        text.push(" more");
    }
    if let (1, Some(invocation)) = (count, members().next()) {
        for (index, argument) in invocation.arguments.iter().take(MAX_ARGUMENTS).enumerate() {
            text.push(if index == 0 { " \u{2014} " } else { ", " });
            text.push_code(argument.path.as_str());
            text.push(" = ");
            text.push_code(&value_text(&argument.value));
        }
        if invocation.arguments.len() > MAX_ARGUMENTS {
            text.push(", ...");
        }
    }
    text.push("\n");
    text
}

fn push_event(text: &mut MarkdownText, event: Option<&ActionEvent>) {
    match event.map(|event| event.time().ok_or(event)) {
        None => text.push("requested with `-invoke`"),
        Some(Ok(time)) => text.push(time),
        Some(Err(unknown)) => text.push_code(unknown.description()),
    }
}
