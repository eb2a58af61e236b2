//! What is said of a configuration, in the form that is recorded.

use std::fmt;

use serde_json::Value;

/// The place of what has none.
pub const NOWHERE: &str = "nowhere";

/// What Terraform says of a line a second time, because of the first; once is enough.
/// So are things that it says of a place in no file at all.
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

/// A verdict, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// `valid` or `invalid`.
    pub verdict: String,
    /// `error main.tf:3 Unsupported argument`; sorted, since programs find things in
    /// different order.
    pub lines: Vec<String>,
}

impl Answer {
    /// From what `validate -json` prints.
    pub fn from_json(text: &str) -> Option<Self> {
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
        let mut lines: Vec<String> = diagnostics.iter().filter(|found| !is_echo(found)).map(line).collect();
        lines.sort();
        Some(Self { verdict: verdict.to_owned(), lines })
    }

    /// From what is recorded.
    pub fn from_record(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned);
        Self { verdict: lines.next().unwrap_or_default(), lines: lines.collect() }
    }
}

fn line(diagnostic: &Value) -> String {
    let severity = diagnostic["severity"].as_str().unwrap_or_default();
    format!("{severity} {} {}", place(diagnostic), summary(diagnostic))
}

fn place(diagnostic: &Value) -> String {
    let range = &diagnostic["range"];
    let file = range["filename"].as_str().unwrap_or_default();
    range["start"]["line"].as_u64().map_or_else(|| NOWHERE.to_owned(), |line| format!("{file}:{line}"))
}

/// What a cycle goes through is named in no particular order.
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
