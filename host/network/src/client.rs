//! Sending requests.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName};
use http::{HeaderValue, Method, Request, Response, Uri, Version};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;
use wardian_policy::{NetworkRequest, Scheme};

use crate::authority::Authority;
use crate::body::{BodyLimits, BoxedBody, Counted, Report, ResponseBody};
use crate::connection::{Means, place};
use crate::error::NetworkError;
use crate::pool::{Connection, Place, Pool};
use crate::proxy::{Proxy, ProxySettings};
use crate::resolve::Resolver;
use crate::tls::TlsRoots;
use crate::turns::{Turn, Turns};

/// What all requests of a client are bounded by.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests that go on at once; further ones wait.
    pub turns: Turns,
    /// Bytes of the body of one answer.
    pub response: u64,
}

/// How long one request may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// To look the host up and connect, secure connections included.
    pub connect: Duration,
    /// From there to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two parts of the answer.
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

/// What a client is made from.
pub struct ClientOptions {
    /// Who looks names up.
    pub resolver: Arc<dyn Resolver>,
    /// Whom to believe.
    pub roots: TlsRoots,
    /// What is reached through which proxy.
    pub proxies: ProxySettings,
    /// What all requests are bounded by.
    pub limits: Limits,
}

/// Sends requests for one plugin.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    means: Means,
    proxies: ProxySettings,
    limits: Limits,
    pool: Arc<Pool>,
}

/// Where a connection comes from.
enum Sent {
    Answer(Response<Incoming>, Connection),
    /// A connection that had waited turned out to be closed; nothing was sent on it.
    Again(Request<BoxedBody>),
}

impl Client {
    /// A client without any connection yet.
    pub fn new(options: ClientOptions) -> Self {
        let ClientOptions { resolver, roots, proxies, limits } = options;
        let means = Means { resolver, roots: roots.of_one_client() };
        Self { inner: Arc::new(Inner { means, proxies, limits, pool: Arc::default() }) }
    }

    /// A turn, behind all that were taken before.
    pub fn turn(&self) -> Turn {
        self.inner.limits.turns.take()
    }

