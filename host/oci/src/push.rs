//! Pushes blobs and manifests.
//!
//! A blob that the repository already contains is not uploaded again. A small blob is uploaded with
//! one request, and a larger blob in chunks, of which only one at a time is in memory. An
//! interrupted upload is repeated from its beginning.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LOCATION};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use url::Url;
use wardian_digest::Sha256Digest;
use wardian_download::{Fetch, FetchError, Fetched};

use crate::authorizer::Actions;
use crate::client::{BlobDescriptor, CONTENT_DIGEST, OciClient, expect, invalid_response};
use crate::digest::parse_digest;
use crate::error::OciError;
use crate::manifest::{Descriptor, ImageIndex, ImageManifest};
use crate::media_type::{IMAGE_INDEX, IMAGE_MANIFEST};
use crate::reference::{ArtifactReference, ArtifactSelector, Repository};
use crate::referrers::{SUBJECT, fallback_tag};

/// Maximum size of a blob that is uploaded with one request.
const MAX_SINGLE_UPLOAD_BYTES: u64 = 32 << 20;
/// The chunk size for larger blobs, unless the registry requires larger chunks.
const CHUNK_BYTES: u64 = 16 << 20;
/// Maximum size of a chunk that a registry may require.
const MAX_CHUNK_BYTES: u64 = 64 << 20;
/// Maximum number of attempts to upload a blob.
const MAX_ATTEMPTS: u32 = 4;

/// The header in which a registry returns the minimum chunk size.
const MIN_CHUNK: HeaderName = HeaderName::from_static("oci-chunk-min-length");

const OCTET_STREAM: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// The content of a blob to push.
#[derive(Debug, Clone)]
pub enum UploadSource {
    Bytes(Bytes),
    File(PathBuf),
}

impl UploadSource {
    /// Reads a range of the content.
    async fn read(&self, offset: u64, length: u64) -> Result<Bytes, OciError> {
        match self {
            Self::Bytes(bytes) => {
                let range = usize::try_from(offset).ok().zip(usize::try_from(offset + length).ok());
                let part =
                    range.filter(|(_, end)| *end <= bytes.len()).map(|(start, end)| bytes.slice(start..end));
                part.ok_or_else(|| OciError::Changed { path: PathBuf::new() })
            }
            Self::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || read_part(&path, offset, length));
                read.await.unwrap_or_else(|_| Err(OciError::Changed { path: PathBuf::new() }))
            }
        }
    }
}

fn read_part(path: &Path, offset: u64, length: u64) -> Result<Bytes, OciError> {
    let failed = |source| OciError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(MAX_CHUNK_BYTES)).unwrap_or_default());
    file.take(length).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 != length {
        return Err(OciError::Changed { path: path.to_owned() });
    }
    Ok(bytes.into())
}

/// The way in which a blob was added to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushedBlob {
    Uploaded,
    AlreadyPresent,
}

/// Receives the number of uploaded bytes of a blob.
pub type UploadProgress<'a> = &'a (dyn Fn(u64) + Send + Sync);

impl OciClient {
    /// Returns whether a repository contains a blob.
    ///
    /// # Errors
    /// Returns an error if the registry does not respond, or denies access.
    pub async fn has_blob(&self, repository: &Repository, digest: Sha256Digest) -> Result<bool, OciError> {
        let url = self.blob_url(repository, digest)?;
        let request = Fetch::head(url.clone()).redirects(0);
        let fetched = match self.send(repository, Actions::PullAndPush, &url, request, 0).await {
            // A registry redirects only to content that it has.
            Err(OciError::Fetch(FetchError::Redirect { .. })) => return Ok(true),
            result => result?,
        };
        let action = format!("check whether {repository} contains the blob sha256:{digest}");
        let fetched = expect(&action, fetched, &[StatusCode::OK, StatusCode::NOT_FOUND])?;
        Ok(fetched.status == StatusCode::OK)
    }

