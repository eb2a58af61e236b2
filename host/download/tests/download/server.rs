//! HTTP servers with scripted responses.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use url::Url;
use wardian_download::{Downloader, DownloaderOptions, Fetch};
use wardian_network::TlsRoots;

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    /// The request line and the headers.
    pub head: String,
    pub body: Vec<u8>,
    /// The number of requests that the server has received before.
    pub index: usize,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the method and the target.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }
}

/// The action of a server after it has written a response.
#[derive(Clone, Debug)]
pub enum Next {
    /// Waits for the next request.
    KeepAlive,
    Close,
    /// Sends nothing, and keeps the connection open.
    Hang,
    /// Repeats these bytes, with a pause after each repetition.
    Repeat(Vec<u8>, Duration),
}

/// The bytes of a response.
#[derive(Clone, Debug)]
pub struct Reply {
    bytes: Vec<u8>,
    next: Next,
}

impl Reply {
    pub fn raw(bytes: impl Into<Vec<u8>>, next: Next) -> Self {
        Self { bytes: bytes.into(), next }
    }

    /// Returns a response with a content length.
    pub fn new(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        Self::raw([head.as_bytes(), body].concat(), Next::KeepAlive)
    }

    pub fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::new(200, "", body)
    }

    pub fn redirect(location: &str) -> Self {
        Self::new(302, &format!("location: {location}\r\n"), "")
    }

    /// Returns a response that announces `length` bytes, sends fewer, and closes the connection.
    pub fn broken(status: u16, headers: &str, length: usize, body: impl AsRef<[u8]>) -> Self {
        let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\n{headers}\r\n");
        Self::raw([head.as_bytes(), body.as_ref()].concat(), Next::Close)
    }

    /// Returns a response without a content length, which ends when the connection is closed.
    pub fn until_close(body: impl AsRef<[u8]>) -> Self {
        Self::raw([b"HTTP/1.1 200 OK\r\n\r\n", body.as_ref()].concat(), Next::Close)
    }
}

/// A server that counts its connections and records its requests.
pub struct Server {
    pub address: SocketAddr,
    scheme: &'static str,
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Starts a server that calls a function for each request.
    pub async fn start<F>(reply: F) -> Self
    where
        F: Fn(&Received) -> Reply + Send + Sync + 'static,
    {
        Self::start_with(None, reply).await
    }

    /// Starts a server with a certificate for its address, and returns its certificate.
    pub async fn start_secure<F>(reply: F) -> (Self, TlsRoots)
    where
        F: Fn(&Received) -> Reply + Send + Sync + 'static,
    {
        let (acceptor, certificate) = acceptor();
        let roots = TlsRoots::from_certificates(vec![certificate]).unwrap();
        (Self::start_with(Some(acceptor), reply).await, roots)
    }

    async fn start_with<F>(acceptor: Option<TlsAcceptor>, reply: F) -> Self
    where
        F: Fn(&Received) -> Reply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let server = Self { address, scheme, connections: Arc::default(), received: Arc::default() };
        let (connections, received) = (Arc::clone(&server.connections), Arc::clone(&server.received));
        let reply = Arc::new(reply);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.fetch_add(1, Ordering::SeqCst);
                let (received, reply, acceptor) =
                    (Arc::clone(&received), Arc::clone(&reply), acceptor.clone());
                tokio::spawn(async move {
                    // Clients close connections at any time, so errors are ignored.
                    match acceptor {
                        None => {
                            let _ = serve(stream, &received, &*reply).await;
                        }
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                let _ = serve(stream, &received, &*reply).await;
                            }
                        }
                    }
                });
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}://{}{path}", self.scheme, self.address)).unwrap()
    }

    pub fn get(&self, path: &str) -> Fetch {
        Fetch::get(self.url(path))
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Returns the methods and targets of the received requests.
    pub fn lines(&self) -> Vec<String> {
        self.received().iter().map(|received| received.line().to_owned()).collect()
    }
}

async fn serve<S>(
    mut stream: S,
    received: &Mutex<Vec<Received>>,
    reply: &(impl Fn(&Received) -> Reply + Send + Sync),
) -> std::io::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
        let mut request = Received { head, body: Vec::new(), index: 0 };
        let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
        while buffer.len() < length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        request.body = buffer.drain(..length).collect();
        {
            let mut received = received.lock().unwrap();
            request.index = received.len();
            received.push(request.clone());
        }
        let Reply { bytes, next } = reply(&request);
        stream.write_all(&bytes).await?;
        stream.flush().await?;
        match next {
            Next::KeepAlive => {}
            Next::Close => return stream.shutdown().await,
            Next::Hang => std::future::pending().await,
            Next::Repeat(bytes, pause) => loop {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
                tokio::time::sleep(pause).await;
            },
        }
    }
}

fn acceptor() -> (TlsAcceptor, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let certificate = certificate.der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate)
}

/// Returns the options for tests: no system certificates, and no delays.
pub fn options() -> DownloaderOptions {
    DownloaderOptions {
        roots: TlsRoots::from_certificates(Vec::new()).unwrap(),
        user_agent: "test".to_owned(),
        metadata_timeout: Duration::from_mins(1),
        ..DownloaderOptions::default()
    }
}

pub fn downloader_with(options: DownloaderOptions) -> Downloader {
    Downloader::new(options).with_retry_delay(Duration::ZERO)
}

pub fn downloader() -> Downloader {
    downloader_with(options())
}

/// Runs a test within a time limit, to prevent it from hanging.
pub async fn within_limit<T>(test: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(Duration::from_mins(2), test).await;
    result.expect("the test did not end within two minutes")
}
