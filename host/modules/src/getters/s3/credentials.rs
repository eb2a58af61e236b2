//! Credentials for Amazon S3.
//!
//! The first credentials that are found are used: the credentials in the source; the profile that
//! the source specifies; the environment; the selected or default profile; the EC2 instance role,
//! if the caller allows requests to the metadata service. The profiles are in the files of the AWS
//! CLI.

use std::fmt;
use std::path::PathBuf;

use url::Url;
use wardian_aws::{ProfileFiles, SigningKey, key_of_machine};
use wardian_download::Downloader;
use wardian_module_source::S3Location;

use super::BucketError;

const DEFAULT_PROFILE: &str = "default";

/// The credentials and settings for Amazon S3 that the environment provides. `Debug` output
/// contains no secrets.
#[derive(Clone, Default)]
pub struct S3Settings {
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    /// The profile that is used instead of `default`.
    pub profile: Option<String>,
    pub credentials_file: Option<PathBuf>,
    pub config_file: Option<PathBuf>,
    /// The URL of a service that is used instead of Amazon's.
    pub endpoint: Option<Url>,
    /// The URL of the machine's metadata service. If it is missing, the instance role is not used.
    pub instance_metadata: Option<Url>,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("S3Settings")
            .field("access_key_id", &self.access_key_id)
            .field("profile", &self.profile)
            .field("credentials_file", &self.credentials_file)
            .field("config_file", &self.config_file)
            .field("endpoint", &self.endpoint.as_ref().map(wardian_download::printable_url))
            .field("instance_metadata", &self.instance_metadata.as_ref().map(wardian_download::printable_url))
            .finish_non_exhaustive()
    }
}

impl S3Settings {
    /// Returns the key for a location, or `None` for anonymous requests.
    pub(super) async fn access_key(
        &self,
        location: &S3Location,
        downloader: &Downloader,
    ) -> Result<Option<SigningKey>, BucketError> {
        if let Some(credentials) = &location.credentials {
            return Ok(Some(SigningKey::new(
                &credentials.access_key_id,
                &credentials.secret_access_key,
                credentials.session_token.clone(),
            )));
        }
        if let Some(profile) = &location.profile {
            return self.key_of_profile(profile)?.map(Some).ok_or_else(|| {
                failed(format!(
                    "the profile \"{profile}\" has no access key in the configuration files of the AWS CLI"
                ))
            });
        }
        if let (Some(access_key_id), Some(secret_access_key)) = (&self.access_key_id, &self.secret_access_key)
        {
            let session_token = self.session_token.clone();
            return Ok(Some(SigningKey::new(access_key_id, secret_access_key, session_token)));
        }
        let profile = self.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        if let Some(key) = self.key_of_profile(profile)? {
            return Ok(Some(key));
        }
        match &self.instance_metadata {
            Some(base) => key_of_machine(base, downloader).await.map_err(|error| failed(error.to_string())),
            None => Ok(None),
        }
    }

    fn key_of_profile(&self, profile: &str) -> Result<Option<SigningKey>, BucketError> {
        let files = ProfileFiles {
            credentials: self.credentials_file.clone().into_iter().collect(),
            config: self.config_file.clone().into_iter().collect(),
        };
        Ok(files.profile(profile).map_err(|error| failed(error.to_string()))?.key())
    }
}

fn failed(reason: String) -> BucketError {
    BucketError::Credentials { service: "Amazon S3", reason }
}
