//! A web server on the loopback interface with scripted responses, with or without TLS.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use wardian_download::{Downloader, DownloaderOptions};
use wardian_network::TlsRoots;
use wardian_registry::credentials::Credentials;
use wardian_registry::services::ServiceTable;
use wardian_registry::{RegistryClient, RegistryClientOptions, ServiceHost};

/// A scripted response.
#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Bytes(Vec<u8>),
    /// Never ends.
    Endless,
    /// The response ends before its announced length.
    Truncated,
}

impl Answer {
    pub(crate) fn json(value: &Value) -> Self {
        Self::bytes("application/json", value.to_string().into_bytes())
    }

    pub(crate) fn bytes(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type", content_type.to_owned())];
        Self { status: 200, headers, body: Body::Bytes(body.into()) }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Body::Bytes(Vec::new()) }
    }

    pub(crate) fn redirect(location: &str) -> Self {
        Self::status(302).header("Location", location)
    }

    pub(crate) fn endless() -> Self {
        Self { body: Body::Endless, ..Self::json(&json!({})) }
    }

    pub(crate) fn truncated() -> Self {
        Self { body: Body::Truncated, ..Self::json(&json!({})) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }
}

/// A request that the server received. Header names are in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn authorization(&self) -> Option<&str> {
        self.headers.get("authorization").map(String::as_str)
    }
}

/// A server. It stops when the test's runtime ends.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
    scheme: &'static str,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    received: Vec<Received>,
}

/// The certificate of all servers.
static CERTIFICATE: LazyLock<(CertificateDer<'static>, Vec<u8>)> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    (certificate.der().clone(), key.serialize_der())
});

impl Server {
    /// Starts a server with plain HTTP.
    pub(crate) async fn start() -> Self {
        Self::start_with("http").await
    }

    pub(crate) async fn start_secure() -> Self {
        Self::start_with("https").await
    }

    async fn start_with(scheme: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, scheme, state: Arc::default() };
        let state = Arc::clone(&server.state);
        let acceptor = acceptor();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, acceptor) = (Arc::clone(&state), acceptor.clone());
                tokio::spawn(async move {
                    if scheme == "http" {
                        return serve(stream, &state).await;
                    }
                    match acceptor.accept(stream).await {
                        Ok(stream) => serve(stream, &state).await,
                        Err(error) => Err(error),
                    }
                });
            }
        });
        server
    }

    /// Sets the response for a path. Other paths have the status 404.
    pub(crate) fn answer(&self, path: &str, answer: Answer) -> &Self {
        self.state.lock().unwrap().answers.insert(path.to_owned(), answer);
        self
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://127.0.0.1:{}{path}", self.scheme, self.port)
    }

    pub(crate) fn host(&self) -> ServiceHost {
        ServiceHost::parse(&format!("127.0.0.1:{}", self.port)).unwrap()
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    /// Returns the request lines, in alphabetical order.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.received().into_iter().map(|received| received.line).collect();
        lines.sort();
        lines
    }
}

fn acceptor() -> TlsAcceptor {
    let (certificate, key) = &*CERTIFICATE;
    let key = PrivateKeyDer::try_from(key.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: &Mutex<State>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let path = line.split_once(' ').unwrap().1.to_owned();
    let answer = {
        let mut state = state.lock().unwrap();
        let body = String::from_utf8(body).unwrap();
        state.received.push(Received { line, headers, body });
        state.answers.get(&path).cloned().unwrap_or_else(|| Answer::status(404))
    };
    let mut response = format!("HTTP/1.1 {} Scripted\r\nConnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        response.extend([name, ": ", value, "\r\n"]);
    }
    let body = match &answer.body {
        Body::Bytes(body) => {
            if answer.status != 204 {
                response.extend(["Content-Length: ", &body.len().to_string(), "\r\n"]);
            }
            body.clone()
        }
        Body::Endless => Vec::new(),
        Body::Truncated => {
            response.push_str("Content-Length: 100\r\n");
            b"{".to_vec()
        }
    };
    stream.write_all(format!("{response}\r\n").as_bytes()).await?;
    stream.write_all(&body).await?;
    if matches!(answer.body, Body::Endless) {
        let part = vec![b' '; 64 << 10];
        while stream.write_all(&part).await.is_ok() {}
    }
    stream.shutdown().await
}

/// Settings of a client.
#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) credentials: Credentials,
    pub(crate) services: Vec<(&'static str, Value)>,
    pub(crate) netrc: String,
}

impl Setting {
    /// Uses a server for all services of `example.com`.
    pub(crate) fn for_server(server: &Server) -> Self {
        let services = json!({ "providers.v1": server.url("/p/"), "modules.v1": server.url("/m/") });
        Self { services: vec![("example.com", services)], ..Self::default() }
    }

    pub(crate) fn with_token(mut self, host: &ServiceHost, token: &str) -> Self {
        self.credentials = self.credentials.with_configured([(host.as_ascii(), token)]).unwrap();
        self
    }

    pub(crate) fn client(self) -> RegistryClient {
        let downloader = Downloader::new(DownloaderOptions {
            roots: TlsRoots::from_certificates(vec![CERTIFICATE.0.clone()]).unwrap(),
            netrc: wardian_download::Netrc::parse(&self.netrc).unwrap(),
            retries: 1,
            metadata_timeout: Duration::from_secs(30),
            ..DownloaderOptions::default()
        });
        let services = self.services.into_iter().map(|(host, services)| {
            let services: ServiceTable = serde_json::from_value(services).unwrap();
            (ServiceHost::parse(host).unwrap(), services)
        });
        RegistryClient::new(RegistryClientOptions {
            downloader: downloader.with_retry_delay(Duration::from_millis(1)),
            credentials: Arc::new(self.credentials),
            services: services.collect(),
            terraform_version: "1.11.4".to_owned(),
        })
    }
}

/// Runs a test with a time limit.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let limited = async { tokio::time::timeout(Duration::from_mins(2), test).await };
    runtime.block_on(limited).expect("the test does not end");
}
