//! The backend `kubernetes` with a server of its API.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use wardian_backend::{Backend, BackendHost};
use wardian_state::{LockError, State, StateError, StateProblem, StorageEffect};
use wardian_state_server::{Fault, Kubernetes, Response, ServiceServer, TestAuthority};
use wardian_value::{Type, Value};

use crate::support::{SHORT_TIMEOUT, addresses, configure_with, host, large, manager, request, text, with};

const NAME: &str = "tfstate-default-state";
const LEASE: &str = "lock-tfstate-default-state";

fn start() -> ServiceServer<Kubernetes> {
    ServiceServer::start(|_| Kubernetes::default())
}

fn backend(server: &ServiceServer<Kubernetes>, more: &[(&str, Value)]) -> Arc<dyn Backend> {
    let mut arguments = vec![("host", text(server.origin())), ("secret_suffix", text("state"))];
    arguments.extend(more.iter().cloned());
    configure_with("kubernetes", &arguments, &host(&[], Duration::from_secs(10))).unwrap()
}

fn effect(error: &StateError) -> StorageEffect {
    let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
    problem.effect
}

#[tokio::test]
async fn objects_are_those_of_terraform() {
    let server = start();
    let labels = Value::map(Type::String, [("team".into(), text("web"))]);
    let backend = backend(&server, &[("labels", labels), ("namespace", text("team"))]);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    let info = state.lock(&request()).await.unwrap().clone();
    let lease = server.service().object("leases", "team", LEASE).unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], json!(info.id));
    assert_eq!(lease["metadata"]["annotations"]["app.terraform.io/lock-info"], json!(info.to_json()));
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    // Metadata of others is preserved.
    server.service().change("leases", "team", LEASE, |lease| {
        lease["metadata"]["annotations"]["other"] = json!("kept");
    });
    let second = state.write(&with(&first, "random_id.b", "2")).await.unwrap();
    state.unlock().await.unwrap();
    let lease = server.service().object("leases", "team", LEASE).unwrap();
    assert!(lease["spec"].get("holderIdentity").is_none());
    assert_eq!(lease["metadata"]["annotations"], json!({ "other": "kept" }));
    assert_eq!(server.service().names("secrets", "team"), [NAME]);
    let secret = server.service().object("secrets", "team", NAME).unwrap();
    assert_eq!(
        secret["metadata"]["labels"],
        json!({
            "app.kubernetes.io/managed-by": "terraform", "team": "web", "tfstate": "true",
            "tfstateSecretSuffix": "state", "tfstateWorkspace": "default",
        })
    );
    assert_eq!(secret["metadata"]["annotations"], json!({ "encoding": "gzip" }));
    assert_eq!(secret["type"], json!("Opaque"));
    assert!(secret["data"]["tfstate"].as_str().unwrap().starts_with("H4sI"), "gzip in base64");
    assert_eq!(*manager(backend.state("default").unwrap(), place.path()).read().await.unwrap(), *second);
}

#[tokio::test]
async fn large_state_is_stored_in_parts() {
    let server = start();
    let place = TempDir::new().unwrap();
    let backend = backend(&server, &[]);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    let first = state.write(&large(&State::default(), "random_id.a", 5_000_000)).await.unwrap();
    let names = server.service().names("secrets", "default");
    assert_eq!(names, [NAME.to_owned(), format!("{NAME}-part-1"), format!("{NAME}-part-2")]);
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    assert_eq!(*manager(backend.state("default").unwrap(), place.path()).read().await.unwrap(), *first);
    let mut small = State::default();
    small.lineage.clone_from(&first.lineage);
    state.write(&with(&small, "random_id.b", "1")).await.unwrap();
    assert_eq!(server.service().names("secrets", "default"), [NAME]);
    // A part is missing.
    state.write(&large(&small, "random_id.a", 5_000_000)).await.unwrap();
    server.service().remove("secrets", "default", &format!("{NAME}-part-1"));
    let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("part-1") && error.contains("is missing"), "{error}");
}

