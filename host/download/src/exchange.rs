//! Makes one attempt of a request: sends the request, follows redirects, and returns the response.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap};
use http::{Method, Request, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use tokio::time::timeout;
use url::Url;
use wardian_network::{
    BoxedBody, Client, ClientOptions, HttpLimits, NetworkError, RequestLimiter, ResponseBody, SystemResolver,
    Timeouts,
};

use crate::concurrency::{Concurrency, RequestPermits};
use crate::downloader::DownloaderOptions;
use crate::error::FetchError;
use crate::printable_url;
use crate::request::{Fetch, Fetched};
use crate::route::{Route, redirect_location};

/// Time limit for connecting, including TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of concurrent requests of the client, greater than the number that [`Concurrency`]
/// allows: a request must not wait in the client's queue, because that wait would count toward the
/// request's time limit.
const CLIENT_REQUESTS: usize = 64;

/// Maximum size of the body of a redirect that is read in order to reuse the connection.
const MAX_DRAINED_BYTES: usize = 64 * 1024;
/// Maximum time for reading the body of such a redirect.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(1);

/// Maximum size of the buffer that is reserved for a body whose size the server announced.
const MAX_RESERVED_BYTES: u64 = 512 << 20;

/// Maximum size of the body of an unsuccessful response. The rest is dropped.
const MAX_ERROR_BODY_BYTES: u64 = 64 * 1024;

/// Sends requests over one client.
pub(crate) struct Exchanges {
    client: Client,
    concurrency: Concurrency,
}

/// A response whose headers have been received and whose body has not been read yet. Until it is dropped, it
/// counts toward the limit of concurrent requests.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The URL after redirects.
    pub(crate) url: Url,
    pub(crate) body: ResponseBody,
    is_head: bool,
    _permits: RequestPermits,
}

/// The remaining time of an attempt. The time during which a request waits for others does not
/// count.
pub(crate) struct TimeBudget {
    total: Option<Duration>,
    used: Duration,
}

impl TimeBudget {
    pub(crate) fn new(total: Option<Duration>) -> Self {
        Self { total, used: Duration::ZERO }
    }

    /// Awaits a future within the remaining time.
    async fn run<T>(&mut self, url: &Url, future: impl Future<Output = T>) -> Result<T, FetchError> {
        let Some(total) = self.total else { return Ok(future.await) };
        let started = Instant::now();
        let result = timeout(total.saturating_sub(self.used), future).await;
        self.used += started.elapsed();
        result.map_err(|_| FetchError::Timeout {
            url: printable_url(url),
            reason: format!("there was no complete response within {} seconds", total.as_secs_f32()),
        })
    }
}

impl Exchanges {
    pub(crate) fn new(options: &DownloaderOptions) -> Self {
        let client = Client::new(ClientOptions {
            resolver: Arc::new(SystemResolver),
            roots: options.roots.clone(),
            proxies: options.proxies.clone(),
            limits: HttpLimits { limiter: RequestLimiter::new(CLIENT_REQUESTS), response: u64::MAX },
        });
        Self { client, concurrency: Concurrency::default() }
    }

    /// Sends a request with additional headers, and follows redirects.
    pub(crate) async fn send(
        &self,
        options: &DownloaderOptions,
        fetch: &Fetch,
        more: &HeaderMap,
        idle_timeout: Duration,
        budget: &mut TimeBudget,
    ) -> Result<Answer, FetchError> {
        let timeouts =
            Timeouts { connect: CONNECT_TIMEOUT, first_byte: idle_timeout, between_bytes: idle_timeout };
        let mut route = Route::new(fetch, &options.netrc);
        loop {
            let permits = self.concurrency.acquire(route.url()).await;
            let request = request(&route, &options.user_agent, more, &fetch.body)?;
            let ticket = self.client.ticket();
            // The future is large, and would make the futures of all callers large.
            let sending =
                Box::pin(self.client.send(ticket, Arc::clone(&options.authority), request, timeouts));
            let response = budget.run(route.url(), sending).await?;
            let response = response.map_err(|error| from_network(route.url(), error))?;
            let (head, body) = response.into_parts();
            let url = printable_url(route.url());
            tracing::debug!(method = %route.method(), url, status = head.status.as_u16(), "received a response");
            let Some(location) = redirect_location(head.status, &head.headers) else {
                return Ok(Answer {
                    status: head.status,
                    headers: head.headers,
                    url: route.url().clone(),
                    body,
                    is_head: *route.method() == Method::HEAD,
                    _permits: permits,
                });
            };
            route
                .follow(head.status, location)
                .map_err(|problem| FetchError::Redirect { url: url.clone(), problem })?;
            // The connection is only reused if the body is read completely.
            let _ = budget.run(route.url(), timeout(MAX_DRAIN_TIME, drain(body))).await;
        }
    }
}

