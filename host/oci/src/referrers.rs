//! Manifests that refer to another manifest, such as its signatures.
//!
//! A registry lists them under `referrers/DIGEST`. If a registry does not support this list, the
//! programs that push referrers maintain an index under the tag `sha256-HEX` (the fallback tag).

use http::StatusCode;
use http::header::ACCEPT;
use http::{HeaderName, HeaderValue};
use tokio::task::JoinSet;
use wardian_digest::Sha256Digest;
use wardian_download::{Fetch, printable_url};

use crate::authorizer::Actions;
use crate::client::{BlobDescriptor, FetchedManifest, MAX_PAGES, OciClient, expect, invalid_response};
use crate::error::OciError;
use crate::manifest::{Descriptor, ImageIndex, MAX_MANIFEST_BYTES, Manifest};
use crate::media_type::{IMAGE_INDEX, IMAGE_MANIFEST, SIGSTORE_BUNDLE_PREFIX};
use crate::reference::{ReferenceError, Repository, Tag};

/// Maximum number of referrers that are examined.
pub const MAX_REFERRERS: usize = 32;

/// Maximum size of a Sigstore bundle.
pub const MAX_BUNDLE_BYTES: u64 = 1 << 20;

/// The header with which a registry confirms that it lists a pushed manifest as a referrer.
pub(crate) const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

/// Returns the tag under which the referrers of a manifest are listed if the registry has no list.
pub(crate) fn fallback_tag(subject: Sha256Digest) -> Result<Tag, ReferenceError> {
    Tag::parse(&format!("sha256-{subject}"))
}

/// The Sigstore bundles that refer to a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SigstoreBundles {
    /// The bundles, in the order of the registry.
    pub bundles: Vec<SigstoreBundle>,
    /// Number of referrers that were not examined, because there are more than [`MAX_REFERRERS`].
    pub unexamined: usize,
    /// Number of referrers that are missing or damaged, or whose bundle is larger than
    /// [`MAX_BUNDLE_BYTES`].
    pub unusable: usize,
}

/// A Sigstore bundle in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigstoreBundle {
    /// The manifest that refers to the signed manifest.
    pub manifest: Sha256Digest,
    /// The blob with the bundle.
    pub blob: BlobDescriptor,
    /// The media type of the bundle, which contains the version of its format.
    pub media_type: String,
    /// The type of the signed statement, according to the manifest.
    pub predicate_type: Option<String>,
}

impl OciClient {
    /// Returns the manifests that refer to a manifest, in the order of the registry.
    ///
    /// # Errors
    /// Returns an error if the referrers cannot be listed.
    pub async fn referrers(
        &self,
        repository: &Repository,
        subject: Sha256Digest,
    ) -> Result<Vec<Descriptor>, OciError> {
        let action = format!("list the referrers of {repository}@sha256:{subject}");
        let first = self.url(repository, &format!("referrers/sha256:{subject}"))?;
        let mut url = first.clone();
        let mut found = Vec::new();
        for page in 0..MAX_PAGES {
            let request = Fetch::get(url.clone()).header(ACCEPT, HeaderValue::from_static(IMAGE_INDEX));
            let fetched = self.send(repository, Actions::Pull, &url, request, MAX_MANIFEST_BYTES).await?;
            let has_no_list =
                matches!(fetched.status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED);
            if page == 0 && has_no_list {
                return Ok(self.fallback_index(repository, subject).await?.manifests);
            }
            let fetched = expect(&action, fetched, &[StatusCode::OK])?;
            let manifest = Manifest::parse(&fetched.body, Some(IMAGE_INDEX));
            let Ok(Manifest::Index(index)) = manifest else {
                return Err(invalid_response(&action, &url, "it is not an index".to_owned()));
            };
            found.extend(index.manifests);
            match self.next_page(&action, repository, &url, &fetched.headers)? {
                Some(next) => url = next,
                None => return Ok(found),
            }
        }
        Err(OciError::TooManyPages { action, url: printable_url(&first) })
    }

    /// Returns the index under the fallback tag, which is empty if there is none.
    pub(crate) async fn fallback_index(
        &self,
        repository: &Repository,
        subject: Sha256Digest,
    ) -> Result<ImageIndex, OciError> {
        let reference = repository.with_tag(fallback_tag(subject)?);
        match self.manifest(&reference).await {
            Ok(FetchedManifest { manifest: Manifest::Index(index), .. }) => Ok(index),
            // Older programs store other content under such tags.
            Ok(_) => Ok(ImageIndex::default()),
            Err(error) if error.is_not_found() => Ok(ImageIndex::default()),
            Err(error) => Err(error),
        }
    }

