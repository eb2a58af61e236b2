//! The differences of texts: line by line, or of long texts in one line.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp};

/// Number of unchanged lines before and after a change.
const CONTEXT_LINES: usize = 2;
/// Number of equal characters before the first difference of long texts.
const CONTEXT_CHARACTERS: usize = 30;
/// Maximum number of lines on one side that are searched for equal lines.
const MAX_SEARCHED_LINES: usize = 400;

/// A line of a difference, without its line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceLine<'a> {
    Equal(&'a str),
    Removed(&'a str),
    Added(&'a str),
    /// Unchanged lines that are not shown.
    Skipped,
    /// Only the text before the change ends with a line break.
    EndRemoved,
    /// Only the text after the change ends with a line break.
    EndAdded,
}

/// Returns the difference between two texts. Equal lines at the start and at the end are skipped. A carriage
/// return before a line break is a part of its line.
pub fn line_difference<'a>(before: &'a str, after: &'a str) -> Vec<DifferenceLine<'a>> {
    let (old_text, new_text) = (before.strip_suffix('\n'), after.strip_suffix('\n'));
    let end = match (old_text, new_text) {
        (Some(_), None) => Some(DifferenceLine::EndRemoved),
        (None, Some(_)) => Some(DifferenceLine::EndAdded),
        _ => None,
    };
    let old: Vec<&str> = old_text.unwrap_or(before).split('\n').collect();
    let new: Vec<&str> = new_text.unwrap_or(after).split('\n').collect();
    let shorter = old.len().min(new.len());
    let equal_start = (0..shorter).take_while(|at| old.get(*at) == new.get(*at)).count();
    let equal_end = (0..shorter - equal_start)
        .take_while(|at| old.get(old.len() - 1 - at) == new.get(new.len() - 1 - at))
        .count();
    let first = equal_start.saturating_sub(CONTEXT_LINES);
    let last = equal_end.saturating_sub(CONTEXT_LINES);
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
    lines.extend(end);
    lines
}

/// The number of characters at the start of two texts that can be omitted if only a number of characters of
/// each text is shown. Otherwise, long texts that differ near their ends would look equal.
pub fn omitted_start(before: &str, after: &str, shown: usize) -> usize {
    if before.len().max(after.len()) <= shown {
        return 0;
    }
    let equal = before.chars().zip(after.chars()).take_while(|(one, other)| one == other).count();
    let context = CONTEXT_CHARACTERS.min(shown / 2);
    equal.saturating_sub(context)
}

/// Returns, for each line of a difference, the number of characters at its start that can be omitted if only
/// a number of characters of each line is shown: removed lines are compared with the lines that replace them.
pub fn omitted_starts(lines: &[DifferenceLine<'_>], shown: usize) -> Vec<usize> {
    let mut omitted = vec![0; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let length = |from: usize, is_part: fn(&DifferenceLine<'_>) -> bool| {
            lines.iter().skip(from).take_while(|line| is_part(line)).count()
        };
        let removed = length(at, |line| matches!(line, DifferenceLine::Removed(_)));
        let added = length(at + removed, |line| matches!(line, DifferenceLine::Added(_)));
        for index in 0..removed.min(added) {
            let (one, other) = (at + index, at + removed + index);
            if let (Some(DifferenceLine::Removed(before)), Some(DifferenceLine::Added(after))) =
                (lines.get(one), lines.get(other))
            {
                let count = omitted_start(before, after, shown);
                for place in [one, other] {
                    if let Some(start) = omitted.get_mut(place) {
                        *start = count;
                    }
                }
            }
        }
        at += (removed + added).max(1);
    }
    omitted
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
    fn changes_of_line_breaks_are_differences() {
        use super::DifferenceLine::{EndAdded, EndRemoved};
        assert_eq!(line_difference("a\nb\n", "a\nb"), [EndRemoved]);
        assert_eq!(line_difference("a", "a\n"), [EndAdded]);
        assert_eq!(line_difference("a\r\nb\n", "a\nb\n"), [Removed("a\r"), Added("a"), Equal("b")]);
        assert_eq!(line_difference("a\n\n", "a\n"), [Equal("a"), Removed("")]);
    }

    #[test]
    fn equal_start_of_long_texts_is_omitted() {
        let text = |end: &str| format!("{}{end}", "é".repeat(500));
        assert_eq!(omitted_start("abc", "abd", 100), 0);
        assert_eq!(omitted_start(&text("x"), &text("y"), 100), 470);
        assert_eq!(omitted_start(&text("x"), &text("y"), 10), 495);
        assert_eq!(omitted_start(&text(""), "z", 100), 0);
    }

    #[test]
    fn lines_that_replace_each_other_are_compared() {
        let long = "x".repeat(100);
        let (before, after) = (format!("{long}1\na\n{long}"), format!("{long}2\na\n{long}"));
        let lines = line_difference(&before, &after);
        let one = [before.lines().next().unwrap(), after.lines().next().unwrap()];
        assert_eq!(lines, [Removed(one[0]), Added(one[1]), Equal("a"), Equal(&long)]);
        assert_eq!(omitted_starts(&lines, 60), [70, 70, 0, 0]);
        assert_eq!(omitted_starts(&lines, 200), [0; 4]);
        assert_eq!(omitted_starts(&[Removed("a"), Removed("b")], 0), [0, 0]);
    }

    #[test]
    fn many_lines_are_not_searched() {
        let text =
            |from: usize| (from..from + 1000).map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(line_difference(&text(0), &text(1)).len(), 2000);
    }
}
