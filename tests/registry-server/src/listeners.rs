//! The origins of a server, and the connections to them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming as HyperBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::answer::Incoming;
use crate::body::{Cut, ServedBody};
use crate::proxy;
use crate::server::Shared;

/// One of the addresses of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    Plain,
    Tls,
    OtherPlain,
    OtherTls,
    Proxy,
}

impl Origin {
    const ALL: [Self; 5] = [Self::Plain, Self::Tls, Self::OtherPlain, Self::OtherTls, Self::Proxy];

    /// Returns the origin with the same scheme and another port.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Plain => Self::OtherPlain,
            Self::OtherPlain => Self::Plain,
            Self::Tls | Self::Proxy => Self::OtherTls,
            Self::OtherTls => Self::Tls,
        }
    }

    fn has_tls(self) -> bool {
        matches!(self, Self::Tls | Self::OtherTls)
    }
}

#[derive(Clone, Debug)]
pub struct ServerAddresses([SocketAddr; 5]);

impl ServerAddresses {
    pub fn port(&self, origin: Origin) -> u16 {
        self.0[origin as usize].port()
    }

    /// Returns the URL of an origin, without a trailing slash.
    pub fn url(&self, origin: Origin) -> String {
        let port = self.port(origin);
        if origin.has_tls() {
            format!("https://localhost:{port}")
        } else {
            format!("http://127.0.0.1:{port}")
        }
    }
}

pub(crate) struct Listeners([TcpListener; 5]);

impl Listeners {
    pub(crate) async fn bind() -> Self {
        let mut bound = Vec::new();
        for _ in Origin::ALL {
            bound.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
        }
        Self(bound.try_into().unwrap())
    }

    pub(crate) fn addresses(&self) -> ServerAddresses {
        ServerAddresses(std::array::from_fn(|index| self.0[index].local_addr().unwrap()))
    }

    /// Accepts connections until the runtime ends.
    pub(crate) fn serve(self, shared: &Arc<Shared>, acceptor: &TlsAcceptor) {
        for (origin, listener) in Origin::ALL.into_iter().zip(self.0) {
            let (shared, acceptor) = (Arc::clone(shared), acceptor.clone());
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let _ = stream.set_nodelay(true);
                    let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
                    tokio::spawn(async move {
                        match origin {
                            Origin::Proxy => proxy::serve(stream, shared, acceptor).await,
                            _ if origin.has_tls() => {
                                if let Ok(stream) = acceptor.accept(stream).await {
                                    connection(stream, shared, origin, "https").await;
                                }
                            }
                            _ => connection(stream, shared, origin, "http").await,
                        }
                    });
                }
            });
        }
    }
}

/// Serves the requests of one connection.
pub(crate) async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    shared: Arc<Shared>,
    origin: Origin,
    scheme: &'static str,
) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { respond(&shared, origin, scheme, request).await }
    });
    // The client may end the connection at any time.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .half_close(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Returns the response to a request.
pub(crate) async fn respond(
    shared: &Shared,
    origin: Origin,
    scheme: &str,
    request: Request<HyperBody>,
) -> Result<Response<ServedBody>, Cut> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
    let host = parts.uri.authority().map(ToString::to_string).or_else(|| {
        let host = parts.headers.get("host").and_then(|host| host.to_str().ok());
        host.map(str::to_owned)
    });
    let incoming = Incoming {
        origin,
        base: format!("{scheme}://{}", host.unwrap_or_default()),
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    shared.respond(incoming).await
}
