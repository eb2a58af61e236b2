//! The commands, one module each.

mod apply;
mod console;
mod init;
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

use crate::arguments::{Command, StateCommand};
use crate::failure::Outcome;
use crate::session::Session;
use crate::shell::ShellOptions;

/// Carries out a command.
pub(crate) async fn run(session: &Session, command: Command) -> Outcome {
    match command {
        Command::Init(arguments) => init::run(session, &arguments).await,
        Command::Validate(arguments) => validate::run(session, &arguments).await,
        Command::Plan(arguments) => plan::run(session, &arguments).await,
        Command::Apply(arguments) => apply::run(session, &arguments).await,
        Command::Destroy(arguments) => apply::destroy(session, &arguments).await,
        Command::Console(arguments) => console::run(session, &arguments).await,
        Command::Output(arguments) => output::run(session, &arguments),
        Command::Providers(_) => providers::run(session),
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
        Command::Output(one) => (one.view.no_color, false),
        Command::Providers(one) => (one.view.no_color, false),
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
        | Command::Refresh(_) => false,
        Command::Validate(one) => one.json,
        Command::Console(_)
        | Command::Output(_)
        | Command::Providers(_)
        | Command::Show(_)
        | Command::State(_)
        | Command::Version(_) => true,
    };
    ShellOptions { no_color, compact_warnings, data_only }
}
