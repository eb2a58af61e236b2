//! `wardian console`: evaluates expressions against the state.

mod continuation;
mod lines;
mod types;

use std::io::{self, BufRead as _};
use std::path::Path;

use async_trait::async_trait;
use wardian_app::state_access;
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, SourceFile};
use wardian_engine::{Console, PlanOptions, StopSignal};
use wardian_lang::parse_expression;

use crate::arguments::ConsoleArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::render::value::render_value;
use crate::shell::ViewOptions;
use crate::variables;
use continuation::is_open;
use lines::{Line, Lines};
use wardian_printable::PrintableText;

/// The history file in the user's data directory.
const HISTORY: &str = "console_history";

const PARALLELISM: usize = 10;

/// Maximum size of an expression.
const MAX_BYTES: usize = 16 << 20;

const HELP: &str = "\
Type an expression and press Enter to see its value. It can contain functions
and the same references as the configuration, such as var.name, local.name and
random_id.a.hex. The values of resources come from the state.

type(EXPRESSION) shows the type of a value.

An expression can span several lines while a bracket is open; an empty
line ends it. To exit, type \"exit\" or press Control-D.
";

#[async_trait(?Send)]
impl CommandSpec for ConsoleArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &ConsoleArguments) -> Outcome {
    let console = console(context, arguments).await?;
    if context.shell.can_ask() { interactive(context, console).await } else { piped(context, &console) }
}

async fn console(context: &CommandContext, arguments: &ConsoleArguments) -> Outcome<Console> {
    let configuration = context.app.configuration()?;
    let module = &configuration.root().module;
    let mut variables =
        variables::as_far_as_given(module, &arguments.variables, &context.app.environment, &context.shell)?;
    context
        .app
        .set_encryption_variable_inputs(variables::inputs(&arguments.variables, &context.app.environment)?);
    let look =
        state_access::read_unlocked(&context.app, Some(&configuration), arguments.state.as_deref()).await?;
    let lock = context.app.lock_file()?;
    let plugins = context.app.plugins(&configuration, Some(&look.state), &lock, PARALLELISM)?;
    let run = context.engine_run(configuration.clone(), plugins);
    if arguments.plan {
        let options = PlanOptions { parallelism: PARALLELISM, ..PlanOptions::default() };
        let Diagnosed { value: console, diagnostics } =
            run.console_of_plan((*look.state).clone(), variables.into(), &options, StopSignal::never()).await;
        let Some(console) = console else { return Err(Failure::Diagnostics(diagnostics)) };
        return context.shell.warned(console, &diagnostics);
    }
    for (name, variable) in &module.variables {
        if let (None, Some(default)) = (variables.get(name), &variable.default) {
            variables.insert(name.clone(), default.clone());
        }
    }
    Ok(run.console((*look.state).clone(), variables).await?)
}

/// Evaluates typed lines. After an error, shows the error and continues with the next line.
async fn interactive(context: &CommandContext, console: Console) -> Outcome {
    let history = context.app.environment.private_directory().map(|directory| directory.join(HISTORY));
    let shell = std::sync::Arc::clone(&context.shell);
    // The line editor blocks, so it must not run on a thread of the async runtime.
    let ended = tokio::task::spawn_blocking(move || -> Result<(), String> {
        let mut lines = Lines::new(history).map_err(|error| error.to_string())?;
        let mut input = String::new();
        loop {
            let prompt = if input.is_empty() { "> " } else { ": " };
            match lines.next(prompt).map_err(|error| error.to_string())? {
                Line::End => break,
                Line::AbandonedEmpty if input.is_empty() => break,
                Line::Abandoned | Line::AbandonedEmpty => {
                    input.clear();
                    continue;
                }
                Line::Text(line) => {
                    input.push_str(&line);
                    input.push('\n');
                }
            }
            if input.len() <= MAX_BYTES && is_open(&input) {
                continue;
            }
            let typed = std::mem::take(&mut input);
            if !typed.trim().is_empty() {
                lines.remember(typed.trim());
            }
            match evaluate(&console, typed.trim()) {
                Answer::Nothing => {}
                Answer::End => break,
                Answer::Text(text) => shell.say(text),
                Answer::Problems(problems) => shell.diagnostics(&problems),
            }
        }
        lines.save();
        Ok(())
    });
    match ended.await {
        Ok(Ok(())) => Ok(Status::Success),
        Ok(Err(problem)) => Err(unreadable(problem)),
        Err(problem) => Err(unreadable(problem)),
    }
}

/// Evaluates piped lines. The first error ends the command, and only the last result is printed.
fn piped(context: &CommandContext, console: &Console) -> Outcome {
    let mut input = String::new();
    let mut last = PrintableText::new();
    let mut lines = io::stdin().lock().lines();
    loop {
        let line = lines.next().transpose().map_err(unreadable)?;
        let is_end = line.is_none();
        if let Some(line) = line {
            input.push_str(&line);
            input.push('\n');
        }
        if !is_end && input.len() <= MAX_BYTES && is_open(&input) {
            continue;
        }
        if is_end && input.is_empty() {
            break;
        }
        match evaluate(console, std::mem::take(&mut input).trim()) {
            Answer::Nothing => last = PrintableText::new(),
            Answer::End => return Ok(Status::Success),
            Answer::Text(text) => last = text,
            Answer::Problems(problems) => return Err(problems.into()),
        }
        if is_end {
            break;
        }
    }
    context.shell.say(last);
    Ok(Status::Success)
}

enum Answer {
    Nothing,
    End,
    Text(PrintableText),
    Problems(Diagnostics),
}

fn evaluate(console: &Console, input: &str) -> Answer {
    match input {
        "" => return Answer::Nothing,
        "exit" => return Answer::End,
        "help" => return Answer::Text(PrintableText::from(HELP.trim_ascii_end())),
        _ => {}
    }
    let file = SourceFile::new("<console-input>", input);
    let evaluated = parse_expression(&file).and_then(|expression| {
        let mut whole = expression.clone();
        while let Some(inside) = whole.in_parentheses() {
            whole = inside;
        }
        let Some(call) = whole.as_call().filter(|call| matches!(&*call.name, "type" | "core::type")) else {
            return Ok(render_value(&console.evaluate(&expression)?, 0));
        };
        match (&call.arguments[..], call.expands) {
            ([argument], false) => Ok(types::render_type(console.evaluate(argument)?.ty())),
            (arguments, expands) => Err(Diagnostic::error(
                match arguments.len() {
                    0 => "Not enough function arguments",
                    1 if expands => "Invalid use of type function",
                    _ => "Too many function arguments",
                },
                "The function \"type\" takes one argument: the value whose type is printed.",
            )
            .at(call.name_span)
            .into()),
        }
    });
    evaluated.map_or_else(Answer::Problems, Answer::Text)
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::error("Input cannot be read", format!("{error}."))
}
