//! The whole provider, as a host sees it.

mod identifiers;
mod keepers;
mod names;
mod numbers;
mod passwords;
mod texts;

use wardian_sdk::testing::{Action, Config, ProviderHarness, State};

fn random() -> ProviderHarness {
    ProviderHarness::new(crate::provider())
}

/// What a plan of this configuration would do to the object.
#[track_caller]
fn action(type_name: &str, prior: &State, config: impl Into<Config>) -> Action {
    random().plan(type_name, Some(prior), config).unwrap().action
}

/// A state as the official provider stores it is read and planned without any
/// change.
#[track_caller]
fn assert_unchanged(type_name: &str, version: i64, stored: &serde_json::Value, config: impl Into<Config>) {
    let random = random();
    let state = random.stored(type_name, version, stored).unwrap();
    let state = random.read(type_name, &state).unwrap().unwrap();
    assert_eq!(random.plan(type_name, Some(&state), config).unwrap().action, Action::NoOp);
}

/// The configuration is refused with an error that says this.
#[track_caller]
fn assert_refused(type_name: &str, config: impl Into<Config>, expected: &str) {
    let diagnostics = random().validate(type_name, config);
    assert!(diagnostics.has_errors() && diagnostics.to_string().contains(expected), "{diagnostics}");
}

#[test]
fn the_provider_is_sound() {
    wardian_sdk::assert_provider_is_sound(crate::provider());
}
