//! The state manager with encryption: no stored object contains a plain value.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_state::{
    BackupRule, Instance, LockRequest, Object, State, StateFileOptions, StateManager, StateProblem,
    decode_state,
};

use super::{METHODS, host, state_encryption};

const SECRET: &str = "correct horse";

fn open(directory: &TempDir, state: Option<&str>) -> StateManager {
    let options = StateFileOptions {
        terraform_version: "1.11.4".into(),
        backup: BackupRule::DefaultPath,
        read_from: None,
    };
    let manager = StateManager::open_file(directory.path().join("terraform.tfstate"), options);
    let encryption =
        state.map(|state| state_encryption(&format!("{METHODS}\nstate {{\n{state}\n}}"), host()));
    manager.with_encryption(encryption.map(|encryption| encryption as _))
}

fn address(text: &str) -> ResourceInstanceAddress {
    text.parse().unwrap()
}

fn provider() -> ProviderConfigAddress {
    "provider[\"registry.terraform.io/hashicorp/random\"]".parse().unwrap()
}

fn instance(id: &str) -> Instance {
    Instance::with_current(Object::new(0, format!("{{\"id\":\"{SECRET} {id}\"}}")))
}

fn with(state: &State, name: &str, id: &str) -> State {
    let mut state = state.clone();
    state.set_instance(&address(name), &provider(), instance(id));
    state
}

fn request() -> LockRequest {
    LockRequest {
        operation: "test".into(),
        info: String::new(),
        who: "me@here".into(),
        version: "1.11.4".into(),
    }
}

/// Checks that no file contains the secret, and returns the names of the files.
fn encrypted_files(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let has_secret = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!has_secret, "{} contains a plain value", path.display());
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    names
}

fn journal(directory: &TempDir) -> PathBuf {
    directory.path().join(".terraform.tfstate.journal")
}

const NEW: &str = "method = method.aes_gcm.new";
const ROTATED: &str = "method = method.aes_gcm.new\nfallback {\nmethod = method.aes_gcm.old\n}";
const ENTERING: &str = "method = method.aes_gcm.new\nfallback {\nmethod = method.unencrypted.none\n}";
const LEAVING: &str = "method = method.unencrypted.none\nfallback {\nmethod = method.aes_gcm.new\n}";

#[tokio::test]
async fn stored_objects_contain_no_plain_value() {
    let directory = TempDir::new().unwrap();
    let first =
        open(&directory, Some(NEW)).write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let mut manager = open(&directory, Some(NEW));
    let read = manager.read().await.unwrap();
    assert_eq!(*read, *first);
    let second = with(&read, "random_id.b", "2");
    let mut journal = manager.begin().await.unwrap();
    journal.record_intent(&address("random_id.b"), "create");
    journal.record(&address("random_id.b"), &provider(), Some(&instance("2")));
    journal.commit().unwrap();
    assert!(encrypted_files(directory.path()).contains(&".terraform.tfstate.journal".to_owned()));
    manager.write_errored(directory.path(), &second).await.unwrap();
    let written = manager.finish(journal, &read, &second).await.unwrap();
    assert_eq!(
        encrypted_files(directory.path()),
        ["errored.tfstate", "terraform.tfstate", "terraform.tfstate.backup"]
    );
    let stored: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join("terraform.tfstate")).unwrap()).unwrap();
    assert_eq!(stored["serial"], written.serial);
    assert_eq!(stored["lineage"], written.lineage);
    assert_eq!(*open(&directory, Some(NEW)).read().await.unwrap(), *written);
    let error = open(&directory, None).read().await.unwrap_err();
    assert!(matches!(error.problem, StateProblem::Encrypted), "{error}");
}

