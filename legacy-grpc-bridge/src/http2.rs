//! Implements HTTP/2 over one connection to one plugin.
//!
//! A plugin has one connection, which is opened after its handshake and never reopened, since no
//! process listens at the address after the plugin has exited. Therefore, tonic uses this module
//! for frames and connection state instead of its own channel, which would queue requests, balance
//! load and reconnect.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::handshake::shown;

/// The flow-control window in bytes, for each stream and for the connection.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Any byte stream.
pub(crate) trait Bidirectional: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bidirectional for T {}

/// An error that occurred before a gRPC response was received.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Http2Error {
    /// The connection, or one of its streams, has ended.
    #[error("{}", describe_error(.0))]
    Connection(#[source] h2::Error),
    /// The response is an HTTP response, but not a gRPC response.
    #[error("its response is {kind} with HTTP status {status}, not gRPC")]
    NotGrpc {
        /// The HTTP status.
        status: u16,
        /// The content type.
        kind: String,
    },
}

impl Http2Error {
    /// Returns whether the connection has ended, not only one of its streams.
    pub(crate) fn is_of_all(&self) -> bool {
        matches!(self, Self::Connection(error) if error.is_io() || error.is_go_away())
    }
}

fn describe_error(error: &h2::Error) -> String {
    let ended = error.get_io().is_some_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof);
    // A peer that is closing a connection may reset the streams first.
    let given_up = error.is_reset() && error.is_remote() && error.reason() == Some(h2::Reason::CANCEL);
    if ended || given_up {
        "it closed the connection".to_owned()
    } else {
        format!("the connection failed: {error}")
    }
}

/// An error that occurs while an HTTP/2 connection is established.
pub(crate) type HandshakeError = h2::Error;

/// An HTTP/2 connection. Clones refer to the same connection.
#[derive(Clone)]
pub(crate) struct Http2Connection {
    requests: h2::client::SendRequest<Bytes>,
    closed: watch::Receiver<bool>,
}

impl Http2Connection {
    /// Establishes an HTTP/2 connection, which exists as long as a clone of this value or a pending
    /// response exists.
    pub(crate) async fn begin(stream: Box<dyn Bidirectional>) -> Result<Self, HandshakeError> {
        let (requests, connection) = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .enable_push(false)
            .handshake(stream)
            .await?;
        let (ended, closed) = watch::channel(false);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(target: "wardian::plugin", "connection to a native plugin ended: {error}");
            }
            // If all clones were dropped, the receiver no longer exists.
            let _ = ended.send(true);
        });
        Ok(Self { requests, closed })
    }

    /// Whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow() || self.closed.has_changed().is_err()
    }

    /// Whether the connection ends within `patience`. A stream can be reset a moment before the end
    /// of the connection is detected.
    pub(crate) async fn ends_within(&self, patience: Duration) -> bool {
        let mut closed = self.closed.clone();
        // An error means that the connection's task has ended.
        timeout(patience, closed.wait_for(|closed| *closed)).await.is_ok()
    }
}

type Answering<T> = Pin<Box<dyn Future<Output = Result<T, Http2Error>> + Send>>;

impl tower_service::Service<http::Request<tonic::body::Body>> for Http2Connection {
    type Response = http::Response<Answer>;
    type Error = Http2Error;
    type Future = Answering<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Http2Error>> {
        self.requests.poll_ready(context).map_err(Http2Error::Connection)
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let requests = self.requests.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let mut requests = requests.ready().await.map_err(Http2Error::Connection)?;
            let (response, sending) = requests
                .send_request(http::Request::from_parts(head, ()), false)
                .map_err(Http2Error::Connection)?;
            let mut response = std::pin::pin!(response);
            let mut sending = std::pin::pin!(send(body, sending));
            // A plugin that rejects the request may respond before it has read the complete
            // request.
            let early = tokio::select! {
                biased;
                _sent = &mut sending => None,
                response = &mut response => Some(response),
            };
            let response = match early {
                Some(response) => response,
                None => response.await,
            };
            let response = response.map_err(Http2Error::Connection)?;
            refuse_other_content(&response)?;
            Ok(response.map(|stream| Answer { stream, data_ended: false }))
        })
    }
}

/// Rejects a response that is not a gRPC response. Responses with other content types are intended
/// for browsers and users, not for gRPC clients.
fn refuse_other_content(response: &http::Response<h2::RecvStream>) -> Result<(), Http2Error> {
    let kind = response.headers().get(http::header::CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    match kind {
        Some(kind) if kind.starts_with("application/grpc") => Ok(()),
        kind => Err(Http2Error::NotGrpc {
            status: response.status().as_u16(),
            kind: kind.map_or_else(|| "something".to_owned(), |kind| shown(&kind)),
        }),
    }
}

/// Sends the body. h2 buffers the data that exceeds the window, which uses no additional memory
/// because the data is already in memory. An error that occurs here is also reported when the
/// response is read.
async fn send(
    body: tonic::body::Body,
    mut stream: h2::SendStream<Bytes>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut body = std::pin::pin!(body);
    while let Some(frame) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            stream.send_data(data, false)?;
        }
    }
    stream.send_data(Bytes::new(), true)?;
    Ok(())
}

/// The body of a response, with the trailers that contain the gRPC status.
pub(crate) struct Answer {
    stream: h2::RecvStream,
    data_ended: bool,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Http2Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Http2Error>>> {
        if !self.data_ended {
            match self.stream.poll_data(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(data))) => {
                    let released = self.stream.flow_control().release_capacity(data.len());
                    return Poll::Ready(Some(
                        released.map(|()| Frame::data(data)).map_err(Http2Error::Connection),
                    ));
                }
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(Http2Error::Connection(error))));
                }
                Poll::Ready(None) => self.data_ended = true,
            }
        }
        self.stream.poll_trailers(context).map(|trailers| match trailers {
            Ok(Some(trailers)) => Some(Ok(Frame::trailers(trailers))),
            Ok(None) => None,
            Err(error) => Some(Err(Http2Error::Connection(error))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }
}
