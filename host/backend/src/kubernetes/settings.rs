//! The arguments of the backend `kubernetes`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;
use wardian_network::proxy::ProxySettings;
use wardian_network::{TlsSettings, Verification};
use wardian_plugin::{AttributeType, Block, BlockNesting};
use wardian_value::{Type, Value};

use super::NAME;
use super::exec::ExecPlugin;
use super::kubeconfig::{ClusterEntry, Kubeconfig, Selection, UserEntry};
use crate::backend::BackendError;
use crate::config::Settings;
use crate::schema::{block, flag, text, with_block};
use crate::service::{RetryRule, Service, parse_url};
use crate::tls_files::{read_argument_file, tls_roots};

const DEFAULT_NAMESPACE: &str = "default";
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The settings of the backend. `Debug` output contains no secrets.
pub(super) struct KubernetesSettings {
    pub(super) server: Url,
    pub(super) namespace: String,
    pub(super) suffix: String,
    /// Additional labels of the Secrets and Leases.
    pub(super) labels: Vec<(String, String)>,
    pub(super) credentials: Credentials,
    /// The environment of programs that return credentials.
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) service: Service,
}

/// The credentials of requests. A certificate is part of the connection.
pub(super) enum Credentials {
    None,
    Token(String),
    /// A file with a token, which is replaced from time to time.
    TokenFile(PathBuf),
    Password(String, String),
    Exec(ExecPlugin),
}

impl std::fmt::Debug for KubernetesSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("KubernetesSettings")
            .field("namespace", &self.namespace)
            .field("suffix", &self.suffix)
            .finish_non_exhaustive()
    }
}

pub(super) fn schema() -> Block {
    let own = block([
        ("client_certificate", text()),
        ("client_key", text()),
        ("cluster_ca_certificate", text()),
        ("config_context", text()),
        ("config_context_auth_info", text()),
        ("config_context_cluster", text()),
        ("config_path", text()),
        ("config_paths", AttributeType::Value(Type::list(Type::String))),
        ("host", text()),
        ("in_cluster_config", flag()),
        ("insecure", flag()),
        ("labels", AttributeType::Value(Type::map(Type::String))),
        ("load_config_file", flag()),
        ("namespace", text()),
        ("password", text()),
        ("proxy_url", text()),
        ("secret_suffix", text()),
        ("token", text()),
        ("username", text()),
    ]);
    let exec = block([
        ("api_version", text()),
        ("args", AttributeType::Value(Type::list(Type::String))),
        ("command", text()),
        ("env", AttributeType::Value(Type::map(Type::String))),
    ]);
    with_block(own, "exec", exec, BlockNesting::Single)
}

impl KubernetesSettings {
    pub(super) fn new(settings: Settings<'_>) -> Result<Self, BackendError> {
        let suffix = settings
            .text("secret_suffix", &[])
            .ok_or_else(|| BackendError::missing("secret_suffix", NAME, &[]))?;
        check_suffix(&suffix)?;
        if settings.config.get("exec").is_some() {
            return Err(BackendError::for_argument(
                "exec",
                "Unsupported block",
                "The block \"exec\" would start a program that the configuration names. Specify the program in the \
                 kubeconfig file instead.",
            ));
        }
        let (mut cluster, user) = if settings.flag("in_cluster_config", &["KUBE_IN_CLUSTER_CONFIG"]) {
            in_cluster(settings, Path::new(SERVICE_ACCOUNT))?
        } else {
            from_files(settings)?
        };
        cluster.server = settings.text("host", &["KUBE_HOST"]).or(cluster.server);
        if let Some(pem) = settings.text("cluster_ca_certificate", &["KUBE_CLUSTER_CA_CERT_DATA"]) {
            cluster.authorities = Some(pem.into_bytes());
        }
        cluster.is_insecure |= settings.flag("insecure", &["KUBE_INSECURE"]);
        cluster.proxy = settings.text("proxy_url", &["KUBE_PROXY_URL"]).or(cluster.proxy);
        let server = server(&cluster)?;
        let variables = settings.host.variables.iter().map(|(name, value)| (name.into(), value.into()));
        Ok(Self {
            server,
            namespace: settings
                .text("namespace", &["KUBE_NAMESPACE"])
                .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()),
            suffix,
            labels: labels(settings),
            service: service(settings, &cluster, &user)?,
            credentials: credentials(settings, user),
            variables: variables.collect(),
        })
    }
}

