//! Tokens of Microsoft Entra ID (Azure Active Directory).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderValue;
use http::header::HeaderName;
use serde_json::{Value, json};
use url::Url;
use wardian_download::{Authorization, Downloader, Fetch};
use wardian_files::read_regular;

use super::azure_cli::AzureCli;
use super::cloud::CloudSource;
use crate::oauth::{AccessToken, TokenSource, form_request, json_request, send_for_json};

/// Maximum size of a file with a secret or a token.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ASSERTION_AUDIENCE: &str = "api://AzureADTokenExchange";

/// The resource of all storage accounts, in every cloud.
const STORAGE: &str = "https://storage.azure.com";

/// Time limit for a response of the metadata service. On other machines, no service responds.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);

/// The source of tokens. `Debug` output contains no secrets.
pub(super) enum Identity {
    Secret {
        tenant: String,
        client: String,
        secret: String,
    },
    /// A token of another identity provider replaces the secret (OIDC).
    Assertion {
        tenant: String,
        client: String,
        source: AssertionSource,
    },
    /// The managed identity of the machine.
    Machine {
        client: Option<String>,
        endpoint: Url,
    },
    Cli {
        cli: AzureCli,
        tenant: Option<String>,
    },
}

/// The place of a token of another identity provider.
pub(super) enum AssertionSource {
    Token(String),
    /// The file is read for every renewal.
    File(PathBuf),
    /// A service such as GitHub's issues the token.
    Request {
        url: Url,
        token: String,
    },
    /// Azure Pipelines issues the token for a service connection.
    Pipelines {
        url: Url,
        token: String,
        connection: String,
    },
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, client) = match self {
            Self::Secret { client, .. } => ("Secret", Some(client)),
            Self::Assertion { client, .. } => ("Assertion", Some(client)),
            Self::Machine { client, .. } => ("Machine", client.as_ref()),
            Self::Cli { .. } => ("Cli", None),
        };
        formatter.debug_struct(name).field("client", &client).finish_non_exhaustive()
    }
}

/// The service for which a token is requested.
#[derive(Clone, Copy, Debug)]
pub(super) enum AzureService {
    Storage,
    ResourceManager,
}

/// Requests tokens for one service.
pub(super) struct AzureTokens {
    pub(super) downloader: Downloader,
    pub(super) cloud: Arc<CloudSource>,
    pub(super) identity: Arc<Identity>,
    pub(super) service: AzureService,
}

impl fmt::Debug for AzureTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AzureTokens")
            .field("identity", &self.identity)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TokenSource for AzureTokens {
    async fn request(&self) -> Result<AccessToken, String> {
        let resource = match self.service {
            AzureService::Storage => STORAGE.to_owned(),
            AzureService::ResourceManager => {
                let cloud = self.cloud.cloud(&self.downloader).await?;
                cloud.resource_manager.as_str().trim_end_matches('/').to_owned()
            }
        };
        let scope = format!("{resource}/.default");
        match &*self.identity {
            Identity::Secret { tenant, client, secret } => {
                self.for_client(tenant, client, &scope, &[("client_secret", secret)]).await
            }
            Identity::Assertion { tenant, client, source } => {
                let assertion = self.assertion(source).await?;
                let proof = [("client_assertion_type", ASSERTION_TYPE), ("client_assertion", &*assertion)];
                self.for_client(tenant, client, &scope, &proof).await
            }
            Identity::Machine { client, endpoint } => {
                self.for_machine(endpoint, client.as_deref(), &resource).await
            }
            Identity::Cli { cli, tenant } => cli.token(&scope, tenant.as_deref()).await,
        }
    }
}

impl AzureTokens {
    async fn for_client(
        &self,
        tenant: &str,
        client: &str,
        scope: &str,
        proof: &[(&str, &str)],
    ) -> Result<AccessToken, String> {
        let mut url = self.cloud.cloud(&self.downloader).await?.login.clone();
        url.path_segments_mut()
            .map_err(|()| "the URL of the token service has no path".to_owned())?
            .pop_if_empty()
            .extend([tenant, "oauth2", "v2.0", "token"]);
        let mut form = vec![("grant_type", "client_credentials"), ("client_id", client), ("scope", scope)];
        form.extend(proof);
        let request = form_request(url.clone(), &form);
        AccessToken::from_response(&send_for_json(&self.downloader, request, &url).await?)
    }

    /// Requests a token of the machine's managed identity.
    async fn for_machine(
        &self,
        endpoint: &Url,
        client: Option<&str>,
        resource: &str,
    ) -> Result<AccessToken, String> {
        let mut url = endpoint.clone();
        url.query_pairs_mut()
            .append_pair("api-version", "2018-02-01")
            .append_pair("resource", resource)
            .extend_pairs(client.map(|client| ("client_id", client)));
        let request = Fetch::get(url.clone())
            .header(HeaderName::from_static("metadata"), HeaderValue::from_static("true"));
        let downloader = self.downloader.clone().with_idle_timeout(METADATA_TIMEOUT);
        let response = send_for_json(&downloader, request, &url).await;
        AccessToken::from_response(
            &response
                .map_err(|reason| format!("the managed identity of this machine cannot be used: {reason}"))?,
        )
    }

    /// Returns the token of the other identity provider.
    async fn assertion(&self, source: &AssertionSource) -> Result<String, String> {
        match source {
            AssertionSource::Token(token) => Ok(token.clone()),
            AssertionSource::File(path) => {
                let bytes = read_regular(path, MAX_FILE_BYTES)
                    .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
                let token = String::from_utf8_lossy(&bytes).trim().to_owned();
                if token.is_empty() {
                    Err(format!("{} contains no token", path.display()))
                } else {
                    Ok(token)
                }
            }
            AssertionSource::Request { url, token } => {
                let mut url = url.clone();
                if url.query_pairs().all(|(name, _)| name != "audience") {
                    url.query_pairs_mut().append_pair("audience", ASSERTION_AUDIENCE);
                }
                let request = Fetch::get(url.clone()).authorization(Authorization::bearer(token));
                let response = send_for_json(&self.downloader, request, &url).await?;
                let value = response.get("value").and_then(Value::as_str).map(str::to_owned);
                value.ok_or_else(|| "the identity provider returned no token".to_owned())
            }
            AssertionSource::Pipelines { url, token, connection } => {
                let mut url = url.clone();
                url.query_pairs_mut()
                    .append_pair("api-version", "7.1")
                    .append_pair("audience", ASSERTION_AUDIENCE)
                    .append_pair("serviceConnectionId", connection);
                let request =
                    json_request(url.clone(), &json!({})).authorization(Authorization::bearer(token));
                let response = send_for_json(&self.downloader, request, &url).await?;
                let value = response.get("oidcToken").and_then(Value::as_str).map(str::to_owned);
                value.ok_or_else(|| "Azure Pipelines returned no token".to_owned())
            }
        }
    }
}
