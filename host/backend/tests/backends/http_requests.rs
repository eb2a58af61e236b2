//! The requests of the backend `http`.

use std::time::Duration;

use tempfile::TempDir;
use wardian_state::{LockError, State};
use wardian_state_server::{Fault, Response, StateServer, TestAuthority};
use wardian_value::Value;

use crate::support::{addresses, configure, configure_with, host, manager, request, text, with};

fn arguments(server: &StateServer) -> Vec<(&'static str, Value)> {
    let url = text(server.url("/state"));
    vec![
        ("address", url.clone()),
        ("lock_address", url.clone()),
        ("unlock_address", url),
        ("retry_wait_min", Value::number(0)),
        ("retry_wait_max", Value::number(0)),
    ]
}

#[tokio::test]
async fn state_is_written_with_checksum_and_lock_id() {
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    let backend = configure("http", &arguments(&server));
    let mut state = manager(backend.state("default").unwrap(), place.path());
    assert!(!state.exists().await.unwrap());
    let id = state.lock(&request()).await.unwrap().id.clone();
    assert!(server.lock_of("/state").unwrap().contains(&id));
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    assert_eq!(first.serial, 1);
    state.unlock().await.unwrap();
    assert_eq!(server.lock_of("/state"), None);
    let requests = server.requests();
    let write = requests.iter().find(|request| request.method == "POST").unwrap();
    assert_eq!(write.target, format!("/state?ID={id}"));
    assert_eq!(write.header("content-type"), Some("application/json"));
    assert!(write.header("content-md5").is_some_and(|value| value.len() == 24));
    let unlock = requests.iter().find(|request| request.method == "UNLOCK").unwrap();
    assert!(String::from_utf8_lossy(&unlock.body).contains(&id));
    let again = manager(backend.state("default").unwrap(), place.path()).read().await.unwrap();
    assert_eq!((addresses(&again), again.serial), (vec!["random_id.a".to_owned()], 1));
}

