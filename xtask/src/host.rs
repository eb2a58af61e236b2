//! Building the programs for this machine.

use anyhow::Result;

use crate::process;
use crate::progress::Step;
use crate::workspace::Workspace;

/// The packages and targets that cargo builds in every command.
///
/// Cargo unifies features over the packages that a command selects, and includes development
/// dependencies if an example or test is selected. With the complete workspace and its examples,
/// `cargo build` therefore resolves features as `cargo test --workspace` does, and both use one
/// build of wasmtime.
const SELECTION: [&str; 3] = ["--workspace", "--bins", "--examples"];

/// Builds `wardian` and the examples that the benchmark runs. The guests must be built before:
/// the binary embeds them.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let step = Step::start("Building the host (the first time includes wasmtime: some 5 minutes on 2 cores)");
    process::run(workspace.cargo().arg("build").args(SELECTION))?;
    step.done("built");
    Ok(())
}
