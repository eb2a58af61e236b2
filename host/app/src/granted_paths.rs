//! Records, on this machine, the directories that granted paths resolve to.
//!
//! The meaning of a granted path can change: a plugin that may write to a parent directory could
//! replace a directory with a link to another directory between two runs. Therefore, the directory
//! that a path resolves to is recorded when `init` or `policy grant` grants the path, or else when
//! the path is first used. Other commands compare the directory with the record, and stop if it
//! differs. For a path that does not exist yet, the record contains the path with its nearest
//! existing parent resolved.
//!
//! The record is in the user's data directory, in one file for each project. Only this user can
//! write it. Each entry belongs to a policy file, a plugin pattern and a path. If there is no such
//! directory, or other users can write to it, paths are not recorded. In that case, the only
//! protection is the rule that no granted path may contain a link in a directory that plugins may
//! write ([`WritableDirectories`]). The cost is one file read, and one lookup for each path
//! component.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wardian_cache::{AtomicWrite, private_directory};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_files::{GrantedPathError, WritableDirectories};
use wardian_install::hash::Sha256Digest;
use wardian_policy::{GrantedDirectory, Policy};

use crate::error::AppError;

/// The name of the directory of all records, in the user's directory for private data.
pub(crate) const DIRECTORY_NAME: &str = "granted-paths";
const VERSION: u32 = 1;
/// Maximum size of a record.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// The response to a path that no longer resolves to the recorded directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnChange {
    /// Reports an error.
    Reject,
    /// Records the new directory, and reports a warning.
    Record,
}

/// The record of one project.
pub struct GrantedPaths {
    /// The file of the record; `None` if nothing can be recorded.
    file: Option<PathBuf>,
    entries: BTreeMap<EntryKey, String>,
    project: String,
    has_changed: bool,
}

/// Identifies a granted path. Escaping ensures that different paths result in different strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct EntryKey {
    policy: String,
    plugin: String,
    path: String,
}

#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    project: String,
    paths: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    key: EntryKey,
    /// The path with all links resolved.
    target: String,
}

impl GrantedPaths {
    /// Reads the record of a project. `private` is the user's directory for private data.
    ///
    /// # Errors
    /// Returns an error if the record is damaged.
    pub fn open(private: Option<&Path>, project: &Path) -> Result<Self, AppError> {
        let project = escape(project);
        let directory = private.map(|private| private.join(DIRECTORY_NAME));
        let directory = directory.filter(|directory| match private_directory(directory) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, "the directories that policies grant are not recorded");
                false
            }
        });
        let file = directory
            .map(|directory| directory.join(format!("{}.json", Sha256Digest::hash(project.as_bytes()))));
        let mut record = Self { file, entries: BTreeMap::new(), project, has_changed: false };
        if let Some(file) = &record.file {
            match read(file) {
                Ok(Some(read)) => {
                    record.entries = read.paths.into_iter().map(|entry| (entry.key, entry.target)).collect();
                }
                Ok(None) => {}
                Err(error) => return Err(damaged(file, &error)),
            }
        }
        Ok(record)
    }

    /// Compares the granted paths with the record, adds missing paths, and returns the directories
    /// that the paths resolve to. Warns about changes that it records.
    ///
    /// # Errors
    /// Returns an error for each path that resolves to a different directory, or that contains a
    /// link that a plugin may have created.
    pub fn check<'a>(
        &mut self,
        policy: &Policy,
        granted: impl IntoIterator<Item = GrantedDirectory<'a>>,
        on_change: OnChange,
    ) -> Result<(BTreeMap<PathBuf, PathBuf>, Diagnostics), AppError> {
        let writable = WritableDirectories::new(policy.writable_directories().map(Path::to_owned));
        let (mut targets, mut problems, mut warnings) =
            (BTreeMap::new(), Diagnostics::new(), Diagnostics::new());
        for directory in granted {
            let target = match writable.resolve(directory.path) {
                Ok(found) => found.path(),
                Err(link @ GrantedPathError::PluginLink { .. }) => {
                    let detail = format!(
                        "{} grants {} the directory {}, but {link}.",
                        directory.file,
                        directory.plugin(),
                        directory.path.display()
                    );
                    problems.push(Diagnostic::error("Path of a granted directory contains a link", detail));
                    continue;
                }
                // The path cannot be resolved, so the plugin cannot use it either.
                Err(GrantedPathError::Access(_)) => continue,
            };
            let key = EntryKey {
                policy: directory.file.to_owned(),
                plugin: directory.plugin().to_string(),
                path: escape(directory.path),
            };
            let text = escape(&target);
            match self.entries.get(&key) {
                Some(known) if *known == text => {}
                Some(known) => {
                    let change = change(&directory, known, &text);
                    if on_change == OnChange::Reject {
                        problems.push(Diagnostic::error(
                            "Granted directory has changed",
                            format!(
                                "{change}. A plugin may have replaced a directory with a link to another \
                                 directory. If the change is intended, run `wardian init`, which records the \
                                 new directory."
                            ),
                        ));
                        continue;
                    }
                    warnings.push(Diagnostic::warning(
                        "Granted directory has changed",
                        format!(
                            "{change}. The new directory has been recorded. Check that the change is \
                             intended."
                        ),
                    ));
                    self.set(key, text);
                }
                None => self.set(key, text),
            }
            targets.insert(directory.path.to_owned(), target);
        }
        problems.into_result((targets, warnings)).map_err(AppError::from)
    }

    fn set(&mut self, key: EntryKey, target: String) {
        self.entries.insert(key, target);
        self.has_changed = true;
    }

    /// Writes the record if it has changed.
    pub fn save(self) {
        let Some(file) = self.file.filter(|_| self.has_changed) else { return };
        let paths = self.entries.into_iter().map(|(key, target)| Entry { key, target }).collect();
        let record = Record { version: VERSION, project: self.project, paths };
        let written = serde_json::to_vec_pretty(&record)
            .map_err(io::Error::from)
            .and_then(|text| AtomicWrite::new().private().write(&file, &[&text]));
        if let Err(error) = written {
            tracing::warn!(%error, path = %file.display(), "granted directories cannot be recorded");
        }
    }
}

