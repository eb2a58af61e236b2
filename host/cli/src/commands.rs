//! The commands, one module each.

mod apply;
mod audit;
mod console;
mod fmt;
mod force_unlock;
mod get;
mod graph;
mod import;
mod init;
mod metadata;
mod modules;
mod output;
mod plan;
mod plugin_inspect;
mod policy_check;
mod policy_explain;
mod policy_grant;
mod providers;
mod refresh;
pub(crate) mod serve;
mod show;
mod state_list;
mod state_mv;
mod state_pull;
mod state_push;
mod state_replace_provider;
mod state_rm;
mod state_show;
mod taint;
mod validate;
mod version;
mod workspace;

use crate::arguments::{
    Command, PluginCommand, PolicyCommand, ProvidersCommand, StateCommand, WorkspaceCommand,
};
use crate::compatibility::DEFAULT_WORKSPACE;
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::session::Session;
use crate::shell::ShellOptions;
use crate::workspaces::{SelectedBy, Workspace};

/// Carries out a command.
pub(crate) async fn run(session: &Session, command: Command) -> Outcome {
    match command {
        Command::Init(arguments) => init::run(session, &arguments).await,
        Command::Validate(arguments) => validate::run(session, &arguments).await,
        Command::Plan(arguments) => plan::run(session, &arguments).await,
        Command::Apply(arguments) => apply::run(session, &arguments).await,
        Command::Destroy(arguments) => apply::destroy(session, &arguments).await,
        Command::Audit(arguments) => audit::run(session, &arguments),
        Command::Console(arguments) => console::run(session, &arguments).await,
        Command::Fmt(arguments) => Ok(fmt::run(session, &arguments)),
        Command::ForceUnlock(arguments) => force_unlock::run(session, &arguments),
        Command::Get(arguments) => get::run(session, &arguments),
        Command::Graph(arguments) => graph::run(session, &arguments).await,
        Command::Import(arguments) => import::run(session, &arguments).await,
        Command::Metadata(arguments) => Ok(metadata::run(session, &arguments.command)),
        Command::Modules(arguments) => modules::run(session, &arguments),
        Command::Output(arguments) => output::run(session, &arguments),
        Command::Plugin(plugin) => match &plugin.command {
            PluginCommand::Bundle(arguments) => serve::bundle(session, arguments),
            PluginCommand::Inspect(arguments) => plugin_inspect::run(session, arguments),
        },
        Command::Policy(policy) => match &policy.command {
            PolicyCommand::Check(arguments) => Ok(policy_check::run(session, arguments)),
            PolicyCommand::Explain(arguments) => policy_explain::run(session, arguments),
            PolicyCommand::Grant(arguments) => policy_grant::run(session, arguments).await,
        },
        Command::Providers(arguments) => providers::run(session, &arguments).await,
        Command::Refresh(arguments) => refresh::run(session, &arguments).await,
        Command::Serve(arguments) => serve::run(session, &arguments).await,
        Command::Show(arguments) => show::run(session, &arguments).await,
        Command::State(state) => match state.command {
            StateCommand::List(arguments) => state_list::run(session, &arguments),
            StateCommand::Show(arguments) => state_show::run(session, &arguments).await,
            StateCommand::Mv(arguments) => state_mv::run(session, &arguments).await,
            StateCommand::Pull(_) => state_pull::run(session),
            StateCommand::Push(arguments) => state_push::run(session, &arguments).await,
            StateCommand::ReplaceProvider(arguments) => {
                state_replace_provider::run(session, &arguments).await
            }
            StateCommand::Rm(arguments) => state_rm::run(session, &arguments).await,
        },
        Command::Taint(arguments) => taint::taint(session, &arguments).await,
        Command::Untaint(arguments) => taint::untaint(session, &arguments).await,
        Command::Version(arguments) => version::run(session, &arguments),
        Command::Workspace(arguments) => workspace::run(session, &arguments.command).await,
    }
}

/// The workspace that a command works in. One that needs none does not look.
///
/// # Errors
/// Where what selects it is no name.
pub(crate) fn workspace(command: &Command, environment: &Environment) -> Outcome<Workspace> {
    if needs_workspace(command) {
        return Workspace::selected(environment);
    }
    Ok(Workspace { name: DEFAULT_WORKSPACE.to_owned(), selected_by: SelectedBy::Directory })
}

