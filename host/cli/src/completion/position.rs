//! Finds out what the last word of a command line can be.

use clap::{Arg, Command};

use crate::arguments::{find_option, option_parts};

/// The position of a command line's last word.
#[derive(Debug)]
pub(super) struct Position<'a> {
    /// The command with its parents.
    pub(super) path: Vec<&'a str>,
    pub(super) expected: Expected<'a>,
    /// The typed part of the word or value.
    pub(super) word: &'a str,
    /// The text before the value in the same word: `-target=`.
    pub(super) prefix: &'a str,
    /// The value of `-chdir`.
    pub(super) chdir: Option<&'a str>,
    /// The value of `-state`.
    pub(super) state: Option<&'a str>,
}

/// The meaning of a word.
#[derive(Debug)]
pub(super) enum Expected<'a> {
    /// A subcommand of this command.
    Command(&'a Command),
    /// An option of this command.
    Option(&'a Command),
    /// The value of an option, or an argument without a name.
    Value(&'a Arg),
}

struct Reader<'a> {
    root: &'a Command,
    command: &'a Command,
    path: Vec<&'a str>,
    /// The option whose value is the next word.
    pending: Option<&'a Arg>,
    /// The number of arguments without a name.
    operands: usize,
    has_separator: bool,
    chdir: Option<&'a str>,
    state: Option<&'a str>,
}

impl<'a> Position<'a> {
    /// Returns the position of the last of the words after the program; `None` if nothing is known
    /// about it.
    pub(super) fn for_words(root: &'a Command, words: &[&'a str]) -> Option<Self> {
        let (word, earlier) = words.split_last()?;
        let mut reader = Reader {
            root,
            command: root,
            path: Vec::new(),
            pending: None,
            operands: 0,
            has_separator: false,
            chdir: None,
            state: None,
        };
        earlier.iter().try_for_each(|word| reader.read(word))?;
        reader.last(word)
    }
}

impl<'a> Reader<'a> {
    /// Reads a word before the last one. Returns `None` if it is not a valid command.
    fn read(&mut self, word: &'a str) -> Option<()> {
        if let Some(option) = self.pending.take() {
            self.set(option, word);
            return Some(());
        }
        if word == "--" && !self.has_separator {
            if self.path == ["policy", "learn"] {
                // The rest is a command line of its own.
                self.command = self.root;
                self.path.clear();
            } else {
                self.has_separator = true;
            }
            return Some(());
        }
        if !self.has_separator && word.len() > 1 && word.starts_with('-') {
            let (name, value) = option_parts(word.as_ref())?;
            let option = find_option(self.command, name);
            match (option, value.and_then(|value| value.to_str())) {
                (Some(option), Some(value)) => self.set(option, value),
                (Some(option), None) if takes_next_word(option) => self.pending = Some(option),
                _ => {}
            }
            return Some(());
        }
        if self.command.has_subcommands() && !self.has_separator {
            if word == "help" && self.path.is_empty() {
                return Some(());
            }
            self.command = self.command.find_subcommand(word)?;
            self.path.push(self.command.get_name());
            return Some(());
        }
        self.operands += 1;
        Some(())
    }

    fn set(&mut self, option: &'a Arg, value: &'a str) {
        match option.get_long() {
            Some("chdir") => self.chdir = Some(value),
            Some("state") => self.state = Some(value),
            _ => {}
        }
    }

    fn last(self, word: &'a str) -> Option<Position<'a>> {
        let (expected, value) = self.expected(word)?;
        let (prefix, word) = word.split_at_checked(word.len() - value.len())?;
        Some(Position { path: self.path, expected, word, prefix, chdir: self.chdir, state: self.state })
    }

    /// Returns the meaning of the last word, and the part of it that is completed.
    fn expected(&self, word: &'a str) -> Option<(Expected<'a>, &'a str)> {
        if let Some(option) = self.pending {
            return Some((Expected::Value(option), word));
        }
        if !self.has_separator && word.starts_with('-') {
            return match word.split_once('=') {
                Some((name, value)) => {
                    let (name, _) = option_parts(name.as_ref())?;
                    Some((Expected::Value(find_option(self.command, name)?), value))
                }
                None => Some((Expected::Option(self.command), word)),
            };
        }
        if self.command.has_subcommands() && !self.has_separator {
            return Some((Expected::Command(self.command), word));
        }
        let mut operands = self.command.get_positionals().filter(|operand| !operand.is_hide_set());
        let operand = operands.nth(self.operands).or_else(|| {
            let last = self.command.get_positionals().last()?;
            is_repeatable(last).then_some(last)
        })?;
        Some((Expected::Value(operand), word))
    }
}

/// Returns whether the value of an option may be the next word. The value of a boolean option, and a
/// value that can be omitted, are always part of the same word.
fn takes_next_word(option: &Arg) -> bool {
    let is_boolean = option.get_value_parser().type_id() == std::any::TypeId::of::<bool>();
    option.get_action().takes_values() && !is_boolean && !option.is_require_equals_set()
}

fn is_repeatable(operand: &Arg) -> bool {
    matches!(operand.get_action(), clap::ArgAction::Append)
        || operand.get_num_args().is_some_and(|range| range.max_values() > 1)
}
