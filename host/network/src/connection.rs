//! Opens the connection for an allowed request.

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
use wardian_access::{Host, HttpAuthority, NetworkRequest, ReachError, Scheme};

use crate::error::NetworkError;
use crate::pool::Connection;
use crate::proxy::Proxy;
use crate::resolve::Resolver;
use crate::tls::Tls;

/// Time limit for connecting to one of several addresses.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(5);

/// The data that is required to open a connection.
pub(crate) struct Connector<'a> {
    pub(crate) authority: &'a dyn HttpAuthority,
    pub(crate) resolver: &'a dyn Resolver,
    pub(crate) roots: &'a Tls,
    pub(crate) within: Duration,
}

impl Connector<'_> {
    /// Connects to the host of a request.
    pub(crate) async fn connect_directly(
        &self,
        request: &NetworkRequest,
    ) -> Result<Connection, NetworkError> {
        let deadline = Instant::now() + self.within;
        let endpoint = endpoint(request);
        let late = || NetworkError::ConnectTimeout(endpoint.clone());
        let addresses = timeout_at(deadline, self.addresses(request)).await.map_err(|_| late())??;
        let (stream, address) = connect_to_first(&addresses, request.port(), deadline, &endpoint).await?;
        let connection = match request.scheme() {
            Scheme::Https => self.secure(request, stream, deadline).await?,
            _ => handshake(stream, &endpoint).await?,
        };
        Ok(Connection { address: Some(address), ..connection })
    }

    /// Connects to a proxy and, for HTTPS, to the host of a request through a tunnel.
    pub(crate) async fn connect_through_proxy(
        &self,
        proxy: &Proxy,
        request: &NetworkRequest,
    ) -> Result<Connection, NetworkError> {
        let deadline = Instant::now() + self.within;
        // The proxy resolves names, so only an address in the request is checked here.
        if let Some(address) = request.host().address() {
            self.check(request, address)?;
        }
        let endpoint = endpoint(request);
        let late = || NetworkError::ConnectTimeout(proxy.to_string());
        let stream = timeout_at(deadline, TcpStream::connect((proxy.host.as_str(), proxy.port)))
            .await
            .map_err(|_| late())?
            .map_err(|error| ReachError::Connect { endpoint: proxy.to_string(), error })?;
        if request.scheme() != Scheme::Https {
            return handshake(stream, &endpoint).await;
        }
        let tunnel =
            timeout_at(deadline, open_tunnel(proxy, &endpoint, stream)).await.map_err(|_| late())??;
        self.secure(request, tunnel, deadline).await
    }

    async fn secure(
        &self,
        request: &NetworkRequest,
        stream: TcpStream,
        deadline: Instant,
    ) -> Result<Connection, NetworkError> {
        let endpoint = endpoint(request);
        let stream = timeout_at(deadline, self.roots.connect(request.host(), stream))
            .await
            .map_err(|_| NetworkError::ConnectTimeout(endpoint.clone()))?
            .map_err(|error| NetworkError::Tls { endpoint: endpoint.clone(), error })?;
        handshake(stream, &endpoint).await
    }

    /// Returns the allowed addresses of the request's host.
    async fn addresses(&self, request: &NetworkRequest) -> Result<Vec<IpAddr>, NetworkError> {
        let host = request.host().to_string();
        let found = match request.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let found = self.resolver.resolve(name).await;
                found.map_err(|error| ReachError::LookUp { host: host.clone(), error })?
            }
        };
        let mut allowed = Vec::with_capacity(found.len());
        let mut refused = None;
        for address in found {
            // The address that is contacted is checked; for an IPv4-mapped IPv6 address, that is an
            // IPv4 address.
            let address = address.to_canonical();
            match self.check(request, address) {
                Ok(()) => allowed.push(address),
                Err(denied) => refused = refused.or(Some(denied)),
            }
        }
        match (allowed.is_empty(), refused) {
            (false, _) => Ok(allowed),
            (true, Some(denied)) => Err(denied),
            (true, None) => Err(ReachError::NoAddress(host).into()),
        }
    }

    fn check(&self, request: &NetworkRequest, address: IpAddr) -> Result<(), NetworkError> {
        self.authority.may_connect(request, address).map_err(|denied| {
            let host = request.host().to_string();
            ReachError::AddressDenied { host, address, denied }.into()
        })
    }
}