#[tokio::test]
async fn rejected_part_does_not_damage_the_state() {
    let server = start();
    let place = TempDir::new().unwrap();
    let backend = backend(&server, &[]);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let rejected = || Fault::Answer(Response::new(403, "{\"message\":\"quota\"}"));
    for (method, target) in [("POST", "/secrets"), ("PUT", "/secrets/tfstate-default-state")] {
        server.fail_next(method, target, rejected());
        let error = state.write(&large(&first, "random_id.b", 5_000_000)).await.unwrap_err();
        assert_eq!(effect(&error), StorageEffect::None, "{error}");
        assert!(place.path().join("state.journal").exists());
        assert_eq!(server.service().names("secrets", "default"), [NAME]);
        let other = TempDir::new().unwrap();
        assert_eq!(*manager(backend.state("default").unwrap(), other.path()).read().await.unwrap(), *first);
    }
    let other = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), other.path());
    let second = state.write(&large(&first, "random_id.b", 5_000_000)).await.unwrap();
    // The parts that exist cannot be replaced together.
    server.fail_next("PUT", "-part-1", rejected());
    let error = state.write(&large(&second, "random_id.c", 5_000_000)).await.unwrap_err();
    assert_eq!(effect(&error), StorageEffect::Unknown);
    assert!(error.hint().unwrap().contains("errored.tfstate"), "{error:?}");
}

#[tokio::test]
async fn workspaces_are_listed_created_and_deleted() {
    let server = start();
    let backend = backend(&server, &[]);
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    backend.create_workspace("dev", Some(&request())).await.unwrap();
    backend.create_workspace("a-b", None).await.unwrap();
    let other = self::backend(&server, &[("secret_suffix", text("other"))]);
    other.create_workspace("theirs", None).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a-b", "dev"]);
    let storage = backend.state("dev").unwrap();
    storage.lock(&request()).await.unwrap();
    backend.delete_workspace("dev").await.unwrap();
    storage.unlock().await.unwrap();
    backend.delete_workspace("a-b").await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    assert!(server.service().names("leases", "default").is_empty());
    for bad in ["Dev", "a_b", "a+b", "a."] {
        assert!(backend.state(bad).unwrap_err().to_string().contains("Kubernetes does not allow"), "{bad}");
    }
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
    assert!(matches!(first.unlock().await, Err(LockError::OtherLock { found: None, .. })));
    second.lock(&request()).await.unwrap();
    second.unlock().await.unwrap();
}

#[tokio::test]
async fn nothing_is_written_without_the_lock_or_over_another_state() {
    let server = start();
    let backend = backend(&server, &[]);
    let places = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut mine = manager(backend.state("default").unwrap(), places[0].path());
    let info = mine.lock(&request()).await.unwrap().clone();
    let first = mine.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let set_holder = |id: &str| {
        server
            .service()
            .change("leases", "default", LEASE, |lease| lease["spec"]["holderIdentity"] = json!(id));
    };
    set_holder("other");
    let error = mine.write(&with(&first, "random_id.mine", "1")).await.unwrap_err();
    assert!(
        effect(&error) == StorageEffect::Conflict && error.to_string().contains("lock was lost"),
        "{error}"
    );
    set_holder(&info.id);
    let mut theirs = manager(backend.state("default").unwrap(), places[1].path());
    theirs.write(&with(&first, "random_id.theirs", "1")).await.unwrap();
    for size in [1, 3_000_000] {
        let error = mine.write(&large(&first, "random_id.mine", size)).await.unwrap_err();
        assert_eq!(effect(&error), StorageEffect::Conflict, "{error}");
    }
    let state = manager(backend.state("default").unwrap(), places[1].path()).read().await.unwrap();
    assert_eq!(addresses(&state), ["random_id.a", "random_id.theirs"]);
    assert!(places[0].path().join("state.journal").exists());
}

