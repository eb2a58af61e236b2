//! The command line: commands, options and their meaning.
//!
//! Options are declared once, here, for clap. Users type them as in Terraform, with one dash.
//! [`normalize`] converts the typed form to the form that clap expects and rejects unknown
//! options; it derives all names from the commands below. Terraform's commands and options that
//! are not available yet are in [`unsupported`].

mod audit;
mod authoring;
mod configuration;
mod help;
mod inspection;
mod login;
mod manual;
mod normalize;
mod operation;
mod options;
mod plugin;
mod policy;
mod providers;
mod query;
mod serve;
mod shell;
mod shell_words;
mod state;
mod test;
mod unsupported;
mod values;
mod variables;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use wardian_app::ProcessEnvironment;

use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Status, Usage};

use normalize::Normalised;

pub(crate) use audit::*;
pub(crate) use authoring::*;
pub(crate) use configuration::*;
pub(crate) use help::HelpPage;
pub(crate) use inspection::*;
pub(crate) use login::*;
pub(crate) use manual::manual_pages;
pub(crate) use normalize::{find_option, option_parts};
pub(crate) use operation::*;
pub(crate) use options::*;
pub(crate) use plugin::*;
pub(crate) use policy::*;
pub(crate) use providers::*;
pub(crate) use query::*;
pub(crate) use serve::*;
pub(crate) use shell::*;
pub(crate) use shell_words::split as split_words;
pub(crate) use state::*;
pub(crate) use test::*;
pub(crate) use variables::{VariableArgument, VariableArguments};
pub(crate) use workspace::*;

/// The parsed request of the user.
#[derive(Debug)]
pub(crate) enum Request {
    /// A help text, and whether the user requested it or it is printed because a command is
    /// missing.
    Help(Box<HelpPage>, Status),
    /// A command to run.
    Run(Box<CommandLine>),
}

/// Infrastructure as code, with sandboxed providers.
#[derive(Debug, Parser)]
#[command(
    name = "wardian",
    disable_help_flag = true,
    disable_help_subcommand = true,
    args_override_self = true
)]
pub(crate) struct CommandLine {
    /// Change to this directory before running the command.
    #[arg(long, value_name = "DIR")]
    pub(crate) chdir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The command's name, with its subcommand.
    #[arg(skip)]
    pub(crate) command_name: String,
}

