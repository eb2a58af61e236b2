//! Parses the diagnostics of a configuration in their recorded form.

use std::fmt;

use serde_json::Value;

/// The text that replaces a missing position of a diagnostic.
pub const NOWHERE: &str = "nowhere";

/// Pairs of summaries. If the first summary is reported for a line, Terraform may report the second
/// summary as a consequence, and only the first summary is compared. The same applies to
/// diagnostics without a file.
const ECHOES: [(&str, &str); 9] = [
    ("Variables not allowed", "Unsuitable value type"),
    ("Function calls not allowed", "Unsuitable value type"),
    ("Variables not allowed", "Invalid provider configuration alias"),
    ("Invalid address", "Invalid import address"),
    ("Invalid expression", "Invalid import address"),
    ("Invalid \"self\" reference", "Unknown variable"),
    ("Unsupported attribute", "Unknown variable"),
    ("Reference to undeclared resource", "Unknown variable"),
    ("Invalid reference in replace_triggered_by expression", "Invalid replace_triggered_by expression"),
];

/// The part of a diagnostic that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The severity, the line and the summary.
    Lines,
    /// Also the columns, the end and the enclosing block.
    Positions,
}

/// A verdict with its diagnostics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// `valid` or `invalid`.
    pub verdict: String,
    /// Lines such as `error main.tf:3 Unsupported argument`, sorted because Terraform and Wardian
    /// report diagnostics in different orders. With positions, a line is
    /// `error main.tf:3:5-3:9 in locals: Unsupported argument`.
    pub lines: Vec<String>,
}

impl Answer {
    /// Parses the output of `validate -json`.
    pub fn from_json(text: &str, detail: Detail) -> Option<Self> {
        let said: Value = serde_json::from_str(text).ok()?;
        let verdict = if said["valid"].as_bool()? { "valid" } else { "invalid" };
        let diagnostics = said["diagnostics"].as_array()?;
        let is_echo = |diagnostic: &Value| {
            let (place, summary) = (place(diagnostic), summary(diagnostic));
            place.starts_with(':')
                || ECHOES.iter().any(|(first, echo)| {
                    summary == *echo
                        && diagnostics.iter().any(|other| {
                            self::summary(other) == *first
                                && (place == NOWHERE || self::place(other) == place)
                        })
                })
        };
        let mut lines: Vec<String> = match detail {
            Detail::Lines => diagnostics.iter().filter(|found| !is_echo(found)).map(line).collect(),
            Detail::Positions => diagnostics.iter().map(positioned_line).collect(),
        };
        lines.sort();
        Some(Self { verdict: verdict.to_owned(), lines })
    }

    /// Parses a recorded verdict with its diagnostics.
    pub fn from_record(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned);
        Self { verdict: lines.next().unwrap_or_default(), lines: lines.collect() }
    }
}

fn line(diagnostic: &Value) -> String {
    let severity = diagnostic["severity"].as_str().unwrap_or_default();
    format!("{severity} {} {}", place(diagnostic), summary(diagnostic))
}

fn positioned_line(diagnostic: &Value) -> String {
    let severity = diagnostic["severity"].as_str().unwrap_or_default();
    let range = &diagnostic["range"];
    let point = |name: &str| {
        let number = |name: &str, part: &str| range[name][part].as_u64().unwrap_or_default();
        format!("{}:{}", number(name, "line"), number(name, "column"))
    };
    let place = match range["filename"].as_str() {
        Some(file) => format!("{file}:{}-{}", point("start"), point("end")),
        None => NOWHERE.to_owned(),
    };
    let block = diagnostic["snippet"]["context"].as_str().map(|block| format!(" in {block}"));
    format!("{severity} {place}{}: {}", block.unwrap_or_default(), summary(diagnostic))
}

fn place(diagnostic: &Value) -> String {
    let range = &diagnostic["range"];
    let file = range["filename"].as_str().unwrap_or_default();
    range["start"]["line"].as_u64().map_or_else(|| NOWHERE.to_owned(), |line| format!("{file}:{line}"))
}

/// Returns the summary, without the members of a cycle, which are listed in arbitrary order.
fn summary(diagnostic: &Value) -> &str {
    let summary = diagnostic["summary"].as_str().unwrap_or_default();
    if summary.starts_with("Cycle") { "Cycle" } else { summary }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict)?;
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}
