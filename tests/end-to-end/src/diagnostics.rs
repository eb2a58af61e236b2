//! Extracts diagnostics from human-readable text: the severity, the position and the summary. The
//! details of Terraform and Wardian differ.

use std::sync::LazyLock;

use regex::Regex;

static COLOUR: LazyLock<Regex> = LazyLock::new(|| pattern("\u{1b}\\[[0-9;]*m"));
static START: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[│╷ ]*(Error|Warning): (.*)$"));
static PLACE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[│ ]*  on (\S+) line (\d+)"));
static ANY_BAR: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[╷╵]"));

#[expect(clippy::expect_used, reason = "the patterns are constants")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// Removes colors from text.
pub fn plain(text: &str) -> String {
    COLOUR.replace_all(text, "").into_owned()
}

/// Returns lines such as `error main.tf:3 Invalid count argument`, sorted because independent
/// objects can fail in any order.
pub fn lines(text: &str) -> Vec<String> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    let mut is_open = false;
    for line in plain(text).lines() {
        if let Some(start) = START.captures(line) {
            found.push((start[1].to_lowercase(), String::new(), summary(&start[2]).to_owned()));
            is_open = true;
        } else if ANY_BAR.is_match(line) {
            is_open = false;
        } else if let (true, Some(place), Some(last)) = (is_open, PLACE.captures(line), found.last_mut())
            && last.1.is_empty()
        {
            last.1 = format!("{}:{} ", &place[1], &place[2]);
        }
    }
    let mut lines: Vec<String> =
        found.into_iter().map(|(severity, place, summary)| format!("{severity} {place}{summary}")).collect();
    lines.sort();
    lines
}

/// Returns the summary, without the members of a cycle, which are listed in arbitrary order.
pub fn summary(text: &str) -> &str {
    let text = text.trim_end();
    if text.starts_with("Cycle") { "Cycle" } else { text }
}
