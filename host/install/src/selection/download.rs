//! Downloads packages from servers, unless the plugin cache contains them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tokio::sync::OnceCell;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;

use super::errors::SelectionError;
use super::survey::OpenedOffer;
use crate::download_area::DownloadArea;
use crate::file_digests::FileDigests;
use crate::hash::PackageHash;
use crate::lock_file::LockEntry;
use crate::network_source::{
    NetworkErrorKind, NetworkMethod, NetworkSource, NetworkSourceError, PackageAuthentication,
    PackageBundles, PublishedFormat, PublishedPackage,
};
use crate::package::{COMPONENT_PLATFORM, ExpectedContent, OpenedPackage, PackageLocation, PluginOrigin};
use crate::sources::Sources;

/// The downloads of one selection.
pub(super) struct Downloads<'a> {
    sources: &'a Sources<'a>,
    /// The directory of the installed packages, or of the cache.
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
    /// If the package cannot be found, authenticated, downloaded or read.
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
        let opened = self.open_downloaded(address, version, &package, file).await?;
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
        let cannot_write =
            |source: std::io::Error| SelectionError::DownloadDirectory { path: self.root.clone(), source };
        let area = self
            .area
            .get_or_try_init(|| async { DownloadArea::open(&self.root) })
            .await
            .map_err(cannot_write)?;
        let extension = match package.format {
            PublishedFormat::NativeArchive | PublishedFormat::ComponentArchive => "zip",
            PublishedFormat::BareComponent => "wasm",
        };
        let file = area.file(package.sha256, extension).map_err(cannot_write)?;
        let digest = client
            .download(address, version, package, &file)
            .await
            .map_err(|error| download_failed(address, version, error))?;
        Ok((file, digest))
    }

    /// Opens a downloaded file on another thread, because the hash of its content is computed.
    async fn open_downloaded(
        &self,
        address: &ProviderAddress,
        version: &Version,
        package: &PublishedPackage,
        file: PathBuf,
    ) -> Result<OpenedPackage, SelectionError> {
        let (location, expected) = match package.format {
            PublishedFormat::NativeArchive => {
                (PackageLocation::Archive(file), ExpectedContent::ComponentOrNative)
            }
            PublishedFormat::ComponentArchive => (PackageLocation::Archive(file), ExpectedContent::Component),
            PublishedFormat::BareComponent => {
                (PackageLocation::BareComponent(file), ExpectedContent::Component)
            }
        };
        let (address, version) = (address.clone(), version.clone());
        let opening = tokio::task::spawn_blocking({
            let (address, version) = (address.clone(), version.clone());
            move || {
                let origin = PluginOrigin::Downloaded(location.clone());
                OpenedPackage::open(&address, &version, &location, origin, expected, &FileDigests::default())
            }
        });
        match opening.await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(error)) => {
                let error = NetworkSourceError::for_package(NetworkErrorKind::Rejected, error.to_string());
                Err(download_failed(&address, &version, error))
            }
            Err(_) => Err(SelectionError::Interrupted { address, version }),
        }
    }
}

fn download_failed(
    address: &ProviderAddress,
    version: &Version,
    error: NetworkSourceError,
) -> SelectionError {
    SelectionError::Download { address: address.clone(), version: version.clone(), error }
}
