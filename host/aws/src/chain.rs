//! Finds credentials, and renews them before they expire.
//!
//! The first credentials that are found are used: static ones; those of an explicitly selected
//! profile; the environment; a web identity in the environment; the selected or default profile; the
//! role of the container; the role of the machine. If a role is to be assumed, they are used to
//! assume it.
//!
//! A profile contains a key, or a role with the profile or the source whose key may assume it, or a
//! web identity, or a single sign-on session.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use url::Url;
use wardian_download::Downloader;
use wardian_files::read_regular;

use crate::error::AwsError;
use crate::key::SigningKey;
use crate::machine::{key_of_container, key_of_machine};
use crate::profiles::{DEFAULT_PROFILE, Profile, ProfileFiles};
use crate::sso;
use crate::token_service::TokenService;

/// A key is renewed if it expires within this time.
const RENEWAL_MARGIN: SignedDuration = SignedDuration::from_mins(5);

/// Maximum number of profiles that refer to each other.
const MAX_PROFILES: usize = 8;

/// Maximum size of a token file.
const MAX_TOKEN_BYTES: u64 = 1 << 20;

/// Default name of a session of an assumed role.
const SESSION_NAME: &str = "wardian";

/// The sources of credentials. `Debug` output contains no secrets.
#[derive(Clone, Default)]
pub struct AwsSettings {
    /// Credentials that precede all others.
    pub static_key: Option<SigningKey>,
    /// The profile that is used instead of the environment's credentials.
    pub profile: Option<String>,
    /// The credentials in the environment.
    pub environment_key: Option<SigningKey>,
    /// The profile that the environment selects.
    pub environment_profile: Option<String>,
    pub environment_web_identity: Option<WebIdentitySettings>,
    pub files: ProfileFiles,
    /// The user's home directory, which contains the tokens of single sign-on.
    pub home: Option<PathBuf>,
    /// The URL of the container's credentials, with the value of its `Authorization` header.
    pub container: Option<(Url, Option<String>)>,
    /// The URL of the machine's metadata service. If it is missing, the instance role is not used.
    pub instance_metadata: Option<Url>,
    /// The role that is assumed with the credentials.
    pub role: Option<RoleSettings>,
    /// The role that is assumed with a token of another identity provider, without credentials.
    pub web_identity: Option<WebIdentitySettings>,
    pub region: String,
    /// The URL of the token service that is used instead of Amazon's.
    pub token_service: Option<Url>,
    /// The region of the token service, if it is not the same region.
    pub token_service_region: Option<String>,
    /// The URL of the single sign-on portal that is used instead of Amazon's.
    pub sso: Option<Url>,
}

impl fmt::Debug for AwsSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AwsSettings")
            .field("profile", &self.profile)
            .field("region", &self.region)
            .field("role", &self.role.as_ref().map(|role| &role.role_arn))
            .finish_non_exhaustive()
    }
}

/// A role to be assumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleSettings {
    pub role_arn: String,
    pub session_name: Option<String>,
    /// The lifetime of the key in seconds.
    pub duration: Option<u64>,
    pub external_id: Option<String>,
    pub policy: Option<String>,
    pub policy_arns: Vec<String>,
    pub source_identity: Option<String>,
    pub tags: Vec<(String, String)>,
    pub transitive_tag_keys: Vec<String>,
}

/// A role to be assumed with a token. `Debug` output does not contain the token.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct WebIdentitySettings {
    pub role: RoleSettings,
    pub token: Option<String>,
    pub token_file: Option<PathBuf>,
}

impl fmt::Debug for WebIdentitySettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WebIdentitySettings")
            .field("role", &self.role.role_arn)
            .field("token_file", &self.token_file)
            .finish_non_exhaustive()
    }
}

/// Finds and renews credentials. Clones share them.
#[derive(Clone, Debug)]
pub struct CredentialChain {
    settings: Arc<AwsSettings>,
    current: Arc<Mutex<Option<SigningKey>>>,
}

impl CredentialChain {
    pub fn new(settings: AwsSettings) -> Self {
        Self { settings: Arc::new(settings), current: Arc::default() }
    }

    /// Returns a key that is valid for at least a few minutes, if its source provides such keys.
    ///
    /// # Errors
    /// Returns an error if there are no credentials, or they cannot be renewed.
    pub async fn key(&self, downloader: &Downloader) -> Result<SigningKey, AwsError> {
        let mut current = self.current.lock().await;
        let now = Timestamp::now();
        if let Some(key) = &*current
            && key.expires.is_none_or(|expires| expires.duration_since(now) > RENEWAL_MARGIN)
        {
            return Ok(key.clone());
        }
        match self.find(downloader).await {
            Ok(key) => Ok(current.insert(key).clone()),
            // The key is still valid, so a failed renewal can be retried later.
            Err(error) => match &*current {
                Some(key) if key.expires.is_some_and(|expires| expires > now) => {
                    tracing::warn!(%error, "credentials could not be renewed");
                    Ok(key.clone())
                }
                _ => Err(error),
            },
        }
    }

