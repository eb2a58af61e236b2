//! Finds and authenticates the packages of a release.
//!
//! A release can contain a component and native packages. The component is found by the first of
//! these rules that applies:
//!
//! 1. The list of versions has the platform `wasip2_wasm`, and the registry describes the package
//!    for it.
//! 2. The signed checksums of another package have a line for the file
//!    `terraform-provider-TYPE_VERSION_wasip2_wasm.wasm`, or for the `.zip` file with that name.
//!    The file is next to the checksums. Therefore, a component can be published through a registry
//!    that does not accept its platform.
//!
//! The package of each kind is authenticated by the signed checksums; its content is authenticated
//! by its digest when it is downloaded.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use url::Url;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;
use wardian_download::{Fetch, printable_url};

use super::checksums::{MAX_CHECKSUMS_BYTES, SignedChecksums};
use super::document::{ChecksumsSource, PackageDocument};
use super::error::{ProviderProblem, ProviderRegistryError};
use super::platform::PackagePlatform;
use super::protocol::{self, ProtocolMismatch};
use super::signature;
use crate::client::RegistryClient;
use crate::request;
use crate::service_host::ServiceHost;

const MAX_SIGNATURE_BYTES: u64 = 64 << 10;

/// The packages of a release that are usable on a platform. At least one of them is available.
#[derive(Clone, Debug)]
pub struct RegistryRelease {
    pub component: Option<ReleasePackage>,
    pub native: NativeAvailability,
}

/// Whether a release has a native package for a platform.
#[derive(Clone, Debug)]
pub enum NativeAvailability {
    Available(ReleasePackage),
    /// There is no package for the platform.
    NotPublished,
    /// There is a package, but none of its protocols is supported.
    UnsupportedProtocol(ProtocolMismatch),
}

/// The format of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseFormat {
    /// A zip file with a native plugin.
    NativeArchive,
    /// A zip file with a component.
    ComponentArchive,
    /// A component that is a single file.
    BareComponent,
}

/// A package whose digest is signed.
#[derive(Clone, Debug)]
pub struct ReleasePackage {
    pub format: ReleaseFormat,
    /// The name of the file in the checksums. It contains no directories.
    pub file_name: String,
    pub url: Url,
    pub digest: Sha256Digest,
    /// The size in bytes, if the registry publishes it. It is not signed.
    pub size: Option<u64>,
    /// Whether the user's netrc file provides the credentials for the URL.
    pub uses_netrc: bool,
    /// The checksums of the release.
    pub checksums: Arc<SignedChecksums>,
}

impl ReleasePackage {
    /// Returns the request for the package.
    pub fn fetch(&self) -> Fetch {
        let fetch = Fetch::get(self.url.clone());
        if self.uses_netrc { fetch.with_netrc() } else { fetch }
    }
}

/// A package whose checksums have a valid signature. The package's digest has not been compared
/// with the checksums yet.
struct AuthenticatedPackage {
    document: PackageDocument,
    checksums: Arc<SignedChecksums>,
}

/// A release in a registry.
#[derive(Clone, Copy)]
struct RequestedRelease<'a> {
    client: &'a RegistryClient,
    host: &'a ServiceHost,
    base: &'a Url,
    address: &'a ProviderAddress,
    version: &'a Version,
}

impl RegistryClient {
    /// Returns the packages of a release, after verifying the signature of its checksums. Only
    /// metadata is downloaded. If the provider's versions were requested before, their list
    /// determines whether a component is requested from the registry.
    ///
    /// # Errors
    /// Returns an error if the registry cannot be used, the release is not authentic, or it has
    /// neither a component nor a usable native package for the platform.
    pub async fn provider_release(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: &PackagePlatform,
    ) -> Result<RegistryRelease, ProviderRegistryError> {
        let found = async {
            let (host, base) = self.provider_service(address).await?;
            let release = RequestedRelease { client: self, host: &host, base: &base, address, version };
            release.find(platform).await
        };
        found.await.map_err(|problem| ProviderRegistryError {
            address: address.clone(),
            version: Some(version.clone()),
            problem: Box::new(problem),
        })
    }
}

