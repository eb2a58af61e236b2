//! Providers in OCI registries: their versions, native packages and components.
//!
//! | tag or digest | content | readers |
//! |---|---|---|
//! | `VERSION` | an index with an entry for each native package, and one for the component | OpenTofu, which ignores the component; Wardian |
//! | `wasm-VERSION`, and the digest in the index | the component as a standard WebAssembly artifact | `wkg` and other component tools; Wardian |
//! | `VERSION`, if there are no native packages | the WebAssembly artifact itself | the same tools; Wardian |
//!
//! In a tag, `_` replaces the `+` of a version. Tags that are not versions are ignored. A native
//! package is the same zip file as in the provider's registry, so its digest is the `zh:` hash in
//! the dependency lock file. The layer of a component is the `.wasm` file, from whose digest the
//! `h1:` hash is computed. Therefore, both hashes can be determined from the index and a manifest,
//! without the package.

use std::collections::BTreeSet;

use wardian_address::Version;
use wardian_digest::Sha256Digest;

use crate::client::{BlobDescriptor, FetchedManifest, OciClient};
use crate::error::OciError;
use crate::layout::LayoutProblem;
use crate::manifest::{Descriptor, ImageIndex, ImageManifest, Manifest};
use crate::media_type::{IMAGE_MANIFEST, PROVIDER, PROVIDER_TARGET, WASM_CONFIG, WASM_LAYER, ZIP_LAYER};
use crate::platform::OciPlatform;
use crate::reference::{ArtifactReference, ReferenceError, Repository, Tag};
use crate::wasm_config::{MAX_CONFIG_BYTES, WasmConfig};

/// Maximum size of a component.
pub const MAX_COMPONENT_BYTES: u64 = 256 << 20;
/// Maximum size of a native package.
pub const MAX_NATIVE_PACKAGE_BYTES: u64 = 2 << 30;

/// Returns the tag of a version, in which `_` replaces `+`.
///
/// # Errors
/// Returns an error if the version is too long for a tag.
pub fn version_tag(version: &Version) -> Result<Tag, ReferenceError> {
    Tag::parse(&version.to_string().replace('+', "_"))
}

/// Returns the tag under which component tools find the component of a version.
///
/// # Errors
/// Returns an error if the version is too long for a tag.
pub fn component_tag(version: &Version) -> Result<Tag, ReferenceError> {
    Tag::parse(&format!("wasm-{}", version_tag(version)?))
}

fn tag_version(tag: &str) -> Option<Version> {
    Version::parse(&tag.replace('_', "+")).ok()
}

/// A package in a registry: a zip file or a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageBlob {
    /// The digest of the manifest that contains the package.
    pub manifest: Sha256Digest,
    /// The package.
    pub blob: BlobDescriptor,
    config: Descriptor,
}

/// The entry of a package in the index of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageEntry {
    content: EntryContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EntryContent {
    Native(BlobDescriptor),
    Component(BlobDescriptor),
    /// The component's manifest is the artifact of the version.
    Resolved(Box<PackageBlob>),
}

/// A version of a provider in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRelease {
    /// The artifact under the tag of the version.
    pub reference: ArtifactReference,
    /// The digest of that artifact, which signatures refer to.
    pub digest: Sha256Digest,
    content: ReleaseContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ReleaseContent {
    Index(Box<ImageIndex>),
    Component(Box<PackageBlob>),
}

/// The packages of a version that can be used on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPackage {
    /// The digest of the artifact under the tag of the version, which signatures refer to.
    pub index: Sha256Digest,
    /// The package for the platform of the machine.
    pub native: Option<PackageBlob>,
    pub component: Option<PackageBlob>,
    /// The platforms for which there are native packages.
    pub platforms: BTreeSet<OciPlatform>,
}

impl ProviderRelease {
    fn new(reference: ArtifactReference, fetched: FetchedManifest) -> Result<Self, OciError> {
        let FetchedManifest { digest, manifest, .. } = fetched;
        let artifact_type = manifest.artifact_type().to_owned();
        let content = match manifest {
            Manifest::Index(index) if artifact_type == PROVIDER => ReleaseContent::Index(Box::new(index)),
            Manifest::Image(image) if image.config.media_type == WASM_CONFIG => {
                let blob = component_blob(&reference, digest, &image)?;
                ReleaseContent::Component(Box::new(blob))
            }
            _ => {
                let problem = LayoutProblem::NotAProvider { found: artifact_type };
                return Err(OciError::Layout { reference, problem });
            }
        };
        Ok(Self { reference, digest, content })
    }

