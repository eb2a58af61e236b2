//! Requests a token from a host's OAuth 2.0 service.

use std::fmt;

use bytes::Bytes;
use http::{HeaderValue, Method, header};
use serde::Deserialize;
use url::form_urlencoded::Serializer;
use wardian_download::{Fetch, printable_url};

use super::{LoginError, OAuthClient};
use crate::access_token::AccessToken;
use crate::bounded_json;
use crate::request::{self, RequestError, shorten};

const MAX_RESPONSE_BYTES: u64 = 256 << 10;

/// The proof that a token may be issued.
pub(super) enum TokenRequest<'a> {
    AuthorizationCode { code: &'a str, verifier: &'a str, redirect_url: &'a str },
    Password { user: &'a str, password: &'a str },
}

/// The output contains no secrets.
impl fmt::Debug for TokenRequest<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenRequest(...)")
    }
}

/// Either the token or an error.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenResponse {
    access_token: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

impl OAuthClient {
    pub(super) async fn request_token(&self, request: &TokenRequest<'_>) -> Result<AccessToken, LoginError> {
        let settings = &self.settings;
        // A code can be used only once, so the request is never sent again.
        let fetch = Fetch::new(Method::POST, settings.token_url.clone())
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .header(header::ACCEPT, HeaderValue::from_static("application/json"))
            .body(Bytes::from(self.form(request)))
            .redirects(0)
            .retries(0);
        let failed = |error| LoginError::Request { host: self.host.clone(), error };
        let response = self
            .downloader
            .fetch(fetch, MAX_RESPONSE_BYTES)
            .await
            .map_err(|error| failed(RequestError::Fetch(error)))?;
        let url = printable_url(&response.url);
        let parsed: Result<TokenResponse, _> = bounded_json::parse(&response.body);
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(_) if !response.status.is_success() => return Err(failed(request::status_error(&response))),
            Err(error) => {
                // The parser's message may contain a token.
                let reason = format!("syntax error at line {}, column {}", error.line(), error.column());
                return Err(failed(RequestError::Json { url, reason }));
            }
        };
        let host = self.host.clone();
        match parsed {
            TokenResponse { error: Some(error), error_description, .. } => Err(LoginError::Rejected {
                host,
                url,
                error: shorten(&error),
                description: shorten(&error_description.unwrap_or_default()),
            }),
            _ if !response.status.is_success() => Err(failed(request::status_error(&response))),
            TokenResponse { access_token, .. } => AccessToken::new(access_token.unwrap_or_default().trim())
                .map_err(|error| LoginError::Token { host, url, error }),
        }
    }

    /// Returns the body of a request.
    fn form(&self, request: &TokenRequest<'_>) -> String {
        let mut form = Serializer::new(String::new());
        form.append_pair("client_id", &self.settings.client_id);
        match request {
            TokenRequest::AuthorizationCode { code, verifier, redirect_url } => {
                form.append_pair("code", code)
                    .append_pair("code_verifier", verifier)
                    .append_pair("grant_type", "authorization_code")
                    .append_pair("redirect_uri", redirect_url);
            }
            TokenRequest::Password { user, password } => {
                form.append_pair("grant_type", "password")
                    .append_pair("password", password)
                    .append_pair("username", user);
                if !self.settings.scopes.is_empty() {
                    form.append_pair("scope", &self.settings.scopes.join(" "));
                }
            }
        }
        form.finish()
    }
}
