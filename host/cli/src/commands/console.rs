//! `wardian console`

use std::io::{self, BufRead as _};

use wardian_engine::Console;
use wardian_lang::{Diagnostics, SourceFile, parse_expression};

use crate::arguments::ConsoleArguments;
use crate::failure::{Failure, Outcome, Status};
use crate::render::value::render_value;
use crate::session::Session;
use crate::state_access;
use crate::variables::{self, Asking};

const HELP: &str = "\
Type an expression and press Enter to see its value. What the configuration
refers to can be used: var.name, local.name, random_id.a.hex, functions.
The values of resources are those in the state.

An expression goes on over several lines while a bracket is open.
To end, type \"exit\" or press Control-D.
";

/// Evaluates expressions, line by line.
pub(crate) async fn run(session: &Session, arguments: &ConsoleArguments) -> Outcome {
    let stop = wardian_engine::StopSignal::never();
    let configuration = session.configuration()?;
    let asking = if session.shell.can_ask() { Asking::Allowed } else { Asking::Forbidden };
    let (module, shell) = (&configuration.root().module, &session.shell);
    let mut variables =
        variables::collect(module, &arguments.variables, asking, &session.environment, shell, &stop).await?;
    for (name, variable) in &module.variables {
        if let (None, Some(default)) = (variables.get(name), &variable.default) {
            variables.insert(name.clone(), default.clone());
        }
    }
    let look = state_access::look(session, Some(&configuration), arguments.state.as_deref())?;
    let lock = session.lock_file()?;
    let plugins = session.plugins(&configuration, Some(&look.state), &lock, 1)?;
    let run = session.run(configuration, plugins);
    let console = run.console((*look.state).clone(), variables).await?;
    if shell.can_ask() { interactive(session, &console).await } else { piped(session, &console) }
}

/// A person types: an error is shown, and the next line is awaited.
async fn interactive(session: &Session, console: &Console) -> Outcome {
    let mut input = String::new();
    loop {
        let prompt = if input.is_empty() { "> " } else { ": " };
        let answer = session.shell.ask(prompt).await;
        let Some(line) = answer.map_err(|error| unreadable(&error))? else { return Ok(Status::Success) };
        input.push_str(&line);
        input.push('\n');
        if is_open(&input) {
            continue;
        }
        match evaluate(console, input.trim()) {
            Answer::Nothing => {}
            Answer::End => return Ok(Status::Success),
            Answer::Text(text) => session.shell.say(text),
            Answer::Problems(problems) => session.shell.diagnostics(&problems),
        }
        input.clear();
    }
}

/// A script pipes: the first error ends it.
fn piped(session: &Session, console: &Console) -> Outcome {
    let mut input = String::new();
    for line in io::stdin().lock().lines() {
        input.push_str(&line.map_err(|error| unreadable(&error))?);
        input.push('\n');
        if is_open(&input) {
            continue;
        }
        match evaluate(console, input.trim()) {
            Answer::Nothing => {}
            Answer::End => return Ok(Status::Success),
            Answer::Text(text) => session.shell.say(text),
            Answer::Problems(problems) => return Err(problems.into()),
        }
        input.clear();
    }
    match evaluate(console, input.trim()) {
        Answer::Problems(problems) => Err(problems.into()),
        Answer::Text(text) => {
            session.shell.say(text);
            Ok(Status::Success)
        }
        Answer::Nothing | Answer::End => Ok(Status::Success),
    }
}

enum Answer {
    Nothing,
    End,
    Text(String),
    Problems(Diagnostics),
}

fn evaluate(console: &Console, input: &str) -> Answer {
    match input {
        "" => return Answer::Nothing,
        "exit" => return Answer::End,
        "help" => return Answer::Text(HELP.trim_end().to_owned()),
        _ => {}
    }
    let file = SourceFile::new("<console-input>", input);
    match parse_expression(&file).and_then(|expression| console.evaluate(&expression)) {
        Ok(value) => Answer::Text(render_value(&value, 0)),
        Err(problems) => Answer::Problems(problems),
    }
}

/// Whether a bracket is still open. Quoted texts are passed over; that a bracket
/// in a template's text may count does no harm but to ask for one more line.
fn is_open(input: &str) -> bool {
    let mut depth = 0_i64;
    let mut quoted = false;
    let mut characters = input.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if quoted => {
                characters.next();
            }
            '"' => quoted = !quoted,
            '\n' => quoted = false,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    depth > 0
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::error("Input cannot be read", format!("{error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_goes_on_while_a_bracket_is_open() {
        for open in ["{\n", "[1,\n", "f(\"a\",\n", "{ a = [\"]\",\n"] {
            assert!(is_open(open), "{open}");
        }
        for closed in ["1 + 1\n", "\"(\"\n", "{ a = 1 }\n", ")\n", "\"\\\"(\"\n"] {
            assert!(!is_open(closed), "{closed}");
        }
    }
}
