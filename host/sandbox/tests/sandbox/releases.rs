//! Components that were built against released versions of the package `wardian:plugin` still run.
//!
//! `releases` contains one small component for each released version, as it was built then. A component
//! is never built again; docs/versioning.md describes how one is added.

use std::fs;
use std::path::{Path, PathBuf};

use wardian_plugin::{ApplyRequest, CallContext, ClientCapabilities, PlanRequest, PrivateBytes};
use wardian_sandbox::Grants;
use wardian_value::{Type, Value};

use crate::guest::{sandbox, short};

#[tokio::test]
async fn components_of_all_released_versions_run() {
    for version in released_versions() {
        let path = directory().join(format!("null-{version}.wasm"));
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() < 1 << 20, "{} is not small", path.display());
        let plugin = sandbox(short())
            .load("hashicorp/null", &bytes, None, None, &|_| {})
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let provider = plugin.provider(Grants::nothing());
        let context = CallContext::default();
        let schema = provider.schema(&context).await.unwrap_or_else(|error| panic!("{error:?}"));
        let ty = schema.resources.get("null_resource").unwrap().implied_type().clone();

        let config = Value::object([
            ("id", Value::null(Type::String)),
            ("triggers", Value::null(Type::map(Type::String))),
        ]);
        let request = PlanRequest {
            type_name: "null_resource".into(),
            prior_state: Value::null(ty.clone()),
            proposed_new_state: config.clone(),
            config: config.clone(),
            prior_private: PrivateBytes::default(),
            provider_meta: None,
            prior_identity: None,
            capabilities: ClientCapabilities::default(),
        };
        let planned = provider.plan_resource_change(&context, request).await;
        assert_eq!(planned.diagnostics, [], "{}", path.display());
        let request = ApplyRequest {
            type_name: "null_resource".into(),
            prior_state: Value::null(ty),
            planned_state: planned.planned_state.unwrap(),
            config,
            planned_private: planned.planned_private,
            provider_meta: None,
            planned_identity: None,
        };
        let applied = provider.apply_resource_change(&context, request).await;
        assert_eq!(applied.diagnostics, [], "{}", path.display());
        let id = applied.new_state.unwrap().get("id").and_then(Value::as_str).map(str::to_owned);
        assert!(id.is_some_and(|id| !id.is_empty()), "{}", path.display());
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/releases")
}

/// Returns the versions in the table of docs/versioning.md, except the one that is being developed.
fn released_versions() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/versioning.md")).unwrap();
    let interface = fs::read_to_string(root.join("wit/provider.wit")).unwrap();
    let current = interface.lines().find_map(|line| line.strip_prefix("package wardian:plugin@")).unwrap();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let is_version = |text: &str| text.split('.').filter(|part| part.parse::<u32>().is_ok()).count() == 3;
    let versions: Vec<String> =
        rows.map(|(version, _)| version.to_owned()).filter(|version| is_version(version)).collect();
    assert!(versions.iter().any(|version| *version == current.trim_end_matches(';')), "{versions:?}");
    versions.into_iter().filter(|version| *version != current.trim_end_matches(';')).collect()
}

#[test]
fn each_released_version_has_a_component() {
    let files = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    files.sort();
    let mut expected: Vec<String> =
        released_versions().iter().map(|version| format!("null-{version}.wasm")).collect();
    expected.sort();
    assert!(!expected.is_empty());
    assert_eq!(files, expected);
}