/// Whether a command looks into the state of the workspace, or names it.
fn needs_workspace(command: &Command) -> bool {
    match command {
        Command::Audit(_)
        | Command::Fmt(_)
        | Command::Get(_)
        | Command::Metadata(_)
        | Command::Modules(_)
        | Command::Plugin(_)
        | Command::Policy(_)
        | Command::Serve(_)
        | Command::Validate(_)
        | Command::Version(_) => false,
        Command::Init(_)
        | Command::Plan(_)
        | Command::Apply(_)
        | Command::Destroy(_)
        | Command::Console(_)
        | Command::Graph(_)
        | Command::Import(_)
        | Command::Output(_)
        | Command::Providers(_)
        | Command::Refresh(_)
        | Command::Show(_)
        | Command::ForceUnlock(_)
        | Command::State(_)
        | Command::Taint(_)
        | Command::Untaint(_)
        | Command::Workspace(_) => true,
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
        Command::Audit(one) => (one.view.no_color, false),
        Command::Fmt(one) => (one.view.no_color, false),
        Command::Get(one) => (one.view.no_color, false),
        Command::Graph(one) => (one.view.no_color, false),
        Command::Import(one) => (one.view.no_color, one.view.compact_warnings),
        Command::Metadata(_) => (false, false),
        Command::Modules(one) => (one.view.no_color, false),
        Command::Output(one) => (one.view.no_color, false),
        Command::Plugin(one) => match &one.command {
            PluginCommand::Bundle(one) => (one.view.no_color, false),
            PluginCommand::Inspect(one) => (one.view.no_color, false),
        },
        Command::Policy(one) => match &one.command {
            PolicyCommand::Check(one) => (one.view.no_color, false),
            PolicyCommand::Explain(one) => (one.view.no_color, false),
            PolicyCommand::Grant(one) => (one.view.no_color, false),
        },
        Command::Providers(one) => match &one.command {
            Some(ProvidersCommand::Schema(schema)) => (schema.view.no_color, false),
            None => (one.view.no_color, false),
        },
        Command::Serve(one) => (one.view.no_color, false),
        Command::Show(one) => (one.view.no_color, false),
        Command::State(state) => match &state.command {
            StateCommand::List(one) => (one.view.no_color, false),
            StateCommand::Show(one) => (one.view.no_color, false),
            StateCommand::Pull(one) => (one.no_color, false),
            StateCommand::Mv(one) => (one.view.no_color, false),
            StateCommand::Push(one) => (one.view.no_color, false),
            StateCommand::ReplaceProvider(one) => (one.view.no_color, false),
            StateCommand::Rm(one) => (one.view.no_color, false),
        },
        Command::ForceUnlock(one) => (one.view.no_color, false),
        Command::Taint(one) | Command::Untaint(one) => (one.view.no_color, false),
        Command::Workspace(one) => match &one.command {
            WorkspaceCommand::List(one) | WorkspaceCommand::Show(one) => (one.no_color, false),
            WorkspaceCommand::New(one) => (one.view.no_color, false),
            WorkspaceCommand::Select(one) => (one.view.no_color, false),
            WorkspaceCommand::Delete(one) => (one.view.no_color, false),
        },
        Command::Version(_) => (false, false),
    };
    let data_only = match command {
        Command::Init(_)
        | Command::Plan(_)
        | Command::Apply(_)
        | Command::Destroy(_)
        | Command::Get(_)
        | Command::Import(_)
        | Command::Refresh(_)
        | Command::ForceUnlock(_)
        | Command::Taint(_)
        | Command::Untaint(_) => false,
        Command::Validate(one) => one.json,
        Command::Audit(_)
        | Command::Console(_)
        | Command::Fmt(_)
        | Command::Graph(_)
        | Command::Metadata(_)
        | Command::Modules(_)
        | Command::Output(_)
        | Command::Plugin(_)
        | Command::Policy(_)
        | Command::Serve(_)
        | Command::Providers(_)
        | Command::Show(_)
        | Command::State(_)
        | Command::Version(_)
        | Command::Workspace(_) => true,
    };
    let for_programs = match command {
        Command::Plan(one) => one.json,
        Command::Apply(one) => one.json,
        Command::Destroy(one) => one.json,
        Command::Refresh(one) => one.json,
        _ => false,
    };
    ShellOptions { no_color, compact_warnings, data_only, for_programs }
}
