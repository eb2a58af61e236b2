//! Builds and tests a provider's cargo project.
//!
//! Components for development are built with their own profile, whose settings are passed on the command
//! line, so any project can be built: fast to compile, small enough to be compiled fast by the host,
//! and with the lines of the author's code for backtraces. `cargo` names the built file, so a project in
//! a workspace, and names with `-` and `_`, need no rules.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Command;
use wardian_address::ProviderAddress;

use super::program::Program;
use super::{BuildProfile, BuildTool, PackageProgress, Project, ProjectError};

/// The target of components.
pub const COMPONENT_TARGET: &str = "wasm32-wasip2";

const CARGO: Program =
    Program { name: "cargo", remedy: "install Rust, for example with rustup (https://rustup.rs)" };

/// The settings of the profile for development.
const DEVELOPMENT_PROFILE: [&str; 7] = [
    "profile.wardian-dev.inherits=\"dev\"",
    "profile.wardian-dev.opt-level=1",
    "profile.wardian-dev.debug=\"limited\"",
    "profile.wardian-dev.panic=\"abort\"",
    "profile.wardian-dev.incremental=true",
    "profile.wardian-dev.package.\"*\".opt-level=\"s\"",
    "profile.wardian-dev.package.\"*\".debug=false",
];

/// Reads the package in a directory.
pub(super) async fn load(directory: &Path) -> Result<Project, ProjectError> {
    let manifest = directory.join("Cargo.toml");
    let mut command = cargo(directory, &["metadata", "--no-deps", "--format-version=1"]);
    command.arg("--manifest-path").arg(&manifest);
    let output = CARGO.run(&mut command, &mut |_| ()).await?;
    if !output.is_success {
        return Err(ProjectError::Manifest(output.stderr));
    }
    let document: Value =
        serde_json::from_str(&output.stdout).map_err(|error| ProjectError::Manifest(error.to_string()))?;
    from_metadata(&document, &manifest)
}

/// Reads the output of `cargo metadata`.
fn from_metadata(document: &Value, manifest: &Path) -> Result<Project, ProjectError> {
    let packages = document["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_own = |package: &&Value| package["manifest_path"].as_str().map(Path::new) == Some(manifest);
    let package = packages.iter().find(is_own).ok_or_else(|| ProjectError::NoPackage(manifest.to_owned()))?;
    let name = package["name"].as_str().unwrap_or_default().to_owned();
    if !builds_component(package) {
        return Err(ProjectError::NoComponent { package: name, manifest: manifest.to_owned() });
    }
    let address = package["metadata"]["wardian"]["address"]
        .as_str()
        .ok_or_else(|| ProjectError::NoAddress(manifest.to_owned()))?;
    let address = ProviderAddress::parse(address).map_err(|problem| ProjectError::Address {
        address: address.to_owned(),
        manifest: manifest.to_owned(),
        problem: problem.to_string(),
    })?;
    let directory = manifest.parent().unwrap_or(Path::new(".")).to_owned();
    let results_directory = match document["target_directory"].as_str() {
        Some(path) => PathBuf::from(path),
        None => directory.join("target"),
    };
    Ok(Project { directory, name, address, results_directory, tool: BuildTool::Cargo })
}

/// Builds the component, and returns its file.
pub(super) async fn build(
    project: &Project,
    profile: BuildProfile,
    progress: &mut PackageProgress<'_>,
) -> Result<PathBuf, ProjectError> {
    let mut command = cargo(&project.directory, &["build", "--lib", "--target", COMPONENT_TARGET]);
    command.args(["--message-format=json-render-diagnostics", "--package", &project.name]);
    match profile {
        BuildProfile::Release => {
            command.arg("--release");
        }
        BuildProfile::Development => {
            command.args(["--profile", "wardian-dev"]);
            for setting in DEVELOPMENT_PROFILE {
                command.args(["--config", setting]);
            }
        }
    }
    let output = CARGO.run(&mut command, &mut |line| report(line, progress)).await?;
    if !output.is_success {
        return Err(build_error(&output.stderr));
    }
    component_in_messages(&output.stdout, &project.directory)
        .ok_or_else(|| ProjectError::NoArtifact { program: CARGO.name, package: project.name.clone() })
}

/// Runs the tests natively, and returns the number of tests that passed.
pub(super) async fn test(
    project: &Project,
    progress: &mut PackageProgress<'_>,
) -> Result<usize, ProjectError> {
    let mut command = cargo(&project.directory, &["test", "--package", &project.name]);
    let output = CARGO.run(&mut command, &mut |line| report(line, progress)).await?;
    if output.is_success {
        return Ok(passed_tests(&output.stdout));
    }
    let without_progress = without_progress(&output.stderr);
    if output.stdout.contains("test result: FAILED") {
        let output = format!("{}\n{without_progress}", output.stdout.trim_end());
        return Err(ProjectError::Tests { program: CARGO.name, output });
    }
    Err(ProjectError::Build { program: CARGO.name, output: without_progress })
}

fn cargo(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Program::command(Path::new(CARGO.name), directory, arguments);
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
    command
}

/// Reports the package that a line of cargo's output names.
fn report(line: &str, progress: &mut PackageProgress<'_>) {
    if let Some(package) = line.trim_start().strip_prefix("Compiling ") {
        progress(package.split(" (").next().unwrap_or(package));
    }
}

fn builds_component(package: &Value) -> bool {
    let targets = package["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
    targets.iter().any(is_component_target)
}

fn is_component_target(target: &Value) -> bool {
    let kinds = target["kind"].as_array().map(Vec::as_slice).unwrap_or_default();
    kinds.iter().any(|kind| kind == "cdylib")
}

/// Returns the component in cargo's messages, one JSON document for each line.
fn component_in_messages(messages: &str, directory: &Path) -> Option<PathBuf> {
    let manifest = directory.join("Cargo.toml");
    messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_own = message["reason"] == "compiler-artifact"
            && message["manifest_path"].as_str().map(Path::new) == Some(&*manifest)
            && is_component_target(&message["target"]);
        let files = message["filenames"].as_array().filter(|_| is_own)?;
        let is_component =
            |file: &&str| Path::new(file).extension().is_some_and(|extension| extension == "wasm");
        files.iter().filter_map(Value::as_str).find(is_component).map(PathBuf::from)
    })
}

