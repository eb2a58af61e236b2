//! The start of a comment: the marker, the counts, and the table of several plans.

use sha2::{Digest as _, Sha256};
use wardian_review::{ChangeClass, Review};

use super::budget::Budget;
use super::text::MarkdownText;
use super::{CommentFormat, CommentOptions};

/// Maximum number of titles in the marker.
const MAX_TITLES: usize = 4;
/// Maximum length of a title in the marker and in the table.
const MAX_TITLE_LENGTH: usize = 60;
/// Number of bytes of the hash in the marker.
const HASH_LENGTH: usize = 8;
/// The part of the budget for the table, as a divisor.
const TABLE_SHARE: usize = 4;

/// The columns of the table. The last one contains the rest of the changes.
const COLUMNS: [ChangeClass; 4] =
    [ChangeClass::Destroy, ChangeClass::Replace, ChangeClass::Update, ChangeClass::Create];

/// Returns the hidden marker, which depends only on the titles. Different titles have different markers: if
/// the marker does not contain all of them in full, it contains their hash.
pub(super) fn marker(reviews: &[Review]) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("<!-- wardian-plan:");
    let mut is_complete = reviews.len() <= MAX_TITLES;
    for review in reviews.iter().take(MAX_TITLES) {
        text.push(" ");
        is_complete &= text.push_identifier(&review.title, MAX_TITLE_LENGTH);
    }
    if !is_complete {
        text.push(" +");
        text.push_number(reviews.len().saturating_sub(MAX_TITLES));
        text.push(" #");
        let mut hasher = Sha256::new();
        for review in reviews {
            hasher.update(review.title.len().to_le_bytes());
            hasher.update(review.title.as_bytes());
        }
        for byte in hasher.finalize().iter().take(HASH_LENGTH) {
            text.push_hexadecimal(*byte);
        }
    }
    text.push(" -->\n");
    text
}

/// Returns the title of a comment, and the warning about destroyed objects.
pub(super) fn title(reviews: &[Review], options: CommentOptions) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("### ");
    if reviews.len() == 1 {
        text.push("Plan: ");
    } else {
        text.push_number(reviews.len());
        text.push(" plans: ");
    }
    push_counts(&mut text, reviews);
    text.push("\n\n");
    if let [review] = reviews {
        push_state(&mut text, review);
    }
    let destroyed: usize = reviews.iter().map(|review| review.totals().2).sum();
    if destroyed > 0 {
        let is_github = options.format == CommentFormat::GitHub;
        text.push(if is_github {
            "> [!CAUTION]\n> Objects that are destroyed: "
        } else {
            "**:warning: Objects that are destroyed: "
        });
        text.push_number(destroyed);
        text.push(if is_github { "\n\n" } else { "**\n\n" });
    }
    text
}

/// Returns the heading of one of several plans.
pub(super) fn plan_heading(review: &Review) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("\n### Plan: ");
    push_counts(&mut text, std::slice::from_ref(review));
    text.push(" in ");
    text.push_code(&review.title);
    text.push("\n\n");
    push_state(&mut text, review);
    text
}

/// Whether a plan does not cover the whole configuration.
pub(super) fn is_incomplete(review: &Review) -> bool {
    review.errored || !review.complete
}

/// Adds whether a plan is complete, and whether it changes anything.
fn push_state(text: &mut MarkdownText, review: &Review) {
    if review.errored {
        text.push("**An error ended planning early. This plan is incomplete and cannot be applied.**\n\n");
    } else if !review.complete {
        text.push("**This plan covers only a part of the configuration.**\n\n");
    }
    if review.is_empty() {
        text.push("No changes.\n\n");
    }
}

fn push_counts(text: &mut MarkdownText, reviews: &[Review]) {
    let mut is_first = true;
    for class in ChangeClass::ALL {
        let count: usize = reviews.iter().map(|review| review.counts.count(class)).sum();
        if count == 0 {
            continue;
        }
        text.push(if is_first { "" } else { ", " });
        is_first = false;
        text.push_number(count);
        text.push(" to ");
        text.push(class.name());
    }
    let invocations: usize = reviews.iter().map(|review| review.invocations.len()).sum();
    if invocations > 0 {
        text.push(if is_first { "" } else { ", " });
        is_first = false;
        text.push_number(invocations);
        text.push(if invocations == 1 { " action to invoke" } else { " actions to invoke" });
    }
    if is_first {
        let has_outputs = reviews.iter().any(|review| !review.outputs.is_empty());
        text.push(if has_outputs { "only outputs change" } else { "no changes" });
    }
}

/// Returns a table with the numbers of changes in several plans. If the budget is too small for all rows,
/// the table ends with the number of the other plans.
pub(super) fn table(reviews: &[Review], budget: &mut Budget) -> MarkdownText {
    let mut text = MarkdownText::new();
    if reviews.len() < 2 {
        return text;
    }
    let mut share = budget.split(budget.left() / TABLE_SHARE);
    let mut start = MarkdownText::new();
    start.push("| plan |");
    for class in COLUMNS {
        start.push(" ");
        start.push(class.name());
        start.push(" |");
    }
    start.push(" other |\n|---|---|---|---|---|---|\n");
    let mut end = MarkdownText::new();
    end.push("\n");
    let mut rest = rest_row(reviews.len());
    if share.take(start.len() + end.len() + rest.len()) {
        text.append(&start);
        for (index, review) in reviews.iter().enumerate() {
            let row = row(review);
            if !share.take(row.len()) {
                // The row about the rest is not longer than the one that was taken into account.
                rest = rest_row(reviews.len() - index);
                break;
            }
            text.append(&row);
            rest = MarkdownText::new();
        }
        text.append(&rest);
        text.append(&end);
    }
    budget.add(share);
    text
}

fn row(review: &Review) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("| ");
    text.push_html_code(&review.title, MAX_TITLE_LENGTH);
    text.push(if is_incomplete(review) { " (incomplete) |" } else { " |" });
    let counted = COLUMNS.map(|class| review.counts.count(class));
    let other = review.counts.total() - counted.iter().sum::<usize>() + review.invocations.len();
    for count in counted.into_iter().chain([other]) {
        text.push(" ");
        text.push_number(count);
        text.push(" |");
    }
    text.push("\n");
    text
}

fn rest_row(count: usize) -> MarkdownText {
    let mut text = MarkdownText::new();
    text.push("| ");
    text.push_number(count);
    text.push(" more plans | | | | | |\n");
    text
}
