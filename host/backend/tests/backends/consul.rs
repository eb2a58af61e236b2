//! The backend `consul` with a server of its API.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use wardian_backend::Backend;
use wardian_state::{LockError, State, StateContent, StateProblem, StorageEffect, StorageVersion};
use wardian_state_server::{Consul, Fault, Response, ServiceServer, TestAuthority};
use wardian_value::Value;

use crate::support::{SHORT_TIMEOUT, addresses, configure_with, host, large, manager, request, text, with};

fn start() -> ServiceServer<Consul> {
    ServiceServer::start(|_| Consul::default())
}

fn backend(server: &ServiceServer<Consul>, more: &[(&str, Value)]) -> Arc<dyn Backend> {
    let mut arguments = vec![("address", text(server.address())), ("path", text("team/a b"))];
    arguments.extend(more.iter().cloned());
    configure_with("consul", &arguments, &host(&[], Duration::from_secs(10))).unwrap()
}

#[tokio::test]
async fn state_and_lock_have_the_keys_of_terraform() {
    let server = start();
    let place = TempDir::new().unwrap();
    let mut state = manager(backend(&server, &[]).state("default").unwrap(), place.path());
    let info = state.lock(&request()).await.unwrap().clone();
    assert_eq!((&*info.path, &*info.info), ("team/a b", &*format!("consul session: {}", info.id)));
    assert_eq!(server.service().keys(), ["team/a b/.lock", "team/a b/.lockinfo"]);
    assert_eq!(server.service().value("team/a b/.lockinfo").unwrap(), info.to_json().as_bytes());
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let second = state.write(&with(&first, "random_id.b", "2")).await.unwrap();
    state.unlock().await.unwrap();
    assert_eq!(server.service().keys(), ["team/a b"]);
    let stored = server.service().value("team/a b").unwrap();
    assert_eq!(wardian_state::decode_state(&stored).unwrap().unwrap(), *second);
    assert_eq!(server.count("PUT", "/v1/session/destroy/"), 1);
}

#[tokio::test]
async fn large_state_is_stored_in_chunks_that_are_replaced() {
    for gzip in [false, true] {
        let server = start();
        let place = TempDir::new().unwrap();
        let backend = backend(&server, &[("gzip", Value::bool(gzip))]);
        let mut state = manager(backend.state("default").unwrap(), place.path());
        let first = state.write(&large(&State::default(), "random_id.a", 1_200_000)).await.unwrap();
        let keys = server.service().keys();
        let chunks: Vec<_> = keys.iter().filter(|key| key.contains("/tfstate.")).collect();
        assert_eq!(chunks.len(), if gzip { 2 } else { 3 }, "{keys:?}");
        let list = String::from_utf8(server.service().value("team/a b").unwrap()).unwrap();
        assert!(list.starts_with("{\"chunks\":[\"team/a b/tfstate.") && list.contains("/0\",\""), "{list}");
        assert_eq!(*manager(backend.state("default").unwrap(), place.path()).read().await.unwrap(), *first);
        let second = state.write(&large(&first, "random_id.b", 700_000)).await.unwrap();
        let after = server.service().keys();
        assert!(chunks.iter().all(|chunk| !after.contains(chunk)), "{after:?}");
        assert_eq!(*manager(backend.state("default").unwrap(), place.path()).read().await.unwrap(), *second);
        let mut small = State::default();
        small.lineage.clone_from(&second.lineage);
        state.write(&with(&small, "random_id.c", "1")).await.unwrap();
        assert_eq!(server.service().keys(), ["team/a b"]);
    }
}

#[tokio::test]
async fn missing_and_changed_chunks_are_reported() {
    let server = start();
    let place = TempDir::new().unwrap();
    let backend = backend(&server, &[]);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.write(&large(&State::default(), "random_id.a", 600_000)).await.unwrap();
    let chunk = server.service().keys().into_iter().find(|key| key.ends_with("/1")).unwrap();
    server.service().set(&chunk, "x");
    let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("do not have the digest"), "{error}");
    server.fail_next("GET", "/1?raw", Fault::Answer(Response::new(404, "")));
    let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("is missing"), "{error}");
}

