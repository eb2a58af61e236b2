//! Creates the provider's client from its configuration.

use std::path::PathBuf;

use serde::Deserialize;
use wardian_sdk::{Attr, Diagnostics, Result, Schema};

use crate::files::Directory;

/// Resources that are JSON files in the project, for testing configurations. The file
/// `dynamic_resources.json` in the root module's directory defines types in addition to
/// `tfcoremock_simple_resource` and `tfcoremock_complex_resource`.
#[derive(Debug, Deserialize, Schema)]
#[schema(provider)]
pub(crate) struct Configuration {
    /// The directory in which resources are stored as `ID.json`. Default: `terraform.resource`.
    resource_directory: Attr<String>,
    /// The directory from which data sources are read, as `ID.json`. Default: `terraform.data`.
    data_directory: Attr<String>,
    /// Whether resources are stored only in the state and have no files. Default: `false`.
    use_only_state: Attr<bool>,
    /// IDs of resources for which creation is performed and then reported as failed.
    fail_on_create: Attr<Vec<Attr<String>>>,
    /// IDs of resources for which reading is performed and then reported as failed.
    fail_on_read: Attr<Vec<Attr<String>>>,
    /// IDs of resources for which update is performed and then reported as failed.
    fail_on_update: Attr<Vec<Attr<String>>>,
    /// IDs of resources for which deletion is performed and then reported as failed.
    fail_on_delete: Attr<Vec<Attr<String>>>,
}

/// The client of a configured provider.
#[derive(Debug)]
pub struct MockClient {
    storage: Storage,
    data_directory: Option<Directory>,
    fail_on: [(Operation, Vec<String>); 4],
}

/// The storage of resources.
#[derive(Debug)]
enum Storage {
    Files(Directory),
    StateOnly,
    /// The storage depends on an unknown value in the configuration.
    Unknown,
}

/// An operation on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Read,
    Update,
    Delete,
}

impl Configuration {
    /// Returns the client. This never fails, since an operation reports an error if it needs an
    /// unknown value.
    #[expect(clippy::unnecessary_wraps, reason = "the signature that `Provider::with_config` requires")]
    pub(crate) fn into_client(self) -> Result<MockClient> {
        let storage = match self.use_only_state {
            Attr::Unknown => Storage::Unknown,
            Attr::Known(true) => Storage::StateOnly,
            Attr::Known(false) | Attr::Null => match directory(self.resource_directory, "terraform.resource")
            {
                Some(directory) => Storage::Files(directory),
                None => Storage::Unknown,
            },
        };
        let listed = |ids: Attr<Vec<Attr<String>>>| {
            ids.into_known().unwrap_or_default().into_iter().filter_map(Attr::into_known).collect()
        };
        Ok(MockClient {
            storage,
            data_directory: directory(self.data_directory, "terraform.data"),
            fail_on: [
                (Operation::Create, listed(self.fail_on_create)),
                (Operation::Read, listed(self.fail_on_read)),
                (Operation::Update, listed(self.fail_on_update)),
                (Operation::Delete, listed(self.fail_on_delete)),
            ],
        })
    }
}

/// Returns the configured directory; `None` if it is unknown.
fn directory(configured: Attr<String>, default: &str) -> Option<Directory> {
    match configured {
        Attr::Unknown => None,
        Attr::Null => Some(Directory(PathBuf::from(default))),
        Attr::Known(path) => Some(Directory(PathBuf::from(path))),
    }
}

impl MockClient {
    /// Returns the directory of resources; `None` if resources are stored only in the state.
    pub(crate) fn resource_directory(&self) -> Result<Option<&Directory>> {
        match &self.storage {
            Storage::Files(directory) => Ok(Some(directory)),
            Storage::StateOnly => Ok(None),
            Storage::Unknown => Err(unknown_configuration("the directory of resources")),
        }
    }

    /// Returns the directory of data sources.
    pub(crate) fn data_directory(&self) -> Result<&Directory> {
        self.data_directory.as_ref().ok_or_else(|| unknown_configuration("the directory of data sources"))
    }

    /// Returns the error that an operation must return according to the configuration.
    pub(crate) fn configured_failure(&self, operation: Operation, id: &str) -> Result<()> {
        let listed = |ids: &Vec<String>| ids.iter().any(|one| one == id);
        if !self.fail_on.iter().any(|(when, ids)| *when == operation && listed(ids)) {
            return Ok(());
        }
        let (summary, argument) = match operation {
            Operation::Create => ("Failed to create the resource", "fail_on_create"),
            Operation::Read => ("Failed to read the resource", "fail_on_read"),
            Operation::Update => ("Failed to update the resource", "fail_on_update"),
            Operation::Delete => ("Failed to delete the resource", "fail_on_delete"),
        };
        let detail =
            format!("The configuration requests this failure: {argument} of the provider lists {id:?}.");
        Err(Diagnostics::error(summary, detail))
    }
}

fn unknown_configuration(what: &str) -> Diagnostics {
    Diagnostics::error(
        "Provider configuration not known yet",
        format!(
            "The provider's configuration determines {what}, but depends on values that are only known \
             after apply. Apply the objects with these values first, with -target."
        ),
    )
}