/// The commands, the main ones first.
#[derive(Debug, Subcommand)]
#[command(disable_help_flag = true, args_override_self = true)]
pub(crate) enum Command {
    /// Prepare the directory for other commands.
    ///
    /// Selects a version of every provider that the configuration needs, installs the plugins
    /// and records them in .terraform.lock.hcl. Safe to run again at any time.
    Init(InitArguments),
    /// Check whether the configuration is valid.
    ///
    /// Checks only the configuration, without the state, values of variables or remote objects.
    Validate(ValidateArguments),
    /// Show the changes that an apply would make.
    ///
    /// Reads the remote objects, compares them with the configuration and changes nothing. With
    /// -out, the plan is saved, and `wardian apply FILE` performs exactly its actions.
    Plan(PlanArguments),
    /// Create, change and destroy objects to match the configuration.
    ///
    /// Creates a plan, shows it, and asks for approval before applying it. Accepts all planning
    /// options of `plan`. A saved plan is applied without approval.
    Apply(ApplyArguments),
    /// Destroy all objects of the configuration.
    ///
    /// Equivalent to `wardian apply -destroy`.
    Destroy(DestroyArguments),
    /// Summarize the accesses of plugins.
    ///
    /// Reads the audit log of a run with -audit-log or WARDIAN_AUDIT: the accesses that each plugin
    /// made or was denied, and for which resources. With -suggest-policy, prints the smallest
    /// policy that the run needs.
    Audit(AuditCommandArguments),
    /// Print a script with which a shell completes command lines.
    ///
    /// The script completes commands, options, and values: addresses, workspaces, variables, files and
    /// providers. They are read from the files of the directory; completion opens no connection and runs
    /// no plugin. `wardian -install-autocomplete` adds the script to the configuration of your shells.
    Completion(CompletionArguments),
    /// Try expressions against the state.
    ///
    /// Reads expressions line by line and prints their values. Changes nothing.
    Console(ConsoleArguments),
    /// Crash, to test crash reports.
    #[cfg(debug_assertions)]
    #[command(hide = true)]
    Crash(CrashArguments),
    /// Reformat files to the standard style.
    ///
    /// Rewrites the files in native syntax in the current directory: .tf, .tfvars, .tftest.hcl and
    /// .tfmock.hcl. JSON files are not changed. Exits with 2 if a file cannot be read or parsed.
    Fmt(FmtArguments),
    /// Release a stuck lock on the state.
    ///
    /// The system releases the lock of a local state when the process that holds it ends, so
    /// there is nothing to release, and this command always fails.
    ForceUnlock(ForceUnlockArguments),
    /// Bring an existing object under management.
    ///
    /// Reads the object from the provider and adds it to the state as an instance of a resource,
    /// which the configuration must declare. Changes no remote object. An import block does the
    /// same as part of a plan, which also shows the changes after the import.
    Import(ImportArguments),
    /// Install the modules that the configuration calls.
    ///
    /// `wardian init` also installs them. With -update, modules from registries are installed in
    /// the newest acceptable versions.
    Get(GetArguments),
    /// Print the dependency graph.
    ///
    /// Without -type, the graph contains only the resources, each with the resources that it
    /// depends on.
    Graph(GraphArguments),
    /// Obtain an API token for a host, and store it.
    ///
    /// Opens the login page of a registry or of HCP Terraform in a browser. The token is stored in
    /// ~/.terraform.d/credentials.tfrc.json, or with the credentials helper of the CLI
    /// configuration.
    Login(LoginArguments),
    /// Remove the stored API token of a host.
    Logout(LogoutArguments),
    /// Print or write manual pages.
    ///
    /// Without a directory, prints the page of `wardian` in the format of `man`: `wardian man | man -l -`
    /// shows it.
    Man(ManArguments),
    /// Print information about Wardian itself.
    Metadata(MetadataArguments),
    /// List the modules that the configuration calls.
    Modules(ModulesArguments),
    /// Show outputs of the root module.
    Output(OutputArguments),
    /// Create, build, check, document and publish plugins.
    Plugin(PluginArguments),
    /// Check, explain and extend the policies for plugins.
    ///
    /// Policies determine the access of each plugin. They are files named wardian.policy.hcl: of
    /// the organisation, of the user, and in the configuration's directory.
    Policy(PolicyArguments),
    /// Show which providers the configuration needs, and why.
    Providers(ProvidersArguments),
    /// Find existing objects that can be imported.
    ///
    /// Runs the list blocks in the query files of the directory, whose names end with .tfquery.hcl or
    /// .tfquery.json.
    Query(QueryArguments),
    /// Update the state to match the remote objects.
    ///
    /// `wardian apply -refresh-only` does the same and asks for approval first.
    Refresh(RefreshArguments),
    /// Serve a component as a native plugin.
    ///
    /// Started by Terraform, OpenTofu or Wardian; not meant to be run by hand. Policies determine
    /// the component's access as in any run.
    Serve(ServeArguments),
    /// Show the state or a saved plan.
    Show(ShowArguments),
    /// Inspect and edit the state.
    State(StateArguments),
    /// Mark an object as tainted: the next apply replaces it.
    ///
    /// `wardian apply -replace=ADDRESS` shows the plan and replaces the object in one step.
    Taint(TaintArguments),
    /// Execute the tests of the configuration.
    ///
    /// Runs the test files (.tftest.hcl and .tftest.json) in this directory and in `tests`: creates the
    /// objects of each run, or only a plan, checks the assertions, and destroys the objects again. With
    /// mocks, nothing is created.
    Test(TestArguments),
    /// Remove the tainted mark from an object.
    Untaint(UntaintArguments),
    /// Show the versions of Wardian and of the selected plugins.
    Version(VersionArguments),
    /// Manage workspaces: separate states of one configuration.
    Workspace(WorkspaceArguments),
}

