//! The key provider `aws_kms`: data keys of the Key Management Service of Amazon Web Services.

mod settings;

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use url::Url;
use wardian_aws::{AwsServiceError, CredentialChain, SignedRequest, sign};
use wardian_diagnostic::Diagnostics;
use wardian_download::{Downloader, Fetch};
use wardian_state::EncryptionFailure;

pub(super) use settings::schema;

use super::{KeySource, encode_metadata, parse_metadata};
use crate::arguments::Arguments;
use crate::host::EncryptionHost;
use crate::secret::Secret;

const MAX_RESPONSE_BYTES: u64 = 1 << 20;
const CREDENTIALS_ADVICE: &str =
    "check the credentials of aws_kms and their permissions kms:GenerateDataKey and kms:Decrypt";

pub(super) struct AwsKms {
    downloader: Downloader,
    credentials: CredentialChain,
    endpoint: Url,
    region: String,
    key_id: String,
    key_spec: String,
    context: BTreeMap<String, String>,
    allowed_accounts: Vec<String>,
    forbidden_accounts: Vec<String>,
    /// Whether the account was checked.
    account: OnceCell<()>,
}

impl fmt::Debug for AwsKms {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AwsKms").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct StoredMetadata {
    ciphertext_blob: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    encryption_context: BTreeMap<String, String>,
}

impl AwsKms {
    pub(super) fn new(arguments: &Arguments, host: &EncryptionHost) -> Result<Self, Diagnostics> {
        let key_id = arguments.required_text("kms_key_id")?.to_owned();
        let key_spec = arguments.required_text("key_spec")?.to_owned();
        if !matches!(&*key_spec, "AES_128" | "AES_256") {
            return Err(arguments.invalid("\"key_spec\" must be AES_128 or AES_256"));
        }
        let region = settings::region(arguments, host)?;
        Ok(Self {
            downloader: settings::client(arguments, host)?,
            credentials: CredentialChain::new(settings::credentials(arguments, host, &region)?),
            endpoint: settings::endpoint(arguments, host, &region)?,
            region,
            key_id,
            key_spec,
            context: arguments.text_map("encryption_context"),
            allowed_accounts: arguments.strings("allowed_account_ids"),
            forbidden_accounts: arguments.strings("forbidden_account_ids"),
            account: OnceCell::new(),
        })
    }

    async fn request(&self, action: &str, body: &Value) -> Result<Value, EncryptionFailure> {
        self.account.get_or_try_init(|| self.check_account()).await?;
        let key = self.credentials.key(&self.downloader).await.map_err(credentials_failure)?;
        let body = Bytes::from(body.to_string());
        let headers = [
            ("content-type", "application/x-amz-json-1.1".to_owned()),
            ("x-amz-target", format!("TrentService.{action}")),
        ];
        let signed = SignedRequest {
            region: &self.region,
            service: "kms",
            method: "POST",
            url: &self.endpoint,
            headers: &headers,
            body: &body,
        };
        let mut fetch = Fetch::new(Method::POST, self.endpoint.clone()).redirects(0);
        for (name, value) in sign(&key, &signed, Timestamp::now()) {
            fetch = fetch.header(name, value);
        }
        for (name, value) in &headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                fetch = fetch.header(HeaderName::from_static(name), value);
            }
        }
        let response = self.downloader.fetch(fetch.body(body), MAX_RESPONSE_BYTES).await;
        let response = response.map_err(|error| EncryptionFailure::new(error.to_string()))?;
        if response.status != StatusCode::OK {
            let error = AwsServiceError::from_response(&response);
            let failure = EncryptionFailure::new(format!("KMS rejected the request {action}: {error}"));
            return Err(match &*error.code {
                "NotFoundException" => failure.with_advice("check \"kms_key_id\" and \"region\""),
                "InvalidCiphertextException" => {
                    failure.with_advice("check \"kms_key_id\" and \"encryption_context\"")
                }
                _ => failure.with_advice(CREDENTIALS_ADVICE),
            });
        }
        serde_json::from_slice(&response.body).map_err(|_| invalid("JSON"))
    }

    async fn check_account(&self) -> Result<(), EncryptionFailure> {
        if self.allowed_accounts.is_empty() && self.forbidden_accounts.is_empty() {
            return Ok(());
        }
        let account = self.credentials.account(&self.downloader).await.map_err(credentials_failure)?;
        let is_allowed = self.allowed_accounts.is_empty() || self.allowed_accounts.contains(&account);
        if is_allowed && !self.forbidden_accounts.contains(&account) {
            return Ok(());
        }
        let message = format!("the configuration does not allow the account {account} of the credentials");
        Err(EncryptionFailure::new(message))
    }
}

#[async_trait]
impl KeySource for AwsKms {
    async fn new_key(&self, _upstream: Option<Secret>) -> Result<(Secret, Vec<u8>), EncryptionFailure> {
        let mut body = json!({ "KeyId": self.key_id, "KeySpec": self.key_spec });
        if !self.context.is_empty() {
            body["EncryptionContext"] = json!(self.context);
        }
        let response = self.request("GenerateDataKey", &body).await?;
        let blob = response.get("CiphertextBlob").and_then(Value::as_str);
        let metadata = encode_metadata(&StoredMetadata {
            ciphertext_blob: blob.ok_or_else(|| invalid("CiphertextBlob"))?.to_owned(),
            encryption_context: self.context.clone(),
        })?;
        Ok((plaintext(&response)?, metadata))
    }

    async fn stored_key(
        &self,
        metadata: &[u8],
        _upstream: Option<Secret>,
    ) -> Result<Secret, EncryptionFailure> {
        let stored: StoredMetadata = parse_metadata(metadata)?;
        let mut body = json!({ "KeyId": self.key_id, "CiphertextBlob": stored.ciphertext_blob });
        if !stored.encryption_context.is_empty() {
            body["EncryptionContext"] = json!(stored.encryption_context);
        }
        plaintext(&self.request("Decrypt", &body).await?)
    }
}

fn plaintext(response: &Value) -> Result<Secret, EncryptionFailure> {
    let text = response.get("Plaintext").and_then(Value::as_str).ok_or_else(|| invalid("Plaintext"))?;
    STANDARD.decode(text).map(Secret::new).map_err(|_| invalid("Plaintext"))
}

fn invalid(missing: &str) -> EncryptionFailure {
    EncryptionFailure::new(format!("the response of KMS contains no valid {missing}"))
}

fn credentials_failure(error: wardian_aws::AwsError) -> EncryptionFailure {
    EncryptionFailure::new(format!("there are no usable AWS credentials: {error}"))
        .with_advice(CREDENTIALS_ADVICE)
}
