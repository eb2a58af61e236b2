//! Pushes a release to an OCI registry.
//!
//! Blobs are pushed first, then the manifests of packages, then the tag `wasm-VERSION`, and the
//! version's tag last. Therefore, a version is complete if it exists.

use std::collections::BTreeMap;

use wardian_address::Version;
use wardian_digest::Sha256Digest;
use wardian_oci::media_type::{
    IMAGE_MANIFEST, PROVIDER, PROVIDER_TARGET, WASM_CONFIG, WASM_LAYER, ZIP_LAYER,
};
use wardian_oci::provider::{component_tag, version_tag};
use wardian_oci::{
    ArtifactReference, ArtifactSelector, BlobDescriptor, Descriptor, EMPTY_CONFIG_CONTENT, ImageIndex,
    ImageManifest, OciClient, OciError, OciPlatform, PushedBlob, Repository, UploadSource, WasmConfig,
};

use crate::error::PublishError;
use crate::progress::{PublishEvent, PublishObserver};
use crate::release::{Release, ReleaseFile};

/// Options of [`publish_oci`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OciPublishOptions {
    /// Whether an already published version with different content is replaced. For its users, the
    /// package then no longer matches their lock files.
    pub replace: bool,
}

/// A release in an OCI registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedArtifact {
    /// The artifact under the tag of the version.
    pub reference: ArtifactReference,
    /// The digest of that artifact, which the publisher signs.
    pub digest: Sha256Digest,
    /// The component as a standard WebAssembly artifact.
    pub component: ArtifactReference,
    /// The digest of the component's manifest.
    pub component_digest: Sha256Digest,
    /// Whether the version was published before, with the same content.
    pub is_unchanged: bool,
}

/// Parses the address of the repository to which a version is published:
/// `oci://HOST/REPOSITORY`, with or without the tag of the version.
///
/// # Errors
/// Returns an error if the address has a different form, a different tag, or a digest.
pub fn publish_repository(text: &str, version: &Version) -> Result<Repository, PublishError> {
    let invalid = |reason: String| PublishError::Address { text: text.to_owned(), reason };
    let rest =
        text.strip_prefix("oci://").ok_or_else(|| invalid("it does not begin with oci://".to_owned()))?;
    if let Ok(repository) = Repository::parse(rest) {
        return Ok(repository);
    }
    let reference = ArtifactReference::parse(rest).map_err(|error| invalid(error.to_string()))?;
    let tag = version_tag(version)?;
    if reference.selector != ArtifactSelector::Tag(tag.clone()) {
        return Err(invalid(format!("the tag of this version is {tag:?}", tag = tag.as_str())));
    }
    Ok(reference.repository)
}

/// Pushes a release to a repository.
///
/// # Errors
/// Returns an error if the version is already published with different content, or the registry
/// does not accept the release.
pub async fn publish_oci(
    release: &Release,
    client: &OciClient,
    repository: &Repository,
    options: OciPublishOptions,
    observer: &dyn PublishObserver,
) -> Result<PublishedArtifact, PublishError> {
    let artifacts = Artifacts::new(release);
    let reference = repository.with_tag(version_tag(&release.version)?);
    let component = repository.with_tag(component_tag(&release.version)?);
    let digest = artifacts.digest();
    let published = |is_unchanged| PublishedArtifact {
        reference: reference.clone(),
        digest,
        component: component.clone(),
        component_digest: Sha256Digest::hash(&artifacts.component.to_bytes()),
        is_unchanged,
    };
    if is_published(client, &reference, digest, options).await? {
        observer.report(PublishEvent::AlreadyPublished { reference: &reference, digest });
        return Ok(published(true));
    }
    let push = Push { client, repository, observer };
    let natives: Vec<&ReleaseFile> = release.natives.values().map(|(_, file)| file).collect();
    if !natives.is_empty() {
        push.bytes("the empty config", EMPTY_CONFIG_CONTENT.to_vec()).await?;
    }
    push.bytes("the component's config", artifacts.config.clone()).await?;
    push.file(&release.component_file).await?;
    for file in natives {
        push.file(file).await?;
    }
    for (_, manifest) in &artifacts.natives {
        let digest = Sha256Digest::hash(&manifest.to_bytes());
        client.push_image(&repository.with_digest(digest), manifest).await?;
    }
    client.push_image(&component, &artifacts.component).await?;
    let component_digest = Sha256Digest::hash(&artifacts.component.to_bytes());
    observer.report(PublishEvent::TagPushed { reference: &component, digest: component_digest });
    match &artifacts.index {
        Some(index) => client.push_index(&reference, index).await?,
        None => client.push_image(&reference, &artifacts.component).await?,
    }
    observer.report(PublishEvent::TagPushed { reference: &reference, digest });
    Ok(published(false))
}

