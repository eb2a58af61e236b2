//! Requests to registries, and the requests for tags, manifests and blobs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LINK};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use url::Url;
use wardian_digest::Sha256Digest;
use wardian_download::{Downloaded, Downloader, Fetch, FetchError, Fetched, Target, printable_url};

use crate::authorizer::{Actions, Answer, Authorizer};
use crate::credentials::OciCredentials;
use crate::digest::parse_digest;
use crate::error::{OciError, RegistryMessage, UnauthorizedReason};
use crate::manifest::{MAX_MANIFEST_BYTES, Manifest};
use crate::media_type::{DOCKER_MANIFEST, DOCKER_MANIFEST_LIST, IMAGE_INDEX, IMAGE_MANIFEST};
use crate::plain_http::PlainHttpRegistries;
use crate::reference::{ArtifactReference, ArtifactSelector, Repository};

/// Maximum number of tags of a repository.
pub const MAX_TAGS: usize = 10_000;
/// Maximum number of pages of a list.
pub(crate) const MAX_PAGES: usize = 100;
/// The number of tags that are requested per page. Registries may return fewer.
const TAGS_PER_PAGE: usize = 1_000;
/// Maximum size of a page of a list.
const MAX_PAGE_BYTES: u64 = 4 << 20;
/// Time limit of a request that uploads a chunk of a blob.
const MAX_UPLOAD_TIME: Duration = Duration::from_mins(10);
/// Maximum number of bytes that are read of an error response.
const MAX_ERROR_BYTES: u64 = 64 << 10;

/// The header in which a registry returns the digest of a manifest.
pub(crate) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// The configuration of an [`OciClient`].
pub struct OciClientOptions {
    pub downloader: Downloader,
    pub credentials: OciCredentials,
    /// The registries on this machine that are accessed without TLS.
    pub plain_http: PlainHttpRegistries,
}

/// A client for OCI registries. Clones share connections and tokens.
#[derive(Clone)]
pub struct OciClient {
    inner: Arc<Inner>,
}

struct Inner {
    downloader: Downloader,
    /// Increases the response timeout, since it includes the time for sending the request.
    uploader: Downloader,
    plain_http: PlainHttpRegistries,
    authorizer: Authorizer,
}

/// A manifest and the digest that was computed from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedManifest {
    pub digest: Sha256Digest,
    pub size: u64,
    pub manifest: Manifest,
}

/// A blob whose digest and size are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobDescriptor {
    pub digest: Sha256Digest,
    pub size: u64,
}

impl OciClient {
    pub fn new(options: OciClientOptions) -> Self {
        let OciClientOptions { downloader, credentials, plain_http } = options;
        let authorizer = Authorizer::new(downloader.clone(), credentials, plain_http.clone());
        let uploader = downloader.clone().with_idle_timeout(MAX_UPLOAD_TIME);
        Self { inner: Arc::new(Inner { downloader, uploader, plain_http, authorizer }) }
    }

    /// Returns the tags of a repository, in the order of the registry.
    ///
    /// # Errors
    /// Returns an error if there is no such repository, or its tags cannot be listed.
    pub async fn tags(&self, repository: &Repository) -> Result<Vec<String>, OciError> {
        #[derive(Deserialize)]
        struct Page {
            #[serde(default)]
            tags: Option<Vec<String>>,
        }
        let action = format!("list the tags of {repository}");
        let first = self.url(repository, "tags/list")?;
        let mut url = first.clone();
        url.set_query(Some(&format!("n={TAGS_PER_PAGE}")));
        let mut tags = Vec::new();
        for page in 0..MAX_PAGES {
            let mut fetched =
                self.send(repository, Actions::Pull, &url, Fetch::get(url.clone()), MAX_PAGE_BYTES).await?;
            if page == 0 && fetched.status == StatusCode::BAD_REQUEST {
                // The registry allows only smaller pages.
                fetched = self
                    .send(repository, Actions::Pull, &first, Fetch::get(first.clone()), MAX_PAGE_BYTES)
                    .await?;
            }
            let fetched = expect(&action, fetched, &[StatusCode::OK])?;
            let parsed: Page = serde_json::from_slice(&fetched.body)
                .map_err(|error| invalid_response(&action, &fetched.url, error.to_string()))?;
            tags.extend(parsed.tags.unwrap_or_default());
            if tags.len() > MAX_TAGS {
                return Err(OciError::TooManyTags { repository: repository.clone(), limit: MAX_TAGS });
            }
            match self.next_page(&action, repository, &url, &fetched.headers)? {
                Some(next) => url = next,
                None => return Ok(tags),
            }
        }
        Err(OciError::TooManyPages { action, url: printable_url(&first) })
    }