    /// Returns the entry of the native package for a platform.
    ///
    /// # Errors
    /// Returns an error if there are several such entries.
    pub fn native(&self, platform: &OciPlatform) -> Result<Option<PackageEntry>, OciError> {
        let ReleaseContent::Index(index) = &self.content else { return Ok(None) };
        let is_native = |entry: &&Descriptor| {
            let matches = entry.platform.as_ref().is_some_and(|found| found.matches(platform));
            entry.artifact_type.as_deref() == Some(PROVIDER_TARGET) && matches
        };
        let entry = self.only(index.manifests.iter().filter(is_native), platform)?;
        Ok(entry.map(|blob| PackageEntry { content: EntryContent::Native(blob) }))
    }

    /// Returns the entry of the component.
    ///
    /// # Errors
    /// Returns an error if there are several such entries.
    pub fn component(&self) -> Result<Option<PackageEntry>, OciError> {
        let index = match &self.content {
            ReleaseContent::Index(index) => index,
            ReleaseContent::Component(blob) => {
                return Ok(Some(PackageEntry { content: EntryContent::Resolved(blob.clone()) }));
            }
        };
        let is_component = |entry: &&Descriptor| {
            entry.artifact_type.as_deref() == Some(WASM_CONFIG)
                && entry.platform.as_ref().is_none_or(OciPlatform::is_component)
        };
        let platform = OciPlatform::for_components();
        let entry = self.only(index.manifests.iter().filter(is_component), &platform)?;
        Ok(entry.map(|blob| PackageEntry { content: EntryContent::Component(blob) }))
    }

    /// Returns the platforms for which there are native packages.
    pub fn platforms(&self) -> BTreeSet<OciPlatform> {
        let ReleaseContent::Index(index) = &self.content else { return BTreeSet::new() };
        let natives = index.manifests.iter().filter(|entry| {
            entry.artifact_type.as_deref() == Some(PROVIDER_TARGET) && entry.media_type == IMAGE_MANIFEST
        });
        natives
            .filter_map(|entry| entry.platform.clone())
            .filter(|platform| platform.matches(platform))
            .collect()
    }

    /// Returns the manifest of the only entry.
    fn only<'a>(
        &self,
        entries: impl Iterator<Item = &'a Descriptor>,
        platform: &OciPlatform,
    ) -> Result<Option<BlobDescriptor>, OciError> {
        let entries: Vec<&Descriptor> = entries.collect();
        let [entry] = entries.as_slice() else {
            if entries.is_empty() {
                return Ok(None);
            }
            let (count, platform) = (entries.len(), platform.to_string());
            return Err(self.layout(LayoutProblem::Ambiguous { count, platform }));
        };
        if entry.media_type != IMAGE_MANIFEST {
            let (platform, found) = (platform.to_string(), entry.media_type.clone());
            return Err(self.layout(LayoutProblem::EntryMediaType { platform, found }));
        }
        Ok(Some(blob_descriptor(&self.reference, entry)?))
    }

    fn layout(&self, problem: LayoutProblem) -> OciError {
        OciError::Layout { reference: self.reference.clone(), problem }
    }
}

impl OciClient {
    /// Returns the versions of a provider. If the repository does not exist,
    /// [`OciError::is_not_found`] is true.
    ///
    /// # Errors
    /// Returns an error if the tags cannot be listed.
    pub async fn provider_versions(&self, repository: &Repository) -> Result<BTreeSet<Version>, OciError> {
        let tags = self.tags(repository).await?;
        Ok(tags.iter().filter_map(|tag| tag_version(tag)).collect())
    }

    /// Returns a version of a provider. Sends one request.
    ///
    /// # Errors
    /// Returns an error if the repository has no such version, or it is not a provider.
    pub async fn provider_release(
        &self,
        repository: &Repository,
        version: &Version,
    ) -> Result<ProviderRelease, OciError> {
        let reference = repository.with_tag(version_tag(version)?);
        let fetched = self.manifest(&reference).await?;
        ProviderRelease::new(reference, fetched)
    }

    /// Returns a package of a version. Sends at most one request.
    ///
    /// # Errors
    /// Returns an error if the package's manifest cannot be fetched, or is not the manifest of such
    /// a package.
    pub async fn package(
        &self,
        repository: &Repository,
        entry: &PackageEntry,
    ) -> Result<PackageBlob, OciError> {
        let (descriptor, is_component) = match &entry.content {
            EntryContent::Resolved(blob) => return Ok((**blob).clone()),
            EntryContent::Native(descriptor) => (descriptor, false),
            EntryContent::Component(descriptor) => (descriptor, true),
        };
        let reference = repository.with_digest(descriptor.digest);
        let fetched = self.manifest(&reference).await?;
        if fetched.size != descriptor.size {
            return Err(OciError::SizeMismatch {
                subject: format!("the manifest of {reference}"),
                expected: descriptor.size,
                found: fetched.size,
            });
        }
        let Manifest::Image(image) = &fetched.manifest else {
            let problem = LayoutProblem::IndexNotExpected { expected: "the manifest of one package" };
            return Err(OciError::Layout { reference, problem });
        };
        if is_component {
            component_blob(&reference, fetched.digest, image)
        } else {
            zip_blob(&reference, fetched.digest, image, PROVIDER_TARGET, MAX_NATIVE_PACKAGE_BYTES)
        }
    }

