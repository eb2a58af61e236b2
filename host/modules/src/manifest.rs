//! The module manifest, `modules.json` in the directory of the installed modules.
//!
//! Terraform and Wardian read it to find installed modules. The text is byte for byte the same as
//! Terraform's: one line, sorted by key, with the characters `<`, `>` and `&` escaped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use wardian_address::Version;
use wardian_cache::AtomicWrite;
use wardian_files::read_regular;

pub const MANIFEST_FILE_NAME: &str = "modules.json";
const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// The record of one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestRecord {
    /// The names of the module calls on the path to the module, separated by dots; empty for the
    /// root module.
    pub key: String,
    /// The full address of the module; empty for the root module.
    pub source: String,
    /// The version, if the module is from a registry.
    pub version: Option<Version>,
    /// The directory relative to the root module, or an absolute path. The separators are slashes.
    pub directory: String,
}

impl ManifestRecord {
    /// Returns the record of the root module.
    pub fn root() -> Self {
        Self { key: String::new(), source: String::new(), version: None, directory: ".".to_owned() }
    }
}

/// The installed modules by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleManifest {
    records: BTreeMap<String, ManifestRecord>,
}

#[derive(Deserialize)]
struct ManifestFile {
    #[serde(rename = "Modules", default)]
    modules: Vec<RecordEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RecordEntry {
    #[serde(default)]
    key: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    dir: String,
}

impl ModuleManifest {
    /// Reads the manifest in a directory. A missing or invalid manifest is treated as empty,
    /// because its content can be determined again.
    pub fn read(directory: &Path) -> Self {
        match read_regular(&directory.join(MANIFEST_FILE_NAME), MAX_MANIFEST_BYTES) {
            Ok(bytes) => Self::parse(&bytes),
            Err(_) => Self::default(),
        }
    }

    /// Parses a manifest. A record whose version is invalid is omitted.
    pub fn parse(text: &[u8]) -> Self {
        let Ok(file) = serde_json::from_slice::<ManifestFile>(text) else { return Self::default() };
        let records = file.modules.into_iter().filter_map(|entry| {
            let version = match entry.version.as_str() {
                "" => None,
                version => Some(Version::parse(version).ok()?),
            };
            // Earlier versions of Terraform wrote the operating system's path separators.
            let directory = entry.dir.replace('\\', "/");
            let record = ManifestRecord { key: entry.key, source: entry.source, version, directory };
            Some((record.key.clone(), record))
        });
        Self { records: records.collect() }
    }

    pub fn get(&self, key: &str) -> Option<&ManifestRecord> {
        self.records.get(key)
    }

    /// Adds a record, or replaces the record with the same key.
    pub fn insert(&mut self, record: ManifestRecord) {
        self.records.insert(record.key.clone(), record);
    }

    /// Removes a module and the modules that it calls.
    pub fn remove(&mut self, key: &str) {
        let prefix = format!("{key}.");
        self.records.retain(|other, _| other != key && !other.starts_with(&prefix));
    }

    /// Iterates over the records by key.
    pub fn iter(&self) -> impl Iterator<Item = &ManifestRecord> {
        self.records.values()
    }

    /// Returns the text of the file.
    pub fn render(&self) -> String {
        let mut text = String::from("{\"Modules\":[");
        for (index, record) in self.records.values().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str("{\"Key\":");
            push_string(&mut text, &record.key);
            text.push_str(",\"Source\":");
            push_string(&mut text, &record.source);
            if let Some(version) = &record.version {
                text.push_str(",\"Version\":");
                push_string(&mut text, &version.to_string());
            }
            text.push_str(",\"Dir\":");
            push_string(&mut text, &record.directory);
            text.push('}');
        }
        text.push_str("]}");
        text
    }

    /// Writes the manifest to a directory, which is created if necessary.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        fs::create_dir_all(directory)?;
        let readable_by_all = AtomicWrite::new().with_permissions(fs::Permissions::from_mode(0o644));
        readable_by_all.write(&directory.join(MANIFEST_FILE_NAME), &[self.render().as_bytes()])
    }
}

/// Returns a path with slashes as separators; `.` for an empty path.
pub(crate) fn with_slashes(path: &Path) -> String {
    let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    path.display().to_string().replace('\\', "/")
}

/// Appends a string in the encoding of Go's JSON encoder.
fn push_string(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            character => text.push(character),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, source: &str, version: Option<&str>, directory: &str) -> ManifestRecord {
        ManifestRecord {
            key: key.into(),
            source: source.into(),
            version: version.map(|version| Version::parse(version).unwrap()),
            directory: directory.into(),
        }
    }

    /// The expected text was written by Terraform 1.11.4.
    #[test]
    fn manifest_text_matches_terraform() {
        let text = "{\"Modules\":[{\"Key\":\"\",\"Source\":\"\",\"Dir\":\".\"},{\"Key\":\"a\",\"Source\":\
            \"git::file:///tmp/r?depth=1\\u0026ref=dev\",\"Dir\":\".terraform/modules/a\"},{\"Key\":\"m\",\"Source\":\
            \"reg.test/a/b/c\",\"Version\":\"3.0.0\",\"Dir\":\".terraform/modules/m\"}]}";
        let mut manifest = ModuleManifest::default();
        manifest.insert(record("m", "reg.test/a/b/c", Some("3.0.0"), ".terraform/modules/m"));
        manifest.insert(record("a", "git::file:///tmp/r?depth=1&ref=dev", None, ".terraform/modules/a"));
        manifest.insert(ManifestRecord::root());
        assert_eq!(manifest.render(), text);
        assert_eq!(ModuleManifest::parse(text.as_bytes()), manifest);
    }

    #[test]
    fn strings_are_escaped_as_in_go() {
        let mut text = String::new();
        push_string(&mut text, "a\"b\\c\n\r\t\u{8}\u{c}\u{1}<>&\u{2028}\u{7f}ü😀");
        assert_eq!(text, "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u003c\\u003e\\u0026\\u2028\u{7f}ü😀\"");
        assert!(serde_json::from_str::<String>(&text).is_ok());
    }

    #[test]
    fn removing_a_module_removes_its_descendants() {
        let mut manifest = ModuleManifest::default();
        for key in ["", "a", "a.b", "a.b.c", "ab", "b.a"] {
            manifest.insert(record(key, "./x", None, "x"));
        }
        manifest.remove("a");
        assert_eq!(manifest.iter().map(|record| record.key.as_str()).collect::<Vec<_>>(), ["", "ab", "b.a"]);
    }

    #[test]
    fn invalid_manifests_are_empty() {
        for bad in ["", "garbage", "{\"Modules\":7}", "[]"] {
            assert_eq!(ModuleManifest::parse(bad.as_bytes()), ModuleManifest::default(), "{bad}");
        }
        let text = "{\"Modules\":[{\"Key\":\"a\",\"Version\":\"x\",\"Dir\":\"d\"},{\"Key\":\"b\",\"Dir\":\"d\\\\e\"}]}";
        let manifest = ModuleManifest::parse(text.as_bytes());
        assert!(manifest.get("a").is_none());
        assert_eq!(manifest.get("b").unwrap().directory, "d/e");
    }

    #[test]
    fn manifest_is_written_and_read() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join(".terraform/modules");
        assert_eq!(ModuleManifest::read(&directory), ModuleManifest::default());
        let mut manifest = ModuleManifest::default();
        manifest.insert(ManifestRecord::root());
        manifest.write(&directory).unwrap();
        assert_eq!(ModuleManifest::read(&directory), manifest);
    }
}
