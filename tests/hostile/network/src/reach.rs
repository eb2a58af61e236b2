//! Attempts to access the network over HTTP. Each attempt returns its outcome.

use std::cell::RefCell;

use wardian_sdk::http::{Error, Request};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, FutureIncomingResponse, IncomingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::InputStream;

use crate::sockets::{read_held_connection, try_sockets};

thread_local! {
    /// A response that is held for a later call.
    static HELD_RESPONSE: RefCell<Option<HeldResponse>> = const { RefCell::new(None) };
}

/// A response, and the resources on which it depends. Fields are dropped in this order.
struct HeldResponse {
    stream: Option<InputStream>,
    _body: Option<IncomingBody>,
    answer: Option<FutureIncomingResponse>,
}

pub(crate) fn reach_out(verb: &str, object: &str) -> String {
    match verb {
        "http" => http(object),
        "upload" => {
            two(object, |size, url| send_request(Request::new("POST", url).body(vec![b'u'; number(size)])))
        }
        "raw-path" => two(object, raw_path),
        "many" => two(object, |count, url| many(number(count), url)),
        "keep-answer" => hold_response(object),
        "keep-body" => hold_body(object),
        "kept" => read_held_response(),
        _ => try_sockets(verb, object).unwrap_or_else(|| format!("no such probe: {verb}")),
    }
}

/// Sends a request: `METHOD|URL`, followed by headers as `|name=value`.
fn http(object: &str) -> String {
    let mut parts = object.split('|');
    let method = parts.next().unwrap_or_default();
    let url = parts.next().unwrap_or_default();
    let headers = parts.filter_map(|header| header.split_once('='));
    send_request(
        headers.fold(Request::new(method, url), |request, (name, value)| request.header(name, value)),
    )
}

fn send_request(request: Request) -> String {
    match request.send() {
        Ok(answer) => {
            let body = String::from_utf8_lossy(answer.body());
            let shown: String = body.chars().take(500).collect();
            let place = answer.header("location").map(|to| format!(" to {to}")).unwrap_or_default();
            format!("{}{place} {shown}", answer.status())
        }
        Err(Error::Denied { .. }) => "denied".into(),
        Err(error) => format!("refused: {error}"),
    }
}

fn request(url: &str) -> OutgoingRequest {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let request = OutgoingRequest::new(Fields::new());
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    request.set_scheme(Some(&scheme)).unwrap();
    request.set_authority(Some(authority)).unwrap();
    request.set_path_with_query(Some(&format!("/{path}"))).unwrap();
    request
}

/// Sends a request whose path is an absolute URL.
fn raw_path(path: &str, url: &str) -> String {
    match request(url).set_path_with_query(Some(path)) {
        Ok(()) => "taken".into(),
        Err(()) => "refused".into(),
    }
}

fn many(count: usize, url: &str) -> String {
    let answers: Vec<FutureIncomingResponse> =
        (0..count).filter_map(|_| handle(request(url), None).ok()).collect();
    let well = answers.iter().filter(|answer| {
        answer.subscribe().block();
        matches!(answer.get(), Some(Ok(Ok(_))))
    });
    format!("{} of {count} answered", well.count())
}

fn hold_response(url: &str) -> String {
    let answer = handle(request(url), None).ok();
    HELD_RESPONSE.with_borrow_mut(|kept| *kept = Some(HeldResponse { stream: None, _body: None, answer }));
    "kept".into()
}

fn hold_body(url: &str) -> String {
    let answer = handle(request(url), None).unwrap();
    answer.subscribe().block();
    let response = answer.get().unwrap().unwrap().unwrap();
    let body = response.consume().unwrap();
    let stream = body.stream().unwrap();
    let read = stream.blocking_read(5).unwrap_or_default();
    HELD_RESPONSE.with_borrow_mut(|kept| {
        *kept = Some(HeldResponse { stream: Some(stream), _body: Some(body), answer: None })
    });
    format!("kept after {}", String::from_utf8_lossy(&read))
}

fn read_held_response() -> String {
    if let Some(outcome) = read_held_connection() {
        return outcome;
    }
    let Some(kept) = HELD_RESPONSE.with_borrow_mut(Option::take) else { return "nothing is kept".into() };
    if let Some(answer) = kept.answer {
        answer.subscribe().block();
        return match answer.get() {
            Some(Ok(Ok(response))) => format!("it came: {}", response.status()),
            Some(Ok(Err(code))) => format!("refused: {code:?}"),
            other => format!("refused: {}", other.is_some()),
        };
    }
    let mut bytes = 0;
    while let Some(stream) = &kept.stream {
        match stream.blocking_read(1 << 16) {
            Ok(read) => bytes += read.len(),
            Err(error) => return format!("{bytes} further bytes, then {error:?}"),
        }
    }
    "no body".into()
}

pub(crate) fn two(object: &str, act: impl Fn(&str, &str) -> String) -> String {
    match object.split_once('|') {
        Some((first, second)) => act(first, second),
        None => "it takes two".into(),
    }
}

pub(crate) fn number(text: &str) -> usize {
    text.parse().unwrap()
}
