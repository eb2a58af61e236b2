//! Malformed files and unusual values.

use wardian_sdk::testing::json;

use super::{COMPLEX, Project, SIMPLE};

#[track_caller]
fn check(type_name: &str, content: &str, expected: &str) {
    let project = Project::new();
    project.write("data/a.json", content);
    project.write("resources/a.json", content);
    let provider = project.provider();
    let as_data = provider.read_data_source(type_name, json!({ "id": "a" })).unwrap_err();
    assert!(as_data.diagnostics.to_string().contains(expected), "{as_data:?}");
    let imported = provider.import(type_name, "a").unwrap_err();
    assert!(imported.diagnostics.to_string().contains(expected), "{imported:?}");
}

#[test]
fn malformed_file_is_an_error_with_path() {
    for content in ["", "{", "[]", "{}", "{\"values\": 1}", "{\"values\": {\"string\": \"bare\"}}"] {
        check(SIMPLE, content, "a.json is not a valid resource in JSON format");
    }
    check(SIMPLE, r#"{"values": {"string": {"text": "a"}}}"#, "unknown field `text`");
    let endless = "{\"values\": {\"list\": ".to_owned() + &"{\"list\": [".repeat(100_000);
    check(COMPLEX, &endless, "recursion limit");
}

#[test]
fn value_of_wrong_kind_is_an_error_with_path() {
    check(SIMPLE, r#"{"values": {"string": {"number": "1"}}}"#, "string: string is required, not a number");
    check(SIMPLE, r#"{"values": {"number": {"number": "one"}}}"#, "number: \"one\"");
    check(
        COMPLEX,
        r#"{"values": {"list": {"list": [{}, {"object": {"bool": {"string": "true"}}}]}}}"#,
        "list[1].bool: bool is required, not a string",
    );
    check(
        COMPLEX,
        r#"{"values": {"list_block": {"list": [{"boolean": true}]}}}"#,
        "list_block[0]: object is required, not a boolean",
    );
    check(COMPLEX, r#"{"values": {"set_block": {"list": []}}}"#, "is required, not a list");
}

#[test]
fn unknown_members_are_ignored() {
    let project = Project::new();
    project.write("data/a.json", r#"{"version": 2, "values": {"gone": {"string": "x"}}}"#);
    assert!(project.provider().read_data_source(SIMPLE, json!({ "id": "a" })).unwrap().is_null("string"));
}

#[test]
fn id_cannot_leave_the_directory() {
    let project = Project::new();
    let provider = project.provider();
    project.write("secret.json", r#"{"values": {"string": {"string": "secret"}}}"#);
    for id in ["../secret", "..\\secret", "/etc/passwd", "a/b", "nul\u{0}"] {
        let failed = provider.create(SIMPLE, json!({ "id": id })).unwrap_err();
        assert!(failed.diagnostics.to_string().contains("cannot be used as a file name"), "{failed:?}");
        let failed = provider.read_data_source(SIMPLE, json!({ "id": id })).unwrap_err();
        assert!(failed.diagnostics.to_string().contains("cannot be used as a file name"), "{failed:?}");
    }
    assert!(!project.path("resources").exists());
    provider.create(SIMPLE, json!({ "id": ".." })).unwrap();
    assert!(project.path("resources/...json").exists());
}

#[test]
fn any_text_round_trips() {
    let project = Project::new();
    let provider = project.provider();
    let text = "a<b> & \"c\" \\ \u{2028}\u{1}\n\u{1f600}";
    let state = provider.create(SIMPLE, json!({ "id": "a", "string": text })).unwrap();
    let file = project.file("resources/a.json");
    assert!(file.contains("a\\u003cb\\u003e \\u0026 \\\"c\\\" \\\\ \\u2028\\u0001\\n\u{1f600}"), "{file}");
    assert!(
        file.starts_with("{\n  \"values\": {\n    \"id\": {\n      \"string\": \"a\"\n    },\n"),
        "{file}"
    );
    assert_eq!(provider.read(SIMPLE, &state).unwrap().unwrap().object(), state.object());
}
