//! The backend recorded by `init`, in `terraform.tfstate` in the data directory.
//!
//! | member | value |
//! |---|---|
//! | `version` | 3, independent of the version of state files |
//! | `terraform_version` | the version that wrote the file |
//! | `backend` | `type`, `config` with all arguments, and `hash`; absent if there is no block |
//! | `state_store` | `type`, `provider` with `source`, `version`, `config` and `hash`, and `config` and `hash` as above |
//!
//! A hash covers only the block. Arguments that `-backend-config` sets are only in `config`, so
//! they do not change the hash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use wardian_diagnostic::system_reason;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wardian_backend::{BackendConfig, BackendType, block_hash};
use wardian_files::read_regular;

use crate::compatibility::TERRAFORM_VERSION;
use crate::error::AppError;
use crate::state_store::{StoreRecord, StoredStateStore};

const VERSION: u64 = 3;
/// Maximum size of the record.
const MAX_RECORD_SIZE: u64 = 16 << 20;

/// The location of the states that `init` has recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    Backend(Record),
    StateStore(StoreRecord),
}

/// A recorded backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) type_name: String,
    arguments: Map<String, Value>,
    hash: u64,
}

#[derive(Deserialize, Serialize)]
struct Stored {
    version: u64,
    #[serde(default)]
    terraform_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backend: Option<StoredBackend>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state_store: Option<StoredStateStore>,
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

impl Recorded {
    /// Reads the record in a data directory; `None` if the directory has no record with a location.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read.
    pub(crate) fn read(data_directory: &Path) -> Result<Option<Self>, AppError> {
        let path = path(data_directory);
        let unreadable = |problem: String| {
            AppError::new(
                "Backend record cannot be read",
                format!(
                    "The file {}, in which `wardian init` records the backend, cannot be used: {problem}. Remove it and \
                     run `wardian init` again.",
                    path.display()
                ),
            )
        };
        let bytes = match read_regular(&path, MAX_RECORD_SIZE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        if stored.version != VERSION {
            return Err(unreadable(format!(
                "its format version is {}, but only {VERSION} is supported",
                stored.version
            )));
        }
        if let Some(store) = stored.state_store {
            let record = StoreRecord::from_stored(store).map_err(unreadable)?;
            return Ok(Some(Self::StateStore(record)));
        }
        Ok(stored.backend.filter(|backend| !backend.type_name.is_empty()).map(|backend| {
            let arguments = backend.config.unwrap_or_default();
            Self::Backend(Record { type_name: backend.type_name, arguments, hash: backend.hash })
        }))
    }

    /// Records a location. `None` records that none is configured.
    ///
    /// # Errors
    /// Returns an error if the record cannot be written.
    pub(crate) fn write(data_directory: &Path, recorded: Option<Self>) -> Result<(), AppError> {
        let path = path(data_directory);
        let (backend, state_store) = match recorded {
            None => (None, None),
            Some(Self::Backend(Record { type_name, arguments, hash })) => {
                (Some(StoredBackend { type_name, config: Some(arguments), hash }), None)
            }
            Some(Self::StateStore(record)) => (None, Some(record.into_stored())),
        };
        let stored = Stored {
            version: VERSION,
            terraform_version: TERRAFORM_VERSION.to_owned(),
            backend,
            state_store,
        };
        let text = serde_json::to_string_pretty(&stored).map_err(io::Error::other);
        let written = text.and_then(|text| {
            fs::create_dir_all(data_directory)?;
            fs::write(&path, text)
        });
        written.map_err(|error| {
            AppError::new(
                "Backend cannot be recorded",
                format!("{} cannot be written: {}.", path.display(), system_reason(&error)),
            )
        })
    }

    /// Describes the location for messages.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Backend(record) => format!("the backend \"{}\"", record.type_name),
            Self::StateStore(record) => format!("the state store \"{}\"", record.type_name()),
        }
    }
}

impl Record {
    /// Returns the record of a backend: its type, the arguments in effect, and the block's arguments.
    pub(crate) fn new(kind: &dyn BackendType, config: &BackendConfig, block: &BackendConfig) -> Self {
        Self {
            type_name: kind.name().to_owned(),
            arguments: config.to_record(kind.schema()),
            hash: block_hash(kind.name(), block),
        }
    }

    /// Returns the recorded arguments, if the recorded backend has this type.
    pub(crate) fn config(&self, kind: &dyn BackendType) -> BackendConfig {
        BackendConfig::from_record(&self.arguments, kind.schema())
    }

    /// Returns the recorded arguments if the block is the same as when it was recorded.
    pub(crate) fn same_as(&self, kind: &dyn BackendType, block: &BackendConfig) -> Option<BackendConfig> {
        if self.type_name != kind.name() {
            return None;
        }
        let config = self.config(kind);
        (self.hash == block_hash(kind.name(), block) || config == *block).then_some(config)
    }
}

fn path(data_directory: &Path) -> PathBuf {
    data_directory.join("terraform.tfstate")
}
