//! Servers on loopback addresses, and providers that may or may not be granted access to them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, UdpSocket};
use tokio_rustls::TlsAcceptor;
use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_monitor::{AuditLog, Capability, Monitor, PluginIdentity, Record};
use wardian_network::{Resolver, TlsRoots};
use wardian_plugin::Provider;
use wardian_policy::{CredentialSource, Level, Policy, PolicyFile};
use wardian_sandbox::{
    CacheDirectories, DeclaredCapabilities, Grants, MissingSecret, NetworkOptions, Sandbox, SandboxLimits,
    SandboxOptions, Secret, Secrets,
};

use crate::guest::{bytes, short};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The requests that a server received, and the number of its connections.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    going_on: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

impl Heard {
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the highest number of `/busy` requests that were in progress at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }

    /// Returns each request as `METHOD /path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Starts a server whose behaviour depends on the path.
pub(crate) async fn http_server() -> (u16, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Heard::default();
    let hears = heard.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            hears.connections.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(serve(stream, hears.clone()));
        }
    });
    (port, heard)
}

/// Starts the same server with a self-signed certificate for `api.example`.
pub(crate) async fn secure_server() -> (u16, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["api.example".to_owned()]).unwrap().self_signed(&key).unwrap();
    let certificate = certificate.der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(serve(stream, Heard::default()));
            }
        }
    });
    (port, certificate)
}

async fn serve<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S, heard: Heard) {
    let service = service_fn(|request| {
        let heard = heard.clone();
        async move { Ok::<_, Infallible>(answer(request, &heard).await) }
    });
    // In some tests, the client disconnects in the middle of a request.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, heard: &Heard) -> Response<Body> {
    let path = request.uri().path().to_owned();
    heard.requests.lock().unwrap().push(format!("{} {path}", request.method()));
    let host = request.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
    let key = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let text = |text: String| Response::new(Full::new(Bytes::from(text)).boxed_unsync());
    match path.as_str() {
        "/count" => {
            let mut bytes = 0;
            let mut body = request.into_body();
            while let Some(frame) = body.frame().await {
                bytes += frame.unwrap().data_ref().map_or(0, Bytes::len);
            }
            text(format!("{bytes} bytes"))
        }
        // Reports whether the key arrived, without revealing it.
        "/key" => text(format!("the key is {}", key.as_deref() == Some("Bearer s3cret"))),
        "/redirect" => {
            let empty = Full::default().boxed_unsync();
            Response::builder().status(302).header("location", "http://169.254.169.254/").body(empty).unwrap()
        }
        "/endless" => Response::new(Endless(Bytes::from(vec![b'x'; 64 << 10])).boxed_unsync()),
        "/busy" => {
            let going_on = heard.going_on.fetch_add(1, Ordering::SeqCst) + 1;
            heard.most_at_once.fetch_max(going_on, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            heard.going_on.fetch_sub(1, Ordering::SeqCst);
            text("done".into())
        }
        "/slow" => {
            tokio::time::sleep(Duration::from_mins(1)).await;
            text("at last".into())
        }
        _ => text(format!("{} {path} at {}", request.method(), host.unwrap_or_default())),
    }
}

struct Endless(Bytes);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(self.0.clone()))))
    }
}

/// Starts a server that echoes every line.
pub(crate) async fn echo_server() -> (u16, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Heard::default();
    let connections = Arc::clone(&heard.connections);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            connections.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let (reads, mut writes) = stream.into_split();
                let mut lines = BufReader::new(reads).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let _ = writes.write_all(format!("heard {line}\n").as_bytes()).await;
                }
            });
        }
    });
    (port, heard)
}

/// Starts a server that sends this many bytes to each client, or an endless stream.
pub(crate) async fn giving_server(bytes: Option<usize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                match bytes {
                    Some(bytes) => drop(stream.write_all(&vec![b'x'; bytes]).await),
                    None => while stream.write_all(&[b'x'; 4 << 10]).await.is_ok() {},
                }
            });
        }
    });
    port
}

/// Starts a server that sends every datagram back.
pub(crate) async fn datagram_server() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut bytes = [0; 64];
        while let Ok((length, from)) = socket.recv_from(&mut bytes).await {
            let _ = socket.send_to(&bytes[..length], from).await;
        }
    });
    port
}

/// A resolver with fixed names. Each lookup of a name returns the next result; after the last
/// result, it is repeated.
#[derive(Default)]
struct Names {
    answers: HashMap<&'static str, Vec<IpAddr>>,
    looked_up: Mutex<HashMap<String, usize>>,
}

