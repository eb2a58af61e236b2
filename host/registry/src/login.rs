//! Obtains a token from a host for `wardian login`: the service `login.v1`.
//!
//! | grant type | procedure |
//! |---|---|
//! | `authz_code` | OAuth 2.0 authorization code with PKCE: the user logs in with a browser, which is then redirected to a server on the loopback interface; see [`PendingLogin`] |
//! | `password` | OAuth 2.0 resource owner password: the user enters a user name and a password; see [`PasswordLogin`] |
//!
//! For a host of HCP Terraform or Terraform Enterprise without `login.v1`, the user creates a token
//! on one of the host's pages; see [`TokenPage`]. The caller opens the browser, asks the user, and
//! stores the token with [`Credentials::store`](crate::credentials::Credentials::store).

mod callback;
mod error;
mod settings;
mod token;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use url::Url;
use wardian_digest::Sha256Digest;
use wardian_download::{Downloader, Fetch, printable_url};

pub use error::LoginError;

use crate::access_token::AccessToken;
use crate::client::RegistryClient;
use crate::request::{self, RequestError};
use crate::service_host::ServiceHost;
use crate::services::{ENTERPRISE, HostServices, LOGIN, ServiceError};
use callback::{Callback, CallbackServer};
use settings::LoginSettings;
use token::TokenRequest;

/// Number of random bytes in a secret.
const SECRET_BYTES: usize = 32;
const MAX_ACCOUNT_BYTES: u64 = 64 << 10;

/// The method by which a user obtains a token for a host.
#[derive(Debug)]
pub enum LoginMethod {
    Browser(BrowserLogin),
    Password(PasswordLogin),
    TokenPage(TokenPage),
}

/// A login with the OAuth authorization code grant, which needs a browser.
#[derive(Debug)]
pub struct BrowserLogin {
    client: OAuthClient,
    authorization_url: Url,
}

/// A login with a user name and a password.
#[derive(Debug)]
pub struct PasswordLogin {
    client: OAuthClient,
}

/// A web page on which a user creates a token.
#[derive(Debug)]
pub struct TokenPage {
    pub url: Url,
}

/// A login that waits for the user's browser. Dropping it cancels the login.
#[derive(Debug)]
pub struct PendingLogin {
    client: OAuthClient,
    server: CallbackServer,
    url: Url,
    redirect_url: String,
    state: String,
    verifier: String,
}

/// The client for a host's OAuth 2.0 service.
struct OAuthClient {
    host: ServiceHost,
    settings: LoginSettings,
    downloader: Downloader,
}

impl std::fmt::Debug for OAuthClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "OAuthClient({})", self.host)
    }
}

impl RegistryClient {
    /// Returns the method by which a user obtains a token for a host.
    ///
    /// # Errors
    /// Returns an error if the host has no supported login service.
    pub async fn login_method(&self, host: &ServiceHost) -> Result<LoginMethod, LoginError> {
        let services = self.services(host).await?;
        let value = match services.value(LOGIN) {
            Ok(value) => value,
            Err(error) => return token_page(&services, error).map(LoginMethod::TokenPage),
        };
        let settings = LoginSettings::parse(&services, value)?;
        let authorization_url = settings.authorization_url.clone();
        let allows_password = settings.allows_password;
        let client = OAuthClient { host: host.clone(), settings, downloader: self.inner.downloader.clone() };
        match authorization_url {
            Some(authorization_url) => Ok(LoginMethod::Browser(BrowserLogin { client, authorization_url })),
            None if allows_password => Ok(LoginMethod::Password(PasswordLogin { client })),
            None => Err(LoginError::NoSupportedGrant { host: host.clone() }),
        }
    }

