//! The backend `azurerm` behind a proxy that contains Azure's services.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tempfile::TempDir;
use wardian_backend::{Backend, BackendHost};
use wardian_network::proxy::ProxySettings;
use wardian_network::{TlsRoots, TlsSettings, Verification};
use wardian_state::{
    LockError, State, StateContent, StateError, StateProblem, StorageEffect, StorageVersion,
};
use wardian_state_server::{Azure, Fault, Response};
use wardian_value::Value;

use crate::support::{SHORT_TIMEOUT, addresses, configure_with, host, manager, request, text, with};

const LIMIT: Duration = Duration::from_secs(30);
const KEY: &str = "a/b c.tfstate";

static AZURITE: LazyLock<Option<Azure>> = LazyLock::new(Azure::start_with_azurite);

fn host_behind(azure: &Azure, variables: &[(&str, &str)], timeout: Duration) -> BackendHost {
    let mut host = host(variables, timeout);
    let proxy = azure.proxy();
    host.http.proxies =
        Ok(ProxySettings::from_variables(|name| (name == "HTTPS_PROXY").then(|| proxy.clone())).unwrap());
    host.http.roots = TlsRoots::from_settings(&TlsSettings {
        authorities: Some(azure.certificate().into_bytes()),
        identity: None,
        verification: Verification::Full,
    })
    .unwrap();
    host
}

fn arguments(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut arguments = vec![
        ("storage_account_name", text(Azure::ACCOUNT)),
        ("container_name", text(Azure::CONTAINER)),
        ("key", text(KEY)),
    ];
    arguments.retain(|(name, _)| more.iter().all(|(other, _)| name != other));
    arguments.extend(more.iter().cloned());
    arguments
}

