//! The blob endpoint of the storage account, and the authorization of its requests.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;
use url::Url;
use wardian_download::{Authorization, Downloader, Fetch, Fetched};

use super::cloud::CloudSource;
use super::identity::{AzureService, AzureTokens, Identity};
use super::shared_key::SharedKey;
use crate::oauth::{RenewedToken, parse_token_url};
use crate::service::MAX_RESPONSE_BYTES;

const API_VERSION: &str = "2023-01-01";

/// The settings from which the access to the account is determined.
#[derive(Debug)]
pub(super) struct AccountSettings {
    pub(super) account: String,
    pub(super) cloud: Arc<CloudSource>,
    pub(super) credentials: AccountCredentials,
    /// The account in Azure Resource Manager.
    pub(super) managed: Option<ManagedAccount>,
    /// Whether Azure Resource Manager returns the blob endpoint.
    pub(super) looks_up_endpoint: bool,
}

/// The credentials for the storage account.
pub(super) enum AccountCredentials {
    Key(SharedKey),
    /// The query of a shared access signature.
    Signature(String),
    /// Tokens of Microsoft Entra ID.
    Directory(Arc<Identity>),
    /// Azure Resource Manager returns the key.
    KeyLookup,
}

impl std::fmt::Debug for AccountCredentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(key) => key.fmt(formatter),
            Self::Signature(_) => formatter.write_str("Signature"),
            Self::Directory(identity) => identity.fmt(formatter),
            Self::KeyLookup => formatter.write_str("KeyLookup"),
        }
    }
}

/// The account in Azure Resource Manager.
#[derive(Debug)]
pub(super) struct ManagedAccount {
    pub(super) identity: Arc<Identity>,
    /// Without a subscription, it is the one of the Azure CLI.
    pub(super) subscription: Option<String>,
    pub(super) resource_group: String,
}

/// Access to the account's blobs.
#[derive(Debug)]
pub(super) struct BlobAccess {
    pub(super) endpoint: Url,
    pub(super) authorization: BlobAuthorization,
}

/// The authorization of requests for blobs.
pub(super) enum BlobAuthorization {
    Key(SharedKey),
    Signature(String),
    Token(RenewedToken),
}

impl std::fmt::Debug for BlobAuthorization {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Key(_) => "Key",
            Self::Signature(_) => "Signature",
            Self::Token(_) => "Token",
        })
    }
}

impl AccountSettings {
    /// Determines the access. Requests are sent only if the settings require them.
    ///
    /// # Errors
    /// Returns the reason if there is no access.
    pub(super) async fn access(&self, downloader: &Downloader) -> Result<BlobAccess, String> {
        let cloud = self.cloud.cloud(downloader).await?;
        let manager = self.managed.as_ref().map(|managed| ResourceManager {
            settings: self,
            managed,
            url: &cloud.resource_manager,
            downloader,
            token: self.token(downloader, &managed.identity, AzureService::ResourceManager),
        });
        let missing = || "\"resource_group_name\" is required to look up the storage account".to_owned();
        let endpoint = if self.looks_up_endpoint {
            manager.as_ref().ok_or_else(missing)?.endpoint().await?
        } else {
            let (account, domain) = (&self.account, &cloud.storage_domain);
            Url::parse(&format!("https://{account}.blob.{domain}/"))
                .map_err(|_| format!("\"{account}\" and \"{domain}\" are not the name of a host"))?
        };
        let authorization = match &self.credentials {
            AccountCredentials::Key(key) => BlobAuthorization::Key(key.clone()),
            AccountCredentials::Signature(query) => BlobAuthorization::Signature(query.clone()),
            AccountCredentials::Directory(identity) => {
                BlobAuthorization::Token(self.token(downloader, identity, AzureService::Storage))
            }
            AccountCredentials::KeyLookup => {
                BlobAuthorization::Key(manager.as_ref().ok_or_else(missing)?.key().await?)
            }
        };
        Ok(BlobAccess { endpoint, authorization })
    }

    fn token(
        &self,
        downloader: &Downloader,
        identity: &Arc<Identity>,
        service: AzureService,
    ) -> RenewedToken {
        RenewedToken::new(Box::new(AzureTokens {
            downloader: downloader.clone(),
            cloud: Arc::clone(&self.cloud),
            identity: Arc::clone(identity),
            service,
        }))
    }
}

/// Requests to Azure Resource Manager.
struct ResourceManager<'a> {
    settings: &'a AccountSettings,
    managed: &'a ManagedAccount,
    url: &'a Url,
    downloader: &'a Downloader,
    token: RenewedToken,
}

impl ResourceManager<'_> {
    async fn endpoint(&self) -> Result<Url, String> {
        let account = self.request(http::Method::GET, None).await?;
        let endpoint = account.pointer("/properties/primaryEndpoints/blob").and_then(Value::as_str);
        let endpoint = endpoint.ok_or("Azure Resource Manager returned no blob endpoint of the account")?;
        parse_token_url(endpoint)
            .map_err(|_| "the blob endpoint of the account is not an https URL".to_owned())
    }

    async fn key(&self) -> Result<SharedKey, String> {
        let response = self.request(http::Method::POST, Some("listKeys")).await?;
        let keys = response.get("keys").and_then(Value::as_array);
        let text = |key: &Value, name: &str| key.get(name).and_then(Value::as_str).map(str::to_owned);
        let key = keys.into_iter().flatten().find_map(|key| {
            let is_full = text(key, "permissions").is_some_and(|rights| rights.eq_ignore_ascii_case("full"));
            SharedKey::from_base64(&self.settings.account, &text(key, "value").filter(|_| is_full)?)
        });
        key.ok_or_else(|| "Azure Resource Manager returned no key that can write".to_owned())
    }

    async fn request(&self, method: http::Method, action: Option<&str>) -> Result<Value, String> {
        let subscription = match (&self.managed.subscription, &*self.managed.identity) {
            (Some(subscription), _) => subscription.clone(),
            (None, Identity::Cli { cli, .. }) => cli.subscription().await?,
            (None, _) => {
                return Err("\"subscription_id\" is required to look up the storage account".to_owned());
            }
        };
        let (group, account) = (&self.managed.resource_group, &self.settings.account);
        let mut url = self.url.clone();
        url.path_segments_mut()
            .map_err(|()| "the URL of Azure Resource Manager has no path".to_owned())?
            .pop_if_empty()
            .extend(["subscriptions", &*subscription, "resourceGroups", &**group])
            .extend(["providers", "Microsoft.Storage", "storageAccounts", &**account])
            .extend(action);
        url.query_pairs_mut().append_pair("api-version", API_VERSION);
        let token = self.token.value().await?;
        let request = Fetch::new(method, url).authorization(Authorization::bearer(&token)).redirects(0);
        let fetched = self.downloader.fetch(request, MAX_RESPONSE_BYTES).await;
        let fetched = fetched.map_err(|error| error.to_string())?;
        if fetched.status != StatusCode::OK {
            return Err(self.failure(&fetched));
        }
        serde_json::from_slice(&fetched.body)
            .map_err(|_| "the response of Azure Resource Manager is not JSON".to_owned())
    }

    fn failure(&self, response: &Fetched) -> String {
        let error: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let text = |name: &str| error.pointer(&format!("/error/{name}")).and_then(Value::as_str);
        let parts: Vec<&str> = ["code", "message"].iter().filter_map(|name| text(name)).collect();
        let shown = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(": ")) };
        format!(
            "Azure Resource Manager responded with {} to the request for the storage account \"{}\"{shown}",
            response.status, self.settings.account
        )
    }
}
