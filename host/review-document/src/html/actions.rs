//! The invocations of actions in a page.

use wardian_review::{ActionEvent, GroupAction, GroupedInvocations, Review, ReviewedInvocation};

use super::writer::HtmlWriter;
use crate::value_text::value_text;

/// Maximum number of invocations of one action that are not collapsed.
const OPEN_INVOCATIONS: usize = 1;

/// Writes the actions that each change of a group triggers.
pub(super) fn write_triggered(page: &mut HtmlWriter<'_>, actions: &[GroupAction]) {
    if actions.is_empty() {
        return;
    }
    page.raw("<p class=rest>Invokes ");
    for (index, action) in actions.iter().enumerate() {
        page.raw(if index == 0 { "" } else { ", " });
        page.code(&action.action);
        page.raw(" ");
        write_event(page, Some(&action.event));
    }
    page.raw("</p>");
}

/// Writes all invocations of actions.
pub(super) fn write(page: &mut HtmlWriter<'_>, review: &Review, plan: usize) {
    if review.invocations.is_empty() {
        return;
    }
    page.raw("<h3>Actions</h3>\n<ul class=actions>");
    for group in &review.invocation_groups {
        write_group(page, review, group, plan);
    }
    page.raw("</ul>\n");
}

fn write_group(page: &mut HtmlWriter<'_>, review: &Review, group: &GroupedInvocations, plan: usize) {
    let count = group.members.len();
    page.raw(if count <= OPEN_INVOCATIONS {
        "<li><details open><summary>"
    } else {
        "<li><details><summary>"
    });
    if count > 1 {
        page.raw("<b>");
        page.grouped_number(count);
        page.raw("</b> \u{d7} ");
    }
    page.code(&group.action);
    page.raw(" <span class=why>");
    write_event(page, group.event.as_ref());
    page.raw("</span></summary><ol class=members>");
    for invocation in group.members.iter().filter_map(|id| review.invocation(*id)) {
        page.raw("<li>");
        write_invocation(page, invocation, plan);
        page.raw("\n");
    }
    page.raw("</ol></details>\n");
}

fn write_invocation(page: &mut HtmlWriter<'_>, invocation: &ReviewedInvocation, plan: usize) {
    page.code(&invocation.address);
    if let Some(trigger) = &invocation.trigger {
        page.raw(" <span class=why>for ");
        if let Some(id) = trigger.change {
            page.raw("<a href=\"#p");
            page.number(plan);
            page.raw("c");
            page.number(id.index());
            page.raw("\">");
            page.code(&trigger.object);
            page.raw("</a>");
        } else {
            page.code(&trigger.object);
        }
        page.raw("</span>");
    }
    if invocation.arguments.is_empty() {
        return;
    }
    page.raw("<ul class=diff>");
    for argument in &invocation.arguments {
        page.raw("<li>");
        page.code(argument.path.as_str());
        page.raw(" = <code dir=auto>");
        page.lines(&value_text(&argument.value));
        page.raw("</code>");
    }
    page.raw("</ul>");
}

fn write_event(page: &mut HtmlWriter<'_>, event: Option<&ActionEvent>) {
    match event.map(|event| event.time().ok_or(event)) {
        None => page.raw("requested with -invoke"),
        Some(Ok(time)) => page.raw(time),
        Some(Err(unknown)) => page.code(unknown.description()),
    }
}