#[tokio::test]
async fn lost_responses_change_nothing_twice() {
    let server = start();
    let backend = backend(&server, &[]);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    server.fail_next("POST", "/leases", Fault::CutAfter);
    state.lock(&request()).await.unwrap();
    server.fail_next("POST", "/secrets", Fault::CutAfter);
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    server.fail_next("PUT", "/secrets", Fault::CutAfter);
    let second = state.write(&with(&first, "random_id.b", "1")).await.unwrap();
    let third = state.write(&with(&second, "random_id.c", "1")).await.unwrap();
    server.fail_next("PUT", "/leases", Fault::CutAfter);
    state.unlock().await.unwrap();
    assert_eq!(*manager(backend.state("default").unwrap(), place.path()).read().await.unwrap(), *third);
    let lease = server.service().object("leases", "default", LEASE).unwrap();
    assert!(lease["spec"].get("holderIdentity").is_none());
}

#[tokio::test]
async fn rejected_requests_are_explained() {
    let server = start();
    let lock_error = async |backend: Arc<dyn Backend>| {
        let error = backend.state("default").unwrap().lock(&request()).await.unwrap_err();
        let LockError::Storage { error, .. } = error else { panic!("{error}") };
        error.sentences()
    };
    let missing = lock_error(backend(&server, &[("namespace", text("gone"))])).await;
    assert!(missing.contains("Create the namespace \"gone\""), "{missing}");
    server.service().forbid_writes(true);
    let forbidden = lock_error(backend(&server, &[])).await;
    assert!(forbidden.contains("cannot write") && forbidden.contains("get, list, create"), "{forbidden}");
    server.service().forbid_writes(false);
    server.service().require_authorization("Bearer s3cret");
    let wrong = lock_error(backend(&server, &[("token", text("wrong"))])).await;
    assert!(wrong.contains("not valid or have expired"), "{wrong}");
    let right = backend(&server, &[("token", text("s3cret"))]);
    assert!(!format!("{right:?}").contains("s3cret"));
    right.state("default").unwrap().lock(&request()).await.unwrap();
}

#[tokio::test]
async fn secrets_that_are_not_states_are_reported_and_remain() {
    let server = start();
    let place = TempDir::new().unwrap();
    let backend = backend(&server, &[]);
    manager(backend.state("default").unwrap(), place.path())
        .write(&with(&State::default(), "random_id.a", "1"))
        .await
        .unwrap();
    for bad in ["aGVsbG8=", "%", "H4sIAAAA"] {
        server.service().change("secrets", "default", NAME, |secret| secret["data"]["tfstate"] = json!(bad));
        let mut state = manager(backend.state("default").unwrap(), place.path());
        assert!(state.read().await.is_err(), "{bad}");
        let secret = server.service().object("secrets", "default", NAME).unwrap();
        assert_eq!(secret["data"]["tfstate"], json!(bad));
    }
}

fn host_in(directory: &Path, variables: &[(&str, &str)]) -> BackendHost {
    BackendHost { directory: directory.to_owned(), ..host(variables, Duration::from_secs(10)) }
}

