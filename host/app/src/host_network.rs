//! The clients for the host's own requests, configured from the environment and the CLI
//! configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_access::HttpAuthority;
use wardian_backend::{BackendHost, HttpClients};
use wardian_download::{DownloadObserver, Downloader, DownloaderOptions, Netrc, NetworkAccess};
use wardian_install::cli_config::{CliConfig, OciCredential};
use wardian_install::network_source::NetworkMethod;
use wardian_install::sources::{InstallationMethod, InstallationMethodKind};
use wardian_monitor::{AuditLog, HostRequests};
use wardian_network::proxy::ProxySettings;
use wardian_oci::{
    AddressPart, CredentialsBlock, CredentialsFile, CredentialsOptions, CredentialsScope,
    DiscoveryDirectories, HelperPrograms, OciClient, OciClientOptions, OciCredentials, PlainHttpRegistries,
    RegistryCredential, RegistryHost, RepositoryTemplate,
};
use wardian_registry::credentials::{Credentials, CredentialsProgram};
use wardian_registry::{RegistryClient, RegistryClientOptions, ServiceHost};

use crate::compatibility::TERRAFORM_VERSION;
use crate::environment::ProcessEnvironment;
use crate::error::{AppError, sentence};

/// The clients for registries, mirrors and module sources. They share one [`Downloader`].
pub struct HostNetwork {
    pub downloader: Downloader,
    pub registry: RegistryClient,
    pub oci: OciClient,
    /// Whether the clients send requests.
    pub access: NetworkAccess,
}

/// The values from which the clients are configured.
pub(crate) struct NetworkSettings<'a> {
    /// Authorizes the requests.
    pub(crate) authority: Arc<dyn HttpAuthority>,
    pub(crate) environment: &'a ProcessEnvironment,
    pub(crate) config: &'a CliConfig,
    pub(crate) access: NetworkAccess,
    pub(crate) observer: Arc<dyn DownloadObserver>,
    /// The directories that are searched for the credentials helper.
    pub(crate) helper_directories: Vec<PathBuf>,
    /// The directory of the configuration, an absolute path.
    pub(crate) directory: &'a Path,
}

impl HostNetwork {
    /// Creates the clients. No request is sent.
    ///
    /// # Errors
    /// Returns an error if a setting in the environment or in the CLI configuration is invalid.
    pub(crate) fn new(settings: NetworkSettings<'_>) -> Result<Self, AppError> {
        let NetworkSettings { environment, config, access, observer, authority, .. } = &settings;
        let access = *access;
        for method in config.provider_installation.iter().flat_map(|installation| &installation.methods) {
            check_oci_template(method)?;
        }
        let downloader = downloader(environment, access, Arc::clone(observer), Arc::clone(authority))?;
        let mut services = BTreeMap::new();
        for (host, table) in &config.hosts {
            services.insert(service_host(host)?, table.clone());
        }
        let registry = RegistryClient::new(RegistryClientOptions {
            downloader: downloader.clone(),
            credentials: Arc::new(credentials(&settings)?),
            services,
            terraform_version: TERRAFORM_VERSION.to_owned(),
        });
        let mut plain_http = PlainHttpRegistries::default();
        for registry in environment.oci_plain_http() {
            let invalid = |reason: String| AppError::new("Invalid OCI registry", sentence(&reason));
            let host = RegistryHost::parse(registry).map_err(|error| invalid(error.to_string()))?;
            plain_http.add(host).map_err(|error| invalid(error.to_string()))?;
        }
        let oci = OciClient::new(OciClientOptions {
            downloader: downloader.clone(),
            credentials: oci_credentials(environment, config)?,
            plain_http,
        });
        Ok(Self { downloader, registry, oci, access })
    }
}

fn service_host(text: &str) -> Result<ServiceHost, AppError> {
    ServiceHost::parse(text)
        .map_err(|error| AppError::new("Invalid host in the CLI configuration", sentence(&error.to_string())))
}

