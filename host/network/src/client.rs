//! Sends HTTP requests.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName};
use http::{HeaderValue, Method, Request, Response, Uri, Version};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;
use wardian_access::{HttpAuthority, NetworkRequest, Scheme};

use crate::body::{BodyLimits, CountedBody, Report, ResponseBody};
use crate::boxed_body::BoxedBody;
use crate::connection::{ConnectionConfig, endpoint};
use crate::error::NetworkError;
use crate::pool::{Connection, Endpoint, Pool};
use crate::proxy::{Proxy, ProxySettings};
use crate::request_limiter::{RequestLimiter, Ticket};
use crate::resolve::Resolver;
use crate::tls::TlsRoots;

/// Limits that apply to all requests of a client.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Limits the number of concurrent requests. Additional requests wait.
    pub limiter: RequestLimiter,
    /// Maximum size of a response body in bytes.
    pub response: u64,
}

/// Time limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Time limit for resolving the host and connecting, including TLS.
    pub connect: Duration,
    /// Time limit from the opening of the connection to the first byte of the response.
    pub first_byte: Duration,
    /// Time limit between two chunks of the response.
    pub between_bytes: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            first_byte: Duration::from_mins(10),
            between_bytes: Duration::from_mins(10),
        }
    }
}

/// The configuration of a client.
pub struct ClientOptions {
    /// Resolves host names.
    pub resolver: Arc<dyn Resolver>,
    pub roots: TlsRoots,
    pub proxies: ProxySettings,
    pub limits: HttpLimits,
}

/// An HTTP client for one plugin.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    connection_config: ConnectionConfig,
    proxies: ProxySettings,
    limits: HttpLimits,
    pool: Arc<Pool>,
}

/// The result of sending a request on a connection.
enum SendOutcome {
    Response(Response<Incoming>, Connection),
    /// A pooled connection was closed before anything was sent on it.
    Retry(Request<BoxedBody>),
}

impl Client {
    /// Creates a client without connections.
    pub fn new(options: ClientOptions) -> Self {
        let ClientOptions { resolver, roots, proxies, limits } = options;
        let connection_config = ConnectionConfig { resolver, roots: roots.for_client() };
        Self { inner: Arc::new(Inner { connection_config, proxies, limits, pool: Arc::default() }) }
    }

    /// Returns a ticket in the queue for sending requests.
    pub fn ticket(&self) -> Ticket {
        self.inner.limits.limiter.ticket()
    }

