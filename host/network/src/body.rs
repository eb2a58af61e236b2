//! Request and response bodies, with size limits and byte counts.

use std::error::Error;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;
use wardian_access::{HttpAuthority, HttpExchange, NetworkRequest};

use crate::boxed_body::BoxedBody;
use crate::error::NetworkError;
use crate::pool::{Connection, Endpoint, Pool};
use crate::request_limiter::Permit;

/// Counts the bytes of a request body.
pub(crate) struct CountedBody {
    body: BoxedBody,
    bytes: Arc<AtomicU64>,
}

impl CountedBody {
    pub(crate) fn new(body: BoxedBody, bytes: Arc<AtomicU64>) -> Self {
        Self { body, bytes }
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reports an exchange to the authority when it ends, successfully or not.
pub(crate) struct Report {
    authority: Arc<dyn HttpAuthority>,
    exchange: HttpExchange,
    sent: Arc<AtomicU64>,
    started: Instant,
}

impl Report {
    pub(crate) fn new(
        authority: Arc<dyn HttpAuthority>,
        request: NetworkRequest,
        sent: Arc<AtomicU64>,
    ) -> Self {
        let exchange = HttpExchange {
            request,
            address: None,
            status: None,
            sent: 0,
            received: 0,
            duration: Duration::ZERO,
        };
        Self { authority, exchange, sent, started: Instant::now() }
    }

    pub(crate) fn set_address(&mut self, address: Option<IpAddr>) {
        self.exchange.address = address;
    }

    pub(crate) fn set_status(&mut self, status: http::StatusCode) {
        self.exchange.status = Some(status.as_u16());
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.exchange.sent = self.sent.load(Ordering::Relaxed);
        self.exchange.duration = self.started.elapsed();
        self.authority.finished(&self.exchange);
    }
}

/// The body of a response. While it exists, it holds a permit of the request limiter.
pub struct ResponseBody {
    incoming: Incoming,
    left: u64,
    limits: BodyLimits,
    silence: Pin<Box<Sleep>>,
    /// The connection, which is returned to the pool when the body is complete.
    connection: Option<(Arc<Pool>, Endpoint, Connection)>,
    report: Report,
    _permit: Permit,
}

#[derive(Clone, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) endpoint: String,
    pub(crate) bytes: u64,
    pub(crate) between_bytes: Duration,
}

impl ResponseBody {
    pub(crate) fn new(
        incoming: Incoming,
        limits: BodyLimits,
        connection: (Arc<Pool>, Endpoint, Connection),
        report: Report,
        permit: Permit,
    ) -> Self {
        let silence = Box::pin(tokio::time::sleep(limits.between_bytes));
        let mut body = Self {
            incoming,
            left: limits.bytes,
            limits,
            silence,
            connection: Some(connection),
            report,
            _permit: permit,
        };
        body.return_connection_at_end();
        body
    }

    fn return_connection_at_end(&mut self) {
        if self.incoming.is_end_stream()
            && let Some((pool, endpoint, mut connection)) = self.connection.take()
        {
            // The connection becomes ready shortly after the exchange has ended.
            if connection.sender.is_ready() {
                pool.put(endpoint, connection);
            } else {
                tokio::spawn(async move {
                    if connection.sender.ready().await.is_ok() {
                        pool.put(endpoint, connection);
                    }
                });
            }
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = NetworkError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, NetworkError>>> {
        let this = &mut *self;
        let polled = match Pin::new(&mut this.incoming).poll_frame(context) {
            Poll::Pending => {
                return match this.silence.as_mut().poll(context) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(()) => {
                        this.connection = None;
                        Poll::Ready(Some(Err(NetworkError::ReadTimeout(this.limits.endpoint.clone()))))
                    }
                };
            }
            Poll::Ready(polled) => polled,
        };
        let answer = match polled {
            None => None,
            Some(Err(error)) => {
                this.connection = None;
                Some(Err(NetworkError::Exchange { endpoint: this.limits.endpoint.clone(), error }))
            }
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                let deadline = tokio::time::Instant::now() + this.limits.between_bytes;
                this.silence.as_mut().reset(deadline);
                match this.left.checked_sub(length) {
                    Some(left) => {
                        this.left = left;
                        this.report.exchange.received += length;
                        Some(Ok(frame))
                    }
                    None => {
                        this.connection = None;
                        let (endpoint, limit) = (this.limits.endpoint.clone(), this.limits.bytes);
                        Some(Err(NetworkError::TooLarge { endpoint, limit }))
                    }
                }
            }
        };
        this.return_connection_at_end();
        Poll::Ready(answer)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
