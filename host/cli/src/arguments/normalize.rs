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
//! | `-markdown`, whose value is optional | `--markdown` |
//! | `-`, and everything after `--` | unchanged |
//! | `-help`, `--help`, `-h`; `help` before the command | a request for help |
//! | `help environment` | a request for help on environment variables |
//! | `-version`, `--version`, `-v` before the command | `version` |
//! | `-install-autocomplete`, `-uninstall-autocomplete` before the command | `completion --install`, `completion --uninstall` |
//!
//! Only known names are converted; an unknown name causes an error that suggests the nearest name.
//! Arguments from the environment are inserted directly after the command, so the typed arguments
//! come last and take precedence.

use std::any::TypeId;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};
use wardian_app::ProcessEnvironment;
use wardian_diagnostic::{closest, did_you_mean};

use super::{shell_words, unsupported};
use crate::failure::Usage;

/// The maximum number of commands that an error message lists for an option that the given command
/// does not have.
const MAX_LISTED_COMMANDS: usize = 4;

/// A command line that clap can parse.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Normalised {
    /// The command with its parents.
    pub(super) command: Vec<String>,
    /// Whether the user requested the command's help.
    pub(super) asks_for_help: bool,
    /// Whether the user requested help on environment variables.
    pub(super) is_about_environment: bool,
    /// Whether all required subcommands are given.
    pub(super) is_complete: bool,
    /// The arguments for clap.
    pub(super) arguments: Vec<OsString>,
    /// The arguments for clap that come from environment variables, with the variables.
    environment_arguments: Vec<(String, OsString)>,
}

impl Normalised {
    /// Returns the sentence that names the environment variable that contains an argument, or an
    /// empty string if no variable contains it. `is_meant` is called with arguments in clap's form.
    pub(super) fn environment_note(&self, is_meant: impl Fn(&OsStr) -> bool) -> String {
        let variable = self.environment_arguments.iter().find(|(_, argument)| is_meant(argument));
        variable.map_or_else(String::new, |(name, _)| environment_note(name))
    }
}

fn environment_note(variable: &str) -> String {
    format!(" The environment variable {variable} contains this argument.")
}

