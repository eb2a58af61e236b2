use serde_json::Value as Json;
use wardian_sdk::testing::{Config, PlannedAction, State, hcl, json};

use super::{TestDirectory, local};

const BOTH: [&str; 2] = ["local_file", "local_sensitive_file"];

/// SHA-1 of "Hello".
const HELLO: &str = "f7ff9e8b7bb2e09b70935a5d785e0cc5d9d0abf0";

#[track_caller]
fn action(type_name: &str, prior: &State, config: &Json) -> PlannedAction {
    local().plan(type_name, Some(prior), config.clone()).unwrap().action
}

#[track_caller]
fn assert_rejected(type_name: &str, config: impl Into<Config>, expected: &str) {
    let diagnostics = local().validate(type_name, config);
    assert!(diagnostics.has_errors() && diagnostics.to_string().contains(expected), "{diagnostics}");
}

#[test]
fn file_is_created_read_and_deleted() {
    for type_name in BOTH {
        let directory = TestDirectory::new();
        let config = json!({ "filename": directory.name("a/b/file"), "content": "Hello" });
        let state = local().create(type_name, config.clone()).unwrap();
        assert_eq!(directory.content("a/b/file"), b"Hello");
        assert_eq!(state.get::<String>("id"), HELLO);
        assert_eq!(state.get::<String>("content_sha1"), HELLO);
        assert_eq!(state.get::<String>("content_md5"), "8b1a9953c4611296a827abf8c47804d7");
        assert_eq!(
            state.get::<String>("content_sha256"),
            "185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969"
        );
        assert_eq!(
            state.get::<String>("content_base64sha256"),
            "GF+NsyJx/iX1Yab8k4suJkMG7DBO2lGAB9F2SCY4GWk="
        );
        assert_eq!(state.get::<String>("content_sha512").len(), 128);
        assert_eq!(state.get::<String>("content_base64sha512").len(), 88);

        let read = local().read(type_name, &state).unwrap().unwrap();
        assert_eq!(read.object(), state.object());
        assert_eq!(action(type_name, &read, &config), PlannedAction::NoOp);

        local().delete(type_name, &read).unwrap();
        assert!(!directory.path("a/b/file").exists() && directory.path("a/b").exists());
        local().delete(type_name, &read).unwrap();
    }
}

#[test]
fn each_content_source_is_written() {
    let directory = TestDirectory::new();
    std::fs::write(directory.path("source"), [0, 159, 146, 150]).unwrap();
    for (name, value, content) in [
        ("content", "", &b""[..]),
        ("content", "text", b"text"),
        ("content_base64", "AP/+\nAQ==", &[0, 255, 254, 1]),
        ("source", &directory.name("source"), &[0, 159, 146, 150]),
    ] {
        for type_name in BOTH {
            let mut config = json!({ "filename": directory.name("file") });
            config[name] = json!(value);
            local().create(type_name, config).unwrap();
            assert_eq!(directory.content("file"), content);
        }
    }
    let secret = json!({ "filename": directory.name("file"), "sensitive_content": "secret" });
    local().create("local_file", secret).unwrap();
    assert_eq!(directory.content("file"), b"secret");
}