    /// Returns the ID of the account to which the credentials belong.
    ///
    /// # Errors
    /// Returns an error if the token service does not return it.
    pub async fn account(&self, downloader: &Downloader) -> Result<String, AwsError> {
        let key = self.key(downloader).await?;
        self.token_service()?.account(downloader, &key).await
    }

    async fn find(&self, downloader: &Downloader) -> Result<SigningKey, AwsError> {
        let settings = &*self.settings;
        let key = match &settings.web_identity {
            Some(identity) => self.assume_with_token(identity, downloader).await?,
            None => self.find_base(downloader).await?,
        };
        match &settings.role {
            None => Ok(key),
            Some(role) => self.assume(role, &key, downloader).await,
        }
    }

    async fn find_base(&self, downloader: &Downloader) -> Result<SigningKey, AwsError> {
        let settings = &*self.settings;
        if let Some(key) = &settings.static_key {
            return Ok(key.clone());
        }
        if let Some(name) = &settings.profile {
            let found = self.key_of_profile(name, downloader).await?;
            return found.ok_or_else(|| AwsError(format!("the profile \"{name}\" has no credentials")));
        }
        if let Some(key) = &settings.environment_key {
            return Ok(key.clone());
        }
        if let Some(identity) = &settings.environment_web_identity {
            return self.assume_with_token(identity, downloader).await;
        }
        let name = settings.environment_profile.as_deref();
        if let Some(key) = self.key_of_profile(name.unwrap_or(DEFAULT_PROFILE), downloader).await? {
            return Ok(key);
        }
        if let Some(name) = name {
            return Err(AwsError(format!("the profile \"{name}\" has no credentials")));
        }
        if let Some((url, authorization)) = &settings.container {
            return key_of_container(url, authorization.as_deref(), downloader).await;
        }
        if let Some(base) = &settings.instance_metadata
            && let Ok(Some(key)) = key_of_machine(base, downloader).await
        {
            return Ok(key);
        }
        Err(AwsError(
            "no credentials were found; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run \
             `aws configure`"
                .to_owned(),
        ))
    }

    /// Returns the key of a profile; [`None`] if the profile contains no credentials.
    async fn key_of_profile(
        &self,
        name: &str,
        downloader: &Downloader,
    ) -> Result<Option<SigningKey>, AwsError> {
        let settings = &*self.settings;
        // Roles that are assumed one after another, in reverse order.
        let mut roles: Vec<RoleSettings> = Vec::new();
        let mut name = name.to_owned();
        for _ in 0..MAX_PROFILES {
            let profile = settings.files.profile(&name)?;
            let role = profile.get("role_arn").map(|role_arn| role_of_profile(role_arn, &profile));
            let source = profile.get("source_profile").filter(|_| role.is_some());
            let key = match (&role, source) {
                (Some(_), Some(source)) if source != name => None,
                (Some(role), None) => Some(self.source_of_role(&name, &profile, role, downloader).await?),
                _ => {
                    let (files, home) = (&settings.files, settings.home.as_deref());
                    let key = match profile.key() {
                        Some(key) => Some(key),
                        None => {
                            sso::key_of_profile(
                                &name,
                                &profile,
                                files,
                                home,
                                settings.sso.as_ref(),
                                downloader,
                            )
                            .await?
                        }
                    };
                    if key.is_none() && profile.get("credential_process").is_some() {
                        return Err(AwsError(format!(
                            "the profile \"{name}\" uses credential_process, which is not supported; set the \
                             credentials that the program prints in the environment"
                        )));
                    }
                    match key {
                        Some(key) => Some(key),
                        None if roles.is_empty() => return Ok(None),
                        None => return Err(AwsError(format!("the profile \"{name}\" has no credentials"))),
                    }
                }
            };
            let uses_token = profile.get("web_identity_token_file").is_some();
            if let Some(role) = role.filter(|_| !uses_token) {
                roles.push(role);
            }
            match (key, source) {
                (Some(mut key), _) => {
                    for role in roles.iter().rev() {
                        key = self.assume(role, &key, downloader).await?;
                    }
                    return Ok(Some(key));
                }
                (None, Some(source)) => name = source.to_owned(),
                (None, None) => return Ok(None),
            }
        }
        Err(AwsError(format!("more than {MAX_PROFILES} profiles refer to each other")))
    }

