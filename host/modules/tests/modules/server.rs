//! A web server on the loopback interface with scripted responses, which also serves Git
//! repositories.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

/// A scripted response.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
}

#[derive(Clone)]
pub(crate) enum Body {
    Bytes(Vec<u8>),
    /// Never ends.
    Endless,
    /// The response ends before its announced length.
    Truncated,
}

impl Answer {
    pub(crate) fn bytes(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Bytes(body.into()) }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::bytes("") }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn location(source: &str) -> Self {
        Self::status(204).header("X-Terraform-Get", source)
    }

    pub(crate) fn endless() -> Self {
        Self { body: Body::Endless, ..Self::bytes("") }
    }

    pub(crate) fn truncated() -> Self {
        Self { body: Body::Truncated, ..Self::bytes("") }
    }
}

/// A request that the server received. Header names are in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
}

/// A server. It stops when the test's runtime ends.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    received: Vec<Received>,
    repositories: PathBuf,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { port: listener.local_addr().unwrap().port(), state: Arc::default() };
        let state = Arc::clone(&server.state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                tokio::spawn(async move { serve(stream, &state).await });
            }
        });
        server
    }

    /// Sets the response for a path, with or without a query. Other paths have the status 404.
    pub(crate) fn answer(&self, path: &str, answer: Answer) -> &Self {
        self.state.lock().unwrap().answers.insert(path.to_owned(), answer);
        self
    }

    /// Serves the repositories in a directory below `/git/`.
    pub(crate) fn serve_repositories(&self, directory: &Path) {
        directory.clone_into(&mut self.state.lock().unwrap().repositories);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    /// Returns the request lines, and clears the list of requests.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        let received = std::mem::take(&mut self.state.lock().unwrap().received);
        received.into_iter().map(|received| received.line).collect()
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    while let Some((head, body)) = read_request(&mut stream).await? {
        let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
        let headers: BTreeMap<String, String> = headers
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let received = Received { line: format!("{method} {target}"), headers: headers.clone() };
        let path = target.split('?').next().unwrap_or_default();
        let (answer, repositories) = {
            let mut state = state.lock().unwrap();
            state.received.push(received);
            let answer = state.answers.get(target).or_else(|| state.answers.get(path)).cloned();
            (answer, state.repositories.clone())
        };
        let answer = match answer {
            Some(answer) => answer,
            None if path.starts_with("/git/") => {
                http_backend(&repositories, method, target, &headers, body).await
            }
            None => Answer::status(404),
        };
        write_answer(&mut stream, &answer, method == "HEAD").await?;
        if !matches!(answer.body, Body::Bytes(_)) {
            return Ok(());
        }
    }
    Ok(())
}

/// The first byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 22;

/// Reads a request; [`None`] if the connection ends. Like other servers, this one closes a connection that
/// begins with TLS.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await? == 0 || bytes.first() == Some(&TLS_HANDSHAKE) {
            return Ok(None);
        }
    };
    let mut body = bytes.split_off(head_end + 4);
    let head = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    let lower = head.to_ascii_lowercase();
    let length: usize = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    if lower.contains("transfer-encoding: chunked") {
        while !body.ends_with(b"0\r\n\r\n") {
            if stream.read_buf(&mut body).await? == 0 {
                return Ok(None);
            }
        }
        body = decode_chunks(&body);
    }
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((head, body)))
}

fn decode_chunks(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
}

async fn write_answer(stream: &mut TcpStream, answer: &Answer, is_head: bool) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Status\r\n", answer.status);
    for (name, value) in &answer.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    let length = match &answer.body {
        Body::Bytes(body) => Some(body.len()),
        Body::Endless => None,
        Body::Truncated => Some(1_000_000),
    };
    match length {
        Some(length) if answer.status != 204 => write!(head, "Content-Length: {length}\r\n").unwrap(),
        Some(_) => {}
        None => head.push_str("Connection: close\r\n"),
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    match &answer.body {
        _ if is_head || answer.status == 204 => {}
        Body::Bytes(body) => stream.write_all(body).await?,
        Body::Truncated => stream.write_all(&[b'x'; 1000]).await?,
        Body::Endless => loop {
            stream.write_all(&[b' '; 8192]).await?;
        },
    }
    Ok(())
}

/// Responds to a request with git's CGI program.
async fn http_backend(
    repositories: &Path,
    method: &str,
    target: &str,
    headers: &BTreeMap<String, String>,
    body: Vec<u8>,
) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", repositories)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("PATH_INFO", path.strip_prefix("/git").unwrap())
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = tokio::spawn(async move {
        let _ = stdin.write_all(&body).await;
    });
    let output = child.wait_with_output().await.unwrap().stdout;
    let _ = writer.await;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(0);
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head
        .lines()
        .find_map(|line| line.strip_prefix("Status: "))
        .map_or(200, |status| status[..3].parse().unwrap());
    let content_type = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap_or_default();
    let mut answer =
        Answer::bytes(output.get(end + 4..).unwrap_or_default()).header("Content-Type", content_type);
    answer.status = status;
    answer
}
