//! A service with the protocol of Google Cloud Storage: objects with generations and preconditions,
//! and the services that issue access tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::request::{Request, Response, percent_decode};
use crate::state_server::{StateServer, TestService};

/// A server with one bucket. Clones share it.
#[derive(Clone)]
pub struct Gcs {
    server: StateServer,
    service: Arc<GcsService>,
}

#[derive(Default)]
struct GcsService(Mutex<Content>);

struct Object {
    generation: u64,
    content: Vec<u8>,
    /// The user's key with which the object was written.
    key: Option<String>,
    kms_key: Option<String>,
}

struct Content {
    objects: BTreeMap<String, Object>,
    generation: u64,
    page_size: usize,
    /// The accepted access tokens. If there are none, every request is accepted.
    tokens: BTreeSet<String>,
    token_seconds: u64,
    issued: u64,
}

impl Default for Content {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            generation: 1_700_000_000_000_000,
            page_size: 1000,
            tokens: BTreeSet::new(),
            token_seconds: 3600,
            issued: 0,
        }
    }
}

impl Gcs {
    /// The name of the bucket. No other bucket exists.
    pub const BUCKET: &'static str = "states";

    pub fn start() -> Self {
        let service = Arc::<GcsService>::default();
        Self { server: StateServer::start_service(Arc::clone(&service) as Arc<dyn TestService>), service }
    }

    /// Returns the server, which has the faults and the received requests.
    pub fn server(&self) -> &StateServer {
        &self.server
    }

    /// Returns the value of `storage_custom_endpoint`.
    pub fn endpoint(&self) -> String {
        self.server.url("/storage/v1/")
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.service.0.lock().unwrap()
    }

    pub fn object(&self, name: &str) -> Option<String> {
        let content = self.lock();
        content.objects.get(name).map(|object| String::from_utf8_lossy(&object.content).into_owned())
    }

    /// Returns the name of the key in Cloud KMS with which an object was written.
    pub fn kms_key(&self, name: &str) -> Option<String> {
        self.lock().objects.get(name).and_then(|object| object.kms_key.clone())
    }

    pub fn generation(&self, name: &str) -> Option<String> {
        self.lock().objects.get(name).map(|object| object.generation.to_string())
    }

    /// Writes an object, as another process does.
    pub fn put_object(&self, name: &str, text: &str) {
        self.lock().put(name, text.as_bytes(), None, None);
    }

    pub fn delete_object(&self, name: &str) {
        self.lock().objects.remove(name);
    }

    pub fn set_page_size(&self, size: usize) {
        self.lock().page_size = size;
    }

    /// Accepts only tokens that the server has issued, with a lifetime in seconds.
    pub fn require_tokens(&self, seconds: u64) {
        let mut content = self.lock();
        content.tokens.insert(String::new());
        content.token_seconds = seconds;
    }
}

impl TestService for GcsService {
    fn process(&self, request: &Request) -> Response {
        self.0.lock().unwrap().process(request)
    }
}

impl Content {
    fn put(&mut self, name: &str, content: &[u8], key: Option<String>, kms_key: Option<String>) -> String {
        self.generation += 1;
        let object = Object { generation: self.generation, content: content.to_vec(), key, kms_key };
        self.objects.insert(name.to_owned(), object);
        self.resource(name)
    }

    fn resource(&self, name: &str) -> String {
        let object = &self.objects[name];
        format!(
            "{{\"kind\":\"storage#object\",\"bucket\":\"{}\",\"name\":\"{name}\",\"generation\":\"{}\",\"metageneration\":\
             \"1\",\"size\":\"{}\"}}",
            Gcs::BUCKET,
            object.generation,
            object.content.len()
        )
    }

    fn process(&mut self, request: &Request) -> Response {
        let segments: Vec<String> = request.path().split('/').skip(1).map(percent_decode).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match (request.method.as_str(), segments.as_slice()) {
            ("POST", ["token" | "exchange"]) => {
                let token = self.issue();
                json(200, &format!("{{\"access_token\":\"{token}\",\"expires_in\":{}}}", self.token_seconds))
            }
            ("GET", ["computeMetadata", "v1", "instance", "service-accounts", "default", "token"]) => {
                if request.header("metadata-flavor") != Some("Google") {
                    return error(403, "the header Metadata-Flavor is missing");
                }
                let token = self.issue();
                json(200, &format!("{{\"access_token\":\"{token}\",\"expires_in\":{}}}", self.token_seconds))
            }
            ("GET", ["subject"]) => json(200, "{\"value\":\"subject token\"}"),
            ("POST", ["impersonate"]) if self.is_authorized(request) => {
                let token = self.issue();
                json(200, &format!("{{\"accessToken\":\"{token}\",\"expireTime\":\"2199-01-01T00:00:00Z\"}}"))
            }
            _ if !self.is_authorized(request) => error(401, "Invalid Credentials"),
            ("GET", ["storage", "v1", "b", bucket, "o"]) => {
                self.in_bucket(bucket, |content| content.list(request))
            }
            ("POST", ["upload", "storage", "v1", "b", bucket, "o"]) => {
                self.in_bucket(bucket, |content| content.upload(request))
            }
            ("GET", ["storage", "v1", "b", bucket, "o", name]) => {
                let is_media = request.parameter("alt").as_deref() == Some("media");
                self.in_bucket(bucket, |content| content.read(request, name, is_media))
            }
            ("DELETE", ["storage", "v1", "b", bucket, "o", name]) => {
                self.in_bucket(bucket, |content| content.delete(request, name))
            }
            // The XML API.
            ("GET", [bucket, name @ ..]) => {
                let name = name.join("/");
                self.in_bucket(bucket, |content| content.read(request, &name, true))
            }
            _ => error(405, "Method Not Allowed"),
        }
    }

