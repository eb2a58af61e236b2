//! The key provider `openbao`: data keys of the transit engine of OpenBao, or of compatible services.
//!
//! | operation | request |
//! |---|---|
//! | new key | `POST /v1/PATH/datakey/plaintext/KEY` with `bits` |
//! | stored key | `POST /v1/PATH/decrypt/KEY` with `ciphertext` |

use std::fmt;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;
use wardian_diagnostic::Diagnostics;
use wardian_download::{Downloader, Fetch, Fetched, printable_url};
use wardian_files::read_regular;
use wardian_network::{TlsRoots, TlsSettings, Verification};
use wardian_plugin::Block;
use wardian_state::EncryptionFailure;
use wardian_value::Type;

use super::{KeySource, encode_metadata, parse_metadata};
use crate::arguments::Arguments;
use crate::host::EncryptionHost;
use crate::secret::Secret;

const DEFAULT_ADDRESS: &str = "https://127.0.0.1:8200";
const DEFAULT_PATH: &str = "/transit";
const MAX_RESPONSE_BYTES: u64 = 1 << 20;
const MAX_CERTIFICATE_BYTES: u64 = 4 << 20;
const TOKEN: HeaderName = HeaderName::from_static("x-vault-token");
const NAMESPACE: HeaderName = HeaderName::from_static("x-vault-namespace");

pub(super) struct OpenBao {
    downloader: Downloader,
    address: Url,
    token: Option<HeaderValue>,
    namespace: Option<HeaderValue>,
    path: String,
    key_name: String,
    key_length: u32,
    associated_data: Option<String>,
}

impl fmt::Debug for OpenBao {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OpenBao").field("key_name", &self.key_name).finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct StoredMetadata {
    /// The encrypted key in Base64. OpenBao's text form is encoded once more.
    ciphertext: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    associated_data: String,
}

pub(super) fn schema() -> Block {
    crate::arguments::schema([
        ("address", Type::String),
        ("associated_data", Type::String),
        ("key_length", Type::Number),
        ("key_name", Type::String),
        ("token", Type::String),
        ("transit_engine_path", Type::String),
    ])
}

impl OpenBao {
    pub(super) fn new(arguments: &Arguments, host: &EncryptionHost) -> Result<Self, Diagnostics> {
        let variable = |name: &str| host.first_variable(&[&format!("BAO_{name}"), &format!("VAULT_{name}")]);
        let key_name = arguments.required_text("key_name")?.to_owned();
        let key_length = arguments.number("key_length", (16, 64), 32)?;
        if !matches!(key_length, 16 | 32 | 64) {
            return Err(arguments.invalid("\"key_length\" must be 16, 32 or 64"));
        }
        let associated_data = arguments.text("associated_data").map(str::to_owned);
        if associated_data.as_ref().is_some_and(|text| STANDARD.decode(text).is_err()) {
            return Err(arguments.invalid("\"associated_data\" is not Base64"));
        }
        let address = arguments.text("address").map(str::to_owned).or_else(|| variable("ADDR"));
        let address = Url::parse(address.as_deref().unwrap_or(DEFAULT_ADDRESS))
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
            .ok_or_else(|| arguments.invalid("\"address\" is not a URL with the scheme http or https"))?;
        let header = |text: Option<String>, name: &str| -> Result<Option<HeaderValue>, Diagnostics> {
            let Some(text) = text else { return Ok(None) };
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                arguments.invalid(&format!("the {name} contains characters that cannot be sent"))
            })?;
            value.set_sensitive(true);
            Ok(Some(value))
        };
        let token = arguments.text("token").map(str::to_owned).or_else(|| variable("TOKEN"));
        let roots = roots(variable("CACERT"), variable("SKIP_VERIFY"), host)
            .map_err(|problem| arguments.invalid(&problem))?;
        Ok(Self {
            downloader: host.http.client(roots).map_err(|problem| arguments.invalid(&problem))?,
            address,
            token: header(token, "token")?,
            namespace: header(variable("NAMESPACE"), "namespace")?,
            path: arguments.text("transit_engine_path").unwrap_or(DEFAULT_PATH).trim_matches('/').to_owned(),
            key_name,
            key_length,
            associated_data,
        })
    }

    /// Sends a request, and returns the `data` of the response.
    async fn request(&self, operation: &[&str], body: Value) -> Result<Value, EncryptionFailure> {
        let mut url = self.address.clone();
        url.path_segments_mut()
            .map_err(|()| EncryptionFailure::new("the address cannot have a path"))?
            .pop_if_empty()
            .push("v1")
            .extend(self.path.split('/'))
            .extend(operation)
            .push(&self.key_name);
        let json = HeaderValue::from_static("application/json");
        let mut fetch = Fetch::new(Method::POST, url)
            .redirects(0)
            .header(CONTENT_TYPE, json)
            .body(Bytes::from(body.to_string()));
        for (name, value) in [(TOKEN, &self.token), (NAMESPACE, &self.namespace)] {
            if let Some(value) = value {
                fetch = fetch.header(name, value.clone());
            }
        }
        let response = self.downloader.fetch(fetch, MAX_RESPONSE_BYTES).await.map_err(|error| {
            EncryptionFailure::new(error.to_string())
                .with_advice("check \"address\" or BAO_ADDR, and whether the server runs")
        })?;
        if response.status != StatusCode::OK {
            return Err(unexpected(&response));
        }
        let mut document: Value = serde_json::from_slice(&response.body).map_err(|_| invalid("JSON"))?;
        Ok(document.get_mut("data").map(Value::take).unwrap_or_default())
    }
}

