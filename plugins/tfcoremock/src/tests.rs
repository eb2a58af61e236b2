//! Tests of the provider with the harness, each in a separate directory.

mod definitions;
mod files;
mod operations;

use std::path::PathBuf;

use serde_json::Value as Json;
use tempfile::TempDir;
use wardian_sdk::testing::{ProviderHarness, json};

/// A project directory.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Creates a project that defines types.
    fn defining(definitions: &Json) -> Self {
        let project = Self::new();
        project.write(crate::DEFINITION_FILE, &definitions.to_string());
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the values in a resource's file.
    fn stored_object(&self, id: &str) -> Json {
        let text = self.file(&format!("resources/{id}.json"));
        serde_json::from_str::<Json>(&text).unwrap()["values"].take()
    }

    /// Returns the provider, configured to use this directory.
    fn provider(&self) -> ProviderHarness {
        self.configured(json!({}))
    }

    /// Returns the provider with additional configuration.
    fn configured(&self, mut further: Json) -> ProviderHarness {
        let text = |name: &str| Json::from(self.path(name).to_str().unwrap());
        for (argument, name) in [("resource_directory", "resources"), ("data_directory", "data")] {
            let members = further.as_object_mut().unwrap();
            members.entry(argument).or_insert_with(|| text(name));
        }
        let harness = ProviderHarness::new(crate::provider_in(self.0.path()));
        harness.configure(further).unwrap();
        harness
    }
}

const SIMPLE: &str = "tfcoremock_simple_resource";
const COMPLEX: &str = "tfcoremock_complex_resource";

/// The file contains the schema of the configuration in the form in which a host receives it.
#[test]
fn schema_of_the_configuration_is_unchanged() {
    let text = wardian_sdk::testing::schema_text(crate::with_types(std::collections::BTreeMap::new()));
    assert_eq!(text, include_str!("tests/schemas.txt"));
}
