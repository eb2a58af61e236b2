//! Completion of command lines in shells.
//!
//! A shell calls `wardian completion SHELL -- ...` with the words up to the cursor, or sets
//! `COMP_LINE` (`complete -C wardian wardian`, as for Terraform). The commands and options come
//! from the definitions for clap. Values come from files of the working directory: the state, the
//! configuration, variable files, plans and the lock file.
//!
//! Invariants: completion opens no connection, runs no plugin, takes no lock and writes no file;
//! the sizes of the files that it reads are limited; a problem results in fewer candidates, never
//! in a message on the user's command line.

mod candidate;
mod configuration;
pub(crate) mod install;
mod position;
mod response;
mod scripts;
mod shell_line;
mod sources;
mod value_kind;

use std::ffi::OsString;
use std::path::Path;

use wardian_app::ProcessEnvironment;

use crate::arguments::{CompletionShell, root_command};

use candidate::Candidate;
use position::{Expected, Position};
use sources::Sources;
use value_kind::ValueKind;

pub(crate) use scripts::script;

/// Returns the response to the arguments of a shell's script; `None` if the arguments are another
/// command.
///
/// The arguments are not parsed like those of other commands, because `TF_CLI_ARGS` must not
/// prevent completion.
pub(crate) fn response_to(arguments: &[OsString], environment: &ProcessEnvironment) -> Option<String> {
    let [command, shell, separator, given @ ..] = arguments else { return None };
    if command != "completion" || separator != "--" {
        return None;
    }
    let shell = CompletionShell::from_name(shell.to_str()?)?;
    let given: Option<Vec<&str>> = given.iter().map(|word| word.to_str()).collect();
    let given = given.unwrap_or_default();
    Some(match (shell, &*given) {
        (CompletionShell::Bash, [line, word_breaks]) => bash(line, word_breaks, true, environment),
        (CompletionShell::Bash, _) | (_, []) => String::new(),
        (_, [earlier @ .., current]) => {
            let current = shell_line::unquoted(current);
            let words: Vec<&str> = earlier.iter().copied().chain([current.as_str()]).collect();
            response::lines(shell, &candidates(&words, environment))
        }
    })
}

/// Returns the response to `complete -C`: the candidates for the last word of a line in bash.
pub(crate) fn response_to_line(line: &str, environment: &ProcessEnvironment) -> String {
    bash(line, shell_line::WORD_BREAKS, false, environment)
}

fn bash(line: &str, word_breaks: &str, has_spaces: bool, environment: &ProcessEnvironment) -> String {
    let line = shell_line::ShellLine::parse(line, word_breaks);
    // The first word is the program.
    let Some((_, words)) = line.words.split_first().filter(|(_, words)| !words.is_empty()) else {
        return String::new();
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    response::bash_lines(&line, &candidates(&words, environment), has_spaces)
}

/// Returns the candidates for the last word.
fn candidates(words: &[&str], environment: &ProcessEnvironment) -> Vec<Candidate> {
    let root = root_command();
    let Some(position) = Position::for_words(&root, words) else { return Vec::new() };
    let found = match &position.expected {
        Expected::Command(command) => candidate::commands(command, position.path.is_empty()),
        Expected::Option(command) => candidate::options(command, position.word, position.path.is_empty()),
        Expected::Value(argument) => {
            let directory = Path::new(position.chdir.unwrap_or("."));
            let sources = Sources::new(directory, position.state, environment);
            sources.values(ValueKind::for_argument(&position.path, argument), position.word)
        }
    };
    candidate::select(found, position.word, position.prefix)
}

#[cfg(test)]
mod tests;