fn backend_on(host: &BackendHost, more: &[(&'static str, Value)]) -> Arc<dyn Backend> {
    configure_with("azurerm", &arguments(more), host).unwrap()
}

fn backend(azure: &Azure, more: &[(&'static str, Value)]) -> Arc<dyn Backend> {
    let more = [&[("access_key", text(Azure::KEY))], more].concat();
    backend_on(&host_behind(azure, &[], LIMIT), &more)
}

fn content() -> StateContent {
    StateContent::new_state("1.11.4").unwrap()
}

fn effect(error: &StateError) -> StorageEffect {
    let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
    problem.effect
}

fn yes() -> Value {
    Value::bool(true)
}

#[tokio::test]
async fn state_is_stored_in_terraforms_blob() {
    let (azure, place) = (Azure::start(), TempDir::new().unwrap());
    let storage = backend(&azure, &[]).state("default").unwrap();
    assert_eq!(storage.location(), "azurerm://wardianstates/states/a/b c.tfstate");
    let mut state = manager(storage, place.path());
    let info = state.lock(&request()).await.unwrap().clone();
    assert_eq!(info.path, "states/a/b c.tfstate");
    assert_eq!(azure.lease(KEY).as_ref(), Some(&info.id), "the ID of the lock is the lease's");
    assert_eq!(azure.blob(KEY).unwrap(), "", "an empty blob is leased");
    assert!(!azure.metadata(KEY)["terraformlockid"].is_empty());
    assert!(!state.exists().await.unwrap());
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let second = state.write(&with(&first, "random_id.b", "2")).await.unwrap();
    assert!(azure.metadata(KEY).contains_key("terraformlockid"), "writes preserve the lock information");
    state.unlock().await.unwrap();
    assert_eq!((azure.lease(KEY), azure.metadata(KEY).len(), azure.snapshots(KEY)), (None, 0, 0));
    let stored = azure.blob(KEY).unwrap();
    assert_eq!(wardian_state::decode_state(stored.as_bytes()).unwrap().unwrap(), *second);
}

#[tokio::test]
async fn workspaces_are_listed_created_and_deleted() {
    let azure = Azure::start();
    let backend = backend(&azure, &[]);
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    backend.create_workspace("dev", Some(&request())).await.unwrap();
    backend.create_workspace("a-b", None).await.unwrap();
    azure.put_blob("a/b c.tfstateenv:x/y", "x");
    azure.put_blob("other", "x");
    azure.set_page_size(1);
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a-b", "dev"]);
    let stored = azure.blob("a/b c.tfstateenv:dev").unwrap();
    let state = wardian_state::decode_state(stored.as_bytes()).unwrap().unwrap();
    assert_eq!((state.serial, state.is_empty()), (1, true));
    // A workspace is deleted under its lock.
    let locked = backend.state("dev").unwrap();
    locked.lock(&request()).await.unwrap();
    backend.delete_workspace("dev").await.unwrap();
    locked.unlock().await.unwrap();
    backend.delete_workspace("dev").await.unwrap();
    let other = backend.state("a-b").unwrap();
    let info = other.lock(&request()).await.unwrap();
    let elsewhere = self::backend(&azure, &[]);
    let error = elsewhere.delete_workspace("a-b").await.unwrap_err().to_string();
    assert!(error.contains("LeaseIdMissing"), "{error}");
    elsewhere.state("a-b").unwrap().force_unlock(&info.id).await.unwrap();
    elsewhere.delete_workspace("a-b").await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
}

#[tokio::test]
async fn held_lock_names_the_holder() {
    let azure = Azure::start();
    let backend = backend(&azure, &[]);
    let (first, second) = (backend.state("default").unwrap(), backend.state("default").unwrap());
    let info = first.lock(&request()).await.unwrap();
    let error = second.lock(&request()).await.unwrap_err();
    let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
    assert_eq!(**holder, info);
    let error = second.force_unlock("other").await.unwrap_err().to_string();
    assert!(error.contains("does not match the existing lock ID") && error.contains(&info.id), "{error}");
    second.force_unlock(&info.id).await.unwrap();
    assert_eq!((azure.lease(KEY), azure.metadata(KEY).len()), (None, 0));
    let error = first.unlock().await.unwrap_err();
    assert!(matches!(error, LockError::OtherLock { found: None, .. }), "the lock was lost: {error}");
    assert!(matches!(second.force_unlock(&info.id).await, Err(LockError::OtherLock { found: None, .. })));
    // The lock of another process is not released.
    first.lock(&request()).await.unwrap();
    azure.set_lease(KEY, None);
    let other = second.lock(&request()).await.unwrap();
    let LockError::OtherLock { found: Some(found), .. } = first.unlock().await.unwrap_err() else { panic!() };
    assert_eq!(*found, other);
    second.unlock().await.unwrap();
    // A lease without lock information.
    azure.set_lease(KEY, Some("0"));
    assert!(matches!(first.lock(&request()).await, Err(LockError::Held { holder: None, .. })));
    let LockError::Storage { error, .. } = first.force_unlock("0").await.unwrap_err() else { panic!() };
    assert!(error.advice.unwrap().contains("lease break"));
}

#[tokio::test]
async fn metadata_of_users_is_preserved() {
    let azure = Azure::start();
    azure.put_blob(KEY, "");
    azure.set_metadata(KEY, "owner", "me");
    let storage = backend(&azure, &[]).state("default").unwrap();
    let version = storage.read().await.unwrap().version;
    let version = storage.write(&content(), &version).await.unwrap();
    assert_eq!(azure.metadata(KEY)["owner"], "me");
    storage.lock(&request()).await.unwrap();
    storage.write(&content(), &version).await.unwrap();
    assert_eq!(azure.metadata(KEY).len(), 2);
    storage.unlock().await.unwrap();
    assert_eq!(azure.metadata(KEY).into_iter().collect::<Vec<_>>(), [("owner".to_owned(), "me".to_owned())]);
}

#[tokio::test]
async fn state_that_changed_meanwhile_is_not_replaced() {
    let azure = Azure::start();
    let storage = backend(&azure, &[]).state("default").unwrap();
    let version = storage.write(&content(), &StorageVersion::Absent).await.unwrap();
    azure.put_blob(KEY, "{\"theirs\":true}");
    for expected in [&version, &StorageVersion::Absent] {
        let error = storage.write(&content(), expected).await.unwrap_err();
        assert_eq!(effect(&error), StorageEffect::Conflict, "{error}");
    }
    assert_eq!(azure.blob(KEY).unwrap(), "{\"theirs\":true}");
    // A lock of another process changes the ETag, but not the state.
    let version = storage.read().await.unwrap().version;
    azure.set_metadata(KEY, "x", "y");
    storage.write(&content(), &version).await.unwrap();
}

#[tokio::test]
async fn broken_lease_is_acquired_again() {
    let (azure, place) = (Azure::start(), TempDir::new().unwrap());
    let backend = backend(&azure, &[]);
    let mut state = manager(backend.state("default").unwrap(), place.path());
    let info = state.lock(&request()).await.unwrap().clone();
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    azure.set_lease(KEY, None);
    let second = state.write(&with(&first, "random_id.b", "1")).await.unwrap();
    assert_eq!(azure.lease(KEY), Some(info.id.clone()));
    // Released by another run, which also removes the lock information.
    backend.state("default").unwrap().force_unlock(&info.id).await.unwrap();
    let third = state.write(&with(&second, "random_id.c", "1")).await.unwrap();
    assert!(azure.metadata(KEY).contains_key("terraformlockid"));
    // Another process holds the lock now.
    azure.set_lease(KEY, None);
    let other = backend.state("default").unwrap();
    other.lock(&request()).await.unwrap();
    let error = state.write(&with(&third, "random_id.d", "1")).await.unwrap_err();
    assert_eq!(effect(&error), StorageEffect::Conflict, "{error}");
    assert!(error.hint().unwrap().contains("somebody@somewhere has held it since"), "{error:?}");
    let stored = wardian_state::decode_state(azure.blob(KEY).unwrap().as_bytes()).unwrap().unwrap();
    assert_eq!(addresses(&stored).len(), 3);
    assert!(matches!(state.unlock().await, Err(LockError::OtherLock { found: Some(_), .. })));
    // A write without a lock.
    let version = other.read().await.unwrap().version;
    let error = backend.state("default").unwrap().write(&content(), &version).await.unwrap_err();
    assert!(error.hint().unwrap().contains("another process holds the lock"), "{error:?}");
    other.unlock().await.unwrap();
}

#[tokio::test]
async fn lost_responses_are_resolved() {
    let (azure, place) = (Azure::start(), TempDir::new().unwrap());
    let mut state = manager(backend(&azure, &[]).state("default").unwrap(), place.path());
    // The responses to the creation of the blob, to the lease and to the metadata are lost.
    for attempt in 0..3 {
        for _ in 0..attempt {
            azure.server().fail_next("PUT", Fault::Delay(Duration::ZERO));
        }
        azure.server().fail_next("PUT", Fault::CutAfter);
        let info = state.lock(&request()).await.unwrap().clone();
        assert_eq!(azure.lease(KEY), Some(info.id));
        azure.server().clear_faults();
        azure.server().fail_next("PUT", Fault::Delay(Duration::ZERO));
        azure.server().fail_next("PUT", Fault::CutAfter);
        state.unlock().await.unwrap();
        assert_eq!(azure.lease(KEY), None);
        azure.server().clear_faults();
    }
    state.lock(&request()).await.unwrap();
    azure.server().fail_next("PUT", Fault::CutAfter);
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    azure.server().fail_next("PUT", Fault::CutBefore);
    state.write(&with(&first, "random_id.b", "1")).await.unwrap();
    azure.server().fail_next("GET", Fault::CutInBody(3));
    assert_eq!(addresses(&state.read().await.unwrap()).len(), 2);
    state.unlock().await.unwrap();
}

#[tokio::test]
async fn lease_whose_response_is_lost_is_released() {
    let azure = Azure::start();
    azure.put_blob(KEY, "");
    let host = host_behind(&azure, &[], SHORT_TIMEOUT);
    let storage = backend_on(&host, &[("access_key", text(Azure::KEY))]).state("default").unwrap();
    azure.server().fail_next("PUT", Fault::CutAfter);
    for _ in 0..5 {
        azure.server().fail_next("PUT", Fault::CutBefore);
    }
    let error = storage.lock(&request()).await.unwrap_err();
    assert!(matches!(error, LockError::Storage { .. }), "{error}");
    assert_eq!(azure.lease(KEY), None);
}

#[tokio::test]
async fn snapshots_are_made() {
    let (azure, place) = (Azure::start(), TempDir::new().unwrap());
    let storage = backend(&azure, &[("snapshot", yes())]).state("default").unwrap();
    let version = storage.write(&content(), &StorageVersion::Absent).await.unwrap();
    assert_eq!(azure.snapshots(KEY), 0);
    storage.write(&content(), &version).await.unwrap();
    assert_eq!(azure.snapshots(KEY), 1);
    let mut state = manager(storage, place.path());
    state.lock(&request()).await.unwrap();
    state.read().await.unwrap();
    state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    state.unlock().await.unwrap();
    assert_eq!(azure.snapshots(KEY), 2);
}

#[tokio::test]
async fn rejected_requests_are_explained() {
    let azure = Azure::start();
    let storage = backend(&azure, &[]).state("default").unwrap();
    let error = |code: &str| format!("<Error><Code>{code}</Code><Message>m</Message></Error>");
    for (status, code, expected) in [
        (404, "ContainerNotFound", "\"states\" does not exist"),
        (403, "AuthenticationFailed", "not valid or have expired"),
        (403, "AuthorizationFailure", "network rules"),
        (403, "AuthorizationPermissionMismatch", "Storage Blob Data Contributor"),
        (403, "KeyBasedAuthenticationNotPermitted", "use_azuread_auth"),
        (403, "Other", "do not allow"),
    ] {
        azure.server().fail_next("GET", Fault::Answer(Response::new(status, error(code))));
        let error = storage.read().await.unwrap_err();
        assert!(error.hint().is_some_and(|hint| hint.contains(expected)), "{status} {code}: {error:?}");
    }
    let missing = backend(&azure, &[("container_name", text("missing"))]);
    let error = missing.workspaces().await.unwrap_err().to_string();
    assert!(error.contains("\"missing\" does not exist"), "{error}");
    let storage = missing.state("default").unwrap();
    assert!(storage.read().await.is_err());
    let LockError::Storage { error, .. } = storage.lock(&request()).await.unwrap_err() else { panic!() };
    assert!(error.advice.unwrap().contains("\"missing\" does not exist"));
    let error = storage.write(&content(), &StorageVersion::Absent).await.unwrap_err();
    assert!(error.hint().unwrap().contains("\"missing\" does not exist"), "{error:?}");
}

#[tokio::test]
async fn blob_that_is_not_a_state_is_an_error() {
    let (azure, place) = (Azure::start(), TempDir::new().unwrap());
    azure.put_blob(KEY, "<html>");
    let mut state = manager(backend(&azure, &[]).state("default").unwrap(), place.path());
    assert!(state.read().await.is_err());
    assert_eq!(azure.blob(KEY).unwrap(), "<html>");
}

/// A configuration with the hosts and paths to which it sends requests before the first one for a blob.
struct Case {
    name: &'static str,
    arguments: Vec<(&'static str, Value)>,
    variables: Vec<(&'static str, String)>,
    expected: &'static [&'static str],
    form: &'static [(&'static str, &'static str)],
}

#[tokio::test]
async fn every_kind_of_credentials_is_used() {
    const TOKEN: &str = "login.microsoftonline.com/tenant/oauth2/v2.0/token";
    const ACCOUNT: &str =
        "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/wardianstates";
    let (azure, place) = (Azure::start(), TempDir::new().unwrap());
    std::fs::write(place.path().join("token"), "file token\n").unwrap();
    std::fs::write(place.path().join("secret"), "file secret\n").unwrap();
    let local = azure.proxy();
    let client = || vec![("tenant_id", text("tenant")), ("client_id", text("client"))];
    let directory = |more: &[(&'static str, Value)]| {
        [client(), vec![("use_azuread_auth", yes())], more.to_vec()].concat()
    };
    const SCOPE: (&str, &str) = ("scope", "https://storage.azure.com/.default");
    let cases = [
        Case {
            name: "signature",
            arguments: vec![("sas_token", text(format!("?{}", Azure::SIGNATURE)))],
            variables: vec![],
            expected: &[],
            form: &[],
        },
        Case {
            name: "key in a variable",
            arguments: vec![],
            variables: vec![("ARM_ACCESS_KEY", Azure::KEY.to_owned())],
            expected: &[],
            form: &[],
        },
        Case {
            name: "secret",
            arguments: directory(&[("client_secret", text("s3cret"))]),
            variables: vec![],
            expected: &[TOKEN],
            form: &[("grant_type", "client_credentials"), ("client_secret", "s3cret"), SCOPE],
        },
        Case {
            name: "secret in a file, with variables",
            arguments: vec![],
            variables: vec![
                ("ARM_USE_AZUREAD", "true".to_owned()),
                ("ARM_TENANT_ID", "tenant".to_owned()),
                ("ARM_CLIENT_ID", "client".to_owned()),
                ("ARM_CLIENT_SECRET_FILE_PATH", "secret".to_owned()),
            ],
            expected: &[TOKEN],
            form: &[("client_secret", "file secret")],
        },
        Case {
            name: "token",
            arguments: directory(&[("use_oidc", yes()), ("oidc_token", text("s3cret token"))]),
            variables: vec![],
            expected: &[TOKEN],
            form: &[("client_assertion", "s3cret token")],
        },
        Case {
            name: "token in a file",
            arguments: directory(&[("use_oidc", yes()), ("oidc_token_file_path", text("token"))]),
            variables: vec![],
            expected: &[TOKEN],
            form: &[("client_assertion", "file token")],
        },
        Case {
            name: "GitHub",
            arguments: directory(&[("use_oidc", yes())]),
            variables: vec![
                ("ACTIONS_ID_TOKEN_REQUEST_URL", format!("{local}/oidc?x=1")),
                ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "s3cret".to_owned()),
            ],
            expected: &["127.0.0.1/oidc", TOKEN],
            form: &[("client_assertion", "identity token")],
        },
        Case {
            name: "Azure Pipelines",
            arguments: directory(&[
                ("use_oidc", yes()),
                ("oidc_request_url", text(format!("{local}/pipelines"))),
                ("oidc_request_token", text("s3cret")),
                ("ado_pipeline_service_connection_id", text("c")),
            ]),
            variables: vec![],
            expected: &["127.0.0.1/pipelines", TOKEN],
            form: &[("client_assertion", "pipeline token")],
        },
        Case {
            name: "Kubernetes",
            arguments: vec![("use_azuread_auth", yes()), ("use_aks_workload_identity", yes())],
            variables: vec![
                ("AZURE_TENANT_ID", "tenant".to_owned()),
                ("AZURE_CLIENT_ID", "client".to_owned()),
                ("AZURE_FEDERATED_TOKEN_FILE", "token".to_owned()),
            ],
            expected: &[TOKEN],
            form: &[("client_assertion", "file token"), ("client_id", "client")],
        },
        Case {
            name: "managed identity",
            arguments: vec![
                ("use_azuread_auth", yes()),
                ("use_msi", yes()),
                ("msi_endpoint", text(format!("{local}/msi"))),
            ],
            variables: vec![],
            expected: &["127.0.0.1/msi"],
            form: &[],
        },
        Case {
            name: "key from Azure Resource Manager",
            arguments: [
                client(),
                vec![
                    ("client_secret", text("s3cret")),
                    ("resource_group_name", text("rg")),
                    ("subscription_id", text("s")),
                ],
            ]
            .concat(),
            variables: vec![],
            expected: &[TOKEN, "management.azure.com+ACCOUNT/listKeys"],
            form: &[("scope", "https://management.azure.com/.default")],
        },
        Case {
            name: "cloud with a metadata service, and its endpoint",
            arguments: [
                client(),
                vec![
                    ("client_secret", text("s3cret")),
                    ("resource_group_name", text("rg")),
                    ("subscription_id", text("s")),
                    ("metadata_host", text("metadata.example")),
                    ("lookup_blob_endpoint", yes()),
                    ("access_key", text(Azure::KEY)),
                ],
            ]
            .concat(),
            variables: vec![],
            expected: &[
                "metadata.example/metadata/endpoints",
                "login.example/tenant/oauth2/v2.0/token",
                "management.example+ACCOUNT",
            ],
            form: &[("scope", "https://management.example/.default")],
        },
        Case {
            name: "another cloud",
            arguments: directory(&[("client_secret", text("s3cret")), ("environment", text("usgovernment"))]),
            variables: vec![],
            expected: &["login.microsoftonline.us/tenant/oauth2/v2.0/token"],
            form: &[SCOPE],
        },
    ];
    for Case { name, arguments, variables, expected, form } in cases {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut host = host_behind(&azure, &variables, LIMIT);
        host.directory = place.path().to_owned();
        let before = azure.server().requests().len();
        let backend = backend_on(&host, &arguments);
        assert!(!format!("{backend:?}").contains("s3cret"), "{name}");
        let storage = backend.state("default").unwrap();
        storage.read().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        storage.read().await.unwrap();
        let requests = azure.server().requests().split_off(before);
        let places: Vec<String> = requests
            .iter()
            .map(|request| {
                let host = request.header("host").unwrap().split(':').next().unwrap();
                format!("{host}{}", request.path())
            })
            .collect();
        let (blobs, others): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.contains(".blob."));
        let expected: Vec<String> = expected.iter().map(|place| place.replace("+ACCOUNT", ACCOUNT)).collect();
        assert_eq!(others, expected.iter().collect::<Vec<_>>(), "{name}");
        let domain = match name {
            "another cloud" => "wardianstates.blob.core.usgovcloudapi.net",
            "cloud with a metadata service, and its endpoint" => "wardianstates.z1.blob.storage.example",
            _ => "wardianstates.blob.core.windows.net",
        };
        let blob = format!("{domain}/states/a/b%20c.tfstate");
        assert_eq!(blobs, [&blob, &blob], "{name}");
        let sent =
            requests.iter().find(|request| request.path().ends_with("/token")).map(|request| request.form());
        for (field, value) in form {
            let found = sent.as_ref().unwrap().iter().find(|(name, _)| name == field);
            assert_eq!(found.map(|(_, value)| value.as_str()), Some(*value), "{name}: {field}");
        }
    }
}

#[tokio::test]
async fn azure_cli_issues_tokens() {
    let (azure, place) = (Azure::start(), TempDir::new().unwrap());
    // The token is issued by the server, so it is accepted.
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {0}/calls\ncase \"$*\" in\n*get-access-token*) echo \
         '{{\"accessToken\":\"token-1\",\"expires_on\":4102444800}}' ;;\n*show*) echo '{{\"id\":\"s\"}}' ;;\nesac\n",
        place.path().display()
    );
    let program = place.path().join("az");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", place.path().display());
    let mut host = host_behind(&azure, &[("PATH", &path)], LIMIT);
    host.directory = place.path().to_owned();
    let issuing = [
        ("use_azuread_auth", yes()),
        ("use_msi", yes()),
        ("msi_endpoint", text(format!("{}/msi", azure.proxy()))),
    ];
    backend_on(&host, &issuing).state("default").unwrap().read().await.unwrap();
    backend_on(&host, &[("use_azuread_auth", yes())]).state("default").unwrap().read().await.unwrap();
    let lookup = [("resource_group_name", text("rg")), ("tenant_id", text("t"))];
    backend_on(&host, &lookup).state("default").unwrap().read().await.unwrap();
    let calls = std::fs::read_to_string(place.path().join("calls")).unwrap();
    assert_eq!(
        calls.lines().collect::<Vec<_>>(),
        [
            "account get-access-token --scope https://storage.azure.com/.default -o=json",
            "account show -o=json",
            "account get-access-token --scope https://management.azure.com/.default --tenant t -o=json",
        ]
    );
    std::fs::write(&program, "#!/bin/sh\necho \"Please run 'az login'.\" >&2\nexit 1\n").unwrap();
    let failing = backend_on(&host, &[("use_azuread_auth", yes())]).state("default").unwrap();
    let error = failing.read().await.unwrap_err().to_string();
    assert!(error.contains("the Azure CLI failed: Please run"), "{error}");
    host.variables = Arc::default();
    let missing = backend_on(&host, &[("use_azuread_auth", yes())]).state("default").unwrap();
    let error = missing.read().await.unwrap_err().to_string();
    assert!(error.contains("az login"), "{error}");
}

#[tokio::test]
async fn token_is_renewed_during_a_run() {
    let azure = Azure::start();
    // The token expires within the margin.
    azure.set_token_seconds(60);
    let msi = [
        ("use_azuread_auth", yes()),
        ("use_msi", yes()),
        ("msi_endpoint", text(format!("{}/msi", azure.proxy()))),
    ];
    let storage = backend_on(&host_behind(&azure, &[], LIMIT), &msi).state("default").unwrap();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        storage.read().await.unwrap();
        tokens.push(azure.server().requests().pop().unwrap().header("authorization").unwrap().to_owned());
    }
    assert_eq!(tokens, ["Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn wrong_credentials_are_reported() {
    let azure = Azure::start();
    let message = async |more: &[(&'static str, Value)]| {
        let storage = backend_on(&host_behind(&azure, &[], LIMIT), more).state("default").unwrap();
        let error = storage.read().await.unwrap_err();
        format!("{error} {}", error.hint().unwrap_or_default())
    };
    let client = [("tenant_id", text("t")), ("client_id", text("c")), ("client_secret", text("wrong"))];
    let error = message(&[&client[..], &[("use_azuread_auth", yes())]].concat()).await;
    assert!(error.contains("invalid_client: AADSTS7000215"), "{error}");
    let error = message(&[("sas_token", text("sv=1&sig=wrong"))]).await;
    assert!(error.contains("not valid or have expired") && !error.contains("sig=wrong"), "{error}");
    let mut valid = client.to_vec();
    valid[2] = ("client_secret", text("s"));
    let error = message(&[&valid[..], &[("resource_group_name", text("rg"))]].concat()).await;
    assert!(error.contains("subscription_id"), "{error}");
}

#[test]
fn invalid_arguments_are_reported() {
    let error = |more: &[(&'static str, Value)]| {
        let more = [&[("access_key", text(Azure::KEY))], more].concat();
        let mut arguments = arguments(&more);
        arguments.dedup_by_key(|(name, _)| *name);
        configure_with("azurerm", &arguments, &host(&[], LIMIT)).unwrap_err().to_string()
    };
    for name in ["storage_account_name", "container_name", "key"] {
        assert!(error(&[(name, text(""))]).contains(name), "{name}");
    }
    assert!(error(&[("key", text("a/../b"))]).contains("\"..\""));
    assert!(error(&[("key", text("a?b"))]).contains("Terraform cannot"));
    assert!(error(&[("container_name", text("a/b"))]).contains("a/b"));
    assert!(error(&[("environment", text("germany"))]).contains("usgovernment"));
    assert!(error(&[("metadata_host", text("a/b"))]).contains("not the name of a host"));
    assert!(error(&[("lookup_blob_endpoint", yes())]).contains("resource_group_name"));
    let without = |more: &[(&'static str, Value)]| {
        configure_with("azurerm", &arguments(more), &host(&[], LIMIT)).unwrap_err().to_string()
    };
    assert!(without(&[]).contains("one of the arguments"));
    assert!(without(&[("access_key", text("nonsense%%"))]).contains("not in base64"));
    let directory = ("use_azuread_auth", yes());
    let certificate = [directory.clone(), ("client_certificate_path", text("x.pfx"))];
    assert!(without(&certificate).contains("Client certificates are not supported"));
    assert!(without(&[directory, ("use_cli", Value::bool(false))]).contains("No credentials"));
}

/// Azurite verifies the signatures, and has the same leases and conditions.
#[tokio::test]
async fn azurite_is_supported() {
    let Some(azure) = &*AZURITE else { return };
    let place = TempDir::new().unwrap();
    for key in ["plain", "a/b c & d=ä", "x//y"] {
        let backend = backend(azure, &[("key", text(key)), ("snapshot", yes())]);
        let mut mine = manager(backend.state("default").unwrap(), place.path());
        let info = mine.lock(&request()).await.unwrap().clone();
        let other = backend.state("default").unwrap();
        let LockError::Held { holder: Some(holder), .. } = other.lock(&request()).await.unwrap_err() else {
            panic!()
        };
        assert_eq!(*holder, info);
        let first = mine.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
        let second = mine.write(&with(&first, "random_id.b", "1")).await.unwrap();
        assert!(matches!(other.force_unlock("1").await, Err(LockError::OtherLock { found: Some(_), .. })));
        // The lease was released by another run, and is acquired again.
        other.force_unlock(&info.id).await.unwrap();
        mine.write(&with(&second, "random_id.c", "1")).await.unwrap();
        let error = other.write(&content(), &StorageVersion::Absent).await.unwrap_err();
        assert_eq!(effect(&error), StorageEffect::Conflict, "{error}");
        mine.unlock().await.unwrap();
        let error = other.write(&content(), &StorageVersion::Absent).await.unwrap_err();
        assert_eq!(effect(&error), StorageEffect::Conflict, "{error}");
        assert!(matches!(other.force_unlock(&info.id).await, Err(LockError::OtherLock { found: None, .. })));
        assert_eq!(addresses(&mine.read().await.unwrap()).len(), 3);
    }
    let backend = backend(azure, &[("key", text("workspaces"))]);
    backend.create_workspace("dev", Some(&request())).await.unwrap();
    backend.create_workspace("a b", None).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a b", "dev"]);
    let locked = backend.state("dev").unwrap();
    locked.lock(&request()).await.unwrap();
    backend.delete_workspace("dev").await.unwrap();
    locked.unlock().await.unwrap();
    backend.delete_workspace("a b").await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    let missing = self::backend(azure, &[("container_name", text("missing"))]);
    let error = missing.state("default").unwrap().read().await.unwrap_err();
    assert!(error.hint().unwrap().contains("\"missing\" does not exist"), "{error:?}");
    let host = host_behind(azure, &[], LIMIT);
    let wrong = backend_on(&host, &[("access_key", text("AAAA"))]).state("default").unwrap();
    assert!(wrong.read().await.unwrap_err().hint().is_some());
}
