//! A proxy behind which Azure's services are: blobs with leases, the login service and Azure Resource
//! Manager. Clients send their requests to the real names of the services.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::azurite::Azurite;
use crate::request::{Request, Response, percent_decode};
use crate::state_server::{StateServer, TestService};
use crate::tls::TestAuthority;

/// The proxy. Clones share it.
#[derive(Clone)]
pub struct Azure {
    server: StateServer,
    service: Arc<AzureService>,
    authority: Arc<TestAuthority>,
    certificate_file: Arc<tempfile::NamedTempFile>,
}

struct AzureService {
    content: Mutex<Content>,
    /// Processes the requests for blobs.
    azurite: Option<Azurite>,
}

#[derive(Clone, Default)]
struct Blob {
    content: Vec<u8>,
    etag: u64,
    metadata: BTreeMap<String, String>,
    lease: Option<String>,
    snapshots: u32,
}

#[derive(Default)]
struct Content {
    blobs: BTreeMap<String, Blob>,
    etag: u64,
    page_size: Option<usize>,
    tokens: BTreeSet<String>,
    token_seconds: u64,
}

impl Azure {
    /// The name of the storage account.
    pub const ACCOUNT: &'static str = "wardianstates";
    /// The name of the container. No other container exists.
    pub const CONTAINER: &'static str = "states";
    /// The key of the storage account.
    pub const KEY: &'static str = "d2FyZGlhbiBrZXkgZm9yIHRlc3RzIG9ubHk=";
    /// The query of a valid shared access signature.
    pub const SIGNATURE: &'static str = "sv=2023-11-03&sp=rwdl&sig=a%2Bb%3D";

    const NAMES: &'static [&'static str] = &[
        "wardianstates.blob.core.windows.net",
        "wardianstates.blob.core.usgovcloudapi.net",
        "wardianstates.blob.storage.example",
        "wardianstates.z1.blob.storage.example",
        "login.microsoftonline.com",
        "login.microsoftonline.us",
        "login.example",
        "management.azure.com",
        "management.example",
        "metadata.example",
    ];

    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts a proxy in front of Azurite. Prints the reason and returns [`None`] if it is not
    /// installed.
    pub fn start_with_azurite() -> Option<Self> {
        Azurite::start().map(|azurite| Self::start_with(Some(azurite)))
    }

    fn start_with(azurite: Option<Azurite>) -> Self {
        let authority = Arc::new(TestAuthority::new());
        let certificate_file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(certificate_file.path(), authority.certificate()).unwrap();
        let content = Content { token_seconds: 3600, ..Content::default() };
        let service = Arc::new(AzureService { content: Mutex::new(content), azurite });
        let processing = Arc::clone(&service) as Arc<dyn TestService>;
        let server = StateServer::start_proxy(&authority, Self::NAMES, processing);
        Self { server, service, authority, certificate_file: Arc::new(certificate_file) }
    }

    /// Returns the server, which has the faults and the received requests.
    pub fn server(&self) -> &StateServer {
        &self.server
    }

    /// Returns the value of `HTTPS_PROXY`.
    pub fn proxy(&self) -> String {
        self.server.url("")
    }

    /// Returns the certificate of the authority in PEM format.
    pub fn certificate(&self) -> String {
        self.authority.certificate()
    }

    /// Returns the value of `SSL_CERT_FILE`.
    pub fn certificate_file(&self) -> PathBuf {
        self.certificate_file.path().to_owned()
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.service.content.lock().unwrap()
    }

    pub fn blob(&self, name: &str) -> Option<String> {
        self.lock().blobs.get(name).map(|blob| String::from_utf8_lossy(&blob.content).into_owned())
    }

    pub fn metadata(&self, name: &str) -> BTreeMap<String, String> {
        self.lock().blobs.get(name).map(|blob| blob.metadata.clone()).unwrap_or_default()
    }

    pub fn set_metadata(&self, name: &str, key: &str, value: &str) {
        let mut content = self.lock();
        content.etag += 1;
        let etag = content.etag;
        let blob = content.blobs.entry(name.to_owned()).or_default();
        blob.metadata.insert(key.to_owned(), value.to_owned());
        blob.etag = etag;
    }

    pub fn lease(&self, name: &str) -> Option<String> {
        self.lock().blobs.get(name).and_then(|blob| blob.lease.clone())
    }

    /// Sets the lease of a blob, or breaks it.
    pub fn set_lease(&self, name: &str, lease: Option<&str>) {
        self.lock().blobs.get_mut(name).unwrap().lease = lease.map(str::to_owned);
    }

    pub fn snapshots(&self, name: &str) -> u32 {
        self.lock().blobs.get(name).map_or(0, |blob| blob.snapshots)
    }

    /// Writes a blob, as another process does.
    pub fn put_blob(&self, name: &str, text: &str) {
        let mut content = self.lock();
        content.etag += 1;
        let etag = content.etag;
        let blob = content.blobs.entry(name.to_owned()).or_default();
        blob.content = text.as_bytes().to_vec();
        blob.etag = etag;
    }

    pub fn set_page_size(&self, size: usize) {
        self.lock().page_size = Some(size);
    }

    pub fn set_token_seconds(&self, seconds: u64) {
        self.lock().token_seconds = seconds;
    }
}

