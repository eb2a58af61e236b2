//! The command line: commands, options and what they mean.
//!
//! Options are stated once, here, for clap. People type them as Terraform's:
//! with one dash. [`normalise`] turns what they type into what clap expects and
//! refuses what no option means; it learns all names from the commands below.
//! Options and commands of Terraform that are not here yet are in [`later`].

mod help;
mod later;
mod normalise;
mod shell_words;
mod variables;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use wardian_engine::Target;
use wardian_plugin::ResourceInstanceAddress;

use crate::environment::Environment;
use crate::failure::{Status, Usage};

pub(crate) use variables::{VariableArgument, VariableArguments};

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
    /// Try expressions against the state.
    ///
    /// Reads expressions line by line and shows their values. Changes nothing.
    Console(ConsoleArguments),
    /// Show outputs of the root module.
    Output(OutputArguments),
    /// Show which providers the configuration needs, and why.
    Providers(ProvidersArguments),
    /// Bring the state to what the real objects are.
    ///
    /// `wardian apply -refresh-only` does the same and asks first.
    Refresh(RefreshArguments),
    /// Show the state or a saved plan.
    Show(ShowArguments),
    /// Look into the state.
    State(StateArguments),
    /// Show the versions of the program and of the chosen plugins.
    Version(VersionArguments),
}

/// How warnings and colours are shown.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ViewArguments {
    /// No colour.
    #[arg(long)]
    pub(crate) no_color: bool,
    /// Show warnings that come without errors by their titles only.
    #[arg(long)]
    pub(crate) compact_warnings: bool,
}

/// Colours alone, for commands that warn about nothing.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ColorArguments {
    /// No colour.
    #[arg(long)]
    pub(crate) no_color: bool,
}

/// The state and its lock, for commands that lock it.
#[derive(Args, Clone, Debug)]
pub(crate) struct LockArguments {
    /// `false`: do not lock the state. Dangerous if somebody else works on it.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that somebody else holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
}

/// Where a changed state goes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StateOutArguments {
    /// The file to write the state to, instead of the one that is read.
    #[arg(long, value_name = "PATH")]
    pub(crate) state_out: Option<PathBuf>,
    /// Where to keep the state as it was; `-` for nowhere.
    #[arg(long, value_name = "PATH")]
    pub(crate) backup: Option<PathBuf>,
}

/// How an operation is carried out.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OperationArguments {
    /// `false`: never ask for values of variables.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) input: bool,
    /// The most provider operations at a time.
    #[arg(long, default_value_t = 10, value_parser = at_least_one, value_name = "N")]
    pub(crate) parallelism: usize,
}

/// What shapes a plan.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlanningArguments {
    /// Plan to destroy every object.
    #[arg(long)]
    pub(crate) destroy: bool,
    /// Only bring the state to what the real objects are.
    #[arg(long)]
    pub(crate) refresh_only: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArguments,
}

/// What a plan looks at.
#[derive(Args, Clone, Debug)]
pub(crate) struct ScopeArguments {
    /// `false`: plan from the state, without reading the real objects first.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) refresh: bool,
    /// Replace this instance even if nothing else asks for it. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) replace: Vec<ResourceInstanceAddress>,
    /// Look only at this module, resource or instance, and what it needs.
    /// Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) target: Vec<Target>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
}

