//! Packages on servers: registries, network mirrors and OCI registries.
//!
//! This crate opens no connections. It describes its requests with these types, and the caller
//! implements [`NetworkSource`] with the protocol clients.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;

use crate::hash::PackageHash;
use crate::mirror::Platform;

/// The method of finding packages on servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkMethod {
    /// Each provider's own registry (`direct`).
    Registry,
    /// A network mirror with this base URL, which ends with `/`.
    Mirror { url: String },
    /// A mirror in OCI registries, with the template of its repositories.
    OciMirror { repository_template: String },
}

impl fmt::Display for NetworkMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry => formatter.write_str("the provider's registry"),
            Self::Mirror { url } => write!(formatter, "the network mirror {url}"),
            Self::OciMirror { repository_template } => {
                write!(formatter, "the OCI mirror {repository_template}")
            }
        }
    }
}

/// The versions of one provider on a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkListing {
    pub versions: BTreeSet<Version>,
    /// Warnings that the registry publishes for the provider.
    pub warnings: Vec<String>,
}

/// The format of a published package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishedFormat {
    /// A zip file for one platform.
    NativeArchive,
    /// A zip file that contains a component.
    ComponentArchive,
    /// A component that is a single file.
    BareComponent,
}

/// The kinds of packages that a caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedPackage {
    /// The component or, if there is none, the native package.
    ComponentOrNative,
    /// The native package, even if the release has a component.
    Native,
    /// The component.
    Component,
}

/// The location from which a package is downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishedLocation {
    /// A file on a web server.
    Web {
        url: String,
        /// Whether the user's netrc file provides the credentials.
        uses_netrc: bool,
        /// The size in bytes, if the server publishes it.
        size: Option<u64>,
    },
    /// A blob in an OCI repository.
    OciBlob {
        /// `REGISTRY/REPOSITORY`.
        repository: String,
        size: u64,
    },
}

/// A package that a server offers. Its signature was verified, if the method supports signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedPackage {
    pub format: PublishedFormat,
    pub file_name: String,
    pub location: PublishedLocation,
    /// The digest of the file; `None` if the server publishes only other hashes, or none.
    pub sha256: Option<Sha256Digest>,
    /// The hashes of this package, of which at least one must match; empty if the server publishes
    /// none.
    pub package_hashes: BTreeSet<PackageHash>,
    /// The hashes of all packages of this version, if a signature authenticates them. They are
    /// added to the lock file.
    pub signed_hashes: BTreeSet<PackageHash>,
    /// The authentication of the package, which `init` reports.
    pub authentication: PackageAuthentication,
    /// Whether the release also contains a native package for this platform.
    pub has_native: bool,
    /// The locations of signatures that identify publishers.
    pub bundle_places: Vec<BundlePlace>,
}

/// A possible location of a Sigstore bundle of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundlePlace {
    /// A file on a web server.
    Web {
        url: String,
        /// Whether the user's netrc file provides the credentials.
        uses_netrc: bool,
        artifact: SignedArtifact,
    },
    /// The referrers of a manifest in an OCI repository.
    OciReferrers {
        /// `REGISTRY/REPOSITORY`.
        repository: String,
        manifest: Sha256Digest,
    },
}

/// The artifact that a publisher's signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedArtifact {
    /// The file of the package.
    Package,
    /// A document that contains the digest of the package.
    Document(Sha256Digest),
}

/// An unverified Sigstore bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedBundle {
    /// The URL or the OCI manifest that contains the bundle, for messages.
    pub place: String,
    pub artifact: SignedArtifact,
    pub bytes: Vec<u8>,
}

/// The Sigstore bundles of a downloaded package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageBundles {
    /// The digest of the package's file.
    pub package: Sha256Digest,
    pub bundles: Vec<PublishedBundle>,
}

/// Maximum number of bundles of a package.
pub const MAX_BUNDLES: usize = 8;

