//! The API of HCP Terraform and Terraform Enterprise.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use url::Url;
use wardian_download::{Authorization, Fetch, Fetched, printable_url};
use wardian_state::{StorageEffect, StorageError};

use super::settings::{EnterpriseSettings, Mapping};
use crate::host::EnterpriseService;
use crate::service::{Answer, MAX_RESPONSE_BYTES, MAX_STATE_BYTES, unexpected};

const JSON_API: HeaderValue = HeaderValue::from_static("application/vnd.api+json");
const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");
const TERRAFORM_VERSION: HeaderName = HeaderName::from_static("terraform-version");
const LOCAL_MODE: &str = "local";

/// Maximum number of pages of a list, each with 100 workspaces.
const MAX_PAGES: u32 = 1000;

#[derive(Debug)]
pub(super) struct EnterpriseApi {
    settings: EnterpriseSettings,
    service: OnceCell<EnterpriseService>,
}

/// A workspace of the organization.
#[derive(Clone, Debug)]
pub(super) struct Workspace {
    pub(super) id: String,
    pub(super) mode: String,
    pub(super) is_locked: bool,
    /// The reason of the lock; empty if there is none.
    pub(super) reason: String,
    /// The name of the user, team or run that holds the lock.
    pub(super) locked_by: Option<String>,
}

/// A stored state.
#[derive(Clone, Debug)]
pub(super) struct StateVersion {
    pub(super) id: String,
    pub(super) status: Option<String>,
    pub(super) download: Option<Url>,
    pub(super) upload: Option<Url>,
}

impl EnterpriseApi {
    pub(super) fn new(settings: EnterpriseSettings) -> Self {
        Self { settings, service: OnceCell::new() }
    }

    pub(super) fn settings(&self) -> &EnterpriseSettings {
        &self.settings
    }

    /// Finds the service on the host.
    async fn service(&self) -> Result<&EnterpriseService, StorageError> {
        let settings = &self.settings;
        self.service
            .get_or_try_init(|| async {
                let mut service =
                    settings.hosts.enterprise(&settings.host).await.map_err(StorageError::new)?;
                service.token = settings.token.clone().or(service.token);
                if service.token.is_none() {
                    return Err(StorageError::new(format!(
                        "there is no token for the host {}",
                        settings.host
                    ))
                    .with_advice(self.login_advice()));
                }
                if !service.url.path().ends_with('/') {
                    let path = format!("{}/", service.url.path());
                    service.url.set_path(&path);
                }
                Ok(service)
            })
            .await
    }

    fn login_advice(&self) -> String {
        let host = &self.settings.host;
        format!(
            "run `wardian login {host}`, set the variable TF_TOKEN_{}, or add a \"credentials\" block to the CLI \
             configuration",
            host.replace('-', "__").replace('.', "_")
        )
    }

    /// Returns the URL of a resource. The segments are encoded.
    async fn url(&self, segments: &[&str]) -> Result<Url, StorageError> {
        let mut url = self.service().await?.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        Ok(url)
    }

    async fn organization_url(&self, segments: &[&str]) -> Result<Url, StorageError> {
        let first = ["organizations", self.settings.organization.as_str()];
        self.url(&[&first, segments].concat()).await
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        content: Option<(HeaderValue, Bytes)>,
        max_bytes: u64,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let service = self.service().await?;
        // URLs of states can point to another server, for which the token is not meant.
        let token = service.token.as_deref().filter(|_| service.url.origin() == url.origin());
        let version = HeaderValue::from_str(&self.settings.terraform_version).ok();
        let size = content.as_ref().map_or(0, |(_, body)| body.len());
        let build = || {
            let mut fetch = Fetch::new(method.clone(), url.clone());
            if let Some(token) = token {
                fetch = fetch.authorization(Authorization::bearer(token));
            }
            if let Some(version) = &version {
                fetch = fetch.header(TERRAFORM_VERSION, version.clone());
            }
            match &content {
                Some((content_type, body)) => {
                    fetch.header(header::CONTENT_TYPE, content_type.clone()).body(body.clone())
                }
                None => fetch,
            }
        };
        let sent = self.settings.service.send(size, max_bytes, build).await;
        let sent = sent.map_err(|error| StorageError {
            message: format!("failed to {operation}: {}", error.message),
            ..error
        })?;
        if sent.response.status == StatusCode::UNAUTHORIZED {
            return Err(self.failure(operation, &sent.response).with_advice(format!(
                "the token for {} is not valid or has expired; {}",
                self.settings.host,
                self.login_advice()
            )));
        }
        Ok(sent)
    }

