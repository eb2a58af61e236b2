//! Shows the review of a plan on the whole terminal, for `-review`.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use wardian_app::AppError;
use wardian_diagnostic::system_reason;
use wardian_engine::{Plan, Stop, StopSignal};
use wardian_printable::printable;
use wardian_review::{Review, SourcePosition};
use wardian_review_terminal::{ReviewView, ViewApproval, ViewEffect, ViewSettings};

use crate::arguments::split_words;
use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::operation::Operation;
use crate::review_findings::{plugin_accesses, review_warnings};
use crate::review_source::{is_untrusted, review_of_plan};
use crate::shell::{Screen, ScreenEvent};

/// The user's decision at the end of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Approved,
    NotApproved,
}

/// Checks that the view can be shown, before the plan is created.
///
/// # Errors
/// Returns an error if there is no terminal.
pub(crate) fn check_terminal(context: &CommandContext) -> Outcome<()> {
    if context.shell.has_screen() {
        return Ok(());
    }
    Err(Failure::error(
        "No terminal for -review",
        "-review shows the plan on a terminal, but the input or the output is not a terminal that can move its \
         cursor. Use -summary or -concise instead.",
    ))
}

/// Enters the full-screen mode of the terminal.
///
/// # Errors
/// Returns an error if the terminal's settings cannot be changed.
pub(crate) fn enter(context: &CommandContext) -> Outcome<Screen> {
    context.shell.enter_screen().map_err(unusable)
}

/// Shows the review of a plan until the user quits or approves.
///
/// # Errors
/// Returns an error if the terminal cannot be used, or a signal ends the view.
pub(crate) async fn review_plan(
    context: &CommandContext,
    plan: &Plan,
    operation: &Operation,
    approval: ViewApproval,
) -> Outcome<Decision> {
    let schemas = operation.run.schemas(Some(&operation.state)).await?;
    let review = review_of_plan("plan", plan, operation.configuration(), &schemas);
    schemas.close().await;
    let review = review?
        .with_accesses(plugin_accesses(&context.app.audit_log.summary()))
        .with_warnings(review_warnings(&context.shell.shown_warnings()));
    show_review(context, review, approval, is_untrusted(plan), &operation.stop)
}

/// Shows a review until the user quits or approves. `is_untrusted` states whether the plan was created with
/// `-untrusted`.
///
/// # Errors
/// Returns an error if the terminal cannot be used, or a signal ends the view.
pub(crate) fn show_review(
    context: &CommandContext,
    review: Review,
    approval: ViewApproval,
    is_untrusted: bool,
    stop: &StopSignal,
) -> Outcome<Decision> {
    let editor = editor(context, is_untrusted);
    let settings = ViewSettings {
        has_color: context.shell.render_options().color,
        approval,
        has_editor: editor.is_some(),
    };
    let mut view = ReviewView::new(Arc::new(review), settings);
    let mut screen = enter(context)?;
    loop {
        screen.draw(&mut view).map_err(unusable)?;
        let effect = match Screen::next_event().map_err(unusable)? {
            _ if stop.current() != Stop::No => return Err(AppError::interrupted().into()),
            ScreenEvent::Ended => return Err(AppError::interrupted().into()),
            ScreenEvent::Draw => ViewEffect::Draw,
            ScreenEvent::Key(key) => view.press(key),
        };
        match effect {
            ViewEffect::Draw => {}
            ViewEffect::Approve => return Ok(Decision::Approved),
            ViewEffect::Quit => return Ok(Decision::NotApproved),
            ViewEffect::Suspend => screen.suspended(suspend).map_err(unusable)?,
            ViewEffect::OpenSource(source) => {
                open_source(&mut screen, &mut view, editor.as_deref(), &source).map_err(unusable)?;
            }
        }
    }
}

/// Returns the user's editor and its options; `None` if there is none, or if the configuration or the plan is
/// not trusted, because its files could attack the editor.
fn editor(context: &CommandContext, is_untrusted: bool) -> Option<Vec<String>> {
    if is_untrusted || context.app.confinement.is_some() {
        return None;
    }
    let words = split_words(context.app.environment.editor()?).ok()?;
    (!words.is_empty()).then_some(words)
}

fn open_source(
    screen: &mut Screen,
    view: &mut ReviewView,
    editor: Option<&[String]>,
    source: &SourcePosition,
) -> io::Result<()> {
    let Some((program, options)) = editor.and_then(<[String]>::split_first) else { return Ok(()) };
    let path = Path::new(&*source.file);
    if !path.is_file() {
        view.notify(printable!("The file {} is not in this directory.", source.file));
        return Ok(());
    }
    let status = screen.suspended(|| {
        Command::new(program).args(options).args(position_arguments(program, path, source.line)).status()
    })?;
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => view.notify(printable!("The editor {program} failed: {status}.")),
        Err(error) => {
            view.notify(printable!("The editor {program} cannot be started: {}.", system_reason(&error)));
        }
    }
    Ok(())
}

/// Returns the arguments with which an editor opens a line of a file.
fn position_arguments(program: &str, path: &Path, line: u32) -> Vec<String> {
    // A relative path begins with a dot, so it cannot be mistaken for an option.
    let path = if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) };
    let path = path.display().to_string();
    let name = Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    match name {
        "code" | "codium" | "code-insiders" | "cursor" => vec!["--goto".to_owned(), format!("{path}:{line}")],
        "hx" | "helix" | "subl" | "zed" => vec![format!("{path}:{line}")],
        // vi, nano, emacs and most other editors.
        _ => vec![format!("+{line}"), path],
    }
}

/// Suspends the process until the shell continues it.
fn suspend() {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        // If the signal is not delivered, the view continues.
        let _ = kill_process(getpid(), Signal::TSTP);
    }
}

fn unusable(error: io::Error) -> Failure {
    Failure::error("Terminal cannot be used", format!("The view ended: {}.", system_reason(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_open_a_line() {
        let arguments = |program, path| position_arguments(program, Path::new(path), 7);
        assert_eq!(arguments("/usr/bin/vim", "main.tf"), ["+7", "./main.tf"]);
        assert_eq!(arguments("nano", "-x.tf"), ["+7", "./-x.tf"]);
        assert_eq!(arguments("code", "/a/main.tf"), ["--goto", "/a/main.tf:7"]);
        assert_eq!(arguments("hx", "modules/a.tf"), ["./modules/a.tf:7"]);
    }
}
