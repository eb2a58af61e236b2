//! An OCI registry in memory: the distribution protocol with tokens, uploads, pages of tags,
//! referrers, and blobs behind a redirect.

mod content;
mod store;

use http::Method;
use serde_json::json;

pub(crate) use store::OciStore;

use crate::answer::{Answer, Incoming};
use crate::packages::Blob;
use crate::server::Shared;
use crate::site::Site;

pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const MAX_TAGS: usize = 100;

/// Returns the digest of content, as the protocol writes it.
pub(crate) fn digest(blob: &Blob) -> String {
    format!("sha256:{}", blob.sha256)
}

/// Fills the store with the repositories of the description.
pub(crate) fn fill(store: &mut OciStore, site: &Site) {
    for repository in &site.description.oci {
        if let Some(provider) = &repository.provider {
            for release in site.releases.get(provider).into_iter().flatten() {
                content::add_provider(store, &repository.name, release);
            }
        }
        for (tag, files) in &repository.modules {
            content::add_module(store, &repository.name, tag, files);
        }
    }
}

pub(crate) fn answer(shared: &Shared, site: &Site, request: &Incoming) -> Answer {
    if request.path == "/token" {
        return token(shared, site, request);
    }
    if let Some(rest) = request.path.strip_prefix("/storage/") {
        return storage(shared, request, rest);
    }
    let rest = request.path.strip_prefix("/v2/").unwrap_or_default();
    if let Some(challenge) = challenge(shared, site, request, rest) {
        return challenge;
    }
    if rest.is_empty() {
        return Answer::json(&json!({}));
    }
    let Some(target) = Target::parse(rest) else { return problem(404, "NAME_UNKNOWN") };
    let mut store = shared.oci.lock().unwrap();
    match target {
        Target::Tags(name) => tags(&store, site, request, name),
        Target::Manifest(name, reference) => manifest(&mut store, site, request, name, reference),
        Target::Blob(name, digest) => blob(shared, &store, site, request, name, digest),
        Target::Upload(name, id) => upload(&mut store, request, name, id),
        Target::Referrers(name, digest) => referrers(&store, site, request, name, digest),
    }
}

/// The resource that a path refers to.
enum Target<'a> {
    Tags(&'a str),
    Manifest(&'a str, &'a str),
    Blob(&'a str, &'a str),
    Upload(&'a str, &'a str),
    Referrers(&'a str, &'a str),
}

impl<'a> Target<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        if let Some(name) = path.strip_suffix("/tags/list") {
            return Some(Self::Tags(name));
        }
        if let Some((name, id)) = path.split_once("/blobs/uploads") {
            return Some(Self::Upload(name, id.trim_start_matches('/')));
        }
        let (rest, reference) = path.rsplit_once('/')?;
        let (name, kind) = rest.rsplit_once('/')?;
        match kind {
            "manifests" => Some(Self::Manifest(name, reference)),
            "blobs" => Some(Self::Blob(name, reference)),
            "referrers" => Some(Self::Referrers(name, reference)),
            _ => None,
        }
    }
}

fn problem(status: u16, code: &str) -> Answer {
    let document = json!({ "errors": [{ "code": code, "message": code.to_lowercase(), "detail": null }] });
    Answer { status, ..Answer::json(&document) }
}

/// Returns the challenge for a request without a valid token, if a token is required.
fn challenge(shared: &Shared, site: &Site, request: &Incoming, path: &str) -> Option<Answer> {
    if site.description.password.is_none() && !site.description.oci_requires_token {
        return None;
    }
    let bearer = request.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
    if shared.oci.lock().unwrap().has_token(bearer) {
        return None;
    }
    let name = ["/tags/", "/manifests/", "/blobs/", "/referrers/"]
        .iter()
        .find_map(|part| path.split_once(part))
        .map_or("", |(name, _)| name);
    let actions = if matches!(request.method, Method::GET | Method::HEAD) { "pull" } else { "pull,push" };
    let challenge = format!(
        "Bearer realm=\"{}/token\",service=\"registry-of-tests\",scope=\"repository:{name}:{actions}\"",
        request.base
    );
    Some(problem(401, "UNAUTHORIZED").header("WWW-Authenticate", challenge))
}

fn token(shared: &Shared, site: &Site, request: &Incoming) -> Answer {
    if let Some(password) = &site.description.password {
        let refresh = url::form_urlencoded::parse(&request.body)
            .any(|(name, value)| name == "refresh_token" && Some(&*value) == password.split(':').nth(1));
        if request.basic().as_ref() != Some(password) && !refresh {
            return problem(401, "UNAUTHORIZED");
        }
    }
    let token = shared.oci.lock().unwrap().issue_token();
    Answer::json(&json!({ "token": token, "access_token": token, "expires_in": 300 }))
}

fn tags(store: &OciStore, site: &Site, request: &Incoming, name: &str) -> Answer {
    let Some(tags) = store.tags(name) else { return problem(404, "NAME_UNKNOWN") };
    let wanted = request.argument("n").and_then(|count| count.parse().ok()).unwrap_or(MAX_TAGS);
    let count = site.description.oci_page.unwrap_or(MAX_TAGS).min(wanted);
    let last = request.argument("last").unwrap_or_default();
    let rest: Vec<&str> = tags.into_iter().filter(|tag| *tag > last.as_str()).collect();
    let page = &rest[..count.min(rest.len())];
    let answer = Answer::json(&json!({ "name": name, "tags": page }));
    match page.last() {
        Some(last) if page.len() < rest.len() => {
            answer.header("Link", format!("</v2/{name}/tags/list?n={count}&last={last}>; rel=\"next\""))
        }
        _ => answer,
    }
}