impl Command {
    /// Returns the command's properties.
    pub(crate) fn spec(&self) -> &dyn CommandSpec {
        match self {
            Self::Init(one) => one,
            Self::Validate(one) => one,
            Self::Plan(one) => one,
            Self::Apply(one) => one,
            Self::Destroy(one) => one,
            Self::Audit(one) => one,
            Self::Test(one) => one,
            Self::Completion(one) => one,
            Self::Console(one) => one,
            #[cfg(debug_assertions)]
            Self::Crash(one) => one,
            Self::Fmt(one) => one,
            Self::ForceUnlock(one) => one,
            Self::Get(one) => one,
            Self::Graph(one) => one,
            Self::Import(one) => one,
            Self::Login(one) => one,
            Self::Logout(one) => one,
            Self::Man(one) => one,
            Self::Metadata(metadata) => match &metadata.command {
                MetadataCommand::Functions(one) => one,
            },
            Self::Modules(one) => one,
            Self::Output(one) => one,
            Self::Plugin(plugin) => match &plugin.command {
                PluginCommand::Build(one) => one,
                PluginCommand::Bundle(one) => one,
                PluginCommand::Cache(cache) => match &cache.command {
                    PluginCacheCommand::Prune(one) => one,
                },
                PluginCommand::Check(one) => one,
                PluginCommand::Componentize(one) => one,
                PluginCommand::Debug(one) => one,
                PluginCommand::Declare(one) => &**one,
                PluginCommand::Dev(one) => one,
                PluginCommand::Docs(one) => one,
                PluginCommand::Inspect(one) => one,
                PluginCommand::New(one) => one,
                PluginCommand::Publish(one) => &**one,
            },
            Self::Policy(policy) => match &policy.command {
                PolicyCommand::Check(one) => one,
                PolicyCommand::Explain(one) => one,
                PolicyCommand::Grant(one) => &**one,
                PolicyCommand::Learn(one) => &**one,
            },
            Self::Providers(one) => match &one.command {
                Some(ProvidersCommand::Schema(schema)) => schema,
                Some(ProvidersCommand::Lock(lock)) => lock,
                Some(ProvidersCommand::Mirror(mirror)) => mirror,
                None => one,
            },
            Self::Query(one) => one,
            Self::Refresh(one) => one,
            Self::Serve(one) => one,
            Self::Show(one) => one,
            Self::State(state) => match &state.command {
                StateCommand::History(one) => one,
                StateCommand::Identities(one) => one,
                StateCommand::List(one) => one,
                StateCommand::Mv(one) => one,
                StateCommand::Pull(one) => one,
                StateCommand::Push(one) => one,
                StateCommand::ReplaceProvider(one) => one,
                StateCommand::Restore(one) => one,
                StateCommand::Rm(one) => one,
                StateCommand::Show(one) => one,
            },
            Self::Taint(one) => one,
            Self::Untaint(one) => one,
            Self::Version(one) => one,
            Self::Workspace(workspace) => match &workspace.command {
                WorkspaceCommand::Delete(one) => one,
                WorkspaceCommand::List(one) => one,
                WorkspaceCommand::New(one) => one,
                WorkspaceCommand::Select(one) => one,
                WorkspaceCommand::Show(one) => one,
            },
        }
    }
}

/// Returns the definitions of all commands and options.
pub(crate) fn root_command() -> clap::Command {
    let mut root = CommandLine::command();
    root.build();
    root
}

/// Returns the command and the options of a command line without their values.
pub(crate) fn without_values(given: &[OsString]) -> String {
    let root = CommandLine::command();
    let mut command = &root;
    let mut names = Vec::new();
    for argument in given.iter().filter_map(|argument| argument.to_str()) {
        match argument.strip_prefix('-') {
            Some(option) => {
                let option = option.trim_start_matches('-').split('=').next().unwrap_or_default();
                let is_known = |command: &clap::Command| {
                    command.get_arguments().any(|known| known.get_long() == Some(option))
                };
                if is_known(command) || is_known(&root) {
                    names.push(format!("-{option}"));
                }
            }
            None => {
                if let Some(found) = command.find_subcommand(argument) {
                    names.push(argument.to_owned());
                    command = found;
                }
            }
        }
    }
    names.join(" ")
}

/// Returns whether the arguments select JSON messages. The result is needed before the arguments
/// are parsed, because parse errors must also be reported as JSON messages.
pub(crate) fn wants_json_messages(given: &[OsString]) -> bool {
    let mut texts = given.iter().filter_map(|argument| argument.to_str());
    let command = texts.by_ref().find(|text| !text.starts_with('-'));
    matches!(command, Some("init" | "plan" | "apply" | "destroy" | "refresh"))
        && texts
            .any(|text| matches!(text.trim_start_matches('-'), "json" | "json=true") && text.starts_with('-'))
}