    /// Sends a request with an absolute URI, and waits for the response headers. Redirects are not
    /// followed. `authority` authorizes the request, and records its end.
    ///
    /// # Errors
    /// Returns an error if the request is not allowed, or there is no response.
    pub async fn send(
        &self,
        ticket: Ticket,
        authority: Arc<dyn HttpAuthority>,
        request: Request<BoxedBody>,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, NetworkError> {
        let inner = &*self.inner;
        let (mut parts, body) = request.into_parts();
        parts.method = upper_case(&parts.method)?;
        let access = request_to_decide(&parts.uri, &parts.method, &parts.headers)?;
        let reserved = authority.reserved_headers(&access);
        if let Some(name) = reserved.iter().find(|name| parts.headers.contains_key(*name)) {
            return Err(NetworkError::CredentialHeader(name.to_string()));
        }
        if !reserved.is_empty() && parts.method == Method::TRACE {
            // The server would return the credential in its response to TRACE.
            return Err(NetworkError::Forbidden("the method TRACE with a credential"));
        }
        authority.may_send(&access)?;
        for credential in authority.credentials(&access)? {
            parts.headers.insert(credential.name, credential.value);
        }
        let target = endpoint(&access);
        let proxy = inner.proxies.for_request(&access);
        prepare_head(&mut parts, &access, proxy)?;

        let permit = ticket.acquire(timeouts.first_byte).await?;
        let sent = Arc::new(AtomicU64::new(0));
        let mut report = Report::new(Arc::clone(&authority), access.clone(), Arc::clone(&sent));
        let body = CountedBody::new(body, sent).boxed_unsync();
        let at = Endpoint { scheme: access.scheme(), host: access.host().clone(), port: access.port() };

        let mut request = Request::from_parts(parts, body);
        let (response, connection) = loop {
            let waiting = inner.pool.take(&at).filter(|connection| {
                connection.address.is_none_or(|address| authority.may_connect(&access, address).is_ok())
            });
            let (connection, is_new) = match waiting {
                Some(connection) => (connection, false),
                None => {
                    let connector = inner.connection_config.connector(&*authority, timeouts.connect);
                    let connected = match proxy {
                        Some(proxy) => connector.connect_through_proxy(proxy, &access).await,
                        None => connector.connect_directly(&access).await,
                    };
                    (connected?, true)
                }
            };
            report.set_address(connection.address);
            let answer = timeout(timeouts.first_byte, exchange(connection, request, is_new, &target)).await;
            match answer.map_err(|_| NetworkError::ResponseTimeout(target.clone()))?? {
                SendOutcome::Response(response, connection) => break (response, connection),
                SendOutcome::Retry(again) => request = again,
            }
        };
        report.set_status(response.status());
        let limits = BodyLimits {
            endpoint: target,
            bytes: inner.limits.response,
            between_bytes: timeouts.between_bytes,
        };
        let connection = (Arc::clone(&inner.pool), at, connection);
        Ok(response.map(|incoming| ResponseBody::new(incoming, limits, connection, report, permit)))
    }
}

/// Returns the method that is checked and sent. Methods are case-sensitive, but some servers also
/// accept `get`, so the method that is sent must be exactly the method that policy allowed.
fn upper_case(method: &Method) -> Result<Method, NetworkError> {
    if method.as_str().bytes().any(|byte| byte.is_ascii_lowercase()) {
        let upper = method.as_str().to_ascii_uppercase();
        return Method::from_bytes(upper.as_bytes()).map_err(|_| NetworkError::Forbidden("this method"));
    }
    Ok(method.clone())
}

async fn exchange(
    mut connection: Connection,
    request: Request<BoxedBody>,
    is_new: bool,
    target: &str,
) -> Result<SendOutcome, NetworkError> {
    match connection.sender.try_send_request(request).await {
        Ok(response) => Ok(SendOutcome::Response(response, connection)),
        Err(mut failed) => match failed.take_message() {
            Some(request) if !is_new => Ok(SendOutcome::Retry(request)),
            _ => {
                let error = failed.into_error();
                Err(if error.is_user() && error.source().is_some() {
                    NetworkError::Body
                } else {
                    NetworkError::Exchange { endpoint: target.to_owned(), error }
                })
            }
        },
    }
}

/// Returns the access request on which the authority decides.
fn request_to_decide(
    uri: &Uri,
    method: &Method,
    headers: &HeaderMap,
) -> Result<NetworkRequest, NetworkError> {
    if *method == Method::CONNECT {
        return Err(NetworkError::Forbidden("the method CONNECT"));
    }
    for (name, description) in [
        (header::UPGRADE, "the header Upgrade"),
        (header::PROXY_AUTHORIZATION, "the header Proxy-Authorization"),
    ] {
        if headers.contains_key(name) {
            return Err(NetworkError::Forbidden(description));
        }
    }
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(NetworkError::NoAuthority);
    };
    let access = NetworkRequest::http(scheme, authority.as_str(), method.as_str())?;
    for host in headers.get_all(header::HOST) {
        let from_header =
            host.to_str().ok().and_then(|host| NetworkRequest::http(scheme, host, method.as_str()).ok());
        if from_header.as_ref() != Some(&access) {
            let host = String::from_utf8_lossy(host.as_bytes()).into_owned();
            return Err(NetworkError::Host { authority: authority.to_string(), host });
        }
    }
    Ok(access)
}

/// Converts the request line and headers of a request to the form that is sent over the connection.
fn prepare_head(
    parts: &mut http::request::Parts,
    access: &NetworkRequest,
    proxy: Option<&Proxy>,
) -> Result<(), NetworkError> {
    // Plugins must not set hop-by-hop headers.
    const HOP_BY_HOP_HEADERS: [HeaderName; 3] = [header::CONNECTION, header::TE, header::TRANSFER_ENCODING];
    for name in HOP_BY_HOP_HEADERS {
        parts.headers.remove(name);
    }
    parts.headers.remove("keep-alive");
    let authority = host_header(access);
    let host = HeaderValue::from_str(&authority).map_err(|_| NetworkError::NoAuthority)?;
    parts.headers.insert(header::HOST, host);
    parts.version = Version::HTTP_11;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    // A proxy for plain HTTP requires the absolute URI.
    let is_proxied = proxy.is_some() && access.scheme() != Scheme::Https;
    if is_proxied && let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.as_deref()) {
        let value = HeaderValue::from_str(authorization).map_err(|_| NetworkError::NoAuthority)?;
        parts.headers.insert(header::PROXY_AUTHORIZATION, value);
    }
    let uri = if is_proxied { format!("http://{authority}{path}") } else { path };
    parts.uri = uri.parse().map_err(|_| NetworkError::NoAuthority)?;
    Ok(())
}

/// Returns the `Host` header for an allowed request, without the scheme's default port.
fn host_header(access: &NetworkRequest) -> String {
    let endpoint = endpoint(access);
    let default_port = match access.scheme() {
        Scheme::Https => ":443",
        _ => ":80",
    };
    endpoint.strip_suffix(default_port).map_or(endpoint.clone(), str::to_owned)
}
