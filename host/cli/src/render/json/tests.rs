//! Compares the JSON output with Terraform 1.11.4's output for the same state, byte for byte.

use super::*;

fn state_json<'a>(
    version: &'a str,
    objects: impl IntoIterator<Item = StateObject<'a>>,
    outputs: &'a BTreeMap<Str, OutputValue>,
    checks: Option<&'a [CheckResult]>,
) -> String {
    compact(&StateJson::new(version, objects, outputs, checks))
}
use crate::render::state::tests::{objects, recorded};
use crate::render::value::render_outputs;

#[test]
fn state_document_matches_terraform() {
    let state = recorded();
    let json = state_json("1.11.4", objects(&state), &state.outputs, state.check_results.as_deref());
    assert_eq!(json, include_str!("../snapshots/state.json"));
}

#[test]
fn outputs_document_matches_terraform() {
    let outputs = recorded().outputs;
    assert_eq!(outputs_json(&outputs) + "\n", include_str!("../snapshots/outputs.json"));
    assert_eq!(render_outputs(&outputs).as_str(), include_str!("../snapshots/outputs.txt"));
    assert_eq!(outputs_json(&BTreeMap::new()), "{}");
}

#[test]
fn single_output_is_one_line() {
    let outputs = recorded().outputs;
    assert_eq!(output_json(&outputs["o"].value), r#"{"a":[1,{"b":null}]}"#);
    assert_eq!(output_json(&outputs["html"].value), r#""\u003ca\u003e\u0026\u2028""#);
}

#[test]
fn empty_state_document_contains_only_version() {
    assert_eq!(state_json("1.11.4", [], &BTreeMap::new(), None), r#"{"format_version":"1.0"}"#);
}

#[test]
fn check_results_contain_module_and_instance_keys() {
    use wardian_state::{CheckKind, CheckObject, CheckStatus, OutputValue};
    let check = |kind, config: &str, object: &str, messages: &[&str]| {
        let status = if messages.is_empty() { CheckStatus::Pass } else { CheckStatus::Fail };
        let failure_messages = messages.iter().map(ToString::to_string).collect();
        let object = CheckObject { address: object.into(), status, failure_messages };
        CheckResult { kind, config_address: config.into(), status, objects: Some(vec![object]) }
    };
    let checks = [
        check(CheckKind::Variable, "module.m.var.v", r#"module.m["a.b"].var.v"#, &[]),
        check(
            CheckKind::Resource,
            "module.m.terraform_data.in",
            r#"module.m["a.b"].terraform_data.in[1]"#,
            &[],
        ),
        check(CheckKind::Check, "check.c", "check.c", &["no"]),
    ];
    // A state without objects has an empty root module.
    let output = OutputValue { value: true.into(), sensitive: false };
    assert_eq!(
        state_json("1.11.4", [], &BTreeMap::from([("o".into(), output)]), Some(&checks)),
        concat!(
            r#"{"format_version":"1.0","terraform_version":"1.11.4","values":{"outputs":{"o":"#,
            r#"{"sensitive":false,"value":true,"type":"bool"}},"root_module":{}},"checks":["#,
            r#"{"address":{"kind":"check","name":"c","to_display":"check.c"},"status":"fail","instances":"#,
            r#"[{"address":{"to_display":"check.c"},"status":"fail","problems":[{"message":"no"}]}]},"#,
            r#"{"address":{"kind":"resource","mode":"managed","module":"module.m","name":"in","#,
            r#""to_display":"module.m.terraform_data.in","type":"terraform_data"},"status":"pass","instances":"#,
            r#"[{"address":{"instance_key":1,"module":"module.m[\"a.b\"]","#,
            r#""to_display":"module.m[\"a.b\"].terraform_data.in[1]"},"status":"pass"}]},"#,
            r#"{"address":{"kind":"var","module":"module.m","name":"v","to_display":"module.m.var.v"},"#,
            r#""status":"pass","instances":[{"address":{"module":"module.m[\"a.b\"]","#,
            r#""to_display":"module.m[\"a.b\"].var.v"},"status":"pass"}]}]}"#,
        )
    );
}
