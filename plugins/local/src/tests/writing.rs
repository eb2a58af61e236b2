use serde_json::Value as Json;
use wardian_sdk::testing::{Action, State, config, json};

use super::{Place, local};

const BOTH: [&str; 2] = ["local_file", "local_sensitive_file"];

/// SHA-1 of "Hello".
const HELLO: &str = "f7ff9e8b7bb2e09b70935a5d785e0cc5d9d0abf0";

#[track_caller]
fn action(type_name: &str, prior: &State, config: &Json) -> Action {
    local().plan(type_name, Some(prior), config.clone()).unwrap().action
}

#[track_caller]
fn assert_refused(type_name: &str, config: Json, expected: &str) {
    let diagnostics = local().validate(type_name, config);
    assert!(diagnostics.has_errors() && diagnostics.to_string().contains(expected), "{diagnostics}");
}

#[test]
fn a_file_is_created_read_and_deleted() {
    for type_name in BOTH {
        let place = Place::new();
        let config = json!({ "filename": place.name("a/b/file"), "content": "Hello" });
        let state = local().create(type_name, config.clone()).unwrap();
        assert_eq!(place.content("a/b/file"), b"Hello");
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
        assert_eq!(action(type_name, &read, &config), Action::NoOp);

        local().delete(type_name, &read).unwrap();
        assert!(!place.path("a/b/file").exists() && place.path("a/b").exists());
        local().delete(type_name, &read).unwrap();
    }
}

#[test]
fn every_source_of_content() {
    let place = Place::new();
    std::fs::write(place.path("source"), [0, 159, 146, 150]).unwrap();
    for (name, value, content) in [
        ("content", "", &b""[..]),
        ("content", "text", b"text"),
        ("content_base64", "AP/+\nAQ==", &[0, 255, 254, 1]),
        ("source", &place.name("source"), &[0, 159, 146, 150]),
    ] {
        for type_name in BOTH {
            let mut config = json!({ "filename": place.name("file") });
            config[name] = json!(value);
            local().create(type_name, config).unwrap();
            assert_eq!(place.content("file"), content);
        }
    }
    let secret = json!({ "filename": place.name("file"), "sensitive_content": "secret" });
    local().create("local_file", secret).unwrap();
    assert_eq!(place.content("file"), b"secret");
}

#[test]
fn exactly_one_source_of_content() {
    for type_name in BOTH {
        assert_refused(type_name, json!({ "filename": "f" }), "one (and only one)");
        assert_refused(
            type_name,
            json!({ "filename": "f", "content": "", "source": "s" }),
            "one (and only one)",
        );
        let unknown = config(json!({ "filename": "f" })).unknown("content");
        assert!(!local().validate(type_name, unknown).has_errors());
        assert_refused(type_name, json!({ "content": "" }), "filename");
    }
    let two = json!({ "filename": "f", "sensitive_content": "", "content_base64": "" });
    assert_refused("local_file", two, "one (and only one)");
}

#[test]
fn permissions_are_checked() {
    for name in ["file_permission", "directory_permission"] {
        for invalid in ["", "77", "07777", "0888", "rwx"] {
            let mut config = json!({ "filename": "f", "content": "" });
            config[name] = json!(invalid);
            assert_refused("local_file", config.clone(), "must be a permission");
            assert_refused("local_sensitive_file", config, "must be a permission");
        }
    }
}

#[test]
fn permissions_have_defaults_and_are_set() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let mode = |name: &str| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    let secret = json!({ "filename": place.name("secret/file"), "content": "" });
    let state = local().create("local_sensitive_file", secret).unwrap();
    assert_eq!(state.get::<String>("file_permission"), "0700");
    assert_eq!(state.get::<String>("directory_permission"), "0700");
    assert_eq!((mode("secret/file"), mode("secret")), (0o700, 0o700));

    let plain = json!({ "filename": place.name("plain"), "content": "", "file_permission": "600" });
    let state = local().create("local_file", plain).unwrap();
    assert_eq!(state.get::<String>("file_permission"), "600");
    assert_eq!(state.get::<String>("directory_permission"), "0777");
    assert_eq!(mode("plain"), 0o600);
    assert!(state.warnings.is_empty());
}

