//! Downloads packages from servers, unless the plugin cache contains them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;

use super::errors::SelectionError;
use super::survey::OpenedOffer;
use crate::archive::UnpackError;
use crate::download_area::DownloadArea;
use crate::file_digests::FileDigests;
use crate::hash::PackageHash;
use crate::lock_file::LockEntry;
use crate::network_source::{
    NetworkErrorKind, NetworkMethod, NetworkSource, NetworkSourceError, PackageAuthentication,
    PackageBundles, PublishedFormat, PublishedPackage,
};
use crate::package::{
    COMPONENT_PLATFORM, Download, ExpectedContent, OpenedPackage, PackageLocation, PluginOrigin,
};
use crate::sources::{DownloadPurpose, Sources};

/// The downloads of one selection.
pub(super) struct Downloads<'a> {
    sources: &'a Sources<'a>,
    /// The directory of the installed packages, or the cache's directory.
    root: PathBuf,
    /// Opened with the first download.
    area: OnceCell<DownloadArea>,
}

impl<'a> Downloads<'a> {
    pub(super) fn new(sources: &'a Sources<'a>, data_directory: &Path) -> Self {
        let root = match &sources.cache {
            Some(cache) => cache.root().to_owned(),
            None => data_directory.join("providers"),
        };
        Self { sources, root, area: OnceCell::new() }
    }

    pub(super) fn into_area(self) -> Option<DownloadArea> {
        self.area.into_inner()
    }

    pub(super) fn digests(&self) -> &FileDigests {
        &self.sources.digests
    }

    /// Returns the cached package of a version, if the lock file or the settings allow it.
    pub(super) fn cached(
        &self,
        address: &ProviderAddress,
        version: &Version,
        entry: Option<&LockEntry>,
    ) -> Option<OpenedPackage> {
        let cache = self.sources.cache.as_ref()?;
        let open = |platform: &str, expected| {
            let path = cache.directory(address, version, platform);
            path.is_dir().then_some(())?;
            let location = PackageLocation::Directory(path.clone());
            let origin = PluginOrigin::Cached(path);
            OpenedPackage::open(address, version, &location, origin, expected, self.digests()).ok()
        };
        let is_allowed = |opened: &OpenedPackage| match entry {
            Some(entry) => opened.hashes().any(|hash| entry.hashes.contains(hash)),
            None => cache.may_break_lock_file,
        };
        let component = open(COMPONENT_PLATFORM, ExpectedContent::Component).filter(&is_allowed);
        component.or_else(|| {
            open(self.sources.platform.as_str(), ExpectedContent::ComponentOrNative).filter(is_allowed)
        })
    }

    /// Opens a package that a server offers.
    ///
    /// # Errors
    /// Returns an error if the package cannot be found, authenticated, downloaded or read.
    pub(super) async fn open(
        &self,
        method: &NetworkMethod,
        address: &ProviderAddress,
        version: &Version,
        entry: Option<&LockEntry>,
    ) -> Result<OpenedOffer, SelectionError> {
        if let Some(cached) = self.cached(address, version, entry) {
            return Ok(OpenedOffer::from_local(cached));
        }
        let Some(client) = &self.sources.network else {
            return Err(download_failed(
                address,
                version,
                NetworkSourceError::for_package(
                    NetworkErrorKind::Unreachable,
                    "this command makes no requests",
                ),
            ));
        };
        let failed = |error| download_failed(address, version, error);
        let package = client
            .package(method, address, version, &self.sources.platform, self.sources.wanted)
            .await
            .map_err(failed)?;
        let bundles = async { client.bundles(&package).await.map_err(failed) };
        let ((file, digest), bundles) =
            tokio::try_join!(self.download(&**client, address, version, &package), bundles)?;
        let opened = self.open_downloaded(address, version, &package, file, digest).await?;
        if !package.package_hashes.is_empty()
            && !opened.hashes().any(|hash| package.package_hashes.contains(hash))
        {
            let published: Vec<&str> = package.package_hashes.iter().map(PackageHash::as_str).collect();
            let detail = format!(
                "the hash of the downloaded package is {}, but {method} publishes {}",
                opened.archive_hash.as_ref().unwrap_or(&opened.content_hash),
                published.join(", ")
            );
            return Err(failed(NetworkSourceError::for_package(NetworkErrorKind::Rejected, detail)));
        }
        let signed_hashes: BTreeSet<PackageHash> = match package.authentication {
            PackageAuthentication::Signed { .. } => package.signed_hashes,
            PackageAuthentication::Unauthenticated | PackageAuthentication::VerifiedChecksum => {
                BTreeSet::new()
            }
        };
        Ok(OpenedOffer {
            package: opened,
            signed_hashes,
            authentication: Some(package.authentication),
            bundles: Some(PackageBundles { package: digest, bundles }),
        })
    }

