//! Options that several commands share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use wardian_access::ProtectedClass;
use wardian_address::ResourceInstanceAddress;
use wardian_app::protected_files::NamedFile;
use wardian_app::state_access::{LockOptions, StateOutOptions};
use wardian_app::untrusted::ConfigurationTrust;
use wardian_engine::{InvokeAddress, TargetAddress};

use super::VariableArguments;
use super::values::{duration, parallelism};
use crate::command_spec::InvalidOptions;
use crate::shell::{OutputKind, ViewOptions};

/// Options for color and warnings.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ViewArguments {
    /// Print without color.
    #[arg(long)]
    pub(crate) no_color: bool,
    /// Show only the summaries of warnings, unless there are errors.
    #[arg(long)]
    pub(crate) compact_warnings: bool,
}

/// The option for the audit log.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AuditArguments {
    /// Append a line of JSON to this file for each access of a plugin, allowed or denied.
    #[arg(long, value_name = "PATH")]
    pub(crate) audit_log: Option<PathBuf>,
}

/// The option for untrusted configurations.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct TrustArguments {
    /// Do not trust the configuration, such as one from a pull request: native plugins run only if
    /// they are confined and the organisation's policy allows it, nothing is written or started,
    /// requests go only to hosts that the organisation's policy allows, and files outside the
    /// directory are not read.
    #[arg(long)]
    pub(crate) untrusted: bool,
}

/// The color option, for commands without warnings.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ColorArguments {
    /// Print without color.
    #[arg(long)]
    pub(crate) no_color: bool,
}

impl TrustArguments {
    /// Returns whether the configuration is trusted.
    pub(crate) fn level(self) -> ConfigurationTrust {
        if self.untrusted { ConfigurationTrust::Untrusted } else { ConfigurationTrust::Trusted }
    }
}

impl From<ViewArguments> for ViewOptions {
    fn from(arguments: ViewArguments) -> Self {
        Self { no_color: arguments.no_color, compact_warnings: arguments.compact_warnings, concise: false }
    }
}

impl From<ColorArguments> for ViewOptions {
    fn from(arguments: ColorArguments) -> Self {
        Self { no_color: arguments.no_color, ..Self::default() }
    }
}

/// Options for the output of commands that report progress.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ProgressOutputArguments {
    #[command(flatten)]
    view: ViewArguments,
    /// Print progress and results as JSON, one document per line, for programs.
    #[arg(long, conflicts_with = "json_into")]
    json: bool,
    /// Also write progress and results as JSON, one document per line, to this file.
    #[arg(long, value_name = "PATH")]
    json_into: Option<PathBuf>,
    /// Do not print the progress of each object, only results, and fold equal changes in the plan.
    #[arg(long)]
    concise: bool,
}

impl ProgressOutputArguments {
    /// Returns the options for the shell.
    pub(crate) fn view(&self) -> ViewOptions {
        ViewOptions { concise: self.concise, ..self.view.into() }
    }

    /// Returns whether the output is a report or JSON messages.
    pub(crate) fn kind(&self) -> OutputKind {
        if self.json { OutputKind::JsonMessages } else { OutputKind::Report }
    }

    /// Returns the file for additional JSON messages.
    pub(crate) fn json_into(&self) -> Option<&Path> {
        self.json_into.as_deref()
    }
}

/// The state and its lock, for commands that lock it.
#[derive(Args, Clone, Debug)]
pub(crate) struct LockArguments {
    /// `false`: do not lock the state. Dangerous if others may use it at the same time.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that another process holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
}

impl LockArguments {
    /// Returns the library's form of the options.
    pub(crate) fn options(&self) -> LockOptions {
        LockOptions { lock: self.lock, lock_timeout: self.lock_timeout, state: self.state.clone() }
    }

    /// Returns the file that an option names.
    pub(crate) fn named_files(&self) -> impl Iterator<Item = NamedFile> {
        self.state.iter().map(|path| (ProtectedClass::States, path.clone()))
    }
}