/// A suffix must not look like the number of a Secret of an old format.
fn check_suffix(suffix: &str) -> Result<(), BackendError> {
    let number = suffix.rsplit_once('-').map(|(_, number)| number);
    let is_numbered =
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let problem = if is_numbered {
        "it must not end with \"-\" and a number"
    } else if !super::is_name(suffix) || suffix.len() > super::MAX_LABEL_LENGTH {
        "it must consist of lower case letters, digits and \"-\""
    } else {
        return Ok(());
    };
    Err(BackendError::for_argument(
        "secret_suffix",
        "Invalid secret_suffix",
        format!("The secret_suffix \"{suffix}\" is not valid: {problem}."),
    ))
}

fn labels(settings: Settings<'_>) -> Vec<(String, String)> {
    let labels = settings.config.get("labels").and_then(Value::as_mapping);
    let labels = labels.into_iter().flatten();
    labels.filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned()))).collect()
}

fn server(cluster: &ClusterEntry) -> Result<Url, BackendError> {
    let Some(server) = &cluster.server else {
        return Err(BackendError::new(
            "Missing Kubernetes configuration",
            "No cluster is configured. Name a kubeconfig file in the argument \"config_path\" or the environment \
             variable KUBE_CONFIG_PATH, set \"host\", or set \"in_cluster_config\" in a pod. Unlike kubectl, the backend \
             does not use KUBECONFIG and ~/.kube/config unless they are named, as in Terraform.",
        ));
    };
    let with_scheme = if server.contains("://") { server.clone() } else { format!("https://{server}") };
    parse_url(&with_scheme).map_err(|reason| {
        BackendError::for_argument(
            "host",
            "Invalid host",
            format!("The address \"{server}\" of the cluster is not valid: {reason}."),
        )
    })
}

