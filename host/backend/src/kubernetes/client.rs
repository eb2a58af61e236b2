//! Requests to the API server.

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use url::Url;
use wardian_download::{Authorization, Fetch, Fetched};
use wardian_files::read_regular;
use wardian_state::StorageError;

use super::settings::{Credentials, KubernetesSettings};
use crate::service::{Answer, MAX_STATE_BYTES, unexpected};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const MAX_TOKEN_BYTES: u64 = 1 << 20;
pub(super) const WORKSPACE_LABEL: &str = "tfstateWorkspace";
pub(super) const SUFFIX_LABEL: &str = "tfstateSecretSuffix";

#[derive(Debug)]
pub(super) struct KubernetesClient {
    settings: KubernetesSettings,
}

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Secret,
    Lease,
}

impl Kind {
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::Secret => "v1",
            Self::Lease => "coordination.k8s.io/v1",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::Lease => "Lease",
        }
    }

    fn path(self) -> (&'static str, &'static str) {
        match self {
            Self::Secret => ("api/v1", "secrets"),
            Self::Lease => ("apis/coordination.k8s.io/v1", "leases"),
        }
    }
}

/// The result of a conditional write.
pub(super) enum Written {
    /// The object as it is stored now.
    Done(Value),
    /// The object exists, does not exist, or has another version.
    Conflict(StorageError),
}

impl KubernetesClient {
    pub(super) fn new(settings: KubernetesSettings) -> Self {
        Self { settings }
    }

    pub(super) fn settings(&self) -> &KubernetesSettings {
        &self.settings
    }