    /// Returns the packages of a version that can be used on a machine. The native package and the
    /// component are requested concurrently.
    ///
    /// # Errors
    /// Returns an error if the repository has no such version, or the version is not a provider.
    pub async fn provider_package(
        &self,
        repository: &Repository,
        version: &Version,
        platform: &OciPlatform,
    ) -> Result<ProviderPackage, OciError> {
        let release = self.provider_release(repository, version).await?;
        let (native, component) = (release.native(platform)?, release.component()?);
        let resolve = async |entry: Option<PackageEntry>| match entry {
            Some(entry) => self.package(repository, &entry).await.map(Some),
            None => Ok(None),
        };
        let (native, component) = tokio::try_join!(resolve(native), resolve(component))?;
        Ok(ProviderPackage { index: release.digest, native, component, platforms: release.platforms() })
    }

    /// Returns the config of a component, in which its publisher lists the component's imports and
    /// exports.
    ///
    /// # Errors
    /// Returns an error if the config cannot be fetched, or describes a different component.
    pub async fn component_config(
        &self,
        repository: &Repository,
        component: &PackageBlob,
    ) -> Result<WasmConfig, OciError> {
        let reference = repository.with_digest(component.manifest);
        let config = blob_descriptor(&reference, &component.config)?;
        let bytes = self.blob(repository, config, MAX_CONFIG_BYTES).await?;
        WasmConfig::parse(&bytes, component.blob.digest)
            .map_err(|reason| OciError::Layout { reference, problem: LayoutProblem::Config { reason } })
    }
}

fn blob_descriptor(
    reference: &ArtifactReference,
    descriptor: &Descriptor,
) -> Result<BlobDescriptor, OciError> {
    let digest = descriptor
        .digest
        .sha256()
        .map_err(|source| OciError::Digest { reference: reference.clone(), source })?;
    Ok(BlobDescriptor { digest, size: descriptor.size })
}

/// Returns the component in a WebAssembly artifact.
fn component_blob(
    reference: &ArtifactReference,
    manifest: Sha256Digest,
    image: &ImageManifest,
) -> Result<PackageBlob, OciError> {
    let layout = |problem| OciError::Layout { reference: reference.clone(), problem };
    if image.config.media_type != WASM_CONFIG {
        let (found, expected) = (image.effective_artifact_type().to_owned(), WASM_CONFIG.to_owned());
        return Err(layout(LayoutProblem::ArtifactType { found, expected }));
    }
    let [layer] = image.layers.as_slice() else {
        return Err(layout(LayoutProblem::WasmLayers { count: image.layers.len() }));
    };
    if layer.media_type != WASM_LAYER {
        return Err(layout(LayoutProblem::Layers { count: 0, media_type: WASM_LAYER }));
    }
    package_blob(reference, manifest, image, layer, MAX_COMPONENT_BYTES)
}

/// Returns the zip file in an artifact. Layers of other types are ignored.
pub(crate) fn zip_blob(
    reference: &ArtifactReference,
    manifest: Sha256Digest,
    image: &ImageManifest,
    artifact_type: &str,
    limit: u64,
) -> Result<PackageBlob, OciError> {
    let layout = |problem| OciError::Layout { reference: reference.clone(), problem };
    let found = image.artifact_type.as_deref().unwrap_or_default();
    if found != artifact_type {
        let (found, expected) = (found.to_owned(), artifact_type.to_owned());
        return Err(layout(LayoutProblem::ArtifactType { found, expected }));
    }
    let layers: Vec<&Descriptor> =
        image.layers.iter().filter(|layer| layer.media_type == ZIP_LAYER).collect();
    let [layer] = layers.as_slice() else {
        return Err(layout(LayoutProblem::Layers { count: layers.len(), media_type: ZIP_LAYER }));
    };
    package_blob(reference, manifest, image, layer, limit)
}

fn package_blob(
    reference: &ArtifactReference,
    manifest: Sha256Digest,
    image: &ImageManifest,
    layer: &Descriptor,
    limit: u64,
) -> Result<PackageBlob, OciError> {
    if layer.size > limit {
        let problem = LayoutProblem::TooLarge { size: layer.size, limit };
        return Err(OciError::Layout { reference: reference.clone(), problem });
    }
    let blob = blob_descriptor(reference, layer)?;
    Ok(PackageBlob { manifest, blob, config: image.config.clone() })
}

#[cfg(test)]
mod tests;
