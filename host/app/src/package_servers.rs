//! The servers from which provider packages are installed: registries, network mirrors and OCI
//! registries.
//!
//! [`PackageServers`] implements [`NetworkSource`], from which plugins are selected. It uses one
//! client for each protocol; all clients send their requests through one [`Downloader`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use futures::future::try_join_all;
use http::StatusCode;
use url::Url;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;
use wardian_download::{Downloader, Fetch, FetchError, Target, printable_url};
use wardian_install::hash::{PackageHash, component_file_name};
use wardian_install::mirror::Platform;
use wardian_install::network_source::{
    BundlePlace, MAX_BUNDLES, NetworkErrorKind, NetworkListing, NetworkMethod, NetworkSource,
    NetworkSourceError, PackageAuthentication, PackageSigner, PublishedBundle, PublishedFormat,
    PublishedLocation, PublishedPackage, SignedArtifact, WantedPackage,
};
use wardian_install::package::MAX_COMPONENT_BYTES;
use wardian_oci::{
    AddressPart, OciClient, OciError, OciPlatform, PackageBlob, Repository, RepositoryTemplate,
};
use wardian_registry::mirror::{MirrorArchive, NetworkMirror, NetworkMirrorError};
use wardian_registry::providers::{
    NativeAvailability, PackagePlatform, ProviderRegistryError, ReleaseFormat, ReleasePackage, ReleaseSigner,
};
use wardian_registry::{RegistryClient, RegistryErrorKind};
use wardian_signature::MAX_BUNDLE_SIZE;

/// The suffix that, appended to a file's name, is the name of its Sigstore bundle.
const BUNDLE_SUFFIX: &str = ".sigstore.json";

/// Maximum size of a native package.
const MAX_NATIVE_PACKAGE_BYTES: u64 = 2 << 30;

/// Finds and downloads provider packages.
pub struct PackageServers {
    downloader: Downloader,
    registry: RegistryClient,
    oci: OciClient,
}

impl fmt::Debug for PackageServers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PackageServers").finish_non_exhaustive()
    }
}

impl PackageServers {
    pub fn new(downloader: Downloader, registry: RegistryClient, oci: OciClient) -> Self {
        Self { downloader, registry, oci }
    }

    async fn registry_package(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: &Platform,
        wanted: WantedPackage,
    ) -> Result<PublishedPackage, NetworkSourceError> {
        let requested = match wanted {
            WantedPackage::Component => PackagePlatform::for_components(),
            WantedPackage::ComponentOrNative | WantedPackage::Native => package_platform(platform)?,
        };
        let release = self
            .registry
            .provider_release(address, version, &requested)
            .await
            .map_err(|error| provider_error(&error))?;
        let has_native = matches!(release.native, NativeAvailability::Available(_));
        let native = match release.native {
            NativeAvailability::Available(native) => Ok(native),
            NativeAvailability::NotPublished => Err(incompatible(format!(
                "provider {} v{version} has no package for the platform {requested}",
                address.for_display()
            ))),
            NativeAvailability::UnsupportedProtocol(mismatch) => Err(incompatible(mismatch.to_string())),
        };
        let package = match (wanted, release.component) {
            (WantedPackage::ComponentOrNative | WantedPackage::Component, Some(component)) => component,
            (WantedPackage::Component, None) => {
                return Err(incompatible(format!(
                    "provider {} v{version} has no component",
                    address.for_display()
                )));
            }
            (WantedPackage::ComponentOrNative | WantedPackage::Native, _) => native?,
        };
        Ok(published_release(package, has_native))
    }

