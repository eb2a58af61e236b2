//! `wardian.json`: the address of a provider, and the capabilities that its component declares.
//!
//! ```json
//! {
//!   "address": "acme/dns",
//!   "component": "src/component.js",
//!   "capabilities": [{ "network": { "hosts": ["api.example.com"], "reason": "manages zones" } }]
//! }
//! ```
//!
//! `component` is the package, file or module that exports the provider, if it is not the default of the
//! build tool. An unknown key is an error.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use wardian_address::ProviderAddress;
use wardian_files::read_regular;

use super::ProjectError;

/// The name of the file.
const FILE_NAME: &str = "wardian.json";

/// Maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;

/// The content of the file.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) file: PathBuf,
    pub(super) address: ProviderAddress,
    /// The package, file or module that exports the provider.
    pub(super) component: Option<String>,
    /// The capabilities, in the format of a declaration.
    pub(super) capabilities: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    address: String,
    component: Option<String>,
    #[serde(default)]
    capabilities: Vec<Value>,
}

impl Settings {
    /// Reads the file in a project's directory.
    pub(super) fn read(directory: &Path) -> Result<Self, ProjectError> {
        let file = directory.join(FILE_NAME);
        let bytes = read_regular(&file, MAX_BYTES).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ProjectError::NoSettings(file.clone()),
            _ => ProjectError::Read { path: file.clone(), source },
        })?;
        Self::parse(file, &bytes)
    }

    fn parse(file: PathBuf, bytes: &[u8]) -> Result<Self, ProjectError> {
        let document: Document = match serde_json::from_slice(bytes) {
            Ok(document) => document,
            Err(error) => {
                let (line, problem) = (error.line(), error.to_string());
                return Err(ProjectError::Settings { file, line, problem });
            }
        };
        let address = ProviderAddress::parse(&document.address).map_err(|problem| ProjectError::Address {
            address: document.address.clone(),
            manifest: file.clone(),
            problem: problem.to_string(),
        })?;
        let Document { component, capabilities, .. } = document;
        Ok(Self { file, address, component, capabilities })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(PathBuf::from("/p/wardian.json"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_contain_address_component_and_capabilities() {
        let settings = parse(
            r#"{ "address": "acme/dns", "component": "dist/a.js",
                 "capabilities": [{ "network": { "hosts": ["a.example"], "reason": "zones" } }] }"#,
        )
        .unwrap();
        assert_eq!(settings.address.to_string(), "registry.terraform.io/acme/dns");
        assert_eq!(settings.component.as_deref(), Some("dist/a.js"));
        assert_eq!(settings.capabilities.len(), 1);
        let smallest = parse(r#"{ "address": "example.com/acme/dns" }"#).unwrap();
        assert!(smallest.component.is_none() && smallest.capabilities.is_empty());
    }

    #[test]
    fn wrong_settings_are_rejected_with_the_line() {
        for (text, part) in [
            ("", "/p/wardian.json:1: EOF"),
            ("{\n\"address\": 3\n}", "/p/wardian.json:2: invalid type"),
            ("{\n\"address\": \"a/b\",\n\"adress\": 1 }", "/p/wardian.json:3: unknown field `adress`"),
            ("{}", "missing field `address`"),
            ("[]", "/p/wardian.json:1:"),
            (r#"{ "address": "a/b", "capabilities": {} }"#, "/p/wardian.json:1: invalid type: map"),
            (r#"{ "address": "a/b/c/d" }"#, "\"a/b/c/d\" in /p/wardian.json is not valid"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let deep = format!("{{ \"address\": \"a/b\", \"capabilities\": [{}", "[".repeat(100_000));
        assert!(parse(&deep).unwrap_err().contains("recursion"));
    }

    #[test]
    fn missing_settings_are_named_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let error = Settings::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains("wardian.json does not exist; create it with"), "{error}");
    }
}