#[test]
fn exactly_one_source_of_content_is_required() {
    const NONE: &str = r#"filename = "f""#;
    const TWO: &str = r#"
        filename = "f"
        content  = ""
        source   = "s"
    "#;
    const SENSITIVE: &str = r#"
        filename          = "f"
        sensitive_content = ""
        content_base64    = ""
    "#;
    for type_name in BOTH {
        assert_rejected(type_name, hcl(NONE), "one (and only one)");
        assert_rejected(type_name, hcl(TWO), "one (and only one)");
        assert!(!local().validate(type_name, hcl(NONE).unknown("content")).has_errors());
        assert_rejected(type_name, hcl(r#"content = """#), "filename");
    }
    assert_rejected("local_file", hcl(SENSITIVE), "one (and only one)");
}

#[test]
fn invalid_permissions_are_rejected() {
    for name in ["file_permission", "directory_permission"] {
        for invalid in ["", "77", "07777", "0888", "rwx"] {
            let mut config = json!({ "filename": "f", "content": "" });
            config[name] = json!(invalid);
            assert_rejected("local_file", config.clone(), "must be a permission");
            assert_rejected("local_sensitive_file", config, "must be a permission");
        }
    }
}

#[test]
fn permissions_are_set_and_have_defaults() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = TestDirectory::new();
    let mode = |name: &str| std::fs::metadata(directory.path(name)).unwrap().permissions().mode() & 0o777;
    let secret = json!({ "filename": directory.name("secret/file"), "content": "" });
    let state = local().create("local_sensitive_file", secret).unwrap();
    assert_eq!(state.get::<String>("file_permission"), "0700");
    assert_eq!(state.get::<String>("directory_permission"), "0700");
    assert_eq!((mode("secret/file"), mode("secret")), (0o700, 0o700));

    let plain = json!({ "filename": directory.name("plain"), "content": "", "file_permission": "600" });
    let state = local().create("local_file", plain).unwrap();
    assert_eq!(state.get::<String>("file_permission"), "600");
    assert_eq!(state.get::<String>("directory_permission"), "0777");
    assert_eq!(mode("plain"), 0o600);
    assert!(state.warnings.is_empty());
}

#[test]
fn any_change_replaces_file() {
    let directory = TestDirectory::new();
    let config = json!({ "filename": directory.name("file"), "content": "Hello" });
    for type_name in BOTH {
        let state = local().create(type_name, config.clone()).unwrap();
        for (name, value) in [
            ("filename", json!(directory.name("other"))),
            ("content", json!("Bye")),
            ("file_permission", json!("0644")),
            ("directory_permission", json!("0755")),
        ] {
            let mut other = config.clone();
            other[name] = value;
            assert_eq!(action(type_name, &state, &other), PlannedAction::Replace, "{name}");
        }
        let encoded = json!({ "filename": directory.name("file"), "content_base64": "SGVsbG8=" });
        let plan = local().plan(type_name, Some(&state), encoded).unwrap();
        assert_eq!(plan.action, PlannedAction::Replace);
        assert!(plan.object.unwrap().is_unknown("content_md5"));
    }
}

#[test]
fn missing_or_changed_file_is_dropped_from_state() {
    for type_name in BOTH {
        let directory = TestDirectory::new();
        let config = json!({ "filename": directory.name("file"), "content": "Hello" });
        let state = local().create(type_name, config).unwrap();
        std::fs::write(directory.path("file"), "Bye").unwrap();
        assert!(local().read(type_name, &state).unwrap().is_none());
        std::fs::write(directory.path("file"), "Hello").unwrap();
        assert!(local().read(type_name, &state).unwrap().is_some());
        std::fs::remove_file(directory.path("file")).unwrap();
        assert!(local().read(type_name, &state).unwrap().is_none());
        std::fs::create_dir(directory.path("file")).unwrap();
        assert!(local().read(type_name, &state).is_err());
    }
}

#[test]
fn undeletable_file_is_a_warning() {
    let directory = TestDirectory::new();
    let config = json!({ "filename": directory.name("file"), "content": "Hello" });
    let state = local().create("local_file", config).unwrap();
    std::fs::remove_file(directory.path("file")).unwrap();
    std::fs::create_dir(directory.path("file")).unwrap();
    local().delete("local_file", &state).unwrap();
    assert!(directory.path("file").is_dir());
}

#[test]
fn failed_write_is_an_error_without_state() {
    let directory = TestDirectory::new();
    for (name, value, expected) in [
        ("source", directory.name("missing"), "does not exist"),
        ("content_base64", "???".to_owned(), "not base64"),
    ] {
        let mut config = json!({ "filename": directory.name("file") });
        config[name] = json!(value);
        let failed = local().create("local_file", config).unwrap_err();
        assert!(failed.diagnostics.to_string().contains(expected), "{}", failed.diagnostics);
        assert!(failed.state.is_none() && !directory.path("file").exists());
    }
    std::fs::write(directory.path("file"), "").unwrap();
    let below = json!({ "filename": directory.name("file/below"), "content": "" });
    assert!(local().create("local_file", below).is_err());
}

#[test]
fn official_provider_state_plans_no_changes() {
    let directory = TestDirectory::new();
    std::fs::write(directory.path("file"), "Hello").unwrap();
    for (type_name, permission) in [("local_file", "0777"), ("local_sensitive_file", "0700")] {
        let mut stored = json!({
            "content": "Hello", "content_base64": null, "source": null,
            "content_base64sha256": "GF+NsyJx/iX1Yab8k4suJkMG7DBO2lGAB9F2SCY4GWk=",
            "content_base64sha512": "NhX4DJ0pPtdAJof5SyLVjlKbjMeRb4+sf915+9Wvuop03RJlQO+6hYSNDHwXw1Pf0LZQvJd5Nh0qYPJ1sVNc",
            "content_md5": "8b1a9953c4611296a827abf8c47804d7", "content_sha1": HELLO,
            "content_sha256": "185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969",
            "content_sha512": "not compared", "directory_permission": permission,
            "file_permission": permission, "filename": directory.name("file"), "id": HELLO
        });
        if type_name == "local_file" {
            stored["sensitive_content"] = json!(null);
        }
        let state = local().load_state(type_name, 0, &stored).unwrap();
        let state = local().read(type_name, &state).unwrap().unwrap();
        let config = json!({ "filename": directory.name("file"), "content": "Hello" });
        assert_eq!(action(type_name, &state, &config), PlannedAction::NoOp);
    }
}

#[test]
fn state_without_checksums_plans_no_changes() {
    let directory = TestDirectory::new();
    std::fs::write(directory.path("file"), "Hello").unwrap();
    let stored = json!({
        "content": "Hello", "directory_permission": "0777", "file_permission": "0777",
        "filename": directory.name("file"), "id": HELLO
    });
    let state = local().load_state("local_file", 0, &stored).unwrap();
    let state = local().read("local_file", &state).unwrap().unwrap();
    let config = json!({ "filename": directory.name("file"), "content": "Hello" });
    assert_eq!(action("local_file", &state, &config), PlannedAction::NoOp);
}

#[test]
fn import_is_not_supported() {
    for type_name in BOTH {
        let failed = local().import(type_name, "file").unwrap_err();
        assert!(failed.diagnostics.to_string().contains("cannot be imported"));
    }
}
