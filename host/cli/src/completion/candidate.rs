//! Candidates: the texts with which a word can be completed.

use std::collections::BTreeMap;

use clap::{Arg, Command};
use wardian_printable::escape::is_deceptive;

/// The maximum number of candidates. More are combined by their next characters.
const MAX_CANDIDATES: usize = 200;

/// A text with which a word can be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The complete word.
    pub(super) text: String,
    /// One line; may be empty.
    pub(super) description: String,
    pub(super) ending: Ending,
}

/// The continuation of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The word is complete.
    Word,
    /// The word continues: after `-target=`, a directory, or a part of an address.
    Open,
    /// The word is an address, of which a part is shown if there are too many addresses.
    Address,
}

impl Candidate {
    pub(super) fn new(text: impl Into<String>, description: impl Into<String>, ending: Ending) -> Self {
        Self { text: text.into(), description: description.into(), ending }
    }

    pub(super) fn word(text: impl Into<String>) -> Self {
        Self::new(text, "", Ending::Word)
    }

    pub(super) fn open(text: impl Into<String>) -> Self {
        Self::new(text, "", Ending::Open)
    }

    pub(super) fn address(text: impl Into<String>) -> Self {
        Self::new(text, "", Ending::Address)
    }
}

/// Returns the subcommands of a command.
pub(super) fn commands(command: &Command, is_program: bool) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .map(|one| Candidate::new(one.get_name(), about(one.get_about()), Ending::Word))
        .collect();
    if is_program {
        found.push(Candidate::new("help", "Describe a command and its options", Ending::Word));
    }
    found
}

/// Returns the options of a command with as many dashes as the user typed. `-` means one.
pub(super) fn options(command: &Command, typed: &str, is_program: bool) -> Vec<Candidate> {
    let dashes = if typed.starts_with("--") { "--" } else { "-" };
    let mut found: Vec<Candidate> = command
        .get_arguments()
        .filter(|option| !option.is_hide_set())
        .filter_map(|option| {
            let name = option.get_long()?;
            let (equals, ending) = if needs_value(option) { ("=", Ending::Open) } else { ("", Ending::Word) };
            Some(Candidate::new(format!("{dashes}{name}{equals}"), about(option.get_help()), ending))
        })
        .collect();
    let mut flag = |name: &str, about: &str| {
        found.push(Candidate::new(format!("{dashes}{name}"), about, Ending::Word));
    };
    flag("help", "Show the help of this command");
    if is_program {
        flag("version", "Show the version");
        flag("install-autocomplete", "Install completion in the configuration files of shells");
        flag("uninstall-autocomplete", "Remove completion from the configuration files of shells");
    }
    found
}

/// Returns whether an option takes a value. The value of a boolean option can be omitted, but only
/// `false` has an effect.
fn needs_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

/// Returns the first sentence of a help text.
fn about(help: Option<&clap::builder::StyledStr>) -> String {
    let help = help.map(ToString::to_string).unwrap_or_default();
    let line = help.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(first, _)| first).trim_end_matches('.').to_owned()
}

/// Returns the candidates for a typed word, sorted, with the text before it. Candidates that cannot
/// be typed are omitted: they would change the meaning of the line.
pub(super) fn select(found: Vec<Candidate>, word: &str, prefix: &str) -> Vec<Candidate> {
    let mut selected: BTreeMap<String, Candidate> = BTreeMap::new();
    let is_usable = |one: &Candidate| one.text.starts_with(word) && !one.text.contains(is_deceptive);
    for one in found.into_iter().filter(is_usable) {
        selected.entry(one.text.clone()).or_insert(one);
    }
    if selected.len() > MAX_CANDIDATES {
        selected = combined(selected, |text| part_of_address(text, word.len()));
    }
    if selected.len() > MAX_CANDIDATES {
        selected = combined(selected, |text| next_character(text, word.len()));
    }
    selected
        .into_values()
        .take(MAX_CANDIDATES)
        .map(|mut one| {
            one.text.insert_str(0, prefix);
            one.description.retain(|character| !is_deceptive(character));
            one
        })
        .collect()
}

/// Replaces candidates by a part of each.
fn combined(
    candidates: BTreeMap<String, Candidate>,
    part: impl Fn(&str) -> usize,
) -> BTreeMap<String, Candidate> {
    let mut parts: BTreeMap<String, Candidate> = BTreeMap::new();
    for (text, candidate) in candidates {
        match text.get(..part(&text)).filter(|part| part.len() < text.len()) {
            Some(part) if candidate.ending != Ending::Word || parts.contains_key(part) => {
                parts.entry(part.to_owned()).or_insert_with(|| Candidate::open(part));
            }
            _ => {
                parts.insert(text, candidate);
            }
        }
    }
    parts
}

/// Returns the end of the first part of an address after a position: after `.`, or after `[`.
fn part_of_address(address: &str, start: usize) -> usize {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (position, byte) in address.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'.' | b'[' if !is_quoted && position >= start => return position + 1,
            _ => {}
        }
    }
    address.len()
}

fn next_character(text: &str, start: usize) -> usize {
    let mut boundaries = (start + 1..=text.len()).filter(|position| text.is_char_boundary(*position));
    boundaries.next().unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(candidates: &[Candidate]) -> Vec<&str> {
        candidates.iter().map(|one| one.text.as_str()).collect()
    }

    #[test]
    fn many_addresses_are_combined_by_their_next_part() {
        let addresses = || {
            let all = (0..1000).flat_map(|index| {
                [format!("module.a[\"x.{index}\"].t.b"), format!("t.c[{index}]"), format!("t.d{index}.e")]
            });
            all.map(Candidate::address).collect::<Vec<_>>()
        };
        assert_eq!(texts(&select(addresses(), "", "-target=")), ["-target=module.", "-target=t."]);
        assert_eq!(texts(&select(addresses(), "module.", "")), ["module.a["]);
        let some = select(addresses(), "t.", "");
        assert!(some.len() <= MAX_CANDIDATES, "{}", some.len());
        assert_eq!(texts(&some), ["t.c", "t.d"]);
        let indexes = select(addresses(), "t.c[", "");
        assert_eq!(indexes.len(), 10);
        assert!(indexes.iter().all(|one| one.ending == Ending::Open));
        let few = select(addresses(), "t.c[12", "");
        assert_eq!(few.len(), 11);
        assert!(few.iter().all(|one| one.ending == Ending::Address));
    }

    #[test]
    fn candidates_that_cannot_be_typed_are_omitted() {
        let found = ["a\nb", "a\u{1b}[2J", "a\u{202e}b", "ab", "ab"].map(Candidate::word).to_vec();
        assert_eq!(texts(&select(found, "a", "")), ["ab"]);
    }

    #[test]
    fn multibyte_characters_are_not_split() {
        let found: Vec<Candidate> = (0..300).map(|index| Candidate::address(format!("é{index}"))).collect();
        assert_eq!(texts(&select(found, "", "")), ["é"]);
    }
}