fn request(
    route: &Route<'_>,
    user_agent: &str,
    more: &HeaderMap,
    body: &Bytes,
) -> Result<Request<BoxedBody>, FetchError> {
    let invalid = |reason: String| FetchError::Invalid { url: printable_url(route.url()), reason };
    if !matches!(route.url().scheme(), "http" | "https") {
        return Err(invalid("the scheme is neither http nor https".to_owned()));
    }
    let mut headers = route.headers(user_agent).map_err(|reason| invalid(reason.to_owned()))?;
    for (name, value) in more {
        headers.insert(name, value.clone());
    }
    let body = if route.has_body() { body.clone() } else { Bytes::new() };
    let never = |error: Infallible| -> Box<dyn Error + Send + Sync> { match error {} };
    let mut request = Request::builder()
        .method(route.method())
        .uri(route.uri())
        .body(Full::new(body).map_err(never).boxed_unsync())
        .map_err(|error| invalid(error.to_string()))?;
    *request.headers_mut() = headers;
    Ok(request)
}

async fn drain(mut body: ResponseBody) {
    let mut left = MAX_DRAINED_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

impl Answer {
    /// Returns the size of the body, if the server announced it.
    pub(crate) fn announced_size(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// Checks that the body is not compressed.
    pub(crate) fn check_encoding(&self) -> Result<(), FetchError> {
        let mut encodings = self.headers.get_all(header::CONTENT_ENCODING).iter();
        let unknown = encodings.find(|encoding| !is_identity(encoding.as_bytes()));
        match unknown.filter(|_| !self.is_head) {
            None => Ok(()),
            Some(encoding) => Err(FetchError::Encoding {
                url: printable_url(&self.url),
                encoding: encoding.as_bytes().escape_ascii().take(64).map(char::from).collect(),
            }),
        }
    }

    /// Reads the body. The body of an unsuccessful response is truncated to a separate limit.
    pub(crate) async fn read(
        mut self,
        max_bytes: u64,
        budget: &mut TimeBudget,
    ) -> Result<Fetched, FetchError> {
        let is_error = !self.status.is_success();
        let encoding = self.check_encoding();
        let body = if is_error {
            let limit = if encoding.is_ok() { MAX_ERROR_BODY_BYTES.min(max_bytes) } else { 0 };
            let url = self.url.clone();
            budget.run(&url, self.collect(limit)).await??.1
        } else {
            encoding?;
            let too_large = || FetchError::TooLarge { url: printable_url(&self.url), limit: max_bytes };
            if !self.is_head && self.announced_size().is_some_and(|size| size > max_bytes) {
                return Err(too_large());
            }
            let too_large = too_large();
            let url = self.url.clone();
            let (is_complete, body) = budget.run(&url, self.collect(max_bytes)).await??;
            if !is_complete {
                return Err(too_large);
            }
            body
        };
        Ok(Fetched { status: self.status, headers: self.headers, url: self.url, body })
    }

    /// Reads at most `limit` bytes of the body, and returns whether they are the whole body.
    async fn collect(&mut self, limit: u64) -> Result<(bool, Bytes), FetchError> {
        let announced = self.announced_size().unwrap_or_default().min(limit).min(MAX_RESERVED_BYTES);
        let mut collected = BytesMut::with_capacity(usize::try_from(announced).unwrap_or_default());
        while let Some(chunk) = self.next_chunk().await? {
            let left = limit.saturating_sub(collected.len() as u64);
            if chunk.len() as u64 > left {
                let end = usize::try_from(left).unwrap_or(chunk.len()).min(chunk.len());
                collected.extend_from_slice(chunk.get(..end).unwrap_or_default());
                return Ok((false, collected.freeze()));
            }
            collected.extend_from_slice(&chunk);
        }
        Ok((true, collected.freeze()))
    }

    /// Returns the next chunk of the body.
    pub(crate) async fn next_chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(from_network(&self.url, error)),
                // Other frames contain trailers.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    Ok(_) | Err(_) => {}
                },
            }
        }
    }
}

fn is_identity(encoding: &[u8]) -> bool {
    let encoding = encoding.trim_ascii();
    encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity")
}

fn from_network(url: &Url, error: NetworkError) -> FetchError {
    let url = printable_url(url);
    match error {
        NetworkError::Tls { .. } => FetchError::Tls { url, source: error },
        NetworkError::Reach(_) => FetchError::Connect { url, source: error },
        NetworkError::ConnectTimeout(_)
        | NetworkError::ResponseTimeout(_)
        | NetworkError::ReadTimeout(_)
        | NetworkError::LimitReached(_) => FetchError::Timeout { url, reason: error.to_string() },
        NetworkError::Exchange { .. } | NetworkError::Body => FetchError::Interrupted { url, source: error },
        NetworkError::TooLarge { limit, .. } => FetchError::TooLarge { url, limit },
        _ => FetchError::Invalid { url, reason: error.to_string() },
    }
}
