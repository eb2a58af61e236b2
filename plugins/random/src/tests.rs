//! Tests of the provider with the harness.

mod identifiers;
mod keepers;
mod numbers;
mod passwords;
mod pets;
mod strings;

use wardian_sdk::testing::{Config, PlannedAction, ProviderHarness, State};

fn random() -> ProviderHarness {
    ProviderHarness::new(crate::provider())
}

/// Returns the action in the plan of a configuration.
#[track_caller]
fn action(type_name: &str, prior: &State, config: impl Into<Config>) -> PlannedAction {
    random().plan(type_name, Some(prior), config).unwrap().action
}

/// Asserts that a state of the official provider can be loaded, and that its plan contains no
/// changes.
#[track_caller]
fn assert_unchanged(type_name: &str, version: i64, stored: &serde_json::Value, config: impl Into<Config>) {
    let random = random();
    let state = random.load_state(type_name, version, stored).unwrap();
    let state = random.read(type_name, &state).unwrap().unwrap();
    assert_eq!(random.plan(type_name, Some(&state), config).unwrap().action, PlannedAction::NoOp);
}

/// Asserts that the configuration is rejected with an error that contains `expected`.
#[track_caller]
fn assert_rejected(type_name: &str, config: impl Into<Config>, expected: &str) {
    let diagnostics = random().validate(type_name, config);
    assert!(diagnostics.has_errors() && diagnostics.to_string().contains(expected), "{diagnostics}");
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
