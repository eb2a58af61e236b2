use std::fs;
use std::process::Command;

use proptest::prelude::*;
use wardian_address::ConstraintDialect;

use super::*;

const EXAMPLE: &str = r#"# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.4"
}

provider "registry.terraform.io/hashicorp/random" {
  version     = "3.7.2"
  constraints = "~> 3.5, >= 3.7.0"
  hashes = [
    "h1:DBD3jwW+V36BybqzDaTEhKWRclYw0Qrojsri6lKeVgY=",
    "zh:14829603a32e4bc4d05062f059e545a91e27ff033756b48afbae6b3c835f508f",
  ]
}
"#;

fn parse(text: &str) -> Result<LoadedLockFile, LockFileError> {
    LockFile::parse(text, Path::new(".terraform.lock.hcl"))
}

fn problems(text: &str) -> Vec<String> {
    match parse(text) {
        Err(LockFileError::Invalid { problems }) => problems.iter().map(ToString::to_string).collect(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn parse_and_render_round_trip() {
    let loaded = parse(EXAMPLE).unwrap();
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.lock.providers.len(), 2);
    assert_eq!(loaded.lock.render(), EXAMPLE);
}

#[test]
fn empty_file_is_an_empty_lock() {
    assert_eq!(parse("").unwrap(), LoadedLockFile::default());
    let missing = LockFile::load(Path::new("/nonexistent/.terraform.lock.hcl")).unwrap();
    assert_eq!(missing, LoadedLockFile::default());
}

#[test]
fn module_blocks_cause_a_warning() {
    let loaded = parse("\nmodule \"a\" {}\n").unwrap();
    let [LockFileWarning::ModuleBlock(position)] = loaded.warnings.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(position.to_string(), ".terraform.lock.hcl:2");
}

#[test]
fn errors_state_position_and_reason() {
    let inside = |content: &str| {
        format!(
            "provider \"registry.terraform.io/hashicorp/random\" {{\n  version = \"3.7.2\"\n  {content}\n}}\n"
        )
    };
    for (text, expected) in [
        (inside("bogus = 1"), "3: an argument named \"bogus\" is not expected here"),
        (inside("x {\n}"), "3: blocks of type \"x\" are not expected here"),
        (
            inside("hashes = [\"foo\"]"),
            "3: \"foo\" is not a package hash: a hash is a scheme, a colon and a value, such as \"h1:…\"",
        ),
        (inside("hashes = \"h1:a\""), "3: the argument \"hashes\" must be a list of quoted strings"),
        (
            inside("hashes = [for x in [\"h1:a\"]: x]"),
            "3: the argument \"hashes\" must be a list of quoted strings",
        ),
        (
            inside("constraints = \"~>3\""),
            "3: the version constraints must be written in normalized form: \"~> 3.0\"",
        ),
        (
            inside("constraints = \"foo\""),
            "3: invalid version constraint \"foo\": \"foo\" is not a version number",
        ),
        ("foo \"a\" {}\n".to_owned(), "1: blocks of type \"foo\" are not expected here"),
        ("a = 1\n".to_owned(), "1: an argument named \"a\" is not expected here"),
        (
            "provider \"hashicorp/random\" {\n version = \"1.0.0\"\n}\n".to_owned(),
            "1: the provider address \"hashicorp/random\" must be written in its full form, \"registry.terraform.io/hashicorp/random\"",
        ),
        (
            "provider \"terraform.io/builtin/terraform\" {\n version = \"1.0.0\"\n}\n".to_owned(),
            "1: the provider terraform.io/builtin/terraform is never installed, so it cannot have a lock entry; remove this block",
        ),
        (
            "provider \"registry.terraform.io/hashicorp/random\" {\n}\n".to_owned(),
            "1: the argument \"version\" is required",
        ),
        (
            "provider \"registry.terraform.io/hashicorp/random\" {\n version = \"3.7\"\n}\n".to_owned(),
            "2: \"3.7\" is not an exact version of three numbers, such as \"1.2.3\"",
        ),
        (
            "provider \"registry.terraform.io/hashicorp/random\" {\n version = var.x\n}\n".to_owned(),
            "2: the argument \"version\" must be a quoted string",
        ),
        (
            "provider \"a\" \"b\" {\n}\n".to_owned(),
            "1: a provider block has exactly one label, the provider's address",
        ),
    ] {
        assert_eq!(problems(&text), [format!(".terraform.lock.hcl:{expected}")]);
    }
    let twice = format!("{EXAMPLE}{EXAMPLE}");
    assert_eq!(problems(&twice).len(), 2);
    assert!(problems(&twice)[0].ends_with("already has an entry on line 4; remove one of them"));
    assert!(problems("provider \"x\n")[0].starts_with(".terraform.lock.hcl:1: syntax error"));
}

#[test]
fn save_replaces_file_without_temporary_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(LOCK_FILE_NAME);
    fs::write(&path, "old").unwrap();
    let lock = parse(EXAMPLE).unwrap().lock;
    lock.save(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), EXAMPLE);
    assert_eq!(LockFile::load(&path).unwrap().lock, lock);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(matches!(lock.save(&directory.path().join("no/such")), Err(LockFileError::Write { .. })));
    #[cfg(unix)]
    {
        // Symbolic links are replaced, and a link at a guessed name of the temporary file has no
        // effect.
        let target = directory.path().join("precious");
        fs::write(&target, "precious").unwrap();
        fs::remove_file(&path).unwrap();
        let foreseen = directory.path().join(format!("{LOCK_FILE_NAME}.{}.tmp", std::process::id()));
        for link in [&path, &foreseen] {
            std::os::unix::fs::symlink(&target, link).unwrap();
        }
        lock.save(&path).unwrap();
        assert!(!path.is_symlink() && foreseen.is_symlink());
        assert_eq!(fs::read_to_string(target).unwrap(), "precious");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(LockFile::load(&path), Err(LockFileError::NotText { .. })));
}