    fn issue(&mut self) -> String {
        self.issued += 1;
        let token = format!("token-{}", self.issued);
        self.tokens.insert(token.clone());
        token
    }

    fn is_authorized(&self, request: &Request) -> bool {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        !self.tokens.contains("") || token.is_some_and(|token| self.tokens.contains(token))
    }

    fn in_bucket(&mut self, bucket: &str, answer: impl FnOnce(&mut Self) -> Response) -> Response {
        if bucket != Gcs::BUCKET {
            return error(404, "The specified bucket does not exist.");
        }
        answer(self)
    }

    /// Returns whether the condition of a request is true.
    fn matches(&self, request: &Request, name: &str) -> bool {
        let generation = self.objects.get(name).map_or(0, |object| object.generation);
        request.parameter("ifGenerationMatch").is_none_or(|expected| expected == generation.to_string())
    }

    fn list(&self, request: &Request) -> Response {
        let prefix = request.parameter("prefix").unwrap_or_default();
        let start = request.parameter("pageToken").unwrap_or_default();
        let names = self.objects.keys().filter(|name| {
            let rest = name.strip_prefix(&prefix);
            rest.is_some_and(|rest| !rest.contains('/')) && **name > start
        });
        let names: Vec<&String> = names.collect();
        let mut body = String::from("{\"kind\":\"storage#objects\"");
        if let (true, Some(last)) = (names.len() > self.page_size, names.get(self.page_size - 1)) {
            let _ = write!(body, ",\"nextPageToken\":\"{last}\"");
        }
        let items: Vec<String> = names.iter().take(self.page_size).map(|name| self.resource(name)).collect();
        let _ = write!(body, ",\"items\":[{}]}}", items.join(","));
        json(200, &body)
    }

    fn upload(&mut self, request: &Request) -> Response {
        let Some(name) = request.parameter("name") else { return error(400, "Required parameter: name") };
        let Some(content) = content_of(request) else { return error(400, "Invalid multipart request") };
        if !self.matches(request, &name) {
            return error(412, "At least one of the pre-conditions you specified did not hold.");
        }
        let key = request.header("x-goog-encryption-key").map(str::to_owned);
        let resource = self.put(&name, &content, key, request.parameter("kmsKeyName"));
        json(200, &resource)
    }

    fn read(&self, request: &Request, name: &str, is_media: bool) -> Response {
        let Some(object) = self.objects.get(name) else {
            return error(404, &format!("No such object: {}/{name}", Gcs::BUCKET));
        };
        if object.key.as_deref() != request.header("x-goog-encryption-key") {
            return error(400, "The target object is encrypted by a customer-supplied encryption key.");
        }
        if !is_media {
            return json(200, &self.resource(name));
        }
        Response::new(200, object.content.clone())
            .with_header("x-goog-generation", &object.generation.to_string())
            .with_header("x-goog-metageneration", "1")
    }

    fn delete(&mut self, request: &Request, name: &str) -> Response {
        if !self.objects.contains_key(name) {
            return error(404, &format!("No such object: {}/{name}", Gcs::BUCKET));
        }
        if !self.matches(request, name) {
            return error(412, "At least one of the pre-conditions you specified did not hold.");
        }
        self.objects.remove(name);
        Response::new(204, "")
    }
}

/// Returns the second part of a multipart body.
fn content_of(request: &Request) -> Option<Vec<u8>> {
    let boundary = request.header("content-type")?.split_once("boundary=")?.1;
    let delimiter = format!("\r\n--{boundary}");
    let find = |text: &[u8], part: &[u8]| text.windows(part.len()).position(|window| window == part);
    let second = find(&request.body, delimiter.as_bytes())? + delimiter.len();
    let second = request.body.get(second..)?;
    let content = second.get(find(second, b"\r\n\r\n")? + 4..)?;
    Some(content.get(..find(content, delimiter.as_bytes())?)?.to_vec())
}

fn json(status: u16, body: &str) -> Response {
    Response::new(status, body).with_header("content-type", "application/json; charset=UTF-8")
}

fn error(status: u16, message: &str) -> Response {
    json(status, &format!("{{\"error\":{{\"code\":{status},\"message\":\"{message}\"}}}}"))
}