    async fn get(&self, url: Url, operation: &str) -> Result<Fetched, StorageError> {
        Ok(self.send(Method::GET, url, None, MAX_RESPONSE_BYTES, operation).await?.response)
    }

    async fn send_json(
        &self,
        method: Method,
        url: Url,
        body: Option<Value>,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let content = body.map(|body| (JSON_API, Bytes::from(body.to_string())));
        self.send(method, url, content, MAX_RESPONSE_BYTES, operation).await
    }

    /// Returns the error for a response with an unexpected status.
    pub(super) fn failure(&self, operation: &str, response: &Fetched) -> StorageError {
        let mut error = unexpected(operation, response);
        if let Some(reason) = error_text(&response.body) {
            error.message = format!(
                "failed to {operation}: {} responded with {}: {reason}",
                printable_url(&response.url),
                response.status
            );
        }
        if response.status == StatusCode::NOT_FOUND {
            error.advice = Some(format!(
                "check that the organization \"{}\" exists on {}, and that the token has access to it",
                self.settings.organization, self.settings.host
            ));
        }
        error
    }

    /// Returns a workspace; [`None`] if it does not exist or the token has no access.
    pub(super) async fn workspace(&self, name: &str) -> Result<Option<Workspace>, StorageError> {
        const OPERATION: &str = "find the workspace";
        let mut url = self.organization_url(&["workspaces", name]).await?;
        url.query_pairs_mut().append_pair("include", "locked_by");
        let response = self.get(url, OPERATION).await?;
        match response.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => parse(&response, OPERATION, parse_workspace).map(Some),
            _ => Err(self.failure(OPERATION, &response)),
        }
    }

    /// Creates a workspace in which operations run locally.
    pub(super) async fn create_workspace(&self, name: &str) -> Result<Workspace, StorageError> {
        const OPERATION: &str = "create the workspace";
        let mut relationships = json!({});
        if let Some(project) = &self.settings.project {
            let id = self.project(project).await?;
            relationships["project"] = json!({ "data": { "type": "projects", "id": id } });
        }
        if let Mapping::Tags { names, pairs } = &self.settings.mapping {
            if !names.is_empty() {
                let tags: Vec<_> = names
                    .iter()
                    .map(|name| json!({ "type": "tags", "attributes": { "name": name } }))
                    .collect();
                relationships["tags"] = json!({ "data": tags });
            }
            if !pairs.is_empty() {
                let bindings: Vec<_> = pairs
                    .iter()
                    .map(|(key, value)| {
                        json!({ "type": "tag-bindings", "attributes": { "key": key, "value": value } })
                    })
                    .collect();
                relationships["tag-bindings"] = json!({ "data": bindings });
            }
        }
        let body = json!({ "data": {
            "type": "workspaces",
            "attributes": {
                "name": name,
                "terraform-version": self.settings.terraform_version,
                "execution-mode": LOCAL_MODE,
                "setting-overwrites": { "execution-mode": true },
            },
            "relationships": relationships,
        } });
        let url = self.organization_url(&["workspaces"]).await?;
        let sent = self.send_json(Method::POST, url, Some(body), OPERATION).await?;
        match sent.response.status {
            StatusCode::OK | StatusCode::CREATED => parse(&sent.response, OPERATION, parse_workspace),
            // An earlier attempt of this request may have created the workspace.
            StatusCode::UNPROCESSABLE_ENTITY if sent.is_repeated => match self.workspace(name).await? {
                Some(workspace) => Ok(workspace),
                None => Err(self.failure(OPERATION, &sent.response)),
            },
            _ => Err(self.failure(OPERATION, &sent.response)),
        }
    }

    /// Returns the ID of a project, which is created if it does not exist.
    async fn project(&self, name: &str) -> Result<String, StorageError> {
        const OPERATION: &str = "find the project";
        let mut url = self.organization_url(&["projects"]).await?;
        url.query_pairs_mut().append_pair("filter[names]", name);
        let response = self.get(url.clone(), OPERATION).await?;
        if response.status != StatusCode::OK {
            return Err(self.failure(OPERATION, &response));
        }
        let found = parse(&response, OPERATION, |body| Some(find_named(body, name)))?;
        if let Some(id) = found {
            return Ok(id);
        }
        let body = json!({ "data": { "type": "projects", "attributes": { "name": name } } });
        url.set_query(None);
        let response = self.send_json(Method::POST, url, Some(body), "create the project").await?.response;
        match response.status {
            StatusCode::OK | StatusCode::CREATED => {
                parse(&response, OPERATION, |body| text(body, "/data/id"))
            }
            _ => Err(self.failure("create the project", &response)),
        }
    }

    pub(super) async fn delete_workspace(&self, name: &str) -> Result<(), StorageError> {
        const OPERATION: &str = "delete the workspace";
        let url = self.organization_url(&["workspaces", name]).await?;
        let response = self.send_json(Method::DELETE, url, None, OPERATION).await?.response;
        match response.status {
            StatusCode::OK | StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.failure(OPERATION, &response)),
        }
    }

    /// Returns the names of the workspaces that the configuration selects.
    pub(super) async fn workspace_names(&self) -> Result<Vec<String>, StorageError> {
        const OPERATION: &str = "list the workspaces";
        let mut names = Vec::new();
        for page in 1..=MAX_PAGES {
            let mut url = self.organization_url(&["workspaces"]).await?;
            {
                let mut query = url.query_pairs_mut();
                query.append_pair("page[number]", &page.to_string()).append_pair("page[size]", "100");
                match &self.settings.mapping {
                    Mapping::Name(name) => {
                        query.append_pair("search[name]", name);
                    }
                    Mapping::Prefix(prefix) => {
                        query.append_pair("search[name]", prefix);
                    }
                    Mapping::Tags { names, pairs } => {
                        if !names.is_empty() {
                            query.append_pair("search[tags]", &names.join(","));
                        }
                        for (number, (key, value)) in pairs.iter().enumerate() {
                            query.append_pair(&format!("filter[tagged][{number}][key]"), key);
                            query.append_pair(&format!("filter[tagged][{number}][value]"), value);
                        }
                    }
                }
            }
            let response = self.get(url, OPERATION).await?;
            if response.status != StatusCode::OK {
                return Err(self.failure(OPERATION, &response));
            }
            let (found, has_more) = parse(&response, OPERATION, parse_page)?;
            names.extend(found);
            if !has_more {
                break;
            }
        }
        Ok(names)
    }

    /// Locks, unlocks or releases the lock of another user.
    pub(super) async fn change_lock(
        &self,
        workspace: &Workspace,
        action: &str,
        reason: Option<&str>,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let url = self.url(&["workspaces", &workspace.id, "actions", action]).await?;
        let body = reason.map(|reason| json!({ "reason": reason }));
        self.send_json(Method::POST, url, body, operation).await
    }

    /// Returns the current state version; [`None`] if there is none.
    pub(super) async fn current_version(
        &self,
        workspace: &Workspace,
    ) -> Result<Option<StateVersion>, StorageError> {
        const OPERATION: &str = "find the current state";
        let url = self.url(&["workspaces", &workspace.id, "current-state-version"]).await?;
        let response = self.get(url, OPERATION).await?;
        match response.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => parse(&response, OPERATION, parse_version).map(Some),
            _ => Err(self.failure(OPERATION, &response)),
        }
    }

    pub(super) async fn version(&self, id: &str) -> Result<StateVersion, StorageError> {
        const OPERATION: &str = "confirm the new state";
        let url = self.url(&["state-versions", id]).await?;
        let response = self.get(url, OPERATION).await?;
        match response.status {
            StatusCode::OK => parse(&response, OPERATION, parse_version),
            _ => Err(self.failure(OPERATION, &response)),
        }
    }

    pub(super) async fn create_version(
        &self,
        workspace: &Workspace,
        attributes: &Value,
    ) -> Result<Answer, StorageError> {
        let url = self.url(&["workspaces", &workspace.id, "state-versions"]).await?;
        let body = json!({ "data": { "type": "state-versions", "attributes": attributes } });
        self.send_json(Method::POST, url, Some(body), "write the state").await
    }

    pub(super) async fn download(&self, url: Url) -> Result<Bytes, StorageError> {
        const OPERATION: &str = "download the state";
        let response = self.send(Method::GET, url, None, MAX_STATE_BYTES, OPERATION).await?.response;
        match response.status {
            StatusCode::OK => Ok(response.body),
            _ => Err(self.failure(OPERATION, &response)),
        }
    }

    pub(super) async fn upload(&self, url: Url, state: Bytes) -> Result<(), StorageError> {
        const OPERATION: &str = "upload the state";
        let sent = self.send(Method::PUT, url, Some((OCTETS, state)), MAX_RESPONSE_BYTES, OPERATION).await?;
        match sent.response.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => Ok(()),
            _ => Err(self.failure(OPERATION, &sent.response).with_effect(StorageEffect::Unknown)),
        }
    }
}

