//! Compares state files with the files that Terraform reads and writes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use proptest::prelude::*;
use wardian_state::{State, StateProblem, decode_state, encode_state};

const WRITTEN_BY_TERRAFORM: &str = include_str!("states/written_by_terraform_1_11_4.tfstate");

fn read(text: &str) -> Result<State, StateProblem> {
    decode_state(text.as_bytes()).map(|state| state.expect("a state"))
}

#[test]
fn read_and_write_preserve_bytes() {
    for text in [WRITTEN_BY_TERRAFORM, include_str!("states/every_field.tfstate")] {
        let state = read(text).unwrap();
        pretty_assert(&encode_state(&state).unwrap(), text);
    }
}

fn pretty_assert(ours: &str, theirs: &str) {
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", number + 1);
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn instances_are_sorted_as_in_terraform() {
    let state = read(WRITTEN_BY_TERRAFORM).unwrap();
    let addresses: Vec<String> = state.instances().map(|(address, ..)| address.to_string()).collect();
    assert_eq!(
        addresses,
        [
            "terraform_data.one",
            "terraform_data.three[\"10\"]",
            "terraform_data.three[\"a\"]",
            "terraform_data.three[\"b \\\"q\\\" $${x} %%{y}\"]",
            "terraform_data.three[\"é😀\\n\\u00a0\\u200b\"]",
            "terraform_data.two[0]",
            "terraform_data.two[1]",
            "terraform_data.two[2]",
            "terraform_data.two[3]",
            "terraform_data.two[4]",
            "terraform_data.two[5]",
            "terraform_data.two[6]",
            "terraform_data.two[7]",
            "terraform_data.two[8]",
            "terraform_data.two[9]",
            "terraform_data.two[10]",
            "terraform_data.two[11]",
            "module.a[0].data.terraform_remote_state.r",
            "module.a[0].terraform_data.x",
            "module.m[\"x\"].data.terraform_remote_state.r",
            "module.m[\"x\"].terraform_data.x",
            "module.m[\"y\"].data.terraform_remote_state.r",
            "module.m[\"y\"].terraform_data.x",
            "module.a[0].module.n.terraform_data.x",
            "module.m[\"x\"].module.n.terraform_data.x",
            "module.m[\"y\"].module.n.terraform_data.x",
        ]
    );
}

fn problem(text: &str) -> String {
    match decode_state(text.as_bytes()) {
        Ok(state) => format!("no problem: {state:?}"),
        Err(problem) => problem.to_string(),
    }
}

fn with_resources(resources: &str) -> String {
    format!(
        r#"{{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{{}},"resources":[{resources}],"check_results":null}}"#
    )
}

fn with_instances(instances: &str) -> String {
    with_resources(&format!(
        r#"{{"mode":"managed","type":"a","name":"b","provider":"provider[\"registry.terraform.io/hashicorp/a\"]","instances":[{instances}]}}"#
    ))
}

#[test]
fn damaged_and_unsupported_files_are_rejected() {
    assert!(decode_state(b"").unwrap().is_none());
    for (text, expected) in [
        ("[]", "the file is damaged or is not a state file"),
        ("{}", "the file is JSON, but not a state file: \"version\" is missing"),
        ("PK\u{3}", "the file is damaged or is not a state file"),
        ("{\"version\": 0}", "the state file has version 0, which does not exist"),
        (
            "{\"version\": 5, \"terraform_version\": \"9.0.0\"}",
            "the state file has format version 5, which is newer than version 4, the newest that is supported (it was written by Terraform 9.0.0)",
        ),
        ("{\"version\": 4.5}", "the file is damaged or is not a state file: invalid type"),
        ("{\"version\": \"4\"}", "the file is damaged or is not a state file: invalid type"),
        ("{\"version\": -1}", "the file is damaged or is not a state file: invalid value"),
        (
            "{\"version\":4,\"terraform_version\":\"x\",\"serial\":1,\"lineage\":\"l\"}",
            "\"x\" is not a version in \"terraform_version\"",
        ),
        (
            "{\"version\":4,\"serial\":-1,\"lineage\":\"l\"}",
            "the file is damaged or is not a state file: invalid value",
        ),
    ] {
        let found = problem(text);
        assert!(found.starts_with(expected), "{text}: {found}");
    }
    let cut = &WRITTEN_BY_TERRAFORM[..WRITTEN_BY_TERRAFORM.len() / 2];
    assert!(problem(cut).starts_with("the file is damaged or is not a state file: EOF"));
    assert!(matches!(decode_state(b"\xff\xfe"), Err(StateProblem::NotUtf8(0))));
}

#[test]
fn state_files_with_invalid_values_are_rejected() {
    let object = r#"{"schema_version":0,"attributes":{}}"#;
    for (text, expected) in [
        (with_instances(&format!("{object},{object}")), "resource a.b: this instance occurs more than once"),
        (
            with_instances(r#"{"index_key":0,"attributes":{}},{"index_key":0,"attributes":{}}"#),
            "resource a.b[0]: this instance occurs more than once",
        ),
        (
            with_instances(r#"{"deposed":"1234","attributes":{}}"#),
            "resource a.b: the key \"1234\" of a deposed object is not eight hexadecimal digits",
        ),
        (
            with_instances(r#"{"status":"odd","attributes":{}}"#),
            "resource a.b: the status \"odd\" is unknown",
        ),
        (
            with_instances(r#"{"index_key":true,"attributes":{}}"#),
            "resource a.b: the index key true is neither a whole number nor a string",
        ),
        (with_instances(r#"{"attributes":[]}"#), "resource a.b: \"attributes\" is not an object"),
        (
            with_instances(r#"{"attributes":{},"dependencies":["nonsense"]}"#),
            "resource a.b, dependencies: \"nonsense\" is not a resource address: the resource's name is missing at the end",
        ),
        (
            with_resources(r#"{"mode":"odd","type":"a","name":"b","provider":"p","instances":[]}"#),
            "resource a.b: the mode \"odd\" is unknown",
        ),
        (
            with_resources(r#"{"mode":"managed","type":"a","name":"b","provider":"p","instances":[]}"#),
            "resource a.b: \"p\" is not a provider configuration address: provider[\"...\"] is missing at the end",
        ),
        (
            with_resources(
                r#"{"module":"m","mode":"managed","type":"a","name":"b","provider":"p","instances":[]}"#,
            ),
            "resource m.a.b: \"m\" is not a module address: unexpected \"m\"",
        ),
    ] {
        assert_eq!(problem(&text), expected);
    }
}

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,5})?".prop_map(|number| number),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((any::<String>(), inner), 0..4).prop_map(|members| {
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, value)| format!("{}:{value}", serde_json::to_string(name).unwrap()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Unknown content is preserved: a state with any attributes does not change when it is written
    /// and read again.
    #[test]
    fn attributes_and_keys_round_trip(value in any_json(), key in any::<String>(), private in any::<Vec<u8>>()) {
        use base64::Engine;
        let key = serde_json::to_string(&key).unwrap();
        let private = base64::prelude::BASE64_STANDARD.encode(private);
        let text = with_instances(&format!(
            r#"{{"index_key":{key},"schema_version":1,"attributes":{{"v":{value}}},"private":"{private}"}}"#
        ));
        let state = read(&text).unwrap();
        let written = encode_state(&state).unwrap();
        let again = read(&written).unwrap();
        prop_assert_eq!(encode_state(&again).unwrap(), written);
    }

    #[test]
    fn reading_never_panics(bytes in any::<Vec<u8>>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let _ = decode_state(&bytes);
        let mut changed = include_bytes!("states/every_field.tfstate").to_vec();
        let at = at.index(changed.len());
        changed[at] = byte;
        if let Ok(Some(state)) = decode_state(&changed) {
            let _ = encode_state(&state);
        }
        let _ = decode_state(&changed[..at]);
    }
}
