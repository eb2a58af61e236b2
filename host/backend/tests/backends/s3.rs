//! The backend `s3` with moto.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tempfile::TempDir;
use wardian_backend::{Backend, BackendHost};
use wardian_state::{LockError, State, StateProblem, StorageEffect, StorageVersion};
use wardian_state_server::{Fault, Moto, Response, StateServer};
use wardian_value::Value;

use crate::support::{SHORT_TIMEOUT, addresses, configure_with, host, manager, request, text, with};

/// The server of all tests. Each test uses its own bucket or key.
static MOTO: LazyLock<Option<Moto>> = LazyLock::new(Moto::start);

fn host_with_key(timeout: Duration) -> BackendHost {
    host(
        &[
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("AWS_SECRET_ACCESS_KEY", "s3cret"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ],
        timeout,
    )
}

fn arguments(url: &str, bucket: &str, more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let endpoints = Value::object([("s3", text(url)), ("dynamodb", text(url)), ("sts", text(url))]);
    let mut arguments = vec![
        ("bucket", text(bucket)),
        ("key", text("a/b c.tfstate")),
        ("region", text("us-east-1")),
        ("endpoints", endpoints),
        ("use_path_style", Value::bool(true)),
        ("max_retries", Value::number(1)),
    ];
    arguments.extend(more.iter().cloned());
    arguments
}

fn backend(moto: &Moto, bucket: &str, more: &[(&'static str, Value)]) -> Arc<dyn Backend> {
    configure_with("s3", &arguments(&moto.url(), bucket, more), &host_with_key(Duration::from_secs(30)))
        .unwrap()
}

fn lockfile() -> (&'static str, Value) {
    ("use_lockfile", Value::bool(true))
}

#[tokio::test]
async fn state_is_stored_under_terraforms_keys() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("keys");
    let place = TempDir::new().unwrap();
    let backend = backend(moto, "keys", &[lockfile(), ("encrypt", Value::bool(true))]);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    let info = state.lock(&request()).await.unwrap().clone();
    assert_eq!(info.path, "keys/a/b c.tfstate");
    assert!(moto.object("keys/a/b%20c.tfstate.tflock").unwrap().contains(&info.id));
    assert!(!state.exists().await.unwrap());
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let second = state.write(&with(&first, "random_id.b", "2")).await.unwrap();
    state.unlock().await.unwrap();
    assert_eq!(moto.object("keys/a/b%20c.tfstate.tflock"), None);
    let stored = moto.object("keys/a/b%20c.tfstate").unwrap();
    assert_eq!(wardian_state::decode_state(stored.as_bytes()).unwrap().unwrap(), *second);
}

#[tokio::test]
async fn workspaces_are_listed_created_and_deleted() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("workspaces");
    for (prefix, object) in [(None, "env%3A/"), (Some("teams/x"), "teams/x/"), (Some(""), "")] {
        let more: Vec<_> = prefix.map(|prefix| ("workspace_key_prefix", text(prefix))).into_iter().collect();
        let backend = backend(moto, "workspaces", &[more, vec![lockfile()]].concat());
        assert_eq!(backend.workspaces().await.unwrap(), ["default"], "{prefix:?}");
        backend.create_workspace("dev", Some(&request())).await.unwrap();
        backend.create_workspace("a-b", None).await.unwrap();
        moto.put_object(&format!("workspaces/{object}dev/other"), "x");
        assert_eq!(backend.workspaces().await.unwrap(), ["default", "a-b", "dev"]);
        let state = moto.object(&format!("workspaces/{object}dev/a/b%20c.tfstate")).unwrap();
        let state = wardian_state::decode_state(state.as_bytes()).unwrap().unwrap();
        assert_eq!((state.serial, state.is_empty()), (1, true));
        backend.delete_workspace("dev").await.unwrap();
        backend.delete_workspace("a-b").await.unwrap();
        assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    }
}

#[tokio::test]
async fn held_lock_names_the_holder() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("locks");
    moto.create_table("locks");
    let table = ("dynamodb_table", text("locks"));
    for more in [vec![lockfile()], vec![table.clone()], vec![table, lockfile()]] {
        let backend = backend(moto, "locks", &more);
        let first = backend.state("default").unwrap();
        let info = first.lock(&request()).await.unwrap();
        let second = backend.state("default").unwrap();
        let error = second.lock(&request()).await.unwrap_err();
        let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
        assert_eq!(**holder, info);
        let error = second.force_unlock("other").await.unwrap_err().to_string();
        assert!(error.contains("does not match the existing lock ID") && error.contains(&info.id), "{error}");
        second.force_unlock(&info.id).await.unwrap();
        let error = first.unlock().await.unwrap_err();
        assert!(matches!(error, LockError::OtherLock { found: None, .. }), "the lock was lost: {error}");
        second.lock(&request()).await.unwrap();
        second.unlock().await.unwrap();
    }
}

