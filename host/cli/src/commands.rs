//! The commands, one module each.

mod apply;
mod console;
mod fmt;
mod get;
mod graph;
mod init;
mod metadata;
mod modules;
mod output;
mod plan;
mod providers;
mod refresh;
mod show;
mod state_list;
mod state_pull;
mod state_show;
mod validate;
mod version;

use crate::arguments::{Command, ProvidersCommand, StateCommand};
use crate::failure::Outcome;
use crate::session::Session;
use crate::shell::ShellOptions;

/// Carries out a command.
pub(crate) async fn run(session: &Session, command: Command) -> Outcome {
    if needs_workspace(&command) {
        session.check_workspace()?;
    }
    match command {
        Command::Init(arguments) => init::run(session, &arguments).await,
        Command::Validate(arguments) => validate::run(session, &arguments).await,
        Command::Plan(arguments) => plan::run(session, &arguments).await,
        Command::Apply(arguments) => apply::run(session, &arguments).await,
        Command::Destroy(arguments) => apply::destroy(session, &arguments).await,
        Command::Console(arguments) => console::run(session, &arguments).await,
        Command::Fmt(arguments) => Ok(fmt::run(session, &arguments)),
        Command::Get(arguments) => get::run(session, &arguments),
        Command::Graph(arguments) => graph::run(session, &arguments).await,
        Command::Metadata(arguments) => Ok(metadata::run(session, &arguments.command)),
        Command::Modules(arguments) => modules::run(session, &arguments),
        Command::Output(arguments) => output::run(session, &arguments),
        Command::Providers(arguments) => providers::run(session, &arguments).await,
        Command::Refresh(arguments) => refresh::run(session, &arguments).await,
        Command::Show(arguments) => show::run(session, &arguments).await,
        Command::State(state) => match state.command {
            StateCommand::List(arguments) => state_list::run(session, &arguments),
            StateCommand::Show(arguments) => state_show::run(session, &arguments).await,
            StateCommand::Pull(_) => state_pull::run(session),
        },
        Command::Version(arguments) => version::run(session, &arguments),
    }
}

/// Whether a command looks into the state of the workspace, or names it.
fn needs_workspace(command: &Command) -> bool {
    match command {
        Command::Fmt(_)
        | Command::Get(_)
        | Command::Metadata(_)
        | Command::Modules(_)
        | Command::Validate(_)
        | Command::Version(_) => false,
        Command::Init(_)
        | Command::Plan(_)
        | Command::Apply(_)
        | Command::Destroy(_)
        | Command::Console(_)
        | Command::Graph(_)
        | Command::Output(_)
        | Command::Providers(_)
        | Command::Refresh(_)
        | Command::Show(_)
        | Command::State(_) => true,
    }
}

/// How a command's output shall look.
pub(crate) fn shell_options(command: &Command) -> ShellOptions {
    let (no_color, compact_warnings) = match command {
        Command::Init(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Validate(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Plan(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Apply(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Destroy(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Refresh(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Console(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Fmt(one) => (one.view.no_color, false),
        Command::Get(one) => (one.view.no_color, false),
        Command::Graph(one) => (one.view.no_color, false),
        Command::Metadata(_) => (false, false),
        Command::Modules(one) => (one.view.no_color, false),
        Command::Output(one) => (one.view.no_color, false),
        Command::Providers(one) => match &one.command {
            Some(ProvidersCommand::Schema(schema)) => (schema.view.no_color, false),
            None => (one.view.no_color, false),
        },
        Command::Show(one) => (one.view.no_color, false),
        Command::State(state) => match &state.command {
            StateCommand::List(one) => (one.view.no_color, false),
            StateCommand::Show(one) => (one.view.no_color, false),
            StateCommand::Pull(one) => (one.no_color, false),
        },
        Command::Version(_) => (false, false),
    };
    let data_only = match command {
        Command::Init(_)
        | Command::Plan(_)
        | Command::Apply(_)
        | Command::Destroy(_)
        | Command::Get(_)
        | Command::Refresh(_) => false,
        Command::Validate(one) => one.json,
        Command::Console(_)
        | Command::Fmt(_)
        | Command::Graph(_)
        | Command::Metadata(_)
        | Command::Modules(_)
        | Command::Output(_)
        | Command::Providers(_)
        | Command::Show(_)
        | Command::State(_)
        | Command::Version(_) => true,
    };
    ShellOptions { no_color, compact_warnings, data_only }
}
