//! The network access of providers: trusted certificates, proxies, name resolution and secrets. The
//! instances of a provider share one client with its connections, and one queue for HTTP requests
//! and socket connections. Different providers share neither.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wardian_network::proxy::{ProxyError, ProxySettings};
use wardian_network::{
    Client, ClientOptions, HttpLimits, RequestLimiter, Resolver, SystemResolver, TlsRoots,
};
use wardian_policy::{CredentialSource, PolicySetting};

use crate::grants::Grants;
use crate::limits::Bound;

/// Default limit of a provider's concurrent requests and connections.
const CONCURRENT_REQUESTS: u64 = 32;
/// Default limit on the number of bytes of one response, or of the bytes that one connection
/// receives in a call.
const RESPONSE_SIZE: u64 = 64 << 20;

/// The settings for network access, which a policy must also allow.
#[derive(Clone)]
pub struct NetworkOptions {
    /// The trusted root certificates.
    pub roots: TlsRoots,
    /// The proxies. An error is reported with the first request, since most plugins send none.
    pub proxies: Result<ProxySettings, ProxyError>,
    pub resolver: Arc<dyn Resolver>,
    /// Reads the secrets that policies bind to destinations.
    pub secrets: Arc<dyn Secrets>,
}

impl Default for NetworkOptions {
    /// Returns settings with the system's root certificates and resolver, without a proxy or secrets.
    fn default() -> Self {
        Self {
            roots: TlsRoots::from_system(),
            proxies: Ok(ProxySettings::default()),
            resolver: Arc::new(SystemResolver),
            secrets: Arc::new(NoSecrets),
        }
    }
}

impl fmt::Debug for NetworkOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NetworkOptions").field("proxies", &self.proxies).finish_non_exhaustive()
    }
}

/// Provides the secrets that policies bind to destinations.
pub trait Secrets: Send + Sync + 'static {
    /// Returns the secret from a source that is specified in a policy.
    ///
    /// # Errors
    /// Returns an error if the secret does not exist.
    fn read(&self, source: &CredentialSource) -> Result<Secret, MissingSecret>;
}

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the string, to be sent to the server.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(...)")
    }
}

/// A secret does not exist at the source that is specified in a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MissingSecret(pub String);

struct NoSecrets;

impl Secrets for NoSecrets {
    fn read(&self, _: &CredentialSource) -> Result<Secret, MissingSecret> {
        Err(MissingSecret("no secrets are available".to_owned()))
    }
}

/// The network settings of one provider configuration. Its client is created with the first
/// request.
pub(crate) struct ProviderNetwork {
    options: Arc<NetworkOptions>,
    limiter: RequestLimiter,
    concurrent: Bound<u64>,
    response: Bound<u64>,
    is_declared: bool,
    client: OnceLock<Client>,
}

impl ProviderNetwork {
    pub(crate) fn new(options: &Arc<NetworkOptions>, grants: &Grants) -> Self {
        let set = &grants.monitor.policy().settings().limits;
        let bound = |set: Option<&PolicySetting<u64>>, of_host| match set {
            Some(set) => Bound { value: set.value, set_at: Some(set.location.clone()) },
            None => Bound { value: of_host, set_at: None },
        };
        let concurrent = bound(set.concurrent_requests.as_ref(), CONCURRENT_REQUESTS);
        let limiter = RequestLimiter::new(usize::try_from(concurrent.value).unwrap_or(usize::MAX));
        let response = bound(set.response_size.as_ref(), RESPONSE_SIZE);
        Self {
            options: Arc::clone(options),
            limiter,
            concurrent,
            response,
            is_declared: grants.declared.network,
            client: OnceLock::new(),
        }
    }

    /// Returns the reason why no access is allowed, if the component does not declare the capability.
    pub(crate) fn check_declared(&self) -> Result<(), &'static str> {
        if self.is_declared {
            return Ok(());
        }
        Err("the plugin does not declare the capability network, so every access is denied; its author must \
             declare the capability, with a reason")
    }

    pub(crate) fn client(&self) -> Result<&Client, ProxyError> {
        let proxies = self.options.proxies.as_ref().map_err(Clone::clone)?;
        Ok(self.client.get_or_init(|| {
            Client::new(ClientOptions {
                resolver: Arc::clone(&self.options.resolver),
                roots: self.options.roots.clone(),
                proxies: proxies.clone(),
                limits: HttpLimits { limiter: self.limiter.clone(), response: self.response.value },
            })
        }))
    }

    /// Returns the limiter of concurrent requests and connections.
    pub(crate) fn limiter(&self) -> &RequestLimiter {
        &self.limiter
    }

    /// Returns the maximum number of concurrent requests and connections, and its origin.
    pub(crate) fn concurrent(&self) -> &Bound<u64> {
        &self.concurrent
    }

    /// Returns the maximum number of bytes of one response.
    pub(crate) fn response(&self) -> &Bound<u64> {
        &self.response
    }

    pub(crate) fn resolver(&self) -> &Arc<dyn Resolver> {
        &self.options.resolver
    }

    pub(crate) fn secrets(&self) -> &dyn Secrets {
        &*self.options.secrets
    }
}
