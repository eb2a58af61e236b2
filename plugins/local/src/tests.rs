//! The whole provider, as a host sees it, in a directory of its own.

mod reading;
mod writing;

use std::path::PathBuf;

use tempfile::TempDir;
use wardian_sdk::testing::ProviderHarness;

fn local() -> ProviderHarness {
    ProviderHarness::new(crate::provider())
}

/// A directory to work in.
struct Place(TempDir);

impl Place {
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
fn the_provider_is_sound() {
    wardian_sdk::assert_provider_is_sound(crate::provider());
}
