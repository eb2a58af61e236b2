//! Filesystem mirrors from which Terraform and Wardian install the same providers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::program::Program;
use crate::oracle;

pub(crate) const AWS: &str = "registry.terraform.io/hashicorp/aws";
/// The plugins that are embedded in Wardian.
const EMBEDDED: &[&str] = &["random", "null", "local", "time", "tfcoremock"];

/// Mirrors with the embedded plugins, and with the AWS provider if there is a mirror with it.
pub(crate) struct Mirrors {
    /// The versions of the providers in the mirrors, by address.
    pub(crate) available: BTreeMap<String, String>,
    directories: Vec<PathBuf>,
}

impl Mirrors {
    /// Creates the mirror with the embedded plugins in a directory.
    pub(crate) fn new(wardian: &Program, place: &Path) -> Result<Self> {
        let mut mirrors = Self { available: BTreeMap::new(), directories: Vec::new() };
        mirrors.add_embedded(wardian, place)?;
        if let Ok(mirror) = super::mirror() {
            mirrors.add_aws(&mirror)?;
        }
        Ok(mirrors)
    }

    /// Writes packages for Terraform that serve the embedded plugins, with the versions that Wardian
    /// reports.
    fn add_embedded(&mut self, wardian: &Program, place: &Path) -> Result<()> {
        let probe = place.join("probe");
        fs::create_dir_all(&probe)?;
        let required: Vec<String> = EMBEDDED
            .iter()
            .map(|name| format!("    {name} = {{ source = \"hashicorp/{name}\" }}\n"))
            .collect();
        let required = required.concat();
        let configuration = format!("terraform {{\n  required_providers {{\n{required}  }}\n}}\n");
        fs::write(probe.join("main.tf"), configuration)?;
        wardian.run(&probe, &["init", "-input=false", "-no-color"])?;
        let lock =
            fs::read_to_string(probe.join(".terraform.lock.hcl")).context("init wrote no lock file")?;
        let report: Value = serde_json::from_str(&wardian.run(&probe, &["version", "-json"])?)?;
        let platform = report["platform"].as_str().context("the program does not report a platform")?;
        let mirror = place.join("embedded");
        for (address, version) in oracle::locked_versions(&lock) {
            let name = address.rsplit('/').next().unwrap_or_default();
            let package = mirror.join(&address).join(&version).join(platform);
            fs::create_dir_all(&package)?;
            let script = package.join(format!("terraform-provider-{name}_v{version}"));
            let program = wardian.file.display();
            fs::write(&script, format!("#!/bin/sh\nexec '{program}' serve -protocol=6 hashicorp/{name}\n"))?;
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
                .with_context(|| format!("could not make {} executable", script.display()))?;
            self.available.insert(address, version);
        }
        self.directories.push(mirror);
        Ok(())
    }

    fn add_aws(&mut self, mirror: &Path) -> Result<()> {
        let versions = fs::read_dir(mirror.join(AWS))?;
        let versions: Vec<String> = versions
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        if let Some(version) = versions.into_iter().max() {
            self.available.insert(AWS.to_owned(), version);
            self.directories.push(mirror.to_owned());
        }
        Ok(())
    }

    /// Returns a CLI configuration with these mirrors, after another mirror.
    pub(crate) fn settings(&self, first: &Path) -> String {
        let directories = std::iter::once(first).chain(self.directories.iter().map(PathBuf::as_path));
        let mirrors: Vec<String> = directories
            .map(|path| {
                format!("  filesystem_mirror {{\n    path = {:?}\n  }}\n", path.display().to_string())
            })
            .collect();
        format!("provider_installation {{\n{}}}\n", mirrors.concat())
    }
}
