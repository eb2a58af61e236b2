//! The provider `inventory` in Rust, Go, JavaScript and Python: the same configurations have the same
//! plans, states and diagnostics.
//!
//! A case is a directory in `cases`: `1.tf`, `2.tf` and so on are planned and applied one after the
//! other, beginning with the state `state.json`, if it exists. `expected.json` contains the results of
//! the provider in Rust, and `WARDIAN_RECORD=1` records it.
//!
//! The components of Go and JavaScript are recordings in `components`, which a test compares with their
//! sources. `cargo xtask interop languages` builds all components, records these two, and runs the suite
//! with all four. The environment variable `WARDIAN_TEST_LANGUAGES` names a directory with other components.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod case;
mod equal_bytes;
mod errors;
mod network;
mod provider;
mod recordings;
mod runs;
mod shared;
mod sources;

use wardian_end_to_end::each;

use crate::case::Case;
use crate::provider::{Language, Provider};

#[test]
fn providers_in_all_languages_have_the_same_results() {
    let providers: Vec<Provider> = Language::ALL.iter().filter_map(|one| Provider::find(*one)).collect();
    let mut cases = Case::all();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    if std::env::var_os("WARDIAN_RECORD").is_some()
        && let Some(rust) = providers.iter().find(|provider| provider.language == Language::Rust)
    {
        each(&cases, |case| case.record(rust));
    }
    let runs: Vec<(&Case, &Provider)> =
        providers.iter().flat_map(|provider| cases.iter().map(move |case| (case, provider))).collect();
    let differences: Vec<String> =
        each(&runs, |(case, provider)| case.difference(provider)).into_iter().flatten().collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
