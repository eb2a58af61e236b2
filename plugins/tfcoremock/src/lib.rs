//! The tfcoremock provider: resources that are JSON files in the project, for
//! trying out a configuration, a plan, an engine.
//!
//! Compatible with `hashicorp/tfcoremock` 0.5, state by state and file by file;
//! README.md lists what it offers and the few differences. What a resource type
//! consists of is a [`definition`]: two are fixed, the others are read from
//! `dynamic_resources.json` when the provider starts. All types share one
//! implementation, which knows values and not Rust types. `files` is the only module
//! that touches the file system.

mod completion;
mod configuration;
mod data_source;
mod definition;
mod definition_file;
mod files;
mod fixed_types;
mod resource;
mod schema;
mod stored_value;

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use wardian_sdk::{Diagnostics, Provider};

use crate::configuration::{Client, Configuration};
use crate::data_source::MockDataSource;
use crate::definition::Definition;
use crate::resource::MockResource;

/// Where types are defined, in the directory that the provider works in.
const DEFINITION_FILE: &str = "dynamic_resources.json";

/// The provider with its two types and those that the working directory defines.
pub fn provider() -> Provider<Client> {
    provider_in(Path::new(""))
}

/// The provider with the types that this directory defines.
fn provider_in(directory: &Path) -> Provider<Client> {
    let mut types = fixed_types::all();
    let mut problems = Diagnostics::new();
    match definition_file::read(&directory.join(DEFINITION_FILE), &types) {
        Ok(dynamic) => types.extend(dynamic),
        Err(errors) => problems = errors,
    }
    with_types(types).problems(problems)
}

fn with_types(types: BTreeMap<String, Definition>) -> Provider<Client> {
    let mut provider =
        Provider::configured("tfcoremock", configuration::schema(), Configuration::into_client);
    for (name, definition) in types {
        let definition = Rc::new(definition);
        provider = provider
            .data_source(&name, MockDataSource::new(Rc::clone(&definition)))
            .updatable_resource(&name, MockResource::new(definition));
    }
    provider
}

wardian_sdk::export_provider!(
    provider,
    filesystem {
        directories: ["."],
        access: ["read", "write"],
        reason: "its resources are files in the configuration's directory, and so is what types it has",
    },
);

#[cfg(test)]
mod tests;
