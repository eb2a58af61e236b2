//! The temporary server on the loopback interface that the browser is redirected to.
//!
//! It accepts `GET /login` with the secret state of the login and either a code or an error. Every
//! other request receives an error response and has no effect, because any local program and any
//! web page can send requests to it. Requests are limited in number, size and time.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::form_urlencoded;

use crate::request::shorten;

const PATH: &str = "/login";

/// Maximum number of ports that are tried.
const MAX_PORTS: usize = 64;
const MAX_CONNECTIONS: usize = 16;
const MAX_HEAD_BYTES: usize = 16 << 10;
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of consecutive connections that cannot be accepted, and the interval between them.
const MAX_ACCEPT_ERRORS: u32 = 20;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The data that the host sent through the browser.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Callback {
    Code(String),
    Denied { error: String, description: String },
}

#[derive(Debug)]
pub(super) struct CallbackServer {
    listener: TcpListener,
    port: u16,
}

impl CallbackServer {
    /// Listens on a free port; `None` if there is none. The first port that is tried is random,
    /// which prevents other programs from occupying it beforehand.
    pub(super) async fn bind(ports: RangeInclusive<u16>) -> Option<Self> {
        let (low, high) = (u32::from(*ports.start()), u32::from(*ports.end()));
        let count = (high + 1).checked_sub(low).filter(|count| *count > 0)?;
        let mut random = [0; 4];
        getrandom::fill(&mut random).ok()?;
        let first = u32::from_le_bytes(random) % count;
        for offset in (0..count).take(MAX_PORTS) {
            let port = u16::try_from(low + (first + offset) % count).ok()?;
            if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await {
                return Some(Self { listener, port });
            }
        }
        None
    }

    pub(super) fn redirect_url(&self) -> String {
        format!("http://localhost:{}{PATH}", self.port)
    }

    /// Waits for the browser. Cancel safe.
    pub(super) async fn receive(&self, state: &str) -> io::Result<Callback> {
        let mut connections = JoinSet::new();
        let mut failures = 0;
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, _)) => {
                        failures = 0;
                        let state = state.to_owned();
                        connections.spawn(timeout(CONNECTION_TIMEOUT, answer(stream, state)));
                    }
                    Err(error) if failures >= MAX_ACCEPT_ERRORS => return Err(error),
                    Err(_) => {
                        failures += 1;
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(ended) = connections.join_next() => {
                    if let Ok(Ok(Ok(Some(callback)))) = ended {
                        return Ok(callback);
                    }
                }
            }
        }
    }
}

/// Reads one request and responds to it.
async fn answer(mut stream: TcpStream, state: String) -> io::Result<Option<Callback>> {
    let head = read_head(&mut stream).await?;
    let (status, text, callback) = match head
        .as_deref()
        .map_or(Answer::BadRequest, |head| classify(head, &state))
    {
        Answer::Callback(Callback::Code(code)) => (
            "200 OK",
            "The login server has sent an authorization code to Wardian. Close this page, and return to the \
             terminal to see the result.",
            Some(Callback::Code(code)),
        ),
        Answer::Callback(denied) => (
            "200 OK",
            "The login server has rejected the login. Close this page, and return to the terminal.",
            Some(denied),
        ),
        Answer::NotFound => ("404 Not Found", "There is no such page.", None),
        Answer::BadRequest => ("400 Bad Request", "This request does not belong to the current login.", None),
    };
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Wardian login</title></head>\
         <body><p>{text}</p></body></html>\n"
    );
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: \
         no-store\r\nContent-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // If the browser has closed the connection, the callback is valid nevertheless.
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
    Ok(callback)
}

/// Reads the request line and headers of a request; `None` if they are too large or incomplete.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await?;
        head.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if head.windows(4).any(|window| window == b"\r\n\r\n") {
            return Ok(String::from_utf8(head).ok());
        }
        if count == 0 || head.len() > MAX_HEAD_BYTES {
            return Ok(None);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Callback(Callback),
    NotFound,
    BadRequest,
}

fn classify(head: &str, state: &str) -> Answer {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (Some("GET"), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Answer::BadRequest;
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != PATH {
        return Answer::NotFound;
    }
    let value = |name: &str| {
        let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(found, _)| found == name);
        values.next().map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty())
    };
    if value("state").as_deref() != Some(state) {
        return Answer::BadRequest;
    }
    match (value("error"), value("code")) {
        (Some(error), _) => Answer::Callback(Callback::Denied {
            error: shorten(&error),
            description: shorten(&value("error_description").unwrap_or_default()),
        }),
        (None, Some(code)) => Answer::Callback(Callback::Code(code)),
        (None, None) => Answer::BadRequest,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_request(line: &str) -> Answer {
        classify(&format!("{line}\r\nHost: localhost\r\n\r\n"), "s+1")
    }

    #[test]
    fn only_callback_requests_with_the_state_are_accepted() {
        let code = |code: &str| Answer::Callback(Callback::Code(code.to_owned()));
        assert_eq!(of_request("GET /login?code=a%20b&state=s%2B1 HTTP/1.1"), code("a b"));
        assert_eq!(of_request("GET /login?state=s%2B1&code=x&code=y&other HTTP/1.0"), code("x"));
        let denied = Callback::Denied { error: "access_denied".to_owned(), description: "no way".to_owned() };
        let line = "GET /login?error=access_denied&error_description=no+way&state=s%2B1 HTTP/1.1";
        assert_eq!(of_request(line), Answer::Callback(denied));
        for (line, answer) in [
            ("GET /login?code=x&state=s HTTP/1.1", Answer::BadRequest),
            ("GET /login?code=x&state=s+1 HTTP/1.1", Answer::BadRequest),
            ("GET /login?code=x HTTP/1.1", Answer::BadRequest),
            ("GET /login?code=&state=s%2B1 HTTP/1.1", Answer::BadRequest),
            ("GET /login HTTP/1.1", Answer::BadRequest),
            ("POST /login?code=x&state=s%2B1 HTTP/1.1", Answer::BadRequest),
            ("GET /login?code=x&state=s%2B1", Answer::BadRequest),
            ("GET /favicon.ico HTTP/1.1", Answer::NotFound),
            ("GET http://localhost/login?code=x&state=s%2B1 HTTP/1.1", Answer::NotFound),
            ("", Answer::BadRequest),
        ] {
            assert_eq!(of_request(line), answer, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_request_without_the_state_is_rejected(head in "\\PC{0,200}") {
            prop_assert!(!matches!(classify(&head, "0123456789abcdef"), Answer::Callback(_)));
        }
    }
}
