//! The changes in a page.

use wardian_review::{
    AttributeChange, AttributeEffect, ChangeClass, ChangeGroup, ChangeId, DifferenceLine, GroupAttribute,
    Review, ReviewedChange, ReviewedValue, SourcePosition, line_difference,
};

use super::actions::write_triggered;
use super::writer::HtmlWriter;
use crate::explanation::{Fragment, explanations, group_explanations, member_explanations};
use crate::value_text::{cut, value_text};

/// Number of characters of a value that are not collapsed.
const OPEN_VALUE_LENGTH: usize = 400;
/// Number of changes that destroy objects and are not collapsed.
const OPEN_CHANGES: usize = 10;
/// Maximum number of attributes of a change that is not collapsed.
const MAX_OPEN_ATTRIBUTES: usize = 8;

/// Writes all changes of a plan, the most severe one first.
pub(super) fn write(page: &mut HtmlWriter<'_>, review: &Review, plan: usize) {
    let mut class = None;
    let mut opened = 0;
    for group in &review.groups {
        if class != Some(group.class()) {
            class = Some(group.class());
            page.raw("<h3 class=");
            page.raw(group.class().name());
            page.raw(">");
            page.raw(heading(group.class()));
            page.raw("</h3>\n");
        }
        let is_open = group.class().destroys()
            && opened < OPEN_CHANGES
            && group.members.len() == 1
            && group.attributes.len() <= MAX_OPEN_ATTRIBUTES;
        opened += usize::from(is_open);
        write_group(page, review, group, plan, is_open);
    }
}

fn heading(class: ChangeClass) -> &'static str {
    match class {
        ChangeClass::Destroy => "Destroy",
        ChangeClass::Replace => "Replace",
        ChangeClass::Update => "Update",
        ChangeClass::Create => "Create",
        ChangeClass::Move => "Move",
        ChangeClass::Import => "Import",
        ChangeClass::Forget => "Forget",
        ChangeClass::Read => "Read",
    }
}

fn write_group(page: &mut HtmlWriter<'_>, review: &Review, group: &ChangeGroup, plan: usize, is_open: bool) {
    let name = group.class().name();
    page.raw("<article class=\"change ");
    page.raw(name);
    page.raw("\" data-kind=");
    page.raw(name);
    let is_single = group.members.len() == 1;
    if is_single && let Some(id) = group.members.first() {
        write_id(page, plan, *id);
    }
    page.raw(if is_open { "><details open><summary>" } else { "><details><summary>" });
    page.raw("<span class=symbol aria-hidden=true>");
    page.text(group.class().symbol());
    page.raw("</span> <span class=kind>");
    page.raw(name);
    page.raw("</span> ");
    let first = review.members(group).next();
    if is_single {
        if let Some((_, change)) = first {
            page.code(&change.address);
            write_reasons(page, &explanations(change), change.source.as_ref(), plan);
            page.raw("</summary>");
            write_attributes(page, &change.attributes);
            write_rest(page, change.unchanged, change);
            write_triggered(page, &group.actions);
        }
    } else {
        page.raw("<b>");
        page.grouped_number(group.members.len());
        page.raw("</b> \u{d7} ");
        page.code(&group.type_name);
        if matches!(group.class(), ChangeClass::Update | ChangeClass::Replace) {
            page.raw(" <span class=paths>");
            for attribute in group.attributes.iter().take(4) {
                page.raw(" ");
                page.code(attribute.path.as_str());
            }
            page.raw(if group.attributes.len() > 4 { " ...</span>" } else { "</span>" });
        }
        if let Some((_, change)) = first {
            let source = change.source.as_ref().filter(|_| group.has_one_source);
            write_reasons(page, &group_explanations(group, change), source, plan);
        }
        page.raw("</summary>");
        write_shared(page, group);
        if let Some((_, change)) = first {
            write_rest(page, 0, change);
        }
        write_triggered(page, &group.actions);
        write_members(page, review, group, plan);
    }
    page.raw("</details></article>\n");
}