    /// Returns the key with which the role of a profile without a source profile is assumed. For a
    /// web identity, it is the key of the role.
    async fn source_of_role(
        &self,
        name: &str,
        profile: &Profile,
        role: &RoleSettings,
        downloader: &Downloader,
    ) -> Result<SigningKey, AwsError> {
        let settings = &*self.settings;
        if let Some(file) = profile.get("web_identity_token_file") {
            let identity = WebIdentitySettings {
                role: role.clone(),
                token: None,
                token_file: Some(PathBuf::from(file)),
            };
            return self.assume_with_token(&identity, downloader).await;
        }
        let missing =
            || AwsError(format!("the credential source of the profile \"{name}\" has no credentials"));
        match profile.get("credential_source") {
            Some("Environment") => settings.environment_key.clone().ok_or_else(missing),
            Some("EcsContainer") => {
                let (url, authorization) = settings.container.as_ref().ok_or_else(missing)?;
                key_of_container(url, authorization.as_deref(), downloader).await
            }
            Some("Ec2InstanceMetadata") => {
                let base = settings.instance_metadata.as_ref().ok_or_else(missing)?;
                key_of_machine(base, downloader).await?.ok_or_else(missing)
            }
            _ => profile.key().ok_or_else(|| {
                AwsError(format!(
                    "the profile \"{name}\" has a role, but neither \"source_profile\" nor \"credential_source\""
                ))
            }),
        }
    }

    async fn assume(
        &self,
        role: &RoleSettings,
        key: &SigningKey,
        downloader: &Downloader,
    ) -> Result<SigningKey, AwsError> {
        let arguments = role.arguments();
        self.token_service()?.assume(downloader, Some(key), "AssumeRole", &arguments).await
    }

    async fn assume_with_token(
        &self,
        identity: &WebIdentitySettings,
        downloader: &Downloader,
    ) -> Result<SigningKey, AwsError> {
        let token = match (&identity.token, &identity.token_file) {
            (Some(token), _) => token.clone(),
            // The file is read for every renewal, because its token also expires.
            (None, Some(path)) => {
                let bytes = read_regular(path, MAX_TOKEN_BYTES)
                    .map_err(|error| AwsError(format!("{} cannot be read: {error}", path.display())))?;
                String::from_utf8_lossy(&bytes).trim().to_owned()
            }
            (None, None) => return Err(AwsError("there is no web identity token".to_owned())),
        };
        let mut arguments = identity.role.arguments();
        arguments.push(("WebIdentityToken".to_owned(), token));
        self.token_service()?.assume(downloader, None, "AssumeRoleWithWebIdentity", &arguments).await
    }

    fn token_service(&self) -> Result<TokenService, AwsError> {
        let settings = &*self.settings;
        let region = settings.token_service_region.as_ref().unwrap_or(&settings.region).clone();
        let endpoint = match &settings.token_service {
            Some(endpoint) => endpoint.clone(),
            None => {
                let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
                Url::parse(&format!("https://sts.{region}.{domain}/"))
                    .map_err(|_| AwsError(format!("\"{region}\" is not a region")))?
            }
        };
        Ok(TokenService { endpoint, region })
    }
}

fn role_of_profile(role_arn: &str, profile: &Profile) -> RoleSettings {
    let text = |name: &str| profile.get(name).map(str::to_owned);
    RoleSettings {
        role_arn: role_arn.to_owned(),
        session_name: text("role_session_name"),
        duration: text("duration_seconds").and_then(|text| text.parse().ok()),
        external_id: text("external_id"),
        ..RoleSettings::default()
    }
}

impl RoleSettings {
    fn arguments(&self) -> Vec<(String, String)> {
        let session_name = self.session_name.clone().unwrap_or_else(|| SESSION_NAME.to_owned());
        let mut arguments =
            vec![("RoleArn".to_owned(), self.role_arn.clone()), ("RoleSessionName".to_owned(), session_name)];
        let optional = [
            ("DurationSeconds", self.duration.map(|seconds| seconds.to_string())),
            ("ExternalId", self.external_id.clone()),
            ("Policy", self.policy.clone()),
            ("SourceIdentity", self.source_identity.clone()),
        ];
        arguments.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        for (index, arn) in self.policy_arns.iter().enumerate() {
            arguments.push((format!("PolicyArns.member.{}.arn", index + 1), arn.clone()));
        }
        for (index, (name, value)) in self.tags.iter().enumerate() {
            arguments.push((format!("Tags.member.{}.Key", index + 1), name.clone()));
            arguments.push((format!("Tags.member.{}.Value", index + 1), value.clone()));
        }
        for (index, key) in self.transitive_tag_keys.iter().enumerate() {
            arguments.push((format!("TransitiveTagKeys.member.{}", index + 1), key.clone()));
        }
        arguments
    }
}
