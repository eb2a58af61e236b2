//! The changelog names the version of this crate and the version of the package `wardian:plugin`.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::fs;
use std::path::Path;

#[test]
fn first_version_is_the_current_one() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let changelog = fs::read_to_string(here.join("CHANGELOG.md")).unwrap();
    let first = changelog.split("\n## ").nth(1).unwrap();
    assert!(first.starts_with(env!("CARGO_PKG_VERSION")), "the first version is {:?}", first.lines().next());
    let package = fs::read_to_string(here.join("../../wit/run.wit")).unwrap();
    let version = package.lines().next().unwrap().trim_start_matches("package wardian:plugin@");
    let expected = format!("Package `wardian:plugin` {}.", version.trim_end_matches(';'));
    assert!(first.contains(&expected), "the changelog does not contain {expected:?}");
}