#[tokio::test]
async fn workspaces_are_listed_created_and_deleted() {
    let server = start();
    let backend = backend(&server, &[]);
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    backend.create_workspace("dev", Some(&request())).await.unwrap();
    backend.create_workspace("a.b", None).await.unwrap();
    server.service().set("team/a b-env:locked/.lockinfo", "{}");
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a.b", "dev"]);
    let stored = server.service().value("team/a b-env:dev").unwrap();
    assert_eq!(wardian_state::decode_state(&stored).unwrap().unwrap().serial, 1);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("dev").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    let before = state.read().await.unwrap();
    state.write(&large(&before, "random_id.a", 600_000)).await.unwrap();
    backend.delete_workspace("dev").await.unwrap();
    state.unlock().await.unwrap();
    backend.delete_workspace("a.b").await.unwrap();
    assert_eq!(server.service().keys(), ["team/a b-env:locked/.lockinfo"]);
}

#[tokio::test]
async fn held_lock_names_the_holder_and_can_be_removed() {
    let server = start();
    let backend = backend(&server, &[]);
    let (first, second) = (backend.state("default").unwrap(), backend.state("default").unwrap());
    let info = first.lock(&request()).await.unwrap();
    let error = second.lock(&request()).await.unwrap_err();
    let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
    assert_eq!(**holder, info);
    let error = second.force_unlock("other").await.unwrap_err().to_string();
    assert!(error.contains("does not match the existing lock ID") && error.contains(&info.id), "{error}");
    second.force_unlock(&info.id).await.unwrap();
    assert!(server.service().keys().is_empty());
    let error = first.unlock().await.unwrap_err();
    assert!(matches!(error, LockError::OtherLock { found: None, .. }), "{error}");
    second.lock(&request()).await.unwrap();
    second.unlock().await.unwrap();
    assert!(server.service().keys().is_empty());
}

#[tokio::test]
async fn session_is_renewed_while_the_lock_is_held() {
    let server = start();
    let backend = backend(&server, &[]);
    let storage = backend.state("default").unwrap();
    storage.lock(&request()).await.unwrap();
    let waiting = server.clone();
    tokio::task::spawn_blocking(move || waiting.wait_for("PUT", "/v1/session/renew/", 2)).await.unwrap();
    let content = StateContent::new_state("1.11.4").unwrap();
    storage.write(&content, &StorageVersion::Absent).await.unwrap();
    storage.unlock().await.unwrap();
}

#[tokio::test]
async fn nothing_is_written_after_the_session_has_ended() {
    let server = start();
    let backend = backend(&server, &[]);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let stored = server.service().value("team/a b");
    server.service().end_sessions();
    for size in [1, 600_000] {
        let error = state.write(&large(&first, "random_id.b", size)).await.unwrap_err();
        let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
        assert_eq!(problem.effect, StorageEffect::Conflict);
        assert!(error.to_string().contains("has ended, so nothing was written"), "{error}");
        assert_eq!(server.service().value("team/a b"), stored);
    }
    assert!(place.path().join("state.journal").exists());
    // Another process has locked the state, and its lock remains.
    let other = backend.state("default").unwrap();
    let theirs = other.lock(&request()).await.unwrap();
    let error = state.unlock().await.unwrap_err();
    assert!(error.to_string().contains(&theirs.id), "{error}");
    other.unlock().await.unwrap();
}

#[tokio::test]
async fn state_that_changed_meanwhile_is_not_replaced() {
    let server = start();
    let backend = backend(&server, &[]);
    let places = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut mine = manager(backend.state("default").unwrap(), places[0].path());
    mine.lock(&request()).await.unwrap();
    let first = mine.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let mut theirs = manager(backend.state("default").unwrap(), places[1].path());
    theirs.write(&with(&first, "random_id.theirs", "1")).await.unwrap();
    for size in [1, 600_000] {
        let error = mine.write(&large(&first, "random_id.mine", size)).await.unwrap_err();
        let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
        assert_eq!(problem.effect, StorageEffect::Conflict, "{error}");
    }
    let state = manager(backend.state("default").unwrap(), places[1].path()).read().await.unwrap();
    assert_eq!(addresses(&state), ["random_id.a", "random_id.theirs"]);
}

