//! Faults of the service during writes: no change is lost, and no state is overwritten.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wardian_backend::Backend;
use wardian_state::{LockError, State, StateProblem, StorageEffect, StorageVersion, encode_state};
use wardian_state_server::{Fault, Response, StateServer};
use wardian_value::Value;

use crate::support::{
    SHORT_TIMEOUT, address, addresses, configure_with, host, instance, manager, provider, request, text, with,
};

fn backend(server: &StateServer, retries: u64, has_lock: bool) -> Arc<dyn Backend> {
    let url = text(server.url("/state"));
    let mut arguments = vec![
        ("address", url.clone()),
        ("retry_max", Value::number(retries)),
        ("retry_wait_min", Value::number(0)),
        ("retry_wait_max", Value::number(0)),
    ];
    if has_lock {
        arguments.extend([("lock_address", url.clone()), ("unlock_address", url)]);
    }
    configure_with("http", &arguments, &host(&[], SHORT_TIMEOUT)).unwrap()
}

fn stored(server: &StateServer) -> State {
    wardian_state::decode_state(&server.state("/state").unwrap()).unwrap().unwrap()
}

#[tokio::test]
async fn cut_connections_are_retried() {
    for fault in [Fault::CutBefore, Fault::CutAfter, Fault::Answer(Response::new(503, "later"))] {
        let (server, place) = (StateServer::start(), TempDir::new().unwrap());
        let mut state = manager(backend(&server, 2, true).state("default").unwrap(), place.path());
        state.lock(&request()).await.unwrap();
        for method in ["GET", "POST", "UNLOCK"] {
            server.fail_next(method, fault.clone());
        }
        state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
        state.unlock().await.unwrap();
        assert_eq!((stored(&server).serial, server.lock_of("/state")), (1, None), "{fault:?}");
        assert!(!place.path().join("state.journal").exists());
    }
}

#[tokio::test]
async fn lock_whose_response_is_lost_is_held() {
    let server = StateServer::start();
    server.fail_next("LOCK", Fault::CutAfter);
    let storage = backend(&server, 2, true).state("default").unwrap();
    let info = storage.lock(&request()).await.unwrap();
    assert!(server.lock_of("/state").unwrap().contains(&info.id));
    storage.unlock().await.unwrap();
    // Without a retry, the lock that may be held is released.
    server.fail_next("LOCK", Fault::CutAfter);
    let storage = backend(&server, 0, true).state("default").unwrap();
    assert!(matches!(storage.lock(&request()).await, Err(LockError::Storage { .. })));
    assert_eq!(server.lock_of("/state"), None);
}

#[tokio::test]
async fn lost_response_to_a_write_is_detected() {
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    server.fail_next("POST", Fault::CutAfter);
    let mut state = manager(backend(&server, 0, true).state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    let written = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    assert_eq!(stored(&server), *written);
    assert!(!place.path().join("state.journal").exists());
}

#[tokio::test]
async fn failed_write_keeps_the_journal_and_is_recovered() {
    for fault in [Fault::CutBefore, Fault::Hang, Fault::Answer(Response::new(507, "no space"))] {
        let (server, place) = (StateServer::start(), TempDir::new().unwrap());
        let backend = backend(&server, 0, true);
        let mut state = manager(backend.state("default").unwrap(), place.path());
        state.lock(&request()).await.unwrap();
        let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
        let mut journal = state.begin().await.unwrap();
        journal.record(&address("random_id.b"), &provider(), Some(&instance("2")));
        journal.commit().unwrap();
        server.fail_next("POST", fault.clone());
        let started = Instant::now();
        let next = with(&first, "random_id.b", "2");
        let error = state.finish(journal, &first, &next).await.unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(20), "{fault:?}");
        assert!(matches!(error.problem, StateProblem::Storage(_)), "{error}");
        assert_eq!(stored(&server).serial, 1, "{fault:?}");
        state.unlock().await.unwrap();

        let mut state = manager(backend.state("default").unwrap(), place.path());
        let recovered = state.read().await.unwrap();
        assert_eq!((addresses(&recovered), recovered.serial), (addresses(&next), 2), "{fault:?}");
        assert_eq!(stored(&server).serial, 1, "a reader without a lock writes nothing");
        state.lock(&request()).await.unwrap();
        assert_eq!(*state.read().await.unwrap(), stored(&server), "{fault:?}");
        assert_eq!((addresses(&stored(&server)), stored(&server).serial), (addresses(&next), 2));
        assert!(!place.path().join("state.journal").exists());
    }
}