    /// Sends a request whose URI is absolute, and waits for the head of the answer.
    /// Redirects are answers. `authority` decides on it, and is told of its end.
    ///
    /// # Errors
    /// Where it is not allowed, or there is no answer.
    pub async fn send(
        &self,
        turn: Turn,
        authority: Arc<dyn Authority>,
        request: Request<BoxedBody>,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, NetworkError> {
        let inner = &*self.inner;
        let (mut parts, body) = request.into_parts();
        let asked = decidable(&parts.uri, &parts.method, &parts.headers)?;
        let reserved = authority.reserved_headers(&asked);
        if let Some(name) = reserved.iter().find(|name| parts.headers.contains_key(*name)) {
            return Err(NetworkError::CredentialHeader(name.to_string()));
        }
        if !reserved.is_empty() && parts.method == Method::TRACE {
            // It asks the server to say what it was sent.
            return Err(NetworkError::Forbidden("the method TRACE, where a credential is added,"));
        }
        authority.may_send(&asked)?;
        for credential in authority.credentials(&asked)? {
            parts.headers.insert(credential.name, credential.value);
        }
        let target = place(&asked);
        let proxy = inner.proxies.of(&asked);
        prepare(&mut parts, &asked, proxy)?;

        let going_on = turn.come(timeouts.first_byte).await?;
        let sent = Arc::new(AtomicU64::new(0));
        let mut report = Report::new(Arc::clone(&authority), asked.clone(), Arc::clone(&sent));
        let body = Counted::new(body, sent).boxed_unsync();
        let at = Place { scheme: asked.scheme(), host: asked.host().clone(), port: asked.port() };

        let mut request = Request::from_parts(parts, body);
        let (response, connection) = loop {
            let waiting = inner.pool.take(&at).filter(|connection| {
                connection.address.is_none_or(|address| authority.may_connect(&asked, address).is_ok())
            });
            let (connection, is_new) = match waiting {
                Some(connection) => (connection, false),
                None => {
                    let connector = inner.means.connector(&*authority, timeouts.connect);
                    let connected = match proxy {
                        Some(proxy) => connector.through(proxy, &asked).await,
                        None => connector.direct(&asked).await,
                    };
                    (connected?, true)
                }
            };
            report.connected_to(connection.address);
            let answer = timeout(timeouts.first_byte, exchange(connection, request, is_new, &target)).await;
            match answer.map_err(|_| NetworkError::AnswerTimeout(target.clone()))?? {
                Sent::Answer(response, connection) => break (response, connection),
                Sent::Again(again) => request = again,
            }
        };
        report.answered(response.status());
        let limits =
            BodyLimits { place: target, bytes: inner.limits.response, between_bytes: timeouts.between_bytes };
        let connection = (Arc::clone(&inner.pool), at, connection);
        Ok(response.map(|incoming| ResponseBody::new(incoming, limits, connection, report, going_on)))
    }
}

async fn exchange(
    mut connection: Connection,
    request: Request<BoxedBody>,
    is_new: bool,
    target: &str,
) -> Result<Sent, NetworkError> {
    match connection.sender.try_send_request(request).await {
        Ok(response) => Ok(Sent::Answer(response, connection)),
        Err(mut failed) => match failed.take_message() {
            Some(request) if !is_new => Ok(Sent::Again(request)),
            _ => {
                let error = failed.into_error();
                Err(if error.is_user() && error.source().is_some() {
                    NetworkError::Body
                } else {
                    NetworkError::Exchange { place: target.to_owned(), error }
                })
            }
        },
    }
}

/// What a request is decided on by.
fn decidable(uri: &Uri, method: &Method, headers: &HeaderMap) -> Result<NetworkRequest, NetworkError> {
    if *method == Method::CONNECT {
        return Err(NetworkError::Forbidden("the method CONNECT"));
    }
    for (name, what) in [
        (header::UPGRADE, "the header Upgrade"),
        (header::PROXY_AUTHORIZATION, "the header Proxy-Authorization"),
    ] {
        if headers.contains_key(name) {
            return Err(NetworkError::Forbidden(what));
        }
    }
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(NetworkError::NoAuthority);
    };
    let asked = NetworkRequest::http(scheme, authority.as_str(), method.as_str())?;
    for host in headers.get_all(header::HOST) {
        let said =
            host.to_str().ok().and_then(|host| NetworkRequest::http(scheme, host, method.as_str()).ok());
        if said.as_ref() != Some(&asked) {
            let host = String::from_utf8_lossy(host.as_bytes()).into_owned();
            return Err(NetworkError::Host { authority: authority.to_string(), host });
        }
    }
    Ok(asked)
}

/// Makes of a request what is written to the connection.
fn prepare(
    parts: &mut http::request::Parts,
    asked: &NetworkRequest,
    proxy: Option<&Proxy>,
) -> Result<(), NetworkError> {
    // What is between this client and the next machine is not the plugin's.
    const OF_CONNECTION: [HeaderName; 3] = [header::CONNECTION, header::TE, header::TRANSFER_ENCODING];
    for name in OF_CONNECTION {
        parts.headers.remove(name);
    }
    parts.headers.remove("keep-alive");
    let authority = authority_of(asked);
    let host = HeaderValue::from_str(&authority).map_err(|_| NetworkError::NoAuthority)?;
    parts.headers.insert(header::HOST, host);
    parts.version = Version::HTTP_11;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    // A proxy that is spoken to in clear is told where it goes; everybody else knows.
    let is_proxied = proxy.is_some() && asked.scheme() != Scheme::Https;
    if is_proxied && let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.as_deref()) {
        let value = HeaderValue::from_str(authorization).map_err(|_| NetworkError::NoAuthority)?;
        parts.headers.insert(header::PROXY_AUTHORIZATION, value);
    }
    let uri = if is_proxied { format!("http://{authority}{path}") } else { path };
    parts.uri = uri.parse().map_err(|_| NetworkError::NoAuthority)?;
    Ok(())
}

/// The authority as it was decided on, without the scheme's own port.
fn authority_of(asked: &NetworkRequest) -> String {
    let place = place(asked);
    let own = match asked.scheme() {
        Scheme::Https => ":443",
        _ => ":80",
    };
    place.strip_suffix(own).map_or(place.clone(), str::to_owned)
}
