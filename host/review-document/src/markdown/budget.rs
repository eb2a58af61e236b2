//! The budget of a comment.

use super::text::MarkdownText;

/// The number of characters that can still be added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(left: usize) -> Self {
        Self(left)
    }

    pub(super) fn left(self) -> usize {
        self.0
    }

    /// Takes a part of the budget. Returns `false` if less is left.
    pub(super) fn take(&mut self, length: usize) -> bool {
        let left = self.0.checked_sub(length);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// Sets a part of the budget aside; less if less is left.
    pub(super) fn split(&mut self, length: usize) -> Self {
        let length = length.min(self.0);
        self.0 -= length;
        Self(length)
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// A part of a comment with a heading, to which entries are added as long as they fit.
#[derive(Debug, Default)]
pub(super) struct Part(MarkdownText);

impl Part {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn text(&self) -> &MarkdownText {
        &self.0
    }

    /// Adds another part, which was taken from a budget.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.append(&other.0);
    }

    /// Adds an entry, and before the first one the headings. Returns whether they fit.
    pub(super) fn add(
        &mut self,
        headings: &[&MarkdownText],
        entry: &MarkdownText,
        budget: &mut Budget,
    ) -> bool {
        let headings = if self.is_empty() { headings } else { &[] };
        let length = headings.iter().map(|heading| heading.len()).sum::<usize>() + entry.len();
        let fits = budget.take(length);
        if fits {
            for text in headings.iter().copied().chain([entry]) {
                self.0.append(text);
            }
        }
        fits
    }
}

/// The numbers of the parts for which a comment has no room.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Omissions {
    pub(super) changes: usize,
    pub(super) groups: usize,
    pub(super) differences: usize,
    pub(super) findings: usize,
    pub(super) others: usize,
}

impl Omissions {
    /// The maximum length of the note.
    pub(super) const MAX_NOTE: usize = 420;

    /// Returns the note about the omitted parts; empty if there are none.
    pub(super) fn note(self) -> MarkdownText {
        let mut text = MarkdownText::new();
        let parts = [
            (self.changes, " change", " changes", (self.changes > 1).then_some(self.groups)),
            (self.findings, " check, warning or access", " checks, warnings and accesses", None),
            (
                self.others,
                " action, output, change outside of the configuration or provider",
                " actions, outputs, changes outside of the configuration and providers",
                None,
            ),
            (self.differences, " difference of a change", " differences of changes", None),
        ];
        for (count, one, several, groups) in parts.into_iter().filter(|(count, ..)| *count > 0) {
            text.push(if text.is_empty() { "\n_Not in this comment: " } else { "; " });
            text.push_number(count);
            text.push(if count == 1 { one } else { several });
            if let Some(groups) = groups {
                text.push(" of ");
                text.push_number(groups);
                text.push(if groups == 1 { " kind" } else { " kinds" });
            }
        }
        if !text.is_empty() {
            text.push(". The comment would be too long; `show -html` shows everything._\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_has_no_number_of_kinds() {
        let note = |omissions: Omissions| omissions.note().into_string();
        let one = note(Omissions { changes: 1, groups: 1, ..Omissions::default() });
        assert!(one.contains("comment: 1 change. The comment"), "{one}");
        let two = note(Omissions { changes: 2, groups: 1, findings: 1, ..Omissions::default() });
        assert!(two.contains("comment: 2 changes of 1 kind; 1 check, warning or access. The"), "{two}");
    }

    #[test]
    fn longest_note_fits() {
        let most = usize::MAX;
        let omissions =
            Omissions { changes: most, groups: most, differences: most, findings: most, others: most };
        let length = omissions.note().len();
        assert!(length <= Omissions::MAX_NOTE, "{length}");
        assert!(Omissions::default().note().is_empty());
    }
}