    async fn mirror_package(
        &self,
        url: &str,
        address: &ProviderAddress,
        version: &Version,
        platform: &Platform,
        wanted: WantedPackage,
    ) -> Result<PublishedPackage, NetworkSourceError> {
        let mirror = network_mirror(url)?;
        let requested = package_platform(platform)?;
        let archives = self
            .registry
            .mirror_archives(&mirror, address, version, &requested)
            .await
            .map_err(|error| mirror_error(&error))?;
        let has_native = archives.native.is_some();
        let component = archives.component.filter(|_| wanted != WantedPackage::Native);
        let native = archives.native.filter(|_| wanted != WantedPackage::Component);
        let found = match (component, native) {
            (Some(component), _) => Some((component, true)),
            (None, native) => native.map(|native| (native, false)),
        };
        let (archive, is_component) = found.ok_or_else(|| {
            incompatible(format!(
                "the network mirror {url} has no suitable package for {} v{version}",
                address.for_display()
            ))
        })?;
        Ok(published_archive(&archive, is_component, has_native))
    }

    async fn oci_package(
        &self,
        template: &str,
        address: &ProviderAddress,
        version: &Version,
        platform: &Platform,
        wanted: WantedPackage,
    ) -> Result<PublishedPackage, NetworkSourceError> {
        let repository = repository(template, address)?;
        let (os, architecture) = platform.parts();
        let found = self
            .oci
            .provider_package(&repository, version, &OciPlatform::new(os, architecture))
            .await
            .map_err(|error| oci_error(&error))?;
        let has_native = found.native.is_some();
        let component = found.component.filter(|_| wanted != WantedPackage::Native);
        let native = found.native.filter(|_| wanted != WantedPackage::Component);
        let (blob, format) = match (component, native) {
            (Some(component), _) => (component, PublishedFormat::BareComponent),
            (None, Some(native)) => (native, PublishedFormat::NativeArchive),
            (None, None) => {
                return Err(incompatible(format!(
                    "the repository {repository} has no package of {} v{version} for {}",
                    address.for_display(),
                    platform.as_str()
                )));
            }
        };
        let mut package = published_blob(&repository, &blob, format, has_native, address, version);
        // The signature of the index applies to all packages of the release.
        let manifests = BTreeSet::from([found.index, blob.manifest]);
        package.bundle_places = manifests
            .into_iter()
            .map(|manifest| BundlePlace::OciReferrers { repository: repository.to_string(), manifest })
            .collect();
        Ok(package)
    }

    /// Returns the bundle in a file on a web server, or `None` if the server has no such file.
    async fn web_bundle(
        &self,
        url: &str,
        uses_netrc: bool,
        artifact: SignedArtifact,
    ) -> Result<Option<PublishedBundle>, NetworkSourceError> {
        let url = Url::parse(url)
            .map_err(|error| rejected(format!("the URL of a signature is invalid: {error}")))?;
        let place = printable_url(&url);
        let fetch = Fetch::get(url);
        let fetch = if uses_netrc { fetch.with_netrc() } else { fetch };
        let fetched = self
            .downloader
            .fetch(fetch, MAX_BUNDLE_SIZE as u64)
            .await
            .map_err(|error| fetch_error(&error))?;
        if fetched.status.is_server_error() || fetched.status == StatusCode::TOO_MANY_REQUESTS {
            let detail = format!("the server responded to the request for {place} with {}", fetched.status);
            return Err(NetworkSourceError::for_package(NetworkErrorKind::Unreachable, detail));
        }
        // For a file that does not exist, some servers deny access or respond with an HTML page.
        let is_document = fetched.body.trim_ascii_start().starts_with(b"{");
        if fetched.status != StatusCode::OK || !is_document {
            tracing::debug!(place, status = %fetched.status, "no publisher signature");
            return Ok(None);
        }
        Ok(Some(PublishedBundle { place, artifact, bytes: fetched.body.to_vec() }))
    }