impl TestService for AzureService {
    fn process(&self, request: &Request) -> Response {
        let host = request.header("host").unwrap_or_default();
        match &self.azurite {
            Some(azurite) if host.contains(".blob.") => azurite.forward(request),
            _ => self.content.lock().unwrap().process(host, request),
        }
    }
}

impl Content {
    fn process(&mut self, host: &str, request: &Request) -> Response {
        let path = request.path().to_owned();
        if host.contains(".blob.") {
            return self.blob_request(request, &path);
        }
        if path.ends_with("/oauth2/v2.0/token") {
            let form = request.form();
            let is_wrong = form.iter().any(|(name, value)| name == "client_secret" && value == "wrong");
            if is_wrong {
                let body = "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS7000215: Invalid client secret.\"}";
                return json(401, body);
            }
            return self.issue();
        }
        match (request.method.as_str(), path.as_str()) {
            ("GET", "/msi") if request.header("metadata") == Some("true") => self.issue(),
            ("GET", "/oidc") => json(200, "{\"value\":\"identity token\"}"),
            ("POST", "/pipelines") => json(200, "{\"oidcToken\":\"pipeline token\"}"),
            ("GET", "/metadata/endpoints") => json(
                200,
                "{\"name\":\"Example\",\"authentication\":{\"loginEndpoint\":\"https://login.example\",\"audiences\":\
                 [\"https://management.example/\"],\"tenant\":\"common\",\"identityProvider\":\"AAD\"},\"resourceManager\":\
                 \"https://management.example/\",\"suffixes\":{\"storage\":\"storage.example\"}}",
            ),
            _ if !self.has_token(request) => {
                json(401, "{\"error\":{\"code\":\"AuthenticationFailed\",\"message\":\"m\"}}")
            }
            ("POST", path) if path.ends_with("/listKeys") => json(
                200,
                &format!(
                    "{{\"keys\":[{{\"keyName\":\"r\",\"value\":\"AAAA\",\"permissions\":\"Read\"}},{{\"keyName\":\"key1\",\
                     \"value\":\"{}\",\"permissions\":\"FULL\"}}]}}",
                    Azure::KEY
                ),
            ),
            ("GET", path) if path.contains("/storageAccounts/") => json(
                200,
                "{\"properties\":{\"primaryEndpoints\":{\"blob\":\"https://wardianstates.z1.blob.storage.example/\"}}}",
            ),
            _ => json(404, "{\"error\":{\"code\":\"ResourceNotFound\",\"message\":\"m\"}}"),
        }
    }

    fn issue(&mut self) -> Response {
        let token = format!("token-{}", self.tokens.len() + 1);
        self.tokens.insert(token.clone());
        json(200, &format!("{{\"access_token\":\"{token}\",\"expires_in\":\"{}\"}}", self.token_seconds))
    }

    fn has_token(&self, request: &Request) -> bool {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        token.is_some_and(|token| self.tokens.contains(token))
    }

    fn blob_request(&mut self, request: &Request, path: &str) -> Response {
        // Only Azurite verifies signatures.
        let key = format!("SharedKey {}:", Azure::ACCOUNT);
        let is_signed = request.header("authorization").is_some_and(|value| value.starts_with(&key))
            || request.parameter("sig").as_deref() == Some("a+b=");
        if !is_signed && !self.has_token(request) {
            return error(403, "AuthenticationFailed", "Server failed to authenticate the request.");
        }
        let path = percent_decode(path);
        let (container, name) = path.trim_start_matches('/').split_once('/').unwrap_or((&path[1..], ""));
        if container != Azure::CONTAINER {
            return error(404, "ContainerNotFound", "The specified container does not exist.");
        }
        let component = request.parameter("comp").unwrap_or_default();
        match (request.method.as_str(), component.as_str()) {
            ("GET", "list") if name.is_empty() => self.list(request),
            ("GET" | "HEAD", "") => match self.blobs.get(name) {
                None => error(404, "BlobNotFound", "The specified blob does not exist."),
                Some(blob) => blob.response(),
            },
            ("PUT", "") => self.put(request, name),
            ("PUT", "lease") => self.lease(request, name),
            ("PUT", "metadata") => self.change(request, name, |blob| {
                blob.metadata = metadata(request);
                200
            }),
            ("PUT", "snapshot") => self.change(request, name, |blob| {
                blob.snapshots += 1;
                201
            }),
            ("DELETE", "") => {
                if self.blobs.get(name).is_some_and(|blob| blob.snapshots > 0) {
                    return error(409, "SnapshotsPresent", "The blob has snapshots.");
                }
                let response = self.change(request, name, |_| 202);
                if response.status == 202 {
                    self.blobs.remove(name);
                }
                response
            }
            _ => error(400, "InvalidQueryParameterValue", "The request is not supported."),
        }
    }

