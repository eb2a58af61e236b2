//! The module manifest that Terraform writes: `modules/modules.json` in the data directory.
//!
//! It contains the directories of installed modules. Modules in local directories are found without
//! it; they are recorded for Terraform and for tools that read the file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wardian_address::Version;
use wardian_cache::AtomicWrite;
use wardian_config::{Configuration, InstalledModule, InstalledModules, module_key};
use wardian_diagnostic::system_reason;
use wardian_files::read_regular;
use wardian_module_source::ModuleSource;

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
    /// The version, if the module is from a registry.
    #[serde(rename = "Version", default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The module's directory, relative to the root module's directory.
    #[serde(rename = "Dir")]
    pub directory: String,
}

/// Returns the installed modules that a manifest records.
///
/// A record of a module in a local directory is included, because its address differs from that of
/// an installed module. An invalid version is treated as absent, so the module is installed again.
pub fn installed_modules(bytes: &[u8]) -> InstalledModules {
    let manifest: Manifest = serde_json::from_slice(bytes).unwrap_or_default();
    let installed = manifest.modules.into_iter().map(|record| {
        let module = InstalledModule {
            source: record.source,
            version: record.version.and_then(|version| Version::parse(&version).ok()),
            directory: record.directory.into(),
        };
        (record.key, module)
    });
    installed.collect()
}

/// Reads the installed modules from the manifest in a data directory.
pub fn read_installed_modules(data_directory: &Path) -> InstalledModules {
    read_regular(&manifest_path(data_directory), MAX_BYTES)
        .map(|bytes| installed_modules(&bytes))
        .unwrap_or_default()
}

/// Returns the manifest of installed modules, for a saved plan.
pub fn manifest_of(installed: &InstalledModules) -> Vec<u8> {
    let modules = installed.iter().map(|(key, module)| ModuleRecord {
        key: key.to_owned(),
        source: module.source.clone(),
        version: module.version.as_ref().map(ToString::to_string),
        directory: with_slashes(&module.directory),
    });
    compact(&Manifest { modules: modules.collect() }).into_bytes()
}

/// Returns the path of the manifest.
pub fn manifest_path(data_directory: &Path) -> PathBuf {
    data_directory.join("modules").join("modules.json")
}

/// Returns the modules of a configuration, the root module first.
pub fn records(configuration: &Configuration, installed: &InstalledModules) -> Vec<ModuleRecord> {
    let mut records: Vec<ModuleRecord> = configuration
        .modules()
        .map(|node| {
            let call = node
                .path
                .parent()
                .and_then(|(caller, name)| configuration.module(&caller)?.module.module_calls.get(name));
            let key = module_key(&node.path);
            let source = call.map(|call| source_address(&call.source)).unwrap_or_default();
            let directory = with_slashes(&node.module.directory);
            match installed.get(&key).filter(|module| module.source == source) {
                Some(module) => ModuleRecord {
                    key,
                    source,
                    version: module.version.as_ref().map(ToString::to_string),
                    directory,
                },
                None => ModuleRecord { key, source, version: None, directory },
            }
        })
        .collect();
    records.sort_by(|one, other| one.key.cmp(&other.key));
    records
}

/// Returns the address of a module in Terraform's notation. A path is normalized, and starts with
/// `./` or `../`.
pub fn source_address(source: &str) -> String {
    match ModuleSource::parse(source) {
        Ok(remote @ (ModuleSource::Registry(_) | ModuleSource::Remote(_))) => return remote.full_address(),
        Ok(ModuleSource::Local(_)) | Err(_) => {}
    }
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
    let path = manifest_path(data_directory);
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
        write(&path, &manifest).map_err(|error| {
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

fn write(path: &Path, manifest: &Manifest) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
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
        ModuleRecord {
            key: key.into(),
            source: format!("./{key}"),
            version: None,
            directory: directory.into(),
        }
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