#[test]
fn any_change_replaces_a_file() {
    let place = Place::new();
    let config = json!({ "filename": place.name("file"), "content": "Hello" });
    for type_name in BOTH {
        let state = local().create(type_name, config.clone()).unwrap();
        for (name, value) in [
            ("filename", json!(place.name("other"))),
            ("content", json!("Bye")),
            ("file_permission", json!("0644")),
            ("directory_permission", json!("0755")),
        ] {
            let mut other = config.clone();
            other[name] = value;
            assert_eq!(action(type_name, &state, &other), Action::Replace, "{name}");
        }
        let encoded = json!({ "filename": place.name("file"), "content_base64": "SGVsbG8=" });
        let plan = local().plan(type_name, Some(&state), encoded).unwrap();
        assert_eq!(plan.action, Action::Replace);
        assert!(plan.object.unwrap().is_unknown("content_md5"));
    }
}

#[test]
fn a_file_that_is_gone_or_another_is_dropped() {
    for type_name in BOTH {
        let place = Place::new();
        let config = json!({ "filename": place.name("file"), "content": "Hello" });
        let state = local().create(type_name, config).unwrap();
        std::fs::write(place.path("file"), "Bye").unwrap();
        assert!(local().read(type_name, &state).unwrap().is_none());
        std::fs::write(place.path("file"), "Hello").unwrap();
        assert!(local().read(type_name, &state).unwrap().is_some());
        std::fs::remove_file(place.path("file")).unwrap();
        assert!(local().read(type_name, &state).unwrap().is_none());
        std::fs::create_dir(place.path("file")).unwrap();
        assert!(local().read(type_name, &state).is_err());
    }
}

#[test]
fn a_file_that_stays_behind_is_a_warning() {
    let place = Place::new();
    let config = json!({ "filename": place.name("file"), "content": "Hello" });
    let state = local().create("local_file", config).unwrap();
    std::fs::remove_file(place.path("file")).unwrap();
    std::fs::create_dir(place.path("file")).unwrap();
    local().delete("local_file", &state).unwrap();
    assert!(place.path("file").is_dir());
}

#[test]
fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
    let place = Place::new();
    for (name, value, expected) in [
        ("source", place.name("missing"), "does not exist"),
        ("content_base64", "???".to_owned(), "not base64"),
    ] {
        let mut config = json!({ "filename": place.name("file") });
        config[name] = json!(value);
        let failed = local().create("local_file", config).unwrap_err();
        assert!(failed.diagnostics.to_string().contains(expected), "{}", failed.diagnostics);
        assert!(failed.state.is_none() && !place.path("file").exists());
    }
    std::fs::write(place.path("file"), "").unwrap();
    let below = json!({ "filename": place.name("file/below"), "content": "" });
    assert!(local().create("local_file", below).is_err());
}

#[test]
fn files_of_the_official_provider_stay() {
    let place = Place::new();
    std::fs::write(place.path("file"), "Hello").unwrap();
    for (type_name, permission) in [("local_file", "0777"), ("local_sensitive_file", "0700")] {
        let mut stored = json!({
            "content": "Hello", "content_base64": null, "source": null,
            "content_base64sha256": "GF+NsyJx/iX1Yab8k4suJkMG7DBO2lGAB9F2SCY4GWk=",
            "content_base64sha512": "NhX4DJ0pPtdAJof5SyLVjlKbjMeRb4+sf915+9Wvuop03RJlQO+6hYSNDHwXw1Pf0LZQvJd5Nh0qYPJ1sVNc",
            "content_md5": "8b1a9953c4611296a827abf8c47804d7", "content_sha1": HELLO,
            "content_sha256": "185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969",
            "content_sha512": "not compared", "directory_permission": permission,
            "file_permission": permission, "filename": place.name("file"), "id": HELLO
        });
        if type_name == "local_file" {
            stored["sensitive_content"] = json!(null);
        }
        let state = local().stored(type_name, 0, &stored).unwrap();
        let state = local().read(type_name, &state).unwrap().unwrap();
        let config = json!({ "filename": place.name("file"), "content": "Hello" });
        assert_eq!(action(type_name, &state, &config), Action::NoOp);
    }
}

#[test]
fn a_state_from_before_the_checksums_stays() {
    let place = Place::new();
    std::fs::write(place.path("file"), "Hello").unwrap();
    let stored = json!({
        "content": "Hello", "directory_permission": "0777", "file_permission": "0777",
        "filename": place.name("file"), "id": HELLO
    });
    let state = local().stored("local_file", 0, &stored).unwrap();
    let state = local().read("local_file", &state).unwrap().unwrap();
    let config = json!({ "filename": place.name("file"), "content": "Hello" });
    assert_eq!(action("local_file", &state, &config), Action::NoOp);
}

#[test]
fn nothing_is_imported() {
    for type_name in BOTH {
        let failed = local().import(type_name, "file").unwrap_err();
        assert!(failed.diagnostics.to_string().contains("cannot be imported"));
    }
}