impl Workspace {
    /// Whether operations run on the machine of the user.
    pub(super) fn is_local(&self) -> bool {
        self.mode == LOCAL_MODE
    }
}

/// Parses the state version in a response.
pub(super) fn version_in(response: &Fetched) -> Result<StateVersion, StorageError> {
    parse(response, "write the state", parse_version)
        .map_err(|error| error.with_effect(StorageEffect::Unknown))
}

fn parse<T>(
    response: &Fetched,
    operation: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, StorageError> {
    let body: Option<Value> = serde_json::from_slice(&response.body).ok();
    body.as_ref().and_then(read).ok_or_else(|| {
        let url = printable_url(&response.url);
        StorageError::new(format!("failed to {operation}: the response from {url} is not valid"))
            .with_advice("check that the host is HCP Terraform or Terraform Enterprise")
    })
}

fn text(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)?.as_str().map(str::to_owned)
}

/// Returns the messages of an error response.
pub(super) fn error_text(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let messages = body.get("errors")?.as_array()?.iter().filter_map(|error| {
        error.get("detail").and_then(Value::as_str).or_else(|| error.get("title")?.as_str())
    });
    let text = messages.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| text.chars().take(300).collect())
}

fn parse_workspace(body: &Value) -> Option<Workspace> {
    let attributes = body.pointer("/data/attributes")?;
    let mode = text(attributes, "/execution-mode").or_else(|| {
        // The attribute of older versions.
        let is_remote = attributes.get("operations")?.as_bool()?;
        Some(if is_remote { "remote" } else { LOCAL_MODE }.to_owned())
    });
    let included = body.get("included").and_then(Value::as_array).into_iter().flatten();
    let holder = text(body, "/data/relationships/locked-by/data/id");
    let locked_by = holder.map(|id| {
        let mut included =
            included.filter(|resource| resource.get("id").and_then(Value::as_str) == Some(&id));
        let named = included.next().and_then(|resource| {
            text(resource, "/attributes/username").or_else(|| text(resource, "/attributes/name"))
        });
        named.unwrap_or(id)
    });
    Some(Workspace {
        id: text(body, "/data/id")?,
        mode: mode?,
        is_locked: attributes.get("locked").and_then(Value::as_bool).unwrap_or_default(),
        reason: text(attributes, "/locked-reason").unwrap_or_default(),
        locked_by,
    })
}