    /// Returns a manifest. If the reference has a digest, the manifest has this digest.
    ///
    /// # Errors
    /// Returns an error if there is no such manifest, or it is not valid.
    pub async fn manifest(&self, reference: &ArtifactReference) -> Result<FetchedManifest, OciError> {
        let action = format!("fetch the manifest of {reference}");
        let repository = &reference.repository;
        let url = self.url(repository, &format!("manifests/{}", reference.selector))?;
        let request = Fetch::get(url.clone()).header(ACCEPT, accepted_manifests());
        let fetched = self.send(repository, Actions::Pull, &url, request, MAX_MANIFEST_BYTES).await?;
        let fetched = expect(&action, fetched, &[StatusCode::OK])?;
        let digest = Sha256Digest::hash(&fetched.body);
        let mismatch = |expected| OciError::DigestMismatch {
            subject: format!("the manifest of {reference}"),
            expected,
            found: digest,
        };
        if let ArtifactSelector::Digest(expected) = reference.selector
            && expected != digest
        {
            return Err(mismatch(expected));
        }
        let stated = fetched.headers.get(CONTENT_DIGEST).and_then(|stated| stated.to_str().ok());
        if let Some(stated) = stated.and_then(|stated| parse_digest(stated).ok())
            && stated != digest
        {
            return Err(mismatch(stated));
        }
        let content_type = fetched.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let manifest = Manifest::parse(&fetched.body, content_type)
            .map_err(|source| OciError::Manifest { reference: reference.clone(), source })?;
        Ok(FetchedManifest { digest, size: fetched.body.len() as u64, manifest })
    }

    /// Returns a small blob.
    ///
    /// # Errors
    /// Returns an error if the blob is larger than `max_bytes`, or cannot be fetched.
    pub async fn blob(
        &self,
        repository: &Repository,
        blob: BlobDescriptor,
        max_bytes: u64,
    ) -> Result<Bytes, OciError> {
        let action = format!("fetch the blob sha256:{} of {repository}", blob.digest);
        let url = self.blob_url(repository, blob.digest)?;
        if blob.size > max_bytes {
            return Err(FetchError::TooLarge { url: printable_url(&url), limit: max_bytes }.into());
        }
        let fetched = self.send(repository, Actions::Pull, &url, Fetch::get(url.clone()), blob.size).await?;
        let fetched = expect(&action, fetched, &[StatusCode::OK])?;
        let subject = || format!("the blob sha256:{} of {repository}", blob.digest);
        let size = fetched.body.len() as u64;
        if size != blob.size {
            return Err(OciError::SizeMismatch { subject: subject(), expected: blob.size, found: size });
        }
        let found = Sha256Digest::hash(&fetched.body);
        if found != blob.digest {
            return Err(OciError::DigestMismatch { subject: subject(), expected: blob.digest, found });
        }
        Ok(fetched.body)
    }

