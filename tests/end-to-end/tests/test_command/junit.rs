//! Reduces a JUnit document to what is compared: its elements, their attributes except for times,
//! and the diagnostics in their text.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use wardian_end_to_end::diagnostics;

/// An element's start, the end of an element, or marked text.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?s)<([a-z][\w-]*)((?:\s+[\w-]+="[^"]*")*)\s*/?>|</[\w-]+>|<!\[CDATA\[(.*?)\]\]>|<\?.*?\?>|[^<\s][^<]*|\s+"#,
    )
    .unwrap()
});
static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"([\w-]+)="([^"]*)""#).unwrap());

/// Attributes that differ in every run.
const OWN: [&str; 2] = ["time", "timestamp"];

/// Returns a line for each element.
pub fn lines(document: &str) -> String {
    let mut text = String::new();
    let mut position = 0;
    for part in PART.captures_iter(document) {
        let whole = part.get(0).unwrap();
        if whole.start() != position {
            break;
        }
        position = whole.end();
        if let Some(name) = part.get(1) {
            let _ = writeln!(text, "junit {}{}", name.as_str(), attributes(&part[2]));
        } else if let Some(content) = part.get(3) {
            for line in diagnostics::lines(content.as_str()) {
                let _ = writeln!(text, "  {line}");
            }
        } else if !whole.as_str().starts_with('<') && !whole.as_str().trim().is_empty() {
            let _ = writeln!(text, "junit text {}", whole.as_str());
        }
    }
    if position < document.len() {
        let _ = writeln!(text, "junit not XML: {}", &document[position..]);
    }
    text
}

fn attributes(text: &str) -> String {
    let mut attributes = String::new();
    for attribute in ATTRIBUTE.captures_iter(text) {
        let (name, value) = (&attribute[1], &attribute[2]);
        let value = match name {
            "message" => value.split_once(": ").map_or(value, |(start, _)| start),
            name if OWN.contains(&name) => "…",
            _ => value,
        };
        let _ = write!(attributes, " {name}={value:?}");
    }
    attributes
}
