//! The arguments of the backend `s3`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;
use wardian_aws::{
    AwsSettings, CredentialChain, ProfileFiles, RoleSettings, SigningKey, WebIdentitySettings,
};
use wardian_download::Downloader;
use wardian_files::read_regular;
use wardian_network::proxy::ProxySettings;
use wardian_network::{TlsRoots, TlsSettings, Verification};
use wardian_plugin::{AttributeType, Block, NestedObject, ObjectNesting};
use wardian_value::{Str, Type, Value};

use super::NAME;
use crate::backend::BackendError;
use crate::config::Settings;
use crate::schema::{attribute, block, flag, number, text};
use crate::service::{RetryRule, Service, parse_url};

/// Maximum size of a file with certificates or tokens.
const MAX_FILE_BYTES: u64 = 4 << 20;
const DEFAULT_PREFIX: &str = "env:";
const DEFAULT_RETRIES: u64 = 5;
const METADATA_SERVICE: &str = "http://169.254.169.254/";
const CONTAINER_SERVICE: &str = "http://169.254.170.2";

/// The settings of the backend. `Debug` output contains no secrets.
#[derive(Debug)]
pub(super) struct S3Settings {
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) prefix: String,
    pub(super) region: String,
    pub(super) endpoint: Option<Url>,
    pub(super) uses_path_style: bool,
    pub(super) uses_fips: bool,
    pub(super) uses_dualstack: bool,
    pub(super) uses_lockfile: bool,
    pub(super) table: Option<String>,
    pub(super) table_endpoint: Option<Url>,
    pub(super) has_checksums: bool,
    pub(super) acl: Option<String>,
    pub(super) encryption: Encryption,
    pub(super) allowed_accounts: Vec<String>,
    pub(super) forbidden_accounts: Vec<String>,
    pub(super) credentials: CredentialChain,
    pub(super) clients: Clients,
}

/// The encryption of objects by the service.
pub(super) enum Encryption {
    /// The bucket's default.
    Bucket,
    /// With keys that S3 manages.
    Managed,
    /// With a key in KMS.
    Kms(String),
    /// With a key that each request contains: 32 bytes.
    Customer(Vec<u8>),
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Bucket => "Bucket",
            Self::Managed => "Managed",
            Self::Kms(_) => "Kms",
            Self::Customer(_) => "Customer",
        })
    }
}

/// The clients for the services and for credentials.
pub(super) struct Clients {
    pub(super) service: Service,
    pub(super) downloader: Downloader,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Clients").finish_non_exhaustive()
    }
}

pub(super) fn schema() -> Block {
    block([
        ("access_key", text()),
        ("acl", text()),
        ("allowed_account_ids", AttributeType::Value(Type::set(Type::String))),
        ("assume_role", object(&role_attributes(&["external_id", "source_identity"], true))),
        (
            "assume_role_with_web_identity",
            object(&role_attributes(&["web_identity_token", "web_identity_token_file"], false)),
        ),
        ("bucket", text()),
        ("custom_ca_bundle", text()),
        ("dynamodb_endpoint", text()),
        ("dynamodb_table", text()),
        ("ec2_metadata_service_endpoint", text()),
        ("ec2_metadata_service_endpoint_mode", text()),
        ("encrypt", flag()),
        ("endpoint", text()),
        ("endpoints", object(&["dynamodb", "iam", "s3", "sso", "sts"].map(|name| (name, text())))),
        ("forbidden_account_ids", AttributeType::Value(Type::set(Type::String))),
        ("force_path_style", flag()),
        ("http_proxy", text()),
        ("https_proxy", text()),
        ("iam_endpoint", text()),
        ("insecure", flag()),
        ("key", text()),
        ("kms_key_id", text()),
        ("max_retries", number()),
        ("no_proxy", text()),
        ("profile", text()),
        ("region", text()),
        ("retry_mode", text()),
        ("secret_key", text()),
        ("shared_config_files", AttributeType::Value(Type::set(Type::String))),
        ("shared_credentials_file", text()),
        ("shared_credentials_files", AttributeType::Value(Type::set(Type::String))),
        ("skip_credentials_validation", flag()),
        ("skip_metadata_api_check", flag()),
        ("skip_region_validation", flag()),
        ("skip_requesting_account_id", flag()),
        ("skip_s3_checksum", flag()),
        ("sse_customer_key", text()),
        ("sts_endpoint", text()),
        ("sts_region", text()),
        ("token", text()),
        ("use_dualstack_endpoint", flag()),
        ("use_fips_endpoint", flag()),
        ("use_lockfile", flag()),
        ("use_path_style", flag()),
        ("workspace_key_prefix", text()),
    ])
}

