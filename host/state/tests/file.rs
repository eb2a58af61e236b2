//! State files on disk: writing, backups and journals of interrupted runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use futures::executor::block_on;
use tempfile::TempDir;
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_state::{
    BackupRule, Instance, Object, State, StateFileOptions, StateManager, StateProblem, decode_state,
    encode_state,
};

fn options() -> StateFileOptions {
    StateFileOptions { terraform_version: "1.11.4".into(), backup: BackupRule::DefaultPath, read_from: None }
}

fn open(directory: &TempDir) -> StateManager {
    StateManager::open_file(directory.path().join("terraform.tfstate"), options())
}

fn address(text: &str) -> ResourceInstanceAddress {
    text.parse().unwrap()
}

fn provider() -> ProviderConfigAddress {
    "provider[\"registry.terraform.io/hashicorp/random\"]".parse().unwrap()
}

fn instance(id: &str) -> Instance {
    Instance::with_current(Object::new(0, format!("{{\"id\":\"{id}\"}}")))
}

fn with(state: &State, text: &str, id: &str) -> State {
    let mut state = state.clone();
    state.set_instance(&address(text), &provider(), instance(id));
    state
}

fn on_disk(directory: &TempDir) -> State {
    let bytes = fs::read(directory.path().join("terraform.tfstate")).unwrap();
    decode_state(&bytes).unwrap().unwrap()
}

