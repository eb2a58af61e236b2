//! The backend `remote` and the block `cloud` with a server of the API.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use wardian_backend::{Backend, BackendError, BackendHost, EnterpriseService, ServiceHosts};
use wardian_state::{LockError, State, StateProblem, StorageEffect};
use wardian_state_server::{Enterprise, Fault, Response, ServiceServer};
use wardian_value::Value;

use crate::support::{addresses, configure_with, host, manager, request, text, with};

const TOKEN: &str = "s3cret";

/// One host with the service.
#[derive(Debug)]
struct Hosts {
    url: String,
    token: Option<String>,
}

#[async_trait]
impl ServiceHosts for Hosts {
    async fn enterprise(&self, host: &str) -> Result<EnterpriseService, String> {
        if host != "tfe.example.com" {
            return Err(format!("host {host} does not provide a tfe service (tfe.v2)"));
        }
        Ok(EnterpriseService { url: self.url.parse().unwrap(), token: self.token.clone() })
    }
}

fn start() -> ServiceServer<Enterprise> {
    ServiceServer::start(|origin| Enterprise::new(origin, "org", TOKEN))
}

fn host_of(
    server: &ServiceServer<Enterprise>,
    token: Option<&str>,
    variables: &[(&str, &str)],
) -> BackendHost {
    let hosts = Hosts { url: format!("{}/api/v2", server.origin()), token: token.map(str::to_owned) };
    BackendHost { services: Arc::new(hosts), ..host(variables, Duration::from_secs(10)) }
}

fn configured(
    server: &ServiceServer<Enterprise>,
    kind: &str,
    workspaces: &[(&str, Value)],
) -> Arc<dyn Backend> {
    try_configured(server, kind, workspaces).unwrap()
}

fn try_configured(
    server: &ServiceServer<Enterprise>,
    kind: &str,
    workspaces: &[(&str, Value)],
) -> Result<Arc<dyn Backend>, BackendError> {
    let workspaces = Value::object(workspaces.iter().map(|(name, value)| (*name, value.clone())));
    let arguments =
        [("hostname", text("tfe.example.com")), ("organization", text("org")), ("workspaces", workspaces)];
    configure_with(kind, &arguments, &host_of(server, Some(TOKEN), &[]))
}

fn named(server: &ServiceServer<Enterprise>) -> Arc<dyn Backend> {
    configured(server, "remote", &[("name", text("app"))])
}

fn effect(error: &wardian_state::StateError) -> StorageEffect {
    let StateProblem::Storage(problem) = &error.problem else { panic!("{error}") };
    problem.effect
}

#[tokio::test]
async fn missing_workspace_is_created_and_its_state_is_uploaded() {
    for has_uploads in [true, false] {
        let server = start();
        if !has_uploads {
            server.service().refuse_uploads();
        }
        let backend = named(&server);
        let place = TempDir::new().unwrap();
        let mut state = manager(backend.state("default").unwrap(), place.path());
        assert!(!state.exists().await.unwrap());
        assert!(server.service().workspace("app").is_none());
        let info = state.lock(&request()).await.unwrap().clone();
        assert_eq!(info.id, "org/app");
        let reason = server.service().lock_reason("app").unwrap();
        assert!(reason.contains("OperationTypeApply by somebody@somewhere since "), "{reason}");
        let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
        let second = state.write(&with(&first, "random_id.b", "2")).await.unwrap();
        state.unlock().await.unwrap();
        assert_eq!(server.service().lock_reason("app"), None);
        let stored = server.service().state("app").unwrap();
        assert_eq!(wardian_state::decode_state(&stored).unwrap().unwrap(), *second);
        assert_eq!(server.count("PUT", "/content/"), if has_uploads { 2 } else { 0 });
        let created =
            server.requests().into_iter().find(|request| request.target.ends_with("/state-versions"));
        let body = String::from_utf8(created.unwrap().body).unwrap();
        for member in [
            "\"md5\":\"",
            "\"serial\":1",
            "\"lineage\":\"",
            "\"json-state-outputs\":\"e30=\"",
            "\"force\":false",
        ] {
            assert!(body.contains(member), "{member}: {body}");
        }
        assert!(!format!("{backend:?}").contains(TOKEN));
    }
}

#[tokio::test]
async fn token_is_not_sent_with_the_content() {
    let server = start();
    let place = TempDir::new().unwrap();
    // The server has another origin under this name.
    let hosts = Hosts {
        url: format!("{}/api/v2/", server.origin().replace("127.0.0.1", "localhost")),
        token: Some(TOKEN.to_owned()),
    };
    let host = BackendHost { services: Arc::new(hosts), ..host(&[], Duration::from_secs(10)) };
    let workspaces = Value::object([("name", text("app"))]);
    let arguments =
        [("hostname", text("tfe.example.com")), ("organization", text("org")), ("workspaces", workspaces)];
    let backend = configure_with("remote", &arguments, &host).unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    backend.state("default").unwrap().read().await.unwrap();
    let content: Vec<_> =
        server.requests().into_iter().filter(|request| request.target.starts_with("/content/")).collect();
    assert_eq!(content.len(), 2);
    assert!(content.iter().all(|request| request.header("authorization").is_none()));
}

