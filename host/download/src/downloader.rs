//! The client for the host's own requests.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use wardian_access::HttpAuthority;
use wardian_network::proxy::ProxySettings;
use wardian_network::{OperatorAuthority, TlsRoots};

use crate::error::FetchError;
use crate::exchange::{Answer, Exchanges, TimeBudget};
use crate::netrc::Netrc;
use crate::observer::DownloadObserver;
use crate::printable_url;
use crate::request::{Fetch, Fetched};
use crate::retry::Retries;
use crate::target::{Downloaded, Target};
use crate::transfer::Transfer;

/// Maximum number of retries, unless the options or the request set another number.
pub const MAX_RETRIES: u32 = 3;

/// Time limit of a request whose body is held in memory, unless the options set another limit.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for the headers of a response, and between two chunks of its body.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum delay before the second attempt.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// Whether requests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    #[default]
    Online,
    /// Every request fails.
    Offline,
}

/// The configuration of a downloader.
pub struct DownloaderOptions {
    pub proxies: ProxySettings,
    pub roots: TlsRoots,
    pub user_agent: String,
    pub netrc: Netrc,
    /// Number of retries of a request whose body is held in memory.
    pub retries: u32,
    /// Time limit of one attempt of a request whose body is held in memory.
    pub metadata_timeout: Duration,
    pub network: NetworkAccess,
    pub observer: Arc<dyn DownloadObserver>,
    /// Authorizes and records the requests.
    pub authority: Arc<dyn HttpAuthority>,
}

impl Default for DownloaderOptions {
    fn default() -> Self {
        Self {
            proxies: ProxySettings::default(),
            roots: TlsRoots::from_system(),
            user_agent: concat!("wardian/", env!("CARGO_PKG_VERSION")).to_owned(),
            netrc: Netrc::default(),
            retries: MAX_RETRIES,
            metadata_timeout: METADATA_TIMEOUT,
            network: NetworkAccess::Online,
            observer: Arc::new(()),
            authority: Arc::new(OperatorAuthority),
        }
    }
}

/// Sends the host's own requests. Clones share connections and limits.
#[derive(Clone)]
pub struct Downloader {
    inner: Arc<Inner>,
    idle_timeout: Duration,
    first_delay: Duration,
}

struct Inner {
    options: DownloaderOptions,
    exchanges: Exchanges,
}

impl Downloader {
    pub fn new(options: DownloaderOptions) -> Self {
        let exchanges = Exchanges::new(&options);
        Self {
            inner: Arc::new(Inner { options, exchanges }),
            idle_timeout: IDLE_TIMEOUT,
            first_delay: FIRST_DELAY,
        }
    }

    /// Sets the time limit for the headers of a response, and between two chunks of its body. The
    /// default is 30 seconds.
    pub fn with_idle_timeout(self, idle_timeout: Duration) -> Self {
        Self { idle_timeout, ..self }
    }

    /// Sets the maximum delay before the second attempt, which doubles with each attempt. The
    /// default is 0.5 seconds.
    pub fn with_retry_delay(self, first_delay: Duration) -> Self {
        Self { first_delay, ..self }
    }

    /// Returns the response with its whole body, which has at most `max_bytes`. The caller checks
    /// the status: responses of any status are returned, after retrying the request if the status
    /// is transient. The body of an unsuccessful response is truncated to 64 KiB.
    ///
    /// # Errors
    /// Returns an error if there is no response, a redirect is not followed, or the body is too
    /// large or compressed.
    pub async fn fetch(&self, request: Fetch, max_bytes: u64) -> Result<Fetched, FetchError> {
        self.check_online(&request)?;
        let mut retries = self.retries(&request, self.inner.options.retries);
        loop {
            let result = self.fetch_once(&request, max_bytes).await;
            let delay = match &result {
                Ok(fetched) => retries.after_response(fetched.status, &fetched.headers),
                Err(error) => retries.after_error(error),
            };
            let Some(delay) = delay else { return result };
            let url = printable_url(&request.url);
            let error = result.err().map(|error| error.to_string());
            tracing::debug!(url, error, ?delay, "retrying a request");
            tokio::time::sleep(delay).await;
        }
    }

    /// Writes the body of a response with status 200 to a file, and verifies its size and digest.
    /// The file appears under its name when it is complete and flushed to the disk, and replaces an
    /// existing file. An interrupted download is resumed if the digest is known.
    ///
    /// # Errors
    /// Returns an error if the file cannot be received or written, or is not the expected file.
    pub async fn download(&self, request: Fetch, target: Target<'_>) -> Result<Downloaded, FetchError> {
        self.check_online(&request)?;
        Transfer::new(self, &request, target).run().await
    }

    async fn fetch_once(&self, request: &Fetch, max_bytes: u64) -> Result<Fetched, FetchError> {
        let total = request.has_total_timeout.then_some(self.inner.options.metadata_timeout);
        let mut budget = TimeBudget::new(total);
        let answer = self.send(request, &HeaderMap::new(), &mut budget).await?;
        answer.read(max_bytes, &mut budget).await
    }

    fn check_online(&self, request: &Fetch) -> Result<(), FetchError> {
        match self.inner.options.network {
            NetworkAccess::Online => Ok(()),
            NetworkAccess::Offline => Err(FetchError::Offline { url: printable_url(&request.url) }),
        }
    }

    /// Sends a request once, with additional headers.
    pub(crate) async fn send(
        &self,
        request: &Fetch,
        more: &HeaderMap,
        budget: &mut TimeBudget,
    ) -> Result<Answer, FetchError> {
        let Inner { options, exchanges } = &*self.inner;
        exchanges.send(options, request, more, self.idle_timeout, budget).await
    }

    /// Returns the attempts for a request that does not set their number.
    pub(crate) fn retries(&self, request: &Fetch, default: u32) -> Retries {
        Retries::new(request.retries.unwrap_or(default), self.first_delay, &request.method)
    }

    pub(crate) fn observer(&self) -> Arc<dyn DownloadObserver> {
        Arc::clone(&self.inner.options.observer)
    }
}
