//! The arguments of the backend `gcs`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;
use wardian_download::Downloader;
use wardian_files::read_regular;
use wardian_plugin::{AttributeType, Block};
use wardian_value::{Type, Value};

use super::NAME;
use super::credentials::{GoogleCredentials, Impersonation};
use super::tokens::{DefaultCredentials, GoogleSource, GoogleTokens, MAX_FILE_BYTES};
use crate::backend::BackendError;
use crate::config::Settings;
use crate::oauth::{AccessToken, RenewedToken};
use crate::schema::{block, text};
use crate::service::{RetryRule, Service, parse_url};

const ENDPOINT: &str = "https://storage.googleapis.com/storage/v1/";
const METADATA_SERVICE: &str = "169.254.169.254";
const DEFAULT_CREDENTIALS: &str = ".config/gcloud/application_default_credentials.json";

const RETRY: RetryRule =
    RetryRule { retries: 5, min_delay: Duration::from_millis(200), max_delay: Duration::from_secs(20) };

/// The settings of the backend. `Debug` output contains no secrets.
#[derive(Debug)]
pub(super) struct GcsSettings {
    pub(super) bucket: String,
    /// The prefix of all objects; empty, or with a slash at its end.
    pub(super) prefix: String,
    /// The URL of the JSON API.
    pub(super) endpoint: Url,
    pub(super) encryption: Encryption,
    /// [`None`] for an emulator, which needs no credentials.
    pub(super) token: Option<RenewedToken>,
    pub(super) service: Service,
}

/// The encryption of states by the service.
pub(super) enum Encryption {
    /// The bucket's default.
    Bucket,
    /// With a key in Cloud KMS.
    Kms(String),
    /// With a key that each request contains: 32 bytes.
    Customer(Vec<u8>),
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Bucket => "Bucket",
            Self::Kms(_) => "Kms",
            Self::Customer(_) => "Customer",
        })
    }
}

pub(super) fn schema() -> Block {
    block([
        ("access_token", text()),
        ("bucket", text()),
        ("credentials", text()),
        ("encryption_key", text()),
        ("impersonate_service_account", text()),
        ("impersonate_service_account_delegates", AttributeType::Value(Type::list(Type::String))),
        ("kms_encryption_key", text()),
        ("prefix", text()),
        ("storage_custom_endpoint", text()),
    ])
}

impl GcsSettings {
    pub(super) fn new(settings: Settings<'_>) -> Result<Self, BackendError> {
        let bucket =
            settings.text("bucket", &[]).ok_or_else(|| BackendError::missing("bucket", NAME, &[]))?;
        if bucket.contains('/') || matches!(&*bucket, "." | "..") {
            return Err(BackendError::for_argument(
                "bucket",
                "Invalid bucket",
                format!(
                    "\"{bucket}\" is not the name of a bucket; set \"prefix\" to the path in the bucket."
                ),
            ));
        }
        let prefix = settings.text("prefix", &[]).unwrap_or_default();
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let emulator = settings.host.variable("STORAGE_EMULATOR_HOST");
        let downloader = settings.host.http.client(settings.host.http.roots.clone())?;
        Ok(Self {
            endpoint: endpoint(settings, emulator.as_deref())?,
            encryption: encryption(settings)?,
            token: match emulator {
                Some(_) => None,
                None => Some(token(settings, downloader.clone())?),
            },
            service: Service::new(downloader, settings.host.http.response_timeout, RETRY),
            bucket,
            prefix,
        })
    }
}

fn endpoint(settings: Settings<'_>, emulator: Option<&str>) -> Result<Url, BackendError> {
    let variables = ["GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"];
    let text = match (settings.text("storage_custom_endpoint", &variables), emulator) {
        (Some(text), _) if text.contains("://") => text,
        (Some(host), _) => format!("https://{host}/storage/v1/"),
        (None, Some(emulator)) => {
            let origin =
                if emulator.contains("://") { emulator.to_owned() } else { format!("http://{emulator}") };
            format!("{}/storage/v1/", origin.trim_end_matches('/'))
        }
        (None, None) => ENDPOINT.to_owned(),
    };
    parse_url(&text).map_err(|reason| {
        BackendError::for_argument(
            "storage_custom_endpoint",
            "Invalid endpoint",
            format!("The endpoint \"{text}\" is not valid: {reason}."),
        )
    })
}

