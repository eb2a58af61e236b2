//! Builds and tests a provider in JavaScript: `componentize-qjs` builds the component, and npm runs the
//! script `test` of `package.json`. The interface definitions are in the package of the SDK.

use std::path::Path;

use super::program::Program;
use super::settings::Settings;
use super::{Project, ProjectError, SDK_WORLD};

const NPM: Program =
    Program { name: "npm", remedy: "install Node.js 20 or newer, which contains it (https://nodejs.org)" };

const COMPONENTIZE: Program = Program { name: "componentize-qjs", remedy: INSTALL };

const INSTALL: &str = "install the dependencies of package.json with `npm install`";

/// The module that exports the provider, if the settings name no other.
const COMPONENT: &str = "src/component.js";

/// Builds the component.
pub(super) async fn build(project: &Project, settings: &Settings, file: &Path) -> Result<(), ProjectError> {
    let modules = project.directory.join("node_modules");
    let missing = |package| ProjectError::NoPackageInstalled {
        package,
        directory: project.directory.clone(),
        remedy: INSTALL,
    };
    let definitions = modules.join("wardian-sdk/wit");
    if !definitions.is_dir() {
        return Err(missing("wardian-sdk"));
    }
    let compiler = modules.join(".bin").join(COMPONENTIZE.name);
    if !compiler.exists() {
        return Err(missing(COMPONENTIZE.name));
    }
    // Without --sync, the component needs the asynchronous component model.
    let arguments = ["--sync", "--opt-size", "--world", SDK_WORLD, "--wit"];
    let mut command = Program::command(&compiler, &project.directory, &arguments);
    command.arg(&definitions).arg("--js").arg(settings.component.as_deref().unwrap_or(COMPONENT));
    let output = COMPONENTIZE.run(command.arg("--output").arg(file), &mut |_| ()).await?;
    output.checked(|output| ProjectError::Build { program: COMPONENTIZE.name, output }).map(drop)
}

/// Runs the script `test`, and returns the number of tests that passed, if the script runs Node.js's test
/// runner.
pub(super) async fn test(project: &Project) -> Result<Option<usize>, ProjectError> {
    let mut command =
        Program::command(Path::new(NPM.name), &project.directory, &["test", "--silent", "--if-present"]);
    let output = NPM.run(&mut command, &mut |_| ()).await?;
    let output = output.checked(|output| ProjectError::Tests { program: NPM.name, output })?;
    Ok(passed_tests(&output.stdout))
}

/// Returns the number in the last line `# pass 3` (the reporter `tap`) or `ℹ pass 3` (`spec`).
fn passed_tests(stdout: &str) -> Option<usize> {
    stdout.lines().rev().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_summary = matches!(words.next(), Some("#" | "ℹ")) && words.next() == Some("pass");
        words.next().filter(|_| is_summary)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_tests_is_read_from_the_summary() {
        assert_eq!(passed_tests("ok 1 - a\n# tests 3\n# pass 3\n# fail 0\n"), Some(3));
        assert_eq!(passed_tests("✔ a (1 ms)\nℹ tests 2\nℹ pass 2\n"), Some(2));
        assert_eq!(passed_tests("# pass the salt\nall passed\n"), None);
        assert_eq!(passed_tests(""), None);
    }
}