fn write_id(page: &mut HtmlWriter<'_>, plan: usize, id: ChangeId) {
    page.raw(" id=p");
    page.number(plan);
    page.raw("c");
    page.number(id.index());
}

fn write_reasons(
    page: &mut HtmlWriter<'_>,
    clauses: &[Vec<Fragment<'_>>],
    source: Option<&SourcePosition>,
    plan: usize,
) {
    if clauses.is_empty() && source.is_none() {
        return;
    }
    page.raw(" <span class=why>");
    for (index, clause) in clauses.iter().enumerate() {
        page.raw(if index == 0 { "" } else { "; " });
        for fragment in clause {
            match fragment {
                Fragment::Words(words) => page.raw(words),
                Fragment::Name(name) => page.code(name),
                Fragment::Change(id, address) => {
                    page.raw("<a href=\"#p");
                    page.number(plan);
                    page.raw("c");
                    page.number(id.index());
                    page.raw("\">");
                    page.code(address);
                    page.raw("</a>");
                }
            }
        }
    }
    if let Some(source) = source {
        page.raw(" <span class=source>");
        page.isolated(&source.file);
        page.raw(":");
        page.number(source.line as usize);
        page.raw("</span>");
    }
    page.raw("</span>");
}

/// Writes the differences whose values are equal in all members.
fn write_shared(page: &mut HtmlWriter<'_>, group: &ChangeGroup) {
    if group.attributes.is_empty() {
        return;
    }
    page.raw("<ul class=diff>");
    for attribute in group.attributes.iter().filter_map(GroupAttribute::shared) {
        write_attribute(page, &attribute);
    }
    page.raw("</ul>");
}

/// Writes the members of a group, each with the differences and causes that not all members share. The members
/// with the rarest values come first.
fn write_members(page: &mut HtmlWriter<'_>, review: &Review, group: &ChangeGroup, plan: usize) {
    let varying = group.varying();
    page.raw("<ol class=members>");
    for id in review.variants(group).into_iter().flatten() {
        let Some(change) = review.change(id) else { continue };
        page.raw("<li");
        write_id(page, plan, id);
        page.raw(">");
        page.code(&change.address);
        let source = change.source.as_ref().filter(|_| !group.has_one_source);
        write_reasons(page, &member_explanations(group, change), source, plan);
        if !varying.is_empty() {
            page.raw("<ul class=diff>");
            for attribute in varying.iter().filter_map(|index| change.attributes.get(*index)) {
                write_attribute(page, attribute);
            }
            page.raw("</ul>");
        }
        page.raw("\n");
    }
    page.raw("</ol>");
}

fn write_attributes(page: &mut HtmlWriter<'_>, attributes: &[AttributeChange]) {
    if attributes.is_empty() {
        return;
    }
    page.raw("<ul class=diff>");
    for attribute in attributes {
        write_attribute(page, attribute);
    }
    page.raw("</ul>");
}

/// Writes the number of unchanged attributes, and the provider.
fn write_rest(page: &mut HtmlWriter<'_>, unchanged: u32, change: &ReviewedChange) {
    if unchanged == 0 && change.provider.is_empty() {
        return;
    }
    page.raw("<p class=rest>");
    if unchanged > 0 {
        page.raw("Unchanged attributes: ");
        page.grouped_number(unchanged as usize);
        page.raw(". ");
    }
    if !change.provider.is_empty() {
        page.raw("Provider: ");
        page.code(&change.provider);
    }
    page.raw("</p>");
}

fn write_attribute(page: &mut HtmlWriter<'_>, attribute: &AttributeChange) {
    page.raw(match attribute.effect() {
        AttributeEffect::Add => "<li class=add data-a=\"",
        AttributeEffect::Remove => "<li class=remove data-a=\"",
        AttributeEffect::Change => "<li data-a=\"",
    });
    page.text(attribute.path.pattern());
    page.raw("\">");
    page.code(attribute.path.as_str());
    page.raw(" ");
    match (&attribute.before, &attribute.after) {
        (Some(ReviewedValue::Text(before)), Some(ReviewedValue::Text(after)))
            if before.contains('\n') || after.contains('\n') =>
        {
            write_lines(page, &line_difference(before, after));
        }
        (before, after) => {
            if let Some(before) = before {
                page.raw("<del dir=auto>- ");
                write_value(page, before);
                page.raw("</del>");
            }
            if before.is_some() && after.is_some() {
                page.raw(" <span class=spoken>becomes</span><span aria-hidden=true>\u{2192}</span> ");
            }
            if let Some(after) = after {
                page.raw("<ins dir=auto>+ ");
                write_value(page, after);
                page.raw("</ins>");
            }
        }
    }
    if attribute.forces_replacement {
        page.raw(" <span class=forces>forces the replacement</span>");
    }
    page.raw("</li>");
}

fn write_value(page: &mut HtmlWriter<'_>, value: &ReviewedValue) {
    match value {
        ReviewedValue::Unknown | ReviewedValue::Sensitive => {
            page.raw("<i>");
            page.text(&value_text(value));
            page.raw("</i>");
            return;
        }
        ReviewedValue::Text(text) if text.contains('\n') => {
            page.raw("<pre>");
            page.lines(text);
            page.raw("</pre>");
            return;
        }
        _ => {}
    }
    let text = value_text(value);
    let (start, removed) = cut(&text, OPEN_VALUE_LENGTH);
    if removed == 0 {
        page.text(start);
        return;
    }
    page.raw("<details class=long><summary>");
    page.text(start);
    page.raw("... (");
    page.grouped_number(removed);
    page.raw(" more characters)</summary>");
    page.text(&text);
    page.raw("</details>");
}

fn write_lines(page: &mut HtmlWriter<'_>, lines: &[DifferenceLine<'_>]) {
    page.raw("<pre>");
    for line in lines {
        match line {
            DifferenceLine::Equal(line) => {
                page.raw("  ");
                page.text(line);
            }
            DifferenceLine::Removed(line) => {
                page.raw("<del>- ");
                page.text(line);
                page.raw("</del>");
            }
            DifferenceLine::Added(line) => {
                page.raw("<ins>+ ");
                page.text(line);
                page.raw("</ins>");
            }
            DifferenceLine::Skipped => page.raw("  ..."),
            DifferenceLine::EndRemoved => page.raw("<del>- (line break at the end)</del>"),
            DifferenceLine::EndAdded => page.raw("<ins>+ (line break at the end)</ins>"),
        }
        page.raw("\n");
    }
    page.raw("</pre>");
}