#[tokio::test]
async fn interrupted_run_is_recovered_from_encrypted_journal() {
    let directory = TempDir::new().unwrap();
    let first =
        open(&directory, Some(NEW)).write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let mut manager = open(&directory, Some(NEW));
    manager.read().await.unwrap();
    let mut records = manager.begin().await.unwrap();
    records.record_intent(&address("random_id.c"), "create");
    records.record(&address("random_id.b"), &provider(), Some(&instance("2")));
    records.commit().unwrap();
    records.record(&address("random_id.a"), &provider(), None);
    drop(records);
    drop(manager);
    let text = fs::read_to_string(journal(&directory)).unwrap();
    assert!(!text.contains("random_id") && text.contains("\"wardian_journal\":3"), "{text}");

    let error = open(&directory, None).read().await.unwrap_err();
    assert!(error.to_string().contains("encrypted"), "{error}");
    let error = open(&directory, Some("method = method.aes_gcm.old")).read().await.unwrap_err();
    assert!(matches!(error.problem, StateProblem::Encryption(_)), "{error}");

    let mut manager = open(&directory, Some(NEW));
    manager.lock(&request()).await.unwrap();
    let recovered = manager.read().await.unwrap();
    let recovery = manager.recovery().unwrap().clone();
    assert_eq!((recovery.changes, recovery.incomplete.len(), recovery.folded), (2, 1, true));
    assert_eq!(recovered.serial, first.serial + 1);
    let ids: Vec<String> = recovered.instances().map(|(address, ..)| address.to_string()).collect();
    assert_eq!(ids, ["random_id.b"]);
    manager.unlock().await.unwrap();
    assert!(!encrypted_files(directory.path()).contains(&".terraform.tfstate.journal".to_owned()));
    assert_eq!(*open(&directory, Some(NEW)).read().await.unwrap(), *recovered);
}

#[tokio::test]
async fn changed_journal_is_rejected() {
    let directory = TempDir::new().unwrap();
    let mut manager = open(&directory, Some(NEW));
    manager.read().await.unwrap();
    let mut records = manager.begin().await.unwrap();
    for name in ["random_id.a", "random_id.b"] {
        records.record(&address(name), &provider(), Some(&instance("1")));
        records.commit().unwrap();
    }
    drop((records, manager));
    let whole = fs::read_to_string(journal(&directory)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 4, "the key, the first line and two records");
    // A line whose checksum is correct, but whose content was exchanged.
    let json = lines[3].split_once(' ').unwrap().1;
    let mut hasher_input = lines[1].split_once(' ').unwrap().0.to_owned();
    hasher_input.push_str(json);
    let checksum = checksum(&hasher_input);
    let text = format!("{}\n{}\n{checksum} {json}\n", lines[0], lines[1]);
    fs::write(journal(&directory), text).unwrap();
    let error = open(&directory, Some(NEW)).read().await.unwrap_err();
    assert!(matches!(error.problem, StateProblem::DamagedJournal { .. }), "{error}");
    // An incomplete last line is dropped.
    fs::write(journal(&directory), &whole[..whole.len() - 10]).unwrap();
    let mut manager = open(&directory, Some(NEW));
    assert_eq!(manager.read().await.unwrap().instances().count(), 1);
    assert!(manager.recovery().unwrap().ignored_bytes > 0);
    for end in 0..whole.len() {
        fs::write(journal(&directory), &whole[..end]).unwrap();
        let read = open_shared(&directory).read().await;
        assert!(read.is_ok() || !whole[..end].contains('\n'), "{end}");
    }
}

/// Returns a manager whose encryption retains the derived key.
fn open_shared(directory: &TempDir) -> StateManager {
    static SHARED: std::sync::LazyLock<std::sync::Arc<wardian_encryption::TargetEncryption>> =
        std::sync::LazyLock::new(|| state_encryption(&format!("{METHODS}\nstate {{\n{NEW}\n}}"), host()));
    open(directory, None).with_encryption(Some(SHARED.clone()))
}