#[tokio::test]
async fn lost_responses_change_nothing_twice() {
    let server = start();
    let backend = backend(&server, &[]);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    server.fail_next("PUT", "?acquire=", Fault::CutAfter);
    state.lock(&request()).await.unwrap();
    server.fail_next("PUT", "/v1/txn", Fault::CutAfter);
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    server.fail_next("PUT", "/v1/txn", Fault::CutBefore);
    let second = state.write(&with(&first, "random_id.b", "1")).await.unwrap();
    server.fail_next("PUT", "/v1/txn", Fault::CutAfter);
    state.unlock().await.unwrap();
    assert_eq!(server.service().keys(), ["team/a b"]);
    let stored = server.service().value("team/a b").unwrap();
    assert_eq!(wardian_state::decode_state(&stored).unwrap().unwrap(), *second);
}

#[tokio::test]
async fn token_is_required_and_requests_have_a_time_limit() {
    let server = start();
    server.service().require_token("s3cret");
    let arguments = [("address", text(server.address())), ("path", text("p"))];
    let without = configure_with("consul", &arguments, &host(&[], SHORT_TIMEOUT)).unwrap();
    let error = without.state("default").unwrap().read().await.unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    assert!(error.hint().unwrap().contains("credentials"), "{error:?}");
    assert!(without.workspaces().await.unwrap_err().detail.contains("Permission denied"));
    let variables =
        [("CONSUL_HTTP_TOKEN", "s3cret"), ("CONSUL_HTTP_AUTH", "me:p"), ("CONSUL_NAMESPACE", "ns1")];
    let with = configure_with("consul", &arguments, &host(&variables, SHORT_TIMEOUT)).unwrap();
    assert!(!format!("{with:?}").contains("s3cret"));
    assert!(with.state("default").unwrap().read().await.unwrap().bytes.is_empty());
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("authorization"), Some("Basic bWU6cA=="));
    assert!(last.target.contains("ns=ns1"), "{}", last.target);
    for _ in 0..4 {
        server.fail_next("GET", "/v1/kv/", Fault::Hang);
    }
    let error = with.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("timed out"), "{error}");
}

#[tokio::test]
async fn certificates_are_read_from_files() {
    let authority = TestAuthority::new();
    let server = ServiceServer::start_with_tls(|_| Consul::default(), &authority);
    let place = TempDir::new().unwrap();
    let (certificate, key) = authority.issue("client");
    for (name, content) in [("ca.pem", authority.certificate()), ("cert.pem", certificate), ("key.pem", key)]
    {
        std::fs::write(place.path().join(name), content).unwrap();
    }
    let mut host = host(&[("CONSUL_CACERT", "ca.pem"), ("CONSUL_HTTP_SSL", "true")], Duration::from_secs(10));
    host.directory = place.path().to_owned();
    let mut arguments =
        vec![("address", text(server.address())), ("path", text("p")), ("cert_file", text("cert.pem"))];
    let error = configure_with("consul", &arguments, &host).unwrap_err().to_string();
    assert!(error.contains("\"key_file\" must be set"), "{error}");
    arguments.push(("key_file", text("key.pem")));
    let backend = configure_with("consul", &arguments, &host).unwrap();
    assert!(backend.state("default").unwrap().read().await.unwrap().bytes.is_empty());
}

#[tokio::test]
async fn values_that_are_not_states_are_reported_and_remain() {
    let server = start();
    let place = TempDir::new().unwrap();
    for bad in [&b"hello"[..], b"{\"chunks\":[],\"current-hash\":\"x\"}", b"\x1f\x8b broken"] {
        server.service().set("team/a b", bad);
        let mut state = manager(backend(&server, &[]).state("default").unwrap(), place.path());
        assert!(state.read().await.is_err(), "{bad:?}");
        assert_eq!(server.service().value("team/a b").unwrap(), bad);
    }
}

#[test]
fn invalid_arguments_are_reported() {
    for (name, value, expected) in [
        ("path", "/a", "do not start with"),
        ("path", "a/../b", "\"..\""),
        ("address", "unix:///run/consul.sock", "not supported"),
        ("address", "a.example/base", "a host and a port"),
        ("scheme", "ftp", "only http and https"),
        ("ca_file", "missing.pem", "cannot be read"),
    ] {
        let mut arguments = vec![(name, text(value))];
        if name != "path" {
            arguments.push(("path", text("p")));
        }
        let error = configure_with("consul", &arguments, &host(&[], SHORT_TIMEOUT)).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    let error = configure_with("consul", &[], &host(&[], SHORT_TIMEOUT)).unwrap_err().to_string();
    assert!(error.contains("\"path\""), "{error}");
}
