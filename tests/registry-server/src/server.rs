//! A running server, and the operations that a test performs on it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use http::Response;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::answer::{Answer, Incoming, answer};
use crate::body::{Cut, Delivery, ServedBody, response};
use crate::certificates::Certificates;
use crate::description::ServerDescription;
use crate::faults::{self, FaultRule, Faults, Outcome};
use crate::listeners::{Listeners, Origin, ServerAddresses};
use crate::login;
use crate::oci::{self, OciStore};
use crate::packages::Blob;
use crate::request_log::{RecordedRequest, RequestLog};
use crate::site::Site;

/// The state that all connections share.
pub(crate) struct Shared {
    pub(crate) addresses: ServerAddresses,
    pub(crate) log: RequestLog,
    pub(crate) oci: Mutex<OciStore>,
    pub(crate) codes: login::Codes,
    site: RwLock<Arc<Site>>,
    faults: Faults,
    latency_ms: AtomicU64,
}

impl Shared {
    pub(crate) fn site(&self) -> Arc<Site> {
        Arc::clone(&self.site.read().unwrap())
    }

    /// Responds to a request and records it.
    pub(crate) async fn respond(&self, request: Incoming) -> Result<Response<ServedBody>, Cut> {
        if let Some(answer) = self.control(&request) {
            return Ok(response(answer, Delivery::default(), &request.headers));
        }
        let latency = self.latency_ms.load(Ordering::Relaxed);
        if latency > 0 {
            tokio::time::sleep(Duration::from_millis(latency)).await;
        }
        let fault = self.faults.take(&request);
        let site = self.site();
        let answer = answer(self, &site, &request).await;
        match faults::apply(fault, answer, &request, &self.addresses).await {
            Outcome::Send(answer, delivery) => {
                let response = response(answer, delivery, &request.headers);
                self.record(&request, response.status().as_u16());
                Ok(response)
            }
            Outcome::Close => {
                self.record(&request, 0);
                Err(Cut)
            }
            Outcome::Never => {
                self.record(&request, 0);
                std::future::pending().await
            }
        }
    }

    /// Responds to other processes' requests about the server itself. These requests are not recorded.
    fn control(&self, request: &Incoming) -> Option<Answer> {
        match request.path.as_str() {
            "/-/requests" => Some(Answer::json(&serde_json::to_value(self.log.all()).unwrap())),
            "/-/forget-requests" => {
                self.log.take();
                Some(Answer::new(204, ""))
            }
            "/-/add-fault" => match serde_json::from_slice(&request.body) {
                Ok(rule) => {
                    self.faults.add(rule);
                    Some(Answer::new(204, ""))
                }
                Err(error) => Some(Answer::new(400, error.to_string())),
            },
            "/-/remove-faults" => {
                self.faults.set(Vec::new());
                Some(Answer::new(204, ""))
            }
            _ => None,
        }
    }

    fn record(&self, request: &Incoming, status: u16) {
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        let headers: BTreeMap<String, String> = request
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        self.log.add(RecordedRequest {
            origin: request.origin,
            method: request.method.to_string(),
            path: format!("{}{query}", request.path),
            headers,
            status,
        });
    }
}

/// A server that runs until it is dropped.
pub struct RegistryServer {
    shared: Arc<Shared>,
    authority: String,
    directory: TempDir,
    runtime: Option<Runtime>,
}

impl RegistryServer {
    /// The token that the login service issues.
    pub const LOGIN_TOKEN: &str = login::TOKEN;

