//! What the requests of providers are sent with: whom to believe, which proxies, how
//! names are looked up, where secrets are. A provider's instances share one client with its
//! connections, and one queue for requests and for connections of their own; providers
//! share none.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wardian_monitor::Monitor;
use wardian_network::proxy::{ProxyError, ProxySettings};
use wardian_network::{
    Client, ClientOptions, HttpLimits, RequestLimiter, Resolver, SystemResolver, TlsRoots,
};
use wardian_policy::{CredentialSource, Setting};

use crate::limits::Bound;

/// Requests and connections of one provider at a time, where no policy says otherwise.
const CONCURRENT_REQUESTS: u64 = 32;
/// Bytes of one answer, or that one connection receives in a call, where no policy says otherwise.
const RESPONSE_SIZE: u64 = 64 << 20;

/// How plugins reach the network, where a policy lets them.
#[derive(Clone)]
pub struct NetworkOptions {
    /// Whose certificates are believed.
    pub roots: TlsRoots,
    /// What is reached through which proxy. An error is told when something is to be
    /// sent, since most plugins send nothing.
    pub proxies: Result<ProxySettings, ProxyError>,
    /// Who looks names up.
    pub resolver: Arc<dyn Resolver>,
    /// Where the secrets are that policies bind to destinations.
    pub secrets: Arc<dyn Secrets>,
}

impl Default for NetworkOptions {
    /// The system's roots and names, no proxy, no secrets.
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

/// Hands out the secrets that policies bind to destinations.
pub trait Secrets: Send + Sync + 'static {
    /// The secret that a policy names.
    ///
    /// # Errors
    /// Where it is not there.
    fn read(&self, source: &CredentialSource) -> Result<Secret, MissingSecret>;
}

/// A text that nobody is to see.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// This text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for whoever sends it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(...)")
    }
}

/// A secret that is not where a policy says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MissingSecret(pub String);

struct NoSecrets;

impl Secrets for NoSecrets {
    fn read(&self, _: &CredentialSource) -> Result<Secret, MissingSecret> {
        Err(MissingSecret("there are no secrets here".to_owned()))
    }
}

/// What one provider configuration sends with. Its client is made with the first request.
pub(crate) struct ProviderNetwork {
    options: Arc<NetworkOptions>,
    limiter: RequestLimiter,
    concurrent: Bound<u64>,
    response: Bound<u64>,
    client: OnceLock<Client>,
}

impl ProviderNetwork {
    pub(crate) fn new(options: &Arc<NetworkOptions>, monitor: &Monitor) -> Self {
        let set = &monitor.policy().settings().limits;
        let bound = |set: Option<&Setting<u64>>, of_host| match set {
            Some(set) => Bound { value: set.value, set_at: Some(set.location.clone()) },
            None => Bound { value: of_host, set_at: None },
        };
        let concurrent = bound(set.concurrent_requests.as_ref(), CONCURRENT_REQUESTS);
        let limiter = RequestLimiter::new(usize::try_from(concurrent.value).unwrap_or(usize::MAX));
        let response = bound(set.response_size.as_ref(), RESPONSE_SIZE);
        Self { options: Arc::clone(options), limiter, concurrent, response, client: OnceLock::new() }
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

    /// Requests and connections that go on at once.
    pub(crate) fn limiter(&self) -> &RequestLimiter {
        &self.limiter
    }

    /// How many of them, and who says so.
    pub(crate) fn concurrent(&self) -> &Bound<u64> {
        &self.concurrent
    }

    /// Bytes of one answer.
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