    /// Returns the bundles among the referrers of a manifest.
    async fn referrer_bundles(
        &self,
        repository: &str,
        manifest: Sha256Digest,
    ) -> Result<Vec<PublishedBundle>, NetworkSourceError> {
        let repository = Repository::parse(repository).map_err(|error| rejected(error.to_string()))?;
        let found = match self.oci.sigstore_bundles(&repository, manifest).await {
            Ok(found) => found,
            Err(error) if error.is_unreachable() => return Err(oci_error(&error)),
            Err(error) => {
                // Registries that do not support referrers respond in various ways.
                tracing::warn!(%repository, %error, "publisher signatures cannot be listed");
                return Ok(Vec::new());
            }
        };
        if found.unexamined > 0 || found.unusable > 0 {
            let (unexamined, unusable) = (found.unexamined, found.unusable);
            tracing::warn!(%repository, unexamined, unusable, "some publisher signatures were ignored");
        }
        let mut bundles = Vec::new();
        for bundle in found.bundles.into_iter().take(MAX_BUNDLES) {
            let bytes = self.oci.blob(&repository, bundle.blob, MAX_BUNDLE_SIZE as u64).await;
            bundles.push(PublishedBundle {
                place: format!("{repository}@sha256:{}", bundle.manifest),
                artifact: SignedArtifact::Document(manifest),
                bytes: bytes.map_err(|error| oci_error(&error))?.to_vec(),
            });
        }
        Ok(bundles)
    }
}

#[async_trait]
impl NetworkSource for PackageServers {
    async fn versions(
        &self,
        method: &NetworkMethod,
        address: &ProviderAddress,
    ) -> Result<NetworkListing, NetworkSourceError> {
        let (versions, warnings) = match method {
            NetworkMethod::Registry => {
                let listing = self.registry.provider_versions(address).await;
                let listing = listing.map_err(|error| provider_error(&error))?;
                (listing.versions.keys().cloned().collect(), listing.warnings.clone())
            }
            NetworkMethod::Mirror { url } => {
                let mirror = network_mirror(url)?;
                let versions = self.registry.mirror_versions(&mirror, address).await;
                let versions = versions.map_err(|error| mirror_error(&error))?;
                (versions, Vec::new())
            }
            NetworkMethod::OciMirror { repository_template } => {
                let repository = repository(repository_template, address)?;
                let versions = self
                    .oci
                    .provider_versions(&repository)
                    .await
                    .map_err(|error| oci_versions_error(&error))?;
                (versions, Vec::new())
            }
        };
        Ok(NetworkListing { versions, warnings })
    }

    async fn package(
        &self,
        method: &NetworkMethod,
        address: &ProviderAddress,
        version: &Version,
        platform: &Platform,
        wanted: WantedPackage,
    ) -> Result<PublishedPackage, NetworkSourceError> {
        match method {
            NetworkMethod::Registry => self.registry_package(address, version, platform, wanted).await,
            NetworkMethod::Mirror { url } => {
                self.mirror_package(url, address, version, platform, wanted).await
            }
            NetworkMethod::OciMirror { repository_template } => {
                self.oci_package(repository_template, address, version, platform, wanted).await
            }
        }
    }

    async fn download(
        &self,
        address: &ProviderAddress,
        version: &Version,
        package: &PublishedPackage,
        file: &Path,
    ) -> Result<Sha256Digest, NetworkSourceError> {
        let label = format!("{} v{version}", address.for_display());
        match &package.location {
            PublishedLocation::Web { url, uses_netrc, size } => {
                let url = Url::parse(url)
                    .map_err(|error| rejected(format!("the URL of the package is invalid: {error}")))?;
                let fetch = Fetch::get(url).without_total_timeout();
                let fetch = if *uses_netrc { fetch.with_netrc() } else { fetch };
                let max_bytes = match package.format {
                    PublishedFormat::BareComponent => MAX_COMPONENT_BYTES,
                    PublishedFormat::NativeArchive | PublishedFormat::ComponentArchive => {
                        MAX_NATIVE_PACKAGE_BYTES
                    }
                };
                let target =
                    Target { path: file, expected: package.sha256, max_bytes, size: *size, label: &label };
                let downloaded = self.downloader.download(fetch, target).await;
                downloaded.map(|downloaded| downloaded.sha256).map_err(|error| fetch_error(&error))
            }
            PublishedLocation::OciBlob { repository, size } => {
                let repository =
                    Repository::parse(repository).map_err(|error| rejected(error.to_string()))?;
                let Some(digest) = package.sha256 else {
                    return Err(rejected("the OCI blob has no SHA-256 digest".to_owned()));
                };
                let blob = wardian_oci::BlobDescriptor { digest, size: *size };
                let downloaded = self.oci.download_blob(&repository, blob, file, &label).await;
                downloaded.map(|downloaded| downloaded.sha256).map_err(|error| oci_error(&error))
            }
        }
    }

