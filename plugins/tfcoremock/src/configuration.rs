//! The provider's configuration, and what follows from it for an operation.

use std::path::PathBuf;

use serde::Deserialize;
use wardian_sdk::{Attr, Attribute, Diagnostics, Result, Schema, Type};

use crate::files::Directory;

/// The provider's configuration.
#[derive(Debug, Deserialize)]
pub(crate) struct Configuration {
    resource_directory: Attr<String>,
    data_directory: Attr<String>,
    use_only_state: Attr<bool>,
    fail_on_create: Attr<Vec<Attr<String>>>,
    fail_on_read: Attr<Vec<Attr<String>>>,
    fail_on_update: Attr<Vec<Attr<String>>>,
    fail_on_delete: Attr<Vec<Attr<String>>>,
}

/// A configured provider.
#[derive(Debug)]
pub struct Client {
    storage: Storage,
    data_directory: Option<Directory>,
    fail_on: [(Operation, Vec<String>); 4],
}

/// Where resources are kept.
#[derive(Debug)]
enum Storage {
    Files(Directory),
    StateOnly,
    /// A part of the configuration that decides it is not known yet.
    NotKnown,
}

/// What is done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Read,
    Update,
    Delete,
}

/// The schema of the provider's configuration.
pub(crate) fn schema() -> Schema {
    let fails = |name: &str, operation: &str| {
        Attribute::list(name, Type::String).description(format!(
            "IDs of resources whose {operation} is carried out and then reported as failed."
        ))
    };
    Schema::new()
        .description(
            "Resources that are JSON files in the project, for trying out configurations. Types beside \
             `tfcoremock_simple_resource` and `tfcoremock_complex_resource` are defined in \
             `dynamic_resources.json`, in the root module's directory.",
        )
        .attribute(Attribute::string("resource_directory").description(
            "The directory that resources are kept in, as `ID.json`; `terraform.resource` unless set.",
        ))
        .attribute(Attribute::string("data_directory").description(
            "The directory that data sources are read from, as `ID.json`; `terraform.data` unless set.",
        ))
        .attribute(
            Attribute::bool("use_only_state").description(
                "Whether resources are in the state alone and have no files; `false` unless set.",
            ),
        )
        .attribute(fails("fail_on_create", "creation"))
        .attribute(fails("fail_on_read", "reading"))
        .attribute(fails("fail_on_update", "update"))
        .attribute(fails("fail_on_delete", "deletion"))
}

impl Configuration {
    /// What follows from it. `Err` never: what is not known yet is told when an
    /// operation needs it.
    #[expect(clippy::unnecessary_wraps, reason = "what `Provider::configured` takes")]
    pub(crate) fn into_client(self) -> Result<Client> {
        let storage = match self.use_only_state {
            Attr::Unknown => Storage::NotKnown,
            Attr::Known(true) => Storage::StateOnly,
            Attr::Known(false) | Attr::Null => match directory(self.resource_directory, "terraform.resource")
            {
                Some(directory) => Storage::Files(directory),
                None => Storage::NotKnown,
            },
        };
        let listed = |ids: Attr<Vec<Attr<String>>>| {
            ids.into_known().unwrap_or_default().into_iter().filter_map(Attr::into_known).collect()
        };
        Ok(Client {
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

/// `None` where it is not known yet.
fn directory(configured: Attr<String>, default: &str) -> Option<Directory> {
    match configured {
        Attr::Unknown => None,
        Attr::Null => Some(Directory(PathBuf::from(default))),
        Attr::Known(path) => Some(Directory(PathBuf::from(path))),
    }
}

impl Client {
    /// The directory of resources; `None` where the state alone has them.
    pub(crate) fn resources(&self) -> Result<Option<&Directory>> {
        match &self.storage {
            Storage::Files(directory) => Ok(Some(directory)),
            Storage::StateOnly => Ok(None),
            Storage::NotKnown => Err(not_known("where resources are kept")),
        }
    }

    /// The directory of data sources.
    pub(crate) fn data(&self) -> Result<&Directory> {
        self.data_directory.as_ref().ok_or_else(|| not_known("where data sources are read from"))
    }

    /// The error that the configuration asks for when this has been done.
    pub(crate) fn forced_failure(&self, operation: Operation, id: &str) -> Result<()> {
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
            format!("The failure was asked for: {argument} in the provider's configuration lists {id:?}.");
        Err(Diagnostics::error(summary, detail))
    }
}

fn not_known(what: &str) -> Diagnostics {
    Diagnostics::error(
        "Provider configuration not known yet",
        format!(
            "The provider's configuration decides {what}, and depends on values that are known only after \
             apply. Apply what these come from first, with -target."
        ),
    )
}