fn role_attributes(more: &[&'static str], has_tags: bool) -> Vec<(&'static str, AttributeType)> {
    let strings = AttributeType::Value(Type::set(Type::String));
    let mut attributes: Vec<_> = ["duration", "policy", "role_arn", "session_name"]
        .iter()
        .chain(more)
        .map(|name| (*name, text()))
        .collect();
    attributes.push(("policy_arns", strings.clone()));
    if has_tags {
        attributes.push(("tags", AttributeType::Value(Type::map(Type::String))));
        attributes.push(("transitive_tag_keys", strings));
    }
    attributes
}

fn object(attributes: &[(&'static str, AttributeType)]) -> AttributeType {
    let attributes = attributes.iter().map(|(name, ty)| (Str::new(name), attribute(ty.clone())));
    AttributeType::Nested(
        NestedObject { attributes: attributes.collect(), nesting: ObjectNesting::Single }.into(),
    )
}

impl S3Settings {
    pub(super) fn new(settings: Settings<'_>) -> Result<Self, BackendError> {
        let bucket = required(settings, "bucket", &[])?;
        let key = required(settings, "key", &[])?;
        check_key(&key)?;
        let prefix = settings.config.text("workspace_key_prefix").unwrap_or(DEFAULT_PREFIX).to_owned();
        let files = files(settings);
        let profile_name = settings.text("profile", &["AWS_PROFILE"]);
        let profile = files.profile(profile_name.as_deref().unwrap_or("default")).unwrap_or_default();
        let region = settings
            .text("region", &["AWS_REGION", "AWS_DEFAULT_REGION"])
            .or_else(|| profile.get("region").map(str::to_owned))
            .ok_or_else(|| BackendError {
                summary: "Missing region value".to_owned(),
                ..BackendError::missing("region", NAME, &["AWS_REGION", "AWS_DEFAULT_REGION"])
            })?;
        let is_region = region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_region {
            return Err(BackendError::for_argument(
                "region",
                "Invalid region value",
                format!("\"{region}\" is not the name of a region."),
            ));
        }
        let base = nested(settings, "endpoints", "", "", &["AWS_ENDPOINT_URL"])?;
        let or_base = |endpoint: Option<Url>| endpoint.or_else(|| base.clone());
        let endpoint =
            nested(settings, "endpoints", "s3", "endpoint", &["AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"])?;
        let table_endpoint = nested(
            settings,
            "endpoints",
            "dynamodb",
            "dynamodb_endpoint",
            &["AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT"],
        )?;
        let token_service = nested(
            settings,
            "endpoints",
            "sts",
            "sts_endpoint",
            &["AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT"],
        )?;
        let sso = nested(settings, "endpoints", "sso", "", &["AWS_ENDPOINT_URL_SSO"])?;
        let credentials = AwsSettings {
            static_key: static_key(settings)?,
            profile: settings.config.text("profile").filter(|text| !text.is_empty()).map(str::to_owned),
            environment_key: environment_key(settings),
            environment_profile: settings.host.variable("AWS_PROFILE"),
            environment_web_identity: environment_web_identity(settings),
            files,
            home: settings.host.home.clone(),
            container: container(settings)?,
            instance_metadata: instance_metadata(settings)?,
            role: settings.config.get("assume_role").map(role).transpose()?,
            web_identity: settings
                .config
                .get("assume_role_with_web_identity")
                .map(|value| web_identity(settings, value))
                .transpose()?,
            region: region.clone(),
            token_service: or_base(token_service),
            token_service_region: settings.text("sts_region", &[]),
            sso: or_base(sso),
        };
        Ok(Self {
            encryption: encryption(settings)?,
            uses_path_style: settings.flag("use_path_style", &[]) || settings.flag("force_path_style", &[]),
            uses_fips: settings.flag("use_fips_endpoint", &["AWS_USE_FIPS_ENDPOINT"]),
            uses_dualstack: settings.flag("use_dualstack_endpoint", &["AWS_USE_DUALSTACK_ENDPOINT"]),
            uses_lockfile: settings.flag("use_lockfile", &[]),
            table: settings.text("dynamodb_table", &[]),
            endpoint: or_base(endpoint),
            table_endpoint: or_base(table_endpoint),
            has_checksums: !settings.flag("skip_s3_checksum", &[]),
            acl: settings.text("acl", &[]),
            allowed_accounts: accounts(settings, "allowed_account_ids"),
            forbidden_accounts: accounts(settings, "forbidden_account_ids"),
            credentials: CredentialChain::new(credentials),
            clients: clients(settings)?,
            bucket,
            key,
            prefix,
            region,
        })
    }

    /// Returns the key prefix of all workspaces other than the default one.
    pub(super) fn workspace_prefix(&self) -> String {
        if self.prefix.is_empty() { String::new() } else { format!("{}/", self.prefix) }
    }
}

fn required(
    settings: Settings<'_>,
    argument: &'static str,
    variables: &[&str],
) -> Result<String, BackendError> {
    settings.text(argument, variables).ok_or_else(|| BackendError::missing(argument, NAME, variables))
}

fn check_key(key: &str) -> Result<(), BackendError> {
    let problem = if key.starts_with('/') || key.ends_with('/') {
        "it must not start or end with \"/\""
    } else if key.split('/').any(|name| matches!(name, "." | "..")) {
        "a URL cannot contain the names \".\" and \"..\""
    } else {
        return Ok(());
    };
    Err(BackendError::for_argument(
        "key",
        "Invalid key",
        format!("The key \"{key}\" is not valid: {problem}."),
    ))
}

fn accounts(settings: Settings<'_>, argument: &str) -> Vec<String> {
    strings(settings.config.get(argument))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let elements = value.and_then(Value::as_elements).unwrap_or_default();
    elements.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns a URL: a member of an object, or else an argument, or else a variable.
fn nested(
    settings: Settings<'_>,
    object: &'static str,
    member: &str,
    argument: &'static str,
    variables: &[&str],
) -> Result<Option<Url>, BackendError> {
    let from_object = settings.config.get(object).and_then(|value| value.get(member)).and_then(Value::as_str);
    let from_object = from_object.filter(|text| !text.is_empty()).map(str::to_owned);
    let place = if from_object.is_some() || argument.is_empty() { object } else { argument };
    let Some(text) = from_object.or_else(|| settings.text(argument, variables)) else { return Ok(None) };
    parse_url(&text).map(Some).map_err(|reason| {
        BackendError::for_argument(
            place,
            "Invalid endpoint",
            format!("The endpoint \"{text}\" is not valid: {reason}."),
        )
    })
}

fn static_key(settings: Settings<'_>) -> Result<Option<SigningKey>, BackendError> {
    let text = |name| settings.text(name, &[]);
    match (text("access_key"), text("secret_key")) {
        (Some(id), Some(secret)) => Ok(Some(SigningKey::new(id, secret, text("token")))),
        (None, None) => Ok(None),
        _ => Err(BackendError::for_argument(
            "access_key",
            "Incomplete credentials",
            "\"access_key\" and \"secret_key\" must be set together.",
        )),
    }
}

fn environment_key(settings: Settings<'_>) -> Option<SigningKey> {
    let variable = |name| settings.host.variable(name);
    let (id, secret) = (variable("AWS_ACCESS_KEY_ID")?, variable("AWS_SECRET_ACCESS_KEY")?);
    Some(SigningKey::new(id, secret, variable("AWS_SESSION_TOKEN")))
}

fn environment_web_identity(settings: Settings<'_>) -> Option<WebIdentitySettings> {
    let variable = |name| settings.host.variable(name);
    Some(WebIdentitySettings {
        role: RoleSettings {
            role_arn: variable("AWS_ROLE_ARN")?,
            session_name: variable("AWS_ROLE_SESSION_NAME"),
            ..RoleSettings::default()
        },
        token: None,
        token_file: Some(PathBuf::from(variable("AWS_WEB_IDENTITY_TOKEN_FILE")?)),
    })
}

fn files(settings: Settings<'_>) -> ProfileFiles {
    let expand = |text: &str| match (text.strip_prefix("~/"), &settings.host.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => settings.host.directory.join(text),
    };
    let of = |argument: &str, other: Option<&str>, variable: &str, default: &str| {
        let mut paths: Vec<PathBuf> =
            strings(settings.config.get(argument)).iter().map(|text| expand(text)).collect();
        paths.extend(other.filter(|_| paths.is_empty()).map(expand));
        if paths.is_empty() {
            let named = settings.host.variable(variable).map(|text| expand(&text));
            paths.extend(named.or_else(|| Some(settings.host.home.as_deref()?.join(Path::new(default)))));
        }
        paths
    };
    ProfileFiles {
        credentials: of(
            "shared_credentials_files",
            settings.config.text("shared_credentials_file"),
            "AWS_SHARED_CREDENTIALS_FILE",
            ".aws/credentials",
        ),
        config: of("shared_config_files", None, "AWS_CONFIG_FILE", ".aws/config"),
    }
}

fn container(settings: Settings<'_>) -> Result<Option<(Url, Option<String>)>, BackendError> {
    let relative = settings
        .host
        .variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        .map(|path| format!("{CONTAINER_SERVICE}{path}"));
    let Some(text) = relative.or_else(|| settings.host.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) else {
        return Ok(None);
    };
    let url = parse_url(&text).map_err(|reason| {
        BackendError::new(
            "Invalid URL of credentials",
            format!("The URL of the container's credentials is not valid: {reason}."),
        )
    })?;
    let token_file = settings.host.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    let from_file = token_file.and_then(|path| read_regular(Path::new(&path), MAX_FILE_BYTES).ok());
    let from_file = from_file.and_then(|bytes| String::from_utf8(bytes).ok());
    let token = from_file.or_else(|| settings.host.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    Ok(Some((url, token)))
}

fn instance_metadata(settings: Settings<'_>) -> Result<Option<Url>, BackendError> {
    let is_disabled = settings.flag("skip_metadata_api_check", &["AWS_EC2_METADATA_DISABLED"]);
    if is_disabled {
        return Ok(None);
    }
    let text = settings
        .text("ec2_metadata_service_endpoint", &["AWS_EC2_METADATA_SERVICE_ENDPOINT"])
        .unwrap_or_else(|| METADATA_SERVICE.to_owned());
    parse_url(&text).map(Some).map_err(|reason| {
        BackendError::for_argument(
            "ec2_metadata_service_endpoint",
            "Invalid endpoint",
            format!("The endpoint \"{text}\" is not valid: {reason}."),
        )
    })
}

fn role(value: &Value) -> Result<RoleSettings, BackendError> {
    let text = |name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let role_arn = text("role_arn").ok_or_else(|| {
        BackendError::for_argument(
            "assume_role",
            "Missing required argument",
            "The role requires \"role_arn\".",
        )
    })?;
    let duration = match text("duration") {
        None => None,
        Some(text) => Some(parse_duration(&text).ok_or_else(|| {
            BackendError::for_argument(
                "assume_role",
                "Invalid duration",
                format!("\"{text}\" is not a duration such as \"1h30m\"."),
            )
        })?),
    };
    let mut tags = Vec::new();
    if let Some(values) = value.get("tags").and_then(Value::as_mapping) {
        for (name, value) in values {
            tags.extend(value.as_str().map(|value| (name.to_string(), value.to_owned())));
        }
    }
    Ok(RoleSettings {
        role_arn,
        session_name: text("session_name"),
        duration,
        external_id: text("external_id"),
        policy: text("policy"),
        policy_arns: strings(value.get("policy_arns")),
        source_identity: text("source_identity"),
        tags,
        transitive_tag_keys: strings(value.get("transitive_tag_keys")),
    })
}

fn web_identity(settings: Settings<'_>, value: &Value) -> Result<WebIdentitySettings, BackendError> {
    let text = |name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let token_file =
        text("web_identity_token_file").or_else(|| settings.host.variable("AWS_WEB_IDENTITY_TOKEN_FILE"));
    Ok(WebIdentitySettings {
        role: role(value)?,
        token: text("web_identity_token"),
        token_file: token_file.map(|path| settings.host.directory.join(path)),
    })
}

/// Parses a duration of Go in hours, minutes and seconds, and returns the seconds.
fn parse_duration(text: &str) -> Option<u64> {
    let mut seconds: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit())?;
        let (number, unit) = rest.split_at_checked(end)?;
        let factor = match unit.chars().next()? {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(number.parse::<u64>().ok()?.checked_mul(factor)?)?;
        rest = unit.get(1..)?;
    }
    (seconds > 0).then_some(seconds)
}

fn encryption(settings: Settings<'_>) -> Result<Encryption, BackendError> {
    if let Some(text) = settings.text("sse_customer_key", &["AWS_SSE_CUSTOMER_KEY"]) {
        let key = STANDARD.decode(&text).ok().filter(|key| key.len() == 32).ok_or_else(|| {
            BackendError::for_argument(
                "sse_customer_key",
                "Invalid sse_customer_key",
                "The key must be 32 bytes in base64.",
            )
        })?;
        if settings.config.get("kms_key_id").is_some() {
            return Err(BackendError::for_argument(
                "kms_key_id",
                "Invalid encryption configuration",
                "Only one of \"kms_key_id\" and \"sse_customer_key\" can be set.",
            ));
        }
        return Ok(Encryption::Customer(key));
    }
    if !settings.flag("encrypt", &[]) {
        return Ok(Encryption::Bucket);
    }
    Ok(settings.text("kms_key_id", &[]).map_or(Encryption::Managed, Encryption::Kms))
}

fn clients(settings: Settings<'_>) -> Result<Clients, BackendError> {
    let mut http = settings.host.http.clone();
    let proxies = [("HTTP_PROXY", "http_proxy"), ("HTTPS_PROXY", "https_proxy"), ("NO_PROXY", "no_proxy")];
    let is_set = proxies.iter().any(|(_, argument)| settings.config.get(argument).is_some());
    if is_set {
        let value = |variable: &str| {
            let argument = proxies.iter().find(|(name, _)| name.eq_ignore_ascii_case(variable));
            let given = argument.and_then(|(_, argument)| settings.config.text(argument)).map(str::to_owned);
            given.or_else(|| settings.host.variable(variable))
        };
        http.proxies = ProxySettings::from_variables(value).map_err(|error| error.to_string());
    }
    let bundle = settings.text("custom_ca_bundle", &["AWS_CA_BUNDLE"]);
    let authorities = match bundle {
        None => None,
        Some(path) => {
            Some(read_regular(&settings.host.directory.join(&path), MAX_FILE_BYTES).map_err(|error| {
                BackendError::for_argument(
                    "custom_ca_bundle",
                    "Invalid custom_ca_bundle",
                    format!("{path} cannot be read: {error}."),
                )
            })?)
        }
    };
    let is_insecure = settings.flag("insecure", &[]);
    let roots = if authorities.is_none() && !is_insecure {
        TlsRoots::from_system()
    } else {
        let verification = if is_insecure { Verification::None } else { Verification::Full };
        TlsRoots::from_settings(&TlsSettings { authorities, identity: None, verification }).map_err(
            |error| {
                BackendError::new(
                    "Invalid TLS settings",
                    format!("The TLS settings cannot be used: {error}."),
                )
            },
        )?
    };
    let downloader = http.client(roots)?;
    let attempts = settings.host.variable("AWS_MAX_ATTEMPTS").and_then(|text| text.parse::<u64>().ok());
    let retries = settings.config.number("max_retries").or(attempts.map(|number| number.saturating_sub(1)));
    let retries = retries.unwrap_or(DEFAULT_RETRIES);
    let retry = RetryRule {
        retries: u32::try_from(retries).unwrap_or(u32::MAX),
        min_delay: Duration::from_millis(200),
        max_delay: Duration::from_secs(20),
    };
    Ok(Clients { service: Service::new(downloader.clone(), http.response_timeout, retry), downloader })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_parsed() {
        for (text, seconds) in [("1h", Some(3600)), ("1h30m", Some(5400)), ("900s", Some(900))] {
            assert_eq!(parse_duration(text), seconds, "{text}");
        }
        for bad in ["", "1", "h", "1d", "-1h", "1h ", "99999999999999999999h", "0s"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
