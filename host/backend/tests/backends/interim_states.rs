//! Unfinished states that are stored while a run continues.

use std::sync::Arc;

use tempfile::TempDir;
use wardian_backend::Backend;
use wardian_state::{InterimState, Journal, State, StateManager};
use wardian_state_server::{Fault, StateServer};
use wardian_value::Value;

use crate::support::{address, addresses, configure, instance, manager, provider, request, text, with};

fn backend(server: &StateServer) -> Arc<dyn Backend> {
    let url = text(server.url("/state"));
    let arguments = [
        ("address", url.clone()),
        ("lock_address", url.clone()),
        ("unlock_address", url),
        ("retry_max", Value::number(0)),
    ];
    configure("http", &arguments)
}

fn stored(server: &StateServer) -> State {
    wardian_state::decode_state(&server.state("/state").unwrap()).unwrap().unwrap()
}

fn record(journal: &mut Journal, interim: &mut InterimState, name: &str) {
    let (address, instance) = (address(name), instance("1"));
    journal.record(&address, &provider(), Some(&instance));
    interim.set_instance(&address, &provider(), Some(&instance));
}

async fn store(journal: &mut Journal, interim: &mut InterimState) {
    let write = interim.begin_write(journal).unwrap().unwrap();
    interim.end_write(write.run().await);
}

struct Run {
    server: StateServer,
    place: TempDir,
    state: StateManager,
    journal: Journal,
    interim: InterimState,
}

/// Starts a run that has stored its first of two changes.
async fn run() -> Run {
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    let mut state = manager(backend(&server).state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    let mut journal = state.begin().await.unwrap();
    let mut interim = state.interim(&journal).unwrap();
    record(&mut journal, &mut interim, "random_id.a");
    store(&mut journal, &mut interim).await;
    assert_eq!((addresses(&stored(&server)), stored(&server).serial), (vec!["random_id.a".to_owned()], 1));
    record(&mut journal, &mut interim, "random_id.b");
    Run { server, place, state, journal, interim }
}

#[tokio::test]
async fn final_state_follows_the_stored_one() {
    let Run { server, place, mut state, journal, interim } = run().await;
    let done = with(&with(&State::default(), "random_id.a", "1"), "random_id.b", "1");
    state.set_interim(interim);
    let written = state.finish(journal, &State::default(), &done).await.unwrap();
    assert_eq!((written.serial, stored(&server)), (2, (*written).clone()));
    assert!(!place.path().join("state.journal").exists());
}

#[tokio::test]
async fn final_state_is_written_even_if_it_equals_the_first() {
    let Run { server, mut state, journal, interim, .. } = run().await;
    state.set_interim(interim);
    state.finish(journal, &State::default(), &State::default()).await.unwrap();
    assert!(stored(&server).is_empty(), "the unfinished state must not remain");
}

#[tokio::test]
async fn killed_run_is_recovered_from_each_stored_state() {
    let Run { server, place, state, journal, .. } = run().await;
    drop((state, journal));
    server.set_lock("/state", None);
    let mut next = manager(backend(&server).state("default").unwrap(), place.path());
    next.lock(&request()).await.unwrap();
    let recovered = next.read().await.unwrap();
    assert_eq!(addresses(&recovered), ["random_id.a", "random_id.b"]);
    assert_eq!((recovered.serial, stored(&server)), (2, (*recovered).clone()));

    // Killed between the record in the journal and the write.
    let Run { server, place, state, mut journal, mut interim } = run().await;
    drop(interim.begin_write(&mut journal).unwrap().unwrap());
    drop((state, journal));
    server.set_lock("/state", None);
    let mut next = manager(backend(&server).state("default").unwrap(), place.path());
    next.lock(&request()).await.unwrap();
    assert_eq!(addresses(&next.read().await.unwrap()), ["random_id.a", "random_id.b"]);
}

#[tokio::test]
async fn lost_response_to_an_interim_write_does_not_prevent_the_last_one() {
    for fault in [Fault::CutAfter, Fault::CutBefore] {
        let Run { server, mut state, mut journal, mut interim, .. } = run().await;
        server.fail_next("POST", fault);
        store(&mut journal, &mut interim).await;
        assert!(interim.begin_write(&mut journal).unwrap().is_none(), "the version is not known");
        state.set_interim(interim);
        let done = with(&with(&State::default(), "random_id.a", "1"), "random_id.b", "1");
        let written = state.finish(journal, &State::default(), &done).await.unwrap();
        assert_eq!(stored(&server), *written);
    }
}
