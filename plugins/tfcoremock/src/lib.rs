//! The tfcoremock provider: resources that are stored as JSON files in the project, for tests of
//! configurations and engines.
//!
//! Its states and files are compatible with `hashicorp/tfcoremock` 0.5; README.md lists its
//! features and the few differences. Each resource type has a `definition`: two types are
//! predefined, and the others are read from `dynamic_resources.json` when the provider starts. All
//! types share one implementation that works with values instead of Rust types. `files` is the only
//! module that accesses the file system.

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

use wardian_sdk::{Diagnostics, Provider, Schema};

use crate::configuration::{Configuration, MockClient};
use crate::data_source::MockDataSource;
use crate::definition::Definition;
use crate::resource::MockResource;

/// The file with the definitions of types, in the working directory.
const DEFINITION_FILE: &str = "dynamic_resources.json";

/// Returns the provider with the predefined types, and with the types that are defined in the
/// working directory.
pub fn provider() -> Provider<MockClient> {
    provider_in(Path::new(""))
}

/// Returns the provider with the types that are defined in a directory.
fn provider_in(directory: &Path) -> Provider<MockClient> {
    let mut types = fixed_types::all();
    let mut problems = Diagnostics::new();
    match definition_file::read(&directory.join(DEFINITION_FILE), &types) {
        Ok(dynamic) => types.extend(dynamic),
        Err(errors) => problems = errors,
    }
    with_types(types).definition_diagnostics(problems)
}

fn with_types(types: BTreeMap<String, Definition>) -> Provider<MockClient> {
    let schema = Schema::for_type::<Configuration>();
    let mut provider = Provider::with_config("tfcoremock", schema, Configuration::into_client);
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
        reason: "its resources and the definitions of its types are files in the configuration's directory",
    },
);

#[cfg(test)]
mod tests;
