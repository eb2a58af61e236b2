//! Access tokens for Google Cloud Storage.
//!
//! The first token that is found is used: the token in the environment, or a token for the
//! application default credentials, which belong to a user or a service account.

use std::fmt;
use std::path::{Path, PathBuf};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use url::{Url, form_urlencoded};
use wardian_download::{Authorization, Downloader, Fetch};
use wardian_files::read_regular;

use crate::getters::bucket::BucketError;

const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_RESPONSE_BYTES: u64 = 64 << 10;
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_only";
const JWT_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LIFETIME_SECONDS: i64 = 600;

/// The credentials for Google Cloud Storage that the environment provides. `Debug` output contains
/// no secrets.
#[derive(Clone, Default)]
pub struct GcsSettings {
    /// An OAuth access token.
    pub access_token: Option<String>,
    /// The file with the application default credentials. A file that does not exist is ignored.
    pub credentials_file: Option<PathBuf>,
    /// The URL of a service that is used instead of Google's.
    pub endpoint: Option<Url>,
}

impl fmt::Debug for GcsSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GcsSettings")
            .field("credentials_file", &self.credentials_file)
            .field("endpoint", &self.endpoint.as_ref().map(wardian_download::printable_url))
            .finish_non_exhaustive()
    }
}

/// The content of a file with credentials.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum DefaultCredentials {
    AuthorizedUser {
        client_id: String,
        client_secret: String,
        refresh_token: String,
        token_uri: Option<String>,
    },
    ServiceAccount {
        client_email: String,
        private_key: String,
        private_key_id: Option<String>,
        token_uri: Option<String>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
}

impl GcsSettings {
    /// Returns the authorization of requests, or `None` for anonymous requests.
    pub(super) async fn authorization(
        &self,
        downloader: &Downloader,
    ) -> Result<Option<Authorization>, BucketError> {
        if let Some(token) = self.access_token.as_deref().filter(|token| !token.is_empty()) {
            return Ok(Some(Authorization::bearer(token)));
        }
        let Some(path) = &self.credentials_file else { return Ok(None) };
        let Some(credentials) = read_credentials(path)? else { return Ok(None) };
        let TokenRequest { url, form } = token_request(&credentials, jiff::Timestamp::now())?;
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = Fetch::new(Method::POST, url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .body(body.into())
            .redirects(0);
        let fetched = downloader
            .fetch(request, MAX_RESPONSE_BYTES)
            .await
            .map_err(|error| failed(&error.to_string()))?;
        if !fetched.status.is_success() {
            return Err(failed(&format!("the token server responded with {}", fetched.status)));
        }
        let response: TokenResponse = serde_json::from_slice(&fetched.body)
            .map_err(|_| failed("the token server returned no token"))?;
        Ok(Some(Authorization::bearer(&response.access_token)))
    }
}

fn failed(reason: &str) -> BucketError {
    BucketError::Credentials { service: "Google Cloud Storage", reason: reason.to_owned() }
}

fn read_credentials(path: &Path) -> Result<Option<DefaultCredentials>, BucketError> {
    let bytes = match read_regular(path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&format!("{} cannot be read: {error}", path.display()))),
    };
    // The parser's error may contain parts of the file.
    let credentials = serde_json::from_slice(&bytes)
        .map_err(|_| failed(&format!("{} does not contain credentials", path.display())))?;
    Ok(Some(credentials))
}

struct TokenRequest {
    url: Url,
    form: Vec<(&'static str, String)>,
}

/// Returns the OAuth request that exchanges the credentials for an access token.
fn token_request(
    credentials: &DefaultCredentials,
    now: jiff::Timestamp,
) -> Result<TokenRequest, BucketError> {
    let url = |uri: &Option<String>| {
        let url = Url::parse(uri.as_deref().unwrap_or(TOKEN_URL)).ok();
        let is_safe = |url: &Url| {
            url.scheme() == "https" || matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
        };
        url.filter(is_safe).ok_or_else(|| failed("the URL of the token server is not an https URL"))
    };
    match credentials {
        DefaultCredentials::AuthorizedUser { client_id, client_secret, refresh_token, token_uri } => {
            Ok(TokenRequest {
                url: url(token_uri)?,
                form: vec![
                    ("grant_type", "refresh_token".to_owned()),
                    ("client_id", client_id.clone()),
                    ("client_secret", client_secret.clone()),
                    ("refresh_token", refresh_token.clone()),
                ],
            })
        }
        DefaultCredentials::ServiceAccount { client_email, private_key, private_key_id, token_uri } => {
            let url = url(token_uri)?;
            let header = json!({"alg": "RS256", "typ": "JWT", "kid": private_key_id});
            let issued = now.as_second();
            let claims = json!({
                "iss": client_email,
                "scope": SCOPE,
                "aud": url.as_str(),
                "iat": issued,
                "exp": issued + LIFETIME_SECONDS,
            });
            let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let text = format!("{}.{}", encode(&header), encode(&claims));
            let signature = sign(private_key, text.as_bytes())
                .ok_or_else(|| failed("the private key of the service account cannot be used"))?;
            let assertion = format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature));
            Ok(TokenRequest {
                url,
                form: vec![("grant_type", JWT_GRANT.to_owned()), ("assertion", assertion)],
            })
        }
        DefaultCredentials::Other => Err(failed(
            "only credentials of user accounts and service accounts are supported; set \
             GOOGLE_OAUTH_ACCESS_TOKEN to an access token instead",
        )),
    }
}

fn sign(private_key: &str, text: &[u8]) -> Option<Vec<u8>> {
    let encoded = private_key.split("-----").nth(2)?;
    let encoded: String = encoded.chars().filter(|character| !character.is_whitespace()).collect();
    let key = KeyPair::from_pkcs8(&STANDARD.decode(encoded).ok()?).ok()?;
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

    #[test]
    fn service_account_signs_its_request() {
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = key.as_der().unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(der.as_ref())
        );
        let credentials = DefaultCredentials::ServiceAccount {
            client_email: "a@b".into(),
            private_key: pem,
            private_key_id: Some("k".into()),
            token_uri: None,
        };
        let TokenRequest { url, form } = token_request(&credentials, jiff::Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(url.as_str(), TOKEN_URL);
        let (text, signature) = form[1].1.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
        public.verify(text.as_bytes(), &signature).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((claims["iss"].as_str(), claims["exp"].as_i64()), (Some("a@b"), Some(600)));
    }

    #[test]
    fn unusable_credentials_are_errors_without_secrets() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("credentials.json");
        assert!(read_credentials(&path).unwrap().is_none());
        for text in
            ["{\"type\":\"external_account\",\"x\":\"s3cret\"}", "s3cret", "{\"type\":\"authorized_user\"}"]
        {
            std::fs::write(&path, text).unwrap();
            let error = match read_credentials(&path) {
                Ok(credentials) => {
                    token_request(&credentials.unwrap(), jiff::Timestamp::UNIX_EPOCH).err().unwrap()
                }
                Err(error) => error,
            };
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let plain = DefaultCredentials::AuthorizedUser {
            client_id: String::new(),
            client_secret: String::new(),
            refresh_token: String::new(),
            token_uri: Some("http://a.example/token".into()),
        };
        assert!(token_request(&plain, jiff::Timestamp::UNIX_EPOCH).is_err());
    }
}
