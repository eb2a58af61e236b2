//! Commands on policies.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wardian_address::ProviderAddress;

use super::options::ColorArguments;

/// `policy`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

/// What can be done with policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what is wrong with policies.
    ///
    /// Reads the policies of all levels or, where a file is given, that one alone, as if
    /// it were the organisation's.
    Check(PolicyCheckArguments),
    /// Say what policies let a plugin do, and by which lines.
    Explain(PolicyExplainArguments),
    /// Grant a plugin what it asks for.
    ///
    /// Adds rules to wardian.policy.hcl beside the configuration: for what the plugin
    /// declares and no policy grants yet or, where a capability is named, for that, with
    /// the arguments that `allow` has in a policy.
    Grant(Box<PolicyGrantArguments>),
}

/// `policy check`.
#[derive(Args, Debug)]
pub(crate) struct PolicyCheckArguments {
    /// The file to check, instead of those that are in effect.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `policy grant`.
#[derive(Args, Debug)]
pub(crate) struct PolicyGrantArguments {
    /// The plugin, such as hashicorp/http.
    #[arg(value_name = "ADDRESS")]
    pub(crate) plugin: ProviderAddress,
    /// network, filesystem, environment, process or communicator.
    #[arg(value_name = "CAPABILITY")]
    pub(crate) capability: Option<String>,
    /// Hosts, parted by commas (network, communicator).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) hosts: Vec<String>,
    /// https, http, tcp, udp (network).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) schemes: Vec<String>,
    /// Ports and ranges of them (network, communicator).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) ports: Vec<String>,
    /// Methods of HTTP (network).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// Where names may lead (network, communicator).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) addresses: Vec<String>,
    /// Directories (filesystem).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) directories: Vec<String>,
    /// read, write (filesystem).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) access: Vec<String>,
    /// Names of variables (environment).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) names: Vec<String>,
    /// The program (process).
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Option<String>,
    /// Patterns of its arguments (process); empty for none.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) arguments: Option<Vec<String>>,
    /// Why, for whoever reads the policy.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// UnlockedState at the version that `wardian init -upgrade` would choose.
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// Do not ask before the rules are added.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `policy explain`.
#[derive(Args, Debug)]
pub(crate) struct PolicyExplainArguments {
    /// The plugin, such as hashicorp/http.
    #[arg(value_name = "ADDRESS")]
    pub(crate) plugin: ProviderAddress,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
