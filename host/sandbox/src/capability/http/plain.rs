//! `wardian:plugin/http`: requests whose bodies are read and written by blocking calls.
//!
//! A request becomes a request of the same [`Sender`](super::requests::Sender) as with `wasi:http`, so
//! policy, records, limits and the end of an operation apply to both in the same way. The guest
//! receives only the kind of an error.

use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Full};
use tokio::sync::mpsc;
use wardian_network::{BoxedBody, Timeouts};
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;
use wasmtime_wasi_http::Error;

use super::exchanges::HeldBody;
use crate::bindings::wardian::plugin::http::{
    self, Host, HostResponseBody, HostUpload, HttpError, Request, RequestHead, Response,
};
use crate::capability::Interruption;
use crate::state::GuestState;

/// Maximum number of bytes that one read returns.
const MAX_READ: usize = 1 << 20;
/// Number of parts of a request body that wait to be sent.
const QUEUED_PARTS: usize = 1;

pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    http::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
}

/// A response body that a guest reads.
pub struct PlainBody {
    body: HeldBody,
    /// Ends the body, if the request ends when the run is interrupted.
    interruption: Option<Interruption>,
    /// Received bytes that the guest has not read yet.
    rest: Bytes,
}

type Answer = Result<::http::Response<HeldBody>, Error>;

/// A request whose body a guest writes.
pub struct PlainUpload {
    /// Sends parts of the body; `None` after its end.
    parts: Option<mpsc::Sender<Part>>,
    interruption: Option<Interruption>,
    sending: AbortOnDropJoinHandle<Answer>,
}

enum Part {
    Bytes(Bytes),
    /// The body is complete.
    End,
}

/// A request body that consists of the parts that a guest writes. If the guest drops the upload, the
/// body ends with an error, so the server does not take its beginning for the complete body.
struct Parts {
    parts: mpsc::Receiver<Part>,
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.parts.poll_recv(context).map(|part| match part {
            Some(Part::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Part::End) => None,
            None => Some(Err("the request was abandoned".into())),
        })
    }
}

impl PlainBody {
    async fn read(&mut self, most: usize) -> Result<Vec<u8>, HttpError> {
        while self.rest.is_empty() {
            let frame = or_interrupted(self.interruption.as_mut(), self.body.frame()).await?;
            let Some(frame) = frame else { return Ok(Vec::new()) };
            // Trailers are ignored.
            if let Ok(data) = frame.map_err(|error| error_for_guest(&error))?.into_data() {
                self.rest = data;
            }
        }
        let length = most.min(MAX_READ).min(self.rest.len());
        Ok(self.rest.split_to(length).to_vec())
    }
}

/// Creates the request that is submitted to policy.
fn outgoing(head: &RequestHead, body: BoxedBody) -> Result<::http::Request<BoxedBody>, HttpError> {
    let invalid = |problem: &str| HttpError::Invalid(problem.to_owned());
    let mut request = ::http::Request::new(body);
    *request.method_mut() = ::http::Method::from_bytes(head.method.as_bytes())
        .map_err(|_| invalid("the method is not a valid token"))?;
    let url: ::http::Uri = head.url.parse().map_err(|_| invalid("the URL is malformed"))?;
    if !matches!(url.scheme_str(), Some("https" | "http")) || url.authority().is_none() {
        return Err(invalid("the URL is not absolute, or its scheme is neither \"https\" nor \"http\""));
    }
    *request.uri_mut() = url;
    let headers = request.headers_mut();
    for (name, value) in &head.headers {
        let parsed = ::http::HeaderName::from_bytes(name.as_bytes())
            .ok()
            .zip(::http::HeaderValue::from_bytes(value).ok());
        let Some((name, value)) = parsed else {
            return Err(invalid("the name or the value of a header is malformed"));
        };
        if headers.try_append(name, value).is_err() {
            return Err(invalid("it has too many headers"));
        }
    }
    Ok(request)
}

/// Awaits a future, unless the run is interrupted before.
async fn or_interrupted<T>(
    interruption: Option<&mut Interruption>,
    future: impl Future<Output = T>,
) -> Result<T, HttpError> {
    let Some(interruption) = interruption else { return Ok(future.await) };
    tokio::select! {
        biased;
        output = future => Ok(output),
        () = interruption.wait() => Err(HttpError::Interrupted),
    }
}

fn timeouts(set: &http::Timeouts) -> Timeouts {
    let usual = Timeouts::default();
    let chosen = |set: Option<u64>, usual| set.map_or(usual, Duration::from_millis);
    Timeouts {
        connect: chosen(set.connect, usual.connect),
        first_byte: chosen(set.first_byte, usual.first_byte),
        between_bytes: chosen(set.between_bytes, usual.between_bytes),
    }
}

