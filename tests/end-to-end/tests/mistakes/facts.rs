//! Facts about the output of a command: positions, marked text, phrases and size.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use crate::case::Expectation;

/// Start and end of underlined text, after escape sequences are removed.
const UNDERLINE: [char; 2] = ['\u{1}', '\u{2}'];

static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b[()=>][0-9A-Za-z]?").unwrap()
});
static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*on (.+) line (\d+)[,:]?").unwrap());
static SOURCE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*(\d+): ").unwrap());
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(?:Error|Warning): (.+)").unwrap());

#[derive(Debug, Default)]
pub struct Facts {
    /// `FILE:LINE TEXT` for the position and the marked text of a diagnostic.
    places: BTreeSet<String>,
    summaries: BTreeSet<String>,
    /// The output without frames and line breaks, or the recorded phrases.
    text: String,
    /// The length of the longest line.
    width: usize,
    lines: usize,
}

impl Facts {
    pub fn from_output(output: &str) -> Self {
        let plain = without_escapes(output);
        let lines: Vec<&str> = plain.lines().map(unframed).collect();
        let mut facts = Self::default();
        for (index, line) in lines.iter().enumerate() {
            if let Some(found) = PLACE.captures(line) {
                let marked = marked(&found[2], &lines[index + 1..]);
                facts.places.insert(format!("{}:{} {marked}", &found[1], &found[2]).trim_end().to_owned());
            }
            if let Some(found) = SUMMARY.captures(line) {
                facts.summaries.insert(in_order(found[1].trim_end()));
            }
        }
        let shown: Vec<String> = plain.lines().map(|line| line.replace(UNDERLINE, "")).collect();
        facts.width = shown.iter().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        facts.lines = shown.len();
        let words = shown.iter().flat_map(|line| unframed(line).split_whitespace());
        facts.text = words.collect::<Vec<_>>().join(" ");
        facts
    }

    /// Reads recorded facts.
    pub fn from_record(record: &str) -> Self {
        let mut facts = Self::default();
        for line in record.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            match kind {
                "at" => drop(facts.places.insert(rest.to_owned())),
                "summary" => {
                    facts.summaries.insert(rest.to_owned());
                    let _ = writeln!(facts.text, "{rest}");
                }
                "says" => writeln!(facts.text, "{rest}").unwrap(),
                "width" => facts.width = rest.parse().unwrap(),
                "lines" => facts.lines = rest.parse().unwrap(),
                _ => panic!("what is {line:?}?"),
            }
        }
        facts
    }

    /// Returns the facts on which these expectations depend, for [`Facts::from_record`].
    pub fn record(&self, expectations: &[&Expectation]) -> String {
        let mut record = String::new();
        for place in &self.places {
            writeln!(record, "at {place}").unwrap();
        }
        for summary in &self.summaries {
            writeln!(record, "summary {summary}").unwrap();
        }
        for expectation in expectations {
            match expectation {
                Expectation::Says(regex) | Expectation::Hides(regex) => {
                    if let Some(found) = regex.find(&self.text) {
                        writeln!(record, "says {}", found.as_str()).unwrap();
                    }
                }
                Expectation::Width(_) => writeln!(record, "width {}", self.width).unwrap(),
                Expectation::Lines(_) => writeln!(record, "lines {}", self.lines).unwrap(),
                Expectation::At { .. } | Expectation::NotApplicable => {}
            }
        }
        record
    }

    /// Returns whether all expectations are met, or [`None`] if the point does not apply.
    pub fn meet(&self, expectations: &[Expectation]) -> Option<bool> {
        if matches!(expectations, [Expectation::NotApplicable]) {
            return None;
        }
        Some(expectations.iter().all(|expectation| match expectation {
            Expectation::At { place, marked } if marked.is_empty() => {
                self.places.iter().any(|known| known.split(' ').next() == Some(place))
            }
            Expectation::At { place, marked } => self.places.contains(&format!("{place} {marked}")),
            Expectation::Says(regex) => regex.is_match(&self.text),
            Expectation::Hides(regex) => !regex.is_match(&self.text),
            Expectation::Width(limit) => self.width <= *limit,
            Expectation::Lines(limit) => self.lines <= *limit,
            Expectation::NotApplicable => false,
        }))
    }
}

