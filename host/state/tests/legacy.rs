//! State files of older versions, and unusual files of version 4, compared with Terraform's
//! results. With `WARDIAN_RECORD=1` and `terraform` on PATH, Terraform's results are recorded
//! again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use wardian_state::{Attributes, StateProblem, decode_state, encode_state};

fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/states/legacy");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tfstate"))
        .collect();
    files.sort();
    files
}

/// Returns the state that Terraform writes after reading the given state.
fn pulled_by_terraform(state: &Path) -> String {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(state, directory.path().join("terraform.tfstate")).unwrap();
    let output = Command::new("terraform")
        .args(["state", "pull"])
        .current_dir(directory.path())
        .env_remove("TF_CLI_CONFIG_FILE")
        .env("CHECKPOINT_DISABLE", "1")
        .env("HOME", directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    format!("{}\n", text.trim_end())
}

#[test]
fn legacy_states_match_terraform() {
    let cases = cases();
    assert_eq!(cases.len(), 10);
    for path in cases {
        let expected = path.with_extension("json");
        if std::env::var_os("WARDIAN_RECORD").is_some() {
            fs::write(&expected, pulled_by_terraform(&path)).unwrap();
        }
        let mut state = decode_state(&fs::read(&path).unwrap()).unwrap().unwrap();
        "1.11.4".clone_into(&mut state.terraform_version);
        assert_eq!(
            encode_state(&state).unwrap(),
            fs::read_to_string(&expected).unwrap(),
            "{}",
            path.display()
        );
    }
}

/// Terraform drops tainted objects of version 1, although they exist.
#[test]
fn version_1_tainted_objects_are_retained() {
    let text = r#"{"version":1,"serial":3,"modules":[{"path":["root"],"resources":{"a_b.c":{
        "tainted":[{"id":"t1"},{"id":"t2"}],"deposed":[{"id":"d"}]}}}]}"#;
    let state = decode_state(text.as_bytes()).unwrap().unwrap();
    let instance = state.instance(&"a_b.c".parse().unwrap()).unwrap();
    let current = instance.current.as_ref().unwrap();
    assert!(current.is_tainted());
    let Attributes::Flat(attributes) = &current.attributes else { panic!("{current:?}") };
    assert_eq!(attributes["id"], "t1");
    let keys: Vec<&str> = instance.deposed.keys().map(|key| key.as_str()).collect();
    assert_eq!(keys, ["00000001", "00000002"]);
}

fn problem(modules: &str) -> String {
    let text = format!(r#"{{"version":3,"serial":1,"lineage":"l","modules":[{modules}]}}"#);
    match decode_state(text.as_bytes()) {
        Err(problem) => problem.to_string(),
        Ok(state) => format!("no problem: {state:?}"),
    }
}

fn with_resource(name: &str, provider: &str) -> String {
    problem(&format!(
        r#"{{"path":["root"],"resources":{{"{name}":{{"primary":{{"id":"1"}},"provider":"{provider}"}}}}}}"#
    ))
}

#[test]
fn invalid_members_are_reported_with_location() {
    for (name, expected) in [
        ("a", "resource a: the key does not have the form TYPE.NAME, optionally followed by an index"),
        ("a.b.c", "resource a.b.c: the index \"c\" is not a whole number"),
        ("a.b.-1", "resource a.b.-1: the index \"-1\" is not a whole number"),
        (
            "a.b.0.d",
            "resource a.b.0.d: the key does not have the form TYPE.NAME, optionally followed by an index",
        ),
        ("data.x", "no problem"),
        ("a.", "resource a.: its type or its name is empty"),
    ] {
        assert!(with_resource(name, "").starts_with(expected), "{name}: {}", with_resource(name, ""));
    }
    for provider in ["provider.x.y.z", "a.b.c", "a_b", "a.b c", "provider."] {
        let found = with_resource("a.b", provider);
        assert!(found.starts_with("resource a.b: "), "{provider}: {found}");
    }
    for (path, expected) in [
        ("[]", "module path []: it is empty but must begin with \"root\""),
        ("[\"foo\"]", "module path [\"foo\"]: it does not begin with \"root\""),
        ("[\"root\", \"9 x\"]", "module path [\"root\", \"9 x\"]: "),
    ] {
        let found = problem(&format!("{{\"path\":{path}}}"));
        assert!(found.starts_with(expected), "{found}");
    }
    let twice = r#"{"path":["root"],"resources":{"a.b":{"primary":{"id":"q"}}}}"#;
    assert_eq!(problem(&format!("{twice},{twice}")), "resource a.b: this instance occurs more than once");
    let minus = decode_state(br#"{"version":3,"serial":-1}"#);
    assert_eq!(minus.unwrap_err().to_string(), "\"serial\": it is less than zero");
    let writer = decode_state(br#"{"version":3,"terraform_version":"zzz"}"#);
    assert!(matches!(writer, Err(StateProblem::WriterVersion(version)) if version == "zzz"));
}

#[test]
fn writer_versions_are_parsed_leniently() {
    let read = |version: &str| {
        decode_state(format!(r#"{{"version":4,"terraform_version":"{version}"}}"#).as_bytes()).is_ok()
    };
    for version in
        ["0.11.14", "0.12.0", "2.0.0", "9.9.9-beta1", "1.11", "v1.2.3", "1", "", "1.2.3.4", "01.2.3"]
    {
        assert!(read(version), "{version}");
    }
    for version in ["x", "1.x", ".", "1..2", "+1.2", "1.2-", "1.2 3"] {
        assert!(!read(version), "{version}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Checks that reading a damaged file returns a result for any kind of damage.
    #[test]
    fn damaged_files_never_panic(
        which in 0usize..3, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let files: [&[u8]; 3] = [
            include_bytes!("states/legacy/version_1.tfstate"),
            include_bytes!("states/legacy/version_2.tfstate"),
            include_bytes!("states/legacy/version_3.tfstate"),
        ];
        let mut bytes = files[which].to_vec();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(Some(state)) = decode_state(&bytes) {
            let text = encode_state(&state).unwrap();
            prop_assert!(decode_state(text.as_bytes()).is_ok(), "{text}");
        }
    }
}
