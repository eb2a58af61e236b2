//! Sends collected spans to the collector that the environment specifies.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use tokio::time::timeout;
use wardian_network::proxy::{ProxyError, ProxySettings};
use wardian_network::{
    BoxedBody, Client, ClientOptions, HttpLimits, NetworkError, OperatorAuthority, RequestLimiter,
    SystemResolver, Timeouts, TlsRoots,
};

use crate::collector::{Collected, SpanCollector};
use crate::otlp;

/// Maximum number of spans in one request.
const MAX_SPANS_IN_REQUEST: usize = 2_000;
/// Maximum size of a response in bytes.
const MAX_RESPONSE_BYTES: u64 = 1 << 20;

/// Traces that could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("the request is invalid: {0}")]
    Request(#[from] http::Error),
    /// The collector rejected the spans.
    #[error("the collector returned the status {0}")]
    Rejected(StatusCode),
    #[error("the collector did not respond within the time limit")]
    Timeout,
}

impl SpanCollector {
    /// Sends the spans that have ended, and returns the number of spans that were not collected.
    ///
    /// # Errors
    /// Returns an error if the collector cannot be reached or rejects the spans. The remaining
    /// spans are not sent.
    pub async fn export(
        &self,
        version: &str,
        proxies: Result<ProxySettings, ProxyError>,
    ) -> Result<u64, ExportError> {
        let Collected { spans, dropped } = self.take();
        if spans.is_empty() {
            return Ok(dropped);
        }
        let client = Client::new(ClientOptions {
            resolver: Arc::new(SystemResolver),
            roots: TlsRoots::from_system(),
            proxies: proxies?,
            limits: HttpLimits { limiter: RequestLimiter::new(1), response: MAX_RESPONSE_BYTES },
        });
        let sending = async {
            for part in spans.chunks(MAX_SPANS_IN_REQUEST) {
                self.send(&client, otlp::request(self.trace, &self.settings.resource, version, part)).await?;
            }
            Ok(dropped)
        };
        timeout(self.settings.timeout, sending).await.map_err(|_| ExportError::Timeout)?
    }

    async fn send(&self, client: &Client, body: Vec<u8>) -> Result<(), ExportError> {
        let mut request =
            Request::post(&self.settings.endpoint).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        let never = |error: std::convert::Infallible| -> Box<dyn Error + Send + Sync> { match error {} };
        let body: BoxedBody = Full::new(Bytes::from(body)).map_err(never).boxed_unsync();
        let timeouts = Timeouts {
            connect: self.settings.timeout,
            first_byte: self.settings.timeout,
            between_bytes: self.settings.timeout,
        };
        let response =
            client.send(client.ticket(), Arc::new(OperatorAuthority), request.body(body)?, timeouts).await?;
        if response.status().is_success() { Ok(()) } else { Err(ExportError::Rejected(response.status())) }
    }
}
