//! The coverage of a suite: as text, in LCOV's format and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde::Serialize;
use wardian_printable::{append, printable};
use wardian_testing::{CoverageReport, CoveredPart, PartKind};

use crate::render::json::pretty;
use crate::shell::{Paint, Shell};

const KINDS: [PartKind; 4] = [PartKind::Resource, PartKind::Output, PartKind::Condition, PartKind::Branch];

/// Maximum length of the source text that is shown for a part, in characters.
const MAX_TEXT: usize = 60;

/// Prints the numbers of evaluated parts, and the parts that were not evaluated.
pub(super) fn print(shell: &Shell, report: &CoverageReport) {
    let mut text = printable!("\n{}\n", shell.paint(Paint::Bold, "Coverage"));
    for kind in KINDS {
        let (covered, all) = report.count(kind);
        if all > 0 {
            let name = plural(kind);
            append!(text, "  {name:<11} {covered:>5} of {all}\n");
        }
    }
    for (file, parts) in &report.files {
        let missing: Vec<&CoveredPart> = parts.iter().filter(|part| !part.is_covered).collect();
        if missing.is_empty() {
            continue;
        }
        append!(text, "\nNot evaluated in {}:\n", file.as_str());
        for part in missing {
            let line = part.span.start_position().line;
            append!(text, "  line {line:>4}: {} {}\n", part.kind.as_str(), shown(part).as_str());
        }
    }
    shell.print(text);
}

fn plural(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Resource => "resources",
        PartKind::Output => "outputs",
        PartKind::Condition => "conditions",
        PartKind::Branch => "branches",
    }
}

/// Returns the first line of a part's source text.
fn shown(part: &CoveredPart) -> String {
    let text = part.span.text();
    let line = text.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Writes the coverage to a file: as JSON if its name ends in `.json`, otherwise in LCOV's format.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(super) fn write(path: &Path, report: &CoverageReport) -> io::Result<()> {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    std::fs::write(path, if is_json { json(report) } else { lcov(report) })
}

/// Returns the coverage in the format of LCOV's tracefiles: `DA` for the line of each part, and `BRDA`
/// for each side of a conditional.
fn lcov(report: &CoverageReport) -> String {
    let mut text = String::new();
    for (file, parts) in &report.files {
        let _ = writeln!(text, "TN:\nSF:{file}");
        let mut lines: BTreeMap<usize, bool> = BTreeMap::new();
        let (mut branches, mut taken) = (0, 0);
        for part in parts {
            let line = part.span.start_position().line;
            // A line is covered if all its parts are.
            lines.entry(line).and_modify(|covered| *covered &= part.is_covered).or_insert(part.is_covered);
            if part.kind == PartKind::Branch {
                let count = usize::from(part.is_covered);
                let _ = writeln!(text, "BRDA:{line},0,{branches},{count}");
                branches += 1;
                taken += count;
            }
        }
        let _ = writeln!(text, "BRF:{branches}\nBRH:{taken}");
        for (line, covered) in &lines {
            let _ = writeln!(text, "DA:{line},{}", usize::from(*covered));
        }
        let hit = lines.values().filter(|covered| **covered).count();
        let _ = writeln!(text, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
    }
    text
}

#[derive(Serialize)]
struct Document<'a> {
    format_version: &'static str,
    files: Vec<FileDocument<'a>>,
}

#[derive(Serialize)]
struct FileDocument<'a> {
    path: &'a str,
    parts: Vec<PartDocument>,
}

#[derive(Serialize)]
struct PartDocument {
    kind: &'static str,
    line: usize,
    column: usize,
    text: String,
    covered: bool,
}

fn json(report: &CoverageReport) -> String {
    let part = |part: &CoveredPart| {
        let position = part.span.start_position();
        PartDocument {
            kind: part.kind.as_str(),
            line: position.line,
            column: position.column,
            text: shown(part),
            covered: part.is_covered,
        }
    };
    let files = report.files.iter();
    let files =
        files.map(|(path, parts)| FileDocument { path, parts: parts.iter().map(part).collect() }).collect();
    pretty(&Document { format_version: "1.0", files })
}
