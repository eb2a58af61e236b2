//! Attempts to reach something over the network. Each says how it went.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};

use wardian_sdk::http::{Error, Request};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, FutureIncomingResponse, IncomingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::InputStream;

thread_local! {
    /// What is kept for a later call.
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
    static CONNECTION: RefCell<Option<TcpStream>> = const { RefCell::new(None) };
}

/// Fields are dropped in this order.
struct Kept {
    stream: Option<InputStream>,
    _body: Option<IncomingBody>,
    answer: Option<FutureIncomingResponse>,
}

pub(crate) fn reach_out(verb: &str, object: &str) -> String {
    match verb {
        "http" => http(object),
        "upload" => two(object, |size, url| told(Request::new("POST", url).body(vec![b'u'; number(size)]))),
        "raw-path" => two(object, raw_path),
        "many" => two(object, |count, url| many(number(count), url)),
        "keep-answer" => keep_answer(object),
        "keep-body" => keep_body(object),
        "kept" => kept(),
        "connect" => said(TcpStream::connect(object).and_then(|stream| echo(&stream))),
        "connect-many" => two(object, |count, address| connect_many(number(count), address)),
        "keep-connection" => said(TcpStream::connect(object).and_then(|stream| {
            let answer = echo(&stream)?;
            CONNECTION.with_borrow_mut(|kept| *kept = Some(stream));
            Ok(answer)
        })),
        "listen" => said(TcpListener::bind(object).map(|_| "it listens".into())),
        "datagram" => said(datagram(object)),
        "look-up" => said((object, 0).to_socket_addrs().map(|addresses| {
            let mut addresses: Vec<String> = addresses.map(|address| address.ip().to_string()).collect();
            addresses.sort();
            addresses.dedup();
            addresses.join(" ")
        })),
        _ => format!("no such probe: {verb}"),
    }
}

/// `METHOD|URL`, then headers as `name=value`, each behind a further bar.
fn http(object: &str) -> String {
    let mut parts = object.split('|');
    let method = parts.next().unwrap_or_default();
    let url = parts.next().unwrap_or_default();
    let headers = parts.filter_map(|header| header.split_once('='));
    told(headers.fold(Request::new(method, url), |request, (name, value)| request.header(name, value)))
}

fn told(request: Request) -> String {
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

/// A path that is an address of its own.
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

fn keep_answer(url: &str) -> String {
    let answer = handle(request(url), None).ok();
    KEPT.with_borrow_mut(|kept| *kept = Some(Kept { stream: None, _body: None, answer }));
    "kept".into()
}

fn keep_body(url: &str) -> String {
    let answer = handle(request(url), None).unwrap();
    answer.subscribe().block();
    let response = answer.get().unwrap().unwrap().unwrap();
    let body = response.consume().unwrap();
    let stream = body.stream().unwrap();
    let read = stream.blocking_read(5).unwrap_or_default();
    KEPT.with_borrow_mut(|kept| *kept = Some(Kept { stream: Some(stream), _body: Some(body), answer: None }));
    format!("kept after {}", String::from_utf8_lossy(&read))
}

fn kept() -> String {
    let connection = CONNECTION.with_borrow_mut(Option::take);
    if let Some(connection) = connection {
        return said(echo(&connection));
    }
    let Some(kept) = KEPT.with_borrow_mut(Option::take) else { return "nothing is kept".into() };
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

fn echo(mut stream: &TcpStream) -> io::Result<String> {
    stream.write_all(b"ping\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

fn connect_many(count: usize, address: &str) -> String {
    let mut open = Vec::new();
    for _ in 0..count {
        match TcpStream::connect(address) {
            Ok(stream) => open.push(stream),
            Err(error) => return format!("{} open, then {error}", open.len()),
        }
    }
    format!("{} open", open.len())
}

fn datagram(address: &str) -> io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.send_to(b"ping", address)?;
    let mut answer = [0; 64];
    let (length, _) = socket.recv_from(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

fn said(result: io::Result<String>) -> String {
    result.unwrap_or_else(|error| format!("refused: {error}"))
}

fn two(object: &str, act: impl Fn(&str, &str) -> String) -> String {
    match object.split_once('|') {
        Some((first, second)) => act(first, second),
        None => "it takes two".into(),
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap()
}
