//! Directories of plugins whose file names contain the plugin's name and version. Terraform finds
//! provisioners in the same way, since registries do not contain provisioners.
//!
//! | file | plugin |
//! |---|---|
//! | `terraform-provisioner-NAME_vVERSION.wasm` | a component, for every machine |
//! | `terraform-provisioner-NAME_vVERSION` | a program for this machine |
//!
//! As in Terraform, names are not case-sensitive, a version can be short (`_v2`) or missing (which
//! means 0.0.0), and `_x5` and `.exe` at the end are ignored. If two files have the same version, a
//! component is preferred to a program, and a file in an earlier directory to a file in a later
//! directory. Files with other names are ignored, and so are directories that do not exist.
//!
//! This module lists directories but does not open files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wardian_address::{ProviderAddress, Version, is_in_plugin_directory, provisioner_name};

use crate::mirror::MirrorPackage;
use crate::package::{ExpectedContent, PackageLocation};

const PREFIX: &str = "terraform-provisioner-";

/// Directories in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginDirectories {
    directories: Vec<PathBuf>,
}

impl PluginDirectories {
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories }
    }

    /// Lists the best file of each version of a plugin.
    pub fn list(&self, address: &ProviderAddress) -> BTreeMap<Version, MirrorPackage> {
        let mut found = BTreeMap::new();
        let name = provisioner_name(address).filter(|_| is_in_plugin_directory(address));
        for directory in name.iter().flat_map(|_| &self.directories) {
            for (path, plugin) in plugins_in(directory) {
                if Some(&*plugin.name) != name {
                    continue;
                }
                let package = plugin.package(path);
                let is_better = found.get(&plugin.version).is_none_or(|known: &MirrorPackage| {
                    package.expected == ExpectedContent::Component
                        && known.expected != ExpectedContent::Component
                });
                if is_better {
                    found.insert(plugin.version, package);
                }
            }
        }
        found
    }
}

struct NamedFile {
    name: String,
    version: Version,
    is_component: bool,
}

impl NamedFile {
    fn parse(file_name: &str) -> Option<Self> {
        let folded = file_name.to_lowercase();
        let rest = folded.strip_prefix(PREFIX)?;
        let (rest, is_component) = match rest.strip_suffix(".wasm") {
            Some(rest) => (rest, true),
            None => (rest.strip_suffix(".exe").unwrap_or(rest), false),
        };
        let rest = without_protocol(rest);
        let (name, version) = match rest.split_once("_v") {
            Some((name, version)) => (name, version_of(version)?),
            None => (rest, Version::new(0, 0, 0)),
        };
        (!name.is_empty()).then(|| Self { name: name.to_owned(), version, is_component })
    }

    fn package(&self, path: PathBuf) -> MirrorPackage {
        if self.is_component {
            MirrorPackage {
                location: PackageLocation::BareComponent(path),
                expected: ExpectedContent::Component,
            }
        } else {
            let expected = ExpectedContent::ComponentOrNative;
            MirrorPackage { location: PackageLocation::BareProgram(path), expected }
        }
    }
}

/// Removes a suffix such as `_x4`, which indicates the protocol version of older plugins.
fn without_protocol(text: &str) -> &str {
    match text.rsplit_once("_x") {
        Some((rest, protocol)) if protocol.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => text,
    }
}

/// Parses a version of one, two or three numbers.
fn version_of(text: &str) -> Option<Version> {
    let numbers = text.split(['-', '+']).next().unwrap_or(text);
    let missing = 2_usize.saturating_sub(numbers.matches('.').count());
    let rest = text.get(numbers.len()..).unwrap_or_default();
    Version::parse(&format!("{numbers}{}{rest}", ".0".repeat(missing))).ok()
}

fn plugins_in(directory: &Path) -> Vec<(PathBuf, NamedFile)> {
    // A directory that cannot be listed is treated as empty, as in Terraform.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<(PathBuf, NamedFile)> = entries
        .filter_map(|entry| Some((entry.path(), NamedFile::parse(entry.file_name().to_str()?)?)))
        .filter(|(path, _)| path.is_file())
        .collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_parsed_as_in_terraform() {
        for (file, told) in [
            ("terraform-provisioner-odd_v1.2.3", "odd 1.2.3 program"),
            ("terraform-provisioner-odd_v1.1.0_x4", "odd 1.1.0 program"),
            ("terraform-provisioner-odd_v2", "odd 2.0.0 program"),
            ("terraform-provisioner-odd_v2.0.0-beta1", "odd 2.0.0-beta1 program"),
            ("terraform-provisioner-odd_x5", "odd 0.0.0 program"),
            ("terraform-provisioner-odd_v4.0.0.exe", "odd 4.0.0 program"),
            ("terraform-provisioner-Odd_v5.0.0", "odd 5.0.0 program"),
            ("terraform-provisioner-odd_v1.0.0.wasm", "odd 1.0.0 component"),
            ("terraform-provisioner-odd.wasm", "odd 0.0.0 component"),
            ("terraform-provisioner-odd_vabc", "none"),
            ("terraform-provisioner-odd_v1.2.3.4", "none"),
            ("terraform-provisioner-", "none"),
            ("terraform-provisioner-_v1.0.0", "none"),
            ("terraform-provider-odd_v1.0.0", "none"),
        ] {
            let found = NamedFile::parse(file).map_or("none".to_owned(), |found| {
                let kind = if found.is_component { "component" } else { "program" };
                format!("{} {} {kind}", found.name, found.version)
            });
            assert_eq!(found, told, "{file}");
        }
    }

    #[test]
    fn earlier_directories_and_components_take_precedence() {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "one/terraform-provisioner-odd_v1.0.0",
            "two/terraform-provisioner-odd_v1.0.0",
            "two/terraform-provisioner-odd_v2.0.0",
            "three/terraform-provisioner-odd_v2.0.0.wasm",
            "three/terraform-provisioner-other_v3.0.0",
            "three/terraform-provisioner-odd_v4.0.0/directory",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let directories = ["one", "none", "two", "three"].map(|name| root.path().join(name));
        let directories = PluginDirectories::new(directories.to_vec());
        let list = |address: &str| {
            let listed = directories.list(&ProviderAddress::parse(address).unwrap());
            let shown = listed.into_iter().map(|(version, package)| {
                let path = package.location.path().strip_prefix(root.path()).unwrap().to_owned();
                format!("{version} {}", path.display())
            });
            shown.collect::<Vec<_>>()
        };
        assert_eq!(
            list("localhost/plugins/provisioner-odd"),
            [
                "1.0.0 one/terraform-provisioner-odd_v1.0.0",
                "2.0.0 three/terraform-provisioner-odd_v2.0.0.wasm"
            ]
        );
        assert!(list("acme/provisioner-odd").is_empty() && list("localhost/plugins/odd").is_empty());
    }
}
