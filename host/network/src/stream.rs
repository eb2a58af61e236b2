//! Opens a stream for a program whose protocol the host does not speak.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use wardian_access::{Host, NetworkRequest, Scheme};

use crate::connection::{endpoint, open_tunnel};
use crate::proxy::ProxySettings;

/// Connects to an address that was allowed as an address of `host`. If the user's proxy is
/// responsible for the host, the stream is a tunnel through the proxy, which resolves the name again.
///
/// # Errors
/// Returns an error if the server or the proxy cannot be reached, or if the proxy refuses.
pub async fn connect_stream(
    proxies: &ProxySettings,
    host: &Host,
    scheme: Scheme,
    address: SocketAddr,
) -> io::Result<TcpStream> {
    let request = NetworkRequest::connection(scheme, &host.to_string(), address.port());
    let request = request.map_err(io::Error::other)?;
    let proxy = match scheme {
        Scheme::Https | Scheme::Http => proxies.for_request(&request),
        Scheme::Tcp | Scheme::Udp => None,
    };
    let Some(proxy) = proxy else { return TcpStream::connect(address).await };
    let stream = TcpStream::connect((proxy.host.as_str(), proxy.port)).await?;
    open_tunnel(proxy, &endpoint(&request), stream).await.map_err(io::Error::other)
}
