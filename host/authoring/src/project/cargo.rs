//! Builds and tests a provider's cargo project.
//!
//! Components for development are built with their own profile, whose settings are passed on the command
//! line, so any project can be built: fast to compile, small enough to be compiled fast by the host,
//! and with the lines of the author's code for backtraces. `cargo` names the built file, so a project in
//! a workspace, and names with `-` and `_`, need no rules.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::Command;
use wardian_address::ProviderAddress;
use wardian_diagnostic::system_reason;

/// The target of components.
pub const COMPONENT_TARGET: &str = "wasm32-wasip2";

/// The settings of the profile for development.
const DEVELOPMENT_PROFILE: [&str; 7] = [
    "profile.wardian-dev.inherits=\"dev\"",
    "profile.wardian-dev.opt-level=1",
    "profile.wardian-dev.debug=\"line-tables-only\"",
    "profile.wardian-dev.panic=\"abort\"",
    "profile.wardian-dev.incremental=true",
    "profile.wardian-dev.package.\"*\".opt-level=\"s\"",
    "profile.wardian-dev.package.\"*\".debug=false",
];

/// Maximum size of the output of one cargo command that is kept.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// Maximum length of one line that is reported as progress.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A provider's package.
#[derive(Clone, Debug)]
pub struct CargoProject {
    /// The directory of the package.
    pub directory: PathBuf,
    pub package: String,
    pub address: ProviderAddress,
    /// The directory for build results.
    pub target_directory: PathBuf,
}

/// The profile with which a component is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildProfile {
    Development,
    Release,
}

/// The reason why a project cannot be read, built or tested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CargoError {
    #[error(
        "the directory {} contains no Cargo.toml; name the directory of a provider, or create one with `wardian plugin new`",
        .0.display()
    )]
    NoProject(PathBuf),
    #[error("cargo was not found; install Rust, for example with rustup (https://rustup.rs)")]
    NoCargo,
    #[error("cargo cannot be run: {}", system_reason(.0))]
    Cargo(io::Error),
    #[error(
        "the compiler's library for components is not installed; install it with `rustup target add {COMPONENT_TARGET}`"
    )]
    NoTarget,
    #[error("cargo cannot read the project:\n\n{0}")]
    Manifest(String),
    #[error("{} defines no package, only a workspace; name the directory of the provider's package", .0.display())]
    NoPackage(PathBuf),
    #[error(
        "the package {package} builds no component; add crate-type = [\"cdylib\", \"rlib\"] to [lib] in {}",
        .manifest.display()
    )]
    NoComponent { package: String, manifest: PathBuf },
    #[error(
        "{} does not contain the provider's address; add it:\n\n[package.metadata.wardian]\naddress = \"acme/dns\"",
        .0.display()
    )]
    NoAddress(PathBuf),
    #[error("the address \"{address}\" in {} is not valid: {problem}", .manifest.display())]
    Address { address: String, manifest: PathBuf, problem: String },
    #[error("the build failed:\n\n{0}")]
    Build(String),
    #[error("tests failed:\n\n{0}")]
    Tests(String),
    #[error("cargo reported no component for the package {0}")]
    NoArtifact(String),
}

/// The output of a cargo command.
struct CargoOutput {
    is_success: bool,
    stdout: String,
    stderr: String,
}

impl CargoProject {
    /// Reads the package in a directory.
    ///
    /// # Errors
    /// Returns an error if the directory contains no provider, or cargo is not installed.
    pub async fn load(directory: &Path) -> Result<Self, CargoError> {
        let manifest = directory.join("Cargo.toml");
        let manifest =
            std::fs::canonicalize(&manifest).map_err(|_| CargoError::NoProject(directory.to_owned()))?;
        let mut command = cargo(directory, &["metadata", "--no-deps", "--format-version=1"]);
        command.arg("--manifest-path").arg(&manifest);
        let output = run(command, &mut |_| ()).await?;
        if !output.is_success {
            return Err(CargoError::Manifest(output.stderr));
        }
        let document: Value =
            serde_json::from_str(&output.stdout).map_err(|error| CargoError::Manifest(error.to_string()))?;
        Self::from_metadata(&document, &manifest)
    }

