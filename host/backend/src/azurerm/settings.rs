//! The arguments of the backend `azurerm`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use url::Url;
use wardian_download::Downloader;
use wardian_files::read_regular;
use wardian_plugin::Block;

use super::NAME;
use super::access::{AccountCredentials, AccountSettings, ManagedAccount};
use super::azure_cli::AzureCli;
use super::cloud::CloudSource;
use super::identity::{AssertionSource, Identity, MAX_FILE_BYTES};
use super::shared_key::SharedKey;
use crate::backend::BackendError;
use crate::config::Settings;
use crate::oauth::parse_token_url;
use crate::schema::{block, flag, text};
use crate::service::{RetryRule, Service, parse_url};

const METADATA_SERVICE: &str = "http://169.254.169.254/metadata/identity/oauth2/token";

const RETRY: RetryRule =
    RetryRule { retries: 5, min_delay: Duration::from_millis(200), max_delay: Duration::from_secs(20) };

/// The settings of the backend. `Debug` output contains no secrets.
#[derive(Debug)]
pub(super) struct AzureSettings {
    pub(super) container: String,
    pub(super) key: String,
    /// Whether a snapshot of the state is made before it is replaced.
    pub(super) has_snapshots: bool,
    pub(super) account: AccountSettings,
    pub(super) clients: Clients,
}

/// The clients for the storage account and for credentials.
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
        ("ado_pipeline_service_connection_id", text()),
        ("client_certificate", text()),
        ("client_certificate_password", text()),
        ("client_certificate_path", text()),
        ("client_id", text()),
        ("client_id_file_path", text()),
        ("client_secret", text()),
        ("client_secret_file_path", text()),
        ("container_name", text()),
        ("endpoint", text()),
        ("environment", text()),
        ("key", text()),
        ("lookup_blob_endpoint", flag()),
        ("metadata_host", text()),
        ("msi_endpoint", text()),
        ("oidc_request_token", text()),
        ("oidc_request_url", text()),
        ("oidc_token", text()),
        ("oidc_token_file_path", text()),
        ("resource_group_name", text()),
        ("sas_token", text()),
        ("snapshot", flag()),
        ("storage_account_name", text()),
        ("subscription_id", text()),
        ("tenant_id", text()),
        ("use_aks_workload_identity", flag()),
        ("use_azuread_auth", flag()),
        ("use_cli", flag()),
        ("use_msi", flag()),
        ("use_oidc", flag()),
    ])
}

impl AzureSettings {
    pub(super) fn new(settings: Settings<'_>) -> Result<Self, BackendError> {
        let required = |name: &'static str| {
            settings.text(name, &[]).ok_or_else(|| BackendError::missing(name, NAME, &[]))
        };
        let account = required("storage_account_name")?;
        let container = required("container_name")?;
        let key = required("key")?;
        for (argument, text) in [("storage_account_name", &account), ("container_name", &container)] {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-$".contains(&byte);
            if !text.bytes().all(is_name) {
                return Err(BackendError::for_argument(
                    argument,
                    "Invalid name",
                    format!(
                        "\"{text}\" contains a character that names of accounts and containers cannot contain."
                    ),
                ));
            }
        }
        check_key(&key)?;
        let downloader = settings.host.http.client(settings.host.http.roots.clone())?;
        Ok(Self {
            has_snapshots: settings.flag("snapshot", &["ARM_SNAPSHOT"]),
            account: account_settings(settings, account)?,
            clients: Clients {
                service: Service::new(downloader.clone(), settings.host.http.response_timeout, RETRY),
                downloader,
            },
            container,
            key,
        })
    }
}

