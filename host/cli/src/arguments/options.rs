//! Options that several commands share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wardian_address::ResourceInstanceAddress;
use wardian_app::state_access::{LockOptions, StateOutOptions};
use wardian_app::untrusted::ConfigurationTrust;
use wardian_engine::TargetAddress;

use super::VariableArguments;
use super::values::{at_least_one, duration};
use crate::command_spec::InvalidOptions;
use crate::shell::ViewOptions;

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

/// Where it is recorded what plugins touch.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AuditArguments {
    /// Record each use of a capability by a plugin, allowed or denied, as a line of JSON at
    /// the end of this file.
    #[arg(long, value_name = "PATH")]
    pub(crate) audit_log: Option<PathBuf>,
}

/// Whose the configuration is.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct TrustArguments {
    /// The configuration is a stranger's, such as that of a pull request: no native plugin
    /// runs, nothing is written or started, requests go only where the organisation's
    /// policy says, and no file outside of the directory is read.
    #[arg(long)]
    pub(crate) untrusted: bool,
}

/// Colours alone, for commands that warn about nothing.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ColorArguments {
    /// No colour.
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
        Self { no_color: arguments.no_color, compact_warnings: arguments.compact_warnings }
    }
}

impl From<ColorArguments> for ViewOptions {
    fn from(arguments: ColorArguments) -> Self {
        Self { no_color: arguments.no_color, compact_warnings: false }
    }
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

impl LockArguments {
    /// Returns the library's form of the options.
    pub(crate) fn options(&self) -> LockOptions {
        LockOptions { lock: self.lock, lock_timeout: self.lock_timeout, state: self.state.clone() }
    }
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

impl StateOutArguments {
    /// Returns the library's form of the options.
    pub(crate) fn options(&self) -> StateOutOptions {
        StateOutOptions { state_out: self.state_out.clone(), backup: self.backup.clone() }
    }
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
    /// UnlockedState only at this module, resource or instance, and what it needs.
    /// Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) target: Vec<TargetAddress>,
    /// Leave out this module, resource or instance, and what depends on it.
    /// Repeatable; not together with -target.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "target")]
    pub(crate) exclude: Vec<TargetAddress>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
}

impl PlanningArguments {
    /// Checks the combination of plan modes and their options.
    ///
    /// # Errors
    /// If some cannot be combined.
    pub(crate) fn check(&self) -> Result<(), InvalidOptions> {
        if self.destroy && self.refresh_only {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "A plan cannot be made with both -destroy and -refresh-only.",
            ));
        }
        if self.refresh_only && !self.scope.refresh {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "-refresh-only reads the real objects and does nothing else, so -refresh=false leaves nothing \
                 to do.",
            ));
        }
        self.scope.check_replace(!self.destroy && !self.refresh_only)
    }
}

impl ScopeArguments {
    /// Checks that `-replace` is used only in the normal plan mode.
    ///
    /// # Errors
    /// If it is used in another mode.
    pub(crate) fn check_replace(&self, is_normal_mode: bool) -> Result<(), InvalidOptions> {
        if self.replace.is_empty() || is_normal_mode {
            return Ok(());
        }
        Err(InvalidOptions::new(
            "Unsupported plan mode",
            "-replace makes objects anew, which a plan that destroys everything or only refreshes does not do: give it \
             without -destroy and -refresh-only.",
        ))
    }
}