    /// Starts a server. The description can contain the server's addresses.
    pub fn start(describe: impl FnOnce(&ServerAddresses) -> ServerDescription) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let directory = tempfile::Builder::new().prefix("wardian-registry-").tempdir().unwrap();
        let certificates = Certificates::new();
        std::fs::write(directory.path().join("authority.pem"), &certificates.authority).unwrap();
        let listeners = runtime.block_on(Listeners::bind());
        let addresses = listeners.addresses();
        let description = describe(&addresses);
        let shared = Arc::new(Shared {
            addresses,
            log: RequestLog::default(),
            oci: Mutex::default(),
            codes: login::Codes::default(),
            site: RwLock::new(Arc::new(Site::new(ServerDescription::default(), directory.path()))),
            faults: Faults::default(),
            latency_ms: AtomicU64::new(0),
        });
        let mut server = Self { shared, authority: certificates.authority, directory, runtime: None };
        server.update(description);
        {
            let _guard = runtime.enter();
            listeners.serve(&server.shared, &certificates.acceptor);
        }
        server.runtime = Some(runtime);
        server
    }

    /// Starts a server from a description in JSON, in which `[PLAIN]`, `[TLS]`, `[OTHER]`,
    /// `[OTHER_TLS]` and `[PROXY]` are replaced by the server's URLs, and `[HOST]`, `[PLAIN_HOST]` and
    /// `[PROXY_HOST]` by the host and the port of `[TLS]`, `[PLAIN]` and `[PROXY]`.
    pub fn start_from_json(text: &str) -> Self {
        Self::start(|addresses| {
            let text = replace_addresses(text, addresses);
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in the description:\n{text}"))
        })
    }

    /// Replaces the content. The recorded requests and the OCI registry's uploads are preserved.
    pub fn update(&self, description: ServerDescription) {
        self.shared.latency_ms.store(description.latency_ms, Ordering::Relaxed);
        self.shared.faults.set(description.faults.clone());
        let site = Site::new(description, self.directory.path());
        oci::fill(&mut self.shared.oci.lock().unwrap(), &site);
        *self.shared.site.write().unwrap() = Arc::new(site);
    }

    /// Returns a copy of the description. A test can change a part of it.
    pub fn description(&self) -> ServerDescription {
        self.shared.site().description.clone()
    }

    pub fn add_fault(&self, rule: FaultRule) {
        self.shared.faults.add(rule);
    }

    pub fn remove_faults(&self) {
        self.shared.faults.set(Vec::new());
    }

    pub fn addresses(&self) -> &ServerAddresses {
        &self.shared.addresses
    }

    /// Returns the URL of an origin, without a trailing slash.
    pub fn url(&self, origin: Origin) -> String {
        self.shared.addresses.url(origin)
    }

    /// Replaces the placeholders for addresses in a text, as in a description.
    pub fn with_addresses(&self, text: &str) -> String {
        replace_addresses(text, &self.shared.addresses)
    }

    /// Returns the certificate of the authority, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the file with the certificate of the authority.
    pub fn authority_file(&self) -> PathBuf {
        self.directory.path().join("authority.pem")
    }

    /// Returns all requests since the start, or since the requests were last taken.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.log.all()
    }

    /// Returns the requests and clears the list.
    pub fn take_requests(&self) -> Vec<RecordedRequest> {
        self.shared.log.take()
    }

    /// Returns a file below `/files/`.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.shared.site().files.get(path).map(|(_, blob)| blob.bytes().to_vec())
    }

    /// Returns a file of a release, such as a package.
    pub fn release_file(&self, address: &str, version: &str, name: &str) -> Option<Vec<u8>> {
        let site = self.shared.site();
        site.release(address, version)?.files.get(name).map(|blob| blob.bytes().to_vec())
    }

    /// Returns the tags of a repository of the OCI registry.
    pub fn oci_tags(&self, repository: &str) -> Vec<String> {
        let store = self.shared.oci.lock().unwrap();
        store.tags(repository).unwrap_or_default().into_iter().map(str::to_owned).collect()
    }

    /// Returns a manifest of the OCI registry, by tag or digest.
    pub fn oci_manifest(&self, repository: &str, reference: &str) -> Option<Vec<u8>> {
        let store = self.shared.oci.lock().unwrap();
        store.manifest(repository, reference).map(|(_, blob)| blob.bytes().to_vec())
    }

    /// Adds a blob to the OCI registry and returns its digest.
    pub fn put_oci_blob(&self, repository: &str, content: &[u8]) -> String {
        self.shared.oci.lock().unwrap().put_blob(repository, Blob::new(content.to_vec()))
    }

    /// Adds a manifest to the OCI registry.
    pub fn put_oci_manifest(&self, repository: &str, reference: &str, media_type: &str, content: &[u8]) {
        let blob = Blob::new(content.to_vec());
        self.shared.oci.lock().unwrap().put_manifest(repository, reference, media_type, blob);
    }
}

impl Drop for RegistryServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn replace_addresses(text: &str, addresses: &ServerAddresses) -> String {
    let names = [
        ("[PLAIN]", Origin::Plain),
        ("[TLS]", Origin::Tls),
        ("[OTHER]", Origin::OtherPlain),
        ("[OTHER_TLS]", Origin::OtherTls),
        ("[PROXY]", Origin::Proxy),
    ];
    let hosts = [
        ("[HOST]", "localhost", Origin::Tls),
        ("[PLAIN_HOST]", "127.0.0.1", Origin::Plain),
        ("[PROXY_HOST]", "127.0.0.1", Origin::Proxy),
    ];
    let text = hosts.iter().fold(text.to_owned(), |text, (name, host, origin)| {
        text.replace(name, &format!("{host}:{}", addresses.port(*origin)))
    });
    names.iter().fold(text, |text, (name, origin)| text.replace(name, &addresses.url(*origin)))
}
