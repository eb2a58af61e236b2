//! The arguments of `test`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::VariableArguments;
use super::options::{AuditArguments, TrustArguments, ViewArguments};
use super::values::parallelism;

/// `test`.
#[derive(Args, Debug)]
pub(crate) struct TestArguments {
    /// `cleanup`: destroy the objects that earlier tests have left. Other arguments are ignored, as
    /// in Terraform.
    #[arg(value_name = "cleanup")]
    pub(crate) words: Vec<OsString>,
    /// Execute only this test file. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) filter: Vec<String>,
    /// The directory with test files, in addition to the root module's directory.
    #[arg(long, value_name = "DIR", default_value = "tests")]
    pub(crate) test_directory: PathBuf,
    /// Print progress and results as JSON, one document per line, for programs.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the results to this file, in JUnit's XML format.
    #[arg(long, value_name = "PATH")]
    pub(crate) junit_xml: Option<PathBuf>,
    /// Print the plan or the state of each run.
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Not supported: tests run on this machine.
    #[arg(long, hide = true, value_name = "SOURCE")]
    pub(crate) cloud_run: Option<OsString>,
    /// Execute the tests again whenever a file of the configuration or of its tests changes. If only test
    /// files change, only these are executed.
    #[arg(long, conflicts_with_all = ["junit_xml", "coverage_out"])]
    pub(crate) watch: bool,
    /// Print the resources, outputs, conditions and sides of conditionals that no run has evaluated.
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Write the coverage to this file: as JSON if its name ends in .json, otherwise in LCOV's format.
    #[arg(long, value_name = "PATH")]
    pub(crate) coverage_out: Option<PathBuf>,
    /// With `cleanup`: destroy only objects that an earlier test failed to destroy, not objects that
    /// skip_cleanup has kept.
    #[arg(long)]
    pub(crate) repair: bool,
    /// The maximum number of concurrent provider operations of a run.
    #[arg(long, default_value_t = 10, value_parser = parallelism, value_name = "N")]
    pub(crate) parallelism: usize,
    /// The maximum number of concurrent runs with `parallel = true`.
    #[arg(long, default_value_t = 10, value_parser = parallelism, value_name = "N")]
    pub(crate) run_parallelism: usize,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}