    /// Downloads a blob to a file. The label identifies the download in progress reports.
    ///
    /// # Errors
    /// Returns an error if the blob cannot be fetched, or is not the expected blob.
    pub async fn download_blob(
        &self,
        repository: &Repository,
        blob: BlobDescriptor,
        path: &Path,
        label: &str,
    ) -> Result<Downloaded, OciError> {
        let url = self.blob_url(repository, blob.digest)?;
        let target =
            Target { path, expected: Some(blob.digest), max_bytes: blob.size, size: Some(blob.size), label };
        let authorizer = &self.inner.authorizer;
        let answer = authorizer.current(repository, Actions::Pull).await;
        let request = authorized(Fetch::get(url.clone()), &answer);
        match Box::pin(self.inner.downloader.download(request, target)).await {
            Err(FetchError::Status { status: StatusCode::UNAUTHORIZED, .. }) => {}
            result => return Ok(result?),
        }
        // The token is missing or has expired. A redirect means that the registry accepts the new one.
        let probe = Fetch::head(url.clone()).redirects(0);
        match self.send(repository, Actions::Pull, &url, probe, 0).await {
            Ok(_) | Err(OciError::Fetch(FetchError::Redirect { .. })) => {}
            Err(error) => return Err(error),
        }
        let answer = authorizer.current(repository, Actions::Pull).await;
        let request = authorized(Fetch::get(url), &answer);
        Ok(Box::pin(self.inner.downloader.download(request, target)).await?)
    }

    /// Sends a request to the registry, or to a URL that the registry returned. If the registry
    /// responds with a challenge, the request is sent again with a response to the challenge. Only
    /// requests to the registry's own origin are authorized.
    pub(crate) async fn send(
        &self,
        repository: &Repository,
        actions: Actions,
        url: &Url,
        request: Fetch,
        max_bytes: u64,
    ) -> Result<Fetched, OciError> {
        // The future is large, and callers combine several of them.
        Box::pin(self.send_and_answer(repository, actions, url, request, max_bytes.max(MAX_ERROR_BYTES)))
            .await
    }

    async fn send_and_answer(
        &self,
        repository: &Repository,
        actions: Actions,
        url: &Url,
        request: Fetch,
        max_bytes: u64,
    ) -> Result<Fetched, OciError> {
        let downloader = match actions {
            Actions::Pull => &self.inner.downloader,
            Actions::PullAndPush => &self.inner.uploader,
        };
        if !self.is_own_origin(repository, url) {
            return Ok(downloader.fetch(request, max_bytes).await?);
        }
        let authorizer = &self.inner.authorizer;
        let mut answer = authorizer.current(repository, actions).await;
        let mut fetched = downloader.fetch(authorized(request.clone(), &answer), max_bytes).await?;
        let mut has_fresh_token = false;
        // A server to which the registry has redirected must not obtain a token.
        while fetched.status == StatusCode::UNAUTHORIZED && self.is_own_origin(repository, &fetched.url) {
            if has_fresh_token && !answer.is_access_token {
                break;
            }
            answer = authorizer.answer(repository, actions, &answer, &fetched.url, &fetched.headers).await?;
            has_fresh_token = true;
            fetched = downloader.fetch(authorized(request.clone(), &answer), max_bytes).await?;
        }
        self.check_access(repository, fetched, &answer)
    }