#[tokio::test]
async fn held_lock_names_the_holder_and_can_be_released() {
    let server = StateServer::start();
    let backend = configure("http", &arguments(&server));
    let first = backend.state("default").unwrap();
    let info = first.lock(&request()).await.unwrap();
    let error = backend.state("default").unwrap().lock(&request()).await.unwrap_err();
    let LockError::Held { holder: Some(holder), ends_with_process: false, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((&holder.id, &*holder.who), (&info.id, "somebody@somewhere"));
    assert!(error.to_string().contains(&format!("since {}", info.created)), "{error}");
    backend.state("default").unwrap().force_unlock(&info.id).await.unwrap();
    assert_eq!(server.lock_of("/state"), None);
    backend.state("default").unwrap().lock(&request()).await.unwrap();
}

#[tokio::test]
async fn holder_without_information_is_reported() {
    let server = StateServer::start();
    let backend = configure("http", &arguments(&server));
    for body in ["", "locked", "{}", "[1", "{\"ID\":7}"] {
        server.set_lock("/state", Some(body));
        let error = backend.state("default").unwrap().lock(&request()).await.unwrap_err();
        assert!(matches!(error, LockError::Held { holder: None, .. }), "{body}: {error}");
    }
}

#[tokio::test]
async fn other_methods_and_addresses_are_used() {
    let server = StateServer::start();
    let mut arguments = arguments(&server);
    arguments.retain(|(name, _)| !name.ends_with("lock_address"));
    let lock = text(server.url("/lock"));
    arguments.extend([("lock_address", lock.clone()), ("unlock_address", lock)]);
    arguments.extend([
        ("update_method", text("PUT")),
        ("lock_method", text("POST")),
        ("unlock_method", text("PUT")),
    ]);
    let place = TempDir::new().unwrap();
    let mut state = manager(configure("http", &arguments).state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    state.unlock().await.unwrap();
    // The state is compared before it is written.
    assert_eq!(server.methods(), ["POST", "GET", "GET", "PUT", "PUT"]);
}

#[tokio::test]
async fn workspaces_are_not_supported() {
    let backend = configure("http", &arguments(&StateServer::start()));
    assert!(!backend.has_workspaces());
    let error = backend.state("dev").unwrap_err().to_string();
    assert!(error.starts_with("Workspaces not supported"), "{error}");
    assert!(backend.workspaces().await.is_err() && backend.create_workspace("x", None).await.is_err());
}

#[tokio::test]
async fn wrong_credentials_are_reported_without_retry() {
    let server = StateServer::start();
    server.require_credentials("Basic other");
    let mut arguments = arguments(&server);
    arguments.extend([("username", text("me")), ("password", text("s3cret"))]);
    let storage = configure("http", &arguments).state("default").unwrap();
    let error = storage.read().await.unwrap_err();
    assert!(error.to_string().contains("401"), "{error}");
    assert!(error.hint().unwrap().contains("credentials"));
    assert!(!format!("{error:?} {storage:?}").contains("s3cret"));
    assert_eq!(server.methods(), ["GET"]);
}

#[tokio::test]
async fn client_certificate_is_presented_and_server_certificate_is_checked() {
    let authority = TestAuthority::new();
    let server = StateServer::start_with_tls(&authority);
    server.set_state("/state", "{}");
    let (certificate, key) = authority.issue("client");
    let host = host(&[], Duration::from_secs(10));
    let read = async |more: Vec<(&'static str, Value)>| {
        let arguments = [arguments(&server), more, vec![("retry_max", Value::number(0))]].concat();
        configure_with("http", &arguments, &host).unwrap().state("default").unwrap().read().await
    };
    let identity = vec![("client_certificate_pem", text(certificate)), ("client_private_key_pem", text(key))];
    let trusted = ("client_ca_certificate_pem", text(authority.certificate()));
    let with_all = [identity.clone(), vec![trusted.clone()]].concat();
    assert_eq!(read(with_all).await.unwrap().bytes, b"{}");
    let skipping = [identity.clone(), vec![("skip_cert_verification", Value::bool(true))]].concat();
    assert_eq!(read(skipping).await.unwrap().bytes, b"{}");
    let other = ("client_ca_certificate_pem", text(TestAuthority::new().certificate()));
    let untrusted = read([identity, vec![other]].concat()).await.unwrap_err().to_string();
    assert!(untrusted.contains("certificate"), "{untrusted}");
    assert!(read(vec![trusted]).await.is_err(), "a client without a certificate");
}

#[tokio::test]
async fn unusual_responses_are_rejected() {
    let (server, place) = (StateServer::start(), TempDir::new().unwrap());
    let storage = configure("http", &arguments(&server)).state("default").unwrap();
    let not_states =
        ["<html>login</html>", "[]", "{\"version\":5}", "{\"a\":1}", "\u{feff}{", "{\"version\":4,"];
    for body in not_states {
        server.set_state("/state", body);
        let error = manager(storage.clone(), place.path()).read().await.unwrap_err().to_string();
        assert!(error.starts_with(&server.url("/state")), "{error}");
        assert_eq!(server.state("/state").unwrap(), body.as_bytes(), "the state is not changed");
    }
    server.set_state("/state", "");
    assert!(!manager(storage.clone(), place.path()).exists().await.unwrap(), "an empty state");
    server.fail_next("GET", Fault::Answer(Response::new(204, "")));
    assert!(storage.read().await.unwrap().bytes.is_empty());
    server.fail_next("GET", Fault::Answer(Response::new(200, "{}").with_header("content-md5", "AAAA")));
    let error = storage.read().await.unwrap_err().to_string();
    assert!(error.contains("checksum"), "{error}");
    server
        .fail_next("GET", Fault::Answer(Response::new(302, "").with_header("location", "ftp://127.0.0.1/")));
    assert!(storage.read().await.is_err());
}
