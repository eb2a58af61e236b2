//! The backend `http`, which stores one state behind a REST API.
//!
//! | operation | request |
//! |---|---|
//! | read | `GET` address; 204 and 404 mean that there is no state |
//! | write | `update_method` (POST) address, with the parameter `ID` if the state is locked |
//! | lock | `lock_method` (LOCK) `lock_address` with the lock information; 409 and 423 mean that the lock is held, and contain the holder's information |
//! | unlock | `unlock_method` (UNLOCK) `unlock_address` with the lock information |
//!
//! Without `lock_address`, the state is not locked. The state manager compares the state with the one
//! that it has read before it writes.

mod storage;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use url::Url;
use wardian_download::Authorization;
use wardian_network::{TlsRoots, TlsSettings, Verification};
use wardian_plugin::Block;
use wardian_state::{LockRequest, StateStorage};

use crate::backend::{Backend, BackendError, BackendType};
use crate::config::{BackendConfig, Settings};
use crate::host::BackendHost;
use crate::schema::{block, flag, number, text};
use crate::service::{RetryRule, Service, parse_url};
use crate::types::DEFAULT_WORKSPACE;
use storage::HttpStorage;

const NAME: &str = "http";

#[derive(Debug)]
pub(crate) struct HttpBackendType;

/// The addresses and the credentials of the service. `Debug` shows no secret.
#[derive(Clone, Debug)]
struct HttpSettings {
    address: Url,
    update_method: Method,
    lock: Option<(Url, Method)>,
    unlock: Option<(Url, Method)>,
    authorization: Option<Authorization>,
    service: Service,
}

#[derive(Debug)]
struct HttpBackend {
    settings: HttpSettings,
}

impl BackendType for HttpBackendType {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> &'static Block {
        static SCHEMA: LazyLock<Block> = LazyLock::new(|| {
            block([
                ("address", text()),
                ("client_ca_certificate_pem", text()),
                ("client_certificate_pem", text()),
                ("client_private_key_pem", text()),
                ("lock_address", text()),
                ("lock_method", text()),
                ("password", text()),
                ("retry_max", number()),
                ("retry_wait_max", number()),
                ("retry_wait_min", number()),
                ("skip_cert_verification", flag()),
                ("unlock_address", text()),
                ("unlock_method", text()),
                ("update_method", text()),
                ("username", text()),
            ])
        });
        &SCHEMA
    }

    fn configure(
        &self,
        config: &BackendConfig,
        host: &BackendHost,
    ) -> Result<Arc<dyn Backend>, BackendError> {
        Ok(Arc::new(HttpBackend { settings: HttpSettings::new(Settings { config, host })? }))
    }
}

impl HttpSettings {
    fn new(settings: Settings<'_>) -> Result<Self, BackendError> {
        let text = |name: &str, variable: &str| settings.text(name, &[variable]);
        let url = |name: &'static str, variable: &str| {
            let Some(text) = text(name, variable) else { return Ok(None) };
            parse_url(&text).map(Some).map_err(|reason| {
                BackendError::for_argument(
                    name,
                    "Invalid address",
                    format!("The \"{name}\" is not valid: {reason}."),
                )
            })
        };
        let method = |name: &'static str, variable: &str, default: &str| {
            let text = text(name, variable).unwrap_or_else(|| default.to_owned());
            Method::from_bytes(text.as_bytes()).map_err(|_| {
                BackendError::for_argument(
                    name,
                    "Invalid HTTP method",
                    format!("The \"{name}\" \"{text}\" is not an HTTP method."),
                )
            })
        };
        let address = url("address", "TF_HTTP_ADDRESS")?
            .ok_or_else(|| BackendError::missing("address", NAME, &["TF_HTTP_ADDRESS"]))?;
        let lock_method = method("lock_method", "TF_HTTP_LOCK_METHOD", "LOCK")?;
        let unlock_method = method("unlock_method", "TF_HTTP_UNLOCK_METHOD", "UNLOCK")?;
        let seconds = |name: &str, variable: &str, default: u64| {
            Duration::from_secs(settings.number(name, &[variable]).unwrap_or(default))
        };
        let retries = settings.number("retry_max", &["TF_HTTP_RETRY_MAX"]).unwrap_or(2);
        let min_delay = seconds("retry_wait_min", "TF_HTTP_RETRY_WAIT_MIN", 1);
        let retry = RetryRule {
            retries: u32::try_from(retries).unwrap_or(u32::MAX),
            min_delay,
            max_delay: seconds("retry_wait_max", "TF_HTTP_RETRY_WAIT_MAX", 30).max(min_delay),
        };
        let client = settings.host.http.client(tls_roots(settings)?)?;
        let password = text("password", "TF_HTTP_PASSWORD").unwrap_or_default();
        Ok(Self {
            address,
            update_method: method("update_method", "TF_HTTP_UPDATE_METHOD", "POST")?,
            lock: url("lock_address", "TF_HTTP_LOCK_ADDRESS")?.map(|url| (url, lock_method)),
            unlock: url("unlock_address", "TF_HTTP_UNLOCK_ADDRESS")?.map(|url| (url, unlock_method)),
            authorization: text("username", "TF_HTTP_USERNAME")
                .map(|username| Authorization::basic(&username, &password)),
            service: Service::new(client, settings.host.http.response_timeout, retry),
        })
    }
}

/// Returns the trusted certificates and the client's certificate.
fn tls_roots(settings: Settings<'_>) -> Result<TlsRoots, BackendError> {
    let pem = |name: &str, variable: &str| settings.text(name, &[variable]).map(String::into_bytes);
    let authorities = pem("client_ca_certificate_pem", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM");
    let certificate = pem("client_certificate_pem", "TF_HTTP_CLIENT_CERTIFICATE_PEM");
    let key = pem("client_private_key_pem", "TF_HTTP_CLIENT_PRIVATE_KEY_PEM");
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => {
            return Err(BackendError::for_argument(
                "client_certificate_pem",
                "Missing client key",
                "\"client_certificate_pem\" is set, so \"client_private_key_pem\" must be set, too.",
            ));
        }
        (None, Some(_)) => {
            return Err(BackendError::for_argument(
                "client_private_key_pem",
                "Missing client certificate",
                "\"client_private_key_pem\" is set, so \"client_certificate_pem\" must be set, too.",
            ));
        }
    };
    let skips = settings.flag("skip_cert_verification", &["TF_HTTP_SKIP_CERT_VERIFICATION"]);
    if !skips && authorities.is_none() && identity.is_none() {
        return Ok(TlsRoots::from_system());
    }
    let verification = if skips { Verification::None } else { Verification::Full };
    TlsRoots::from_settings(&TlsSettings { authorities, identity, verification }).map_err(|error| {
        BackendError::new("Invalid TLS settings", format!("The TLS settings cannot be used: {error}."))
    })
}

#[async_trait]
impl Backend for HttpBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        if workspace != DEFAULT_WORKSPACE {
            return Err(BackendError::no_workspaces(NAME));
        }
        Ok(Arc::new(HttpStorage::new(self.settings.clone())))
    }

    fn has_workspaces(&self) -> bool {
        false
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        Err(BackendError::no_workspaces(NAME))
    }

    async fn create_workspace(&self, _name: &str, _lock: Option<&LockRequest>) -> Result<(), BackendError> {
        Err(BackendError::no_workspaces(NAME))
    }

    async fn delete_workspace(&self, _name: &str) -> Result<(), BackendError> {
        Err(BackendError::no_workspaces(NAME))
    }
}