#[test]
fn terraform_reads_written_lock_files() {
    let directory = tempfile::tempdir().unwrap();
    parse(EXAMPLE).unwrap().lock.save(&directory.path().join(LOCK_FILE_NAME)).unwrap();
    let output = Command::new("terraform").args(["version", "-json"]).current_dir(directory.path()).output();
    let Ok(output) = output else {
        eprintln!("skipped: terraform is not on PATH");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    for expected in [
        "\"registry.terraform.io/hashicorp/null\": \"3.2.4\"",
        "\"registry.terraform.io/hashicorp/random\": \"3.7.2\"",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

fn any_entry() -> impl Strategy<Value = (ProviderAddress, LockEntry)> {
    (
        "[a-z]{1,6}(\\.[a-z]{2,3})?",
        "[a-z0-9]{1,5}",
        "[a-z]{1,5}",
        (0u64..99, 0u64..99, 0u64..99),
        prop::sample::select(vec!["", "~> 1", ">=1, <3", "1.2.0-beta1", "!= 4.1"]),
        prop::collection::btree_set("(h1|zh|x):[A-Za-z0-9+/=]{0,44}", 0..4),
    )
        .prop_map(|(host, namespace, type_name, version, constraints, hashes)| {
            (
                ProviderAddress::parse(&format!("{host}/{namespace}/{type_name}")).unwrap(),
                LockEntry {
                    version: Version::new(version.0, version.1, version.2),
                    constraints: Constraints::parse(constraints, ConstraintDialect::Provider).unwrap(),
                    hashes: hashes.iter().map(|hash| PackageHash::parse(hash).unwrap()).collect(),
                },
            )
        })
}

proptest! {
    #[test]
    fn arbitrary_lock_files_round_trip(providers in prop::collection::btree_map(
        prop::num::u8::ANY, any_entry(), 0..5)) {
        let lock = LockFile { providers: providers.into_values().collect() };
        let loaded = parse(&lock.render()).unwrap();
        prop_assert_eq!(loaded.lock, lock);
    }

    #[test]
    fn lock_file_parser_never_panics(text in "\\PC{0,80}", cut in 0usize..EXAMPLE.len(), noise in "[{}\"=\\[\\], \n#$%a]{0,20}") {
        let _ = parse(&text);
        let _ = parse(&format!("{}{noise}", &EXAMPLE[..cut]));
    }
}
