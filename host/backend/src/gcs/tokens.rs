//! Access tokens for Google Cloud Storage.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderValue;
use http::header::HeaderName;
use jiff::Timestamp;
use serde_json::{Value, json};
use url::Url;
use wardian_download::{Authorization, Downloader, Fetch};
use wardian_files::read_regular;

use super::credentials::{ExternalAccount, GoogleCredentials, Impersonation, SubjectTokenSource};
use crate::oauth::{AccessToken, TokenSource, form_request, json_request, send, send_for_json};

/// Maximum size of a file with credentials.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;

/// The permission to read and write objects.
const STORAGE_SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";

/// The permission to request tokens of other service accounts.
const PLATFORM_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

const JWT_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE_GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT_SECONDS: i64 = 3600;

/// Time limit for a response of the metadata service. On other machines, no service responds.
const METADATA_TIMEOUT: Duration = Duration::from_secs(3);

/// The sources of access tokens.
pub(super) struct GoogleTokens {
    pub(super) downloader: Downloader,
    pub(super) source: GoogleSource,
    /// The service account for which tokens are requested.
    pub(super) impersonation: Option<Impersonation>,
    /// The directory against which paths in credentials are resolved.
    pub(super) directory: PathBuf,
}

/// The source of the first token.
#[derive(Debug)]
pub(super) enum GoogleSource {
    Token(AccessToken),
    Credentials(Box<GoogleCredentials>),
    Default(DefaultCredentials),
}

/// The places of application default credentials. The first one that exists is used.
#[derive(Debug)]
pub(super) struct DefaultCredentials {
    /// The file that the environment names.
    pub(super) named_file: Option<PathBuf>,
    /// The file of `gcloud auth application-default login`.
    pub(super) user_file: Option<PathBuf>,
    pub(super) metadata_service: Url,
}

impl fmt::Debug for GoogleTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GoogleTokens")
            .field("source", &self.source)
            .field("impersonation", &self.impersonation)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TokenSource for GoogleTokens {
    async fn request(&self) -> Result<AccessToken, String> {
        let scope = if self.impersonation.is_some() { PLATFORM_SCOPE } else { STORAGE_SCOPE };
        let token = match &self.source {
            GoogleSource::Token(token) => token.clone(),
            GoogleSource::Credentials(credentials) => self.for_credentials(credentials, scope).await?,
            GoogleSource::Default(places) => self.for_default(places, scope).await?,
        };
        match &self.impersonation {
            None => Ok(token),
            Some(impersonation) => self.impersonate(impersonation, &token).await,
        }
    }
}

