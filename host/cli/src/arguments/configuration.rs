//! The arguments of the commands that prepare and check a configuration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use wardian_address::ProviderAddress;
use wardian_app::backend::BackendOptions;
use wardian_app::consent::ConsentOptions;

use super::options::{AuditArguments, ColorArguments, TrustArguments, ViewArguments};
use super::values::duration;

/// `init`.
#[derive(Args, Debug)]
pub(crate) struct InitArguments {
    /// Select the newest acceptable versions, even if the lock file has others.
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// Allow this plugin's native program, which runs outside of the sandbox, to replace the
    /// installed component. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) allow_native: Vec<ProviderAddress>,
    /// Accept this plugin's publisher, even if it has changed or a signature is missing, and the
    /// access that the plugin requests, without prompting. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) accept: Vec<ProviderAddress>,
    /// `readonly`: fail rather than change the lock file.
    #[arg(long, value_name = "MODE", value_parser = ["readonly"])]
    pub(crate) lockfile: Option<String>,
    /// Copy this module into the directory, which must be empty, before initializing it.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from_module: Option<String>,
    /// A directory with plugin packages, which replaces all other sources of plugins. Repeatable.
    /// Later runs use it too, until `init -plugin-dir=` resets it.
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,
    /// Send no requests: use only installed or cached packages and local mirrors.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Accepted without effect; signatures are always verified.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1)]
    pub(crate) verify_plugins: Option<String>,
    /// `false`: do not install modules. Installed modules must match the configuration.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) get: bool,
    /// Accepted without effect; no version or source depends on variables.
    #[arg(long, value_name = "NAME=VALUE", hide = true)]
    pub(crate) var: Vec<OsString>,
    /// Accepted without effect; no version or source depends on variables.
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) var_file: Vec<OsString>,
    /// Accepted without effect; the whole configuration is prepared.
    #[arg(long, value_name = "ADDRESS", hide = true)]
    pub(crate) target: Vec<OsString>,
    /// The directory of test files, relative to the configuration. The default is `tests`.
    #[arg(long, value_name = "PATH")]
    pub(crate) test_directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) backend: BackendArguments,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
    /// Print progress and results as JSON, one document per line, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

impl InitArguments {
    /// Returns how to obtain the user's consent to publishers and capability requests.
    pub(crate) fn consent_options(&self) -> ConsentOptions<'_> {
        ConsentOptions {
            input: self.backend.input && !self.json,
            upgrade: self.upgrade,
            is_lock_file_read_only: self.lockfile.is_some(),
            keeps_others: false,
            accepted: &self.accept,
        }
    }
}

/// Options for the backend and the states in it.
#[derive(Args, Debug)]
pub(crate) struct BackendArguments {
    /// `false`: leave the backend as it is.
    #[arg(long, alias = "cloud", action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) backend: bool,
    /// An argument that the backend block omits, as NAME=VALUE, or a file with such lines.
    /// Repeatable.
    #[arg(long, value_name = "ARGUMENT")]
    pub(crate) backend_config: Vec<String>,
    /// Use the configured backend, and leave existing states where they are.
    #[arg(long)]
    pub(crate) reconfigure: bool,
    /// Copy the states to the new backend if the backend has changed.
    #[arg(long)]
    pub(crate) migrate_state: bool,
    /// Like -migrate-state, without asking.
    #[arg(long)]
    pub(crate) force_copy: bool,
    /// `false`: never ask questions.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) input: bool,
    /// `false`: do not lock states while they are copied.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that another process holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
    /// Accepted without effect; there is no remote backend.
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
    /// Do not check test files.
    #[arg(long)]
    pub(crate) no_tests: bool,
    /// Also check query files.
    #[arg(long)]
    pub(crate) query: bool,
    /// The directory of test files, relative to the configuration. The default is `tests`.
    #[arg(long, value_name = "PATH")]
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
    /// Check modules again that are already recorded.
    #[arg(long)]
    pub(crate) update: bool,
    /// The directory of test files, relative to the configuration. The default is `tests`.
    #[arg(long, value_name = "PATH")]
    pub(crate) test_directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `fmt`.
#[derive(Args, Debug)]
pub(crate) struct FmtArguments {
    /// Files and directories to format; `-` for standard input. The default is the current
    /// directory.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// `false`: do not list files that are not in the standard style.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) list: bool,
    /// `false`: leave files as they are.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) write: bool,
    /// Show the differences from the standard style.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Leave files as they are, and exit with 3 if one is not in the standard style.
    #[arg(long)]
    pub(crate) check: bool,
    /// Also format files in subdirectories, except hidden ones.
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

/// Information about the program itself.
#[derive(Debug, Subcommand)]
pub(crate) enum MetadataCommand {
    /// Print the signatures of all functions as JSON.
    Functions(MetadataFunctionsArguments),
}

/// `metadata functions`.
#[derive(Args, Debug)]
pub(crate) struct MetadataFunctionsArguments {
    /// Print JSON; required, because there is no other format.
    #[arg(long)]
    pub(crate) json: bool,
}