/// Converts arguments to clap's form. `root` defines all commands and options.
pub(super) fn normalize(
    root: &Command,
    given: Vec<OsString>,
    environment: &ProcessEnvironment,
) -> Result<Normalised, Usage> {
    let mut reader = Reader {
        root,
        command: root,
        environment,
        queue: given.into(),
        environment_words: VecDeque::new(),
        origin: None,
        has_further: false,
        done: Normalised::default(),
    };
    loop {
        let Some(argument) = reader.next_argument() else {
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
        match (option_parts(&argument), argument.to_str()) {
            (Some((name, value)), _) => reader.option(name, value)?,
            (None, Some(text)) if reader.command.has_subcommands() => reader.subcommand(text)?,
            _ => reader.push(argument),
        }
    }
    reader.done.is_complete = !reader.command.has_subcommands() || reader.works_alone();
    Ok(reader.done)
}

struct Reader<'a> {
    /// The program.
    root: &'a Command,
    /// The innermost command so far.
    command: &'a Command,
    environment: &'a ProcessEnvironment,
    queue: VecDeque<OsString>,
    /// The variables whose arguments are at the front of the queue, with the number of arguments.
    environment_words: VecDeque<(String, usize)>,
    /// The variable that contains the current argument.
    origin: Option<String>,
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

    fn next_argument(&mut self) -> Option<OsString> {
        let argument = self.queue.pop_front()?;
        self.origin = None;
        if let Some((name, count)) = self.environment_words.front_mut() {
            self.origin = Some(name.clone());
            *count -= 1;
            if *count == 0 {
                self.environment_words.pop_front();
            }
        }
        Some(argument)
    }

    /// Adds an argument for clap.
    fn push(&mut self, argument: OsString) {
        if let Some(variable) = &self.origin {
            self.done.environment_arguments.push((variable.clone(), argument.clone()));
        }
        self.done.arguments.push(argument);
    }

    fn wrong(&self, summary: impl Into<String>, detail: impl Into<String>) -> Usage {
        let mut detail = detail.into();
        if let Some(name) = &self.origin {
            detail.push_str(&environment_note(name));
        }
        Usage { summary: summary.into(), detail, command: self.path() }
    }

    fn subcommand(&mut self, name: &str) -> Result<(), Usage> {
        if self.done.command.is_empty() {
            if name == "help" {
                self.done.asks_for_help = true;
                return Ok(());
            }
            if name == "environment" && self.done.asks_for_help {
                self.done.is_about_environment = true;
                return Ok(());
            }
        }
        let path = format!("{} {name}", self.path()).trim_start().to_owned();
        let Some(found) = self.command.find_subcommand(name) else {
            let names = self.command.get_subcommands().map(Command::get_name);
            let meant = did_you_mean(name, names);
            return Err(self.wrong("Unknown command", format!("There is no command \"{path}\".{meant}")));
        };
        self.command = found;
        // The name may be an alias.
        self.done.command.push(found.get_name().to_owned());
        self.done.arguments.push(found.get_name().into());
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
            if !words.is_empty() {
                self.environment_words.push_back((name, words.len()));
            }
            further.extend(words.into_iter().map(OsString::from));
        }
        further.into_iter().rev().for_each(|word| self.queue.push_front(word));
        Ok(())
    }

    fn option(&mut self, name: &str, value: Option<&OsStr>) -> Result<(), Usage> {
        if matches!(name, "help" | "h") {
            self.done.asks_for_help = true;
            return Ok(());
        }
        if matches!(name, "version" | "v") && self.done.command.is_empty() {
            self.queue.clear();
            return self.subcommand("version");
        }
        if let Some(action) = name.strip_suffix("-autocomplete").filter(|_| self.done.command.is_empty())
            && matches!(action, "install" | "uninstall")
        {
            self.queue.clear();
            self.queue.push_back(format!("-{action}").into());
            return self.subcommand("completion");
        }
        let Some(option) = find_option(self.command, name) else {
            return Err(self.unknown(name));
        };
        let long = option.get_long().unwrap_or(name);
        if !option.get_action().takes_values() {
            self.done.arguments.retain(|earlier| earlier.to_str() != Some(&format!("--{long}")));
            if value.map_or(Ok(true), |value| self.boolean(name, value))? {
                self.push(format!("--{long}").into());
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
            None if option.is_require_equals_set() => argument = format!("--{long}").into(),
            None => {
                let next = self.next_argument();
                argument.push(next.ok_or_else(|| {
                    self.wrong("Value missing", format!("The option -{name} needs a value: -{name}=VALUE."))
                })?);
            }
        }
        self.push(argument);
        Ok(())
    }

    fn boolean(&self, name: &str, value: &OsStr) -> Result<bool, Usage> {
        match value.to_str() {
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
            _ => Err(self.wrong(
                format!("Invalid value for -{name}"),
                format!("\"{}\" cannot be used: it must be true or false.", value.display()),
            )),
        }
    }

    /// Names the commands that have an option, for a user who passed it to another one.
    fn other_place(&self, name: &str) -> String {
        if !self.done.command.is_empty() && find_option(self.root, name).is_some() {
            return format!(" -{name} is a global option, and belongs before the command.");
        }
        let has_option =
            |command: &&Command| find_option(command, name).is_some_and(|option| !option.is_hide_set());
        let owners: Vec<String> = self
            .root
            .get_subcommands()
            .filter(has_option)
            .take(MAX_LISTED_COMMANDS)
            .map(|command| command.get_name().to_owned())
            .collect();
        match &*owners {
            [] => String::new(),
            [_] => format!(" The command {} has this option.", listed(&owners)),
            _ => format!(" The commands {} have this option.", listed(&owners)),
        }
    }

    fn unknown(&self, name: &str) -> Usage {
        let path = self.path();
        if unsupported::has_option(&path, name) {
            let of = if path.is_empty() { String::new() } else { format!(" of \"{path}\"") };
            return self
                .wrong("Not available yet", format!("Terraform's option -{name}{of} is not available yet."));
        }
        let names = self.command.get_arguments().filter(|option| !option.is_hide_set());
        let meant = closest(name, names.filter_map(Arg::get_long))
            .map_or_else(|| self.other_place(name), |near| format!(" Did you mean -{near}?"));
        let whose = if path.is_empty() {
            "no such option before a command".to_owned()
        } else {
            format!("no such option of \"{path}\"")
        };
        self.wrong("Unknown option", format!("There is {whose}: -{name}.{meant}"))
    }
}

/// Splits an option into its name and its value; `None` for other arguments. The value, such as a
/// file's name, may be invalid UTF-8.
pub(crate) fn option_parts(argument: &OsStr) -> Option<(&str, Option<&OsStr>)> {
    let bytes = argument.as_encoded_bytes();
    let name_end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let name = str::from_utf8(bytes.get(..name_end)?).ok()?;
    let bare = name.strip_prefix("--").or_else(|| name.strip_prefix('-'))?;
    if bytes.len() < 2 {
        return None;
    }
    Some((bare, value_after(argument, name_end)))
}

/// Returns the text after the equals sign at a position, if there is one.
#[cfg(unix)]
fn value_after(argument: &OsStr, equals_sign: usize) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt as _;
    argument.as_bytes().get(equals_sign + 1..).map(OsStr::from_bytes)
}

#[cfg(not(unix))]
fn value_after(argument: &OsStr, equals_sign: usize) -> Option<&OsStr> {
    argument.to_str()?.get(equals_sign + 1..).map(OsStr::new)
}

/// Lists commands in a sentence: `"a"`, `"a" and "b"`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("\"{one}\""),
        [names @ .., last] => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("{} and \"{last}\"", names.join(", "))
        }
    }
}

/// Returns the option of a command with this name.
pub(crate) fn find_option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|option| {
        option.get_long() == Some(name)
            || option.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}