#[tokio::test]
async fn lock_object_is_removed_if_the_table_is_locked() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("both");
    moto.create_table("both");
    let table = ("dynamodb_table", text("both"));
    let only_table = backend(moto, "both", std::slice::from_ref(&table)).state("default").unwrap();
    only_table.lock(&request()).await.unwrap();
    let both = backend(moto, "both", &[table, lockfile()]).state("default").unwrap();
    assert!(matches!(both.lock(&request()).await, Err(LockError::Held { .. })));
    assert_eq!(moto.object("both/a/b%20c.tfstate.tflock"), None);
    only_table.unlock().await.unwrap();
    both.lock(&request()).await.unwrap();
    both.unlock().await.unwrap();
}

#[tokio::test]
async fn digest_in_the_table_is_written_and_compared() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("digests");
    moto.create_table("digests");
    let backend = backend(moto, "digests", &[("dynamodb_table", text("digests"))]);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let item = moto.table(
        "GetItem",
        "{\"TableName\":\"digests\",\"Key\":{\"LockID\":{\"S\":\"digests/a/b c.tfstate-md5\"}}}",
    );
    assert!(item.1.contains("\"Digest\""), "{}", item.1);
    assert_eq!(
        addresses(&manager(backend.state("default").unwrap(), place.path()).read().await.unwrap()).len(),
        1
    );
    let stored = moto.object("digests/a/b%20c.tfstate").unwrap();
    moto.put_object("digests/a/b%20c.tfstate", &stored.replace("\"1\"", "\"2\""));
    let error = manager(backend.state("default").unwrap(), place.path()).read().await.unwrap_err();
    assert!(error.to_string().contains("does not have the expected content"), "{error}");
    assert!(error.hint().unwrap().contains("digests/a/b c.tfstate-md5"), "{error:?}");
}

#[tokio::test]
async fn state_that_changed_meanwhile_is_not_replaced() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("conflicts");
    let backend = backend(moto, "conflicts", &[lockfile()]);
    let places = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut mine = manager(backend.state("default").unwrap(), places[0].path());
    mine.lock(&request()).await.unwrap();
    let first = mine.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    // Another process without a lock.
    let mut theirs = manager(backend.state("default").unwrap(), places[1].path());
    theirs.write(&with(&first, "random_id.theirs", "1")).await.unwrap();
    let error = mine.write(&with(&first, "random_id.mine", "1")).await.unwrap_err();
    let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
    assert_eq!(problem.effect, StorageEffect::Conflict, "{error}");
    assert!(places[0].path().join("state.journal").exists());
    let state = manager(backend.state("default").unwrap(), places[1].path()).read().await.unwrap();
    assert_eq!(addresses(&state), ["random_id.a", "random_id.theirs"]);
    mine.unlock().await.unwrap();
}

#[tokio::test]
async fn missing_bucket_and_table_are_reported() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("present");
    let missing = backend(moto, "absent", &[lockfile()]);
    let error = missing.state("default").unwrap().read().await.unwrap_err();
    assert!(error.hint().unwrap().contains("\"absent\" does not exist"), "{error:?}");
    assert!(missing.workspaces().await.unwrap_err().detail.contains("does not exist"));
    assert!(missing.state("default").unwrap().lock(&request()).await.is_err());
    let table = backend(moto, "present", &[("dynamodb_table", text("absent"))]);
    let error = table.state("default").unwrap().lock(&request()).await.unwrap_err();
    let LockError::Storage { error, .. } = &error else { panic!("{error}") };
    assert!(error.advice.as_deref().unwrap().contains("LockID"), "{error:?}");
}

#[tokio::test]
async fn role_is_assumed_and_session_token_is_sent() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("roles");
    let role = Value::object([
        ("role_arn", text("arn:aws:iam::123456789012:role/states")),
        ("duration", text("1h")),
        ("session_name", text("test")),
    ]);
    let place = TempDir::new().unwrap();
    let backend = backend(moto, "roles", &[("assume_role", role)]);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    assert!(moto.object("roles/a/b%20c.tfstate").is_some());
}

#[tokio::test]
async fn accounts_are_checked() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("accounts");
    let accounts = |id: &str| Value::set(wardian_value::Type::String, [text(id)]);
    let read = async |name, id: &str| {
        let backend = backend(moto, "accounts", &[(name, accounts(id))]);
        backend.state("default").unwrap().read().await.map_err(|error| error.to_string())
    };
    assert!(read("allowed_account_ids", "123456789012").await.is_ok());
    assert!(read("allowed_account_ids", "999999999999").await.unwrap_err().contains("123456789012"));
    assert!(read("forbidden_account_ids", "123456789012").await.is_err());
}