impl GoogleTokens {
    async fn for_default(&self, places: &DefaultCredentials, scope: &str) -> Result<AccessToken, String> {
        let named = places.named_file.iter().map(|path| (path, true));
        for (path, is_required) in named.chain(places.user_file.iter().map(|path| (path, false))) {
            let bytes = match read_regular(path, MAX_FILE_BYTES) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_required => continue,
                Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
            };
            let credentials = GoogleCredentials::from_json(&bytes).map_err(|reason| {
                format!("the credentials in {} cannot be used: {reason}", path.display())
            })?;
            return self.for_credentials(&credentials, scope).await;
        }
        self.for_machine(&places.metadata_service).await.map_err(|reason| {
            format!(
                "no credentials were found; set GOOGLE_CREDENTIALS or GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth \
                 application-default login`; the metadata service of Google Cloud was requested, too: {reason}"
            )
        })
    }

    /// Requests a token of the machine's service account.
    async fn for_machine(&self, service: &Url) -> Result<AccessToken, String> {
        let url = service
            .join("computeMetadata/v1/instance/service-accounts/default/token")
            .map_err(|_| "the URL of the metadata service is not valid".to_owned())?;
        let request = Fetch::get(url.clone())
            .header(HeaderName::from_static("metadata-flavor"), HeaderValue::from_static("Google"))
            .retries(0);
        let downloader = self.downloader.clone().with_idle_timeout(METADATA_TIMEOUT);
        AccessToken::from_response(&send_for_json(&downloader, request, &url).await?)
    }

    async fn for_credentials(
        &self,
        credentials: &GoogleCredentials,
        scope: &str,
    ) -> Result<AccessToken, String> {
        match credentials {
            GoogleCredentials::Impersonated { source, impersonation } => {
                let token = self.for_identity(source, PLATFORM_SCOPE).await?;
                self.impersonate(impersonation, &token).await
            }
            identity => self.for_identity(identity, scope).await,
        }
    }

    async fn for_identity(
        &self,
        credentials: &GoogleCredentials,
        scope: &str,
    ) -> Result<AccessToken, String> {
        match credentials {
            GoogleCredentials::User { client_id, client_secret, refresh_token, token_url } => {
                let form = [
                    ("grant_type", "refresh_token"),
                    ("client_id", client_id),
                    ("client_secret", client_secret),
                    ("refresh_token", refresh_token),
                ];
                self.exchange(form_request(token_url.clone(), &form), token_url).await
            }
            GoogleCredentials::ServiceAccount { email, private_key, private_key_id, token_url } => {
                let assertion = assertion(
                    email,
                    private_key,
                    private_key_id.as_deref(),
                    token_url,
                    scope,
                    Timestamp::now(),
                )?;
                let form = [("grant_type", JWT_GRANT), ("assertion", &*assertion)];
                self.exchange(form_request(token_url.clone(), &form), token_url).await
            }
            GoogleCredentials::External(account) => self.for_external(account, scope).await,
            GoogleCredentials::Impersonated { .. } => {
                Err("credentials of an impersonated service account cannot be nested".to_owned())
            }
        }
    }

    async fn exchange(&self, request: Fetch, url: &Url) -> Result<AccessToken, String> {
        AccessToken::from_response(&send_for_json(&self.downloader, request, url).await?)
    }

    async fn for_external(&self, account: &ExternalAccount, scope: &str) -> Result<AccessToken, String> {
        let subject_token = self.subject_token(account).await?;
        let scope = if account.impersonation.is_some() { PLATFORM_SCOPE } else { scope };
        let options = account.user_project.as_ref().filter(|_| account.client.is_none());
        let options = options.map(|project| json!({ "userProject": project }).to_string());
        let mut form = vec![
            ("grant_type", EXCHANGE_GRANT),
            ("audience", &account.audience),
            ("scope", scope),
            ("requested_token_type", ACCESS_TOKEN_TYPE),
            ("subject_token", &subject_token),
            ("subject_token_type", &account.subject_token_type),
        ];
        form.extend(options.as_deref().map(|options| ("options", options)));
        let mut request = form_request(account.token_url.clone(), &form);
        if let Some((id, secret)) = &account.client {
            request = request.authorization(Authorization::basic(id, secret));
        }
        let token = self.exchange(request, &account.token_url).await?;
        match &account.impersonation {
            None => Ok(token),
            Some(impersonation) => self.impersonate(impersonation, &token).await,
        }
    }

    /// Returns the token of the other identity provider. It is read for every renewal, because it
    /// also expires.
    async fn subject_token(&self, account: &ExternalAccount) -> Result<String, String> {
        let bytes = match &account.source {
            SubjectTokenSource::File(path) => {
                let path = self.directory.join(Path::new(path));
                read_regular(&path, MAX_FILE_BYTES)
                    .map_err(|error| format!("{} cannot be read: {error}", path.display()))?
            }
            SubjectTokenSource::Url { url, headers } => {
                let mut request = Fetch::get(url.clone());
                for (name, value) in headers {
                    let name = HeaderName::from_bytes(name.as_bytes()).ok();
                    let value = HeaderValue::from_str(value).ok();
                    let (name, mut value) =
                        name.zip(value).ok_or("the \"credential_source\" contains an invalid header")?;
                    value.set_sensitive(true);
                    request = request.header(name, value);
                }
                send(&self.downloader, request, url).await?
            }
        };
        let token = match &account.token_member {
            None => String::from_utf8(bytes).ok(),
            Some(member) => serde_json::from_slice(&bytes)
                .ok()
                .and_then(|value: Value| value.get(member)?.as_str().map(str::to_owned)),
        };
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        token.ok_or_else(|| "the \"credential_source\" contains no token".to_owned())
    }

    /// Requests a token of another service account.
    async fn impersonate(
        &self,
        impersonation: &Impersonation,
        token: &AccessToken,
    ) -> Result<AccessToken, String> {
        let delegates = impersonation.delegates.iter().map(|delegate| {
            if delegate.contains('/') {
                delegate.clone()
            } else {
                format!("projects/-/serviceAccounts/{delegate}")
            }
        });
        let body = json!({
            "delegates": delegates.collect::<Vec<_>>(),
            "lifetime": format!("{}s", impersonation.lifetime_seconds),
            "scope": [STORAGE_SCOPE],
        });
        let request =
            json_request(impersonation.url.clone(), &body).authorization(Authorization::bearer(&token.value));
        let response = send_for_json(&self.downloader, request, &impersonation.url)
            .await
            .map_err(|reason| format!("the service account cannot be impersonated: {reason}"))?;
        let text = |name: &str| response.get(name).and_then(Value::as_str);
        let value = text("accessToken").ok_or("the impersonation service returned no access token")?;
        Ok(AccessToken {
            value: value.to_owned(),
            expires: text("expireTime").and_then(|time| time.parse().ok()),
        })
    }
}

