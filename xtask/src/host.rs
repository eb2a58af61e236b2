//! Builds the binaries for this machine.

use anyhow::Result;

use crate::process;
use crate::progress::Step;
use crate::workspace::Workspace;

/// The packages and targets that cargo builds.
///
/// Cargo unifies features over the packages that a command selects, and includes development
/// dependencies if an example or test is selected. For both selections, third-party packages have
/// the same features as for `cargo test --workspace`. Therefore, all commands use the same build of
/// wasmtime. A test in this module verifies this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selection {
    /// The `wardian` binary. The SDK and its acceptance tests have no binary; they are selected because
    /// they enable the same features as the plugins and their tests.
    Program,
    /// The complete workspace, with the examples that the benchmark runs.
    Workspace,
}

impl Selection {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Program => {
                &["--package=wardian-cli", "--package=wardian-sdk", "--package=wardian-acceptance", "--bins"]
            }
            Self::Workspace => &["--workspace", "--bins", "--examples"],
        }
    }
}

/// Builds the host. The guests must already be built, since the binary embeds them.
pub(crate) fn build(workspace: &Workspace, selection: Selection) -> Result<()> {
    let step = Step::start("Building the host (the first build takes about 8 minutes on 2 cores)");
    process::run(workspace.cargo().arg("build").args(selection.arguments()))?;
    step.done("built");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns third-party packages with their features.
    fn resolved(workspace: &Workspace, arguments: &[&str]) -> BTreeSet<String> {
        let mut cargo = workspace.cargo();
        cargo.args(["tree", "--prefix=none", "--format={p} [{f}]", "--no-dedupe"]).args(arguments);
        let printed = process::output(&mut cargo).unwrap();
        printed.lines().filter(|line| !line.contains(" (/")).map(str::to_owned).collect()
    }

    #[test]
    fn all_package_selections_resolve_the_same_features() {
        let workspace = Workspace::load().unwrap();
        let packages = Selection::Program.arguments().iter().filter(|argument| **argument != "--bins");
        let arguments: Vec<&str> = packages.copied().chain(["--edges=normal,build"]).collect();
        let program = resolved(&workspace, &arguments);
        let everything = resolved(&workspace, &["--workspace", "--edges=normal,build,dev"]);
        let others: Vec<&String> = program.difference(&everything).collect();
        assert!(program.len() > 100, "{}", program.len());
        assert!(others.is_empty(), "{others:#?}");
    }
}
