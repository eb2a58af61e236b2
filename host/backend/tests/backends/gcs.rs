//! The backend `gcs` with a server that has generations and preconditions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use wardian_backend::{Backend, BackendHost};
use wardian_state::{
    LockError, State, StateContent, StateError, StateProblem, StorageEffect, StorageVersion,
};
use wardian_state_server::{Fault, Gcs, Response, StorageTestbench};
use wardian_value::{Type, Value};

use crate::support::{SHORT_TIMEOUT, addresses, configure_with, host, manager, request, text, with};

const LIMIT: Duration = Duration::from_secs(30);

fn arguments(gcs: &Gcs, more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut arguments = vec![
        ("bucket", text(Gcs::BUCKET)),
        ("prefix", text("/a/b c/")),
        ("storage_custom_endpoint", text(gcs.endpoint())),
    ];
    arguments.retain(|(name, _)| more.iter().all(|(other, _)| name != other));
    arguments.extend(more.iter().cloned());
    arguments
}

fn backend_on(gcs: &Gcs, more: &[(&'static str, Value)], host: &BackendHost) -> Arc<dyn Backend> {
    configure_with("gcs", &arguments(gcs, more), host).unwrap()
}

fn backend(gcs: &Gcs, more: &[(&'static str, Value)]) -> Arc<dyn Backend> {
    let more = [&[("access_token", text("t"))], more].concat();
    backend_on(gcs, &more, &host(&[], LIMIT))
}

fn content() -> StateContent {
    StateContent::new_state("1.11.4").unwrap()
}

fn effect(error: &StateError) -> StorageEffect {
    let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
    problem.effect
}

#[tokio::test]
async fn state_is_stored_under_terraforms_names() {
    let (gcs, place) = (Gcs::start(), TempDir::new().unwrap());
    let storage = backend(&gcs, &[]).state("default").unwrap();
    assert_eq!(storage.location(), "gs://states/a/b c/default.tfstate");
    let mut state = manager(storage, place.path());
    let info = state.lock(&request()).await.unwrap().clone();
    assert_eq!(info.path, "gs://states/a/b c/default.tflock");
    assert_eq!(Some(&info.id), gcs.generation("a/b c/default.tflock").as_ref(), "the ID is the generation");
    let lock = gcs.object("a/b c/default.tflock").unwrap();
    assert!(lock.starts_with("{\"ID\":\"") && lock.contains("\"Who\":\"somebody@somewhere\""), "{lock}");
    assert!(!state.exists().await.unwrap());
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let second = state.write(&with(&first, "random_id.b", "2")).await.unwrap();
    state.unlock().await.unwrap();
    assert_eq!(gcs.object("a/b c/default.tflock"), None);
    let stored = gcs.object("a/b c/default.tfstate").unwrap();
    assert_eq!(wardian_state::decode_state(stored.as_bytes()).unwrap().unwrap(), *second);
    for request in gcs.server().requests() {
        assert_eq!(request.header("authorization"), Some("Bearer t"));
    }
}

#[tokio::test]
async fn workspaces_are_listed_created_and_deleted() {
    for prefix in ["", "teams/x"] {
        let gcs = Gcs::start();
        let backend = backend(&gcs, &[("prefix", text(prefix))]);
        assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
        backend.create_workspace("dev", Some(&request())).await.unwrap();
        backend.create_workspace("a-b", None).await.unwrap();
        let slash = if prefix.is_empty() { "" } else { "/" };
        for name in ["dev.tflock", "x/y.tfstate", "readme", "default.tfstate"] {
            gcs.put_object(&format!("{prefix}{slash}{name}"), "x");
        }
        gcs.set_page_size(1);
        assert_eq!(backend.workspaces().await.unwrap(), ["default", "a-b", "dev"]);
        gcs.delete_object(&format!("{prefix}{slash}dev.tflock"));
        let stored = gcs.object(&format!("{prefix}{slash}dev.tfstate")).unwrap();
        let state = wardian_state::decode_state(stored.as_bytes()).unwrap().unwrap();
        assert_eq!((state.serial, state.is_empty()), (1, true));
        backend.delete_workspace("dev").await.unwrap();
        backend.delete_workspace("dev").await.unwrap();
        backend.delete_workspace("a-b").await.unwrap();
        assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    }
}

#[tokio::test]
async fn held_lock_names_the_holder() {
    let gcs = Gcs::start();
    let backend = backend(&gcs, &[]);
    let (first, second) = (backend.state("default").unwrap(), backend.state("default").unwrap());
    let info = first.lock(&request()).await.unwrap();
    let error = second.lock(&request()).await.unwrap_err();
    let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
    assert_eq!(**holder, info);
    for other in ["1", "other", &info.id.replace('1', "2")] {
        let error = second.force_unlock(other).await.unwrap_err().to_string();
        assert!(error.contains("does not match the existing lock ID") && error.contains(&info.id), "{error}");
    }
    second.force_unlock(&info.id).await.unwrap();
    let error = first.unlock().await.unwrap_err();
    assert!(matches!(error, LockError::OtherLock { found: None, .. }), "the lock was lost: {error}");
    // The lock of another process is not released.
    first.lock(&request()).await.unwrap();
    gcs.delete_object("a/b c/default.tflock");
    let other = second.lock(&request()).await.unwrap();
    let LockError::OtherLock { found: Some(found), .. } = first.unlock().await.unwrap_err() else { panic!() };
    assert_eq!(*found, other);
    second.unlock().await.unwrap();
    // A lock object with another content is a lock, too.
    gcs.put_object("a/b c/default.tflock", "not json");
    let LockError::Held { holder: Some(holder), .. } = first.lock(&request()).await.unwrap_err() else {
        panic!()
    };
    first.force_unlock(&holder.id).await.unwrap();
    assert_eq!(gcs.object("a/b c/default.tflock"), None);
}

#[tokio::test]
async fn state_that_changed_meanwhile_is_not_replaced() {
    let (gcs, places) = (Gcs::start(), [TempDir::new().unwrap(), TempDir::new().unwrap()]);
    let backend = backend(&gcs, &[]);
    let mut mine = manager(backend.state("default").unwrap(), places[0].path());
    mine.lock(&request()).await.unwrap();
    let first = mine.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    // Another process without a lock.
    let mut theirs = manager(backend.state("default").unwrap(), places[1].path());
    theirs.write(&with(&first, "random_id.theirs", "1")).await.unwrap();
    let error = mine.write(&with(&first, "random_id.mine", "1")).await.unwrap_err();
    assert_eq!(effect(&error), StorageEffect::Conflict, "{error}");
    let stored = gcs.object("a/b c/default.tfstate").unwrap();
    let stored = wardian_state::decode_state(stored.as_bytes()).unwrap().unwrap();
    assert_eq!(addresses(&stored), ["random_id.a", "random_id.theirs"]);
    // A state that another process has created.
    let storage = backend.state("new").unwrap();
    gcs.put_object("a/b c/new.tfstate", "{}");
    let error = storage.write(&content(), &StorageVersion::Absent).await.unwrap_err();
    assert_eq!(effect(&error), StorageEffect::Conflict);
    assert_eq!(gcs.object("a/b c/new.tfstate").unwrap(), "{}");
}

#[tokio::test]
async fn lost_responses_are_resolved() {
    let (gcs, place) = (Gcs::start(), TempDir::new().unwrap());
    let mut state = manager(backend(&gcs, &[]).state("default").unwrap(), place.path());
    gcs.server().fail_next("POST", Fault::CutAfter);
    let info = state.lock(&request()).await.unwrap().clone();
    assert_eq!(Some(info.id), gcs.generation("a/b c/default.tflock"));
    gcs.server().fail_next("POST", Fault::CutAfter);
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    gcs.server().fail_next("POST", Fault::CutBefore);
    state.write(&with(&first, "random_id.b", "1")).await.unwrap();
    gcs.server().fail_next("GET", Fault::CutInBody(3));
    assert_eq!(addresses(&state.read().await.unwrap()).len(), 2);
    gcs.server().fail_next("DELETE", Fault::CutAfter);
    state.unlock().await.unwrap();
    assert_eq!(gcs.object("a/b c/default.tflock"), None);
}

#[tokio::test]
async fn lock_whose_response_is_lost_is_released() {
    let gcs = Gcs::start();
    let backend = backend_on(&gcs, &[("access_token", text("t"))], &host(&[], SHORT_TIMEOUT));
    let storage = backend.state("default").unwrap();
    gcs.server().fail_next("POST", Fault::CutAfter);
    for _ in 0..5 {
        gcs.server().fail_next("POST", Fault::CutBefore);
    }
    let error = storage.lock(&request()).await.unwrap_err();
    assert!(matches!(error, LockError::Storage { .. }), "{error}");
    assert_eq!(gcs.object("a/b c/default.tflock"), None);
}

#[tokio::test]
async fn rejected_requests_are_explained() {
    let gcs = Gcs::start();
    let storage = backend(&gcs, &[]).state("default").unwrap();
    let json = |message: &str| format!("{{\"error\":{{\"code\":1,\"message\":\"{message}\"}}}}");
    for (status, body, expected) in [
        (401, json("Invalid Credentials"), "not valid or have expired"),
        (403, json("me does not have storage.objects.get access"), "do not allow"),
        (403, "<html>Forbidden</html>".to_owned(), "do not allow"),
        (404, json("The specified bucket does not exist."), "\"states\" does not exist"),
        (404, "<Error><Code>NoSuchBucket</Code></Error>".to_owned(), "\"states\" does not exist"),
        (400, json("The provided encryption key is incorrect."), "encryption_key"),
    ] {
        gcs.server().fail_next("GET", Fault::Answer(Response::new(status, body.clone())));
        let error = storage.read().await.unwrap_err();
        assert!(error.hint().is_some_and(|hint| hint.contains(expected)), "{status} {body}: {error:?}");
    }
    let missing = backend(&gcs, &[("bucket", text("missing"))]);
    let error = missing.workspaces().await.unwrap_err().to_string();
    assert!(error.contains("\"missing\" does not exist"), "{error}");
    let storage = missing.state("default").unwrap();
    let error = storage.write(&content(), &StorageVersion::Absent).await.unwrap_err();
    assert!(error.hint().unwrap().contains("\"missing\" does not exist"), "{error:?}");
    let error = storage.lock(&request()).await.unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    assert!(storage.read().await.is_err());
}

#[tokio::test]
async fn object_that_is_not_a_state_is_an_error() {
    let (gcs, place) = (Gcs::start(), TempDir::new().unwrap());
    gcs.put_object("a/b c/default.tfstate", "<html>");
    let mut state = manager(backend(&gcs, &[]).state("default").unwrap(), place.path());
    assert!(state.read().await.is_err());
    assert_eq!(gcs.object("a/b c/default.tfstate").unwrap(), "<html>");
}

#[tokio::test]
async fn states_are_encrypted_with_keys_of_the_user() {
    let (gcs, place) = (Gcs::start(), TempDir::new().unwrap());
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    std::fs::write(place.path().join("key"), format!("{key}\n")).unwrap();
    let mut host = host(&[], LIMIT);
    host.directory = place.path().to_owned();
    let encrypted = |key: &str| {
        backend_on(&gcs, &[("access_token", text("t")), ("encryption_key", text(key))], &host)
            .state("default")
            .unwrap()
    };
    encrypted(key).lock(&request()).await.unwrap();
    encrypted(key).write(&content(), &StorageVersion::Absent).await.unwrap();
    assert_eq!(encrypted("key").read().await.unwrap().bytes, content_bytes(&gcs));
    let requests = gcs.server().requests();
    let hash = "Yw3NKWbEM2aRElRIu7JbT/QSpJxzLbLIq8G4WBvXEN0=";
    let hashes: Vec<_> =
        requests.iter().map(|request| request.header("x-goog-encryption-key-sha256")).collect();
    assert_eq!(hashes, [None, Some(hash), Some(hash)], "the lock is not encrypted");
    let error = backend(&gcs, &[]).state("default").unwrap().read().await.unwrap_err();
    assert!(error.hint().unwrap().contains("encryption_key"), "{error:?}");

    let kms = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
    let storage = backend(&gcs, &[("kms_encryption_key", text(kms))]).state("kms").unwrap();
    storage.write(&content(), &StorageVersion::Absent).await.unwrap();
    assert_eq!(gcs.kms_key("a/b c/kms.tfstate").as_deref(), Some(kms));
}

fn content_bytes(gcs: &Gcs) -> Vec<u8> {
    gcs.object("a/b c/default.tfstate").unwrap().into_bytes()
}

/// Writes a file with credentials, and returns its path.
fn credentials(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn every_kind_of_credentials_is_used() {
    let place = TempDir::new().unwrap();
    let gcs = Gcs::start();
    gcs.require_tokens(3600);
    let url = |path: &str| gcs.server().url(path);
    let user = format!(
        "{{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s3cret\",\"refresh_token\":\"r\",\
         \"token_uri\":\"{}\"}}",
        url("/token")
    );
    let impersonated = format!(
        "{{\"type\":\"impersonated_service_account\",\"source_credentials\":{user},\"delegates\":[\"d@p\"],\
         \"service_account_impersonation_url\":\"{}\"}}",
        url("/impersonate")
    );
    let external = |source: &str| {
        format!(
            "{{\"type\":\"external_account\",\"audience\":\"//iam/a\",\"subject_token_type\":\"t\",\"token_url\":\"{}\",\
             \"service_account_impersonation_url\":\"{}\",\"credential_source\":{source}}}",
            url("/exchange"),
            url("/impersonate")
        )
    };
    credentials(place.path(), "subject", "subject token\n");
    let from_file = external("{\"file\":\"subject\"}");
    let from_url = external(&format!(
        "{{\"url\":\"{}\",\"headers\":{{\"x-secret\":\"s\"}},\"format\":{{\"type\":\"json\",\"subject_token_field_name\":\
         \"value\"}}}}",
        url("/subject")
    ));
    let path = credentials(place.path(), "user.json", &user);
    credentials(place.path(), "home/.config/gcloud/application_default_credentials.json", &user);
    let metadata = gcs.server().url("").replace("http://", "");
    type Case<'a> = (&'a str, Vec<(&'a str, String)>, &'a [&'a str]);
    let cases: [Case<'_>; 8] = [
        ("path in a variable", vec![("GOOGLE_CREDENTIALS", path.clone())], &["/token"]),
        (
            "content in a variable",
            vec![("GOOGLE_BACKEND_CREDENTIALS", user.clone()), ("GOOGLE_CREDENTIALS", "x".to_owned())],
            &["/token"],
        ),
        ("default file", vec![("GOOGLE_APPLICATION_CREDENTIALS", path)], &["/token"]),
        ("file in the home directory", vec![], &["/token"]),
        ("impersonated", vec![("GOOGLE_CREDENTIALS", impersonated)], &["/token", "/impersonate"]),
        ("external file", vec![("GOOGLE_CREDENTIALS", from_file)], &["/exchange", "/impersonate"]),
        ("external URL", vec![("GOOGLE_CREDENTIALS", from_url)], &["/subject", "/exchange", "/impersonate"]),
        (
            "metadata service",
            vec![("GCE_METADATA_HOST", metadata)],
            &["/computeMetadata/v1/instance/service-accounts/default/token"],
        ),
    ];
    for (name, variables, expected) in cases {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut host = host(&variables, LIMIT);
        host.directory = place.path().to_owned();
        host.home = (name != "metadata service").then(|| place.path().join("home"));
        let before = gcs.server().requests().len();
        let backend = backend_on(&gcs, &[], &host);
        assert!(!format!("{backend:?}").contains("s3cret"));
        let storage = backend.state("default").unwrap();
        storage.read().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        storage.read().await.unwrap();
        let requests = gcs.server().requests().split_off(before);
        let paths: Vec<&str> = requests.iter().map(|request| request.path()).collect();
        let state = "/storage/v1/b/states/o/a%2Fb%20c%2Fdefault.tfstate";
        assert_eq!(paths, [expected, &[state, state]].concat(), "{name}: the token is requested once");
        if let Some(exchange) = requests.iter().find(|request| request.path() == "/exchange") {
            let form = exchange.form();
            let value = |name: &str| &form.iter().find(|(other, _)| other == name).unwrap().1;
            assert_eq!(
                (value("subject_token").as_str(), value("audience").as_str()),
                ("subject token", "//iam/a")
            );
        }
        if let Some(impersonation) = requests.iter().find(|request| request.path() == "/impersonate") {
            let body = String::from_utf8_lossy(&impersonation.body).into_owned();
            assert!(body.contains("devstorage.read_write") && body.contains("\"3600s\""), "{body}");
            assert_eq!(body.contains("projects/-/serviceAccounts/d@p"), name == "impersonated", "{body}");
        }
    }
}

#[tokio::test]
async fn token_is_renewed_during_a_run() {
    let gcs = Gcs::start();
    // The token expires within the margin.
    gcs.require_tokens(60);
    let metadata = gcs.server().url("").replace("http://", "");
    let host = host(&[("GCE_METADATA_HOST", &metadata)], LIMIT);
    let storage = backend_on(&gcs, &[], &host).state("default").unwrap();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        storage.read().await.unwrap();
        tokens.push(gcs.server().requests().pop().unwrap().header("authorization").unwrap().to_owned());
    }
    assert_eq!(tokens, ["Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn wrong_credentials_are_reported() {
    let (gcs, place) = (Gcs::start(), TempDir::new().unwrap());
    gcs.require_tokens(3600);
    let message = async |variables: &[(&str, &str)]| {
        let mut host = host(variables, LIMIT);
        host.directory = place.path().to_owned();
        let storage = backend_on(&gcs, &[], &host).state("default").unwrap();
        let error = storage.read().await.unwrap_err();
        format!("{error} {}", error.hint().unwrap_or_default())
    };
    assert!(message(&[("GOOGLE_OAUTH_ACCESS_TOKEN", "wrong")]).await.contains("not valid or have expired"));
    let missing = [("GOOGLE_APPLICATION_CREDENTIALS", "missing.json")];
    assert!(message(&missing).await.contains("missing.json cannot be read"));
    let user = format!(
        "{{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s3cret\",\"refresh_token\":\"r\",\
         \"token_uri\":\"{}\"}}",
        gcs.server().url("/token")
    );
    let revoked = "{\"error\":\"invalid_grant\",\"error_description\":\"Token has been revoked.\"}";
    gcs.server().fail_next("POST", Fault::Answer(Response::new(400, revoked)));
    let error = message(&[("GOOGLE_CREDENTIALS", &user)]).await;
    assert!(error.contains("invalid_grant: Token has been revoked.") && !error.contains("s3cret"), "{error}");
    let none = message(&[("GCE_METADATA_HOST", "127.0.0.1:1")]).await;
    assert!(none.contains("no credentials were found") && none.contains("GOOGLE_CREDENTIALS"), "{none}");
}

#[tokio::test]
async fn emulator_needs_no_credentials() {
    let gcs = Gcs::start();
    for address in [gcs.server().url(""), gcs.server().url("").replace("http://", "")] {
        let host = host(&[("STORAGE_EMULATOR_HOST", &address)], LIMIT);
        let backend = configure_with("gcs", &[("bucket", text(Gcs::BUCKET))], &host).unwrap();
        backend.state("default").unwrap().read().await.unwrap();
        let request = gcs.server().requests().pop().unwrap();
        assert_eq!(request.path(), "/storage/v1/b/states/o/default.tfstate");
        assert_eq!(request.header("authorization"), None);
    }
}

/// Google's own implementation of the protocol has the same generations and preconditions.
#[tokio::test]
async fn testbench_is_supported() {
    let Some(testbench) = StorageTestbench::start() else { return };
    let (url, place) = (testbench.url(), TempDir::new().unwrap());
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    for more in [vec![], vec![("encryption_key", text(key)), ("prefix", text("encrypted"))]] {
        let host = host(&[("STORAGE_EMULATOR_HOST", &url)], LIMIT);
        let arguments = [vec![("bucket", text(Gcs::BUCKET))], more].concat();
        let backend = configure_with("gcs", &arguments, &host).unwrap();
        backend.create_workspace("dev", Some(&request())).await.unwrap();
        assert_eq!(backend.workspaces().await.unwrap(), ["default", "dev"]);
        let mut mine = manager(backend.state("default").unwrap(), place.path());
        let info = mine.lock(&request()).await.unwrap().clone();
        let other = backend.state("default").unwrap();
        let LockError::Held { holder: Some(holder), .. } = other.lock(&request()).await.unwrap_err() else {
            panic!()
        };
        assert_eq!(*holder, info);
        let first = mine.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
        mine.write(&with(&first, "random_id.b", "1")).await.unwrap();
        let error = other.write(&content(), &StorageVersion::Absent).await.unwrap_err();
        assert_eq!(effect(&error), StorageEffect::Conflict, "{error}");
        assert!(matches!(other.force_unlock("1").await, Err(LockError::OtherLock { found: Some(_), .. })));
        mine.unlock().await.unwrap();
        assert!(matches!(other.force_unlock(&info.id).await, Err(LockError::OtherLock { found: None, .. })));
        assert_eq!(addresses(&mine.read().await.unwrap()), ["random_id.a", "random_id.b"]);
        backend.delete_workspace("dev").await.unwrap();
        assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    }
    let host = host(&[("STORAGE_EMULATOR_HOST", &url)], LIMIT);
    let missing = configure_with("gcs", &[("bucket", text("missing"))], &host).unwrap();
    let error = missing.state("default").unwrap().read().await.unwrap_err();
    assert!(error.hint().unwrap().contains("\"missing\" does not exist"), "{error:?}");
}

#[test]
fn invalid_arguments_are_reported() {
    let error = |more: &[(&'static str, Value)], variables: &[(&str, &str)]| {
        let mut arguments = vec![("bucket", text("b")), ("access_token", text("t"))];
        arguments.retain(|(name, _)| more.iter().all(|(other, _)| name != other));
        arguments.extend(more.iter().cloned());
        configure_with("gcs", &arguments, &host(variables, LIMIT)).unwrap_err().to_string()
    };
    assert!(error(&[("bucket", text(""))], &[]).contains("\"bucket\""));
    assert!(error(&[("bucket", text("a/b"))], &[]).contains("\"prefix\""));
    for key in ["short", "AAECAwQFBgcICQoLDA0ODw=="] {
        assert!(error(&[("encryption_key", text(key))], &[]).contains("32 bytes"), "{key}");
    }
    let key = ("encryption_key", text("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
    assert!(error(&[key], &[("GOOGLE_KMS_ENCRYPTION_KEY", "k")]).contains("Only one of"));
    assert!(error(&[("storage_custom_endpoint", text("ftp://a/"))], &[]).contains("only http and https"));
    let delegates = Value::list(Type::String, [text("d")]);
    let account =
        [("impersonate_service_account", text("a/b")), ("impersonate_service_account_delegates", delegates)];
    assert!(error(&account, &[]).contains("service account"));
    for bad in ["s3cret", "{}", "{\"type\":\"service_account\",\"private_key\":\"s3cret\"}"] {
        let error = error(&[("access_token", text("")), ("credentials", text(bad))], &[]);
        assert!(error.contains("neither the path") && !error.contains("s3cret"), "{error}");
    }
}
