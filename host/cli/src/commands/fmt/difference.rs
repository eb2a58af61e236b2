//! Formatting changes, in the format of `diff -u`.
//!
//! This module calls Myers' algorithm directly: `similar::TextDiff` selects an algorithm at run
//! time, and therefore adds five algorithms, 1 MB, to the binary.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffOp};

/// The time limit of the search for equal lines. After this time, all remaining lines are shown as
/// changed.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(5);
/// Number of unchanged lines before and after a change.
const CONTEXT_LINES: usize = 3;

/// Returns the difference between two texts, with `old/` and `new/` in front of the name, or an
/// empty string if they are equal.
pub(super) fn unified(name: &str, old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let hunks = hunks(&old, &new);
    let mut text = String::new();
    if !hunks.is_empty() {
        let _ = writeln!(text, "--- old/{name}\n+++ new/{name}");
    }
    for hunk in &hunks {
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(hunk));
        for change in hunk.iter().flat_map(|operation| operation.iter_changes(&old[..], &new[..])) {
            text.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            text.push_str(change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

fn hunks(old: &[&str], new: &[&str]) -> Vec<Vec<DiffOp>> {
    let deadline = Instant::now() + MAX_SEARCH_TIME;
    let mut operations = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff_deadline(&mut operations, old, 0..old.len(), new, 0..new.len(), Some(deadline));
    operations.into_inner().into_inner().into_grouped_ops(CONTEXT_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_has_unified_format() {
        assert_eq!(
            unified("x.tf", "a=1\nbb=2\n", "a  = 1\nbb = 2\n"),
            "--- old/x.tf\n+++ new/x.tf\n@@ -1,2 +1,2 @@\n-a=1\n-bb=2\n+a  = 1\n+bb = 2\n"
        );
        assert_eq!(
            unified("x.tf", "a=1", "a = 1"),
            "--- old/x.tf\n+++ new/x.tf\n@@ -1 +1 @@\n-a=1\n\\ No newline at end of file\n+a = 1\n\
             \\ No newline at end of file\n"
        );
    }
    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(unified("x.tf", "a = 1\n", "a = 1\n"), "");
        assert_eq!(unified("x.tf", "", ""), "");
    }

    #[test]
    fn distant_changes_are_in_separate_hunks() {
        let lines = |changed: &[usize]| -> String {
            let line = |line: usize| (line.to_string(), if changed.contains(&line) { "*\n" } else { "\n" });
            (1..=20).map(line).flat_map(|(number, end)| [number, end.to_owned()]).collect()
        };
        assert_eq!(
            unified("x.tf", &lines(&[]), &lines(&[2, 19])),
            "--- old/x.tf\n+++ new/x.tf\n@@ -1,5 +1,5 @@\n 1\n-2\n+2*\n 3\n 4\n 5\n\
             @@ -16,5 +16,5 @@\n 16\n 17\n 18\n-19\n+19*\n 20\n"
        );
    }
}