    async fn bundles(&self, package: &PublishedPackage) -> Result<Vec<PublishedBundle>, NetworkSourceError> {
        let requests = package.bundle_places.iter().map(async |place| match place {
            BundlePlace::Web { url, uses_netrc, artifact } => {
                let found = self.web_bundle(url, *uses_netrc, *artifact).await?;
                Ok(Vec::from_iter(found))
            }
            BundlePlace::OciReferrers { repository, manifest } => {
                self.referrer_bundles(repository, *manifest).await
            }
        });
        let mut bundles = try_join_all(requests).await?.concat();
        bundles.truncate(MAX_BUNDLES);
        Ok(bundles)
    }
}

/// Returns the location of the bundle next to a file.
fn bundle_next_to(file: &Url, uses_netrc: bool, artifact: SignedArtifact) -> BundlePlace {
    let mut url = file.clone();
    url.set_path(&format!("{}{BUNDLE_SUFFIX}", file.path()));
    BundlePlace::Web { url: url.to_string(), uses_netrc, artifact }
}

fn published_release(package: ReleasePackage, has_native: bool) -> PublishedPackage {
    let signature = package.checksums.signature();
    let signer = match signature.signer {
        ReleaseSigner::HashiCorp => PackageSigner::HashiCorp,
        ReleaseSigner::Partner => PackageSigner::Partner,
        ReleaseSigner::SelfSigned => PackageSigner::SelfSigned,
    };
    PublishedPackage {
        format: match package.format {
            ReleaseFormat::NativeArchive => PublishedFormat::NativeArchive,
            ReleaseFormat::ComponentArchive => PublishedFormat::ComponentArchive,
            ReleaseFormat::BareComponent => PublishedFormat::BareComponent,
        },
        location: PublishedLocation::Web {
            url: package.url.to_string(),
            uses_netrc: package.uses_netrc,
            size: package.size,
        },
        sha256: Some(package.digest),
        package_hashes: BTreeSet::from([PackageHash::for_archive(package.digest)]),
        signed_hashes: package.checksums.digests().into_iter().map(PackageHash::for_archive).collect(),
        authentication: PackageAuthentication::Signed {
            signer,
            key_id: signature.key_id.clone(),
            is_expired: signature.key_expired.is_some(),
        },
        bundle_places: vec![
            bundle_next_to(&package.url, package.uses_netrc, SignedArtifact::Package),
            bundle_next_to(
                &package.checksums.url,
                false,
                SignedArtifact::Document(package.checksums.file_digest),
            ),
        ],
        file_name: package.file_name,
        has_native,
    }
}

fn published_archive(archive: &MirrorArchive, is_component: bool, has_native: bool) -> PublishedPackage {
    let hashes = archive.hashes.iter().filter_map(|hash| PackageHash::parse(hash).ok());
    let package_hashes: BTreeSet<PackageHash> = hashes.collect();
    let digests = archive.digests();
    // The file must have this digest only if the mirror publishes no other hash.
    let sha256 = match (digests.first(), package_hashes.len()) {
        (Some(digest), 1) => Some(*digest),
        _ => None,
    };
    let file_name = archive.url.path_segments().and_then(|mut segments| segments.next_back());
    let file_name = file_name.unwrap_or_default().to_owned();
    let is_bare = Path::new(&file_name).extension().is_some_and(|extension| extension == "wasm");
    PublishedPackage {
        format: match (is_component, is_bare) {
            (true, true) => PublishedFormat::BareComponent,
            (true, false) => PublishedFormat::ComponentArchive,
            (false, _) => PublishedFormat::NativeArchive,
        },
        location: PublishedLocation::Web { url: archive.url.to_string(), uses_netrc: true, size: None },
        sha256,
        authentication: if package_hashes.is_empty() {
            PackageAuthentication::Unauthenticated
        } else {
            PackageAuthentication::VerifiedChecksum
        },
        package_hashes,
        signed_hashes: BTreeSet::new(),
        bundle_places: vec![bundle_next_to(&archive.url, true, SignedArtifact::Package)],
        file_name,
        has_native,
    }
}

