//! Azurite, Microsoft's emulator of Azure Storage.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::SystemTime;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::azure::Azure;
use crate::program::{Running, find, free_port};
use crate::request::{Request, Response};

/// The variable with the path of `azurite-blob`, if it is not in the `PATH`.
const VARIABLE: &str = "WARDIAN_AZURITE";

/// A running server with the account, the key and the container of [`Azure`].
pub struct Azurite {
    port: u16,
    _running: Running,
}

impl Azurite {
    /// Starts a server. Prints the reason and returns [`None`] if Azurite is not installed.
    pub fn start() -> Option<Self> {
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let Some(program) = named.or_else(|| find("azurite-blob")) else {
            eprintln!(
                "skipped: azurite-blob is not installed; install it with `npm install azurite`, or name it in {VARIABLE}"
            );
            return None;
        };
        let port = free_port();
        let accounts = format!("AZURITE_ACCOUNTS={}:{}", Azure::ACCOUNT, Azure::KEY);
        let program = program.display().to_string();
        let port_text = port.to_string();
        let arguments = [
            accounts.as_str(),
            program.as_str(),
            "--blobHost",
            "127.0.0.1",
            "--blobPort",
            &port_text,
            "--inMemoryPersistence",
            "--disableTelemetry",
            "--skipApiVersionCheck",
            "--silent",
        ];
        let env = find("env").unwrap_or_else(|| PathBuf::from("/usr/bin/env"));
        let running = Running::start(&env, &arguments, None, None, port);
        let azurite = Self { port, _running: running };
        azurite.create_container();
        Some(azurite)
    }

    /// Forwards a request whose host is the account's.
    pub(crate) fn forward(&self, request: &Request) -> Response {
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        for (name, value) in &request.headers {
            if !["transfer-encoding", "content-length", "connection", "accept-encoding"]
                .contains(&name.as_str())
            {
                head.extend([name, ": ", value, "\r\n"]);
            }
        }
        let length = request.body.len().to_string();
        head.extend(["connection: close\r\ncontent-length: ", &length, "\r\n\r\n"]);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(&[head.as_bytes(), &request.body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        response(&answer)
    }

    fn create_container(&self) {
        let date = httpdate::fmt_http_date(SystemTime::now());
        let (account, container) = (Azure::ACCOUNT, Azure::CONTAINER);
        let text = format!(
            "PUT{}x-ms-date:{date}\nx-ms-version:2023-11-03\n/{account}/{container}\nrestype:container",
            "\n".repeat(12)
        );
        let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(Azure::KEY).unwrap());
        let signature = STANDARD.encode(hmac::sign(&key, text.as_bytes()).as_ref());
        let headers = [
            ("host", format!("{account}.blob.core.windows.net")),
            ("x-ms-date", date),
            ("x-ms-version", "2023-11-03".to_owned()),
            ("authorization", format!("SharedKey {account}:{signature}")),
        ];
        let response = self.forward(&Request {
            method: "PUT".to_owned(),
            target: format!("/{container}?restype=container"),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: Vec::new(),
        });
        assert_eq!(response.status, 201, "{}", String::from_utf8_lossy(&response.body));
    }
}

/// Parses a response whose body ends with the connection.
fn response(answer: &[u8]) -> Response {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let body = answer.get(end + 4..).unwrap_or_default();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(502);
    let mut response = Response::new(status, body);
    let mut is_chunked = false;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        match name.to_ascii_lowercase().as_str() {
            "transfer-encoding" => is_chunked = value.trim() == "chunked",
            "connection" | "keep-alive" | "content-length" => {}
            _ => response = response.with_header(name, value.trim()),
        }
    }
    if is_chunked {
        response.body = crate::request::read_chunks(&mut &*response.body.clone()).unwrap_or_default();
    }
    response
}
