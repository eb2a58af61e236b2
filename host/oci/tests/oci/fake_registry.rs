//! An HTTP server that records requests, and responds to each with the result of a function that
//! the test provides.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use wardian_download::{Downloader, DownloaderOptions};
use wardian_oci::{
    CredentialsBlock, CredentialsOptions, CredentialsScope, OciClient, OciClientOptions, OciCredentials,
    PlainHttpRegistries, RegistryCredential, RegistryHost, Repository,
};

/// Time limit of a test.
const MAX_TEST_TIME: Duration = Duration::from_mins(1);

/// Runs a test with a time limit.
pub async fn within_time_limit<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(MAX_TEST_TIME, test).await.expect("the test did not finish within 60 seconds")
}

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub fn authorization(&self) -> Option<&str> {
        self.header("authorization")
    }
}

#[derive(Debug, Clone, Default)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn manifest(media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body).header("Content-Type", media_type)
    }

    pub fn not_found() -> Self {
        Self::new(404, r#"{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known"}]}"#)
    }
}

pub struct FakeRegistry {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FakeRegistry {
    pub fn start(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, stop) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<AtomicBool>::default());
        let (recorded, stopped, answer) = (Arc::clone(&requests), Arc::clone(&stop), Arc::new(answer));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (recorded, answer) = (Arc::clone(&recorded), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream.unwrap(), &recorded, &*answer));
            }
        });
        Self { address, requests, stop, thread: Some(thread) }
    }

    pub fn host(&self) -> RegistryHost {
        RegistryHost::parse(&self.address.to_string()).unwrap()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn repository(&self, path: &str) -> Repository {
        Repository::new(self.host(), path).unwrap()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns `METHOD TARGET` of each request.
    pub fn targets(&self) -> Vec<String> {
        self.requests().iter().map(|request| format!("{} {}", request.method, request.target)).collect()
    }

    pub fn client(&self) -> OciClient {
        client(&[self], CredentialsOptions::default())
    }

    pub fn client_with(&self, credential: RegistryCredential) -> OciClient {
        let scope = CredentialsScope::parse(self.host().as_str()).unwrap();
        let blocks = vec![CredentialsBlock::with_credential(scope, credential)];
        client(&[self], CredentialsOptions { blocks, ..CredentialsOptions::default() })
    }
}

impl Drop for FakeRegistry {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // The thread waits for a connection.
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub fn client(registries: &[&FakeRegistry], credentials: CredentialsOptions) -> OciClient {
    let mut plain_http = PlainHttpRegistries::default();
    for registry in registries {
        plain_http.add(registry.host()).unwrap();
    }
    new_client(plain_http, credentials)
}

pub fn new_client(plain_http: PlainHttpRegistries, credentials: CredentialsOptions) -> OciClient {
    let downloader = Downloader::new(DownloaderOptions::default()).with_retry_delay(Duration::ZERO);
    OciClient::new(OciClientOptions { downloader, credentials: OciCredentials::new(credentials), plain_http })
}

fn serve(
    stream: TcpStream,
    recorded: &Mutex<Vec<Request>>,
    answer: &(impl Fn(&Request) -> Response + ?Sized),
) {
    stream.set_read_timeout(Some(MAX_TEST_TIME)).unwrap();
    let mut reader = BufReader::new(stream);
    // A connection that is closed without a request ends the loop.
    while let Some(request) = read_request(&mut reader) {
        recorded.lock().unwrap().push(request.clone());
        let response = answer(&request);
        let is_head = request.method == "HEAD";
        let mut head = format!("HTTP/1.1 {} Status\r\n", response.status);
        for (name, value) in &response.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if !response.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            write!(head, "Content-Length: {}\r\n", response.body.len()).unwrap();
        }
        let stream = reader.get_mut();
        let body: &[u8] = if is_head { &[] } else { &response.body };
        if stream.write_all(&[head.as_bytes(), b"\r\n", body].concat()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, headers, body: Vec::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