    fn url(&self, kind: Kind, name: Option<&str>) -> Url {
        let (api, resource) = kind.path();
        let mut url = self.settings.server.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(api.split('/'));
            path.extend(["namespaces", &self.settings.namespace, resource]).extend(name);
        }
        url
    }

    async fn authorization(&self, operation: &str) -> Result<Option<Authorization>, StorageError> {
        let failed = |reason: String| {
            StorageError::new(format!(
                "failed to {operation}: there are no credentials for the cluster: {reason}"
            ))
        };
        let token = match &self.settings.credentials {
            Credentials::None => return Ok(None),
            Credentials::Token(token) => token.clone(),
            Credentials::Password(name, password) => return Ok(Some(Authorization::basic(name, password))),
            Credentials::TokenFile(path) => {
                let bytes = read_regular(path, MAX_TOKEN_BYTES)
                    .map_err(|error| failed(format!("{} cannot be read: {error}", path.display())))?;
                String::from_utf8_lossy(&bytes).trim().to_owned()
            }
            Credentials::Exec(exec) => exec.token(&self.settings.variables).await.map_err(failed)?,
        };
        Ok(Some(Authorization::bearer(&token)))
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let sent = self.send_once(&method, &url, body, operation).await?;
        if sent.response.status != StatusCode::UNAUTHORIZED {
            return Ok(sent);
        }
        let Credentials::Exec(exec) = &self.settings.credentials else { return Ok(sent) };
        exec.forget().await;
        self.send_once(&method, &url, body, operation).await
    }

    async fn send_once(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
        operation: &str,
    ) -> Result<Answer, StorageError> {
        let authorization = self.authorization(operation).await?;
        let body = body.map(|body| Bytes::from(body.to_string()));
        let build = || {
            let mut fetch = Fetch::new(method.clone(), url.clone()).redirects(0).header(header::ACCEPT, JSON);
            if let Some(authorization) = &authorization {
                fetch = fetch.authorization(authorization.clone());
            }
            match &body {
                Some(body) => fetch.header(header::CONTENT_TYPE, JSON).body(body.clone()),
                None => fetch,
            }
        };
        let size = body.as_ref().map_or(0, Bytes::len);
        let sent = self.settings.service.send(size, MAX_STATE_BYTES, build).await;
        sent.map_err(|error| StorageError {
            message: format!("failed to {operation}: {}", error.message),
            ..error
        })
    }

    /// Returns the error for a response with an unexpected status.
    fn failure(&self, operation: &str, response: &Fetched) -> StorageError {
        let mut error = unexpected(operation, response);
        let body: Option<Value> = serde_json::from_slice(&response.body).ok();
        let message = body.as_ref().and_then(|body| body.get("message")?.as_str());
        if let Some(message) = message {
            let shown: String = message.chars().take(300).collect();
            error.message =
                format!("failed to {operation}: the cluster responded with {}: {shown}", response.status);
        }
        let namespace = &self.settings.namespace;
        error.advice = match response.status {
            StatusCode::UNAUTHORIZED => Some(
                "the credentials of the cluster are not valid or have expired; check the kubeconfig file or the token"
                    .to_owned(),
            ),
            StatusCode::FORBIDDEN => Some(format!(
                "the user needs a role with the verbs get, list, create, update and delete for secrets, and get, create \
                 and update for leases, in the namespace \"{namespace}\""
            )),
            StatusCode::NOT_FOUND => Some(format!("create the namespace \"{namespace}\", or correct \"namespace\"")),
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => Some(
                "the cluster does not accept the object, which may be larger than its limit; the previous state was not \
                 replaced"
                    .to_owned(),
            ),
            _ => error.advice,
        };
        error
    }

    /// Returns an object; [`None`] if it does not exist.
    pub(super) async fn get(
        &self,
        kind: Kind,
        name: &str,
        operation: &str,
    ) -> Result<Option<Value>, StorageError> {
        let response = self.send(Method::GET, self.url(kind, Some(name)), None, operation).await?.response;
        match response.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => parse(&response, operation).map(Some),
            _ => Err(self.failure(operation, &response)),
        }
    }

    /// Returns the Secrets with labels.
    pub(super) async fn secrets(&self, labels: &str, operation: &str) -> Result<Vec<Value>, StorageError> {
        let mut url = self.url(Kind::Secret, None);
        url.query_pairs_mut().append_pair("labelSelector", labels);
        let response = self.send(Method::GET, url, None, operation).await?.response;
        if response.status != StatusCode::OK {
            return Err(self.failure(operation, &response));
        }
        match parse(&response, operation)?.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            // An empty list may be null.
            Some(Value::Null) => Ok(Vec::new()),
            _ => Err(StorageError::new(format!("failed to {operation}: the list of secrets is not valid"))),
        }
    }

    /// Returns the workspaces with a state, in any order and possibly several times.
    pub(super) async fn workspaces(&self) -> Result<Vec<String>, StorageError> {
        let labels = format!("tfstate=true,{SUFFIX_LABEL}={}", self.settings.suffix);
        let secrets = self.secrets(&labels, "list the workspaces").await?;
        let name = |secret: &Value| {
            let labels = secret.pointer("/metadata/labels")?;
            let is_own = labels.get(SUFFIX_LABEL)?.as_str()? == self.settings.suffix;
            is_own.then(|| labels.get(WORKSPACE_LABEL)?.as_str().map(str::to_owned)).flatten()
        };
        Ok(secrets.iter().filter_map(name).collect())
    }

    /// Creates an object, or replaces the version that its metadata contains.
    pub(super) async fn write(
        &self,
        kind: Kind,
        object: &Value,
        operation: &str,
    ) -> Result<(Written, bool), StorageError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        let is_new = object.pointer("/metadata/resourceVersion").is_none();
        let (method, url) = match name {
            Some(name) if !is_new => (Method::PUT, self.url(kind, Some(name))),
            _ => (Method::POST, self.url(kind, None)),
        };
        let Answer { response, is_repeated } = self.send(method, url, Some(object), operation).await?;
        let written = match response.status {
            StatusCode::OK | StatusCode::CREATED => Written::Done(parse(&response, operation)?),
            StatusCode::CONFLICT => Written::Conflict(self.failure(operation, &response)),
            StatusCode::NOT_FOUND if !is_new => Written::Conflict(self.failure(operation, &response)),
            _ => {
                let mut error = self.failure(operation, &response);
                if is_repeated {
                    error.effect = wardian_state::StorageEffect::Unknown;
                }
                return Err(error);
            }
        };
        Ok((written, is_repeated))
    }

    pub(super) async fn delete(&self, kind: Kind, name: &str, operation: &str) -> Result<(), StorageError> {
        let response = self.send(Method::DELETE, self.url(kind, Some(name)), None, operation).await?.response;
        match response.status {
            StatusCode::OK | StatusCode::ACCEPTED | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.failure(operation, &response)),
        }
    }
}

fn parse(response: &Fetched, operation: &str) -> Result<Value, StorageError> {
    serde_json::from_slice(&response.body).map_err(|_| {
        StorageError::new(format!("failed to {operation}: the response of the cluster is not JSON"))
            .with_advice("check that the address is the address of the API server")
    })
}
