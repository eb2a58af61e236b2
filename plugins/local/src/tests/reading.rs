use wardian_sdk::Value;
use wardian_sdk::testing::json;

use super::{TestDirectory, local};

#[test]
fn data_source_reads_complete_file() {
    let directory = TestDirectory::new();
    std::fs::write(directory.path("file"), "Hello").unwrap();
    for type_name in ["local_file", "local_sensitive_file"] {
        let data =
            local().read_data_source(type_name, json!({ "filename": directory.name("file") })).unwrap();
        let text = |name: &str| data.get::<String>(name).unwrap();
        assert_eq!(text("content"), "Hello");
        assert_eq!(text("content_base64"), "SGVsbG8=");
        assert_eq!(text("id"), "f7ff9e8b7bb2e09b70935a5d785e0cc5d9d0abf0");
        assert_eq!(text("content_md5"), "8b1a9953c4611296a827abf8c47804d7");
        assert_eq!(text("content_base64sha256"), "GF+NsyJx/iX1Yab8k4suJkMG7DBO2lGAB9F2SCY4GWk=");
    }
}

#[test]
fn data_source_replaces_invalid_utf8_in_text_only() {
    let directory = TestDirectory::new();
    std::fs::write(directory.path("file"), b"a\xffb").unwrap();
    let data = local().read_data_source("local_file", json!({ "filename": directory.name("file") })).unwrap();
    assert_eq!(data.get::<String>("content").unwrap(), "a\u{fffd}b");
    assert_eq!(data.get::<String>("content_base64").unwrap(), "Yf9i");
}

#[test]
fn missing_file_is_an_error() {
    let directory = TestDirectory::new();
    for type_name in ["local_file", "local_sensitive_file"] {
        let failed = local()
            .read_data_source(type_name, json!({ "filename": directory.name("missing") }))
            .unwrap_err();
        assert!(failed.diagnostics.to_string().contains("does not exist"));
        assert!(local().read_data_source(type_name, json!({ "filename": directory.name("") })).is_err());
        assert!(local().read_data_source(type_name, json!({})).is_err());
    }
}

#[test]
fn direxists_distinguishes_files_and_directories() {
    let directory = TestDirectory::new();
    std::fs::write(directory.path("file"), "").unwrap();
    let direxists = |path: &str| local().call_function("direxists", &[Value::string(path)]);
    assert_eq!(direxists(&directory.name("")).unwrap(), Value::bool(true));
    assert_eq!(direxists(".").unwrap(), Value::bool(true));
    assert_eq!(direxists("").unwrap(), Value::bool(true));
    assert_eq!(direxists(&directory.name("missing")).unwrap(), Value::bool(false));
    let error = direxists(&directory.name("file")).unwrap_err();
    assert_eq!(error.argument, Some(0));
    assert!(error.text.contains("is not a directory"));
    assert!(direxists(&directory.name("file/below")).is_err());
}

#[test]
fn error_names_its_cause_once() {
    let directory = TestDirectory::new();
    let failed =
        local().read_data_source("local_file", json!({ "filename": directory.name("") })).unwrap_err();
    assert_eq!(failed.diagnostics.to_string().matches("os error").count(), 1);
}