fn encryption(settings: Settings<'_>) -> Result<Encryption, BackendError> {
    let kms = settings.text("kms_encryption_key", &["GOOGLE_KMS_ENCRYPTION_KEY"]);
    let Some(text) = settings.text("encryption_key", &["GOOGLE_ENCRYPTION_KEY"]) else {
        return Ok(kms.map_or(Encryption::Bucket, Encryption::Kms));
    };
    if kms.is_some() {
        return Err(BackendError::for_argument(
            "kms_encryption_key",
            "Invalid encryption configuration",
            "Only one of \"encryption_key\" and \"kms_encryption_key\" can be set.",
        ));
    }
    let invalid = |reason: &str| {
        BackendError::for_argument("encryption_key", "Invalid encryption_key", format!("The key {reason}."))
    };
    let content = path_or_content(settings, &text).map_err(|reason| invalid(&reason))?;
    let encoded: String = content.split(['\r', '\n']).collect();
    let key = STANDARD.decode(encoded).ok().filter(|key| key.len() == 32);
    key.map(Encryption::Customer).ok_or_else(|| invalid("must be 32 bytes in base64, or a file with them"))
}

/// Returns the content of a file, or else the text.
fn path_or_content(settings: Settings<'_>, text: &str) -> Result<String, String> {
    let path = match (text.strip_prefix("~/"), &settings.host.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => settings.host.directory.join(Path::new(text)),
    };
    match read_regular(&path, MAX_FILE_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| format!("in {} is not text", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(format!("in {} cannot be read: {error}", path.display()))
        }
        // The text is not a path.
        Err(_) => Ok(text.to_owned()),
    }
}

fn token(settings: Settings<'_>, downloader: Downloader) -> Result<RenewedToken, BackendError> {
    let source = if let Some(token) = settings.text("access_token", &["GOOGLE_OAUTH_ACCESS_TOKEN"]) {
        GoogleSource::Token(AccessToken { value: token, expires: None })
    } else if let Some(text) =
        settings.text("credentials", &["GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"])
    {
        let invalid = |reason: String| {
            BackendError::for_argument(
                "credentials",
                "Invalid credentials",
                format!(
                    "The credentials are neither the path of a file nor a text with valid credentials in JSON: {reason}."
                ),
            )
        };
        let content =
            path_or_content(settings, &text).map_err(|reason| invalid(format!("the text {reason}")))?;
        let credentials = GoogleCredentials::from_json(content.as_bytes()).map_err(invalid)?;
        GoogleSource::Credentials(Box::new(credentials))
    } else {
        GoogleSource::Default(default_credentials(settings)?)
    };
    let account = settings.text(
        "impersonate_service_account",
        &["GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"],
    );
    let delegates = settings.config.get("impersonate_service_account_delegates").and_then(Value::as_elements);
    let delegates = delegates.unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned);
    let impersonation = account
        .map(|account| Impersonation::new(&account, delegates.collect()))
        .transpose()
        .map_err(|reason| {
            BackendError::for_argument(
                "impersonate_service_account",
                "Invalid service account",
                format!("The service account cannot be impersonated: {reason}."),
            )
        })?;
    Ok(RenewedToken::new(Box::new(GoogleTokens {
        downloader,
        source,
        impersonation,
        directory: settings.host.directory.clone(),
    })))
}

fn default_credentials(settings: Settings<'_>) -> Result<DefaultCredentials, BackendError> {
    let host = settings.host.variable("GCE_METADATA_HOST").unwrap_or_else(|| METADATA_SERVICE.to_owned());
    let metadata_service = parse_url(&format!("http://{host}/")).map_err(|reason| {
        BackendError::new(
            "Invalid metadata service",
            format!("The variable GCE_METADATA_HOST is not the name of a host: {reason}."),
        )
    })?;
    let named = settings.host.variable("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from);
    Ok(DefaultCredentials {
        named_file: named.map(|path| settings.host.directory.join(path)),
        user_file: settings.host.home.as_ref().map(|home| home.join(DEFAULT_CREDENTIALS)),
        metadata_service,
    })
}