    /// Pushes a blob, unless the repository contains it.
    ///
    /// # Errors
    /// Returns an error if the blob cannot be read, or the registry does not accept it.
    pub async fn push_blob(
        &self,
        repository: &Repository,
        blob: BlobDescriptor,
        source: &UploadSource,
        progress: UploadProgress<'_>,
    ) -> Result<PushedBlob, OciError> {
        let mut attempt = 0;
        loop {
            if self.has_blob(repository, blob.digest).await? {
                // The response to the last request of an earlier attempt may have been lost.
                return Ok(if attempt == 0 { PushedBlob::AlreadyPresent } else { PushedBlob::Uploaded });
            }
            attempt += 1;
            match self.upload(repository, blob, source, progress).await {
                Ok(()) => return Ok(PushedBlob::Uploaded),
                Err(error) if attempt < MAX_ATTEMPTS && is_temporary(&error) => {
                    tracing::debug!(%error, attempt, "the upload is retried");
                    tokio::time::sleep(Duration::from_millis(500) * 2_u32.pow(attempt - 1)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn upload(
        &self,
        repository: &Repository,
        blob: BlobDescriptor,
        source: &UploadSource,
        progress: UploadProgress<'_>,
    ) -> Result<(), OciError> {
        let action = format!("push the blob sha256:{} to {repository}", blob.digest);
        let start = self.url(repository, "blobs/uploads/")?;
        let request = Fetch::new(Method::POST, start.clone())
            .header(CONTENT_LENGTH, HeaderValue::from_static("0"))
            .redirects(0);
        let fetched = self.send(repository, Actions::PullAndPush, &start, request, 0).await?;
        let fetched = expect(&action, fetched, &[StatusCode::ACCEPTED])?;
        let mut location = upload_location(&action, &fetched)?;
        let minimum = fetched.headers.get(MIN_CHUNK).and_then(|value| value.to_str().ok()?.parse().ok());
        let is_single = blob.size <= MAX_SINGLE_UPLOAD_BYTES;
        let mut body = Bytes::new();
        if is_single {
            body = source.read(0, blob.size).await?;
        } else {
            let chunk = CHUNK_BYTES.max(minimum.unwrap_or(0)).min(MAX_CHUNK_BYTES);
            let mut offset = 0;
            while offset < blob.size {
                let length = chunk.min(blob.size - offset);
                let part = source.read(offset, length).await?;
                let request = Fetch::new(Method::PATCH, location.clone())
                    .header(CONTENT_TYPE, OCTET_STREAM)
                    .header(CONTENT_RANGE, content_range(offset, length))
                    .body(part)
                    .redirects(0)
                    .retries(0)
                    .without_total_timeout();
                let fetched = self.send(repository, Actions::PullAndPush, &location, request, 0).await?;
                let fetched = expect(&action, fetched, &[StatusCode::ACCEPTED])?;
                location = upload_location(&action, &fetched)?;
                offset += length;
                progress(offset);
            }
        }
        location.query_pairs_mut().append_pair("digest", &format!("sha256:{}", blob.digest));
        let request = Fetch::new(Method::PUT, location.clone())
            .header(CONTENT_TYPE, OCTET_STREAM)
            .body(body)
            .redirects(0)
            .retries(0)
            .without_total_timeout();
        let fetched = self.send(repository, Actions::PullAndPush, &location, request, 0).await?;
        expect(&action, fetched, &[StatusCode::CREATED])?;
        if is_single {
            progress(blob.size);
        }
        Ok(())
    }

    /// Pushes an image manifest. Its blobs must be in the repository.
    ///
    /// # Errors
    /// Returns an error if the registry does not accept it.
    pub async fn push_image(
        &self,
        reference: &ArtifactReference,
        image: &ImageManifest,
    ) -> Result<(), OciError> {
        self.push_manifest(reference, image.to_bytes().into(), IMAGE_MANIFEST).await.map(|_| ())
    }

    /// Pushes an index. Its manifests must be in the repository.
    ///
    /// # Errors
    /// Returns an error if the registry does not accept it.
    pub async fn push_index(
        &self,
        reference: &ArtifactReference,
        index: &ImageIndex,
    ) -> Result<(), OciError> {
        self.push_manifest(reference, index.to_bytes().into(), IMAGE_INDEX).await.map(|_| ())
    }

    /// Pushes a manifest that refers to another manifest, for example a signature. If the registry
    /// does not list the pushed manifest as a referrer, it is added to the index under the fallback
    /// tag. Its blobs must be in the repository.
    ///
    /// # Errors
    /// Returns an error if the registry does not accept it.
    pub async fn push_referrer(
        &self,
        repository: &Repository,
        image: &ImageManifest,
    ) -> Result<Sha256Digest, OciError> {
        let bytes = image.to_bytes();
        let mut descriptor =
            Descriptor::for_bytes(IMAGE_MANIFEST, &bytes).with_artifact_type(image.effective_artifact_type());
        descriptor.annotations.clone_from(&image.annotations);
        let digest = Sha256Digest::hash(&bytes);
        let reference = repository.with_digest(digest);
        let fetched = self.push_manifest(&reference, bytes.into(), IMAGE_MANIFEST).await?;
        let subject = image.subject.as_ref().map(|subject| subject.digest.sha256());
        let subject = subject.transpose().map_err(|source| OciError::Digest { reference, source })?;
        if let Some(subject) = subject
            && !fetched.headers.contains_key(SUBJECT)
        {
            let mut index = self.fallback_index(repository, subject).await?;
            if !index.manifests.iter().any(|known| known.digest == descriptor.digest) {
                index.manifests.push(descriptor);
                self.push_index(&repository.with_tag(fallback_tag(subject)?), &index).await?;
            }
        }
        Ok(digest)
    }

    async fn push_manifest(
        &self,
        reference: &ArtifactReference,
        bytes: Bytes,
        media_type: &'static str,
    ) -> Result<Fetched, OciError> {
        let action = format!("push the manifest {reference}");
        let repository = &reference.repository;
        let digest = Sha256Digest::hash(&bytes);
        let mismatch = |expected, found| OciError::DigestMismatch {
            subject: format!("the manifest {reference}"),
            expected,
            found,
        };
        if let ArtifactSelector::Digest(expected) = reference.selector
            && expected != digest
        {
            return Err(mismatch(expected, digest));
        }
        let url = self.url(repository, &format!("manifests/{}", reference.selector))?;
        let request = Fetch::new(Method::PUT, url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static(media_type))
            .body(bytes)
            .redirects(0);
        let fetched = self.send(repository, Actions::PullAndPush, &url, request, 0).await?;
        let fetched = expect(&action, fetched, &[StatusCode::CREATED])?;
        let stated = fetched.headers.get(CONTENT_DIGEST).and_then(|stated| stated.to_str().ok());
        match stated.and_then(|stated| parse_digest(stated).ok()) {
            Some(stated) if stated != digest => Err(mismatch(digest, stated)),
            _ => Ok(fetched),
        }
    }
}

/// Returns the URL to which an upload is continued.
fn upload_location(action: &str, fetched: &Fetched) -> Result<Url, OciError> {
    let invalid = |reason: &str| invalid_response(action, &fetched.url, reason.to_owned());
    let location = fetched.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let location = location.ok_or_else(|| invalid("it has no Location header"))?;
    let url = fetched.url.join(location).map_err(|_| invalid("its Location header is not a URL"))?;
    let is_encrypted = url.scheme() == "https";
    if !is_encrypted && (url.scheme() != "http" || fetched.url.scheme() == "https") {
        return Err(invalid("its Location header points to a server without TLS"));
    }
    Ok(url)
}

/// Returns the value of the `Content-Range` header of a chunk, which has no unit in the OCI
/// distribution specification.
fn content_range(offset: u64, length: u64) -> HeaderValue {
    let text = format!("{offset}-{}", offset + length.saturating_sub(1));
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("0-0"))
}

/// Returns whether another attempt may succeed.
fn is_temporary(error: &OciError) -> bool {
    match error {
        OciError::Fetch(error) => error.is_unreachable() && !matches!(error, FetchError::Tls { .. }),
        OciError::Response { status, .. } => {
            status.is_server_error() && *status != StatusCode::NOT_IMPLEMENTED
                || matches!(
                    *status,
                    StatusCode::TOO_MANY_REQUESTS | StatusCode::NOT_FOUND | StatusCode::RANGE_NOT_SATISFIABLE
                )
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn location(url: &str, location: &'static str) -> Result<String, OciError> {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(location))]);
        let url = Url::parse(url).unwrap();
        let fetched = Fetched { status: StatusCode::ACCEPTED, headers, url, body: Bytes::new() };
        upload_location("push", &fetched).map(String::from)
    }

    #[test]
    fn upload_continues_at_the_returned_location() {
        let url = "https://h/v2/a/blobs/uploads/";
        assert_eq!(
            location(url, "/v2/a/blobs/uploads/1?_state=x").unwrap(),
            "https://h/v2/a/blobs/uploads/1?_state=x"
        );
        assert_eq!(location(url, "https://storage.example/1").unwrap(), "https://storage.example/1");
        assert!(location(url, "http://h/1").is_err());
        assert!(location(url, "ftp://h/1").is_err());
        assert_eq!(location("http://localhost/x", "http://localhost/1").unwrap(), "http://localhost/1");
    }

    #[tokio::test]
    async fn byte_ranges_of_sources_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blob");
        std::fs::write(&path, b"0123456789").unwrap();
        for source in [UploadSource::File(path), UploadSource::Bytes(Bytes::from_static(b"0123456789"))] {
            assert_eq!(source.read(2, 3).await.unwrap(), "234");
            assert_eq!(source.read(0, 10).await.unwrap(), "0123456789");
            assert!(matches!(source.read(8, 3).await, Err(OciError::Changed { .. })));
        }
    }
}
