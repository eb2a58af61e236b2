//! The command line: commands, options and what they mean.
//!
//! Options are stated once, here, for clap. People type them as Terraform's:
//! with one dash. [`normalise`] turns what they type into what clap expects and
//! refuses what no option means; it learns all names from the commands below.
//! Options and commands of Terraform that are not here yet are in [`unsupported`].

mod audit;
mod configuration;
mod help;
mod inspection;
mod normalise;
mod operation;
mod options;
mod plugin;
mod policy;
mod serve;
mod shell_words;
mod state;
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

pub(crate) use audit::*;
pub(crate) use configuration::*;
pub(crate) use inspection::*;
pub(crate) use operation::*;
pub(crate) use options::*;
pub(crate) use plugin::*;
pub(crate) use policy::*;
pub(crate) use serve::*;
pub(crate) use state::*;
pub(crate) use variables::{VariableArgument, VariableArguments};
pub(crate) use workspace::*;

/// What a person asked for.
#[derive(Debug)]
pub(crate) enum Request {
    /// Text that explains commands and options, and whether it was asked for or
    /// is shown because a command is missing.
    Help(String, Status),
    /// A command.
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
    /// Change to this directory before anything else.
    #[arg(long, value_name = "DIR")]
    pub(crate) chdir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands, those of every day first.
#[derive(Debug, Subcommand)]
#[command(disable_help_flag = true, args_override_self = true)]
pub(crate) enum Command {
    /// Prepare the directory for other commands.
    ///
    /// Chooses a version of every provider that the configuration needs, puts
    /// the plugins in place and records them in .terraform.lock.hcl. Safe to run
    /// again at any time.
    Init(InitArguments),
    /// Check whether the configuration is valid.
    ///
    /// Looks at the configuration alone: at no state, no variables and no real
    /// objects.
    Validate(ValidateArguments),
    /// Show what an apply would change.
    ///
    /// Reads the real objects, compares them with the configuration and changes
    /// nothing. With -out the plan is kept, and `wardian apply FILE` does exactly
    /// what it says.
    Plan(PlanArguments),
    /// Create, change and destroy objects as the configuration says.
    ///
    /// Makes a plan, shows it and asks before doing it. Takes all options of
    /// `plan` that shape one. Given a saved plan, it does that without asking.
    Apply(ApplyArguments),
    /// Destroy all objects of the configuration.
    ///
    /// The same as `wardian apply -destroy`.
    Destroy(DestroyArguments),
    /// Sum up what plugins touched.
    ///
    /// Reads the log of a run that was given -audit-log or WARDIAN_AUDIT: what each plugin
    /// used and was denied, and for which resources. With -suggest-policy it prints the
    /// least policy that the run needs.
    Audit(AuditCommandArguments),
    /// Try expressions against the state.
    ///
    /// Reads expressions line by line and shows their values. Changes nothing.
    Console(ConsoleArguments),
    /// Bring files to the standard style.
    ///
    /// Rewrites the files of the language in the current directory: .tf, .tfvars,
    /// .tftest.hcl and .tfmock.hcl. Files in JSON are left alone. Exits with 2 where a
    /// file cannot be read or understood.
    Fmt(FmtArguments),
    /// Release a lock that nobody holds any more.
    ForceUnlock(ForceUnlockArguments),
    /// Bring an existing object under management.
    ///
    /// Asks the provider for the object and puts it into the state as an instance of a
    /// resource, whose configuration must be there. Changes no real object. An import
    /// block does the same as part of a plan, which shows what would follow.
    Import(ImportArguments),
    /// Record where modules are.
    ///
    /// Lists them in .terraform/modules, where Terraform looks for them. `wardian init`
    /// does it too, and no other command of this program needs it.
    Get(GetArguments),
    /// Print the graph of dependencies.
    ///
    /// Without -type it holds the resources alone, each with those that it has to wait
    /// for.
    Graph(GraphArguments),
    /// Tell about the program itself.
    Metadata(MetadataArguments),
    /// List the modules that the configuration calls.
    Modules(ModulesArguments),
    /// Show outputs of the root module.
    Output(OutputArguments),
    /// UnlockedState into a plugin, or make a native one of it.
    Plugin(PluginArguments),
    /// Check and explain what policies let plugins do.
    ///
    /// Policies are files that say what each plugin may touch: wardian.policy.hcl of the
    /// organisation, of the person and beside the configuration.
    Policy(PolicyArguments),
    /// Show which providers the configuration needs, and why.
    Providers(ProvidersArguments),
    /// Bring the state to what the real objects are.
    ///
    /// `wardian apply -refresh-only` does the same and asks first.
    Refresh(RefreshArguments),
    /// Serve a component as a native plugin.
    ///
    /// Terraform, OpenTofu or this program start it as a plugin of their own; a person has
    /// nothing from it. What the component may touch, policies say as in any run.
    Serve(ServeArguments),
    /// Show the state or a saved plan.
    Show(ShowArguments),
    /// UnlockedState into the state, and change it by hand.
    State(StateArguments),
    /// Have an object replaced by the next apply.
    ///
    /// `wardian apply -replace=ADDRESS` does that at once, and shows it first.
    Taint(TaintArguments),
    /// Take an object for whole that was half made or tainted.
    Untaint(UntaintArguments),
    /// Show the versions of the program and of the chosen plugins.
    Version(VersionArguments),
    /// Keep several states of one configuration apart.
    Workspace(WorkspaceArguments),
}

impl Command {
    /// Returns what there is to know about the command.
    pub(crate) fn spec(&self) -> &dyn CommandSpec {
        match self {
            Self::Init(one) => one,
            Self::Validate(one) => one,
            Self::Plan(one) => one,
            Self::Apply(one) => one,
            Self::Destroy(one) => one,
            Self::Audit(one) => one,
            Self::Console(one) => one,
            Self::Fmt(one) => one,
            Self::ForceUnlock(one) => one,
            Self::Get(one) => one,
            Self::Graph(one) => one,
            Self::Import(one) => one,
            Self::Metadata(metadata) => match &metadata.command {
                MetadataCommand::Functions(one) => one,
            },
            Self::Modules(one) => one,
            Self::Output(one) => one,
            Self::Plugin(plugin) => match &plugin.command {
                PluginCommand::Bundle(one) => one,
                PluginCommand::Inspect(one) => one,
            },
            Self::Policy(policy) => match &policy.command {
                PolicyCommand::Check(one) => one,
                PolicyCommand::Explain(one) => one,
                PolicyCommand::Grant(one) => &**one,
            },
            Self::Providers(one) => match &one.command {
                Some(ProvidersCommand::Schema(schema)) => schema,
                None => one,
            },
            Self::Refresh(one) => one,
            Self::Serve(one) => one,
            Self::Show(one) => one,
            Self::State(state) => match &state.command {
                StateCommand::List(one) => one,
                StateCommand::Mv(one) => one,
                StateCommand::Pull(one) => one,
                StateCommand::Push(one) => one,
                StateCommand::ReplaceProvider(one) => one,
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

/// Whether arguments ask for messages to programs, told before they are understood: what
/// is wrong with them is to be told in that form too.
pub(crate) fn wants_json_messages(given: &[OsString]) -> bool {
    let mut texts = given.iter().filter_map(|argument| argument.to_str());
    let command = texts.by_ref().find(|text| !text.starts_with('-'));
    matches!(command, Some("plan" | "apply" | "destroy" | "refresh"))
        && texts
            .any(|text| matches!(text.trim_start_matches('-'), "json" | "json=true") && text.starts_with('-'))
}

/// Reads the arguments behind the program's name.
///
/// # Errors
/// Where they name no command, no option or no value that there is.
pub(crate) fn parse(given: Vec<OsString>, environment: &ProcessEnvironment) -> Result<Request, Usage> {
    let mut root = CommandLine::command();
    root.build();
    let normalised = normalise::normalise(&root, given, environment)?;
    let command = normalised.command.join(" ");
    let status = match (normalised.asks_for_help, normalised.is_complete, normalised.command.is_empty()) {
        (true, _, _) => Some(Status::Success),
        (false, true, _) => None,
        (false, false, true) => Some(Status::NothingAsked),
        (false, false, false) => Some(Status::Failed),
    };
    if let Some(status) = status {
        return Ok(Request::Help(help::text(&root, &normalised.command), status));
    }
    let arguments = std::iter::once(OsString::from("wardian")).chain(normalised.arguments);
    let matches = root.try_get_matches_from_mut(arguments).map_err(|error| usage(&error, &command))?;
    let parsed = CommandLine::from_arg_matches(&matches).map_err(|error| usage(&error, &command))?;
    parsed.command.spec().check().map_err(|InvalidOptions { summary, detail }| Usage {
        summary: summary.to_owned(),
        detail: detail.to_owned(),
        command,
    })?;
    Ok(Request::Run(Box::new(parsed)))
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
                "\"{}\" is more than this command takes. To work in another directory, use the global option -chdir.",
                context(ContextKind::InvalidArg)
            ),
        ),
        ErrorKind::ArgumentConflict => (
            "Invalid combination of options".to_owned(),
            format!(
                "{option} cannot be given together with {}.",
                option_name(&context(ContextKind::PriorArg))
            ),
        ),
        ErrorKind::MissingRequiredArgument => {
            ("Argument missing".to_owned(), format!("This command needs {option}."))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            ("Value missing".to_owned(), format!("The option {option} needs a value."))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map_or_else(
                || format!("possible is {}", context(ContextKind::ValidValue)),
                |source| source.to_string(),
            );
            (format!("Invalid value for {option}"), format!("\"{value}\" cannot be used: {why}."))
        }
        _ => ("Command line not understood".to_owned(), error.to_string()),
    };
    Usage { summary, detail, command: command.to_owned() }
}

/// `--lock-timeout <DURATION>` as people type it: `-lock-timeout`.
fn option_name(shown: &str) -> String {
    let name = shown.split([' ', '=']).next().unwrap_or_default();
    name.strip_prefix('-').filter(|rest| rest.starts_with('-')).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests;