    /// Finds the Sigstore bundles that refer to a manifest. A bundle is recognized by the media type
    /// of its layer.
    ///
    /// # Errors
    /// Returns an error if the referrers cannot be listed, or the registry does not respond. A
    /// missing or damaged referrer is only counted; the other referrers are still returned.
    pub async fn sigstore_bundles(
        &self,
        repository: &Repository,
        subject: Sha256Digest,
    ) -> Result<SigstoreBundles, OciError> {
        let referrers = self.referrers(repository, subject).await?;
        let candidates = candidates(&referrers);
        let unexamined = candidates.len().saturating_sub(MAX_REFERRERS);
        let mut requests = JoinSet::new();
        for (index, descriptor) in candidates.into_iter().take(MAX_REFERRERS).enumerate() {
            let (client, repository) = (self.clone(), repository.clone());
            let digest = descriptor.digest.sha256();
            requests.spawn(async move {
                let Ok(digest) = digest else { return (index, Ok(None)) };
                match client.manifest(&repository.with_digest(digest)).await {
                    Ok(fetched) => (index, Ok(Some(fetched))),
                    Err(error) if is_damage(&error) => (index, Ok(None)),
                    Err(error) => (index, Err(error)),
                }
            });
        }
        let mut results = Vec::new();
        while let Some(joined) = requests.join_next().await {
            // A task is cancelled only if its runtime is shutting down.
            let Ok((index, result)) = joined else { continue };
            results.push((index, result?));
        }
        results.sort_by_key(|(index, _)| *index);
        let mut found = SigstoreBundles { unexamined, ..SigstoreBundles::default() };
        for (_, fetched) in results {
            match fetched {
                Some(fetched) => found.add(subject, &fetched),
                None => found.unusable += 1,
            }
        }
        Ok(found)
    }
}

/// Returns the referrers that may contain a bundle; the referrers with the artifact type of a
/// bundle are first.
fn candidates(referrers: &[Descriptor]) -> Vec<&Descriptor> {
    let is_bundle = |descriptor: &&Descriptor| {
        let artifact_type = descriptor.artifact_type.as_deref().unwrap_or_default();
        artifact_type.starts_with(SIGSTORE_BUNDLE_PREFIX)
    };
    let mut candidates: Vec<&Descriptor> =
        referrers.iter().filter(|descriptor| descriptor.media_type == IMAGE_MANIFEST).collect();
    candidates.sort_by_key(|descriptor| !is_bundle(descriptor));
    candidates
}

/// Returns whether an error is caused by the content of the registry.
fn is_damage(error: &OciError) -> bool {
    matches!(error, OciError::Manifest { .. } | OciError::DigestMismatch { .. }) || error.is_not_found()
}

impl SigstoreBundles {
    fn add(&mut self, subject: Sha256Digest, fetched: &FetchedManifest) {
        let Manifest::Image(image) = &fetched.manifest else { return };
        let refers_to = image.subject.as_ref().and_then(|subject| subject.digest.sha256().ok());
        if refers_to != Some(subject) {
            return;
        }
        for layer in &image.layers {
            if !layer.media_type.starts_with(SIGSTORE_BUNDLE_PREFIX) {
                continue;
            }
            match layer.digest.sha256() {
                Ok(digest) if layer.size <= MAX_BUNDLE_BYTES => self.bundles.push(SigstoreBundle {
                    manifest: fetched.digest,
                    blob: BlobDescriptor { digest, size: layer.size },
                    media_type: layer.media_type.clone(),
                    predicate_type: image.annotations.get("dev.sigstore.bundle.predicateType").cloned(),
                }),
                _ => self.unusable += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn referrers_with_bundle_artifact_type_are_examined_first() {
        let descriptor = |name: &[u8], artifact_type: Option<&str>| Descriptor {
            artifact_type: artifact_type.map(str::to_owned),
            ..Descriptor::for_bytes(IMAGE_MANIFEST, name)
        };
        let bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
        let referrers = [
            descriptor(b"1", None),
            Descriptor::for_bytes("text/plain", b"2"),
            descriptor(b"3", Some("application/spdx+json")),
            descriptor(b"4", Some(bundle)),
        ];
        let found: Vec<_> = candidates(&referrers).iter().map(|found| found.digest.clone()).collect();
        assert_eq!(found, [&referrers[3], &referrers[0], &referrers[2]].map(|found| found.digest.clone()));
    }
}
