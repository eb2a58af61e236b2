//! What `init` records of the backend, in `terraform.tfstate` in the data directory.
//!
//! | member | holds |
//! |---|---|
//! | `version` | 3, whatever the version of states is |
//! | `terraform_version` | the writer's |
//! | `backend` | `type`, `config` with all arguments, and `hash`; absent where there is no block |
//!
//! The hash is of the block alone: arguments of `-backend-config` are in `config`
//! only, so that a block which did not change is known again beside them.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{LOCAL, LocalBackend};
use crate::compatibility::TERRAFORM_VERSION;
use crate::failure::{Failure, Outcome};
use crate::session::Session;

const VERSION: u64 = 3;

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The backend's name.
    pub(super) type_name: String,
    /// Its arguments, where it is `local`.
    pub(super) config: LocalBackend,
    hash: u64,
}

#[derive(Deserialize, Serialize)]
struct Stored {
    version: u64,
    #[serde(default)]
    terraform_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backend: Option<StoredBackend>,
}

#[derive(Deserialize, Serialize)]
struct StoredBackend {
    #[serde(rename = "type")]
    type_name: String,
    #[serde(default)]
    config: Option<Map<String, Value>>,
    #[serde(default)]
    hash: u64,
}

impl Record {
    /// The record of this directory, where there is one with a backend.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(super) fn read(session: &Session) -> Outcome<Option<Self>> {
        let path = path(session);
        let unreadable = |problem: String| {
            Failure::error(
                "Backend record cannot be read",
                format!(
                    "The file {}, in which `wardian init` records the backend, cannot be used: {problem}. Remove it and \
                     run `wardian init` again.",
                    path.display()
                ),
            )
        };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        if stored.version != VERSION {
            return Err(unreadable(format!("its format is {}, and {VERSION} is known here", stored.version)));
        }
        Ok(stored.backend.filter(|backend| !backend.type_name.is_empty()).map(|backend| {
            let config = backend.config.unwrap_or_default();
            let text = |name: &str| config.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
            let config = LocalBackend { path: text("path"), workspace_dir: text("workspace_dir") };
            Self { type_name: backend.type_name, config, hash: backend.hash }
        }))
    }

    /// What is in effect, where the block is the one that was recorded.
    pub(super) fn same_as(&self, block: &LocalBackend) -> Option<LocalBackend> {
        let is_same = self.type_name == LOCAL && (self.hash == hash(block) || self.config == *block);
        is_same.then(|| self.config.clone())
    }

    /// Records a backend: what is in effect, and what its block says. Without one,
    /// that there is none.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(super) fn write(session: &Session, backend: Option<(&LocalBackend, &LocalBackend)>) -> Outcome<()> {
        let path = path(session);
        let backend = backend.map(|(config, block)| {
            let argument = |value: &Option<String>| value.clone().map_or(Value::Null, Value::String);
            let config = [("path", &config.path), ("workspace_dir", &config.workspace_dir)];
            StoredBackend {
                type_name: LOCAL.to_owned(),
                config: Some(
                    config.map(|(name, value)| (name.to_owned(), argument(value))).into_iter().collect(),
                ),
                hash: hash(block),
            }
        });
        let stored = Stored { version: VERSION, terraform_version: TERRAFORM_VERSION.to_owned(), backend };
        let text = serde_json::to_string_pretty(&stored).map_err(io::Error::other);
        let written = text.and_then(|text| {
            fs::create_dir_all(session.data_directory())?;
            fs::write(&path, text)
        });
        written.map_err(|error| {
            Failure::error(
                "Backend cannot be recorded",
                format!("{} cannot be written: {error}.", path.display()),
            )
        })
    }
}

fn path(session: &Session) -> PathBuf {
    session.data_directory().join("terraform.tfstate")
}

/// The number by which Terraform knows a block again.
fn hash(block: &LocalBackend) -> u64 {
    let argument = |value: &Option<String>| match value {
        None => "~".to_owned(),
        Some(text) => Value::from(text.as_str()).to_string(),
    };
    let text = format!("<\"{LOCAL}\";<{};{};>;>", argument(&block.path), argument(&block.workspace_dir));
    crc32fast::hash(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_terraform_records() {
        let block = |path: Option<&str>, workspace_dir: Option<&str>| {
            hash(&LocalBackend {
                path: path.map(ToOwned::to_owned),
                workspace_dir: workspace_dir.map(ToOwned::to_owned),
            })
        };
        assert_eq!(block(None, None), 666_019_178);
        assert_eq!(block(Some("x/y.tfstate"), None), 1_293_398_979);
        assert_eq!(block(None, Some("ws")), 4_159_885_873);
    }
}
