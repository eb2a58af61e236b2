//! The arguments of the `policy` commands.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use wardian_access::AddressKind;
use wardian_address::ProviderAddress;

use super::CommandLine;
use super::options::ColorArguments;
use super::values::learnt_address;

/// `policy`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

/// Commands on policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check policies for errors.
    ///
    /// Reads the policies of all levels or, if a file is given, only that file, as an
    /// organisation-level policy.
    Check(PolicyCheckArguments),
    /// Explain which access policies grant a plugin, and by which rules.
    Explain(PolicyExplainArguments),
    /// Grant a plugin the access that it requests.
    ///
    /// Adds rules to wardian.policy.hcl in the configuration's directory: for all requests of the
    /// plugin that no policy grants yet or, if a capability is given, for that capability. The
    /// options correspond to the arguments of an `allow` block in a policy.
    ///
    /// With -template, adds the rules that a well-known native provider needs, and confines it to
    /// them. Some templates need values that only you know, in -hosts or -directories.
    Grant(Box<PolicyGrantArguments>),
    /// Learn the policy that a command needs.
    ///
    /// Runs the command, and writes the smallest policy that allows its accesses. During the run,
    /// plugins may open connections and read files even if no rule grants this access. Access that
    /// policies deny, protected files, keys and metadata addresses remain denied, and plugins
    /// cannot write files or start programs. Native plugins run confined.
    ///
    /// Review the rules: a malicious plugin's accesses are also learnt.
    Learn(Box<PolicyLearnArguments>),
}

/// `policy check`.
#[derive(Args, Debug)]
pub(crate) struct PolicyCheckArguments {
    /// The file to check, instead of the policies in effect.
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
    /// Hosts, separated by commas (network, communicator).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) hosts: Vec<String>,
    /// https, http, tcp, udp (network).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) schemes: Vec<String>,
    /// Ports and port ranges (network, communicator).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) ports: Vec<String>,
    /// HTTP methods (network).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// IP addresses that names may resolve to (network, communicator).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) addresses: Vec<String>,
    /// Directories (filesystem).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) directories: Vec<String>,
    /// read, write, connect (filesystem).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) access: Vec<String>,
    /// Classes of protected files that are included (filesystem).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) protected: Vec<String>,
    /// Names of variables (environment).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) names: Vec<String>,
    /// The program (process).
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Option<String>,
    /// Patterns of the program's arguments (process); empty for none.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) arguments: Option<Vec<String>>,
    /// Variables that the plugin may set for the program (process).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) environment: Vec<String>,
    /// The reason, for readers of the policy.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Add the rules of Wardian's template for this native provider. Supports the options -hosts,
    /// -ports (of these hosts), -directories and -instance-credentials.
    #[arg(long)]
    pub(crate) template: bool,
    /// Include the metadata addresses at which clouds serve a machine's credentials.
    #[arg(long)]
    pub(crate) instance_credentials: bool,
    /// Use the version that `wardian init -upgrade` would select.
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// Add the rules without asking for approval.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `policy learn`.
#[derive(Args, Debug)]
pub(crate) struct PolicyLearnArguments {
    /// The command, after `--`: plan, refresh or validate, with its options.
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) words: Vec<OsString>,
    /// The file to write, instead of wardian.policy.hcl.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add the missing rules to the file, for example after another command or on another machine.
    #[arg(long)]
    pub(crate) append: bool,
    /// Also learn connections to these kinds of addresses: private, loopback, link-local.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = learnt_address)]
    pub(crate) addresses: Vec<AddressKind>,
    /// Allow the commands apply, destroy and import, which change objects under a policy that is
    /// not known yet.
    #[arg(long)]
    pub(crate) allow_changes: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    /// The parsed command.
    #[arg(skip)]
    pub(crate) learnt: Option<Box<CommandLine>>,
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
