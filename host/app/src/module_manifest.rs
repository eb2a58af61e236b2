//! The module manifest that Terraform writes: `modules/modules.json` in the data directory.
//!
//! It contains the directories of installed modules. Modules in local directories are found without
//! it; they are recorded for Terraform and for tools that read the file.

use std::path::{Path, PathBuf};

use wardian_config::{Configuration, InstalledModule, InstalledModules, module_key};
use wardian_diagnostic::system_reason;
use wardian_module_source::ModuleSource;
use wardian_modules::{MANIFEST_FILE_NAME, ManifestRecord, ModuleManifest};

use crate::error::AppError;
use crate::test_suite::ConfigurationTests;

/// Parses a manifest, and returns the installed modules.
///
/// A record of a module in a local directory is included, because its address differs from an
/// installed module's address.
pub fn installed_modules(text: &[u8]) -> InstalledModules {
    to_installed(&ModuleManifest::parse(text))
}

/// Reads the installed modules from the manifest in a data directory.
pub fn read_installed_modules(data_directory: &Path) -> InstalledModules {
    to_installed(&ModuleManifest::read(&modules_directory(data_directory)))
}

fn to_installed(manifest: &ModuleManifest) -> InstalledModules {
    let installed = manifest.iter().map(|record| {
        let module = InstalledModule {
            source: record.source.clone(),
            version: record.version.clone(),
            directory: PathBuf::from(&record.directory),
        };
        (record.key.clone(), module)
    });
    installed.collect()
}

/// Returns the text of a manifest, for a saved plan.
pub fn manifest_of(installed: &InstalledModules) -> Vec<u8> {
    let mut manifest = ModuleManifest::default();
    for (key, module) in installed.iter() {
        manifest.insert(ManifestRecord {
            key: key.to_owned(),
            source: module.source.clone(),
            version: module.version.clone(),
            directory: with_slashes(&module.directory),
        });
    }
    manifest.render().into_bytes()
}

/// Returns the directory of installed modules.
pub fn modules_directory(data_directory: &Path) -> PathBuf {
    data_directory.join("modules")
}

/// Returns the modules of a configuration, the root module first.
pub fn records(configuration: &Configuration, installed: &InstalledModules) -> Vec<ManifestRecord> {
    let mut records: Vec<ManifestRecord> = records_below("", "", configuration, installed).collect();
    records.sort_by(|one, other| one.key.cmp(&other.key));
    records
}

/// Returns the modules that runs of test files execute, and the modules that these call.
pub(crate) fn test_records(tests: &ConfigurationTests, installed: &InstalledModules) -> Vec<ManifestRecord> {
    let modules = tests.modules.iter(&tests.files);
    let records = modules.flat_map(|(key, _, module, configuration)| {
        records_below(&key, &source_address(&module.source), configuration, installed).collect::<Vec<_>>()
    });
    records.collect()
}

/// Returns the records of a configuration whose root module has the given key and source.
fn records_below<'a>(
    root_key: &'a str,
    root_source: &'a str,
    configuration: &'a Configuration,
    installed: &'a InstalledModules,
) -> impl Iterator<Item = ManifestRecord> + use<'a> {
    configuration.modules().map(move |node| {
        let call = node
            .path
            .parent()
            .and_then(|(caller, name)| configuration.module(&caller)?.module.module_calls.get(name));
        let key = match (root_key, module_key(&node.path)) {
            ("", key) => key,
            (root_key, key) if key.is_empty() => root_key.to_owned(),
            (root_key, key) => format!("{root_key}.{key}"),
        };
        let source = call.map_or_else(|| root_source.to_owned(), |call| source_address(&call.source));
        let found = installed.get(&key).filter(|module| module.source == source);
        let version = found.and_then(|module| module.version.clone());
        ManifestRecord { key, source, version, directory: with_slashes(&node.module.directory) }
    })
}

/// Returns the source address of a module as Terraform writes it to `modules.json`. A path is
/// normalized, and starts with `./` or `../`.
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
/// Returns an error if the file cannot be written.
pub fn save(records: Vec<ManifestRecord>, data_directory: &Path) -> Result<Vec<ManifestRecord>, AppError> {
    let directory = modules_directory(data_directory);
    let known = ModuleManifest::read(&directory);
    let is_new = |record: &&ManifestRecord| !record.key.is_empty() && known.get(&record.key) != Some(*record);
    let new: Vec<ManifestRecord> = records.iter().filter(is_new).cloned().collect();
    let mut manifest = ModuleManifest::default();
    for record in records {
        manifest.insert(record);
    }
    if manifest != known {
        manifest.write(&directory).map_err(|error| {
            let path = directory.join(MANIFEST_FILE_NAME);
            AppError::new(
                "Failed to update module manifest",
                format!("The file {} cannot be written: {}.", path.display(), system_reason(&error)),
            )
        })?;
    }
    Ok(new)
}

/// Returns a path with slashes as separators; `.` for the root module's own directory.
fn with_slashes(directory: &Path) -> String {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    directory.display().to_string().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(key: &str, directory: &str) -> ManifestRecord {
        let source = format!("./{key}");
        ManifestRecord { key: key.into(), source, version: None, directory: directory.into() }
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