/// Returns the user's tokens for registries.
fn credentials(settings: &NetworkSettings<'_>) -> Result<Credentials, AppError> {
    let NetworkSettings { environment, config, helper_directories, directory, .. } = settings;
    let tokens = config.credentials.iter().map(|(host, token)| (host.as_str(), token.reveal()));
    let mut credentials = Credentials::default()
        .with_environment(environment.registry_tokens())
        .with_configured(tokens)
        .map_err(|error| {
            AppError::new("Invalid host in the CLI configuration", sentence(&error.to_string()))
        })?;
    if let Some(home) = environment.home() {
        credentials = credentials.with_file(home.join(".terraform.d/credentials.tfrc.json"));
    }
    if let Some(helper) = &config.credentials_helper {
        let file = format!("terraform-credentials-{}", helper.name);
        let found =
            helper_directories.iter().map(|directory| directory.join(&file)).find(|path| path.is_file());
        // A missing program is reported by the first request that needs a token.
        let expected = || helper_directories.last().map(|directory| directory.join(&file));
        let path = found.or_else(expected).unwrap_or_else(|| PathBuf::from(&file));
        let mut program = CredentialsProgram::new(&helper.name, path, *directory);
        program.arguments.clone_from(&helper.arguments);
        program.environment = variables(environment);
        credentials = credentials.with_helper(program);
    }
    Ok(credentials)
}