#[tokio::test]
async fn workspace_with_another_execution_mode_is_refused() {
    for mode in ["remote", "agent"] {
        let server = start();
        server.service().add_workspace("app", mode, &[]);
        server.service().set_state("app", b"{}");
        let storage = named(&server).state("default").unwrap();
        assert_eq!(storage.read().await.unwrap().bytes, b"{}");
        let error = storage.lock(&request()).await.unwrap_err();
        let LockError::Storage { error, .. } = &error else { panic!("{error}") };
        assert!(error.message.contains(&format!("execution mode is \"{mode}\"")), "{error}");
        assert!(error.advice.as_deref().unwrap().contains("execution mode to \"local\""), "{error:?}");
        assert_eq!(server.service().lock_reason("app"), None);
        let content = wardian_state::StateContent::new_state("1.11.4").unwrap();
        assert!(storage.write(&content, &wardian_state::StorageVersion::Unknown).await.is_err());
    }
}

#[tokio::test]
async fn prefix_and_tags_select_workspaces() {
    let server = start();
    for (name, tags) in
        [("team-prod", &[][..]), ("my-team-x", &[]), ("tagged", &["a", "b"]), ("half", &["a"])]
    {
        server.service().add_workspace(name, "local", tags);
    }
    let by_prefix = configured(&server, "remote", &[("prefix", text("team-"))]);
    assert_eq!(by_prefix.workspaces().await.unwrap(), ["prod"]);
    assert_eq!((by_prefix.default_workspace(), by_prefix.has_workspaces()), (None, true));
    by_prefix.create_workspace("dev", Some(&request())).await.unwrap();
    assert_eq!(by_prefix.workspaces().await.unwrap(), ["dev", "prod"]);
    assert!(server.service().workspace("team-dev").is_some());
    by_prefix.delete_workspace("dev").await.unwrap();
    assert_eq!(by_prefix.workspaces().await.unwrap(), ["prod"]);
    let error = by_prefix.state("default").unwrap_err().to_string();
    assert!(error.contains("workspace new"), "{error}");

    let tags = Value::tuple([text("a"), text("b")]);
    let by_tags = configured(&server, "cloud", &[("tags", tags), ("project", text("web"))]);
    assert_eq!(by_tags.workspaces().await.unwrap(), ["tagged"]);
    by_tags.create_workspace("other", None).await.unwrap();
    by_tags.create_workspace("third", None).await.unwrap();
    let (tags, project) = server.service().workspace("other").unwrap();
    assert_eq!((tags, project.as_deref()), (vec!["a".to_owned(), "b".to_owned()], Some("web")));
    assert_eq!(server.count("POST", "/projects"), 1);
    assert_eq!(by_tags.workspaces().await.unwrap(), ["other", "tagged", "third"]);

    let pairs = Value::object([("env", text("prod"))]);
    configured(&server, "cloud", &[("tags", pairs)]).workspaces().await.unwrap();
    let query = server.requests().pop().unwrap().target;
    assert!(query.contains("filter%5Btagged%5D%5B0%5D%5Bkey%5D=env"), "{query}");
}

#[tokio::test]
async fn cloud_block_with_a_name_has_one_workspace() {
    let server = start();
    let backend = configured(&server, "cloud", &[("name", text("app"))]);
    assert_eq!((backend.default_workspace(), backend.has_workspaces()), (Some("app"), false));
    assert_eq!(backend.workspaces().await.unwrap(), ["app"]);
    assert!(backend.state("app").unwrap().read().await.unwrap().bytes.is_empty());
    assert!(backend.state("default").unwrap_err().to_string().contains("wardian init"));
    assert!(backend.create_workspace("x", None).await.is_err());
    let variables =
        [("TF_CLOUD_ORGANIZATION", "org"), ("TF_CLOUD_HOSTNAME", "tfe.example.com"), ("TF_WORKSPACE", "w")];
    let from_variables = configure_with("cloud", &[], &host_of(&server, Some(TOKEN), &variables)).unwrap();
    from_variables.state("w").unwrap().lock(&request()).await.unwrap();
    assert!(server.service().lock_reason("w").is_some());
}

#[tokio::test]
async fn held_lock_names_the_holder_and_can_be_removed() {
    let server = start();
    let backend = named(&server);
    let (first, second) = (backend.state("default").unwrap(), backend.state("default").unwrap());
    let info = first.lock(&request()).await.unwrap();
    let error = second.lock(&request()).await.unwrap_err();
    let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
    assert_eq!(**holder, info);
    let error = second.force_unlock("other").await.unwrap_err().to_string();
    assert!(error.contains("does not match the existing lock ID \"org/app\""), "{error}");
    second.force_unlock("org/app").await.unwrap();
    assert!(matches!(first.unlock().await, Err(LockError::OtherLock { found: None, .. })));
    // Terraform holds the lock.
    server.service().set_lock("app", Some("Locked by Terraform"));
    let error = second.lock(&request()).await.unwrap_err().to_string();
    assert!(error.contains("locked by anna") && error.contains("Locked by Terraform"), "{error}");
}