#[tokio::test]
async fn pushed_state_ends_the_journal() {
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    let backend = backend(&server, 0, true);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    server.fail_next("POST", Fault::CutBefore);
    let lost = with(&State::default(), "random_id.a", "1");
    let journal = state.begin().await.unwrap();
    let lineage = journal.lineage().to_owned();
    state.finish(journal, &State::default(), &lost).await.unwrap_err();
    state.unlock().await.unwrap();
    // Another program stores the state that was saved elsewhere.
    let mut pushed = lost;
    pushed.serial = 2;
    pushed.lineage = lineage;
    pushed.terraform_version = "1.11.4".into();
    server.set_state("/state", encode_state(&pushed).unwrap());
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    assert_eq!(*state.read().await.unwrap(), pushed);
    assert!(!place.path().join("state.journal").exists());
}

#[tokio::test]
async fn state_of_another_run_is_not_overwritten() {
    // With a lock that another process has removed: the service rejects the write.
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    let locked = backend(&server, 2, true);
    let mut state = manager(locked.state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    server.set_lock(
        "/state",
        Some("{\"ID\":\"other\",\"Who\":\"they@there\",\"Created\":\"2026-01-01T00:00:00Z\"}"),
    );
    let error = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap_err();
    let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
    assert_eq!(problem.effect, StorageEffect::Conflict);
    assert!(error.hint().unwrap().contains("they@there has held the lock other"), "{error:?}");
    assert_eq!(server.state("/state"), None);

    // Without locks: the state is compared before it is written.
    let place = TempDir::new().unwrap();
    server.set_lock("/state", None);
    let unlocked = backend(&server, 2, false);
    let mut mine = manager(unlocked.state("default").unwrap(), place.path());
    mine.lock(&request()).await.unwrap();
    mine.read().await.unwrap();
    let other = TempDir::new().unwrap();
    let mut theirs = manager(unlocked.state("default").unwrap(), other.path());
    theirs.write(&with(&State::default(), "random_id.theirs", "1")).await.unwrap();
    let error = mine.write(&with(&State::default(), "random_id.mine", "1")).await.unwrap_err();
    assert!(matches!(error.problem, StateProblem::ChangedMeanwhile), "{error}");
    assert_eq!(addresses(&stored(&server)), ["random_id.theirs"]);
}

#[tokio::test]
async fn journal_of_another_state_is_rejected() {
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    let backend = backend(&server, 0, true);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    let mut journal = state.begin().await.unwrap();
    journal.record(&address("random_id.b"), &provider(), Some(&instance("2")));
    drop(journal);
    let mut other = with(&State::default(), "random_id.x", "9");
    other.lineage = "other".into();
    other.serial = 7;
    let text = encode_state(&other).unwrap();
    server.set_state("/state", text.clone());
    let error = manager(backend.state("default").unwrap(), place.path()).read().await.unwrap_err();
    assert!(matches!(error.problem, StateProblem::ForeignJournal { .. }), "{error}");
    assert_eq!(server.state("/state").unwrap(), text.as_bytes());
    assert!(place.path().join("state.journal").exists());
}

#[tokio::test]
async fn server_that_never_answers_does_not_block() {
    let server = StateServer::start();
    for method in ["GET", "POST", "LOCK", "UNLOCK"] {
        server.fail_next(method, Fault::Hang);
        server.fail_next(method, Fault::Hang);
    }
    let storage = backend(&server, 0, true).state("default").unwrap();
    let started = Instant::now();
    let error = storage.read().await.unwrap_err().to_string();
    assert!(error.contains("timed out"), "{error}");
    let content = wardian_state::StateContent::new_state("1.11.4").unwrap();
    assert!(storage.write(&content, &StorageVersion::Unknown).await.is_err());
    assert!(storage.lock(&request()).await.is_err());
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn truncated_response_is_not_a_state() {
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    let backend = backend(&server, 0, true);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    server.fail_next("GET", Fault::CutInBody(60));
    assert!(manager(backend.state("default").unwrap(), place.path()).read().await.is_err());
}
