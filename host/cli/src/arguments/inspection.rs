//! The arguments of the commands that only read files.

use std::path::PathBuf;

use clap::Args;

use super::VariableArguments;
use super::options::{AuditArguments, ColorArguments, ViewArguments};

/// `console`.
#[derive(Args, Debug)]
pub(crate) struct ConsoleArguments {
    /// Create a plan first, and evaluate expressions against the planned state.
    #[arg(long)]
    pub(crate) plan: bool,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    /// Accepted without effect; the console never prompts for values.
    #[arg(long, hide = true, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) input: bool,
    /// Accepted without effect; expressions are evaluated against the whole state.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub(crate) target: Vec<String>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}

/// `output`.
#[derive(Args, Debug)]
pub(crate) struct OutputArguments {
    /// The name of the output to print; without it, all outputs are printed.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the value of one output as it is, without quotes or a line break.
    #[arg(long)]
    pub(crate) raw: bool,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `graph`.
#[derive(Args, Debug)]
pub(crate) struct GraphArguments {
    /// Print the complete graph of this operation, instead of only the resources.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<GraphKind>,
    /// Print the graph of a saved plan's actions, including destroy actions.
    #[arg(long, value_name = "PATH")]
    pub(crate) plan: Option<PathBuf>,
    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "dot")]
    pub(crate) format: GraphFormat,
    /// Color the edges of a cycle in the graph of an operation.
    #[arg(long)]
    pub(crate) draw_cycles: bool,
    /// Accepted without effect.
    #[arg(long, hide = true)]
    pub(crate) verbose: bool,
    /// Accepted without effect.
    #[arg(long, hide = true, value_name = "N", allow_negative_numbers = true)]
    pub(crate) module_depth: Option<i64>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// The operation whose graph is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GraphKind {
    /// A plan.
    Plan,
    /// A refresh-only plan.
    PlanRefreshOnly,
    /// A plan to destroy everything.
    PlanDestroy,
    /// An apply.
    Apply,
}

/// The output format of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GraphFormat {
    /// For Graphviz.
    Dot,
    /// For Mermaid, which many Markdown viewers render.
    Mermaid,
}

/// `modules`.
#[derive(Args, Debug)]
pub(crate) struct ModulesArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArguments {
    /// A saved plan or a state file; without it, the current state.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// More plans, with -html, -markdown or -summary.
    #[arg(value_name = "FILE")]
    pub(crate) more_files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Review the plan in the file on the whole terminal. The file is a saved plan, or the JSON document of
    /// one.
    #[arg(long, requires = "file", conflicts_with_all = ["json", "html", "markdown", "summary", "concise"])]
    pub(crate) review: bool,
    /// Print a page with the plan, for a browser. The file is a saved plan or the JSON document of one, also
    /// Terraform's.
    #[arg(long, requires = "file", conflicts_with_all = ["json", "markdown", "summary", "concise"])]
    pub(crate) html: bool,
    /// Print a comment for a pull request with the plan; `gitlab`: for a merge request. The file is a saved
    /// plan or the JSON document of one, also Terraform's.
    #[arg(long, value_name = "SERVICE", num_args = 0..=1, require_equals = true,
        default_missing_value = "github", requires = "file",
        conflicts_with_all = ["json", "summary", "concise"])]
    pub(crate) markdown: Option<CommentService>,
    /// The maximum number of characters of the comment, instead of the limit of the service.
    #[arg(long, value_name = "N", requires = "markdown")]
    pub(crate) limit: Option<usize>,
    /// Add the accesses of plugins in this audit log, which `plan -audit-log=PATH` wrote, to the view, the
    /// page or the comment. Repeatable.
    #[arg(long, value_name = "PATH", requires = "file")]
    pub(crate) audit: Vec<PathBuf>,
    /// Print only the counts and the changes that destroy or replace objects. The file is a saved plan or
    /// the JSON document of one, also Terraform's.
    #[arg(long, requires = "file", conflicts_with_all = ["json", "concise"])]
    pub(crate) summary: bool,
    /// Fold equal changes in the plan.
    #[arg(long, requires = "file", conflicts_with = "json")]
    pub(crate) concise: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// The service that displays a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CommentService {
    /// GitHub.
    Github,
    /// GitLab.
    Gitlab,
}

/// `crash`.
#[cfg(debug_assertions)]
#[derive(Args, Debug)]
pub(crate) struct CrashArguments {
    /// Where to crash.
    #[arg(long, value_enum, default_value = "command")]
    pub(crate) place: CrashPlace,
    /// A text that a panic contains.
    #[arg(long, default_value = "")]
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// The place of a requested crash.
#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum CrashPlace {
    /// A panic of the command itself.
    Command,
    /// A panic of a task.
    Task,
    /// An error that only a bug can cause.
    Error,
    /// A panic while the terminal is in full-screen mode.
    View,
}

/// `version`.
#[derive(Args, Debug)]
pub(crate) struct VersionArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