#[tokio::test]
async fn nothing_is_written_without_the_lock_or_over_another_state() {
    let server = start();
    let backend = named(&server);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    state.lock(&request()).await.unwrap();
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    let reason = server.service().lock_reason("app").unwrap();
    server.service().set_lock("app", Some("Locked by Terraform"));
    let error = state.write(&with(&first, "random_id.b", "1")).await.unwrap_err();
    assert!(effect(&error) == StorageEffect::Conflict && error.to_string().contains("was lost"), "{error}");
    server.service().set_lock("app", Some(&reason));
    server.service().set_state("app", b"{}");
    let error = state.write(&with(&first, "random_id.b", "1")).await.unwrap_err();
    assert!(
        effect(&error) == StorageEffect::Conflict && error.to_string().contains("has changed"),
        "{error}"
    );
    assert_eq!(server.service().state("app").unwrap(), b"{}");
    assert!(place.path().join("state.journal").exists());
}

#[tokio::test]
async fn lost_responses_change_nothing_twice() {
    let server = start();
    let backend = named(&server);
    let place = TempDir::new().unwrap();
    let mut state = manager(backend.state("default").unwrap(), place.path());
    server.fail_next("POST", "/workspaces", Fault::CutAfter);
    server.fail_next("POST", "/actions/lock", Fault::CutAfter);
    state.lock(&request()).await.unwrap();
    server.fail_next("PUT", "/content/", Fault::CutAfter);
    let first = state.write(&with(&State::default(), "random_id.a", "1")).await.unwrap();
    server.fail_next("GET", "/state-versions/", Fault::Answer(Response::new(403, "")));
    let second = state.write(&with(&first, "random_id.b", "1")).await.unwrap();
    server.fail_next("POST", "/actions/unlock", Fault::CutAfter);
    state.unlock().await.unwrap();
    let stored = server.service().state("app").unwrap();
    assert_eq!(addresses(&wardian_state::decode_state(&stored).unwrap().unwrap()), addresses(&second));
    assert_eq!(server.service().lock_reason("app"), None);
}

#[tokio::test]
async fn wrong_credentials_and_organizations_are_explained() {
    let server = start();
    let workspaces = Value::object([("name", text("app"))]);
    let arguments = |organization: &str, host: &str| {
        [("hostname", text(host)), ("organization", text(organization)), ("workspaces", workspaces.clone())]
    };
    let read = async |organization: &str, host: &str, token| {
        let backend = configure_with("remote", &arguments(organization, host), &host_of(&server, token, &[]));
        let storage = backend.unwrap().state("default").unwrap();
        let error = storage.lock(&request()).await.unwrap_err();
        let LockError::Storage { error, .. } = error else { panic!("{error}") };
        error.sentences()
    };
    let missing = read("org", "tfe.example.com", None).await;
    assert!(
        missing.contains("wardian login tfe.example.com") && missing.contains("TF_TOKEN_tfe_example_com"),
        "{missing}"
    );
    assert!(server.requests().is_empty());
    let wrong = read("org", "tfe.example.com", Some("wrong")).await;
    assert!(wrong.contains("not valid or has expired"), "{wrong}");
    let other = read("nobody", "tfe.example.com", Some(TOKEN)).await;
    assert!(other.contains("organization \"nobody\""), "{other}");
    let unknown = read("org", "other.example.com", Some(TOKEN)).await;
    assert!(unknown.contains("does not provide"), "{unknown}");
}

#[test]
fn invalid_workspaces_are_reported() {
    let server = start();
    let error = |kind: &str, workspaces: &[(&str, Value)]| {
        try_configured(&server, kind, workspaces).unwrap_err().to_string()
    };
    assert!(error("remote", &[]).contains("Either \"name\" or \"prefix\""));
    assert!(error("remote", &[("name", text("a")), ("prefix", text("b"))]).contains("Only one"));
    assert!(error("cloud", &[]).contains("Either \"name\" or \"tags\""));
    assert!(error("cloud", &[("name", text("a")), ("tags", Value::tuple([text("b")]))]).contains("Only one"));
    assert!(error("cloud", &[("tags", text("b"))]).contains("set of strings or a map"));
    assert!(error("cloud", &[("tags", Value::empty_object())]).contains("must contain"));
    let missing = configure_with("cloud", &[], &host_of(&server, None, &[])).unwrap_err().to_string();
    assert!(missing.contains("TF_CLOUD_ORGANIZATION"), "{missing}");
    let variables = [("TF_WORKSPACE", "other")];
    let workspaces = Value::object([("name", text("app"))]);
    let arguments = [("organization", text("org")), ("workspaces", workspaces)];
    let error = configure_with("cloud", &arguments, &host_of(&server, None, &variables)).unwrap_err();
    assert!(error.to_string().contains("TF_WORKSPACE"), "{error}");
}