impl RequestedRelease<'_> {
    async fn find(self, platform: &PackagePlatform) -> Result<RegistryRelease, ProviderProblem> {
        let listed = self.listed_platforms();
        let (native, component) = self.packages(platform, listed.as_deref()).await?;
        let component = match (component, &native) {
            (Some(component), _) => Some(component.into_component()?),
            (None, Some(native)) => self.component_in_checksums(native)?,
            (None, None) => self.component_without_native(listed.as_deref(), platform).await?,
        };
        let native = match native {
            None => NativeAvailability::NotPublished,
            Some(native) if !protocol::is_supported(&native.document.protocols) => {
                NativeAvailability::UnsupportedProtocol(self.mismatch(native.document.protocols).await)
            }
            Some(native) => NativeAvailability::Available(native.into_package(ReleaseFormat::NativeArchive)?),
        };
        match (native, component) {
            (NativeAvailability::NotPublished, None) => Err(ProviderProblem::NoPackage {
                platform: platform.clone(),
                offered: listed.unwrap_or_default(),
            }),
            (NativeAvailability::UnsupportedProtocol(mismatch), None) => {
                Err(ProviderProblem::Protocol(mismatch))
            }
            (native, component) => Ok(RegistryRelease { component, native }),
        }
    }

    /// Returns the platforms in the list of versions, if it was requested and contains them.
    fn listed_platforms(self) -> Option<Vec<PackagePlatform>> {
        let listing = self.client.known_versions(self.address)?;
        let platforms = &listing.versions.get(self.version)?.platforms;
        (!platforms.is_empty()).then(|| platforms.clone())
    }

    /// Returns the native package for the platform, and the component if the registry lists its
    /// platform.
    async fn packages(
        self,
        platform: &PackagePlatform,
        listed: Option<&[PackagePlatform]>,
    ) -> Result<(Option<AuthenticatedPackage>, Option<AuthenticatedPackage>), ProviderProblem> {
        let component_platform = PackagePlatform::for_components();
        let lists_component = listed.unwrap_or_default().contains(&component_platform);
        let is_component = *platform == component_platform;
        let native_platform = Some(platform).filter(|_| !is_component);
        let component_platform = Some(&component_platform).filter(|_| lists_component || is_component);
        let (native, component) =
            tokio::try_join!(self.document(native_platform), self.document(component_platform))?;
        match (native, component) {
            // Usually, both packages have the same checksum file, which is requested once.
            (Some(native), Some(component)) if native.checksums == component.checksums => {
                let checksums = self.checksums(&native.checksums).await?;
                let native = AuthenticatedPackage { document: native, checksums: Arc::clone(&checksums) };
                Ok((Some(native), Some(AuthenticatedPackage { document: component, checksums })))
            }
            (native, component) => {
                tokio::try_join!(self.authenticated(native), self.authenticated(component))
            }
        }
    }

    /// Requests the description of the package for a platform, if there is such a package.
    async fn document(
        self,
        platform: Option<&PackagePlatform>,
    ) -> Result<Option<PackageDocument>, ProviderProblem> {
        let Some(platform) = platform else { return Ok(None) };
        let release = (self.address, self.version);
        self.client.package_document(self.host, self.base, release, platform).await
    }

    async fn authenticated(
        self,
        document: Option<PackageDocument>,
    ) -> Result<Option<AuthenticatedPackage>, ProviderProblem> {
        let Some(document) = document else { return Ok(None) };
        let checksums = self.checksums(&document.checksums).await?;
        Ok(Some(AuthenticatedPackage { document, checksums }))
    }

    /// Requests the checksums and verifies their signature.
    async fn checksums(self, source: &ChecksumsSource) -> Result<Arc<SignedChecksums>, ProviderProblem> {
        let (text, signature) = tokio::try_join!(
            self.release_file("checksums", &source.url, MAX_CHECKSUMS_BYTES),
            self.release_file("cryptographic signature", &source.signature_url, MAX_SIGNATURE_BYTES)
        )?;
        let signature = signature::verify(&text, &signature, &source.keys)
            .map_err(|error| ProviderProblem::Signature { url: printable_url(&source.url), error })?;
        Ok(Arc::new(SignedChecksums::new(source.url.clone(), &text, signature)))
    }

    async fn release_file(
        self,
        file: &'static str,
        url: &Url,
        max_bytes: u64,
    ) -> Result<Bytes, ProviderProblem> {
        let failed = |error| ProviderProblem::ReleaseFile { file, error };
        let response = self.client.get_public(url.clone(), max_bytes).await.map_err(failed)?;
        match response.status {
            StatusCode::OK => Ok(response.body),
            _ => Err(failed(request::status_error(&response))),
        }
    }

    /// Returns the component of a release from the checksums of another package.
    fn component_in_checksums(
        self,
        other: &AuthenticatedPackage,
    ) -> Result<Option<ReleasePackage>, ProviderProblem> {
        let (type_name, version) = (self.address.type_name(), self.version);
        let platform = PackagePlatform::for_components();
        let formats = [("wasm", ReleaseFormat::BareComponent), ("zip", ReleaseFormat::ComponentArchive)];
        for (extension, format) in formats {
            let file_name = format!("terraform-provider-{type_name}_{version}_{platform}.{extension}");
            let Some(digest) = other.checksums.digest(&file_name) else { continue };
            let mut url = other.document.checksums.url.clone();
            url.set_query(None);
            url.set_fragment(None);
            // The name is encoded as one segment of the path, whatever it contains.
            match url.path_segments_mut() {
                Ok(mut segments) => drop(segments.pop().push(&file_name)),
                Err(()) => return Err(ProviderProblem::BaseUrl { host: self.host.clone() }),
            }
            let uses_netrc = may_use_netrc(&url, other.document.is_encrypted);
            let checksums = Arc::clone(&other.checksums);
            return Ok(Some(ReleasePackage {
                format,
                file_name,
                url,
                digest,
                size: None,
                uses_netrc,
                checksums,
            }));
        }
        Ok(None)
    }

    /// Returns the component of a release without a native package for the platform: the registry's
    /// package for components, or a file in the checksums of a package for another platform.
    async fn component_without_native(
        self,
        listed: Option<&[PackagePlatform]>,
        platform: &PackagePlatform,
    ) -> Result<Option<ReleasePackage>, ProviderProblem> {
        let component_platform = PackagePlatform::for_components();
        let Some(listed) = listed else {
            let is_unknown = *platform != component_platform;
            let document = self.document(Some(&component_platform).filter(|_| is_unknown)).await?;
            let found = self.authenticated(document).await?;
            return found.map(AuthenticatedPackage::into_component).transpose();
        };
        let others = listed.iter().filter(|other| *other != platform && **other != component_platform);
        let document = self.document(others.min()).await?;
        match self.authenticated(document).await? {
            Some(other) => self.component_in_checksums(&other),
            None => Ok(None),
        }
    }

    async fn mismatch(self, protocols: Vec<String>) -> ProtocolMismatch {
        let listing = self.client.provider_versions(self.address).await.ok();
        let closest = listing.and_then(|listing| protocol::closest(&listing, self.version));
        ProtocolMismatch { protocols, closest }
    }
}