/// Returns the cluster and the user of a pod's service account.
fn in_cluster(settings: Settings<'_>, account: &Path) -> Result<(ClusterEntry, UserEntry), BackendError> {
    let variable = |name| settings.host.variable(name);
    let (Some(host), Some(port)) = (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"))
    else {
        return Err(BackendError::for_argument(
            "in_cluster_config",
            "Missing Kubernetes configuration",
            "in_cluster_config is set, but the variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT of a pod \
             are not set.",
        ));
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let authorities = account.join("ca.crt");
    let authorities = read_argument_file(settings.host, "in_cluster_config", &authorities.to_string_lossy())?;
    let cluster = ClusterEntry {
        server: Some(format!("https://{host}:{port}")),
        authorities: Some(authorities),
        ..ClusterEntry::default()
    };
    Ok((cluster, UserEntry { token_file: Some(account.join("token")), ..UserEntry::default() }))
}

/// Returns the cluster and the user that the kubeconfig files select.
fn from_files(settings: Settings<'_>) -> Result<(ClusterEntry, UserEntry), BackendError> {
    let host = settings.host;
    let expand = |text: &str| match (text.strip_prefix("~/"), &host.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => host.directory.join(text),
    };
    let listed = settings.config.get("config_paths").and_then(Value::as_elements).unwrap_or_default();
    let mut named: Vec<String> = listed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    named.extend(settings.config.text("config_path").filter(|_| named.is_empty()).map(str::to_owned));
    named.retain(|path| !path.is_empty());
    let is_argument = !named.is_empty();
    if !is_argument {
        match (host.variable("KUBE_CONFIG_PATH"), host.variable("KUBE_CONFIG_PATHS")) {
            (Some(path), _) => named.push(path),
            (None, Some(paths)) => named.extend(paths.split(':').map(str::to_owned)),
            (None, None) => {}
        }
    }
    let mut config = Kubeconfig::default();
    let is_list = named.len() > 1;
    for path in named.iter().filter(|path| !path.is_empty()) {
        let expanded = expand(path);
        // In a list of files, some may be missing.
        if is_list && !expanded.exists() {
            continue;
        }
        let may_execute = !is_argument || !expanded.starts_with(&host.directory);
        config.add_file(&expanded, may_execute).map_err(|reason| {
            BackendError::for_argument(
                "config_path",
                "Invalid kubeconfig file",
                format!("The file {path} cannot be used: {reason}."),
            )
        })?;
    }
    let (context, cluster, user) = (
        settings.text("config_context", &["KUBE_CTX"]),
        settings.text("config_context_cluster", &["KUBE_CTX_CLUSTER"]),
        settings.text("config_context_auth_info", &["KUBE_CTX_AUTH_INFO"]),
    );
    let selection =
        Selection { context: context.as_deref(), cluster: cluster.as_deref(), user: user.as_deref() };
    config.select(selection).map_err(|reason| {
        BackendError::for_argument(
            "config_context",
            "Invalid kubeconfig file",
            format!("The kubeconfig files cannot be used: {reason}."),
        )
    })
}

fn credentials(settings: Settings<'_>, user: UserEntry) -> Credentials {
    if let Some(token) = settings.text("token", &["KUBE_TOKEN"]) {
        return Credentials::Token(token);
    }
    if let Some(name) = settings.text("username", &["KUBE_USER"]) {
        return Credentials::Password(
            name,
            settings.text("password", &["KUBE_PASSWORD"]).unwrap_or_default(),
        );
    }
    match user {
        UserEntry { token_file: Some(path), .. } => Credentials::TokenFile(path),
        UserEntry { token: Some(token), .. } => Credentials::Token(token),
        UserEntry { password: Some((name, password)), .. } => Credentials::Password(name, password),
        UserEntry { exec: Some(exec), .. } => Credentials::Exec(exec),
        _ => Credentials::None,
    }
}

fn service(
    settings: Settings<'_>,
    cluster: &ClusterEntry,
    user: &UserEntry,
) -> Result<Service, BackendError> {
    let pem = |name: &str, variable: &str| settings.text(name, &[variable]).map(String::into_bytes);
    let certificate = pem("client_certificate", "KUBE_CLIENT_CERT_DATA").or_else(|| user.certificate.clone());
    let key = pem("client_key", "KUBE_CLIENT_KEY_DATA").or_else(|| user.key.clone());
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => {
            return Err(BackendError::for_argument(
                "client_certificate",
                "Incomplete client certificate",
                "The client certificate and the client key must be set together.",
            ));
        }
    };
    let verification = if cluster.is_insecure { Verification::None } else { Verification::Full };
    let authorities = cluster.authorities.clone().filter(|_| !cluster.is_insecure);
    let roots = tls_roots(TlsSettings { authorities, identity, verification })?;
    let mut http = settings.host.http.clone();
    if let Some(proxy) = &cluster.proxy {
        let value = |variable: &str| {
            let is_proxy = matches!(variable.to_ascii_uppercase().as_str(), "HTTP_PROXY" | "HTTPS_PROXY");
            is_proxy.then(|| proxy.clone())
        };
        http.proxies = ProxySettings::from_variables(value).map_err(|error| error.to_string());
    }
    let retry =
        RetryRule { retries: 5, min_delay: Duration::from_millis(200), max_delay: Duration::from_secs(5) };
    Ok(Service::new(http.client(roots)?, http.response_timeout, retry))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::BackendConfig;
    use crate::host::BackendHost;

    #[test]
    fn account_of_a_pod_is_used() {
        let account = tempfile::TempDir::new().unwrap();
        std::fs::write(account.path().join("ca.crt"), "ca").unwrap();
        let variables = [("KUBERNETES_SERVICE_HOST", "fd00::1"), ("KUBERNETES_SERVICE_PORT", "6443")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut host = BackendHost { variables: Arc::new(variables.into()), ..BackendHost::default() };
        let config = BackendConfig::empty(&schema());
        let settings = Settings { config: &config, host: &host };
        let (cluster, user) = in_cluster(settings, account.path()).unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://[fd00::1]:6443"));
        assert_eq!(cluster.authorities.as_deref(), Some(&b"ca"[..]));
        assert_eq!(user.token_file, Some(account.path().join("token")));
        host.variables = Arc::default();
        let settings = Settings { config: &config, host: &host };
        assert!(
            in_cluster(settings, account.path()).err().unwrap().detail.contains("KUBERNETES_SERVICE_HOST")
        );
    }
}
