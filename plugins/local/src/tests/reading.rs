use wardian_sdk::Value;
use wardian_sdk::testing::json;

use super::{Place, local};

#[test]
fn a_file_is_read_whole() {
    let place = Place::new();
    std::fs::write(place.path("file"), "Hello").unwrap();
    for type_name in ["local_file", "local_sensitive_file"] {
        let data = local().data(type_name, json!({ "filename": place.name("file") })).unwrap();
        let text = |name: &str| data.get::<String>(name).unwrap();
        assert_eq!(text("content"), "Hello");
        assert_eq!(text("content_base64"), "SGVsbG8=");
        assert_eq!(text("id"), "f7ff9e8b7bb2e09b70935a5d785e0cc5d9d0abf0");
        assert_eq!(text("content_md5"), "8b1a9953c4611296a827abf8c47804d7");
        assert_eq!(text("content_base64sha256"), "GF+NsyJx/iX1Yab8k4suJkMG7DBO2lGAB9F2SCY4GWk=");
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced_in_the_text_only() {
    let place = Place::new();
    std::fs::write(place.path("file"), b"a\xffb").unwrap();
    let data = local().data("local_file", json!({ "filename": place.name("file") })).unwrap();
    assert_eq!(data.get::<String>("content").unwrap(), "a\u{fffd}b");
    assert_eq!(data.get::<String>("content_base64").unwrap(), "Yf9i");
}

#[test]
fn a_missing_file_is_an_error() {
    let place = Place::new();
    for type_name in ["local_file", "local_sensitive_file"] {
        let failed = local().data(type_name, json!({ "filename": place.name("missing") })).unwrap_err();
        assert!(failed.diagnostics.to_string().contains("does not exist"));
        assert!(local().data(type_name, json!({ "filename": place.name("") })).is_err());
        assert!(local().data(type_name, json!({})).is_err());
    }
}

#[test]
fn direxists_tells_directories_from_nothing_and_from_files() {
    let place = Place::new();
    std::fs::write(place.path("file"), "").unwrap();
    let direxists = |path: &str| local().call("direxists", &[Value::string(path)]);
    assert_eq!(direxists(&place.name("")).unwrap(), Value::bool(true));
    assert_eq!(direxists(".").unwrap(), Value::bool(true));
    assert_eq!(direxists("").unwrap(), Value::bool(true));
    assert_eq!(direxists(&place.name("missing")).unwrap(), Value::bool(false));
    let error = direxists(&place.name("file")).unwrap_err();
    assert_eq!(error.argument, Some(0));
    assert!(error.text.contains("is not a directory"));
    assert!(direxists(&place.name("file/below")).is_err());
}

#[test]
fn an_error_names_its_cause_once() {
    let place = Place::new();
    let failed = local().data("local_file", json!({ "filename": place.name("") })).unwrap_err();
    assert_eq!(failed.diagnostics.to_string().matches("os error").count(), 1);
}