impl AuthenticatedPackage {
    fn into_component(self) -> Result<ReleasePackage, ProviderProblem> {
        let extension = Path::new(&self.document.file_name).extension();
        let is_bare = extension.is_some_and(|extension| extension.eq_ignore_ascii_case("wasm"));
        self.into_package(if is_bare {
            ReleaseFormat::BareComponent
        } else {
            ReleaseFormat::ComponentArchive
        })
    }

    /// Returns the package if its digest in the signed checksums equals the digest that the
    /// registry returned.
    fn into_package(self, format: ReleaseFormat) -> Result<ReleasePackage, ProviderProblem> {
        let Self { document, checksums } = self;
        let url = printable_url(&document.checksums.url);
        match checksums.digest(&document.file_name) {
            Some(listed) if listed == document.digest => Ok(ReleasePackage {
                format,
                uses_netrc: may_use_netrc(&document.url, document.is_encrypted),
                file_name: document.file_name,
                url: document.url,
                digest: document.digest,
                size: document.size,
                checksums,
            }),
            Some(listed) => Err(ProviderProblem::OtherChecksum {
                url,
                file_name: document.file_name,
                listed: listed.to_string(),
                expected: document.digest.to_string(),
            }),
            None => Err(ProviderProblem::NoChecksum { url, file_name: document.file_name }),
        }
    }
}

/// Returns whether the credentials in a netrc file may be sent to a URL that a registry returned.
/// Returns false if an encrypted response contains an unencrypted URL.
fn may_use_netrc(url: &Url, is_encrypted: bool) -> bool {
    url.scheme() == "https" || !is_encrypted
}