/// Formats the destination of a request, for messages and for `CONNECT`.
pub(crate) fn endpoint(request: &NetworkRequest) -> String {
    match request.host() {
        Host::Address(IpAddr::V6(address)) => format!("[{address}]:{}", request.port()),
        host => format!("{host}:{}", request.port()),
    }
}

/// Connects to the first address that accepts the connection.
async fn connect_to_first(
    addresses: &[IpAddr],
    port: u16,
    deadline: Instant,
    endpoint: &str,
) -> Result<(TcpStream, IpAddr), NetworkError> {
    let mut failed = None;
    for (index, address) in addresses.iter().enumerate() {
        let is_last = index + 1 == addresses.len();
        let until = if is_last { deadline } else { deadline.min(Instant::now() + ADDRESS_TIMEOUT) };
        match timeout_at(until, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // Plugins send small requests, and Nagle's algorithm would delay each of them by 40
                // ms. If the option cannot be set, requests are only slower.
                let _ = stream.set_nodelay(true);
                return Ok((stream, *address));
            }
            Ok(Err(error)) => failed = Some(error),
            Err(_) => {}
        }
    }
    Err(match failed {
        Some(error) => ReachError::Connect { endpoint: endpoint.to_owned(), error }.into(),
        None => NetworkError::ConnectTimeout(endpoint.to_owned()),
    })
}

/// Maximum number of bytes that are read at once. It also limits the size of a response's headers.
/// Larger reads only take more memory.
const MAX_READ_BYTES: usize = 128 * 1024;

async fn handshake<S>(stream: S, endpoint: &str) -> Result<Connection, NetworkError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_READ_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| NetworkError::Exchange { endpoint: endpoint.to_owned(), error })?;
    // The connection's task ends when the sender is dropped. The sender's requests return the
    // task's errors.
    tokio::spawn(connection);
    Ok(Connection { sender, address: None })
}

/// Opens a tunnel through a proxy, over a connection to it.
pub(crate) async fn open_tunnel(
    proxy: &Proxy,
    endpoint: &str,
    stream: TcpStream,
) -> Result<TcpStream, NetworkError> {
    let refused = |reason: String| {
        let (proxy, endpoint) = (proxy.to_string(), endpoint.to_owned());
        NetworkError::Reach(ReachError::Proxy { proxy, endpoint, reason })
    };
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| refused(error.to_string()))?;
    let connection = tokio::spawn(connection.without_shutdown());
    let mut request = Request::builder().method(Method::CONNECT).uri(endpoint).header(header::HOST, endpoint);
    if let Some(authorization) = &proxy.authorization {
        request = request.header(header::PROXY_AUTHORIZATION, authorization);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|error| refused(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(|error| refused(error.to_string()))?;
    if response.status() != StatusCode::OK {
        return Err(refused(format!("it responded with {}", response.status())));
    }
    drop((response, sender));
    let parts = connection
        .await
        .map_err(io::Error::other)
        .and_then(|parts| parts.map_err(io::Error::other))
        .map_err(|error| refused(error.to_string()))?;
    if !parts.read_buf.is_empty() {
        return Err(refused("it sent data before the tunnel was used".to_owned()));
    }
    Ok(parts.io.into_inner())
}

/// The configuration that all connectors of a client share.
pub(crate) struct ConnectionConfig {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) roots: Tls,
}

impl ConnectionConfig {
    pub(crate) fn connector<'a>(
        &'a self,
        authority: &'a dyn HttpAuthority,
        within: Duration,
    ) -> Connector<'a> {
        Connector { authority, resolver: &*self.resolver, roots: &self.roots, within }
    }
}
