//! Converts the typed arguments to the form that clap parses.
//!
//! | typed | becomes |
//! |---|---|
//! | `-auto-approve`, `--auto-approve` | `--auto-approve` |
//! | `-auto-approve=true` | `--auto-approve` |
//! | `-auto-approve=false` | nothing, and an earlier `-auto-approve` is removed |
//! | `-lock` | `--lock=true` |
//! | `-lock=0` | `--lock=false` |
//! | `-var a=b`, `-var=a=b` | `--var=a=b`, even if the value begins with a dash |
//! | `-`, and everything after `--` | unchanged |
//! | `-help`, `--help`, `-h` | a request for help |
//! | `-version`, `--version`, `-v` before the command | `version` |
//!
//! Only known names are converted; an unknown name is an error that suggests the nearest one.
//! Arguments from the environment are inserted directly after the command, so that the typed
//! ones come last and take precedence.

use std::any::TypeId;
use std::collections::VecDeque;
use std::ffi::OsString;

use clap::{Arg, Command};
use wardian_app::ProcessEnvironment;
use wardian_diagnostic::closest;

use super::{shell_words, unsupported};
use crate::failure::Usage;

/// A command line that clap can parse.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Normalised {
    /// The command with its parents.
    pub(super) command: Vec<String>,
    /// Whether the user requested the command's help.
    pub(super) asks_for_help: bool,
    /// Whether all required subcommands are given.
    pub(super) is_complete: bool,
    /// The arguments for clap.
    pub(super) arguments: Vec<OsString>,
}

/// Converts arguments to clap's form. `root` defines all commands and options.
pub(super) fn normalise(
    root: &Command,
    given: Vec<OsString>,
    environment: &ProcessEnvironment,
) -> Result<Normalised, Usage> {
    let mut reader = Reader {
        command: root,
        environment,
        queue: given.into(),
        has_further: false,
        done: Normalised::default(),
    };
    loop {
        let Some(argument) = reader.queue.pop_front() else {
            if reader.works_alone() && !std::mem::replace(&mut reader.has_further, true) {
                reader.arguments_of_environment()?;
                continue;
            }
            break;
        };
        if argument == "--" {
            reader.done.arguments.push(argument);
            reader.done.arguments.extend(reader.queue.drain(..));
            break;
        }
        match argument.to_str() {
            Some(text) if text.len() > 1 && text.starts_with('-') => reader.option(text)?,
            Some(text) if reader.command.has_subcommands() => reader.subcommand(text)?,
            _ => reader.done.arguments.push(argument),
        }
    }
    reader.done.is_complete = !reader.command.has_subcommands() || reader.works_alone();
    Ok(reader.done)
}

struct Reader<'a> {
    /// The innermost command so far.
    command: &'a Command,
    environment: &'a ProcessEnvironment,
    queue: VecDeque<OsString>,
    /// Whether the environment's arguments have been queued.
    has_further: bool,
    done: Normalised,
}

impl Reader<'_> {
    /// Returns whether the command has subcommands but can run without one.
    fn works_alone(&self) -> bool {
        self.command.has_subcommands()
            && !self.command.is_subcommand_required_set()
            && !self.done.command.is_empty()
    }

    fn path(&self) -> String {
        self.done.command.join(" ")
    }

    fn wrong(&self, summary: impl Into<String>, detail: impl Into<String>) -> Usage {
        Usage { summary: summary.into(), detail: detail.into(), command: self.path() }
    }

    fn subcommand(&mut self, name: &str) -> Result<(), Usage> {
        let path = format!("{} {name}", self.path()).trim_start().to_owned();
        let Some(found) = self.command.find_subcommand(name) else {
            if unsupported::has_command(&path) {
                return Err(self.wrong(
                    "Not available yet",
                    format!("Terraform's command \"{path}\" is not available yet."),
                ));
            }
            let names = self.command.get_subcommands().map(Command::get_name);
            let meant =
                closest(name, names).map_or(String::new(), |near| format!(" Did you mean \"{near}\"?"));
            return Err(self.wrong("Unknown command", format!("There is no command \"{path}\".{meant}")));
        };
        self.command = found;
        self.done.command.push(name.to_owned());
        self.done.arguments.push(name.into());
        if found.has_subcommands() {
            return Ok(());
        }
        self.has_further = true;
        self.arguments_of_environment()
    }

    fn arguments_of_environment(&mut self) -> Result<(), Usage> {
        let mut further = Vec::new();
        for (name, text) in self.environment.arguments(&self.path()) {
            let words = shell_words::split(text).map_err(|problem| {
                self.wrong(
                    "Invalid arguments in the environment",
                    format!("{name} cannot be read: {problem}."),
                )
            })?;
            further.extend(words.into_iter().map(OsString::from));
        }
        further.into_iter().rev().for_each(|word| self.queue.push_front(word));
        Ok(())
    }

    fn option(&mut self, text: &str) -> Result<(), Usage> {
        let bare = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).unwrap_or(text);
        let (name, value) = match bare.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (bare, None),
        };
        if matches!(name, "help" | "h") {
            self.done.asks_for_help = true;
            return Ok(());
        }
        if matches!(name, "version" | "v") && self.done.command.is_empty() {
            self.queue.clear();
            return self.subcommand("version");
        }
        let Some(option) = find(self.command, name) else {
            return Err(self.unknown(name));
        };
        let long = option.get_long().unwrap_or(name);
        if !option.get_action().takes_values() {
            self.done.arguments.retain(|earlier| earlier.to_str() != Some(&format!("--{long}")));
            if value.map_or(Ok(true), |value| self.boolean(name, value))? {
                self.done.arguments.push(format!("--{long}").into());
            }
            return Ok(());
        }
        let is_boolean = option.get_value_parser().type_id() == TypeId::of::<bool>();
        let mut argument = OsString::from(format!("--{long}="));
        match value {
            _ if is_boolean => {
                let value = value.map_or(Ok(true), |value| self.boolean(name, value))?;
                argument.push(value.to_string());
            }
            Some(value) => argument.push(value),
            None => {
                let next = self.queue.pop_front();
                argument.push(next.ok_or_else(|| {
                    self.wrong("Value missing", format!("The option -{name} needs a value: -{name}=VALUE."))
                })?);
            }
        }
        self.done.arguments.push(argument);
        Ok(())
    }

    fn boolean(&self, name: &str, value: &str) -> Result<bool, Usage> {
        match value {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            _ => Err(self.wrong(
                format!("Invalid value for -{name}"),
                format!("\"{value}\" cannot be used: it must be true or false."),
            )),
        }
    }

    fn unknown(&self, name: &str) -> Usage {
        let path = self.path();
        if unsupported::has_option(&path, name) {
            let of = if path.is_empty() { String::new() } else { format!(" of \"{path}\"") };
            return self
                .wrong("Not available yet", format!("Terraform's option -{name}{of} is not available yet."));
        }
        let names = self.command.get_arguments().filter_map(Arg::get_long);
        let meant = closest(name, names).map_or(String::new(), |near| format!(" Did you mean -{near}?"));
        let whose = if path.is_empty() {
            "no such option before a command".to_owned()
        } else {
            format!("no such option of \"{path}\"")
        };
        self.wrong("Unknown option", format!("There is {whose}: -{name}.{meant}"))
    }
}

fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|option| {
        option.get_long() == Some(name)
            || option.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}