#[tokio::test]
async fn kubeconfig_files_select_cluster_and_credentials() {
    let authority = TestAuthority::new();
    let server = ServiceServer::start_with_tls(|_| Kubernetes::default(), &authority);
    let (project, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (certificate, key) = authority.issue("client");
    for (name, content) in [("ca.pem", authority.certificate()), ("cert.pem", certificate), ("key.pem", key)]
    {
        fs::write(home.path().join(name), content).unwrap();
    }
    let config = format!(
        "current-context: other\nclusters:\n- name: c\n  cluster:\n    server: {}\n    certificate-authority: ca.pem\n\
         contexts:\n- name: mine\n  context: {{ cluster: c, user: u, namespace: ignored }}\nusers:\n- name: u\n  user:\n    \
         client-certificate: cert.pem\n    client-key: key.pem\n",
        server.origin()
    );
    let path = home.path().join("config");
    fs::write(&path, config).unwrap();
    let arguments = [("secret_suffix", text("state")), ("config_context", text("mine"))];
    let paths = format!("/nonexistent/config:{}", path.display());
    let host = host_in(project.path(), &[("KUBE_CONFIG_PATHS", &paths), ("KUBE_NAMESPACE", "team")]);
    let backend = configure_with("kubernetes", &arguments, &host).unwrap();
    backend.state("default").unwrap().lock(&request()).await.unwrap();
    assert_eq!(server.service().names("leases", "team"), [LEASE]);
    let host = host_in(project.path(), &[("KUBE_CONFIG_PATH", &path.display().to_string())]);
    let error =
        configure_with("kubernetes", &[arguments[0].clone(), ("config_context", text("gone"))], &host);
    assert!(error.unwrap_err().to_string().contains("no context \"gone\""));
}

#[tokio::test]
async fn program_of_a_kubeconfig_file_returns_the_token() {
    let server = start();
    server.service().require_authorization("Bearer second");
    let (project, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let program = home.path().join("login");
    // The first token is rejected.
    fs::write(
        &program,
        "#!/bin/sh\necho \"$1 $KIND $KUBERNETES_EXEC_INFO\" >> runs\ntest $(wc -l < runs) = 1 && token=first || \
         token=second\necho \"{\\\"status\\\":{\\\"token\\\":\\\"$token\\\"}}\"\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!(
        "current-context: x\nclusters:\n- name: c\n  cluster: {{ server: '{}' }}\ncontexts:\n- name: x\n  context: {{ cluster: \
         c, user: u }}\nusers:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      \
         command: ./login\n      args: [get]\n      env: [{{ name: KIND, value: test }}]\n",
        server.origin()
    );
    for directory in [&project, &home] {
        fs::write(directory.path().join("config"), &config).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let arguments = [
        ("secret_suffix", text("state")),
        ("config_path", text(home.path().join("config").to_string_lossy())),
    ];
    let host = host_in(project.path(), &[("PATH", &path)]);
    let backend = configure_with("kubernetes", &arguments, &host).unwrap();
    let storage = backend.state("default").unwrap();
    storage.read().await.unwrap();
    storage.lock(&request()).await.unwrap();
    let runs = fs::read_to_string(home.path().join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 2, "{runs}");
    assert!(runs.starts_with("get test {") && runs.contains("\"ExecCredential\""), "{runs}");
    // A file of the configuration does not start programs.
    let arguments = [("secret_suffix", text("state")), ("config_path", text("config"))];
    let error = configure_with("kubernetes", &arguments, &host).unwrap_err().to_string();
    assert!(error.contains("not started"), "{error}");
}

#[test]
fn invalid_arguments_are_reported() {
    let error = |arguments: &[(&str, Value)]| {
        let mut all = vec![("secret_suffix", text("state")), ("host", text("https://c.example"))];
        all.retain(|(name, _)| !arguments.iter().any(|(other, _)| other == name));
        all.extend(arguments.iter().cloned());
        configure_with("kubernetes", &all, &host(&[], SHORT_TIMEOUT)).unwrap_err().to_string()
    };
    for (name, value, expected) in [
        ("secret_suffix", text("a-1"), "and a number"),
        ("secret_suffix", text("A_b"), "lower case"),
        ("secret_suffix", text(""), "\"secret_suffix\""),
        ("host", text("ftp://c.example"), "only http and https"),
        ("host", text(""), "KUBE_CONFIG_PATH"),
        ("config_path", text("missing"), "cannot be read"),
        ("in_cluster_config", Value::bool(true), "KUBERNETES_SERVICE_HOST"),
        ("client_certificate", text("x"), "set together"),
        ("exec", Value::object([("command", text("x"))]), "kubeconfig"),
    ] {
        let error = error(&[(name, value)]);
        assert!(error.contains(expected), "{name}: {error}");
    }
}