/// Returns the error of a failed build. A missing library for the target has its own error, because the
/// compiler's messages about it are long.
fn build_error(stderr: &str) -> ProjectError {
    let lacks_target = stderr.contains(&format!("the `{COMPONENT_TARGET}` target may not be installed"))
        || stderr.contains("can't find crate for `core`");
    if lacks_target {
        ProjectError::NoTarget
    } else {
        ProjectError::Build { program: CARGO.name, output: without_progress(stderr) }
    }
}

/// Removes the lines in which cargo reports its progress.
fn without_progress(stderr: &str) -> String {
    const PROGRESS: [&str; 9] = [
        "Compiling ",
        "Finished ",
        "Running ",
        "Doc-tests ",
        "Blocking ",
        "Updating ",
        "Locking ",
        "Downloading ",
        "Downloaded ",
    ];
    let is_progress = |line: &str| {
        line.starts_with("  ") && PROGRESS.iter().any(|word| line.trim_start().starts_with(word))
    };
    let kept: Vec<&str> = stderr.lines().filter(|line| !is_progress(line)).collect();
    kept.join("\n").trim().to_owned()
}

/// Returns the sum of the numbers of passed tests.
fn passed_tests(stdout: &str) -> usize {
    let results = stdout.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    results.filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MANIFEST: &str = "/p/Cargo.toml";

    fn metadata(package: Value) -> Result<Project, ProjectError> {
        let document = json!({ "packages": [package], "target_directory": "/p/target" });
        from_metadata(&document, Path::new(MANIFEST))
    }

    #[test]
    fn metadata_contains_address_and_target_directory() {
        let targets = json!([{ "kind": ["cdylib", "rlib"] }]);
        let package = json!({ "name": "terraform-provider-dns", "manifest_path": MANIFEST, "targets": targets,
            "metadata": { "wardian": { "address": "acme/dns" } } });
        let project = metadata(package).unwrap();
        assert_eq!(project.address.to_string(), "registry.terraform.io/acme/dns");
        assert_eq!(project.results_directory, Path::new("/p/target"));
        assert_eq!(project.directory, Path::new("/p"));
    }

    #[test]
    fn incomplete_manifests_are_rejected_with_the_remedy() {
        let targets = json!([{ "kind": ["cdylib"] }]);
        let path = json!(MANIFEST);
        for (package, part) in [
            (json!({ "name": "a" }), "defines no package"),
            (json!({ "name": "a", "manifest_path": path, "targets": [{ "kind": ["lib"] }] }), "crate-type"),
            (json!({ "name": "a", "manifest_path": path, "targets": targets }), "[package.metadata.wardian]"),
            (
                json!({ "name": "a", "manifest_path": path, "targets": targets,
                    "metadata": { "wardian": { "address": "a/b/c/d" } } }),
                "\"a/b/c/d\" in /p/Cargo.toml is not valid",
            ),
        ] {
            let error = metadata(package).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(from_metadata(&json!(3), Path::new(MANIFEST)).is_err());
    }

    #[test]
    fn component_is_found_in_messages() {
        let other = json!({ "reason": "compiler-artifact", "manifest_path": "/q/Cargo.toml",
            "target": { "kind": ["cdylib"] }, "filenames": ["/t/other.wasm"] });
        let own = json!({ "reason": "compiler-artifact", "manifest_path": MANIFEST,
            "target": { "kind": ["cdylib", "rlib"] }, "filenames": ["/t/libx.rlib", "/t/terraform_provider_x.wasm"] });
        let messages = format!("{own}\n{other}\nnot json\n{{\"reason\":\"build-finished\"}}\n");
        let found = component_in_messages(&messages, Path::new("/p"));
        assert_eq!(found.as_deref(), Some(Path::new("/t/terraform_provider_x.wasm")));
        assert_eq!(component_in_messages("", Path::new("/p")), None);
    }

    #[test]
    fn output_of_cargo_is_summarized() {
        let stderr =
            "   Compiling a v1.0.0\nerror[E0425]: cannot find value\n  --> src/lib.rs:1:1\n    Finished x\n";
        assert_eq!(without_progress(stderr), "error[E0425]: cannot find value\n  --> src/lib.rs:1:1");
        assert!(matches!(build_error("error[E0463]: can't find crate for `core`"), ProjectError::NoTarget));
        assert!(
            matches!(build_error("error: x"), ProjectError::Build { output, .. } if output == "error: x")
        );
        let stdout = "test result: ok. 3 passed; 0 failed;\n\ntest result: ok. 2 passed; 0 failed;\n";
        assert_eq!(passed_tests(stdout), 5);
    }
}