#[async_trait]
impl KeySource for OpenBao {
    async fn new_key(&self, _upstream: Option<Secret>) -> Result<(Secret, Vec<u8>), EncryptionFailure> {
        let mut body = json!({ "bits": self.key_length * 8 });
        if let Some(data) = &self.associated_data {
            body["associated_data"] = json!(data);
        }
        let data = self.request(&["datakey", "plaintext"], body).await?;
        let ciphertext =
            data.get("ciphertext").and_then(Value::as_str).ok_or_else(|| invalid("ciphertext"))?;
        let metadata = encode_metadata(&StoredMetadata {
            ciphertext: STANDARD.encode(ciphertext),
            associated_data: self.associated_data.clone().unwrap_or_default(),
        })?;
        Ok((plaintext(&data)?, metadata))
    }

    async fn stored_key(
        &self,
        metadata: &[u8],
        _upstream: Option<Secret>,
    ) -> Result<Secret, EncryptionFailure> {
        let stored: StoredMetadata = parse_metadata(metadata)?;
        let ciphertext =
            STANDARD.decode(&stored.ciphertext).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let ciphertext = ciphertext.ok_or_else(|| {
            EncryptionFailure::new("the encrypted key in the encrypted content is not valid")
        })?;
        let mut body = json!({ "ciphertext": ciphertext });
        if !stored.associated_data.is_empty() {
            body["associated_data"] = json!(stored.associated_data);
        }
        plaintext(&self.request(&["decrypt"], body).await?)
    }
}

/// Returns the key in a response.
fn plaintext(data: &Value) -> Result<Secret, EncryptionFailure> {
    let text = data.get("plaintext").and_then(Value::as_str).ok_or_else(|| invalid("plaintext"))?;
    STANDARD.decode(text).map(Secret::new).map_err(|_| invalid("plaintext"))
}

fn invalid(missing: &str) -> EncryptionFailure {
    EncryptionFailure::new(format!("the response of the server contains no valid {missing}"))
}

/// Returns the error for a response with an unexpected status.
fn unexpected(response: &Fetched) -> EncryptionFailure {
    let document: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let errors = document.get("errors").and_then(Value::as_array).into_iter().flatten();
    let errors = errors.filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
    let errors = if errors.is_empty() { String::new() } else { format!(": {errors}") };
    let url = printable_url(&response.url);
    let failure = EncryptionFailure::new(format!("{url} responded with {}{errors}", response.status));
    match response.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            failure.with_advice("check the token (\"token\" or BAO_TOKEN) and its policies")
        }
        StatusCode::NOT_FOUND => failure.with_advice("check \"key_name\" and \"transit_engine_path\""),
        _ => failure,
    }
}

fn roots(
    file: Option<String>,
    skips_verification: Option<String>,
    host: &EncryptionHost,
) -> Result<TlsRoots, String> {
    let skips = skips_verification.is_some_and(|text| matches!(&*text, "1" | "t" | "true" | "TRUE" | "True"));
    let authorities = match file {
        None if !skips => return Ok(TlsRoots::from_system()),
        None => None,
        Some(path) => {
            let path = host.directory.join(path);
            let bytes = read_regular(&path, MAX_CERTIFICATE_BYTES);
            Some(bytes.map_err(|error| format!("{} cannot be read: {error}", path.display()))?)
        }
    };
    let verification = if skips { Verification::None } else { Verification::Full };
    TlsRoots::from_settings(&TlsSettings { authorities, identity: None, verification })
        .map_err(|error| format!("the TLS settings cannot be used: {error}"))
}
