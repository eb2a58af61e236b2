//! Building what runs on this machine.

use anyhow::Result;

use crate::process;
use crate::progress::Step;
use crate::workspace::Workspace;

/// The selection of packages and targets with which cargo is asked, everywhere.
///
/// Cargo unifies features over the packages that a command selects, and counts
/// development dependencies in as soon as an example or test is selected. With
/// the whole workspace and its examples, `cargo build` therefore resolves as
/// `cargo test --workspace` does, and both use one build of wasmtime.
const SELECTION: [&str; 3] = ["--workspace", "--bins", "--examples"];

/// Builds `wardian` and the examples that the benchmark runs. The guests have to
/// be there: the binary embeds them.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let step = Step::start("Building the host (the first time includes wasmtime: some 5 minutes on 2 cores)");
    process::run(workspace.cargo().arg("build").args(SELECTION))?;
    step.done("built");
    Ok(())
}