/// Returns whether the version is already published with the same content.
async fn is_published(
    client: &OciClient,
    reference: &ArtifactReference,
    digest: Sha256Digest,
    options: OciPublishOptions,
) -> Result<bool, PublishError> {
    let found = match client.manifest(reference).await {
        Ok(fetched) if fetched.digest == digest => return Ok(true),
        Ok(fetched) => Some(fetched.digest),
        // Another kind of artifact has the tag.
        Err(OciError::Manifest { .. }) => None,
        // Some registries deny access to repositories that do not exist. If the credentials are
        // insufficient, pushing fails as well.
        Err(OciError::Unauthorized { .. }) => return Ok(false),
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if options.replace {
        return Ok(false);
    }
    Err(PublishError::Published { reference: reference.clone(), found })
}

/// The documents of a release in a registry.
struct Artifacts {
    config: Vec<u8>,
    component: ImageManifest,
    natives: Vec<(OciPlatform, ImageManifest)>,
    /// `None` if the release consists only of a component.
    index: Option<ImageIndex>,
}

impl Artifacts {
    fn new(release: &Release) -> Self {
        let annotations = annotations(release);
        let author = release.metadata.authors.clone();
        let summary = release.component.summary.clone();
        let config =
            WasmConfig::for_component(release.component.digest, release.date.to_rfc3339(), author, summary);
        let config = config.to_bytes();
        let component = ImageManifest {
            artifact_type: None,
            config: Descriptor::for_bytes(WASM_CONFIG, &config),
            layers: vec![layer(WASM_LAYER, &release.component_file)],
            subject: None,
            annotations: annotations.clone(),
        };
        let natives: Vec<(OciPlatform, ImageManifest)> = release
            .natives
            .values()
            .map(|(platform, file)| {
                let manifest = ImageManifest {
                    artifact_type: Some(PROVIDER_TARGET.to_owned()),
                    config: Descriptor::for_empty_config(),
                    layers: vec![layer(ZIP_LAYER, file)],
                    subject: None,
                    annotations: annotations.clone(),
                };
                (platform.clone(), manifest)
            })
            .collect();
        let entry = |manifest: &ImageManifest, artifact_type: &str, platform: OciPlatform| {
            Descriptor::for_bytes(IMAGE_MANIFEST, &manifest.to_bytes())
                .with_artifact_type(artifact_type)
                .with_platform(platform)
        };
        let index = (!natives.is_empty()).then(|| {
            let mut manifests: Vec<Descriptor> = natives
                .iter()
                .map(|(platform, manifest)| entry(manifest, PROVIDER_TARGET, platform.clone()))
                .collect();
            manifests.push(entry(&component, WASM_CONFIG, OciPlatform::for_components()));
            ImageIndex { artifact_type: Some(PROVIDER.to_owned()), manifests, subject: None, annotations }
        });
        Self { config, component, natives, index }
    }

    /// Returns the digest of the artifact under the tag of the version.
    fn digest(&self) -> Sha256Digest {
        let bytes = match &self.index {
            Some(index) => index.to_bytes(),
            None => self.component.to_bytes(),
        };
        Sha256Digest::hash(&bytes)
    }
}

fn layer(media_type: &str, file: &ReleaseFile) -> Descriptor {
    Descriptor::new(media_type, file.digest, file.size)
        .with_annotation("org.opencontainers.image.title", &file.name)
}

fn annotations(release: &Release) -> BTreeMap<String, String> {
    let metadata = &release.metadata;
    let version = Some(release.version.to_string());
    let created = Some(release.date.to_rfc3339());
    [
        ("authors", &metadata.authors),
        ("created", &created),
        ("description", &metadata.description),
        ("licenses", &metadata.licenses),
        ("source", &metadata.source),
        ("url", &metadata.url),
        ("version", &version),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((format!("org.opencontainers.image.{name}"), value.clone()?)))
    .collect()
}

struct Push<'a> {
    client: &'a OciClient,
    repository: &'a Repository,
    observer: &'a dyn PublishObserver,
}

impl Push<'_> {
    async fn file(&self, file: &ReleaseFile) -> Result<(), PublishError> {
        let blob = BlobDescriptor { digest: file.digest, size: file.size };
        self.blob(&file.name, blob, UploadSource::File(file.path.clone())).await
    }

    async fn bytes(&self, name: &str, bytes: Vec<u8>) -> Result<(), PublishError> {
        let blob = BlobDescriptor { digest: Sha256Digest::hash(&bytes), size: bytes.len() as u64 };
        self.blob(name, blob, UploadSource::Bytes(bytes.into())).await
    }

    async fn blob(&self, name: &str, blob: BlobDescriptor, source: UploadSource) -> Result<(), PublishError> {
        self.observer.report(PublishEvent::UploadStarted { name, size: blob.size });
        let progress = |bytes| self.observer.report(PublishEvent::UploadAdvanced { name, bytes });
        let pushed = self.client.push_blob(self.repository, blob, &source, &progress).await?;
        self.observer.report(match pushed {
            PushedBlob::Uploaded => PublishEvent::UploadFinished { name },
            PushedBlob::AlreadyPresent => PublishEvent::UploadSkipped { name },
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_tag_must_match_the_version() {
        let version = Version::parse("1.0.0+b").unwrap();
        let parse = |text: &str| publish_repository(text, &version).map(|repository| repository.to_string());
        assert_eq!(parse("oci://ghcr.io/acme/dns").unwrap(), "ghcr.io/acme/dns");
        assert_eq!(parse("oci://localhost:5000/dns:1.0.0_b").unwrap(), "localhost:5000/dns");
        for bad in ["ghcr.io/acme/dns", "oci://ghcr.io", "oci://h/x:2.0.0", "oci://h/x:latest", "oci://h/X"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
