//! An HTTP proxy that forwards every request to the server itself, regardless of the requested
//! host. Therefore, tests can use any host name without name resolution.

use std::convert::Infallible;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming as HyperBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::body::Cut;
use crate::listeners::{Origin, connection, respond};
use crate::request_log::RecordedRequest;
use crate::server::Shared;

type ProxyBody = BoxBody<Bytes, Cut>;

pub(crate) async fn serve(stream: TcpStream, shared: Arc<Shared>, acceptor: TlsAcceptor) {
    let service = service_fn(move |request| {
        let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
        async move { answer(shared, acceptor, request).await }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

async fn answer(
    shared: Arc<Shared>,
    acceptor: TlsAcceptor,
    request: Request<HyperBody>,
) -> Result<Response<ProxyBody>, Cut> {
    if !is_authorized(&shared, &request) {
        record(&shared, &request, 407);
        return Ok(empty(407, &[("Proxy-Authenticate", "Basic realm=\"proxy\"")]));
    }
    if request.method() != Method::CONNECT {
        let response = respond(&shared, Origin::Proxy, "http", request).await?;
        return Ok(response.map(BoxBody::new));
    }
    record(&shared, &request, 200);
    let is_secure = request.uri().port_u16() == Some(443);
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(request).await else { return };
        let stream = TokioIo::new(upgraded);
        if is_secure {
            if let Ok(stream) = acceptor.accept(stream).await {
                connection(stream, shared, Origin::Proxy, "https").await;
            }
        } else {
            connection(stream, shared, Origin::Proxy, "http").await;
        }
    });
    Ok(empty(200, &[]))
}

fn is_authorized(shared: &Shared, request: &Request<HyperBody>) -> bool {
    let Some(password) = &shared.site().description.proxy_password else { return true };
    let expected = format!("Basic {}", STANDARD.encode(password));
    request.headers().get("proxy-authorization").is_some_and(|value| value.as_bytes() == expected.as_bytes())
}

fn record(shared: &Shared, request: &Request<HyperBody>, status: u16) {
    shared.log.add(RecordedRequest {
        origin: Origin::Proxy,
        method: request.method().to_string(),
        path: request.uri().to_string(),
        headers: request
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        status,
    });
}

fn empty(status: u16, headers: &[(&str, &str)]) -> Response<ProxyBody> {
    let mut builder = Response::builder().status(status);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(Empty::new().map_err(|impossible: Infallible| match impossible {}).boxed()).unwrap()
}
