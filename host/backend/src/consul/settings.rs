//! The arguments of the backend `consul`.

use std::time::Duration;

use url::Url;
use wardian_download::Authorization;
use wardian_network::Verification;
use wardian_plugin::Block;

use super::NAME;
use crate::backend::BackendError;
use crate::config::Settings;
use crate::schema::{block, flag, text};
use crate::service::{RetryRule, Service, parse_url};
use crate::tls_files::{TlsFiles, read_argument_file};

const DEFAULT_ADDRESS: &str = "127.0.0.1:8500";

/// The settings of the backend. `Debug` output contains no secrets.
pub(super) struct ConsulSettings {
    pub(super) address: Url,
    pub(super) path: String,
    pub(super) datacenter: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) partition: Option<String>,
    pub(super) token: Option<String>,
    pub(super) authorization: Option<Authorization>,
    pub(super) uses_gzip: bool,
    pub(super) has_lock: bool,
    pub(super) service: Service,
}

impl std::fmt::Debug for ConsulSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ConsulSettings").field("path", &self.path).finish_non_exhaustive()
    }
}

pub(super) fn schema() -> Block {
    block([
        ("access_token", text()),
        ("address", text()),
        ("ca_file", text()),
        ("cert_file", text()),
        ("datacenter", text()),
        ("gzip", flag()),
        ("http_auth", text()),
        ("key_file", text()),
        ("lock", flag()),
        ("path", text()),
        ("scheme", text()),
    ])
}

impl ConsulSettings {
    pub(super) fn new(settings: Settings<'_>) -> Result<Self, BackendError> {
        let path = settings.text("path", &[]).ok_or_else(|| BackendError::missing("path", NAME, &[]))?;
        check_path(&path)?;
        let authorization = settings.text("http_auth", &["CONSUL_HTTP_AUTH"]).map(|text| {
            let (user, password) = text.split_once(':').unwrap_or((&text, ""));
            Authorization::basic(user, password)
        });
        let verifies = settings
            .host
            .variable("CONSUL_HTTP_SSL_VERIFY")
            .is_none_or(|text| !matches!(text.as_str(), "0" | "f" | "F" | "false" | "FALSE" | "False"));
        let roots = TlsFiles {
            authorities: ("ca_file", settings.text("ca_file", &["CONSUL_CACERT"])),
            certificate: ("cert_file", settings.text("cert_file", &["CONSUL_CLIENT_CERT"])),
            key: ("key_file", settings.text("key_file", &["CONSUL_CLIENT_KEY"])),
            verification: if verifies { Verification::Full } else { Verification::None },
        }
        .roots(settings.host)?;
        let retry = RetryRule {
            retries: 3,
            min_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(2),
        };
        Ok(Self {
            address: address(settings)?,
            path,
            datacenter: settings.text("datacenter", &[]),
            namespace: settings.host.variable("CONSUL_NAMESPACE"),
            partition: settings.host.variable("CONSUL_PARTITION"),
            token: token(settings)?,
            authorization,
            uses_gzip: settings.flag("gzip", &[]),
            has_lock: settings.config.flag("lock").unwrap_or(true),
            service: Service::new(
                settings.host.http.client(roots)?,
                settings.host.http.response_timeout,
                retry,
            ),
        })
    }
}

fn check_path(path: &str) -> Result<(), BackendError> {
    let problem = if path.starts_with('/') {
        "keys of Consul do not start with \"/\""
    } else if path.split('/').any(|name| matches!(name, "." | "..")) {
        "a URL cannot contain the names \".\" and \"..\""
    } else {
        return Ok(());
    };
    Err(BackendError::for_argument(
        "path",
        "Invalid path",
        format!("The path \"{path}\" is not valid: {problem}."),
    ))
}

fn address(settings: Settings<'_>) -> Result<Url, BackendError> {
    let address =
        settings.text("address", &["CONSUL_HTTP_ADDR"]).unwrap_or_else(|| DEFAULT_ADDRESS.to_owned());
    let invalid = |reason: &str| {
        BackendError::for_argument(
            "address",
            "Invalid address",
            format!("The address \"{address}\" of Consul is not valid: {reason}."),
        )
    };
    let (own_scheme, authority) = match address.split_once("://") {
        Some(("unix", _)) => return Err(invalid("sockets of the operating system are not supported")),
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, &*address),
    };
    let scheme =
        settings.text("scheme", &[]).or_else(|| own_scheme.map(str::to_owned)).unwrap_or_else(|| {
            let has_tls = settings.flag("", &["CONSUL_HTTP_SSL"]);
            (if has_tls { "https" } else { "http" }).to_owned()
        });
    let url = parse_url(&format!("{scheme}://{authority}")).map_err(|reason| invalid(&reason))?;
    if url.path() != "/" || url.query().is_some() {
        return Err(invalid("it must consist of a host and a port"));
    }
    Ok(url)
}

fn token(settings: Settings<'_>) -> Result<Option<String>, BackendError> {
    if let Some(token) = settings.text("access_token", &["CONSUL_HTTP_TOKEN"]) {
        return Ok(Some(token));
    }
    let Some(path) = settings.host.variable("CONSUL_HTTP_TOKEN_FILE") else { return Ok(None) };
    let bytes = read_argument_file(settings.host, "access_token", &path)?;
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
}