#[async_trait::async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut looked_up = self.looked_up.lock().unwrap();
        let round = looked_up.entry(name.to_owned()).or_default();
        *round += 1;
        let answers = self.answers.get(name).ok_or_else(|| io::Error::other("nobody knows it"))?;
        Ok(vec![answers[(*round - 1).min(answers.len() - 1)]])
    }
}

struct OneSecret;

impl Secrets for OneSecret {
    fn read(&self, source: &CredentialSource) -> Result<Secret, MissingSecret> {
        match source {
            CredentialSource::Environment(name) if &**name == "API_TOKEN" => {
                Ok(Secret::new("s3cret".to_owned()))
            }
            source => Err(MissingSecret(format!("{source:?} is not there"))),
        }
    }
}

/// A provider with network access, and its audit log.
pub(crate) struct Reaching {
    pub(crate) provider: Arc<dyn Provider>,
    log: tempfile::NamedTempFile,
}

impl Reaching {
    /// Creates a provider under a user's policy. `api.example`, `other.example` and
    /// `inside.example` are this machine; `metadata.example` resolves to the address of cloud
    /// metadata services; `rebinds.example` resolves to an unused address at first, and to this
    /// machine from the second lookup on.
    pub(crate) fn new(rules: &str) -> Self {
        Self::with(rules, short(), Vec::new())
    }

    pub(crate) fn with(rules: &str, limits: SandboxLimits, roots: Vec<CertificateDer<'static>>) -> Self {
        Self::build(rules, limits, roots, DeclaredCapabilities::default())
    }

    /// Creates a provider that declares only these capabilities.
    pub(crate) fn declaring(rules: &str, declared: DeclaredCapabilities) -> Self {
        Self::build(rules, short(), Vec::new(), declared)
    }

    fn build(
        rules: &str,
        limits: SandboxLimits,
        roots: Vec<CertificateDer<'static>>,
        declared: DeclaredCapabilities,
    ) -> Self {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let nobody = IpAddr::from([192, 0, 2, 1]);
        let answers = [
            ("api.example", vec![here]),
            ("other.example", vec![here]),
            ("inside.example", vec![here]),
            ("metadata.example", vec![IpAddr::from([169, 254, 169, 254])]),
            ("rebinds.example", vec![nobody, here]),
        ];
        let network = NetworkOptions {
            roots: TlsRoots::from_certificates(roots).unwrap(),
            resolver: Arc::new(Names { answers: answers.into_iter().collect(), ..Names::default() }),
            secrets: Arc::new(OneSecret),
            ..NetworkOptions::default()
        };
        let place = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let cache = CacheDirectories { code: place.join("code"), key: place.join("key") };
        let options = SandboxOptions {
            cache: Some(cache),
            limits,
            parallelism: 4,
            network,
            ..SandboxOptions::default()
        };
        let plugin = Sandbox::new(options)
            .unwrap()
            .load("acme/hostile", &bytes("hostile-network"), None, None, &|_| {})
            .unwrap();

        let log = tempfile::NamedTempFile::new().unwrap();
        let monitor = monitor(rules, AuditLog::open(log.path()).unwrap());
        let grants = Grants::by_policy(monitor, Path::new("/srv/project"), []).with_declared(declared);
        Self { provider: plugin.provider(grants), log }
    }

    /// Returns the network records of the audit log. The provider also tries to open a file when it
    /// returns its schema.
    pub(crate) fn records(&self) -> Vec<Record> {
        let text = std::fs::read_to_string(self.log.path()).unwrap();
        let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
        records.filter(|record: &Record| record.capability != Capability::Filesystem).collect()
    }

    /// Returns each record's decision and target.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let shown = |record: Record| {
            let decision = serde_json::to_string(&record.decision).unwrap();
            format!("{} {}", decision.trim_matches('"'), record.target)
        };
        self.records().into_iter().map(shown).collect()
    }
}

fn monitor(rules: &str, log: AuditLog) -> Monitor {
    let address = ProviderAddress::parse("acme/hostile").unwrap();
    let text = format!("plugin \"acme/hostile\" {{\n{rules}\n}}\n");
    let source = SourceFile::new("/srv/policy.hcl", text.as_str());
    let file = PolicyFile::parse(Level::User, &source, Path::new("/srv/project"))
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let policy = Policy::new(Path::new("/srv/project"), [file], []);
    let identity =
        PluginIdentity { address: address.clone(), version: None, sha256: None, confinement: None };
    Monitor::new(policy.for_plugin(&address), identity, Arc::new(log))
}

/// Returns an address on which no server listens.
pub(crate) fn closed() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}