fn error_for_guest(error: &Error) -> HttpError {
    let failed = |problem: &str| HttpError::Failed(problem.to_owned());
    match error {
        Error::HttpRequestDenied | Error::DestinationIpProhibited => HttpError::Denied,
        Error::HttpRequestUriInvalid => HttpError::Invalid("the request is malformed".to_owned()),
        Error::ConnectionTimeout => HttpError::TimedOut("the connection was not opened in time".to_owned()),
        Error::HttpResponseTimeout => HttpError::TimedOut("the response did not begin in time".to_owned()),
        Error::ConnectionReadTimeout => {
            HttpError::TimedOut("the response body did not continue in time".to_owned())
        }
        Error::HttpResponseBodySize(_) => HttpError::TooLarge,
        Error::ConnectionRefused => failed("connection refused"),
        Error::ConnectionTerminated => failed("connection terminated"),
        Error::ConnectionLimitReached => failed("connection limit reached"),
        Error::ConfigurationError => failed("the host's network settings are invalid"),
        Error::TlsCertificateError => failed("tls certificate error"),
        Error::TlsProtocolError => failed("tls protocol error"),
        Error::DnsError { .. } => failed("dns error"),
        Error::DestinationNotFound => failed("destination not found"),
        Error::DestinationIpUnroutable => failed("destination ip unroutable"),
        Error::DestinationUnavailable => failed("destination unavailable"),
        _ => failed("http protocol error"),
    }
}

impl GuestState {
    /// Returns the interruption that ends a request. A request that begins after the interruption
    /// does not end, so a plugin can still clean up.
    fn ends_on(&self, head: &RequestHead) -> Option<Interruption> {
        let interruption = self.interruption();
        (head.ends_on_interrupt && !interruption.is_interrupted()).then_some(interruption)
    }

    fn push_response(
        &mut self,
        response: ::http::Response<HeldBody>,
        interruption: Option<Interruption>,
    ) -> wasmtime::Result<Result<Response, HttpError>> {
        let (parts, body) = response.into_parts();
        let headers = parts
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        let body = self.table().push(PlainBody { body, interruption, rest: Bytes::new() })?;
        Ok(Ok(Response { status: parts.status.as_u16(), headers, body }))
    }

    fn respond(
        &mut self,
        answer: Result<Answer, HttpError>,
        interruption: Option<Interruption>,
    ) -> wasmtime::Result<Result<Response, HttpError>> {
        match answer {
            Ok(Ok(response)) => self.push_response(response, interruption),
            Ok(Err(error)) => Ok(Err(error_for_guest(&error))),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl Host for GuestState {
    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Response, HttpError>> {
        let Request { head, body } = request;
        let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
        let outgoing = match outgoing(&head, body) {
            Ok(outgoing) => outgoing,
            Err(error) => return Ok(Err(error)),
        };
        let mut interruption = self.ends_on(&head);
        let sending = self.requests().sender.begin(outgoing, timeouts(&head.timeouts));
        let answer = Box::pin(or_interrupted(interruption.as_mut(), sending)).await;
        self.respond(answer, interruption)
    }

    async fn start(
        &mut self,
        head: RequestHead,
    ) -> wasmtime::Result<Result<Resource<PlainUpload>, HttpError>> {
        let (parts, receiver) = mpsc::channel(QUEUED_PARTS);
        let outgoing = match outgoing(&head, Parts { parts: receiver }.boxed_unsync()) {
            Ok(outgoing) => outgoing,
            Err(error) => return Ok(Err(error)),
        };
        let sending = self.requests().sender.begin(outgoing, timeouts(&head.timeouts));
        let (sending, interruption) = (wasmtime_wasi::runtime::spawn(sending), self.ends_on(&head));
        Ok(Ok(self.table().push(PlainUpload { parts: Some(parts), interruption, sending })?))
    }
}

impl HostResponseBody for GuestState {
    async fn read(
        &mut self,
        body: Resource<PlainBody>,
        most: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, HttpError>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(self.table().get_mut(&body)?.read(most).await)
    }

    async fn drop(&mut self, body: Resource<PlainBody>) -> wasmtime::Result<()> {
        self.table().delete(body)?;
        Ok(())
    }
}

impl HostUpload for GuestState {
    async fn write(
        &mut self,
        upload: Resource<PlainUpload>,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<(), HttpError>> {
        let upload = self.table().get_mut(&upload)?;
        let Some(parts) = &upload.parts else {
            return Ok(Err(HttpError::Invalid("the request body is already complete".to_owned())));
        };
        if !bytes.is_empty() {
            // If the receiver was dropped, `finish` returns the response or the error.
            let sent = parts.send(Part::Bytes(bytes.into()));
            if let Err(error) = or_interrupted(upload.interruption.as_mut(), sent).await {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    async fn finish(
        &mut self,
        upload: Resource<PlainUpload>,
    ) -> wasmtime::Result<Result<Response, HttpError>> {
        let upload = self.table().get_mut(&upload)?;
        let Some(parts) = upload.parts.take() else {
            return Ok(Err(HttpError::Invalid("the request body is already complete".to_owned())));
        };
        let mut interruption = upload.interruption.take();
        let sending = async {
            let _ = parts.send(Part::End).await;
            (&mut upload.sending).await
        };
        let answer = or_interrupted(interruption.as_mut(), sending).await;
        self.respond(answer, interruption)
    }

    async fn drop(&mut self, upload: Resource<PlainUpload>) -> wasmtime::Result<()> {
        self.table().delete(upload)?;
        Ok(())
    }
}
