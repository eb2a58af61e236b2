//! Sends the requests of a provider to real servers, with the host's HTTP client. In the sandbox, the same
//! client sends them.

use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use wardian_network::proxy::ProxySettings;
use wardian_network::{
    BoxedBody, Client, ClientOptions, HttpLimits, OperatorAuthority, RequestLimiter, SystemResolver,
    Timeouts, TlsRoots,
};
use wardian_sdk::http::{Error, Request, Response};

use crate::environment::HttpHandler;

/// Maximum number of concurrent requests.
const MAX_REQUESTS: usize = 16;
/// Maximum size of a response.
const MAX_RESPONSE: u64 = 64 << 20;

/// The client of the process, and the runtime on which its connections are driven.
static CLIENT: LazyLock<Result<(Client, tokio::runtime::Runtime), String>> = LazyLock::new(|| {
    let proxies = ProxySettings::from_variables(|name| std::env::var(name).ok())
        .map_err(|error| format!("the variable {} {}", error.variable, error.problem))?;
    let client = Client::new(ClientOptions {
        resolver: Arc::new(SystemResolver),
        roots: TlsRoots::from_system(),
        proxies,
        limits: HttpLimits { limiter: RequestLimiter::new(MAX_REQUESTS), response: MAX_RESPONSE },
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    Ok((client, runtime))
});

/// Returns a function that sends requests to the servers in their URLs.
pub(crate) fn live_handler() -> HttpHandler {
    Arc::new(send)
}

fn send(request: &Request) -> Result<Response, Error> {
    let url = request.url().split(['?', '#']).next().unwrap_or_default();
    let name = format!("{} {url}", request.method());
    let failed = |problem: String| Error::Failed { request: name.clone(), problem };
    let (client, runtime) = CLIENT.as_ref().map_err(|problem| failed(problem.clone()))?;
    let outgoing =
        outgoing(request).map_err(|problem| Error::InvalidRequest { request: name.clone(), problem })?;
    let timeouts = request.time_limit().map_or_else(Timeouts::default, |limit| Timeouts {
        connect: limit,
        first_byte: limit,
        between_bytes: limit,
    });
    let (sender, receiver) = mpsc::channel();
    let client = client.clone();
    runtime.spawn(async move {
        // The receiver waits for the result.
        let _ = sender.send(exchange(&client, outgoing, timeouts).await);
    });
    let received = receiver.recv_timeout(limit_of(timeouts));
    received.map_err(|_| failed("there is no response".to_owned()))?.map_err(failed)
}

/// Returns the time after which a request has failed in any case.
fn limit_of(timeouts: Timeouts) -> Duration {
    (timeouts.connect + timeouts.first_byte + timeouts.between_bytes).max(Duration::from_hours(1))
}

fn outgoing(request: &Request) -> Result<http::Request<BoxedBody>, String> {
    let mut builder = http::Request::builder().method(request.method()).uri(request.url());
    for (name, value) in request.headers() {
        builder = builder.header(name, value);
    }
    let has_length = request.headers().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let needs_length = !request.content().is_empty() || !matches!(request.method(), "GET" | "HEAD");
    if needs_length && !has_length {
        builder = builder.header("Content-Length", request.content().len());
    }
    let body = Full::new(Bytes::copy_from_slice(request.content())).map_err(|never| match never {});
    builder.body(body.boxed_unsync()).map_err(|error| error.to_string())
}

async fn exchange(
    client: &Client,
    request: http::Request<BoxedBody>,
    timeouts: Timeouts,
) -> Result<Response, String> {
    let sent = client.send(client.ticket(), Arc::new(OperatorAuthority), request, timeouts).await;
    let response = sent.map_err(|error| error.to_string())?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    let response = Response::new(parts.status.as_u16(), body);
    Ok(parts
        .headers
        .iter()
        .fold(response, |response, (name, value)| response.with_header(name.as_str(), value.as_bytes())))
}
