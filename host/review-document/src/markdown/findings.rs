//! The checks, warnings and accesses of plugins in a comment.

use wardian_review::Review;

use super::text::MarkdownText;

/// Maximum number of entries of each kind that are listed.
const MAX_FINDINGS: usize = 100;

/// Entries with the number of findings in each.
pub(super) type Entries = Vec<(MarkdownText, usize)>;

/// Returns the counts, and then the failed checks, the denied accesses and the warnings.
pub(super) fn entries(review: &Review) -> Entries {
    let mut entries = counts(review);
    for finding in review.findings.iter().take(MAX_FINDINGS) {
        let mut text = MarkdownText::new();
        text.push("- ");
        text.push(finding.title());
        text.push(": ");
        text.push_code(&finding.address);
        for message in finding.messages.iter().take(2) {
            text.push(" ");
            text.push_code(message);
        }
        text.push("\n");
        entries.push((text, 1));
    }
    for access in review.denied_accesses().iter().take(MAX_FINDINGS) {
        let mut text = MarkdownText::new();
        text.push("- policy denied ");
        text.push_code(&access.plugin);
        text.push(" the access to ");
        text.push_code(&access.target);
        if let Some(reason) = &access.reason {
            text.push(" \u{2014} ");
            text.push_code(reason);
        }
        text.push("\n");
        entries.push((text, 1));
    }
    for warning in review.warnings.iter().take(MAX_FINDINGS) {
        let mut text = MarkdownText::new();
        text.push("- warning: ");
        text.push_code(&warning.summary);
        text.push("\n");
        entries.push((text, 1));
    }
    entries
}

/// Returns the number of findings that [`entries`] does not contain.
pub(super) fn unlisted(review: &Review) -> usize {
    [review.findings.len(), review.denied_accesses().len(), review.warnings.len()]
        .into_iter()
        .map(|count| count.saturating_sub(MAX_FINDINGS))
        .sum()
}

/// Returns the numbers of checks by their results, and of accesses.
fn counts(review: &Review) -> Entries {
    let mut entries = Vec::new();
    let checks = review.checks;
    if checks.total() > 0 {
        let mut text = MarkdownText::new();
        for (index, (count, words)) in checks.parts().enumerate() {
            text.push(if index == 0 { "- checks: " } else { ", " });
            text.push_number(count);
            text.push(words);
        }
        text.push("\n");
        entries.push((text, 0));
    }
    if !review.accesses.is_empty() {
        let denied = review.denied_accesses().len();
        let mut text = MarkdownText::new();
        text.push("- accesses of plugins: ");
        text.push_number(review.accesses.len() - denied);
        text.push(" allowed, ");
        text.push_number(denied);
        text.push(" denied\n");
        entries.push((text, 0));
    }
    entries
}
