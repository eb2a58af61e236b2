//! The requests that handlers receive, the responses that they return, and the selection of the handler.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::listeners::Origin;
use crate::packages::{Blob, BlobData};
use crate::server::Shared;
use crate::site::Site;
use crate::{git, login, mirror, modules, oci, providers};

/// A request with its complete body.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) origin: Origin,
    /// `https://HOST[:PORT]`, the address that the client used for the server.
    pub(crate) base: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Incoming {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns an argument of the query, decoded.
    pub(crate) fn argument(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns `USER:PASSWORD` of basic authentication.
    pub(crate) fn basic(&self) -> Option<String> {
        let encoded = self.header("authorization").strip_prefix("Basic ")?;
        String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: BlobData,
}

impl Answer {
    pub(crate) fn new(status: u16, content: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), content: BlobData::Memory(content.into()) }
    }

    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self::new(200, value.to_string()).header("Content-Type", "application/json")
    }

    pub(crate) fn blob(blob: &Blob, content_type: &str) -> Self {
        Self { status: 200, headers: Vec::new(), content: blob.data.clone() }
            .header("Content-Type", content_type)
            .header("ETag", format!("\"{}\"", blob.sha256))
            .header("Accept-Ranges", "bytes")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "{\"errors\":[\"Not Found\"]}").header("Content-Type", "application/json")
    }

    pub(crate) fn redirect(location: &str) -> Self {
        Self::new(302, Bytes::new()).header("Location", location)
    }

    pub(crate) fn unauthorized(challenge: &str) -> Self {
        Self::new(401, "{\"errors\":[\"Unauthorized\"]}")
            .header("Content-Type", "application/json")
            .header("WWW-Authenticate", challenge)
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// Responds to a request with the content of the server, without faults.
pub(crate) async fn answer(shared: &Shared, site: &Site, request: &Incoming) -> Answer {
    let path = request.path.as_str();
    if path == "/.well-known/terraform.json" {
        return discovery(site, request);
    }
    if let Some(rest) = path.strip_prefix("/v1/providers/") {
        return with_token(site, request, |site| providers::answer(site, request, rest));
    }
    if let Some(rest) = path.strip_prefix("/v1/modules/") {
        return with_token(site, request, |site| modules::answer(site, request, rest));
    }
    if let Some(rest) = path.strip_prefix("/mirror/") {
        if mirror::is_document(rest) {
            return with_token(site, request, |site| mirror::answer(site, rest));
        }
        return mirror::package(site, rest);
    }
    if let Some(rest) = path.strip_prefix("/releases/") {
        if rest.contains("_SHA256SUMS") {
            return providers::file(site, rest);
        }
        return with_password(site, request, |site| providers::file(site, rest));
    }
    if let Some(rest) = path.strip_prefix("/module-archives/") {
        return with_password(site, request, |site| modules::archive(site, rest));
    }
    if let Some(rest) = path.strip_prefix("/files/") {
        return with_password(site, request, |site| file(site, rest));
    }
    if let Some(rest) = path.strip_prefix("/login/") {
        return login::answer(shared, request, rest);
    }
    if path == "/token" || path.starts_with("/v2/") || path.starts_with("/storage/") {
        return oci::answer(shared, site, request);
    }
    if path.starts_with("/git/") {
        return match &site.description.password {
            Some(password) if request.basic().as_ref() != Some(password) => {
                Answer::unauthorized("Basic realm=\"git\"")
            }
            _ => git::answer(site, request).await,
        };
    }
    Answer::not_found()
}

fn discovery(site: &Site, request: &Incoming) -> Answer {
    if let Some(document) = &site.description.discovery {
        return Answer::json(document);
    }
    Answer::json(&serde_json::json!({
        "providers.v1": "/v1/providers/",
        "modules.v1": "/v1/modules/",
        "login.v1": {
            "client": "client-of-tests",
            "grant_types": ["authz_code"],
            "authz": format!("{}/login/authorize", request.base),
            "token": format!("{}/login/token", request.base),
            "ports": [10_000, 10_999],
        },
    }))
}

fn with_token(site: &Site, request: &Incoming, then: impl FnOnce(&Site) -> Answer) -> Answer {
    let tokens = &site.description.tokens;
    let bearer = request.header("authorization").strip_prefix("Bearer ");
    if tokens.is_empty() || bearer.is_some_and(|bearer| tokens.iter().any(|token| token == bearer)) {
        then(site)
    } else {
        Answer::unauthorized("Bearer")
    }
}

fn with_password(site: &Site, request: &Incoming, then: impl FnOnce(&Site) -> Answer) -> Answer {
    match &site.description.password {
        Some(password) if request.basic().as_ref() != Some(password) => {
            Answer::unauthorized("Basic realm=\"files\"")
        }
        _ => then(site),
    }
}

fn file(site: &Site, path: &str) -> Answer {
    let Some((description, blob)) = site.files.get(path) else { return Answer::not_found() };
    let mut answer = Answer::blob(blob, "application/octet-stream");
    for (name, value) in &description.headers {
        answer = answer.header(name, value.as_str());
    }
    answer
}
