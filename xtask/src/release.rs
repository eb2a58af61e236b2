//! `cargo xtask release`: builds and tests the release archive for one target.
//!
//! The release workflow runs this command for each target, adds attestations and uploads the
//! archives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::process;
use crate::progress::{Step, note, size};
use crate::workspace::Workspace;

const ARCHIVED: [&str; 4] = ["README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"];

/// Maximum size of the binary of the release profile. A change that raises it must explain the reason.
const MAX_RELEASE_BYTES: u64 = 66_000_000;

/// A configuration that uses two embedded plugins.
const CONFIGURATION: &str = r#"resource "random_pet" "name" {}

resource "local_file" "name" {
  filename = "name.txt"
  content  = random_pet.name.id
}
"#;

pub(crate) struct Options {
    target: Option<String>,
    profile: String,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { target: None, profile: "release".to_owned() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().cloned().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--target" => options.target = Some(value()?),
                "--profile" => options.profile = value()?,
                other => bail!("`release` does not accept `{other}`"),
            }
        }
        Ok(options)
    }
}

/// Builds the binary, and writes `NAME.tar.gz` and `NAME.tar.gz.sha256` to
/// `target/release-archives`. The guests must already be built.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let target = match &options.target {
        Some(target) => target.clone(),
        None => host_target()?,
    };
    let version = version(&workspace.root)?;
    let binary = build(workspace, &target, &options.profile)?;
    let archives = workspace.own_target().join("release-archives");
    let name = format!("wardian-{version}-{target}");
    let archive = pack(workspace, &binary, &archives, &name)?;
    checksum(&archives, &archive)?;
    try_archive(&archives, &archive, &name, &target, &version)
}

fn host_target() -> Result<String> {
    let described = process::output(Command::new("rustc").arg("-vV"))?;
    let host = described.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not report its host triple")
}

/// Returns the version of the workspace. A tag that starts the workflow must contain the same
/// version.
fn version(root: &Path) -> Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("could not read Cargo.toml")?;
    let version = workspace_version(&manifest).context("Cargo.toml has no workspace version")?;
    if let (Ok("tag"), Ok(tag)) =
        (std::env::var("GITHUB_REF_TYPE").as_deref(), std::env::var("GITHUB_REF_NAME"))
    {
        ensure!(tag == format!("v{version}"), "the tag is {tag}, but Cargo.toml has version {version}");
    }
    Ok(version)
}

fn workspace_version(manifest: &str) -> Option<String> {
    let (_, section) = manifest.split_once("[workspace.package]")?;
    let line = section.lines().find_map(|line| line.strip_prefix("version = "))?;
    Some(line.trim().trim_matches('"').to_owned())
}

fn build(workspace: &Workspace, target: &str, profile: &str) -> Result<PathBuf> {
    let step = Step::start(&format!("Building wardian for {target} ({profile} profile)"));
    process::run(workspace.cargo().args([
        "build",
        "--locked",
        "--package=wardian-cli",
        &format!("--target={target}"),
        &format!("--profile={profile}"),
    ]))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let binary = workspace.host_target().join(target).join(folder).join("wardian");
    let bytes = fs::metadata(&binary).context("cargo left no binary")?.len();
    step.done(&size(bytes));
    ensure!(
        profile != "release" || bytes <= MAX_RELEASE_BYTES,
        "the binary has {bytes} bytes, and the limit is {MAX_RELEASE_BYTES}"
    );
    Ok(binary)
}

fn pack(workspace: &Workspace, binary: &Path, archives: &Path, name: &str) -> Result<PathBuf> {
    let folder = archives.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    fs::copy(binary, folder.join("wardian")).context("could not copy the binary")?;
    for file in ARCHIVED {
        fs::copy(workspace.root.join(file), folder.join(file))
            .with_context(|| format!("could not copy {file}"))?;
    }
    let archive = archives.join(format!("{name}.tar.gz"));
    process::run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(archives).arg(name))?;
    fs::remove_dir_all(&folder)?;
    note(&format!("{} ({})", archive.display(), size(fs::metadata(&archive)?.len())));
    Ok(archive)
}

fn checksum(archives: &Path, archive: &Path) -> Result<()> {
    let file = archive.file_name().context("the archive has no name")?;
    let mut command = if cfg!(target_os = "macos") {
        let mut command = Command::new("shasum");
        command.args(["-a", "256"]);
        command
    } else {
        Command::new("sha256sum")
    };
    let sum = process::output(command.current_dir(archives).arg(file))?;
    let mut path = archive.as_os_str().to_owned();
    path.push(".sha256");
    fs::write(&path, sum).with_context(|| format!("could not write {}", Path::new(&path).display()))
}

/// Unpacks the archive, and runs the binary in empty directories. A binary for musl must be
/// statically linked.
fn try_archive(archives: &Path, archive: &Path, name: &str, target: &str, version: &str) -> Result<()> {
    let step = Step::start("Trying the archive");
    let folder = archives.join("tried");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    process::run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&folder))?;
    let binary = folder.join(name).join("wardian");
    if target.ends_with("-musl") {
        let headers = process::output(Command::new("readelf").arg("--program-headers").arg(&binary))?;
        ensure!(!headers.contains("INTERP"), "{} is not a static binary", binary.display());
    }
    let printed = process::output(Command::new(&binary).arg("version").current_dir(&folder))?;
    ensure!(printed.contains(version), "`wardian version` printed no {version}:\n{printed}");
    apply_configuration(&binary, &folder)?;
    fs::remove_dir_all(&folder)?;
    step.done("the binary applies and destroys a configuration");
    Ok(())
}

/// Applies and destroys [`CONFIGURATION`] in new directories, without environment variables.
fn apply_configuration(binary: &Path, folder: &Path) -> Result<()> {
    let (configuration, home) = (folder.join("configuration"), folder.join("home"));
    fs::create_dir_all(&configuration)?;
    fs::create_dir_all(&home)?;
    fs::write(configuration.join("main.tf"), CONFIGURATION)?;
    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(&configuration).env_clear().env("HOME", &home);
        process::output(&mut command)
    };
    let file = configuration.join("name.txt");
    run(&["init"])?;
    run(&["apply", "-auto-approve"])?;
    ensure!(file.exists(), "`wardian apply` did not create {}", file.display());
    run(&["destroy", "-auto-approve"])?;
    ensure!(!file.exists(), "`wardian destroy` did not remove {}", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_workspace_version() {
        let manifest =
            "[workspace]\nversion = \"9\"\n[workspace.package]\nedition = \"2024\"\nversion = \"0.2.0\"\n";
        assert_eq!(workspace_version(manifest).as_deref(), Some("0.2.0"));
        assert_eq!(workspace_version("[package]\nversion = \"1\"\n"), None);
    }

    #[test]
    fn options_name_target_and_profile() {
        let arguments = ["--target", "x86_64-unknown-linux-musl", "--profile", "dev"].map(str::to_owned);
        let options = Options::parse(&arguments).unwrap();
        assert_eq!(options.target.as_deref(), Some("x86_64-unknown-linux-musl"));
        assert_eq!(options.profile, "dev");
        assert!(Options::parse(&["--target".to_owned()]).is_err());
        assert!(Options::parse(&["--publish".to_owned()]).is_err());
    }
}