/// Returns the signed statement with which a service account requests a token.
fn assertion(
    email: &str,
    private_key: &str,
    private_key_id: Option<&str>,
    token_url: &Url,
    scope: &str,
    now: Timestamp,
) -> Result<String, String> {
    let header = json!({ "alg": "RS256", "typ": "JWT", "kid": private_key_id });
    let issued = now.as_second();
    let claims = json!({
        "iss": email,
        "scope": scope,
        "aud": token_url.as_str(),
        "iat": issued,
        "exp": issued + JWT_SECONDS,
    });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(&header), encode(&claims));
    let signature = sign(private_key, text.as_bytes())
        .ok_or_else(|| "the private key of the service account is not an RSA key in PEM format".to_owned())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// Signs a text with a key in the format PKCS #8 or PKCS #1.
fn sign(private_key: &str, text: &[u8]) -> Option<Vec<u8>> {
    let encoded: String = private_key.split("-----").nth(2)?.split_whitespace().collect();
    let der = STANDARD.decode(encoded).ok()?;
    let key = KeyPair::from_pkcs8(&der).or_else(|_| KeyPair::from_der(&der)).ok()?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signature).ok()?;
    Some(signature)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    /// Returns a new key in both formats.
    fn keys() -> (KeyPair, [String; 2]) {
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = key.as_der().unwrap();
        let pem = |name: &str, der: &[u8]| {
            format!("-----BEGIN {name}-----\n{}\n-----END {name}-----\n", STANDARD.encode(der))
        };
        // The key in PKCS #1 follows a header of 26 bytes.
        let pkcs1 = der.as_ref().get(26..).unwrap();
        let texts = [pem("PRIVATE KEY", der.as_ref()), pem("RSA PRIVATE KEY", pkcs1)];
        (key, texts)
    }

    #[test]
    fn signatures_are_valid() {
        let (key, texts) = keys();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
        for text in texts {
            public.verify(b"Wardian", &sign(&text, b"Wardian").unwrap()).unwrap();
        }
        for bad in ["", "-----", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert_eq!(sign(bad, b""), None);
        }
    }

    #[test]
    fn assertion_contains_the_claims() {
        let url = Url::parse("https://oauth2.googleapis.com/token").unwrap();
        let text =
            assertion("a@b", &keys().1[0], Some("k"), &url, STORAGE_SCOPE, Timestamp::UNIX_EPOCH).unwrap();
        let parts: Vec<Vec<u8>> = text.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
        let claims: Value = serde_json::from_slice(&parts[1]).unwrap();
        assert_eq!(
            claims,
            json!({"iss": "a@b", "scope": STORAGE_SCOPE, "aud": url.as_str(), "iat": 0, "exp": 3600})
        );
        let header: Value = serde_json::from_slice(&parts[0]).unwrap();
        assert_eq!(header, json!({"alg": "RS256", "typ": "JWT", "kid": "k"}));
    }
}
