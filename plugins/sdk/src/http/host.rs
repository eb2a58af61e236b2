//! The transport in the sandbox: `wasi:http`, which the host provides.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, HeaderError, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::StreamError;

use super::{Error, Request, Response};
use crate::bindings::wardian::plugin::interruption;

/// Number of bytes per read.
const CHUNK_SIZE: u64 = 64 << 10;

pub(super) fn send(request: &Request) -> Result<Response, Error> {
    let failed = |problem: String| Error::Failed { request: request.method_and_url(), problem };
    let from_code = |code: ErrorCode| match code {
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => {
            Error::Denied { request: request.method_and_url() }
        }
        code => failed(describe(&code)),
    };
    let outgoing = outgoing(request)?;
    let body = outgoing.body().map_err(|()| request.invalid("it has no body"))?;
    let pending = handle(outgoing, options(request)?).map_err(from_code)?;
    let interruption = request.is_interruptible().then(interruption::subscribe);
    let interrupted = || Error::Interrupted { request: request.method_and_url() };
    write(body, &request.body).or_else(|problem| {
        // A server may respond before it has read the complete body. In that case, the server's
        // response is used.
        wait(&pending.subscribe(), interruption.as_ref()).map_err(|()| interrupted())?;
        if is_body_closed(&problem) { Ok(()) } else { Err(failed(problem.to_string())) }
    })?;
    wait(&pending.subscribe(), interruption.as_ref()).map_err(|()| interrupted())?;
    let response = match pending.get() {
        Some(Ok(answer)) => answer.map_err(from_code)?,
        Some(Err(())) | None => return Err(failed("the host returned no response".to_owned())),
    };
    let headers = response.headers().entries();
    let status = response.status();
    let body = read(response, interruption.as_ref()).map_err(|ended| match ended {
        ReadEnd::Interrupted => interrupted(),
        ReadEnd::Failed(problem) => failed(problem),
    })?;
    Ok(Response { status, headers, body })
}

/// Returns whether the host closed the body. That is not a write error; the response contains the
/// reason.
fn is_body_closed(problem: &StreamError) -> bool {
    matches!(problem, StreamError::Closed)
}

/// Returns an error code as words: `ConnectionRefused` becomes `connection refused`.
fn describe(code: &ErrorCode) -> String {
    let shown = format!("{code:?}");
    let shown = shown.strip_prefix("ErrorCode::").unwrap_or(&shown);
    let name: String = shown.chars().take_while(char::is_ascii_alphanumeric).collect();
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, Error> {
    let (scheme, rest) =
        request.url.split_once("://").ok_or_else(|| request.invalid("it has no valid URL"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };

    let headers = request.headers.iter().cloned().collect::<Vec<_>>();
    let length = ("Content-Length".to_owned(), request.body.len().to_string().into_bytes());
    let has_length = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let needs_length = !request.body.is_empty() || !matches!(request.method.as_str(), "GET" | "HEAD");
    let headers = if needs_length && !has_length { [headers, vec![length]].concat() } else { headers };
    let fields = Fields::from_list(&headers).map_err(|error| {
        request.invalid(match error {
            HeaderError::InvalidSyntax => "the name or value of a header is invalid",
            HeaderError::Forbidden => "it has a header that only the host may set",
            HeaderError::Immutable => "its headers cannot be changed",
        })
    })?;

    let outgoing = OutgoingRequest::new(fields);
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => Scheme::Other(other.to_owned()),
    };
    let method = match request.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "PATCH" => Method::Patch,
        "OPTIONS" => Method::Options,
        other => Method::Other(other.to_owned()),
    };
    outgoing
        .set_method(&method)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&path)))
        .map_err(|()| request.invalid("its method or URL is invalid"))?;
    Ok(outgoing)
}

fn options(request: &Request) -> Result<Option<RequestOptions>, Error> {
    let Some(timeout) = request.timeout else { return Ok(None) };
    let nanoseconds = Some(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
    let options = RequestOptions::new();
    options
        .set_connect_timeout(nanoseconds)
        .and_then(|()| options.set_first_byte_timeout(nanoseconds))
        .and_then(|()| options.set_between_bytes_timeout(nanoseconds))
        .map_err(|()| request.invalid("the host does not support timeouts"))?;
    Ok(Some(options))
}

fn write(body: OutgoingBody, mut bytes: &[u8]) -> Result<(), StreamError> {
    if !bytes.is_empty() {
        let stream = body.write().map_err(|()| StreamError::Closed)?;
        let ready = stream.subscribe();
        while !bytes.is_empty() {
            ready.block();
            let room = usize::try_from(stream.check_write()?).unwrap_or(usize::MAX);
            let (chunk, rest) = bytes.split_at(room.min(bytes.len()));
            stream.write(chunk)?;
            bytes = rest;
        }
    }
    // If this fails, the response contains the error as well.
    OutgoingBody::finish(body, None).map_err(|_| StreamError::Closed)
}

/// Why a response body is incomplete.
enum ReadEnd {
    Interrupted,
    Failed(String),
}

/// Waits for an event; returns an error if the interruption occurs before.
fn wait(event: &Pollable, interruption: Option<&Pollable>) -> Result<(), ()> {
    match interruption {
        Some(interruption) => {
            let ready = poll(&[event, interruption]);
            if ready.contains(&0) { Ok(()) } else { Err(()) }
        }
        None => {
            event.block();
            Ok(())
        }
    }
}

fn read(response: IncomingResponse, interruption: Option<&Pollable>) -> Result<Vec<u8>, ReadEnd> {
    let no_body = || ReadEnd::Failed("the host returned no body".to_owned());
    let body = response.consume().map_err(|()| no_body())?;
    let mut bytes = Vec::new();
    {
        let stream = body.stream().map_err(|()| no_body())?;
        let ready = stream.subscribe();
        loop {
            wait(&ready, interruption).map_err(|()| ReadEnd::Interrupted)?;
            match stream.blocking_read(CHUNK_SIZE) {
                Ok(chunk) => bytes.extend(chunk),
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = wasip2::http::types::http_error_code(&error);
                    let problem = code.map_or_else(|| error.to_debug_string(), |code| describe(&code));
                    return Err(ReadEnd::Failed(problem));
                }
            }
        }
    }
    drop(IncomingBody::finish(body));
    Ok(bytes)
}