fn variables(environment: &ProcessEnvironment) -> Vec<(OsString, OsString)> {
    environment.all().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Returns the user's credentials for OCI registries.
fn oci_credentials(environment: &ProcessEnvironment, config: &CliConfig) -> Result<OciCredentials, AppError> {
    let invalid = |reason: &dyn std::fmt::Display| {
        AppError::new("Invalid OCI credentials", sentence(&format!("{reason} (in the CLI configuration)")))
    };
    let mut blocks = Vec::new();
    for block in &config.oci_credentials {
        let scope = CredentialsScope::parse(&block.scope).map_err(|error| invalid(&error))?;
        blocks.push(match &block.credential {
            OciCredential::Password { username, password } => CredentialsBlock::with_credential(
                scope,
                RegistryCredential::from_password(username, password.reveal()),
            ),
            OciCredential::Token { access, refresh } => CredentialsBlock::with_credential(
                scope,
                RegistryCredential::from_access_token(
                    access.reveal(),
                    refresh.as_ref().map(|token| token.reveal().to_owned()),
                ),
            ),
            OciCredential::Helper(name) => {
                CredentialsBlock::with_helper(scope, name).map_err(|error| invalid(&error))?
            }
        });
    }
    let defaults = config.oci_default_credentials.as_ref();
    let named = defaults.and_then(|defaults| defaults.files.clone());
    let files = match (named, environment.home()) {
        (Some(files), _) => files.into_iter().map(CredentialsFile::from_configuration).collect(),
        (None, Some(home)) if defaults.is_none_or(|defaults| defaults.discover) => {
            let (runtime, config) = (environment.runtime_directory(), environment.configuration_home());
            DiscoveryDirectories { home: &home, runtime: runtime.as_deref(), config: config.as_deref() }
                .files(std::env::consts::OS)
        }
        (None, _) => Vec::new(),
    };
    Ok(OciCredentials::new(CredentialsOptions {
        blocks,
        default_helper: defaults.and_then(|defaults| defaults.helper.clone()),
        files,
        helpers: HelperPrograms::new(environment.program_directories(), variables(environment)),
    }))
}

/// Checks that the template of an OCI mirror maps different providers to different repositories.
fn check_oci_template(method: &InstallationMethod) -> Result<(), AppError> {
    let InstallationMethodKind::Network(NetworkMethod::OciMirror { repository_template }) = &method.kind
    else {
        return Ok(());
    };
    let parts = [AddressPart::Hostname, AddressPart::Namespace, AddressPart::Type];
    let include = method.scope.include.as_deref().unwrap_or_default();
    let is_fixed = |index: &usize| {
        let values: BTreeSet<Option<&str>> =
            include.iter().map(|pattern| pattern.parts().get(*index).copied().flatten()).collect();
        values.len() == 1 && !values.contains(&None)
    };
    let fixed = (0..parts.len()).filter(is_fixed).filter_map(|index| parts.get(index).copied()).collect();
    RepositoryTemplate::parse(repository_template, &fixed).map(drop).map_err(|error| {
        AppError::new(
            "Invalid OCI mirror",
            sentence(&format!("the repository_template \"{repository_template}\" cannot be used: {error}")),
        )
    })
}

/// Returns the environment in which backends work. Their requests are recorded in the audit log.
pub(crate) fn backend_host(
    environment: &ProcessEnvironment,
    directory: &Path,
    audit_log: &Arc<AuditLog>,
) -> BackendHost {
    let defaults = HttpClients::default();
    let user_agent = match environment.user_agent_suffix() {
        Some(suffix) => format!("{} {suffix}", defaults.user_agent),
        None => defaults.user_agent,
    };
    let requests = Arc::new(HostRequests::new("backend", Arc::clone(audit_log)));
    BackendHost {
        variables: Arc::new(
            environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        ),
        home: environment.home(),
        directory: directory.to_owned(),
        terraform_version: TERRAFORM_VERSION.to_owned(),
        http: HttpClients {
            proxies: ProxySettings::from_variables(|name| environment.get(name))
                .map_err(|error| error.to_string()),
            user_agent,
            authority: Arc::clone(&requests) as _,
            roots: defaults.roots,
            network: NetworkAccess::Online,
            response_timeout: defaults.response_timeout,
        },
        connections: Some(requests),
        ..BackendHost::default()
    }
}

/// Returns the authority that allows the host's own requests, and records them in the audit log.
pub(crate) fn host_requests(purpose: &'static str, audit_log: &Arc<AuditLog>) -> Arc<dyn HttpAuthority> {
    Arc::new(HostRequests::new(purpose, Arc::clone(audit_log)))
}

/// Returns the client for all of the host's requests.
fn downloader(
    environment: &ProcessEnvironment,
    network: NetworkAccess,
    observer: Arc<dyn DownloadObserver>,
    authority: Arc<dyn HttpAuthority>,
) -> Result<Downloader, AppError> {
    let proxies = ProxySettings::from_variables(|name| environment.get(name))
        .map_err(|error| AppError::new("Invalid proxy", sentence(&error.to_string())))?;
    let defaults = DownloaderOptions::default();
    let user_agent = match environment.user_agent_suffix() {
        Some(suffix) => format!("{} {suffix}", defaults.user_agent),
        None => defaults.user_agent.clone(),
    };
    Ok(Downloader::new(DownloaderOptions {
        proxies,
        user_agent,
        netrc: netrc(environment)?,
        retries: environment.registry_retries().unwrap_or(defaults.retries),
        metadata_timeout: environment.registry_timeout().unwrap_or(defaults.metadata_timeout),
        network,
        observer,
        authority,
        ..defaults
    }))
}

/// Reads the netrc file, if it exists. A file that exists but cannot be read is an error only if the
/// environment names it.
fn netrc(environment: &ProcessEnvironment) -> Result<Netrc, AppError> {
    let named = environment.netrc();
    let path = named.clone().or_else(|| Some(environment.home()?.join(".netrc")));
    let Some(path) = path else { return Ok(Netrc::default()) };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if named.is_none() || error.kind() == std::io::ErrorKind::NotFound => {
            tracing::debug!(path = %path.display(), %error, "no netrc file");
            return Ok(Netrc::default());
        }
        Err(error) => return Err(invalid_netrc(&path, &error.to_string())),
    };
    Netrc::parse(&text).map_err(|error| invalid_netrc(&path, &error.to_string()))
}

fn invalid_netrc(path: &Path, problem: &str) -> AppError {
    AppError::new("Invalid netrc file", format!("The file {} cannot be used: {problem}.", path.display()))
}
