//! Line-by-line differences of texts with several lines.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp};

/// Number of unchanged lines before and after a change.
const CONTEXT_LINES: usize = 2;
/// Maximum number of lines on one side that are searched for equal lines.
const MAX_SEARCHED_LINES: usize = 400;

/// A line of a difference, without its line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DifferenceLine<'a> {
    Equal(&'a str),
    Removed(&'a str),
    Added(&'a str),
    /// Unchanged lines that are not shown.
    Skipped,
}

/// Returns the difference between two texts. Equal lines at the start and at the end are skipped.
pub(crate) fn line_difference<'a>(before: &'a str, after: &'a str) -> Vec<DifferenceLine<'a>> {
    let old: Vec<&str> = before.split('\n').collect();
    let new: Vec<&str> = after.split('\n').collect();
    let shorter = old.len().min(new.len());
    let start = (0..shorter).take_while(|at| old.get(*at) == new.get(*at)).count();
    let end = (0..shorter - start)
        .take_while(|at| old.get(old.len() - 1 - at) == new.get(new.len() - 1 - at))
        .count();
    let first = start.saturating_sub(CONTEXT_LINES);
    let last = end.saturating_sub(CONTEXT_LINES);
    let old = old.get(first..old.len() - last).unwrap_or_default();
    let new = new.get(first..new.len() - last).unwrap_or_default();
    let mut lines = Vec::new();
    if first > 0 {
        lines.push(DifferenceLine::Skipped);
    }
    if old.len().max(new.len()) > MAX_SEARCHED_LINES {
        lines.extend(old.iter().map(|line| DifferenceLine::Removed(line)));
        lines.extend(new.iter().map(|line| DifferenceLine::Added(line)));
    } else {
        for (index, hunk) in hunks(old, new).iter().enumerate() {
            if index > 0 {
                lines.push(DifferenceLine::Skipped);
            }
            for change in hunk.iter().flat_map(|operation| operation.iter_changes(old, new)) {
                lines.push(match change.tag() {
                    ChangeTag::Equal => DifferenceLine::Equal(change.value()),
                    ChangeTag::Delete => DifferenceLine::Removed(change.value()),
                    ChangeTag::Insert => DifferenceLine::Added(change.value()),
                });
            }
        }
    }
    if last > 0 {
        lines.push(DifferenceLine::Skipped);
    }
    lines
}

fn hunks(old: &[&str], new: &[&str]) -> Vec<Vec<DiffOp>> {
    // `similar::TextDiff` would add all of its algorithms to the binary.
    let mut operations = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut operations, old, 0..old.len(), new, 0..new.len());
    operations.into_inner().into_inner().into_grouped_ops(CONTEXT_LINES)
}

#[cfg(test)]
mod tests {
    use super::DifferenceLine::{Added, Equal, Removed, Skipped};
    use super::*;

    #[test]
    fn distant_lines_are_skipped() {
        let text: Vec<String> = (0..50).map(|line| line.to_string()).collect();
        let mut other = text.clone();
        other[20] = "x".into();
        let (before, after) = (text.join("\n"), other.join("\n"));
        assert_eq!(
            line_difference(&before, &after),
            [Skipped, Equal("18"), Equal("19"), Removed("20"), Added("x"), Equal("21"), Equal("22"), Skipped]
        );
    }

    #[test]
    fn many_lines_are_not_searched() {
        let text =
            |from: usize| (from..from + 1000).map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(line_difference(&text(0), &text(1)).len(), 2000);
    }
}