    fn list(&self, request: &Request) -> Response {
        let prefix = request.parameter("prefix").unwrap_or_default();
        let start = request.parameter("marker").unwrap_or_default();
        let names: Vec<&String> =
            self.blobs.keys().filter(|name| name.starts_with(&prefix) && **name > start).collect();
        let size = self.page_size.unwrap_or(5000);
        let mut body = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>");
        for name in names.iter().take(size) {
            let _ = write!(body, "<Blob><Name>{name}</Name></Blob>");
        }
        let next = names.get(size.wrapping_sub(1)).filter(|_| names.len() > size);
        let _ = write!(
            body,
            "</Blobs><NextMarker>{}</NextMarker></EnumerationResults>",
            next.map_or("", |name| name)
        );
        Response::new(200, body).with_header("content-type", "application/xml")
    }

    fn put(&mut self, request: &Request, name: &str) -> Response {
        let found = self.blobs.get(name);
        if found.is_some() && request.header("if-none-match") == Some("*") {
            return error(409, "BlobAlreadyExists", "The specified blob already exists.");
        }
        if let Some(expected) = request.header("if-match")
            && found.map(Blob::etag).as_deref() != Some(expected)
        {
            return error(412, "ConditionNotMet", "The condition is not met.");
        }
        if found.is_none() {
            self.blobs.insert(name.to_owned(), Blob::default());
        }
        self.change(request, name, |blob| {
            blob.content.clone_from(&request.body);
            blob.metadata = metadata(request);
            201
        })
    }

    /// Changes a blob under its lease.
    fn change(&mut self, request: &Request, name: &str, change: impl FnOnce(&mut Blob) -> u16) -> Response {
        let Some(blob) = self.blobs.get_mut(name) else {
            return error(404, "BlobNotFound", "The specified blob does not exist.");
        };
        match (&blob.lease, request.header("x-ms-lease-id")) {
            (Some(_), None) => return error(412, "LeaseIdMissing", "There is a lease on the blob."),
            (Some(lease), Some(given)) if lease != given => {
                return error(412, "LeaseIdMismatchWithBlobOperation", "The lease ID does not match.");
            }
            (None, Some(_)) => return error(412, "LeaseNotPresentWithBlobOperation", "There is no lease."),
            _ => {}
        }
        let status = change(blob);
        self.etag += 1;
        blob.etag = self.etag;
        Response::new(status, "").with_header("etag", &blob.etag())
    }

    fn lease(&mut self, request: &Request, name: &str) -> Response {
        let Some(blob) = self.blobs.get_mut(name) else {
            return error(404, "BlobNotFound", "The specified blob does not exist.");
        };
        match request.header("x-ms-lease-action") {
            Some("acquire") => {
                let proposed = request.header("x-ms-proposed-lease-id").unwrap_or_default();
                if blob.lease.as_deref().is_some_and(|lease| lease != proposed) {
                    return error(409, "LeaseAlreadyPresent", "There is already a lease present.");
                }
                blob.lease = Some(proposed.to_owned());
                Response::new(201, "").with_header("x-ms-lease-id", proposed)
            }
            Some("release") if blob.lease.as_deref() == request.header("x-ms-lease-id") => {
                blob.lease = None;
                Response::new(200, "")
            }
            _ => error(409, "LeaseIdMismatchWithLeaseOperation", "The lease ID does not match."),
        }
    }
}

impl Blob {
    fn etag(&self) -> String {
        format!("\"0x{:X}\"", self.etag)
    }

    fn response(&self) -> Response {
        let is_leased = self.lease.is_some();
        let mut response = Response::new(200, self.content.clone())
            .with_header("etag", &self.etag())
            .with_header("x-ms-lease-state", if is_leased { "leased" } else { "available" })
            .with_header("x-ms-lease-status", if is_leased { "locked" } else { "unlocked" });
        for (name, value) in &self.metadata {
            response = response.with_header(&format!("x-ms-meta-{name}"), value);
        }
        response
    }
}

fn metadata(request: &Request) -> BTreeMap<String, String> {
    let pairs = request.headers.iter();
    pairs
        .filter_map(|(name, value)| Some((name.strip_prefix("x-ms-meta-")?.to_owned(), value.clone())))
        .collect()
}

fn json(status: u16, body: &str) -> Response {
    Response::new(status, body).with_header("content-type", "application/json")
}

fn error(status: u16, code: &str, message: &str) -> Response {
    Response::new(status, format!("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>{message}\nRequestId:1</Message></Error>"))
        .with_header("content-type", "application/xml")
        .with_header("x-ms-error-code", code)
}