    /// Reads the output of `cargo metadata`.
    fn from_metadata(document: &Value, manifest: &Path) -> Result<Self, CargoError> {
        let packages = document["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_own = |package: &&Value| package["manifest_path"].as_str().map(Path::new) == Some(manifest);
        let package =
            packages.iter().find(is_own).ok_or_else(|| CargoError::NoPackage(manifest.to_owned()))?;
        let name = package["name"].as_str().unwrap_or_default().to_owned();
        if !builds_component(package) {
            return Err(CargoError::NoComponent { package: name, manifest: manifest.to_owned() });
        }
        let address = package["metadata"]["wardian"]["address"]
            .as_str()
            .ok_or_else(|| CargoError::NoAddress(manifest.to_owned()))?;
        let address = ProviderAddress::parse(address).map_err(|problem| CargoError::Address {
            address: address.to_owned(),
            manifest: manifest.to_owned(),
            problem: problem.to_string(),
        })?;
        let directory = manifest.parent().unwrap_or(Path::new(".")).to_owned();
        let target_directory = match document["target_directory"].as_str() {
            Some(path) => PathBuf::from(path),
            None => directory.join("target"),
        };
        Ok(Self { directory, package: name, address, target_directory })
    }

    /// Builds the component, and returns its file. `progress` receives the lines that cargo prints.
    ///
    /// # Errors
    /// Returns an error with the compiler's messages if the build fails.
    pub async fn build(
        &self,
        profile: BuildProfile,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<PathBuf, CargoError> {
        let mut command = cargo(&self.directory, &["build", "--lib", "--target", COMPONENT_TARGET]);
        command.args(["--message-format=json-render-diagnostics", "--package", &self.package]);
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
        let output = run(command, progress).await?;
        if !output.is_success {
            return Err(build_error(&output.stderr));
        }
        component_in_messages(&output.stdout, &self.directory)
            .ok_or_else(|| CargoError::NoArtifact(self.package.clone()))
    }

    /// Runs the tests natively, and returns the number of tests that passed.
    ///
    /// # Errors
    /// Returns an error with the output of the failed tests, or with the compiler's messages.
    pub async fn test(&self, progress: &mut (dyn FnMut(&str) + Send)) -> Result<u64, CargoError> {
        let command = cargo(&self.directory, &["test", "--package", &self.package]);
        let output = run(command, progress).await?;
        if output.is_success {
            return Ok(passed_tests(&output.stdout));
        }
        let without_progress = without_progress(&output.stderr);
        if output.stdout.contains("test result: FAILED") {
            return Err(CargoError::Tests(format!("{}\n{without_progress}", output.stdout.trim_end())));
        }
        Err(CargoError::Build(without_progress))
    }
}

fn cargo(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
    command
}

async fn run(
    mut command: Command,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<CargoOutput, CargoError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => CargoError::NoCargo,
        _ => CargoError::Cargo(error),
    };
    let mut child = command.spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::join!(read(stdout), read_lines(stderr, progress));
    let status = child.wait().await.map_err(failed)?;
    Ok(CargoOutput {
        is_success: status.success(),
        stdout: String::from_utf8_lossy(&stdout.map_err(failed)?).into_owned(),
        stderr: stderr.map_err(failed)?,
    })
}

/// Reads a stream to its end, and keeps the first part of it.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        (&mut stream).take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

/// Reads a stream line by line, and keeps the first part of it.
async fn read_lines(
    stream: Option<impl AsyncRead + Unpin>,
    progress: &mut (dyn FnMut(&str) + Send),
) -> io::Result<String> {
    let mut text = String::new();
    let Some(stream) = stream else { return Ok(text) };
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        if (&mut stream).take(limit).read_until(b'\n', &mut line).await? == 0 {
            return Ok(text);
        }
        let shown = String::from_utf8_lossy(&line);
        progress(shown.trim_end());
        if u64::try_from(text.len()).is_ok_and(|length| length < MAX_OUTPUT_BYTES) {
            text.push_str(&shown);
        }
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
fn build_error(stderr: &str) -> CargoError {
    let lacks_target = stderr.contains(&format!("the `{COMPONENT_TARGET}` target may not be installed"))
        || stderr.contains("can't find crate for `core`");
    if lacks_target { CargoError::NoTarget } else { CargoError::Build(without_progress(stderr)) }
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
fn passed_tests(stdout: &str) -> u64 {
    let results = stdout.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    results.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MANIFEST: &str = "/p/Cargo.toml";

    fn metadata(package: Value) -> Result<CargoProject, CargoError> {
        let document = json!({ "packages": [package], "target_directory": "/p/target" });
        CargoProject::from_metadata(&document, Path::new(MANIFEST))
    }

    #[test]
    fn metadata_contains_address_and_target_directory() {
        let targets = json!([{ "kind": ["cdylib", "rlib"] }]);
        let package = json!({ "name": "terraform-provider-dns", "manifest_path": MANIFEST, "targets": targets,
            "metadata": { "wardian": { "address": "acme/dns" } } });
        let project = metadata(package).unwrap();
        assert_eq!(project.address.to_string(), "registry.terraform.io/acme/dns");
        assert_eq!(project.target_directory, Path::new("/p/target"));
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
        assert!(CargoProject::from_metadata(&json!(3), Path::new(MANIFEST)).is_err());
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
        assert!(matches!(build_error("error[E0463]: can't find crate for `core`"), CargoError::NoTarget));
        assert!(matches!(build_error("error: x"), CargoError::Build(text) if text == "error: x"));
        let stdout = "test result: ok. 3 passed; 0 failed;\n\ntest result: ok. 2 passed; 0 failed;\n";
        assert_eq!(passed_tests(stdout), 5);
    }
}
