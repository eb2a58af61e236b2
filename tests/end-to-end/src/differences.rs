//! A readable diff of two results, by command and then by block. A command begins with a line that
//! starts with `$ `. A block is a line with the indented lines below it.

use std::fmt::Write as _;

use similar::TextDiff;

/// Returns the differences between two results.
pub fn differences(expected: &str, seen: &str) -> Option<String> {
    let mut report = String::new();
    let (expected, seen) = (commands(expected), commands(seen));
    for (index, (expected, seen)) in expected.iter().zip(&seen).enumerate() {
        let seen = &placed_as(expected, seen);
        if *expected != seen {
            let _ = writeln!(report, "command {}: {}", index + 1, expected.lines().next().unwrap_or(""));
            in_command(expected, seen, &mut report);
        }
    }
    if expected.len() != seen.len() {
        let _ = writeln!(report, "{} commands, not {}", seen.len(), expected.len());
    }
    (!report.is_empty()).then_some(report)
}

/// Removes positions of diagnostics for which the expected result has no position, since an
/// additional position is not a difference.
fn placed_as(expected: &str, seen: &str) -> String {
    let mut placed = String::new();
    for line in seen.split_inclusive('\n') {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let mut words = text.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some(severity @ ("error" | "warning")), Some(_), Some(summary))
                if !has_line(expected, line)
                    && has_line(expected, &format!("{indent}{severity} {summary}")) =>
            {
                let _ = write!(placed, "{indent}{severity} {summary}");
            }
            _ => placed.push_str(line),
        }
    }
    placed
}

fn has_line(text: &str, line: &str) -> bool {
    text.split_inclusive('\n').any(|known| known == line)
}

fn commands(answer: &str) -> Vec<&str> {
    split_before(answer, |line| line.starts_with("$ "))
}

/// Returns each block with its first line.
fn blocks(command: &str) -> Vec<(&str, &str)> {
    split_before(command, |line| !line.starts_with(' '))
        .into_iter()
        .map(|block| block.split_once('\n').unwrap_or((block, "")))
        .collect()
}

/// Splits a text before each line for which `is_start` is true.
fn split_before(text: &str, is_start: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut starts = Vec::new();
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        if is_start(line) {
            starts.push(position);
        }
        position += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

fn in_command(expected: &str, seen: &str, report: &mut String) {
    let (expected, mut seen) = (blocks(expected), blocks(seen));
    let mut rest = 0;
    for (title, body) in expected {
        let Some(index) = seen.iter().skip(rest).position(|(known, _)| *known == title) else {
            let _ = writeln!(report, "- {title}{}", size(body));
            continue;
        };
        for (title, body) in seen.drain(rest..rest + index) {
            let _ = writeln!(report, "+ {title}{}", size(body));
        }
        let same = seen[rest].1;
        rest += 1;
        if same != body {
            let _ = writeln!(report, "  {title}");
            let diff = TextDiff::from_lines(body, same);
            report.push_str(&diff.unified_diff().context_radius(3).to_string());
        }
    }
    for (title, body) in seen.drain(rest..) {
        let _ = writeln!(report, "+ {title}{}", size(body));
    }
}

fn size(body: &str) -> String {
    match body.lines().count() {
        0 => String::new(),
        count => format!(" ({count} lines)"),
    }
}