fn manifest(store: &mut OciStore, site: &Site, request: &Incoming, name: &str, reference: &str) -> Answer {
    if request.method == Method::PUT {
        let media_type = request.header("content-type").to_owned();
        let document: serde_json::Value = match serde_json::from_slice(&request.body) {
            Ok(document) => document,
            Err(_) => return problem(400, "MANIFEST_INVALID"),
        };
        if let Some(missing) = store.missing(name, &document) {
            return problem(400, "MANIFEST_BLOB_UNKNOWN").header("X-Missing", missing);
        }
        let blob = Blob::new(request.body.clone());
        let digest = digest(&blob);
        if reference.starts_with("sha256:") && reference != digest {
            return problem(400, "DIGEST_INVALID");
        }
        let subject = document["subject"]["digest"].as_str().map(str::to_owned);
        store.put_manifest(name, reference, &media_type, blob);
        let answer = Answer::new(201, "")
            .header("Location", format!("/v2/{name}/manifests/{digest}"))
            .header("Docker-Content-Digest", digest);
        return match subject.filter(|_| !site.description.oci_without_referrers) {
            Some(subject) => answer.header("OCI-Subject", subject),
            None => answer,
        };
    }
    if !store.has_repository(name) {
        return problem(404, "NAME_UNKNOWN");
    }
    let Some((media_type, blob)) = store.manifest(name, reference) else {
        return problem(404, "MANIFEST_UNKNOWN");
    };
    let accepted = request.headers.get_all("accept").iter().any(|accept| {
        accept.to_str().is_ok_and(|accept| accept.contains(media_type) || accept.contains("*/*"))
    });
    if !accepted {
        return problem(404, "MANIFEST_UNKNOWN");
    }
    Answer::blob(blob, media_type).header("Docker-Content-Digest", digest(blob))
}

fn blob(
    shared: &Shared,
    store: &OciStore,
    site: &Site,
    request: &Incoming,
    name: &str,
    digest: &str,
) -> Answer {
    let Some(blob) = store.blob(name, digest) else { return problem(404, "BLOB_UNKNOWN") };
    if site.description.oci_redirects_blobs && request.method == Method::GET {
        let other = shared.addresses.url(request.origin.other());
        return Answer { status: 307, ..Answer::redirect(&format!("{other}/storage/{name}/{digest}")) };
    }
    Answer::blob(blob, "application/octet-stream").header("Docker-Content-Digest", digest)
}

/// Responds like a storage service with signed URLs, which rejects other credentials.
fn storage(shared: &Shared, request: &Incoming, path: &str) -> Answer {
    if request.headers.contains_key("authorization") {
        return Answer::new(400, "only one authentication mechanism is allowed");
    }
    let store = shared.oci.lock().unwrap();
    let blob = path.rsplit_once('/').and_then(|(name, digest)| store.blob(name, digest));
    blob.map_or_else(Answer::not_found, |blob| Answer::blob(blob, "application/octet-stream"))
}

fn upload(store: &mut OciStore, request: &Incoming, name: &str, id: &str) -> Answer {
    let created = |digest: &str| {
        Answer::new(201, "")
            .header("Location", format!("/v2/{name}/blobs/{digest}"))
            .header("Docker-Content-Digest", digest)
    };
    match request.method {
        Method::POST => {
            if let (Some(digest), Some(from)) = (request.argument("mount"), request.argument("from"))
                && store.mount(name, &from, &digest)
            {
                return created(&digest);
            }
            if let Some(wanted) = request.argument("digest") {
                return put_blob(store, name, &wanted, &request.body).unwrap_or_else(|| created(&wanted));
            }
            let id = store.start_upload();
            Answer::new(202, "")
                .header("Location", format!("/v2/{name}/blobs/uploads/{id}?state=1"))
                .header("Range", "0-0")
        }
        Method::PATCH => {
            let Some(size) = store.append(id, &request.body) else {
                return problem(404, "BLOB_UPLOAD_UNKNOWN");
            };
            Answer::new(202, "")
                .header("Location", format!("/v2/{name}/blobs/uploads/{id}?state=2"))
                .header("Range", format!("0-{}", size.saturating_sub(1)))
        }
        Method::PUT => {
            store.append(id, &request.body);
            let Some(content) = store.finish_upload(id) else { return problem(404, "BLOB_UPLOAD_UNKNOWN") };
            let wanted = request.argument("digest").unwrap_or_default();
            put_blob(store, name, &wanted, &content).unwrap_or_else(|| created(&wanted))
        }
        _ => problem(405, "UNSUPPORTED"),
    }
}

/// Stores a blob. Returns an error response if the blob does not have the digest in the request.
fn put_blob(store: &mut OciStore, name: &str, wanted: &str, content: &[u8]) -> Option<Answer> {
    let blob = Blob::new(content.to_vec());
    if digest(&blob) != wanted {
        return Some(problem(400, "DIGEST_INVALID"));
    }
    store.put_blob(name, blob);
    None
}

fn referrers(store: &OciStore, site: &Site, request: &Incoming, name: &str, digest: &str) -> Answer {
    if site.description.oci_without_referrers {
        return Answer::not_found();
    }
    let wanted = request.argument("artifactType");
    let found: Vec<_> = store
        .referrers(name, digest)
        .into_iter()
        .filter(|entry| wanted.is_none() || entry["artifactType"].as_str() == wanted.as_deref())
        .collect();
    let document = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": found });
    let answer = Answer::json(&document).header("Content-Type", INDEX);
    if wanted.is_some() { answer.header("OCI-Filters-Applied", "artifactType") } else { answer }
}
