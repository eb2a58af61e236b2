//! Reads cargo's description of the workspace: its directories, and the members that are plugins.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process;

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// The directory of cargo's builds for this machine.
    host_target: PathBuf,
    pub(crate) guests: Vec<Guest>,
}

/// A member that is compiled to a component, as declared in its manifest in
/// `[package.metadata.wardian]`.
pub(crate) struct Guest {
    pub(crate) package: String,
    /// The name of cargo's output file, without `.wasm`.
    pub(crate) library: String,
    pub(crate) name: String,
    pub(crate) purpose: Purpose,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// `guest = "name"`: embedded in the `wardian` binary.
    Embedded,
    /// `guest-test = "name"`: loaded by tests only.
    Test,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .with_context(|| format!("{} has no parent directory", manifest.display()))?
            .to_path_buf();
        let described = process::output(cargo(&root).args(["metadata", "--no-deps", "--format-version=1"]))?;
        let metadata: Value =
            serde_json::from_str(&described).context("`cargo metadata` did not print JSON")?;
        let host_target = metadata["target_directory"]
            .as_str()
            .context("`cargo metadata` names no target directory")?
            .into();
        Ok(Self { root, host_target, guests: guests(&metadata)? })
    }

    pub(crate) fn cargo(&self) -> Command {
        cargo(&self.root)
    }

    /// Returns the directory for all files that xtask creates.
    pub(crate) fn own_target(&self) -> PathBuf {
        self.root.join("target")
    }

    /// Returns the directory for all files that cargo builds for the host.
    pub(crate) fn host_target(&self) -> &Path {
        &self.host_target
    }

    /// Returns the path of a binary or example built with the dev profile, such as `wardian` or
    /// `examples/calls`.
    pub(crate) fn host_program(&self, name: &str) -> PathBuf {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.host_target.join("debug").join(file)
    }
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    without_package_of_xtask(command)
}

/// Removes the environment variables that the outer `cargo run` sets for the package xtask.
/// Otherwise, build scripts that depend on these variables would run again.
pub(crate) fn without_package_of_xtask(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

fn guests(metadata: &Value) -> Result<Vec<Guest>> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let about = &package["metadata"]["wardian"];
        let (name, purpose) = match (about["guest"].as_str(), about["guest-test"].as_str()) {
            (None, None) => continue,
            (Some(name), None) => (name, Purpose::Embedded),
            (None, Some(name)) => (name, Purpose::Test),
            (Some(_), Some(_)) => bail!("{} is both `guest` and `guest-test`", package["name"]),
        };
        let package_name = package["name"].as_str().unwrap_or_default();
        let library = package["targets"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|target| is_dynamic_library(target))
            .and_then(|target| target["name"].as_str())
            .with_context(|| format!("{package_name} is a guest but has no `crate-type = [\"cdylib\"]`"))?;
        found.push(Guest {
            package: package_name.to_owned(),
            library: library.replace('-', "_"),
            name: name.to_owned(),
            purpose,
        });
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    if let Some(pair) =
        found.windows(2).find(|pair| pair[0].name == pair[1].name && pair[0].purpose == pair[1].purpose)
    {
        bail!("{} and {} are both the guest `{}`", pair[0].package, pair[1].package, pair[0].name);
    }
    Ok(found)
}

fn is_dynamic_library(target: &Value) -> bool {
    target["crate_types"].as_array().is_some_and(|types| types.iter().any(|kind| kind == "cdylib"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, about: Value, crate_type: &str) -> Value {
        json!({
            "name": name,
            "metadata": { "wardian": about },
            "targets": [{ "name": name, "crate_types": [crate_type] }],
        })
    }

    #[test]
    fn guests_are_found_by_their_metadata() {
        let metadata = json!({ "packages": [
            package("wardian-provider-time", json!({ "guest": "time" }), "cdylib"),
            package("hostile-loop", json!({ "guest-test": "loop" }), "cdylib"),
            json!({ "name": "wardian-value", "metadata": null, "targets": [] }),
        ]});
        let found = guests(&metadata).unwrap();
        let facts: Vec<_> =
            found.iter().map(|guest| (guest.name.as_str(), guest.library.as_str(), guest.purpose)).collect();
        assert_eq!(
            facts,
            [("loop", "hostile_loop", Purpose::Test), ("time", "wardian_provider_time", Purpose::Embedded),]
        );
    }

    #[test]
    fn guest_without_cdylib_is_an_error() {
        let metadata = json!({ "packages": [package("x", json!({ "guest": "x" }), "lib")] });
        assert!(guests(&metadata).is_err());
    }
}
