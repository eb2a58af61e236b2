//! Credentials of a role from IAM Identity Center (single sign-on), with the token that `aws sso
//! login` has stored.

use std::path::Path;

use http::{HeaderName, HeaderValue, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;
use sha1::{Digest as _, Sha1};
use url::Url;
use wardian_download::{Downloader, Fetch};
use wardian_files::read_regular;

use crate::encoding::encode_value;
use crate::error::{AwsError, AwsServiceError};
use crate::key::SigningKey;
use crate::profiles::{Profile, ProfileFiles};

const MAX_BYTES: u64 = 1 << 20;
const BEARER_TOKEN: HeaderName = HeaderName::from_static("x-amz-sso_bearer_token");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CachedToken {
    access_token: String,
    expires_at: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleResponse {
    role_credentials: RoleCredentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleCredentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    /// Milliseconds since 1970.
    expiration: Option<i64>,
}

/// Returns the key of the role in a profile; [`None`] if the profile does not use single sign-on.
pub(crate) async fn key_of_profile(
    name: &str,
    profile: &Profile,
    files: &ProfileFiles,
    home: Option<&Path>,
    endpoint: Option<&Url>,
    downloader: &Downloader,
) -> Result<Option<SigningKey>, AwsError> {
    let (Some(account), Some(role)) = (profile.get("sso_account_id"), profile.get("sso_role_name")) else {
        return Ok(None);
    };
    let missing = |what: &str| AwsError(format!("the profile \"{name}\" has no \"{what}\""));
    let session = profile.get("sso_session");
    let settings = match session {
        Some(session) => files.sso_session(session)?,
        None => profile.clone(),
    };
    let region = settings.get("sso_region").ok_or_else(|| missing("sso_region"))?;
    let cache_key = match session {
        Some(session) => session,
        None => settings.get("sso_start_url").ok_or_else(|| missing("sso_start_url"))?,
    };
    let home = home.ok_or_else(|| AwsError("there is no home directory with the stored token".to_owned()))?;
    let file = format!("{}.json", hex::encode(Sha1::digest(cache_key.as_bytes())));
    let path = home.join(".aws/sso/cache").join(file);
    let login = || {
        AwsError(format!(
            "there is no valid token for the profile \"{name}\"; run `aws sso login --profile {name}`"
        ))
    };
    let token = read_regular(&path, MAX_BYTES).map_err(|_| login())?;
    let token: CachedToken = serde_json::from_slice(&token).map_err(|_| login())?;
    let expires: Timestamp = token.expires_at.parse().map_err(|_| login())?;
    if expires <= Timestamp::now() {
        return Err(login());
    }
    let base = match endpoint {
        Some(endpoint) => endpoint.clone(),
        None => Url::parse(&format!("https://portal.sso.{region}.amazonaws.com/"))
            .map_err(|_| AwsError(format!("\"{region}\" is not a region")))?,
    };
    let mut url = base.join("federation/credentials").map_err(|error| AwsError(error.to_string()))?;
    url.set_query(Some(&format!("account_id={}&role_name={}", encode_value(account), encode_value(role))));
    let mut value = HeaderValue::from_str(&token.access_token).map_err(|_| login())?;
    value.set_sensitive(true);
    let request = Fetch::get(url).redirects(0).header(BEARER_TOKEN, value);
    let response = downloader.fetch(request, MAX_BYTES).await.map_err(|error| AwsError(error.to_string()))?;
    match response.status {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED => return Err(login()),
        _ => {
            let error = AwsServiceError::from_response(&response);
            return Err(AwsError(format!(
                "IAM Identity Center rejected the request for credentials: {error}"
            )));
        }
    }
    let RoleResponse { role_credentials: key } = serde_json::from_slice(&response.body)
        .map_err(|_| AwsError("the response of IAM Identity Center contains no key".to_owned()))?;
    Ok(Some(SigningKey {
        id: key.access_key_id,
        secret: key.secret_access_key,
        session_token: key.session_token,
        expires: key.expiration.and_then(|time| Timestamp::from_millisecond(time).ok()),
    }))
}