/// Parses the arguments after the program name.
///
/// # Errors
/// Returns an error if a command, an option or a value is unknown or missing.
pub(crate) fn parse(given: Vec<OsString>, environment: &ProcessEnvironment) -> Result<Request, Usage> {
    let mut root = root_command();
    let normalized = normalize::normalize(&root, given, environment)?;
    let command = normalized.command.join(" ");
    let status = match (normalized.asks_for_help, normalized.is_complete, normalized.command.is_empty()) {
        (true, _, _) => Some(Status::Success),
        (false, true, _) => None,
        (false, false, true) => Some(Status::NothingAsked),
        (false, false, false) => Some(Status::Failed),
    };
    if let Some(status) = status {
        let Normalised { command, is_about_environment, .. } = normalized;
        let page = HelpPage { root, command, is_about_environment };
        return Ok(Request::Help(Box::new(page), status));
    }
    if command == "policy learn" && !normalized.arguments.iter().any(|argument| argument == "--") {
        return Err(Usage {
            summary: "Command missing".to_owned(),
            detail:
                "Specify the command from which the policy is learnt after `--`, as in `wardian policy learn \
                     -- plan`."
                    .to_owned(),
            command,
        });
    }
    let arguments = std::iter::once(OsString::from("wardian")).chain(normalized.arguments.iter().cloned());
    let usage = |error: clap::Error| {
        let mut usage = usage(&error, &command);
        usage.detail.push_str(&note_on_environment(&error, &normalized));
        usage
    };
    let matches = root.try_get_matches_from_mut(arguments).map_err(usage)?;
    let mut parsed = CommandLine::from_arg_matches(&matches).map_err(usage)?;
    parsed.command_name.clone_from(&command);
    if let Command::Policy(PolicyArguments { command: PolicyCommand::Learn(learn) }) = &mut parsed.command {
        match parse(learn.words.clone(), environment)? {
            Request::Run(line) => learn.learnt = Some(line),
            help @ Request::Help(..) => return Ok(help),
        }
    }
    parsed.command.spec().check().map_err(|InvalidOptions { summary, detail }| Usage {
        summary: summary.to_owned(),
        detail: detail.to_owned(),
        command: command.clone(),
    })?;
    Ok(Request::Run(Box::new(parsed)))
}

/// Names the environment variable that contains an invalid argument.
fn note_on_environment(error: &clap::Error, normalized: &Normalised) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let option = context(ContextKind::InvalidArg).split([' ', '=']).next().unwrap_or_default();
    let with_value = format!("{option}={}", context(ContextKind::InvalidValue));
    normalized.environment_note(|argument| argument == option || argument == &*with_value)
}

fn usage(error: &clap::Error, command: &str) -> Usage {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let option = option_name(&context(ContextKind::InvalidArg));
    let value = context(ContextKind::InvalidValue);
    let (summary, detail) = match error.kind() {
        ErrorKind::UnknownArgument => (
            "Too many command line arguments".to_owned(),
            format!(
                "\"{}\" is an unexpected argument. To work in another directory, use the global option \
                 -chdir.",
                context(ContextKind::InvalidArg)
            ),
        ),
        ErrorKind::ArgumentConflict => (
            "Invalid combination of options".to_owned(),
            format!("{option} cannot be combined with {}.", option_name(&context(ContextKind::PriorArg))),
        ),
        ErrorKind::MissingRequiredArgument => {
            ("Argument missing".to_owned(), format!("This command needs {option}."))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            ("Value missing".to_owned(), format!("The option {option} needs a value."))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map_or_else(
                || format!("the valid values are: {}", context(ContextKind::ValidValue)),
                |source| source.to_string(),
            );
            (format!("Invalid value for {option}"), format!("\"{value}\" cannot be used: {why}."))
        }
        ErrorKind::InvalidUtf8 => (
            "Invalid command line".to_owned(),
            "An argument that is not the name of a file is not valid UTF-8.".to_owned(),
        ),
        _ => ("Invalid command line".to_owned(), error.to_string()),
    };
    Usage { summary, detail, command: command.to_owned() }
}

/// Converts `--lock-timeout <DURATION>` to the form that users type: `-lock-timeout`.
fn option_name(shown: &str) -> String {
    let name = shown.split([' ', '=']).next().unwrap_or_default();
    name.strip_prefix('-').filter(|rest| rest.starts_with('-')).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests;