fn change(directory: &GrantedDirectory<'_>, known: &str, found: &str) -> String {
    format!(
        "{} grants {} the directory {}. The path resolved to {known} when it was recorded, and now resolves \
         to {found}",
        directory.file,
        directory.plugin(),
        directory.path.display()
    )
}

/// Escapes a path. Different paths result in different strings.
fn escape(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.contains('\\') && !text.chars().any(char::is_control) => text.to_owned(),
        _ => path.as_os_str().as_encoded_bytes().escape_ascii().to_string(),
    }
}

fn read(file: &Path) -> io::Result<Option<Record>> {
    use std::io::Read as _;
    let open = match fs::File::open(file) {
        Ok(open) => open,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    open.take(MAX_RECORD_BYTES).read_to_end(&mut text)?;
    let record: Record = serde_json::from_slice(&text)?;
    if record.version != VERSION {
        return Err(io::Error::other(format!("its version is {}, not {VERSION}", record.version)));
    }
    Ok(Some(record))
}

fn damaged(file: &Path, error: &io::Error) -> AppError {
    let detail = format!(
        "{} records the directories that policies grant in this project, and cannot be used: {error}. Check \
         the directories that your policies grant, remove the file, and run `wardian init`.",
        file.display()
    );
    AppError::new("Record of granted directories cannot be used", detail)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use wardian_diagnostic::SourceFile;
    use wardian_policy::{Level, PolicyFile};

    use super::*;

    struct Place {
        directory: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Self { directory: tempfile::tempdir().unwrap() };
            fs::create_dir_all(place.path("project/data")).unwrap();
            fs::create_dir_all(place.path("other")).unwrap();
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().canonicalize().unwrap().join(name)
        }

        fn policy(&self, rules: &[(&str, &str, &str)]) -> Policy {
            let blocks: Vec<String> = rules
                .iter()
                .map(|(plugin, directory, access)| {
                    format!(
                        "plugin \"{plugin}\" {{\n  allow filesystem {{\n    directories = \
                         [\"{directory}\"]\n    access = [\"{access}\"]\n  }}\n}}\n"
                    )
                })
                .collect();
            let text = blocks.concat();
            let root = self.path("project");
            let file = PolicyFile::parse(Level::User, &SourceFile::new("policy", text), &root);
            Policy::new(&root, [file.unwrap_or_else(|error| panic!("{error}"))], [])
        }

        /// Returns the targets and the number of warnings, or the error messages.
        fn check(&self, policy: &Policy, on_change: OnChange) -> Result<(Vec<PathBuf>, usize), String> {
            let mut record =
                GrantedPaths::open(Some(&self.path("private")), &self.path("project")).map_err(text)?;
            let (targets, warnings) =
                record.check(policy, policy.granted_directories(), on_change).map_err(text)?;
            record.save();
            Ok((targets.into_values().collect(), warnings.iter().count()))
        }
    }

    fn text(error: AppError) -> String {
        error.into_diagnostics().iter().map(|one| one.detail.clone()).collect()
    }

    #[test]
    fn changed_directory_is_rejected_until_it_is_recorded() {
        let place = Place::new();
        let link = place.path("granted");
        symlink("project/data", &link).unwrap();
        let policy = place.policy(&[("acme/files", link.to_str().unwrap(), "read")]);
        let (data, other) = (place.path("project/data"), place.path("other"));
        for _ in 0..2 {
            assert_eq!(place.check(&policy, OnChange::Reject), Ok((vec![data.clone()], 0)));
        }
        fs::remove_file(&link).unwrap();
        symlink("other", &link).unwrap();
        let refused = place.check(&policy, OnChange::Reject).unwrap_err();
        for word in ["policy", "acme/files", data.to_str().unwrap(), other.to_str().unwrap(), "wardian init"]
        {
            assert!(refused.contains(word), "{word}: {refused}");
        }
        assert_eq!(place.check(&policy, OnChange::Record), Ok((vec![other.clone()], 1)));
        assert_eq!(place.check(&policy, OnChange::Reject), Ok((vec![other], 0)));
    }

    #[test]
    fn missing_directory_is_recorded_with_its_parent() {
        let place = Place::new();
        let policy = place.policy(&[("acme/files", "data/new/deep", "read")]);
        let target = place.path("project/data/new/deep");
        assert_eq!(place.check(&policy, OnChange::Reject), Ok((vec![target.clone()], 0)));
        fs::create_dir_all(&target).unwrap();
        assert_eq!(place.check(&policy, OnChange::Reject), Ok((vec![target], 0)));
        fs::remove_dir_all(place.path("project/data/new")).unwrap();
        symlink("../../other", place.path("project/data/new")).unwrap();
        assert!(place.check(&policy, OnChange::Reject).unwrap_err().contains("other/deep"));
    }

    #[test]
    fn directory_replaced_by_a_link_in_a_writable_directory_is_rejected() {
        let place = Place::new();
        let policy = place.policy(&[("acme/one", "data", "write"), ("acme/two", "data/cache", "read")]);
        fs::create_dir(place.path("project/data/cache")).unwrap();
        assert!(place.check(&policy, OnChange::Record).is_ok());
        fs::remove_dir(place.path("project/data/cache")).unwrap();
        symlink("../../other", place.path("project/data/cache")).unwrap();
        for on_change in [OnChange::Reject, OnChange::Record] {
            assert!(place.check(&policy, on_change).unwrap_err().contains("is a symbolic link"));
        }
        // Even without a record, a granted path must not pass through a link in a writable
        // directory.
        fs::remove_dir_all(place.path("private")).unwrap();
        assert!(place.check(&policy, OnChange::Reject).unwrap_err().contains("is a symbolic link"));
    }

    #[test]
    fn record_is_private_and_separate_for_each_rule() {
        let place = Place::new();
        let policy = place.policy(&[("acme/one", "data", "read"), ("acme/*", "data", "read")]);
        place.check(&policy, OnChange::Reject).unwrap();
        let directory = place.path("private/granted-paths");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        let files: Vec<PathBuf> =
            fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        let [file] = files.as_slice() else { panic!("{files:?}") };
        assert_eq!(mode(file), 0o600);
        assert_eq!(read(file).unwrap().unwrap().paths.len(), 2);
        fs::write(file, "{").unwrap();
        assert!(place.check(&policy, OnChange::Record).unwrap_err().contains("remove the file"));
    }

    #[test]
    fn nothing_is_recorded_in_a_directory_that_others_can_write() {
        let place = Place::new();
        let policy = place.policy(&[("acme/one", "data", "read")]);
        let directory = place.path("private/granted-paths");
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(place.check(&policy, OnChange::Reject).is_ok());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        let mut none = GrantedPaths::open(None, &place.path("project")).unwrap();
        assert!(none.check(&policy, policy.granted_directories(), OnChange::Reject).is_ok());
        none.save();
    }

    #[test]
    fn escaped_paths_are_unique() {
        use std::os::unix::ffi::OsStrExt as _;
        let texts: Vec<String> = [&b"/a\xff"[..], b"/a\xfe", b"/a\\xff", b"/a\n", b"/a\\n", b"/\xc3\xa9"]
            .iter()
            .map(|bytes| escape(Path::new(std::ffi::OsStr::from_bytes(bytes))))
            .collect();
        let different: std::collections::BTreeSet<&String> = texts.iter().collect();
        assert_eq!(different.len(), texts.len(), "{texts:?}");
    }
}