    /// Returns an error if the registry denied access.
    fn check_access(
        &self,
        repository: &Repository,
        fetched: Fetched,
        answer: &Answer,
    ) -> Result<Fetched, OciError> {
        let is_denied = matches!(fetched.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if !is_denied || !self.is_own_origin(repository, &fetched.url) {
            return Ok(fetched);
        }
        let reason = if answer.has_credential {
            UnauthorizedReason::Forbidden
        } else {
            UnauthorizedReason::NoCredentials
        };
        Err(OciError::Unauthorized {
            repository: repository.clone(),
            url: printable_url(&fetched.url),
            reason,
            errors: RegistryMessage::parse(&fetched.body),
        })
    }

    /// Returns a URL of the registry's API for a repository.
    pub(crate) fn url(&self, repository: &Repository, path: &str) -> Result<Url, OciError> {
        let base = self.inner.plain_http.base_url(repository.registry());
        let text = format!("{base}/{}/{path}", repository.path());
        Url::parse(&text).map_err(|error| OciError::InvalidResponse {
            action: format!("access {repository}"),
            url: text,
            reason: error.to_string(),
        })
    }

    pub(crate) fn blob_url(&self, repository: &Repository, digest: Sha256Digest) -> Result<Url, OciError> {
        self.url(repository, &format!("blobs/sha256:{digest}"))
    }

    pub(crate) fn is_own_origin(&self, repository: &Repository, url: &Url) -> bool {
        self.url(repository, "").is_ok_and(|own| own.origin() == url.origin())
    }

    /// Returns the URL of the next page of a list, which must be on the same server.
    pub(crate) fn next_page(
        &self,
        action: &str,
        repository: &Repository,
        url: &Url,
        headers: &HeaderMap,
    ) -> Result<Option<Url>, OciError> {
        let links = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
        let Some(target) = links.flat_map(split_links).find(|(_, is_next)| *is_next) else { return Ok(None) };
        let invalid = |reason: &str| invalid_response(action, url, reason.to_owned());
        let next = url.join(target.0).map_err(|_| invalid("the link to the next page is not a URL"))?;
        if !self.is_own_origin(repository, &next) {
            return Err(invalid("the link to the next page points to another server"));
        }
        Ok(Some(next))
    }
}

fn authorized(request: Fetch, answer: &Answer) -> Fetch {
    match &answer.authorization {
        Some(authorization) => request.authorization(authorization.clone()),
        None => request,
    }
}

/// Returns a response if it has one of the expected statuses, and otherwise an error.
pub(crate) fn expect(action: &str, fetched: Fetched, expected: &[StatusCode]) -> Result<Fetched, OciError> {
    if expected.contains(&fetched.status) {
        return Ok(fetched);
    }
    let errors = RegistryMessage::parse(&fetched.body);
    let url = printable_url(&fetched.url);
    Err(OciError::Response { action: action.to_owned(), url, status: fetched.status, errors })
}

pub(crate) fn invalid_response(action: &str, url: &Url, reason: String) -> OciError {
    OciError::InvalidResponse { action: action.to_owned(), url: printable_url(url), reason }
}

/// Returns the media types for the `Accept` header. Registries return a manifest only if its type
/// is among them. Unsupported types are included to let the error message contain the type.
fn accepted_manifests() -> HeaderValue {
    let types = [IMAGE_INDEX, IMAGE_MANIFEST, DOCKER_MANIFEST_LIST, DOCKER_MANIFEST].join(", ");
    HeaderValue::from_str(&types).unwrap_or(HeaderValue::from_static("*/*"))
}

/// Splits a `Link` header into its targets, each with a flag that is true if the link points to the
/// next page.
fn split_links(text: &str) -> impl Iterator<Item = (&str, bool)> {
    // A target does not contain `>`, so each link begins at a `<`.
    text.split('<').skip(1).filter_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let is_next = parameters.split(';').any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel") && value.eq_ignore_ascii_case("next")
        });
        Some((target, is_next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_link_is_found_among_other_links() {
        let next =
            |text| split_links(text).find(|(_, is_next)| *is_next).map(|(target, _)| target.to_owned());
        assert_eq!(
            next("</v2/x/tags/list?last=b&n=2>; rel=\"next\"").as_deref(),
            Some("/v2/x/tags/list?last=b&n=2")
        );
        assert_eq!(next("<a>; rel=prev, <b>;title=x; REL=next").as_deref(), Some("b"));
        assert_eq!(next("<a>; rel=\"next\", <b>; rel=\"prev\"").as_deref(), Some("a"));
        for none in ["", "<a>", "a; rel=next", "<a; rel=next", "<a>; rel=nextpage"] {
            assert_eq!(next(none), None, "{none}");
        }
    }
}