fn published_blob(
    repository: &Repository,
    blob: &PackageBlob,
    format: PublishedFormat,
    has_native: bool,
    address: &ProviderAddress,
    version: &Version,
) -> PublishedPackage {
    let digest = blob.blob.digest;
    PublishedPackage {
        format,
        file_name: component_file_name(address, version),
        location: PublishedLocation::OciBlob { repository: repository.to_string(), size: blob.blob.size },
        sha256: Some(digest),
        package_hashes: BTreeSet::from([PackageHash::for_archive(digest)]),
        signed_hashes: BTreeSet::new(),
        authentication: PackageAuthentication::VerifiedChecksum,
        bundle_places: Vec::new(),
        has_native,
    }
}

/// Returns the repository of a provider. The check of the CLI configuration ensured that the
/// template contains all necessary placeholders.
fn repository(template: &str, address: &ProviderAddress) -> Result<Repository, NetworkSourceError> {
    let all = BTreeSet::from([AddressPart::Hostname, AddressPart::Namespace, AddressPart::Type]);
    let parsed = RepositoryTemplate::parse(template, &all).map_err(|error| rejected(error.to_string()))?;
    parsed.repository(address).map_err(|error| rejected(error.to_string()))
}

fn network_mirror(url: &str) -> Result<NetworkMirror, NetworkSourceError> {
    NetworkMirror::new(url).map_err(|error| rejected(error.to_string()))
}

fn package_platform(platform: &Platform) -> Result<PackagePlatform, NetworkSourceError> {
    let name = platform.as_str();
    PackagePlatform::parse(name).ok_or_else(|| incompatible(format!("\"{name}\" is not a platform")))
}

fn kind(kind: RegistryErrorKind) -> NetworkErrorKind {
    match kind {
        RegistryErrorKind::NotFound => NetworkErrorKind::NotFound,
        RegistryErrorKind::Incompatible => NetworkErrorKind::Incompatible,
        RegistryErrorKind::Unreachable => NetworkErrorKind::Unreachable,
        RegistryErrorKind::Rejected => NetworkErrorKind::Rejected,
    }
}

fn provider_error(error: &ProviderRegistryError) -> NetworkSourceError {
    NetworkSourceError { summary: error.summary(), kind: kind(error.kind()), detail: error.to_string() }
}

fn mirror_error(error: &NetworkMirrorError) -> NetworkSourceError {
    NetworkSourceError { summary: error.summary(), kind: kind(error.kind()), detail: error.to_string() }
}

fn oci_versions_error(error: &OciError) -> NetworkSourceError {
    NetworkSourceError::for_versions(oci_error(error).kind, error.to_string())
}

fn oci_error(error: &OciError) -> NetworkSourceError {
    let kind = if error.is_not_found() {
        NetworkErrorKind::NotFound
    } else if error.is_unreachable() {
        NetworkErrorKind::Unreachable
    } else {
        NetworkErrorKind::Rejected
    };
    NetworkSourceError::for_package(kind, error.to_string())
}

fn fetch_error(error: &FetchError) -> NetworkSourceError {
    let is_unreachable = error.is_unreachable() || matches!(error, FetchError::Offline { .. });
    let kind = if is_unreachable { NetworkErrorKind::Unreachable } else { NetworkErrorKind::Rejected };
    NetworkSourceError::for_package(kind, error.to_string())
}

fn incompatible(detail: String) -> NetworkSourceError {
    NetworkSourceError::for_package(NetworkErrorKind::Incompatible, detail)
}

fn rejected(detail: String) -> NetworkSourceError {
    NetworkSourceError::for_package(NetworkErrorKind::Rejected, detail)
}
