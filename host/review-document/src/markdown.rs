//! Comments in Markdown for pull requests and merge requests.
//!
//! The comment starts with a marker that a later run finds, then lists all groups of changes, the most
//! severe one first, and contains the differences of as many of them as the limit allows. Text from
//! plans is only in code spans, code blocks and `<code>` elements, in which Markdown is not active.

mod actions;
mod details;
mod text;

use wardian_review::{ChangeClass, ChangeGroup, GroupValue, Review, ReviewedChange};

use crate::explanation::{Fragment, explanations};
use crate::value_text::value_text;
use text::MarkdownText;

/// Number of characters that are kept free for the notes at the end.
const RESERVE: usize = 600;
/// Maximum number of addresses that the line of a group contains.
const MAX_ADDRESSES: usize = 3;
/// The same, for changes that destroy objects.
const MAX_DESTROYED_ADDRESSES: usize = 10;
/// Maximum number of findings that are listed for a plan.
const MAX_FINDINGS: usize = 20;
/// Maximum number of groups whose differences are tried after one has exceeded the limit.
const MAX_MISSES: usize = 20;

/// The service that displays a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentFormat {
    GitHub,
    GitLab,
}

/// The form of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommentOptions {
    pub format: CommentFormat,
    /// The maximum number of characters.
    pub limit: usize,
}

impl CommentOptions {
    /// The smallest limit with which a comment can be written.
    pub const MIN_LIMIT: usize = 2_000;

    /// Returns the options for a service, with its limit.
    pub fn for_service(format: CommentFormat) -> Self {
        // Programs that post comments add a few lines.
        let limit = match format {
            CommentFormat::GitHub => 65_536 - 1_536,
            CommentFormat::GitLab => 1_000_000 - 1_536,
        };
        Self { format, limit }
    }
}

/// The parts of one plan's section.
#[derive(Default)]
struct Section {
    head: MarkdownText,
    classes: Vec<ClassSection>,
    tail: MarkdownText,
    omitted_groups: usize,
    omitted_changes: usize,
    omitted_details: usize,
}

#[derive(Default)]
struct ClassSection {
    lines: MarkdownText,
    details: MarkdownText,
}

/// Returns a comment about plans. It is not longer than the limit, which must be at least
/// [`CommentOptions::MIN_LIMIT`].
pub fn markdown_comment(reviews: &[Review], options: CommentOptions) -> String {
    let mut comment = marker(reviews);
    let mut left = options.limit.saturating_sub(RESERVE + comment.len());
    let mut sections: Vec<Section> = Vec::new();
    for review in reviews {
        let head = head(review, reviews.len() > 1, options);
        if head.len() > left {
            break;
        }
        left -= head.len();
        let classes = ChangeClass::ALL.map(|_| ClassSection::default()).into();
        sections.push(Section { head, classes, ..Section::default() });
    }
    // The lines of the most severe changes in all plans come before the rest.
    for class in ChangeClass::ALL {
        for (review, section) in reviews.iter().zip(&mut sections) {
            add_lines(review, section, class, &mut left);
        }
    }
    for (review, section) in reviews.iter().zip(&mut sections) {
        for part in [actions::list(review), outputs(review)] {
            if part.len() <= left {
                left -= part.len();
                section.tail.append(&part);
            }
        }
    }
    let mut misses = 0;
    for class in ChangeClass::ALL {
        for (review, section) in reviews.iter().zip(&mut sections) {
            for group in review.groups.iter().filter(|group| group.class() == class) {
                let fits = misses < MAX_MISSES && {
                    let details = details::group_details(review, group);
                    let fits = details.len() <= left;
                    if fits && let Some(part) = section.classes.get_mut(class as usize) {
                        left -= details.len();
                        part.details.append(&details);
                    }
                    fits
                };
                if !fits {
                    misses += 1;
                    section.omitted_details += 1;
                }
            }
        }
    }
    let omitted_plans = reviews.len() - sections.len();
    // The notes about omitted parts of many plans can exceed the reserve.
    let mut notes_left = RESERVE - 100 + left;
    for section in sections {
        comment.append(&section.head);
        for part in section.classes {
            comment.append(&part.lines);
            if !part.details.is_empty() {
                comment.push("\n");
                comment.append(&part.details);
            }
        }
        comment.append(&section.tail);
        let note = omission_note(section.omitted_groups, section.omitted_changes, section.omitted_details);
        if note.len() <= notes_left {
            notes_left -= note.len();
            comment.append(&note);
        }
    }
    if omitted_plans > 0 {
        comment.push("\n_");
        comment.push_number(omitted_plans);
        comment.push(" more plans are not shown, because the comment would be too long._\n");
    }
    comment.into_string()
}

