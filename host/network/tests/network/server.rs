//! HTTP servers for tests, and an authority that records its requests.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use wardian_access::{Denied, HttpAuthority, HttpCredential, HttpExchange, NetworkRequest};
use wardian_network::proxy::ProxySettings;
use wardian_network::{
    BoxedBody, Client, ClientOptions, HttpLimits, NetworkError, RequestLimiter, Resolver, ResponseBody,
    Ticket, Timeouts, TlsRoots,
};

pub type ServerBody = UnsyncBoxBody<Bytes, Infallible>;

/// A server on a loopback address that counts its connections.
pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server with this response to each request.
    pub async fn start<F>(answer: F) -> Self
    where
        F: Fn(Request<Incoming>) -> Response<ServerBody> + Clone + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, answer.clone()));
            }
        });
        Self { address, connections }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

pub async fn serve<S, F>(stream: S, answer: F)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    F: Fn(Request<Incoming>) -> Response<ServerBody> + Send + Sync + 'static,
{
    let service = service_fn(|request| {
        let response = answer(request);
        async move { Ok::<_, Infallible>(response) }
    });
    // In some tests, the client disconnects early.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

pub fn text(text: impl Into<Bytes>) -> Response<ServerBody> {
    Response::new(Full::new(text.into()).boxed_unsync())
}

/// Responds with the received method, URI and some headers.
pub fn echo(request: Request<Incoming>) -> Response<ServerBody> {
    let mut lines = vec![format!("{} {}", request.method(), request.uri())];
    for name in ["host", "authorization", "proxy-authorization", "connection"] {
        if let Some(value) = request.headers().get(name) {
            lines.push(format!("{name}: {}", value.to_str().unwrap()));
        }
    }
    text(lines.join("\n"))
}

/// An authority that allows everything except the configured denials, and records its requests.
#[derive(Default)]
pub struct Judge {
    pub denied_hosts: Vec<&'static str>,
    pub denied_addresses: Vec<IpAddr>,
    /// If set, all addresses are denied.
    pub is_closed: AtomicBool,
    pub credentials: HashMap<&'static str, Vec<HttpCredential>>,
    pub asked: Mutex<Vec<String>>,
    pub ended: Mutex<Vec<HttpExchange>>,
}

impl Judge {
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl HttpAuthority for Judge {
    fn reserved_headers(&self, request: &NetworkRequest) -> Vec<HeaderName> {
        let credentials = self.credentials.get(request.host().to_string().as_str());
        credentials.into_iter().flatten().map(|credential| credential.name.clone()).collect()
    }

    fn may_send(&self, request: &NetworkRequest) -> Result<(), Denied> {
        self.asked.lock().unwrap().push(request.to_string());
        if self.denied_hosts.contains(&request.host().to_string().as_str()) {
            return Err(Denied::new(format!("{} is denied", request.host())));
        }
        Ok(())
    }

    fn may_connect(&self, _: &NetworkRequest, address: IpAddr) -> Result<(), Denied> {
        self.asked.lock().unwrap().push(address.to_string());
        if self.denied_addresses.contains(&address) || self.is_closed.load(Ordering::Relaxed) {
            return Err(Denied::new(format!("{address} is denied")));
        }
        Ok(())
    }

    fn credentials(&self, request: &NetworkRequest) -> Result<Vec<HttpCredential>, Denied> {
        Ok(self.credentials.get(request.host().to_string().as_str()).cloned().unwrap_or_default())
    }

    fn finished(&self, exchange: &HttpExchange) {
        self.ended.lock().unwrap().push(exchange.clone());
    }
}

/// A resolver with configured names. Each lookup of a name returns the next result; after the last
/// result, it is repeated.
#[derive(Default)]
pub struct Names {
    pub answers: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    pub looked_up: AtomicUsize,
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let round = self.looked_up.fetch_add(1, Ordering::Relaxed);
        let answers = self.answers.get(name).ok_or_else(|| io::Error::other("nobody knows it"))?;
        Ok(answers[round.min(answers.len() - 1)].clone())
    }
}

/// The configuration of a client, which a test can change.
pub struct Setting {
    pub judge: Arc<Judge>,
    pub names: Arc<Names>,
    pub roots: TlsRoots,
    pub proxies: ProxySettings,
    pub limits: HttpLimits,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            judge: Arc::default(),
            names: Arc::default(),
            roots: TlsRoots::from_certificates(Vec::new()).unwrap(),
            proxies: ProxySettings::default(),
            limits: HttpLimits { limiter: RequestLimiter::new(8), response: 1 << 20 },
        }
    }
}

impl Setting {
    pub fn client(&self) -> Judged {
        let client = Client::new(ClientOptions {
            resolver: Arc::clone(&self.names) as Arc<dyn Resolver>,
            roots: self.roots.clone(),
            proxies: self.proxies.clone(),
            limits: self.limits.clone(),
        });
        Judged { client, judge: Arc::clone(&self.judge) }
    }
}

/// A client with one authority for all requests.
#[derive(Clone)]
pub struct Judged {
    client: Client,
    judge: Arc<Judge>,
}

impl Judged {
    pub async fn send_in_turn(
        &self,
        ticket: Ticket,
        request: Request<BoxedBody>,
    ) -> Result<Response<ResponseBody>, NetworkError> {
        self.client.send(ticket, Arc::clone(&self.judge) as Arc<dyn HttpAuthority>, request, TIMEOUTS).await
    }

    pub fn ticket(&self) -> Ticket {
        self.client.ticket()
    }

    pub async fn send(
        &self,
        request: Request<BoxedBody>,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, NetworkError> {
        let judge = Arc::clone(&self.judge) as Arc<dyn HttpAuthority>;
        self.client.send(self.client.ticket(), judge, request, timeouts).await
    }
}

pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(5),
    between_bytes: Duration::from_secs(5),
};

pub fn body(text: &'static str) -> BoxedBody {
    Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync()
}

pub fn get(url: &str) -> Request<BoxedBody> {
    Request::get(url).body(body("")).unwrap()
}

pub async fn read(response: Response<ResponseBody>) -> Result<String, NetworkError> {
    let bytes = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

pub async fn answer(client: &Judged, request: Request<BoxedBody>) -> Result<String, NetworkError> {
    read(client.send(request, TIMEOUTS).await?).await
}