    /// Returns the name of the user to whom a token of HCP Terraform or Terraform Enterprise belongs,
    /// which also verifies the token.
    ///
    /// # Errors
    /// Returns an error if the host does not belong to HCP Terraform or Terraform Enterprise, or
    /// rejects the token.
    pub async fn token_owner(&self, host: &ServiceHost, token: &AccessToken) -> Result<String, LoginError> {
        let services = self.services(host).await?;
        let service = |error| LoginError::Service { host: host.clone(), error };
        let base = services.url(ENTERPRISE).map_err(service)?;
        let url = base
            .join("account/details")
            .map_err(|_| service(services.invalid(ENTERPRISE, "its URL is invalid")))?;
        let fetch = Fetch::get(url)
            .header(header::ACCEPT, HeaderValue::from_static("application/vnd.api+json"))
            .authorization(token.to_authorization());
        let failed = |error| LoginError::Request { host: host.clone(), error };
        let response = self
            .inner
            .downloader
            .fetch(fetch, MAX_ACCOUNT_BYTES)
            .await
            .map_err(|error| failed(RequestError::Fetch(error)))?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let url = printable_url(&response.url);
                return Err(LoginError::RejectedToken { host: host.clone(), url });
            }
            _ => return Err(failed(request::status_error(&response))),
        }
        let account: AccountResponse = request::parse_json(&response).map_err(failed)?;
        Ok(account.data.attributes.username)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccountResponse {
    data: AccountData,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccountData {
    attributes: AccountAttributes,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccountAttributes {
    username: String,
}

/// Returns the page for tokens of a host without `login.v1`.
fn token_page(services: &Arc<HostServices>, login_error: ServiceError) -> Result<TokenPage, LoginError> {
    let failed = || LoginError::Service { host: services.host().clone(), error: login_error.clone() };
    let mut url = services.url(ENTERPRISE).map_err(|_| failed())?;
    url.set_path("/app/settings/tokens");
    url.set_query(Some("source=terraform-login"));
    Ok(TokenPage { url })
}

impl BrowserLogin {
    /// Starts the server that the browser is redirected to.
    ///
    /// # Errors
    /// Returns an error if none of the ports that the host allows is free.
    pub async fn start(self) -> Result<PendingLogin, LoginError> {
        let Self { client, authorization_url: mut url } = self;
        let ports = client.settings.ports.clone();
        let host = || client.host.clone();
        let Some(server) = CallbackServer::bind(ports.clone()).await else {
            return Err(LoginError::NoPort { host: host(), ports });
        };
        let redirect_url = server.redirect_url();
        let (state, verifier) = (random_secret(host)?, random_secret(host)?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256Digest::hash(verifier.as_bytes()).as_bytes());
        let mut query = url.query_pairs_mut();
        query
            .append_pair("client_id", &client.settings.client_id)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("redirect_uri", &redirect_url)
            .append_pair("response_type", "code");
        if !client.settings.scopes.is_empty() {
            query.append_pair("scope", &client.settings.scopes.join(" "));
        }
        query.append_pair("state", &state);
        drop(query);
        Ok(PendingLogin { client, server, url, redirect_url, state, verifier })
    }
}

impl PendingLogin {
    /// Returns the URL of the login page, for the user's browser. It identifies this login, but does
    /// not suffice to obtain the token.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Waits until the user has logged in, and requests the token. There is no time limit.
    ///
    /// # Errors
    /// Returns an error if the user or the host rejects the login, or the token cannot be requested.
    pub async fn wait(self) -> Result<AccessToken, LoginError> {
        match self.server.receive(&self.state).await {
            Ok(Callback::Code(code)) => {
                let request = TokenRequest::AuthorizationCode {
                    code: &code,
                    verifier: &self.verifier,
                    redirect_url: &self.redirect_url,
                };
                self.client.request_token(&request).await
            }
            Ok(Callback::Denied { error, description }) => {
                Err(LoginError::Denied { host: self.client.host, error, description })
            }
            Err(source) => Err(LoginError::Server { host: self.client.host, source }),
        }
    }
}

impl PasswordLogin {
    /// Requests a token.
    ///
    /// # Errors
    /// Returns an error if the host rejects the user name or the password, or the token cannot be
    /// requested.
    pub async fn log_in(&self, user: &str, password: &str) -> Result<AccessToken, LoginError> {
        self.client.request_token(&TokenRequest::Password { user, password }).await
    }
}

/// Returns random text that cannot be guessed.
fn random_secret(host: impl Fn() -> ServiceHost) -> Result<String, LoginError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        let source = std::io::Error::other(error.to_string());
        LoginError::Server { host: host(), source }
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
