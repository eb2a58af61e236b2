//! Tests of the provider with the harness, each in a separate directory.

mod reading;
mod writing;

use std::path::PathBuf;

use tempfile::TempDir;
use wardian_sdk::testing::ProviderHarness;

fn local() -> ProviderHarness {
    ProviderHarness::new(crate::provider())
}

/// A temporary directory.
struct TestDirectory(TempDir);

impl TestDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }
}

#[test]
fn provider_is_valid() {
    wardian_sdk::assert_valid_provider(crate::provider());
}

/// The file contains the schemas of the provider in the form in which a host receives them.
#[test]
fn schemas_are_unchanged() {
    let text = wardian_sdk::testing::schema_text(crate::provider());
    assert_eq!(text, include_str!("tests/schemas.txt"));
}