fn files(directory: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn journal(directory: &TempDir) -> PathBuf {
    directory.path().join(".terraform.tfstate.journal")
}

/// Creates the files of a run that was killed after two changes.
fn interrupted(directory: &TempDir) {
    let mut file = open(directory);
    let mut journal = block_on(file.begin()).unwrap();
    journal.record(&address("random_id.a"), &provider(), Some(&instance("1")));
    journal.record(&address("random_id.b[0]"), &provider(), Some(&instance("2")));
    drop(journal);
}

#[test]
fn first_write_creates_lineage_and_second_creates_backup() {
    let directory = TempDir::new().unwrap();
    let mut file = open(&directory);
    let empty = block_on(file.read()).unwrap();
    assert!(empty.is_empty() && empty.lineage.is_empty());
    let first = block_on(file.write(&with(&empty, "random_id.a", "1"))).unwrap();
    assert_eq!(first.serial, 1);
    assert_eq!(first.lineage.len(), 36);
    assert_eq!(files(&directory), ["terraform.tfstate"]);

    let mut file = open(&directory);
    let before = block_on(file.read()).unwrap();
    let second = block_on(file.write(&with(&before, "random_id.b", "2"))).unwrap();
    block_on(file.write(&with(&second, "random_id.c", "3"))).unwrap();
    assert_eq!(files(&directory), ["terraform.tfstate", "terraform.tfstate.backup"]);
    let backup = fs::read(directory.path().join("terraform.tfstate.backup")).unwrap();
    assert_eq!(decode_state(&backup).unwrap().unwrap(), *first);
    assert_eq!(on_disk(&directory).serial, 3);
    assert_eq!(on_disk(&directory).lineage, first.lineage);
}

#[test]
fn unchanged_state_is_not_written() {
    let directory = TempDir::new().unwrap();
    let mut file = open(&directory);
    let state = State::default();
    let written = block_on(file.write(&with(&state, "random_id.a", "1"))).unwrap();
    let mut file = open(&directory);
    block_on(file.write(&written)).unwrap();
    assert_eq!(on_disk(&directory).serial, 1);
    assert_eq!(files(&directory), ["terraform.tfstate"]);
}

#[test]
fn recreated_object_increments_serial() {
    let directory = TempDir::new().unwrap();
    let mut file = open(&directory);
    let first = block_on(file.write(&with(&State::default(), "random_pet.a", "one"))).unwrap();
    let journal = block_on(file.begin()).unwrap();
    let second = block_on(file.finish(journal, &State::default(), &first)).unwrap();
    assert_eq!(second.serial, first.serial + 1);
    let mut journal = block_on(file.begin()).unwrap();
    journal.record(&address("random_pet.a"), &provider(), Some(&instance("one")));
    let third = block_on(file.finish(journal, &second, &second)).unwrap();
    assert_eq!(third.serial, second.serial);
    assert_eq!(files(&directory), ["terraform.tfstate"]);
}

#[test]
fn interrupted_run_is_reported_and_recovered() {
    let directory = TempDir::new().unwrap();
    block_on(open(&directory).write(&with(&State::default(), "random_id.z", "0"))).unwrap();
    interrupted(&directory);

    let mut reader = open(&directory);
    assert_eq!(block_on(reader.read()).unwrap().instances().count(), 3);
    assert_eq!(reader.recovery().unwrap().changes, 2);
    assert!(!reader.recovery().unwrap().folded);
    assert_eq!(on_disk(&directory).serial, 1, "a reader writes nothing");

    let mut writer = open(&directory);
    let _ = block_on(writer.begin()).unwrap();
    assert!(writer.recovery().unwrap().folded);
    assert_eq!(on_disk(&directory).serial, 2);
    assert_eq!(on_disk(&directory).instances().count(), 3);
    assert!(!journal(&directory).exists());
    assert!(files(&directory).contains(&"terraform.tfstate.backup".to_owned()));
}

#[test]
fn interrupted_first_run_is_recovered() {
    let directory = TempDir::new().unwrap();
    interrupted(&directory);
    let mut writer = open(&directory);
    let _ = block_on(writer.begin()).unwrap();
    let state = on_disk(&directory);
    assert_eq!((state.serial, state.instances().count(), state.lineage.len()), (1, 2, 36));
}

#[test]
fn complete_lines_of_truncated_journal_are_read() {
    let directory = TempDir::new().unwrap();
    interrupted(&directory);
    let whole = fs::read(journal(&directory)).unwrap();
    let ends: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for cut in 0..=whole.len() {
        fs::write(journal(&directory), &whole[..cut]).unwrap();
        let whole_lines = ends.iter().filter(|end| **end <= cut).count();
        let state = block_on(open(&directory).read()).unwrap();
        assert_eq!(state.instances().count(), whole_lines.saturating_sub(1), "cut at {cut}");
    }
}

#[test]
fn truncated_journal_can_be_continued() {
    let directory = TempDir::new().unwrap();
    interrupted(&directory);
    let whole = fs::read(journal(&directory)).unwrap();
    fs::write(journal(&directory), &whole[..whole.len() - 3]).unwrap();
    let mut writer = open(&directory);
    let _ = block_on(writer.begin()).unwrap();
    assert_eq!(on_disk(&directory).instances().count(), 1);
    assert_eq!(files(&directory), ["terraform.tfstate"]);
}

#[test]
fn kill_during_rewrite_preserves_state() {
    let directory = TempDir::new().unwrap();
    let mut file = open(&directory);
    let first = block_on(file.write(&with(&State::default(), "random_id.z", "0"))).unwrap();
    let path = directory.path().join("terraform.tfstate");
    let before = fs::read(&path).unwrap();

    // A journal that ends with the complete new state, as after a run that was killed before it
    // rewrote the file.
    interrupted(&directory);
    let compact = |text: &str| {
        let value: Box<serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
        value.get().lines().map(str::trim_start).collect::<String>().replace("\": ", "\":")
    };
    let mut next = with(&first, "random_id.n", "9");
    next.serial = 2;
    let after = encode_state(&next).unwrap();
    let mut text = fs::read_to_string(journal(&directory)).unwrap();
    let last = text.lines().last().unwrap()[..16].to_owned();
    let line = format!("{{\"final\":{}}}", compact(&after));
    let checksum = blake3::hash(format!("{last}{line}").as_bytes()).to_hex()[..16].to_owned();
    text = format!("{text}{checksum} {line}\n");

    let half = after.len() / 2;
    let contents: [(&str, Vec<u8>); 5] = [
        ("before the first byte", before.clone()),
        ("the first byte gone", [b"~", &before[1..]].concat()),
        ("half way", [b"~", &after.as_bytes()[1..half]].concat()),
        ("before the last byte", [b"~", &after.as_bytes()[1..]].concat()),
        ("done", after.clone().into_bytes()),
    ];
    for (when, content) in contents {
        fs::write(journal(&directory), &text).unwrap();
        fs::write(&path, &content).unwrap();
        assert_eq!(*block_on(open(&directory).read()).unwrap(), next, "{when}");
        let mut writer = open(&directory);
        let _ = block_on(writer.begin()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{when}");
        assert!(!journal(&directory).exists(), "{when}");
    }

    // Another program has changed the state.
    fs::write(journal(&directory), &text).unwrap();
    let mut other = with(&first, "random_id.q", "9");
    other.serial = 2;
    fs::write(&path, encode_state(&other).unwrap()).unwrap();
    let error = block_on(open(&directory).read()).unwrap_err();
    assert!(matches!(error.problem, StateProblem::ForeignJournal { .. }));
}

#[test]
fn recovery_reports_incomplete_intents() {
    let directory = TempDir::new().unwrap();
    let mut file = open(&directory);
    block_on(file.read()).unwrap();
    let mut left = block_on(file.begin()).unwrap();
    let (a, b) = (address("random_id.a"), address("random_id.b[0]"));
    left.record_intent(&a, "create");
    left.record_intent(&b, "delete");
    left.record(&a, &provider(), Some(&instance("1")));
    left.record_intent(&a, "update");
    drop(left);
    let mut next = open(&directory);
    block_on(next.read()).unwrap();
    let recovery = next.recovery().unwrap();
    let begun: Vec<String> =
        recovery.incomplete.iter().map(|b| format!("{} {}", b.action, b.address)).collect();
    assert_eq!(begun, ["delete random_id.b[0]", "update random_id.a"]);
    assert_eq!(recovery.changes, 1);
}

#[test]
fn committed_records_are_in_file() {
    let directory = TempDir::new().unwrap();
    let mut file = open(&directory);
    let mut left = block_on(file.begin()).unwrap();
    let text = || fs::read_to_string(journal(&directory)).unwrap_or_default();
    let (a, b) = (address("random_id.a"), address("random_id.b[0]"));
    left.record_intent(&a, "create");
    left.record(&a, &provider(), Some(&instance("1")));
    left.commit().unwrap();
    let committed = text();
    assert_eq!(committed.lines().count(), 3);
    left.commit().unwrap();
    assert_eq!(text(), committed);
    left.record_intent(&b, "create");
    left.commit().unwrap();
    assert!(text().starts_with(&committed));
    assert_eq!(text().lines().count(), 4);
}

#[test]
fn journal_of_another_state_is_rejected_and_retained() {
    let directory = TempDir::new().unwrap();
    interrupted(&directory);
    let mut other = with(&State::with_new_lineage(), "random_id.q", "9");
    other.serial = 7;
    let path = directory.path().join("terraform.tfstate");
    fs::write(&path, encode_state(&other).unwrap()).unwrap();
    let error = block_on(open(&directory).read()).unwrap_err();
    assert!(matches!(error.problem, StateProblem::ForeignJournal { .. }), "{error}");
    assert!(error.hint().is_some());
    assert!(journal(&directory).exists());
    assert_eq!(on_disk(&directory), other);
}

#[test]
fn damaged_state_is_not_changed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("terraform.tfstate");
    for content in ["{\"version\": 4, ", "hello", "{\"version\": 9}", "{\"version\": 3, \"serial\": -1}"] {
        fs::write(&path, content).unwrap();
        let mut file = open(&directory);
        let error = block_on(file.read()).unwrap_err();
        assert!(error.to_string().contains("terraform.tfstate"), "{error}");
        assert!(block_on(file.write(&State::default())).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn changed_state_in_another_file_has_next_serial() {
    let directory = TempDir::new().unwrap();
    let first = block_on(open(&directory).write(&with(&State::default(), "random_id.a", "1"))).unwrap();
    let elsewhere = |name: &str| {
        let read_from = Some(directory.path().join("terraform.tfstate"));
        StateManager::open_file(directory.path().join(name), StateFileOptions { read_from, ..options() })
    };
    let mut file = elsewhere("changed");
    let state = block_on(file.read()).unwrap();
    assert_eq!(block_on(file.write(&with(&state, "random_id.b", "2"))).unwrap().serial, first.serial + 1);
    assert_eq!(on_disk(&directory), *first);
}

#[test]
fn serial_does_not_overflow() {
    let directory = TempDir::new().unwrap();
    let mut last = with(&State::with_new_lineage(), "random_id.a", "1");
    last.serial = u64::MAX;
    fs::write(directory.path().join("terraform.tfstate"), encode_state(&last).unwrap()).unwrap();
    let mut file = open(&directory);
    let state = block_on(file.read()).unwrap();
    assert_eq!(block_on(file.write(&with(&state, "random_id.b", "2"))).unwrap().serial, u64::MAX);
    let mut file = open(&directory);
    block_on(file.read()).unwrap();
    let mut journal = block_on(file.begin()).unwrap();
    journal.record(&address("random_id.c"), &provider(), Some(&instance("3")));
    drop(journal);
    assert_eq!(block_on(open(&directory).read()).unwrap().serial, u64::MAX);
}

#[test]
fn legacy_state_is_upgraded_on_change() {
    let directory = TempDir::new().unwrap();
    let old = r#"{"version":3,"serial":7,"lineage":"l","modules":[{"path":["root"],"resources":{"random_id.a":{"primary":{"id":"1"}}}}]}"#;
    fs::write(directory.path().join("terraform.tfstate"), old).unwrap();
    let mut file = open(&directory);
    let state = block_on(file.read()).unwrap();
    block_on(file.write(&state)).unwrap();
    assert_eq!(fs::read_to_string(directory.path().join("terraform.tfstate")).unwrap(), old);
    block_on(file.write(&with(&state, "random_id.b", "2"))).unwrap();
    let written = on_disk(&directory);
    assert_eq!((written.serial, written.lineage.as_str(), written.instances().count()), (8, "l", 2));
    assert_eq!(fs::read_to_string(directory.path().join("terraform.tfstate.backup")).unwrap(), old);
}

#[test]
fn file_changed_since_read_is_not_overwritten() {
    let directory = TempDir::new().unwrap();
    let mut mine = open(&directory);
    let state = block_on(mine.read()).unwrap();
    block_on(open(&directory).write(&with(&state, "random_id.theirs", "1"))).unwrap();
    let error = block_on(mine.write(&with(&state, "random_id.mine", "1"))).unwrap_err();
    assert!(matches!(error.problem, StateProblem::ChangedMeanwhile));
}

#[test]
fn write_errored_writes_emergency_file() {
    let directory = TempDir::new().unwrap();
    let state = with(&State::with_new_lineage(), "random_id.a", "1");
    let path = block_on(open(&directory).write_errored(directory.path(), &state)).unwrap();
    assert_eq!(path, directory.path().join("errored.tfstate"));
    assert_eq!(decode_state(&fs::read(path).unwrap()).unwrap().unwrap(), state);
}

/// Creates a directory that contains a symbolic link with this name to another user's file.
fn with_link(name: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("precious");
    fs::write(&target, "precious").unwrap();
    symlink(&target, directory.path().join(name)).unwrap();
    (directory, target)
}

#[test]
fn emergency_file_and_backup_replace_symlinks() {
    let (directory, target) = with_link("errored.tfstate");
    let state = with(&State::with_new_lineage(), "random_id.a", "1");
    let path = block_on(open(&directory).write_errored(directory.path(), &state)).unwrap();
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(decode_state(&fs::read(path).unwrap()).unwrap().unwrap(), state);
    assert_eq!(fs::read_to_string(target).unwrap(), "precious");

    // Symbolic links at guessed names of temporary files also have no effect.
    let (directory, target) = with_link("terraform.tfstate.backup");
    symlink(&target, directory.path().join(".terraform.tfstate.backup.new")).unwrap();
    let first = block_on(open(&directory).write(&with(&State::default(), "random_id.a", "1"))).unwrap();
    block_on(open(&directory).write(&with(&first, "random_id.a", "2"))).unwrap();
    let backup = directory.path().join("terraform.tfstate.backup");
    assert!(!fs::symlink_metadata(&backup).unwrap().is_symlink());
    assert_eq!(decode_state(&fs::read(backup).unwrap()).unwrap().unwrap(), *first);
    assert_eq!(fs::read_to_string(target).unwrap(), "precious");
}

#[test]
fn symlink_as_journal_is_rejected() {
    let (directory, target) = with_link(".terraform.tfstate.journal");
    let error = block_on(open(&directory).write(&State::default())).unwrap_err().to_string();
    assert!(error.contains(".terraform.tfstate.journal: ") && error.contains("symbolic link"), "{error}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");

    // A symbolic link that appears after the state was read, and one whose target does not exist
    // yet.
    for exists in [true, false] {
        let directory = TempDir::new().unwrap();
        let target = directory.path().join("precious");
        let mut file = open(&directory);
        let state = block_on(file.read()).unwrap();
        if exists {
            fs::write(&target, "precious").unwrap();
        }
        symlink(&target, journal(&directory)).unwrap();
        let error = block_on(file.write(&with(&state, "random_id.a", "1"))).unwrap_err().to_string();
        assert!(error.contains(".terraform.tfstate.journal: ") && error.contains("symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(&target).ok(), exists.then(|| "precious".to_owned()));
    }
}

#[test]
fn state_file_may_be_a_symlink() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("elsewhere");
    let link = directory.path().join("terraform.tfstate");
    symlink(&target, &link).unwrap();
    let state = block_on(open(&directory).write(&with(&State::default(), "random_id.a", "1"))).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(decode_state(&fs::read(target).unwrap()).unwrap().unwrap(), *state);
}

#[test]
fn state_is_read_from_one_file_and_written_to_another() {
    let directory = TempDir::new().unwrap();
    let mut file = open(&directory);
    let first = block_on(file.write(&with(&State::default(), "random_id.a", "1"))).unwrap();
    let out = directory.path().join("out.tfstate");
    let from = StateFileOptions { read_from: Some(directory.path().join("terraform.tfstate")), ..options() };
    let mut copy = StateManager::open_file(&out, from);
    let state = block_on(copy.read()).unwrap();
    assert_eq!(state, first);
    block_on(copy.write(&state)).unwrap();
    assert_eq!(decode_state(&fs::read(&out).unwrap()).unwrap().unwrap(), *first);
}

#[test]
fn hostile_journals_never_panic() {
    let directory = TempDir::new().unwrap();
    interrupted(&directory);
    let whole = fs::read(journal(&directory)).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        fs::write(journal(&directory), &bytes).unwrap();
        let _ = block_on(open(&directory).read());
    }
    for bytes in [&b"\n\n\n"[..], b"\xff\xff", b"0123456789abcdef {}\n", b" "] {
        fs::write(journal(&directory), bytes).unwrap();
        let _ = block_on(open(&directory).read());
    }
    assert!(Path::new(&journal(&directory)).exists());
}