/// Options for the destination of a changed state.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StateOutArguments {
    /// The file to write the state to, instead of the one that is read.
    #[arg(long, value_name = "PATH")]
    pub(crate) state_out: Option<PathBuf>,
    /// The backup file for the previous state; `-` for none.
    #[arg(long, value_name = "PATH")]
    pub(crate) backup: Option<PathBuf>,
}

impl StateOutArguments {
    /// Returns the library's form of the options.
    pub(crate) fn options(&self) -> StateOutOptions {
        StateOutOptions { state_out: self.state_out.clone(), backup: self.backup.clone() }
    }

    /// Returns the files that the options name.
    pub(crate) fn named_files(&self) -> impl Iterator<Item = NamedFile> {
        self.state_out.iter().chain(&self.backup).map(|path| (ProtectedClass::States, path.clone()))
    }
}

/// Options for running an operation.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OperationArguments {
    /// `false`: never prompt for values of variables.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) input: bool,
    /// The maximum number of concurrent provider operations.
    #[arg(long, default_value_t = 10, value_parser = parallelism, value_name = "N")]
    pub(crate) parallelism: usize,
}

/// Options for creating a plan.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlanningArguments {
    /// Plan to destroy every object.
    #[arg(long)]
    pub(crate) destroy: bool,
    /// Only update the state to match the remote objects.
    #[arg(long)]
    pub(crate) refresh_only: bool,
    /// Only invoke this action or action instance; change no resources. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) invoke: Vec<InvokeAddress>,
    #[command(flatten)]
    pub(crate) scope: ScopeArguments,
}

/// Options for the scope of a plan.
#[derive(Args, Clone, Debug)]
pub(crate) struct ScopeArguments {
    /// `false`: create the plan from the state, without reading remote objects first.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) refresh: bool,
    /// Replace this instance even if no change requires it. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) replace: Vec<ResourceInstanceAddress>,
    /// Include only this module, resource or instance, and its dependencies. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) target: Vec<TargetAddress>,
    /// Exclude this module, resource or instance, and everything that depends on it. Repeatable;
    /// cannot be combined with -target.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["target", "target_file"])]
    pub(crate) exclude: Vec<TargetAddress>,
    /// Include only the addresses in this file, one per line, like -target. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) target_file: Vec<PathBuf>,
    /// Exclude the addresses in this file, one per line, like -exclude. Repeatable.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["target", "target_file"])]
    pub(crate) exclude_file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
}

impl PlanningArguments {
    /// Checks the combination of plan modes and their options.
    ///
    /// # Errors
    /// Returns an error if options cannot be combined.
    pub(crate) fn check(&self) -> Result<(), InvalidOptions> {
        if self.destroy && self.refresh_only {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "-destroy and -refresh-only cannot be combined.",
            ));
        }
        if self.refresh_only && !self.scope.refresh {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "-refresh-only updates the state from the remote objects, so it cannot be combined with \
                 -refresh=false.",
            ));
        }
        let is_scoped = self.scope.is_partial() || !self.scope.replace.is_empty();
        if !self.invoke.is_empty() && (self.destroy || self.refresh_only || is_scoped) {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "-invoke plans only the invocation of actions, so it cannot be combined with -destroy, \
                 -refresh-only, -replace, -target or -exclude.",
            ));
        }
        self.scope.check_replace(!self.destroy && !self.refresh_only)
    }
}

impl ScopeArguments {
    /// Returns whether the plan concerns only a part of the configuration.
    pub(crate) fn is_partial(&self) -> bool {
        !(self.target.is_empty()
            && self.exclude.is_empty()
            && self.target_file.is_empty()
            && self.exclude_file.is_empty())
    }

    /// Checks that `-replace` is used only in the normal plan mode.
    ///
    /// # Errors
    /// Returns an error if the option is used in another mode.
    pub(crate) fn check_replace(&self, is_normal_mode: bool) -> Result<(), InvalidOptions> {
        if self.replace.is_empty() || is_normal_mode {
            return Ok(());
        }
        Err(InvalidOptions::new(
            "Unsupported plan mode",
            "-replace recreates objects, which a plan with -destroy or -refresh-only never does. Use \
             -replace without these options.",
        ))
    }
}