/// Returns the hidden marker, which depends only on the titles.
fn marker(reviews: &[Review]) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("<!-- wardian-plan:");
    for review in reviews.iter().take(4) {
        text.push(" ");
        text.push_identifier(&review.title);
    }
    if reviews.len() > 4 {
        text.push(" +");
        text.push_number(reviews.len() - 4);
    }
    text.push(" -->\n");
    text
}

fn head(review: &Review, has_title: bool, options: CommentOptions) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("### Plan: ");
    push_counts(&mut text, review);
    if has_title {
        text.push(" in ");
        text.push_code(&review.title);
    }
    text.push("\n\n");
    let (_, _, destroyed) = review.totals();
    if review.errored {
        text.push("**An error ended planning early. This plan is incomplete and cannot be applied.**\n\n");
    } else if !review.complete {
        text.push("**This plan covers only a part of the configuration.**\n\n");
    }
    if destroyed > 0 && options.format == CommentFormat::GitHub {
        text.push("> [!CAUTION]\n> Objects that are destroyed: ");
        text.push_number(destroyed);
        text.push("\n\n");
    } else if destroyed > 0 {
        text.push("**:warning: Objects that are destroyed: ");
        text.push_number(destroyed);
        text.push("**\n\n");
    }
    for finding in review.findings.iter().take(MAX_FINDINGS) {
        text.push("- ");
        text.push(finding.title());
        text.push(": ");
        text.push_code(&finding.address);
        for message in finding.messages.iter().take(2) {
            text.push(" ");
            text.push_code(message);
        }
        text.push("\n");
    }
    if review.findings.len() > MAX_FINDINGS {
        text.push("- ");
        text.push_number(review.findings.len() - MAX_FINDINGS);
        text.push(" more failed checks\n");
    }
    push_checks(&mut text, review);
    push_accesses(&mut text, review);
    push_warnings(&mut text, review);
    if review.is_empty() {
        text.push("No changes.\n");
    }
    text
}

/// Adds the numbers of checks by their results.
fn push_checks(text: &mut MarkdownText, review: &Review) {
    let checks = review.checks;
    let parts = [
        (checks.passed, " passed"),
        (checks.failed, " failed"),
        (checks.errors, " could not be evaluated"),
        (checks.unknown, " evaluated during the apply"),
    ];
    for (index, (count, words)) in parts.into_iter().filter(|(count, _)| *count > 0).enumerate() {
        text.push(if index == 0 { "- checks: " } else { ", " });
        text.push_number(count);
        text.push(words);
    }
    if checks.total() > 0 {
        text.push("\n");
    }
}

fn push_warnings(text: &mut MarkdownText, review: &Review) {
    for warning in review.warnings.iter().take(MAX_FINDINGS) {
        text.push("- warning: ");
        text.push_code(&warning.summary);
        text.push("\n");
    }
    if review.warnings.len() > MAX_FINDINGS {
        text.push("- ");
        text.push_number(review.warnings.len() - MAX_FINDINGS);
        text.push(" more warnings\n");
    }
}

/// Adds the accesses that policies denied, and the number of other accesses.
fn push_accesses(text: &mut MarkdownText, review: &Review) {
    let denied = review.accesses.iter().filter(|access| access.is_denied);
    for access in denied.clone().take(MAX_FINDINGS) {
        text.push("- policy denied ");
        text.push_code(&access.plugin);
        text.push(" the access to ");
        text.push_code(&access.target);
        if let Some(reason) = &access.reason {
            text.push(" \u{2014} ");
            text.push_code(reason);
        }
        text.push("\n");
    }
    if review.accesses.is_empty() {
        return;
    }
    let count = denied.count();
    text.push("- accesses of plugins: ");
    text.push_number(review.accesses.len() - count);
    text.push(" allowed, ");
    text.push_number(count);
    text.push(" denied\n");
}

fn push_counts(text: &mut MarkdownText, review: &Review) {
    let mut is_first = true;
    for class in ChangeClass::ALL {
        let count = review.counts.count(class);
        if count == 0 {
            continue;
        }
        text.push(if is_first { "" } else { ", " });
        is_first = false;
        text.push_number(count);
        text.push(" to ");
        text.push(class.name());
    }
    if !review.invocations.is_empty() {
        text.push(if is_first { "" } else { ", " });
        is_first = false;
        text.push_number(review.invocations.len());
        text.push(if review.invocations.len() == 1 { " action to invoke" } else { " actions to invoke" });
    }
    if is_first {
        text.push(if review.outputs.is_empty() { "no changes" } else { "only outputs change" });
    }
}

