//! A minimal gRPC server over HTTP/2 that injects the faults selected by the test.

use std::io::Write as _;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Request, Response};

use tokio::sync::Notify;

use crate::calls::{self, Reply, Values};
use crate::repeating::Repeats;
use crate::{Stream, Words, state_store};

pub(crate) async fn connection(stream: Box<dyn Stream>, words: Arc<Words>) {
    let Ok(mut connection) = h2::server::Builder::new().initial_window_size(1 << 20).handshake(stream).await
    else {
        return;
    };
    let hang_up = Arc::new(Notify::new());
    loop {
        let accepted = tokio::select! {
            accepted = connection.accept() => accepted,
            () = hang_up.notified() => return,
        };
        let Some(Ok((request, respond))) = accepted else { return };
        let (words, hang_up) = (Arc::clone(&words), Arc::clone(&hang_up));
        tokio::spawn(async move {
            if let Err(error) = call(request, respond, &words, &hang_up).await {
                eprintln!("a call received no response: {error}");
            }
        });
    }
}

async fn call(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    words: &Words,
    hang_up: &Notify,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let path = request.uri().path().to_owned();
    let mut received = request.into_body();
    let mut message = BytesMut::new();
    while let Some(data) = received.data().await {
        let data = data?;
        message.extend_from_slice(&data);
        received.flow_control().release_capacity(data.len())?;
    }
    let body = message.freeze();
    let message = body.clone();
    let message = if message.len() >= 5 { message.slice(5..) } else { Bytes::new() };
    let (service, rpc) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let head = Response::builder().header("content-type", "application/grpc");
    let mut fault = words.fault(rpc);
    if words.has("old") && calls::is_newer(rpc) {
        fault = Some("unimplemented");
    }
    let repeats = if words.has("repeats") { Repeats::Inputs } else { Repeats::Nothing };
    repeats.log_inputs(rpc, &message);
    match fault {
        Some("die") => {
            eprintln!("panic: the fake was configured to\n\ngoroutine 1 [running]:\nmain.main()");
            std::process::exit(2);
        }
        Some("kill") => std::process::abort(),
        Some("hang") => std::future::pending().await,
        Some("drop") => hang_up.notify_one(),
        Some("garbage") => {
            let mut stream = respond.send_response(head.body(())?, false)?;
            stream.send_data(frame(b"\xff\xff\xff\xff"), false)?;
            stream.send_trailers(trailers("0", ""))?;
        }
        Some("half") => {
            let mut stream = respond.send_response(head.body(())?, false)?;
            stream.send_data(Bytes::from_static(b"\0\0\0\x01\0begin"), false)?;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            std::process::exit(0);
        }
        Some("http") => {
            let page = Response::builder().status(404).header("content-type", "text/html").body(())?;
            respond.send_response(page, false)?.send_data(Bytes::from_static(b"<html>"), true)?;
        }
        Some("status") => refuse(&mut respond, "13", "the fake%0awas configured to")?,
        Some("unimplemented") => refuse(&mut respond, "12", "unknown method")?,
        _ => {
            if service == "plugin.GRPCController" && words.has("stays") {
                return refuse(&mut respond, "12", "it stays").map_err(Into::into);
            }
            if fault == Some("flood") {
                flood()?;
            }
            let values = if fault == Some("type") { Values::OfAnotherType } else { Values::AsTheSchemaSays };
            let reply = match rpc {
                "WriteStateBytes" => state_store::write(body),
                _ => calls::answer(service, rpc, message, values, repeats),
            };
            match reply {
                Reply::Messages(mut messages) => {
                    if words.has("large-schema") {
                        messages.extend(calls::more_schemas(rpc));
                        // The receiver merges a message with a following message of the same type.
                        messages = vec![messages.concat()];
                    }
                    let mut stream = respond.send_response(head.body(())?, false)?;
                    if words.has("renamed") {
                        messages = messages.iter().map(|message| calls::renamed(rpc, message)).collect();
                    }
                    if words.has("nested") && rpc == "GetProviderSchema" {
                        messages = vec![[messages.concat(), calls::nested_schema()].concat()];
                    }
                    if words.has("unasked") && matches!(rpc, "GetProviderSchema" | "GetSchema") {
                        messages = vec![[messages.concat(), calls::schema_optional()].concat()];
                    }
                    for message in messages {
                        stream.send_data(frame(&message), false)?;
                    }
                    stream.send_trailers(trailers("0", ""))?;
                }
                Reply::UntilStopped(first, last) => {
                    let stopped = calls::stopping().notified();
                    let mut stream = respond.send_response(head.body(())?, false)?;
                    stream.send_data(frame(&first), false)?;
                    stopped.await;
                    stream.send_data(frame(&last), false)?;
                    stream.send_trailers(trailers("0", ""))?;
                }
                Reply::Unknown => refuse(&mut respond, "12", &format!("unknown method {rpc}"))?,
                Reply::End => std::process::exit(0),
            }
        }
    }
    Ok(())
}

/// Writes a gigabyte to standard error.
pub(crate) fn flood() -> std::io::Result<()> {
    let line = [b"x".repeat(1 << 20), b"\n".to_vec()].concat();
    (0..1024).try_for_each(|_| std::io::stderr().write_all(&line))
}

fn refuse(respond: &mut SendResponse<Bytes>, code: &'static str, message: &str) -> Result<(), h2::Error> {
    let mut response = Response::new(());
    *response.headers_mut() = trailers(code, message);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    respond.send_response(response, true).map(|_| ())
}

fn trailers(code: &'static str, message: &str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(code));
    if let Ok(message) = HeaderValue::from_str(message) {
        trailers.insert("grpc-message", message);
    }
    trailers
}

fn frame(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(message.len() + 5);
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.extend_from_slice(message);
    frame.freeze()
}
