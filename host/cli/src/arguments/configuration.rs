//! Commands about the configuration alone, and what it is prepared with.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use wardian_app::backend::BackendOptions;
use wardian_app::consent::ConsentOptions;

use super::options::{AuditArguments, ColorArguments, TrustArguments, ViewArguments};
use super::values::duration;

/// `init`.
#[derive(Args, Debug)]
pub(crate) struct InitArguments {
    /// Take the newest acceptable versions, whatever the lock file says.
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// `readonly`: fail rather than change the lock file.
    #[arg(long, value_name = "MODE", value_parser = ["readonly"])]
    pub(crate) lockfile: Option<String>,
    /// `false`: do not fetch modules. Local ones need no fetching.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) get: bool,
    #[command(flatten)]
    pub(crate) backend: BackendArguments,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

impl InitArguments {
    /// Returns how consent to what plugins request is obtained.
    pub(crate) fn consent_options(&self) -> ConsentOptions {
        ConsentOptions {
            input: self.backend.input,
            upgrade: self.upgrade,
            is_lock_file_read_only: self.lockfile.is_some(),
        }
    }
}

/// What becomes of the backend, and of the states in it.
#[derive(Args, Debug)]
pub(crate) struct BackendArguments {
    /// `false`: leave the backend as it is.
    #[arg(long, alias = "cloud", action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) backend: bool,
    /// An argument that the backend block leaves out, as NAME=VALUE, or a file of such
    /// lines. Repeatable.
    #[arg(long, value_name = "ARGUMENT")]
    pub(crate) backend_config: Vec<String>,
    /// Leave the states where they are, whatever the backend was before.
    #[arg(long)]
    pub(crate) reconfigure: bool,
    /// Bring the states along to a backend that has changed.
    #[arg(long)]
    pub(crate) migrate_state: bool,
    /// As -migrate-state, without asking.
    #[arg(long)]
    pub(crate) force_copy: bool,
    /// `false`: never ask anything.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) input: bool,
    /// `false`: do not lock states that are brought along.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that somebody else holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
    /// Accepted; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
}

impl BackendArguments {
    /// Returns the library's form of the options.
    pub(crate) fn options(&self) -> BackendOptions {
        BackendOptions {
            config: self.backend_config.clone(),
            reconfigure: self.reconfigure,
            migrate_state: self.migrate_state,
            force_copy: self.force_copy,
            input: self.input,
            lock: self.lock,
            lock_timeout: self.lock_timeout,
        }
    }
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
    /// Accepted; test files are not looked at.
    #[arg(long, hide = true, value_name = "PATH")]
    pub(crate) test_directory: Option<PathBuf>,
    /// The directory of the configuration, instead of the current one.
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `get`.
#[derive(Args, Debug)]
pub(crate) struct GetArguments {
    /// UnlockedState at modules again that are recorded already.
    #[arg(long)]
    pub(crate) update: bool,
    /// Accepted; test files are not looked at.
    #[arg(long, hide = true, value_name = "PATH")]
    pub(crate) test_directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `fmt`.
#[derive(Args, Debug)]
pub(crate) struct FmtArguments {
    /// Files and directories, instead of the current directory; `-` for standard input.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// `false`: do not list files that are not in the standard style.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) list: bool,
    /// `false`: leave files as they are.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) write: bool,
    /// Show what differs from the standard style.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Leave files as they are, and exit with 3 where one is not in the standard style.
    #[arg(long)]
    pub(crate) check: bool,
    /// UnlockedState into directories of directories too, but not into hidden ones.
    #[arg(long)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `metadata`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct MetadataArguments {
    #[command(subcommand)]
    pub(crate) command: MetadataCommand,
}

/// What is told about the program itself.
#[derive(Debug, Subcommand)]
pub(crate) enum MetadataCommand {
    /// Print the signatures of all functions as JSON.
    Functions(MetadataFunctionsArguments),
}

/// `metadata functions`.
#[derive(Args, Debug)]
pub(crate) struct MetadataFunctionsArguments {
    /// Print JSON; there is no other form.
    #[arg(long)]
    pub(crate) json: bool,
}