fn heading(class: ChangeClass) -> &'static str {
    match class {
        ChangeClass::Destroy => "\n#### Destroy\n\n",
        ChangeClass::Replace => "\n#### Replace\n\n",
        ChangeClass::Update => "\n#### Update\n\n",
        ChangeClass::Create => "\n#### Create\n\n",
        ChangeClass::Move => "\n#### Move\n\n",
        ChangeClass::Import => "\n#### Import\n\n",
        ChangeClass::Forget => "\n#### Forget\n\n",
        ChangeClass::Read => "\n#### Read\n\n",
    }
}

fn add_lines(review: &Review, section: &mut Section, class: ChangeClass, left: &mut usize) {
    let Some(part) = section.classes.get_mut(class as usize) else { return };
    for group in review.groups.iter().filter(|group| group.class() == class) {
        let mut line = MarkdownText::new();
        if part.lines.is_empty() {
            line.push(heading(class));
        }
        push_group_line(&mut line, review, group);
        if line.len() <= *left {
            *left -= line.len();
            part.lines.append(&line);
        } else {
            section.omitted_groups += 1;
            section.omitted_changes += group.members.len();
        }
    }
}

fn push_group_line(text: &mut MarkdownText, review: &Review, group: &ChangeGroup) {
    text.push("- ");
    let mut members = review.members(group);
    let count = group.members.len();
    if count > 1 {
        text.push_number(count);
        text.push(" \u{d7} ");
        text.push_code(&group.type_name);
        push_attributes(text, group);
        text.push(": ");
        let limit = if group.class().destroys() { MAX_DESTROYED_ADDRESSES } else { MAX_ADDRESSES };
        for (index, (_, change)) in members.by_ref().take(limit).enumerate() {
            text.push(if index == 0 { "" } else { ", " });
            text.push_code(&change.address);
        }
        if count > limit {
            text.push(" and ");
            text.push_number(count - limit);
            text.push(" more");
        }
        if let Some((_, first)) = review.members(group).next() {
            push_explanation(text, first);
        }
    } else if let Some((_, change)) = members.next() {
        text.push_code(&change.address);
        push_explanation(text, change);
    }
    actions::push_triggered(text, &group.actions);
    text.push("\n");
}

fn push_attributes(text: &mut MarkdownText, group: &ChangeGroup) {
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
            text.push(" ");
            text.push_code(&value_text(before));
            text.push(" \u{2192} ");
            text.push_code(&value_text(after));
        }
    }
}

fn push_explanation(text: &mut MarkdownText, change: &ReviewedChange) {
    for (index, clause) in explanations(change).iter().take(3).enumerate() {
        text.push(if index == 0 { " \u{2014} " } else { "; " });
        for fragment in clause {
            match fragment {
                Fragment::Words(words) => text.push(words),
                Fragment::Name(name) => text.push_code(name),
                Fragment::Change(_, address) => text.push_code(address),
            }
        }
    }
    if let Some(source) = &change.source {
        text.push(" (");
        text.push_code(&format!("{}:{}", source.file, source.line));
        text.push(")");
    }
}

fn outputs(review: &Review) -> MarkdownText {
    let mut text = MarkdownText::new();
    if review.outputs.is_empty() {
        return text;
    }
    text.push("\n#### Outputs\n\n");
    for output in review.outputs.iter().take(MAX_FINDINGS) {
        text.push("- ");
        text.push(output.class.name());
        text.push(" ");
        text.push_code(&output.name);
        text.push("\n");
    }
    if review.outputs.len() > MAX_FINDINGS {
        text.push("- and ");
        text.push_number(review.outputs.len() - MAX_FINDINGS);
        text.push(" more\n");
    }
    text
}

fn omission_note(groups: usize, changes: usize, details: usize) -> MarkdownText {
    let mut text = MarkdownText::new();
    if groups > 0 {
        text.push("\n_Not listed: ");
        text.push_number(changes);
        text.push(" more changes of ");
        text.push_number(groups);
        text.push(" kinds._\n");
    }
    if details > 0 {
        text.push("\n_The comment would be too long with the differences of ");
        text.push_number(details);
        text.push(" more kinds of changes. `show -html` shows all of them._\n");
    }
    text
}

#[cfg(test)]
mod tests;
