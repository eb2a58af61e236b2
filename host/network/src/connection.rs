//! From a request that may be sent to a connection that it can be sent on.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use wardian_policy::{Host, NetworkRequest, Scheme};

use crate::authority::Authority;
use crate::error::NetworkError;
use crate::pool::Connection;
use crate::proxy::Proxy;
use crate::resolve::Resolver;
use crate::tls::Tls;

/// How long one address of several is waited for before the next one is tried.
const PER_ADDRESS: Duration = Duration::from_secs(5);

/// What a connection is made with.
pub(crate) struct Connector<'a> {
    pub(crate) authority: &'a dyn Authority,
    pub(crate) resolver: &'a dyn Resolver,
    pub(crate) roots: &'a Tls,
    pub(crate) within: Duration,
}

impl Connector<'_> {
    /// Connects with the host of a request.
    pub(crate) async fn direct(&self, request: &NetworkRequest) -> Result<Connection, NetworkError> {
        let deadline = Instant::now() + self.within;
        let place = place(request);
        let late = || NetworkError::ConnectTimeout(place.clone());
        let addresses = timeout_at(deadline, self.addresses(request)).await.map_err(|_| late())??;
        let (stream, address) = first_of(&addresses, request.port(), deadline, &place).await?;
        let connection = match request.scheme() {
            Scheme::Https => self.secure(request, stream, deadline).await?,
            _ => handshake(stream, &place).await?,
        };
        Ok(Connection { address: Some(address), ..connection })
    }

    /// Connects with a proxy, and through it with the host of a request where the two are
    /// to be alone with each other.
    pub(crate) async fn through(
        &self,
        proxy: &Proxy,
        request: &NetworkRequest,
    ) -> Result<Connection, NetworkError> {
        let deadline = Instant::now() + self.within;
        // The proxy looks names up; an address that was said is decided on here.
        if let Some(address) = request.host().address() {
            self.check(request, address)?;
        }
        let place = place(request);
        let late = || NetworkError::ConnectTimeout(proxy.to_string());
        let stream = timeout_at(deadline, TcpStream::connect((proxy.host.as_str(), proxy.port)))
            .await
            .map_err(|_| late())?
            .map_err(|error| NetworkError::Connect { place: proxy.to_string(), error })?;
        if request.scheme() != Scheme::Https {
            return handshake(stream, &place).await;
        }
        let tunnel = timeout_at(deadline, tunnel(proxy, &place, stream)).await.map_err(|_| late())??;
        self.secure(request, tunnel, deadline).await
    }

    async fn secure(
        &self,
        request: &NetworkRequest,
        stream: TcpStream,
        deadline: Instant,
    ) -> Result<Connection, NetworkError> {
        let place = place(request);
        let stream = timeout_at(deadline, self.roots.connect(request.host(), stream))
            .await
            .map_err(|_| NetworkError::ConnectTimeout(place.clone()))?
            .map_err(|error| NetworkError::Tls { place: place.clone(), error })?;
        handshake(stream, &place).await
    }

    /// The addresses of the request's host that it may be sent to.
    async fn addresses(&self, request: &NetworkRequest) -> Result<Vec<IpAddr>, NetworkError> {
        let host = request.host().to_string();
        let found = match request.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let found = self.resolver.resolve(name).await;
                found.map_err(|error| NetworkError::LookUp { host: host.clone(), error })?
            }
        };
        let mut allowed = Vec::with_capacity(found.len());
        let mut refused = None;
        for address in found {
            // What is decided on is what is connected to: IPv4 in IPv6's clothes is IPv4.
            let address = address.to_canonical();
            match self.check(request, address) {
                Ok(()) => allowed.push(address),
                Err(denied) => refused = refused.or(Some(denied)),
            }
        }
        match (allowed.is_empty(), refused) {
            (false, _) => Ok(allowed),
            (true, Some(denied)) => Err(denied),
            (true, None) => Err(NetworkError::NoAddress(host)),
        }
    }

    fn check(&self, request: &NetworkRequest, address: IpAddr) -> Result<(), NetworkError> {
        self.authority.may_connect(request, address).map_err(|denied| NetworkError::AddressDenied {
            host: request.host().to_string(),
            address,
            denied,
        })
    }
}

/// Where a request goes, for people and for `CONNECT`.
pub(crate) fn place(request: &NetworkRequest) -> String {
    match request.host() {
        Host::Address(IpAddr::V6(address)) => format!("[{address}]:{}", request.port()),
        host => format!("{host}:{}", request.port()),
    }
}

/// Connects with the first address that answers.
async fn first_of(
    addresses: &[IpAddr],
    port: u16,
    deadline: Instant,
    place: &str,
) -> Result<(TcpStream, IpAddr), NetworkError> {
    let mut failed = None;
    for (index, address) in addresses.iter().enumerate() {
        let is_last = index + 1 == addresses.len();
        let until = if is_last { deadline } else { deadline.min(Instant::now() + PER_ADDRESS) };
        match timeout_at(until, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // Small requests are what plugins send; waiting to fill a packet costs
                // them 40 ms each. Where it cannot be set, it is slower.
                let _ = stream.set_nodelay(true);
                return Ok((stream, *address));
            }
            Ok(Err(error)) => failed = Some(error),
            Err(_) => {}
        }
    }
    Err(match failed {
        Some(error) => NetworkError::Connect { place: place.to_owned(), error },
        None => NetworkError::ConnectTimeout(place.to_owned()),
    })
}

async fn handshake<S>(stream: S, place: &str) -> Result<Connection, NetworkError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| NetworkError::Exchange { place: place.to_owned(), error })?;
    // It ends with its sender. What goes wrong on it is told to whoever waits for an answer.
    tokio::spawn(connection);
    Ok(Connection { sender, address: None })
}

/// Asks a proxy for a tunnel.
async fn tunnel(proxy: &Proxy, place: &str, stream: TcpStream) -> Result<TcpStream, NetworkError> {
    let refused =
        |reason: String| NetworkError::Proxy { proxy: proxy.to_string(), place: place.to_owned(), reason };
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| refused(error.to_string()))?;
    let connection = tokio::spawn(connection.without_shutdown());
    let mut request = Request::builder().method(Method::CONNECT).uri(place).header(header::HOST, place);
    if let Some(authorization) = &proxy.authorization {
        request = request.header(header::PROXY_AUTHORIZATION, authorization);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|error| refused(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(|error| refused(error.to_string()))?;
    if response.status() != StatusCode::OK {
        return Err(refused(format!("it answers {}", response.status())));
    }
    drop((response, sender));
    let parts = connection
        .await
        .map_err(io::Error::other)
        .and_then(|parts| parts.map_err(io::Error::other))
        .map_err(|error| refused(error.to_string()))?;
    if !parts.read_buf.is_empty() {
        return Err(refused("it speaks before it is spoken to".to_owned()));
    }
    Ok(parts.io.into_inner())
}

/// Kept by clients: what connectors are made from.
pub(crate) struct Means {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) roots: Tls,
}

impl Means {
    pub(crate) fn connector<'a>(&'a self, authority: &'a dyn Authority, within: Duration) -> Connector<'a> {
        Connector { authority, resolver: &*self.resolver, roots: &self.roots, within }
    }
}