/// Writes the changes of outputs.
pub(super) fn write_outputs(page: &mut HtmlWriter<'_>, review: &Review) {
    if review.outputs.is_empty() {
        return;
    }
    page.raw("<h3>Outputs</h3>\n<ul class=\"diff outputs\">");
    for output in &review.outputs {
        for attribute in &output.attributes {
            write_attribute(page, attribute);
        }
        if output.attributes.is_empty() {
            page.raw("<li>");
            page.code(&output.name);
            page.raw("</li>");
        }
    }
    page.raw("</ul>\n");
}

/// Writes the changes that were made outside of the configuration's runs.
pub(super) fn write_drift(page: &mut HtmlWriter<'_>, review: &Review) {
    if review.drift.is_empty() {
        return;
    }
    page.raw("<details class=drift><summary>Changes outside of the configuration: ");
    page.grouped_number(review.drift.len());
    page.raw("</summary><ol class=members>");
    for change in &review.drift {
        page.raw("<li>");
        page.raw(match change.class() {
            ChangeClass::Destroy => "destroyed: ",
            ChangeClass::Move => "moved: ",
            _ => "changed: ",
        });
        page.code(&change.address);
        if review.is_relevant_drift(change) {
            page.raw(" <span class=why>the plan depends on it</span>");
        }
        if change.class() != ChangeClass::Destroy {
            write_attributes(page, &change.attributes);
        }
        page.raw("\n");
    }
    page.raw("</ol></details>\n");
}