#[tokio::test]
async fn missing_credentials_are_reported() {
    let server = StateServer::start();
    let without = host(&[("AWS_EC2_METADATA_DISABLED", "true")], Duration::from_secs(5));
    let backend = configure_with("s3", &arguments(&server.url(""), "b", &[]), &without).unwrap();
    let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("no valid credential sources") && error.contains("AWS_PROFILE"), "{error}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn profile_and_customer_key_are_used() {
    let (server, home) = (StateServer::start(), TempDir::new().unwrap());
    let directory = home.path().join(".aws");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(
        directory.join("credentials"),
        "[team]\naws_access_key_id=TEAMKEY\naws_secret_access_key=s3cret\n",
    )
    .unwrap();
    std::fs::write(directory.join("config"), "[profile team]\nregion=eu-west-1\n").unwrap();
    let mut host = host_with_key(Duration::from_secs(5));
    host.home = Some(home.path().to_owned());
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let mut arguments =
        arguments(&server.url(""), "b", &[("profile", text("team")), ("sse_customer_key", text(key))]);
    arguments.retain(|(name, _)| *name != "region");
    let backend = configure_with("s3", &arguments, &host).unwrap();
    backend.state("default").unwrap().read().await.unwrap();
    assert!(!format!("{backend:?}").contains("s3cret"));
    let request = server.requests().pop().unwrap();
    let authorization = request.header("authorization").unwrap();
    assert!(authorization.contains("Credential=TEAMKEY/") && authorization.contains("/eu-west-1/s3/"));
    assert!(authorization.contains("x-amz-server-side-encryption-customer-key"), "it is signed");
    assert_eq!(request.header("x-amz-server-side-encryption-customer-key"), Some(key));
}

#[tokio::test]
async fn rejected_requests_are_explained() {
    let server = StateServer::start();
    let mut arguments = arguments(&server.url(""), "b", &[lockfile()]);
    arguments.retain(|(name, _)| *name != "max_retries");
    arguments.push(("max_retries", Value::number(0)));
    let backend = configure_with("s3", &arguments, &host_with_key(SHORT_TIMEOUT)).unwrap();
    let storage = backend.state("default").unwrap();
    let xml = |code: &str| format!("<Error><Code>{code}</Code><Message>m</Message></Error>");
    for (status, body, expected) in [
        (403, xml("AccessDenied"), "do not allow"),
        (403, xml("InvalidAccessKeyId"), "not valid or have expired"),
        (400, xml("ExpiredToken"), "not valid or have expired"),
        (301, xml("PermanentRedirect"), "another region"),
        (403, "not xml".to_owned(), "do not allow"),
        (403, xml("RequestTimeTooSkewed"), "clock"),
    ] {
        server.fail_next("GET", Fault::Answer(Response::new(status, body.clone())));
        let error = storage.read().await.unwrap_err();
        assert!(error.hint().is_some_and(|hint| hint.contains(expected)), "{status} {body}: {error:?}");
    }
    server.fail_next("GET", Fault::Hang);
    assert!(storage.read().await.unwrap_err().to_string().contains("timed out"));
}

#[tokio::test]
async fn service_without_conditional_writes_is_supported() {
    let server = StateServer::start();
    let backend =
        configure_with("s3", &arguments(&server.url(""), "b", &[]), &host_with_key(Duration::from_secs(5)))
            .unwrap();
    let storage = backend.state("default").unwrap();
    let content = wardian_state::StateContent::new_state("1.11.4").unwrap();
    server.fail_next("PUT", Fault::Answer(Response::new(501, "<Error><Code>NotImplemented</Code></Error>")));
    storage.write(&content, &StorageVersion::Absent).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.first().unwrap().header("if-none-match"), Some("*"));
    assert_eq!(requests.last().unwrap().header("if-none-match"), None);
}

#[tokio::test]
async fn repeated_write_after_a_lost_response_succeeds() {
    let Some(moto) = &*MOTO else { return };
    moto.create_bucket("repeated");
    // The first attempt was stored, so the condition of the second one fails.
    let place = TempDir::new().unwrap();
    let storage = backend(moto, "repeated", &[lockfile()]).state("default").unwrap();
    let mut state = manager(storage.clone(), place.path());
    state.lock(&request()).await.unwrap();
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let stored = storage.read().await.unwrap();
    let content = wardian_state::StateContent::from_state(&first).unwrap();
    let error = storage.write(&content, &StorageVersion::Absent).await.unwrap_err();
    assert!(
        matches!(&error.problem, StateProblem::Storage(problem) if problem.effect == StorageEffect::Conflict)
    );
    assert_eq!(storage.read().await.unwrap().bytes, stored.bytes);
    state.unlock().await.unwrap();
}
