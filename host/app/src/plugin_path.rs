//! The plugin directories of `init -plugin-dir`, which replace all other sources of plugins.
//!
//! Like Terraform, `init` records them in `plugin_path` in the data directory: a JSON list of paths.
//! They apply until an `init` with other directories, or with an empty `-plugin-dir`.

use std::fs;
use std::path::{Path, PathBuf};

use wardian_cache::AtomicWrite;
use wardian_diagnostic::system_reason;
use wardian_files::read_regular;
use wardian_install::mirror::FilesystemMirror;
use wardian_install::sources::{
    InstallationMethod, InstallationMethodKind, ProviderFilter, ProviderInstallation,
};

use crate::error::AppError;

const FILE_NAME: &str = "plugin_path";

/// Maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the recorded directories; `None` if there are none.
pub(crate) fn read(data_directory: &Path) -> Option<Vec<PathBuf>> {
    let bytes = read_regular(&data_directory.join(FILE_NAME), MAX_BYTES).ok()?;
    let directories: Vec<PathBuf> = serde_json::from_slice(&bytes).ok()?;
    (!directories.is_empty()).then_some(directories)
}

/// Records the directories of `-plugin-dir`, relative to the working directory. If all of them are
/// empty, removes the record.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn record(data_directory: &Path, directories: &[PathBuf]) -> Result<(), AppError> {
    let path = data_directory.join(FILE_NAME);
    let failed = |error: std::io::Error| {
        AppError::new(
            "Plugin directories cannot be recorded",
            format!("The file {} cannot be written: {}.", path.display(), system_reason(&error)),
        )
    };
    let directories: Vec<&PathBuf> = directories.iter().filter(|path| !path.as_os_str().is_empty()).collect();
    if directories.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        };
    }
    let text = serde_json::to_string_pretty(&directories)
        .map_err(|error| failed(std::io::Error::other(error.to_string())))?;
    fs::create_dir_all(data_directory).map_err(failed)?;
    AtomicWrite::new().write(&path, &[text.as_bytes()]).map_err(failed)
}

/// Returns the sources that consist only of these directories.
pub(crate) fn installation(directories: &[PathBuf]) -> ProviderInstallation {
    let mut methods: Vec<InstallationMethod> = directories
        .iter()
        .map(|directory| InstallationMethod {
            kind: InstallationMethodKind::Filesystem(FilesystemMirror::new(directory)),
            scope: ProviderFilter::default(),
        })
        .collect();
    // This embedded method serves no plugins. If it were absent, one that serves all would be
    // added.
    methods.push(InstallationMethod {
        kind: InstallationMethodKind::Embedded,
        scope: ProviderFilter { include: Some(Vec::new()), exclude: Vec::new() },
    });
    ProviderInstallation { overrides: std::collections::BTreeMap::new(), methods }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_directories_are_read_until_they_are_removed() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(read(data.path()), None);
        record(data.path(), &["one".into(), "two".into()]).unwrap();
        assert_eq!(read(data.path()), Some(vec!["one".into(), "two".into()]));
        assert_eq!(
            fs::read_to_string(data.path().join("plugin_path")).unwrap(),
            "[\n  \"one\",\n  \"two\"\n]"
        );
        record(data.path(), &[PathBuf::new()]).unwrap();
        assert_eq!(read(data.path()), None);
    }
}