    async fn download(
        &self,
        client: &dyn NetworkSource,
        address: &ProviderAddress,
        version: &Version,
        package: &PublishedPackage,
    ) -> Result<(PathBuf, Sha256Digest), SelectionError> {
        let area = self
            .area
            .get_or_try_init(|| async { DownloadArea::open(&self.root) })
            .await
            .map_err(|source| self.cannot_write(source))?;
        let extension = match package.format {
            PublishedFormat::NativeArchive | PublishedFormat::ComponentArchive => "zip",
            PublishedFormat::BareComponent => "wasm",
        };
        let file = area.file(package.sha256, extension).map_err(|source| self.cannot_write(source))?;
        let digest = client
            .download(address, version, package, &file)
            .await
            .map_err(|error| download_failed(address, version, error))?;
        Ok((file, digest))
    }

    /// Opens a downloaded file on another thread, because its content is hashed and, if the package
    /// is installed, unpacked.
    async fn open_downloaded(
        &self,
        address: &ProviderAddress,
        version: &Version,
        package: &PublishedPackage,
        file: PathBuf,
        digest: Sha256Digest,
    ) -> Result<OpenedPackage, SelectionError> {
        let expected = match package.format {
            PublishedFormat::NativeArchive => ExpectedContent::ComponentOrNative,
            PublishedFormat::ComponentArchive | PublishedFormat::BareComponent => ExpectedContent::Component,
        };
        let location = match package.format {
            PublishedFormat::NativeArchive | PublishedFormat::ComponentArchive => {
                PackageLocation::Archive(file.clone())
            }
            PublishedFormat::BareComponent => PackageLocation::BareComponent(file.clone()),
        };
        let unpacked = match (package.format, self.sources.purpose, self.area.get()) {
            (PublishedFormat::NativeArchive, DownloadPurpose::Install, Some(area)) => {
                Some(area.unpacked().map_err(|source| self.cannot_write(source))?)
            }
            _ => None,
        };
        let opening = tokio::task::spawn_blocking({
            let (address, version) = (address.clone(), version.clone());
            let digests = Arc::clone(&self.sources.digests);
            move || match unpacked {
                Some(unpacked) => {
                    let download = Download { archive: file, digest, unpacked };
                    OpenedPackage::unpack(&address, &version, download, expected, &digests)
                }
                None => {
                    let origin = PluginOrigin::Downloaded(location.clone());
                    let opened =
                        OpenedPackage::open(&address, &version, &location, origin, expected, &digests);
                    opened.map_err(UnpackError::Package)
                }
            }
        });
        match opening.await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(UnpackError::Write(source))) => Err(self.cannot_write(source)),
            Ok(Err(UnpackError::Package(error))) => {
                let detail =
                    format!("{error}; ask the publisher to correct the package, or use another version");
                let error = NetworkSourceError::for_package(NetworkErrorKind::Rejected, detail);
                Err(download_failed(address, version, error))
            }
            Err(_) => {
                let (address, version) = (address.clone(), version.clone());
                Err(SelectionError::Interrupted { address, version })
            }
        }
    }

    fn cannot_write(&self, source: std::io::Error) -> SelectionError {
        SelectionError::DownloadDirectory { path: self.root.clone(), source }
    }
}

fn download_failed(
    address: &ProviderAddress,
    version: &Version,
    error: NetworkSourceError,
) -> SelectionError {
    SelectionError::Download { address: address.clone(), version: version.clone(), error }
}
