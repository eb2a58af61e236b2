//! Credentials of the machine's role, from the metadata service of EC2 or of containers.

use http::{HeaderName, HeaderValue, Method};
use serde::Deserialize;
use url::Url;
use wardian_download::{Downloader, Fetch};

use crate::error::AwsError;
use crate::key::SigningKey;

const MAX_BYTES: u64 = 64 << 10;
const TOKEN_LIFETIME: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
const METADATA_TOKEN: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct MachineKey {
    access_key_id: String,
    secret_access_key: String,
    #[serde(alias = "SessionToken")]
    token: Option<String>,
    expiration: Option<String>,
}

impl From<MachineKey> for SigningKey {
    fn from(key: MachineKey) -> Self {
        Self {
            id: key.access_key_id,
            secret: key.secret_access_key,
            session_token: key.token,
            expires: key.expiration.and_then(|time| time.parse().ok()),
        }
    }
}

/// Requests the key of the instance role from the metadata service at a URL. Returns [`None`] if the
/// machine has no role.
///
/// # Errors
/// Returns an error if the service cannot be reached or returns an invalid response.
pub async fn key_of_machine(base: &Url, downloader: &Downloader) -> Result<Option<SigningKey>, AwsError> {
    let wrong = |reason: &str| AwsError(format!("the metadata service {reason}"));
    let join = |path: &str| base.join(path).map_err(|_| wrong("has an invalid URL"));
    let request = Fetch::new(Method::PUT, join("latest/api/token")?);
    let token = fetch(downloader, request.header(TOKEN_LIFETIME, HeaderValue::from_static("300"))).await?;
    let mut token = HeaderValue::from_bytes(&token).map_err(|_| wrong("returned an invalid token"))?;
    token.set_sensitive(true);
    let roles = join("latest/meta-data/iam/security-credentials/")?;
    let list = fetch(downloader, Fetch::get(roles.clone()).header(METADATA_TOKEN, token.clone())).await?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let Some(role) = list.lines().next().map(str::trim).filter(|role| !role.is_empty()) else {
        return Ok(None);
    };
    let url = roles.join(role).map_err(|_| wrong("returned an invalid role"))?;
    let key = fetch(downloader, Fetch::get(url).header(METADATA_TOKEN, token)).await?;
    let key: MachineKey = serde_json::from_slice(&key).map_err(|_| wrong("returned an invalid key"))?;
    Ok(Some(key.into()))
}

/// Requests the key of a container's role.
pub(crate) async fn key_of_container(
    url: &Url,
    authorization: Option<&str>,
    downloader: &Downloader,
) -> Result<SigningKey, AwsError> {
    let mut request = Fetch::get(url.clone());
    if let Some(authorization) = authorization {
        let mut value = HeaderValue::from_str(authorization.trim()).map_err(|_| {
            AwsError("the container's authorization token is not valid in a header".to_owned())
        })?;
        value.set_sensitive(true);
        request = request.header(http::header::AUTHORIZATION, value);
    }
    let key = fetch(downloader, request).await?;
    let key: MachineKey = serde_json::from_slice(&key)
        .map_err(|_| AwsError("the container's credentials service returned an invalid key".to_owned()))?;
    Ok(key.into())
}

async fn fetch(downloader: &Downloader, request: Fetch) -> Result<bytes::Bytes, AwsError> {
    let fetched = downloader.fetch(request.redirects(0).retries(0), MAX_BYTES).await;
    let fetched = fetched.map_err(|error| AwsError(error.to_string()))?;
    if !fetched.status.is_success() {
        return Err(AwsError(format!("the metadata service responded with {}", fetched.status)));
    }
    Ok(fetched.body)
}