fn checksum(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

#[tokio::test]
async fn plain_journal_needs_the_unencrypted_method() {
    let directory = TempDir::new().unwrap();
    let mut manager = open(&directory, None);
    manager.read().await.unwrap();
    let mut records = manager.begin().await.unwrap();
    records.record(&address("random_id.a"), &provider(), Some(&instance("1")));
    drop((records, manager));
    let error = open(&directory, Some(NEW)).read().await.unwrap_err();
    assert!(error.to_string().contains("it is not encrypted"), "{error}");
    let mut manager = open(&directory, Some(ENTERING));
    manager.lock(&request()).await.unwrap();
    assert_eq!(manager.read().await.unwrap().instances().count(), 1);
    manager.unlock().await.unwrap();
    encrypted_files(directory.path());
}

#[tokio::test]
async fn existing_state_is_encrypted_with_its_backup() {
    let directory = TempDir::new().unwrap();
    let plain = open(&directory, None).write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let error = open(&directory, Some(NEW)).read().await.unwrap_err();
    assert!(matches!(error.problem, StateProblem::NotEncrypted), "{error}");
    assert!(error.hint().unwrap().contains("unencrypted"));

    let mut manager = open(&directory, Some(ENTERING));
    assert!(manager.is_outdated().await.unwrap());
    let written = manager.write(&plain).await.unwrap();
    assert_eq!(written.serial, plain.serial + 1, "the state is written although its content is the same");
    assert_eq!(encrypted_files(directory.path()), ["terraform.tfstate", "terraform.tfstate.backup"]);
    let mut manager = open(&directory, Some(NEW));
    assert_eq!(*manager.read().await.unwrap(), *written);
    assert!(!manager.is_outdated().await.unwrap());
    let bytes = fs::read(directory.path().join("terraform.tfstate")).unwrap();
    manager.write(&written).await.unwrap();
    assert_eq!(fs::read(directory.path().join("terraform.tfstate")).unwrap(), bytes, "nothing has changed");
    fs::copy(directory.path().join("terraform.tfstate.backup"), directory.path().join("terraform.tfstate"))
        .unwrap();
    assert_eq!(*open(&directory, Some(NEW)).read().await.unwrap(), *plain, "the backup can be restored");
}

#[tokio::test]
async fn encryption_is_removed_and_rotated() {
    let directory = TempDir::new().unwrap();
    let old = "method = method.aes_gcm.old";
    let first =
        open(&directory, Some(old)).write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let second = open(&directory, Some(ROTATED)).write(&first).await.unwrap();
    assert_eq!(second.serial, first.serial + 1);
    assert!(open(&directory, Some(old)).read().await.is_err());
    let third = open(&directory, Some(LEAVING)).write(&second).await.unwrap();
    let bytes = fs::read(directory.path().join("terraform.tfstate")).unwrap();
    assert_eq!(decode_state(&bytes).unwrap().unwrap(), *third);
    assert_eq!(*open(&directory, None).read().await.unwrap(), *third);
}

#[tokio::test]
async fn empty_plain_state_is_accepted_and_encrypted() {
    let directory = TempDir::new().unwrap();
    open(&directory, None).write(&State::with_new_lineage()).await.unwrap();
    let mut manager = open(&directory, Some(NEW));
    let empty = manager.read().await.unwrap();
    assert!(manager.is_outdated().await.unwrap());
    manager.write_verbatim(&empty).await.unwrap();
    let bytes = fs::read(directory.path().join("terraform.tfstate")).unwrap();
    assert!(wardian_encryption::is_encrypted(&bytes));
}

#[tokio::test]
async fn damaged_states_are_errors_and_are_not_changed() {
    let directory = TempDir::new().unwrap();
    open(&directory, Some(NEW)).write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let path = directory.path().join("terraform.tfstate");
    let whole = fs::read(&path).unwrap();
    for damaged in [&whole[..whole.len() / 2], &whole[1..], b"{}", b"[", b"{\"version\":5}", b"\xff"] {
        fs::write(&path, damaged).unwrap();
        assert!(open(&directory, Some(NEW)).write(&State::default()).await.is_err());
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
}
