//! The module manifest that Terraform writes: `modules/modules.json` in the data directory.
//!
//! Wardian does not need the file to find modules in local directories. It writes the file so that
//! Terraform, and tools that read it, detect that the directory is initialized.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wardian_cache::AtomicWrite;
use wardian_config::Configuration;
use wardian_diagnostic::system_reason;
use wardian_files::read_regular;

use crate::error::AppError;
use crate::go_json::compact;

/// Maximum size of a manifest.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, Default, Deserialize, Serialize)]
struct Manifest {
    #[serde(rename = "Modules")]
    modules: Vec<ModuleRecord>,
}

/// The record of one module.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ModuleRecord {
    /// The names of the module calls on the path to the module, separated by dots.
    #[serde(rename = "Key")]
    pub key: String,
    /// The `source` argument of the call.
    #[serde(rename = "Source")]
    pub source: String,
    /// The module's directory, relative to the root module's directory.
    #[serde(rename = "Dir")]
    pub directory: String,
}

/// Returns the modules of a configuration, the root module first.
pub fn records(configuration: &Configuration) -> Vec<ModuleRecord> {
    let mut records: Vec<ModuleRecord> = configuration
        .modules()
        .map(|node| {
            let call = node
                .path
                .parent()
                .and_then(|(caller, name)| configuration.module(&caller)?.module.module_calls.get(name));
            ModuleRecord {
                key: node.path.names().iter().map(|name| name.as_str()).collect::<Vec<_>>().join("."),
                source: call.map(|call| source_address(&call.source)).unwrap_or_default(),
                directory: with_slashes(&node.module.directory),
            }
        })
        .collect();
    records.sort_by(|one, other| one.key.cmp(&other.key));
    records
}

/// Returns the path to a module in Terraform's notation: normalized, and starting with `./` or
/// `../`.
pub fn source_address(source: &str) -> String {
    let source = source.replace('\\', "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let clean = parts.join("/");
    match parts.first() {
        Some(&"..") if parts.len() == 1 => "../".to_owned(),
        Some(&"..") => clean,
        _ => format!("./{clean}"),
    }
}

/// Writes the manifest. Returns the modules whose records are new or changed, except the root
/// module.
///
/// # Errors
/// If the file cannot be written.
pub fn save(records: Vec<ModuleRecord>, data_directory: &Path) -> Result<Vec<ModuleRecord>, AppError> {
    let directory = data_directory.join("modules");
    let path = directory.join("modules.json");
    let known: BTreeMap<String, ModuleRecord> =
        read(&path).modules.into_iter().map(|record| (record.key.clone(), record)).collect();
    let new: Vec<ModuleRecord> = records
        .iter()
        .filter(|record| !record.key.is_empty() && known.get(&record.key) != Some(*record))
        .cloned()
        .collect();
    let manifest = Manifest { modules: records };
    let is_same = known.len() == manifest.modules.len()
        && manifest.modules.iter().all(|record| known.get(&record.key) == Some(record));
    if !is_same {
        write(&directory, &path, &manifest).map_err(|error| {
            AppError::new(
                "List of modules cannot be written",
                format!("The file {} cannot be written: {}.", path.display(), system_reason(&error)),
            )
        })?;
    }
    Ok(new)
}

/// Reads the manifest. An invalid file is treated as absent, because all of its content can be
/// determined again.
fn read(path: &Path) -> Manifest {
    let bytes = read_regular(path, MAX_BYTES).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn write(directory: &Path, path: &Path, manifest: &Manifest) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    readable_by_all().write(path, &[compact(manifest).as_bytes()])
}

#[cfg(unix)]
fn readable_by_all() -> AtomicWrite {
    use std::os::unix::fs::PermissionsExt as _;
    AtomicWrite::new().with_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all() -> AtomicWrite {
    AtomicWrite::new()
}

/// Returns a path with slashes as separators; `.` for the root module's own directory.
fn with_slashes(directory: &Path) -> String {
    let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory.to_owned() };
    directory.display().to_string().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, directory: &str) -> ModuleRecord {
        ModuleRecord { key: key.into(), source: format!("./{key}"), directory: directory.into() }
    }

    #[test]
    fn source_addresses_are_normalized() {
        for (given, written) in [
            ("./m/", "./m"),
            ("./../m", "../m"),
            ("./a/../b", "./b"),
            ("../../x/", "../../x"),
            ("./", "./"),
            ("..", "../"),
        ] {
            assert_eq!(source_address(given), written);
        }
    }

    #[test]
    fn save_returns_new_records_once() {
        let folder = tempfile::tempdir().unwrap();
        let records = || vec![record("", "."), record("a", "a"), record("a.b", "a/<b>")];
        assert_eq!(save(records(), folder.path()).unwrap(), records()[1..]);
        let path = folder.path().join("modules/modules.json");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\"Modules\":[{\"Key\":\"\",\"Source\":\"./\",\"Dir\":\".\"},{\"Key\":\"a\",\"Source\":\"./a\",\"Dir\":\"a\"},\
             {\"Key\":\"a.b\",\"Source\":\"./a.b\",\"Dir\":\"a/\\u003cb\\u003e\"}]}"
        );
        assert_eq!(save(records(), folder.path()).unwrap(), []);
        let moved = vec![record("", "."), record("a", "elsewhere")];
        assert_eq!(save(moved.clone(), folder.path()).unwrap(), moved[1..]);
    }

    #[test]
    fn save_replaces_invalid_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("modules/modules.json");
        fs::create_dir_all(folder.path().join("modules")).unwrap();
        fs::write(&path, "{\"Modules\":7").unwrap();
        assert_eq!(save(vec![record("", "."), record("a", "a")], folder.path()).unwrap().len(), 1);
        assert!(fs::read_to_string(&path).unwrap().starts_with("{\"Modules\":["));
    }
}