fn parse_version(body: &Value) -> Option<StateVersion> {
    let url = |name: &str| {
        let text = text(body, &format!("/data/attributes/{name}"))?;
        Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
    };
    Some(StateVersion {
        id: text(body, "/data/id")?,
        status: text(body, "/data/attributes/status"),
        download: url("hosted-state-download-url"),
        upload: url("hosted-state-upload-url"),
    })
}

/// Returns the names in a page of a list, and whether there are more pages.
fn parse_page(body: &Value) -> Option<(Vec<String>, bool)> {
    let workspaces = body.get("data")?.as_array()?;
    let names =
        workspaces.iter().map(|workspace| text(workspace, "/attributes/name")).collect::<Option<Vec<_>>>()?;
    let next = body.pointer("/meta/pagination/next-page").is_some_and(Value::is_u64);
    Some((names, next))
}

fn find_named(body: &Value, name: &str) -> Option<String> {
    let mut projects = body.get("data")?.as_array()?.iter();
    let found = projects.find(|project| text(project, "/attributes/name").as_deref() == Some(name))?;
    text(found, "/id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_parsed() {
        let workspace = |body: Value| parse_workspace(&body);
        let found = workspace(json!({
            "data": {
                "id": "ws-1",
                "attributes": { "execution-mode": "local", "locked": true, "locked-reason": "r" },
                "relationships": { "locked-by": { "data": { "id": "user-1", "type": "users" } } },
            },
            "included": [{ "id": "user-1", "type": "users", "attributes": { "username": "anna" } }],
        }));
        let found = found.unwrap();
        assert!(found.is_local() && found.is_locked);
        assert_eq!((&*found.reason, found.locked_by.as_deref()), ("r", Some("anna")));
        let old = workspace(json!({ "data": { "id": "ws-1", "attributes": { "operations": true } } }));
        assert_eq!(old.unwrap().mode, "remote");
        for bad in [json!(null), json!({}), json!({ "data": { "id": 1, "attributes": {} } })] {
            assert!(workspace(bad.clone()).is_none(), "{bad}");
        }
    }

    #[test]
    fn error_messages_are_found() {
        let body = br#"{"errors":[{"status":"409","title":"conflict","detail":"is locked"},{"title":"t"}]}"#;
        assert_eq!(error_text(body).as_deref(), Some("is locked; t"));
        assert_eq!(error_text(b"<html>"), None);
    }
}
