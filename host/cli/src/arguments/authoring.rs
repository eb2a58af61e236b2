//! The arguments of the `plugin` commands for authors of plugins.

use std::path::PathBuf;

use clap::Args;
use wardian_address::ProviderAddress;

use super::options::ColorArguments;

/// `plugin new`.
#[derive(Args, Debug)]
pub(crate) struct PluginNewArguments {
    /// The name of the provider, such as dns or acme/dns.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The directory of the project, which must be empty or must not exist. By default
    /// terraform-provider-NAME.
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// The programming language: rust, go, js or python.
    #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
    pub(crate) language: String,
    /// Use the SDK in this directory, or in the directory with the SDKs of all languages, instead of the
    /// released one. The environment variable WARDIAN_SDK_PATH has the same effect.
    #[arg(long, value_name = "DIR")]
    pub(crate) sdk_path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin declare`.
#[derive(Args, Debug)]
pub(crate) struct PluginDeclareArguments {
    /// The component.
    #[arg(value_name = "FILE")]
    pub(crate) component: PathBuf,
    /// Read the capabilities from this JSON file. By default, they are read from the file next to the
    /// component that has the extension .capabilities.json, if no option names a capability.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Write the component to this file instead of replacing it.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// A host, or a pattern of hosts, to which the plugin sends requests. Repeatable.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub(crate) network_host: Vec<String>,
    /// A method of HTTP requests. By default any. Repeatable.
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub(crate) network_method: Vec<String>,
    /// A port. By default the scheme's port. Repeatable.
    #[arg(long, value_name = "PORT", value_delimiter = ',')]
    pub(crate) network_port: Vec<String>,
    /// A URL scheme: https or http. By default https. Repeatable.
    #[arg(long, value_name = "SCHEME", value_delimiter = ',')]
    pub(crate) network_scheme: Vec<String>,
    /// A directory whose files the plugin uses; "." is the directory of the configuration.
    /// Repeatable.
    #[arg(long, value_name = "DIR", value_delimiter = ',')]
    pub(crate) filesystem_directory: Vec<String>,
    /// The operations on files: read or write. By default read. Repeatable.
    #[arg(long, value_name = "ACCESS", value_delimiter = ',')]
    pub(crate) filesystem_access: Vec<String>,
    /// An environment variable, or a pattern of names, that the plugin reads. Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) environment_name: Vec<String>,
    /// The reason, which is shown to users. If the capabilities have different reasons, use -from or
    /// run the command once for each.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin build`.
#[derive(Args, Debug)]
pub(crate) struct PluginBuildArguments {
    /// The directory of the provider's project. By default the current directory.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
    /// Copy the component to this file.
    #[arg(long, alias = "o", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin dev`.
#[derive(Args, Debug)]
pub(crate) struct PluginDevArguments {
    /// The directory of the provider's project. By default the current directory.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
    /// The configuration to plan, relative to the project.
    #[arg(long, value_name = "DIR", default_value = "examples/basic")]
    pub(crate) example: PathBuf,
    /// Do not run tests.
    #[arg(long)]
    pub(crate) no_tests: bool,
    /// End after the first plan and test, with exit code 1 if something failed.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin docs`.
#[derive(Args, Debug)]
pub(crate) struct PluginDocsArguments {
    /// A component, or the directory of a provider's project, which is built first. By default the
    /// current directory.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) plugin: PathBuf,
    /// Write nothing; exit with code 1 if a page is missing or out of date.
    #[arg(long)]
    pub(crate) check: bool,
    /// The provider's address, if the name of the component's file does not contain its type.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<ProviderAddress>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin check`.
#[derive(Args, Debug)]
pub(crate) struct PluginCheckArguments {
    /// The component.
    #[arg(value_name = "FILE")]
    pub(crate) component: PathBuf,
    /// An audit log of runs with the plugin: report declared capabilities that no call used.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// The provider's address, if the name of the file does not contain its type.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<ProviderAddress>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin componentize`.
#[derive(Args, Debug)]
pub(crate) struct PluginComponentizeArguments {
    /// The core module.
    #[arg(value_name = "CORE.wasm")]
    pub(crate) module: PathBuf,
    /// The file of the component. By default the module's name with the extension .component.wasm.
    #[arg(long, alias = "o", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The world, such as provider-plugin. By default, the exports of the module determine it.
    #[arg(long, value_name = "WORLD")]
    pub(crate) world: Option<String>,
    /// A JSON file with the capabilities to declare.
    #[arg(long, value_name = "FILE")]
    pub(crate) declare: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin debug`.
#[derive(Args, Debug)]
pub(crate) struct PluginDebugArguments {
    /// The address of the provider whose calls are printed; for -replay, the file of the component.
    #[arg(value_name = "ADDRESS|FILE")]
    pub(crate) plugin: String,
    /// The file of recorded calls.
    #[arg(long, value_name = "FILE", default_value = "wardian-calls.jsonl")]
    pub(crate) recording: PathBuf,
    /// Repeat the recorded call with this number.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) replay: Option<usize>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    /// The command whose calls are recorded, with its arguments.
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<String>,
}
