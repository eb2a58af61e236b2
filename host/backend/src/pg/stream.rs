//! Opens the connection to a server, with TLS if it is required.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use wardian_network::TlsSettings;

use super::connection_string::{ConnectionSettings, Server};
use super::traffic::Traffic;

/// A connection to a server.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to the server.
pub(super) async fn connect(
    settings: &ConnectionSettings,
    traffic: &mut Traffic,
) -> io::Result<Box<dyn Stream>> {
    match &settings.server {
        #[cfg(unix)]
        Server::Socket(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
        #[cfg(not(unix))]
        Server::Socket(_) => Err(io::Error::other("this system has no Unix domain sockets")),
        Server::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            traffic.address = stream.peer_addr().ok().map(|address| address.ip());
            stream.set_nodelay(true)?;
            match &settings.tls {
                None => Ok(Box::new(stream)),
                Some(tls) => with_tls(stream, host, tls).await,
            }
        }
    }
}

/// Requests TLS, and opens a TLS session if the server accepts it.
async fn with_tls(mut stream: TcpStream, host: &str, settings: &TlsSettings) -> io::Result<Box<dyn Stream>> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await?;
    let mut answer = [0];
    stream.read_exact(&mut answer).await?;
    if answer != *b"S" {
        return Err(io::Error::other(
            "the server does not support TLS; if the network is trusted, set sslmode=disable in the connection string",
        ));
    }
    let settings = settings.clone();
    let config = tokio::task::spawn_blocking(move || settings.config()).await.map_err(io::Error::other)?;
    let config = config.map_err(io::Error::other)?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let stream = TlsConnector::from(Arc::clone(&config)).connect(name, stream).await?;
    Ok(Box::new(stream))
}