/// `init`.
#[derive(Args, Debug)]
pub(crate) struct InitArguments {
    /// Take the newest acceptable versions, whatever the lock file says.
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// `readonly`: fail rather than change the lock file.
    #[arg(long, value_name = "MODE", value_parser = ["readonly"])]
    pub(crate) lockfile: Option<String>,
    /// `false`: leave the backend as it is.
    #[arg(long, alias = "cloud", action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) backend: bool,
    /// `false`: do not fetch modules. Local ones need no fetching.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) get: bool,
    /// `false`: never ask anything.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) input: bool,
    /// Accepted; nothing is locked here.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL", hide = true)]
    pub(crate) lock: bool,
    /// Accepted; nothing is locked here.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION", hide = true)]
    pub(crate) lock_timeout: Duration,
    /// Accepted; there is one backend, which has nothing to configure anew.
    #[arg(long, hide = true)]
    pub(crate) reconfigure: bool,
    /// Accepted: as -reconfigure.
    #[arg(long, hide = true)]
    pub(crate) force_copy: bool,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `validate`.
#[derive(Args, Debug)]
pub(crate) struct ValidateArguments {
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Accepted; test files are not looked at.
    #[arg(long, hide = true)]
    pub(crate) no_tests: bool,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    /// Keep the plan in this file.
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with 2 where there is something to do, and 0 where there is not.
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `apply`.
#[derive(Args, Debug)]
pub(crate) struct ApplyArguments {
    /// A saved plan.
    #[arg(value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// Do not ask before doing it.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `destroy`.
#[derive(Args, Debug)]
pub(crate) struct DestroyArguments {
    /// Do not ask before doing it.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `refresh`.
#[derive(Args, Debug)]
pub(crate) struct RefreshArguments {
    /// Look only at this module, resource or instance, and what it needs.
    /// Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) target: Vec<Target>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `console`.
#[derive(Args, Debug)]
pub(crate) struct ConsoleArguments {
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `output`.
#[derive(Args, Debug)]
pub(crate) struct OutputArguments {
    /// Only this output.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the text of one output as it is, without quotes or line break.
    #[arg(long)]
    pub(crate) raw: bool,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `providers`.
#[derive(Args, Debug)]
pub(crate) struct ProvidersArguments {
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArguments {
    /// A saved plan or a state file; without it, the current state.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct StateArguments {
    #[command(subcommand)]
    pub(crate) command: StateCommand,
}

/// What can be done with a state.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// List the instances in the state.
    List(StateListArguments),
    /// Show one instance.
    Show(StateShowArguments),
    /// Print the state file.
    Pull(ColorArguments),
}

/// `state list`.
#[derive(Args, Debug)]
pub(crate) struct StateListArguments {
    /// Only these modules, resources or instances.
    #[arg(value_name = "ADDRESS")]
    pub(crate) addresses: Vec<Target>,
    /// Only instances whose attribute `id` is this.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state show`.
#[derive(Args, Debug)]
pub(crate) struct StateShowArguments {
    /// The instance.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: ResourceInstanceAddress,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `version`.
#[derive(Args, Debug)]
pub(crate) struct VersionArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads the arguments behind the program's name.
///
/// # Errors
/// Where they name no command, no option or no value that there is.
pub(crate) fn parse(given: Vec<OsString>, environment: &Environment) -> Result<Request, Usage> {
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
        return Ok(Request::Help(help::of(&root, &normalised.command), status));
    }
    let arguments = std::iter::once(OsString::from("wardian")).chain(normalised.arguments);
    let matches = root.try_get_matches_from_mut(arguments).map_err(|error| usage(&error, &command))?;
    let parsed = CommandLine::from_arg_matches(&matches).map_err(|error| usage(&error, &command))?;
    parsed.check(&command)?;
    Ok(Request::Run(Box::new(parsed)))
}

impl CommandLine {
    /// What clap cannot tell: which options go together.
    fn check(&self, command: &str) -> Result<(), Usage> {
        let wrong = |summary: &str, detail: &str| {
            Err(Usage { summary: summary.into(), detail: detail.into(), command: command.into() })
        };
        let planning = match &self.command {
            Command::Plan(plan) => Some(&plan.planning),
            Command::Apply(apply) => Some(&apply.planning),
            _ => None,
        };
        if let Some(planning) = planning {
            if planning.destroy && planning.refresh_only {
                return wrong(
                    "Incompatible options",
                    "A plan cannot be made with both -destroy and -refresh-only.",
                );
            }
            if planning.refresh_only && !planning.scope.refresh {
                return wrong(
                    "Incompatible options",
                    "-refresh-only reads the real objects and does nothing else, so -refresh=false leaves nothing \
                     to do.",
                );
            }
        }
        match &self.command {
            Command::Output(output) if output.json && output.raw => {
                wrong("Incompatible options", "An output is printed with -json or with -raw, not with both.")
            }
            Command::Output(output) if output.raw && output.name.is_none() => {
                wrong("Output name required", "-raw prints one output. Name the one that is wanted.")
            }
            _ => Ok(()),
        }
    }
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

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it must be a whole number".to_owned()),
    }
}

/// `10s`, `1m30s`, `0`: as Go writes them.
fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
    let wrong = || "it must be a duration such as 30s, 5m or 1h30m".to_owned();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, behind) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let letters = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let unit = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, unit)) => *unit,
            None if unit == "h" => 3600.0,
            None => return Err(wrong()),
        };
        seconds += number * unit;
        rest = behind;
    }
    if text.is_empty() { Err(wrong()) } else { Duration::try_from_secs_f64(seconds).map_err(|_| wrong()) }
}

#[cfg(test)]
mod tests;