fn check_key(key: &str) -> Result<(), BackendError> {
    let problem = if key.contains(['?', '#']) {
        "Terraform cannot use a key that contains \"?\" or \"#\""
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

fn account_settings(settings: Settings<'_>, account: String) -> Result<AccountSettings, BackendError> {
    let uses_directory = settings.flag("use_azuread_auth", &["ARM_USE_AZUREAD"]);
    let resource_group = settings.text("resource_group_name", &[]);
    let looks_up_endpoint =
        settings.flag("lookup_blob_endpoint", &["ARM_USE_DNS_ZONE_ENDPOINT", "ARM_LOOKUP_BLOB_ENDPOINT"]);
    if looks_up_endpoint && resource_group.is_none() {
        return Err(BackendError::for_argument(
            "resource_group_name",
            "Missing required argument",
            "The argument \"lookup_blob_endpoint\" requires \"resource_group_name\".",
        ));
    }
    let key = settings.text("access_key", &["ARM_ACCESS_KEY"]);
    let signature = settings.text("sas_token", &["ARM_SAS_TOKEN"]);
    let has_account_credentials = key.is_some() || signature.is_some();
    let needs_identity = !has_account_credentials || looks_up_endpoint;
    if !has_account_credentials && !uses_directory && resource_group.is_none() {
        return Err(BackendError::new(
            "Missing credentials",
            "The backend \"azurerm\" requires one of the arguments \"access_key\", \"sas_token\", \"use_azuread_auth\" and \
             \"resource_group_name\".",
        ));
    }
    let identity = if needs_identity { Some(Arc::new(identity(settings)?)) } else { None };
    let credentials = match (key, signature, &identity) {
        (Some(key), _, _) => {
            AccountCredentials::Key(SharedKey::from_base64(&account, &key).ok_or_else(|| {
                BackendError::for_argument(
                    "access_key",
                    "Invalid access key",
                    "The access key is not in base64.",
                )
            })?)
        }
        (None, Some(signature), _) => {
            AccountCredentials::Signature(signature.trim().trim_start_matches('?').to_owned())
        }
        (None, None, Some(identity)) if uses_directory => AccountCredentials::Directory(Arc::clone(identity)),
        (None, None, _) => AccountCredentials::KeyLookup,
    };
    let subscription = settings.text("subscription_id", &["ARM_SUBSCRIPTION_ID"]);
    let managed = identity.zip(resource_group).map(|(identity, resource_group)| ManagedAccount {
        identity,
        subscription,
        resource_group,
    });
    Ok(AccountSettings {
        cloud: Arc::new(cloud(settings)?),
        account,
        credentials,
        managed,
        looks_up_endpoint,
    })
}

fn cloud(settings: Settings<'_>) -> Result<CloudSource, BackendError> {
    if let Some(host) = settings.text("metadata_host", &["ARM_METADATA_HOSTNAME", "ARM_METADATA_HOST"]) {
        return CloudSource::from_metadata_host(&host).ok_or_else(|| {
            BackendError::for_argument(
                "metadata_host",
                "Invalid metadata host",
                format!("\"{host}\" is not the name of a host."),
            )
        });
    }
    let name = settings.text("environment", &["ARM_ENVIRONMENT"]).unwrap_or_else(|| "public".to_owned());
    CloudSource::from_name(&name).ok_or_else(|| {
        BackendError::for_argument(
            "environment",
            "Invalid environment",
            format!("There is no environment \"{name}\"; use \"public\", \"usgovernment\" or \"china\"."),
        )
    })
}

/// Returns the first identity for which the arguments are complete.
fn identity(settings: Settings<'_>) -> Result<Identity, BackendError> {
    let certificate = [
        ("client_certificate", "ARM_CLIENT_CERTIFICATE"),
        ("client_certificate_path", "ARM_CLIENT_CERTIFICATE_PATH"),
    ];
    if let Some((argument, _)) =
        certificate.iter().find(|(name, variable)| settings.text(name, &[variable]).is_some())
    {
        return Err(BackendError::for_argument(
            argument,
            "Client certificates are not supported",
            "Use a client secret, OpenID Connect, a managed identity or the Azure CLI instead.",
        ));
    }
    let is_kubernetes = settings.flag("use_aks_workload_identity", &["ARM_USE_AKS_WORKLOAD_IDENTITY"]);
    let kubernetes = |name: &str| settings.host.variable(name).filter(|_| is_kubernetes);
    let client = file_or_text(
        settings,
        ["client_id", "ARM_CLIENT_ID"],
        ["client_id_file_path", "ARM_CLIENT_ID_FILE_PATH"],
    )?
    .or_else(|| kubernetes("AZURE_CLIENT_ID"));
    let tenant = settings.text("tenant_id", &["ARM_TENANT_ID"]).or_else(|| kubernetes("AZURE_TENANT_ID"));
    if let (Some(tenant), Some(client)) = (&tenant, &client) {
        let (tenant, client) = (tenant.clone(), client.clone());
        let secret = file_or_text(
            settings,
            ["client_secret", "ARM_CLIENT_SECRET"],
            ["client_secret_file_path", "ARM_CLIENT_SECRET_FILE_PATH"],
        )?;
        if let Some(secret) = secret {
            return Ok(Identity::Secret { tenant, client, secret });
        }
        if (is_kubernetes || settings.flag("use_oidc", &["ARM_USE_OIDC"]))
            && let Some(source) = assertion_source(settings, kubernetes("AZURE_FEDERATED_TOKEN_FILE"))?
        {
            return Ok(Identity::Assertion { tenant, client, source });
        }
    }
    if settings.flag("use_msi", &["ARM_USE_MSI"]) {
        let text = settings.text("msi_endpoint", &["ARM_MSI_ENDPOINT"]);
        let text = text.unwrap_or_else(|| METADATA_SERVICE.to_owned());
        let endpoint = parse_url(&text).map_err(|reason| {
            BackendError::for_argument(
                "msi_endpoint",
                "Invalid endpoint",
                format!("The endpoint \"{text}\" is not valid: {reason}."),
            )
        })?;
        return Ok(Identity::Machine { client, endpoint });
    }
    let may_use_cli =
        settings.config.flag("use_cli").is_some() || settings.host.variable("ARM_USE_CLI").is_some();
    if !may_use_cli || settings.flag("use_cli", &["ARM_USE_CLI"]) {
        return Ok(Identity::Cli { cli: AzureCli::new(settings.host), tenant });
    }
    Err(BackendError::new(
        "Missing credentials",
        "No credentials of Microsoft Entra ID are configured. Set \"tenant_id\", \"client_id\" and \"client_secret\", or \
         \"use_oidc\", \"use_msi\" or \"use_cli\".",
    ))
}

fn assertion_source(
    settings: Settings<'_>,
    kubernetes_file: Option<String>,
) -> Result<Option<AssertionSource>, BackendError> {
    if let Some(token) = settings.text("oidc_token", &["ARM_OIDC_TOKEN"]) {
        return Ok(Some(AssertionSource::Token(token)));
    }
    let file = settings.text("oidc_token_file_path", &["ARM_OIDC_TOKEN_FILE_PATH"]).or(kubernetes_file);
    if let Some(path) = file {
        return Ok(Some(AssertionSource::File(expand(settings, &path))));
    }
    let url = settings.text(
        "oidc_request_url",
        &["ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"],
    );
    let token = settings.text(
        "oidc_request_token",
        &["ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"],
    );
    let Some((url, token)) = url.zip(token) else { return Ok(None) };
    let url: Url = parse_token_url(&url).map_err(|reason| {
        BackendError::for_argument(
            "oidc_request_url",
            "Invalid address",
            format!("The address is not valid: {reason}."),
        )
    })?;
    let connection = settings.text(
        "ado_pipeline_service_connection_id",
        &["ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID", "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID"],
    );
    Ok(Some(match connection {
        Some(connection) => AssertionSource::Pipelines { url, token, connection },
        None => AssertionSource::Request { url, token },
    }))
}

/// Returns an argument, or else the content of the file that another argument names. Each name
/// precedes its variable.
fn file_or_text(
    settings: Settings<'_>,
    [name, variable]: [&str; 2],
    [file, file_variable]: [&'static str; 2],
) -> Result<Option<String>, BackendError> {
    if let Some(text) = settings.text(name, &[variable]) {
        return Ok(Some(text));
    }
    let Some(path) = settings.text(file, &[file_variable]) else { return Ok(None) };
    let path = expand(settings, &path);
    let bytes = read_regular(&path, MAX_FILE_BYTES).map_err(|error| {
        BackendError::for_argument(
            file,
            "Invalid file",
            format!("{} cannot be read: {error}.", path.display()),
        )
    })?;
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty()))
}

fn expand(settings: Settings<'_>, text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), &settings.host.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => settings.host.directory.join(Path::new(text)),
    }
}
