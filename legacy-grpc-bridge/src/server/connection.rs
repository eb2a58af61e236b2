//! Serves gRPC over one HTTP/2 connection: converts frames to messages, and messages to calls.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::SendStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::sync::{Notify, mpsc};
use tonic::{Code, Status};
use wardian_plugin::Continue;

use super::service::Service;
use crate::http2::Bidirectional;
use crate::process::MAX_MESSAGE_LENGTH;

/// Length of a frame's flag and size.
const FRAME_HEAD: usize = 5;
const WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
/// The response of the health service: serving.
const HEALTHY: &[u8] = &[0x08, 0x01];

/// Serves a connection until it ends.
pub(super) async fn serve(
    stream: Box<dyn Bidirectional>,
    service: Arc<Service>,
    end: Arc<Notify>,
) -> Result<(), h2::Error> {
    let mut connection = h2::server::Builder::new()
        .initial_window_size(WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(1000)
        .handshake::<_, Bytes>(stream)
        .await?;
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted?;
        let (service, end) = (Arc::clone(&service), Arc::clone(&end));
        tokio::spawn(async move {
            if let Err(error) = call(request, respond, &service, &end).await {
                tracing::debug!(target: "wardian::plugin", "a call received no response: {error}");
            }
        });
    }
    Ok(())
}

async fn call(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    service: &Service,
    end: &Notify,
) -> Result<(), h2::Error> {
    let path = request.uri().path().to_owned();
    let (kind, rpc) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    match (kind, rpc) {
        // These services are not implemented, so their streams remain empty.
        ("plugin.GRPCStdio", "StreamStdio") | ("plugin.GRPCBroker", "StartStream") => {
            let stream = respond.send_response(head(), false)?;
            let _open = stream;
            std::future::pending().await
        }
        ("plugin.GRPCController", "Shutdown") => {
            let answered = answer(&mut respond, Ok(Bytes::new()));
            end.notify_one();
            answered
        }
        ("grpc.health.v1.Health", "Check") => answer(&mut respond, Ok(Bytes::from_static(HEALTHY))),
        ("tfplugin5.Provider" | "tfplugin6.Provider", rpc) if Service::is_streaming(rpc) => {
            match message(request.into_body()).await {
                Ok(message) => stream(rpc, message, &mut respond, service).await,
                Err(status) => answer(&mut respond, Err(status)),
            }
        }
        ("tfplugin5.Provider" | "tfplugin6.Provider", rpc) => {
            let result = match message(request.into_body()).await {
                Ok(message) => service.call(rpc, message).await,
                Err(status) => Err(status),
            };
            answer(&mut respond, result)
        }
        _ => answer(&mut respond, Err(Status::new(Code::Unimplemented, format!("there is no {path}")))),
    }
}

/// Serves a call with several responses. Responses that the host has not received yet are limited.
async fn stream(
    rpc: &str,
    message: Bytes,
    respond: &mut SendResponse<Bytes>,
    service: &Service,
) -> Result<(), h2::Error> {
    let mut stream = respond.send_response(head(), false)?;
    let (sender, mut receiver) = mpsc::unbounded_channel::<Bytes>();
    let queued = AtomicUsize::new(0);
    let is_too_large = AtomicBool::new(false);
    let work = async {
        let mut send = |message: Bytes| {
            let length = message.len();
            if queued.fetch_add(length, Ordering::Relaxed) + length > MAX_MESSAGE_LENGTH {
                is_too_large.store(true, Ordering::Relaxed);
                return Continue::Stop;
            }
            // The receiver is dropped when the host has closed the stream.
            if sender.send(message).is_ok() { Continue::Yes } else { Continue::Stop }
        };
        let result = service.stream(rpc, message, &mut send).await;
        drop(sender);
        result
    };
    let forward = async {
        while let Some(message) = receiver.recv().await {
            if let Err(error) = send_message(&mut stream, &message).await {
                receiver.close();
                return Err(error);
            }
            queued.fetch_sub(message.len(), Ordering::Relaxed);
        }
        Ok(())
    };
    let (result, forwarded) = tokio::join!(work, forward);
    forwarded?;
    let result = if is_too_large.load(Ordering::Relaxed) {
        Err(Status::new(Code::ResourceExhausted, "the responses are too large"))
    } else {
        result
    };
    let mut trailers = HeaderMap::new();
    match result {
        Ok(()) => _ = trailers.insert("grpc-status", HeaderValue::from_static("0")),
        // A message that is not a valid header value is omitted, since the code is sufficient.
        Err(status) => drop(status.add_header(&mut trailers)),
    }
    stream.send_trailers(trailers)
}

/// Sends a message when the host has enough capacity for it.
async fn send_message(stream: &mut SendStream<Bytes>, message: &Bytes) -> Result<(), h2::Error> {
    let mut frame = BytesMut::with_capacity(message.len() + FRAME_HEAD);
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.extend_from_slice(message);
    let mut frame = frame.freeze();
    while !frame.is_empty() {
        stream.reserve_capacity(frame.len());
        let Some(capacity) = poll_fn(|context| stream.poll_capacity(context)).await else {
            return Err(h2::Reason::CANCEL.into());
        };
        let part = frame.split_to(capacity?.min(frame.len()));
        stream.send_data(part, false)?;
    }
    Ok(())
}

/// Reads the message of a request. Returns an error if the request contains more than one message.
async fn message(mut body: h2::RecvStream) -> Result<Bytes, Status> {
    let mut frame = BytesMut::new();
    while let Some(data) = body.data().await {
        let broken = |error: h2::Error| Status::new(Code::Internal, error.to_string());
        let data = data.map_err(broken)?;
        if frame.len() + data.len() > MAX_MESSAGE_LENGTH + FRAME_HEAD {
            return Err(Status::new(Code::ResourceExhausted, "the request is too large"));
        }
        frame.extend_from_slice(&data);
        body.flow_control().release_capacity(data.len()).map_err(broken)?;
    }
    let malformed = |problem: &str| Status::new(Code::InvalidArgument, format!("the request {problem}"));
    let mut frame = frame.freeze();
    if frame.len() < FRAME_HEAD {
        return Err(malformed("has no message"));
    }
    if frame.get_u8() != 0 {
        return Err(Status::new(Code::Unimplemented, "compressed requests are not supported"));
    }
    let length = usize::try_from(frame.get_u32()).unwrap_or(usize::MAX);
    if frame.len() == length {
        Ok(frame)
    } else {
        Err(malformed(
            "is longer or shorter than its stated \
        length",
        ))
    }
}

fn head() -> Response<()> {
    let mut response = Response::new(());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

fn answer(respond: &mut SendResponse<Bytes>, result: Result<Bytes, Status>) -> Result<(), h2::Error> {
    let status = match result {
        Ok(message) => match u32::try_from(message.len()) {
            Ok(length) => {
                let mut stream = respond.send_response(head(), false)?;
                let mut frame = BytesMut::with_capacity(message.len() + FRAME_HEAD);
                frame.put_u8(0);
                frame.put_u32(length);
                frame.extend_from_slice(&message);
                stream.send_data(frame.freeze(), false)?;
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", HeaderValue::from_static("0"));
                return stream.send_trailers(trailers);
            }
            Err(_) => Status::new(Code::ResourceExhausted, "the response is too large"),
        },
        Err(status) => status,
    };
    let mut response = head();
    // A message that is not a valid header value is omitted, since the code is sufficient.
    let _ = status.add_header(response.headers_mut());
    respond.send_response(response, true).map(drop)
}