/// The authentication of a downloaded package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageAuthentication {
    /// Nothing was verified, because the server publishes no hashes.
    Unauthenticated,
    /// The package matches a published hash, but the hash is not signed.
    VerifiedChecksum,
    /// The hashes are signed with a key that the registry publishes.
    Signed {
        signer: PackageSigner,
        /// The identifier of the primary key: 16 hexadecimal digits.
        key_id: String,
        /// Whether the key has expired.
        is_expired: bool,
    },
}

/// The owner of the key with which a release is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageSigner {
    HashiCorp,
    /// HashiCorp has signed the key.
    Partner,
    /// The registry publishes the key, without any other attestation.
    SelfSigned,
}

/// Shows the authentication in Terraform's words.
impl fmt::Display for PackageAuthentication {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthenticated => formatter.write_str("unauthenticated"),
            Self::VerifiedChecksum => formatter.write_str("verified checksum"),
            Self::Signed { signer: PackageSigner::HashiCorp, .. } => {
                formatter.write_str("signed by HashiCorp")
            }
            Self::Signed { signer: PackageSigner::Partner, key_id, .. } => {
                write!(formatter, "signed by a HashiCorp partner, key ID {key_id}")
            }
            Self::Signed { signer: PackageSigner::SelfSigned, key_id, .. } => {
                write!(formatter, "self-signed, key ID {key_id}")
            }
        }
    }
}

/// A request to a server that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{detail}")]
pub struct NetworkSourceError {
    /// The summary of the diagnostic.
    pub summary: &'static str,
    pub kind: NetworkErrorKind,
    /// The failure, the server, and advice on how to proceed.
    pub detail: String,
}

impl NetworkSourceError {
    /// Creates an error about a package, with Terraform's summary.
    pub fn for_package(kind: NetworkErrorKind, detail: impl Into<String>) -> Self {
        let summary = match kind {
            NetworkErrorKind::Incompatible => "Incompatible provider version",
            NetworkErrorKind::NotFound | NetworkErrorKind::Unreachable | NetworkErrorKind::Rejected => {
                "Failed to install provider"
            }
        };
        Self { summary, kind, detail: detail.into() }
    }

    /// Creates an error about a list of versions, with Terraform's summary.
    pub fn for_versions(kind: NetworkErrorKind, detail: impl Into<String>) -> Self {
        Self { summary: "Failed to query available provider packages", kind, detail: detail.into() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkErrorKind {
    /// The server does not have the provider or the version.
    NotFound,
    /// The release has no package for this platform, or none with a supported protocol.
    Incompatible,
    /// The server could not be reached, because requests are disabled or the connection failed.
    Unreachable,
    /// The server's response is wrong, or was rejected.
    Rejected,
}

/// The client of the servers. Calls can be concurrent.
#[async_trait]
pub trait NetworkSource: fmt::Debug + Send + Sync {
    /// Lists the versions of a provider.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, or does not have the provider.
    async fn versions(
        &self,
        method: &NetworkMethod,
        address: &ProviderAddress,
    ) -> Result<NetworkListing, NetworkSourceError>;

    /// Returns the package of one version: its component if the release has one and the caller
    /// accepts components, otherwise its native package for the platform. Only metadata is
    /// downloaded.
    ///
    /// # Errors
    /// Returns an error if there is no such package, or its signature is invalid.
    async fn package(
        &self,
        method: &NetworkMethod,
        address: &ProviderAddress,
        version: &Version,
        platform: &Platform,
        wanted: WantedPackage,
    ) -> Result<PublishedPackage, NetworkSourceError>;

    /// Downloads a package to a file. If this function returns without an error, the file is
    /// complete and has the published digest.
    ///
    /// # Errors
    /// Returns an error if the download fails, the content has a different digest, or the file
    /// cannot be written.
    async fn download(
        &self,
        address: &ProviderAddress,
        version: &Version,
        package: &PublishedPackage,
        file: &Path,
    ) -> Result<Sha256Digest, NetworkSourceError>;

    /// Returns the Sigstore bundles of a package, at most [`MAX_BUNDLES`]. None of them is verified.
    ///
    /// # Errors
    /// Returns an error if a server cannot be reached. A bundle that the server does not have is
    /// not an error.
    async fn bundles(&self, package: &PublishedPackage) -> Result<Vec<PublishedBundle>, NetworkSourceError>;
}