/// Sorts the nodes of a cycle, which Terraform lists in random order.
fn in_order(summary: &str) -> String {
    let Some(nodes) = summary.strip_prefix("Cycle: ") else { return summary.to_owned() };
    let mut nodes: Vec<&str> = nodes.split(", ").collect();
    nodes.sort_unstable();
    format!("Cycle: {}", nodes.join(", "))
}

/// Removes escape sequences, and replaces the escape sequences of underlined text with [`UNDERLINE`].
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut is_underlined = false;
    let mut end = 0;
    for found in ESCAPE.captures_iter(text) {
        let whole = found.get(0).unwrap();
        plain.push_str(&text[end..whole.start()]);
        end = whole.end();
        let code = found.get(1).map_or("", |code| code.as_str());
        if found.get(2).is_none_or(|kind| kind.as_str() != "m") {
            continue;
        }
        if code.split(';').any(|code| code == "4") && !is_underlined {
            is_underlined = true;
            plain.push(UNDERLINE[0]);
        } else if matches!(code, "" | "0" | "24") && is_underlined {
            is_underlined = false;
            plain.push(UNDERLINE[1]);
        }
    }
    plain.push_str(&text[end..]);
    plain.replace('\r', "")
}

/// Removes the frame of a diagnostic from a line.
fn unframed(line: &str) -> &str {
    let line = line.trim_matches(['╷', '╵']);
    line.strip_prefix('│').map_or(line, |line| line.strip_prefix(' ').unwrap_or(line))
}

/// Returns the text that is marked in the source line with this number, either underlined or with a
/// row of marks below it.
fn marked(number: &str, lines: &[&str]) -> String {
    let source = lines.iter().take(4).position(|line| {
        SOURCE.captures(&line.replace(UNDERLINE, "")).is_some_and(|found| &found[1] == number)
    });
    let Some(index) = source else { return String::new() };
    let line = lines[index];
    if let Some((_, rest)) = line.split_once(UNDERLINE[0]) {
        return rest.split(UNDERLINE[1]).next().unwrap_or_default().to_owned();
    }
    let row = lines.get(index + 1).copied().unwrap_or_default();
    if !row.contains('─') || !row.chars().all(|char| char == '─' || char == ' ') {
        return String::new();
    }
    line.chars().zip(row.chars()).filter(|(_, mark)| *mark == '─').map(|(char, _)| char).collect()
}

#[test]
fn underlined_and_pointed_at_source_text_is_found() {
    let rows = "╷\n│ Error: Wrong\n│ \n│   on a b.tf line 12, in x:\n│   12: one two\n│           ───\n│ \n│ Because\n│ of it.\n╵\n";
    let facts = Facts::from_output(rows);
    assert_eq!(facts.record(&[]), "at a b.tf:12 two\nsummary Wrong\n");
    assert_eq!(facts.text, "Error: Wrong on a b.tf line 12, in x: 12: one two ─── Because of it.");
    let underlined =
        "\u{1b}[31m│\u{1b}[0m   on a.tf line 2:\n│    2: one \u{1b}[4mtwo\u{1b}[0m three\u{1b}[0m\n";
    assert_eq!(Facts::from_output(underlined).record(&[]), "at a.tf:2 two\n");
}

#[test]
fn expectations_are_met_only_by_matching_output() {
    let facts = Facts::from_output(
        "╷\n│ Error: Wrong\n│\n│   on a.tf line 3:\n│    3: one two\n│           ───\n│\n│ Because\n│ of it.\n╵\n",
    );
    let at = |marked: &str| Expectation::At { place: "a.tf:3".to_owned(), marked: marked.to_owned() };
    let regex = |text| Regex::new(text).unwrap();
    let met = [at(""), at("two"), Expectation::Says(regex("Because of")), Expectation::Hides(regex("three"))];
    assert_eq!(facts.meet(&met), Some(true));
    for missed in [
        at("one"),
        Expectation::At { place: "a.tf:2".to_owned(), marked: String::new() },
        Expectation::Says(regex("because")),
        Expectation::Hides(regex("Because")),
        Expectation::Width(10),
        Expectation::Lines(9),
    ] {
        assert_eq!(facts.meet(&[at("two"), missed]), Some(false));
    }
    assert_eq!(facts.meet(&[Expectation::NotApplicable]), None);
    // Facts that are read from a record meet the same expectations.
    let record = facts.record(&met.iter().collect::<Vec<_>>());
    assert_eq!(Facts::from_record(&record).meet(&met), Some(true));
}
