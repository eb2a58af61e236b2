//! Fetches a package with the getter for its address.

use std::path::Path;

use url::Url;
use wardian_download::{Downloader, NetworkAccess};
use wardian_module_source::{
    CommitId, FileLocation, HttpLocation, PackageLocation, RemoteModuleSource, RemotePackage,
    printable_address,
};
use wardian_oci::OciClient;

use crate::cache::{ModuleCache, PackageRecord};
use crate::getters::archive::{ArchiveGetter, archive_format, blocking, unpack_archive, verify};
use crate::getters::gcs::{GcsGetter, GcsSettings};
use crate::getters::git::GitGetter;
use crate::getters::http::HttpPackage;
use crate::getters::mercurial::MercurialGetter;
use crate::getters::oci;
use crate::getters::s3::{S3Getter, S3Settings};
use crate::package_error::PackageError;
use crate::programs::ProgramRunner;
use crate::subdirectory;

/// Maximum number of consecutive referrals by servers to another location.
const MAX_REFERRALS: usize = 10;

/// The server that returned the address of a package, if the address is not from the configuration.
#[derive(Clone, Copy, Default)]
pub(crate) struct Referral {
    /// The number of consecutive referrals to another location.
    pub count: usize,
    /// Whether the address was received over an encrypted connection.
    pub is_encrypted: bool,
}

impl Referral {
    /// Returns the referral to a location that a server returned.
    pub(crate) fn from_server(url_is_https: bool) -> Self {
        Self { count: 1, is_encrypted: url_is_https }
    }

    fn next(self, url: &Url) -> Self {
        Self { count: self.count + 1, is_encrypted: url.scheme() == "https" }
    }

    /// Rejects locations to which a server must not refer: locations on this machine, and
    /// unencrypted locations if the connection to the server was encrypted.
    fn check(self, package: &RemotePackage, location: &PackageLocation) -> Result<(), PackageError> {
        let problem = match location {
            _ if self.count == 0 => return Ok(()),
            location if location.is_on_this_machine() => "which is on this machine",
            PackageLocation::Http(HttpLocation { url, .. })
                if self.is_encrypted && url.scheme() == "http" =>
            {
                "which is not encrypted, although the connection to the server is"
            }
            PackageLocation::Git(location)
                if self.is_encrypted && matches!(location.url.scheme(), "http" | "git") =>
            {
                "which is not encrypted, although the connection to the server is"
            }
            PackageLocation::Mercurial(location) if self.is_encrypted && location.url.scheme() == "http" => {
                "which is not encrypted, although the connection to the server is"
            }
            _ => return Ok(()),
        };
        Err(PackageError::Referral { target: package.to_string(), problem })
    }
}

/// Fetches packages into the cache.
pub(crate) struct PackageFetcher {
    pub cache: ModuleCache,
    pub downloader: Downloader,
    pub network: NetworkAccess,
    /// `None` if programs must not be run.
    pub runner: Option<ProgramRunner>,
    pub oci: OciClient,
    pub s3: S3Settings,
    pub gcs: GcsSettings,
}

impl PackageFetcher {
    /// Fetches a package. A pinned commit is fetched instead of the current commit.
    pub(crate) async fn fetch(
        &self,
        package: &RemotePackage,
        pinned: Option<&CommitId>,
        referral: Referral,
    ) -> Result<PackageRecord, PackageError> {
        let location = package.location()?;
        referral.check(package, &location)?;
        let is_offline = self.network == NetworkAccess::Offline;
        let runner = self.runner.as_ref();
        let label = package.to_string();
        let archives = self.archives(&label);
        match location {
            PackageLocation::Git(location) => {
                GitGetter { cache: &self.cache, runner, is_offline }.fetch(&location, pinned).await
            }
            PackageLocation::Mercurial(location) => {
                MercurialGetter { cache: &self.cache, runner, is_offline }.fetch(&location, pinned).await
            }
            PackageLocation::Http(location) => match archives.fetch_http(&location).await? {
                HttpPackage::Tree(hash) => {
                    Ok(PackageRecord { hash, commit: None, subdirectory: String::new() })
                }
                HttpPackage::Location { url, text } => {
                    Box::pin(self.follow(&text, pinned, referral.next(&url))).await
                }
            },
            PackageLocation::File(location) => self.fetch_file(&location, archives).await,
            PackageLocation::S3(location) => S3Getter { archives, settings: &self.s3 }.fetch(&location).await,
            PackageLocation::Gcs(location) => {
                GcsGetter { archives, settings: &self.gcs }.fetch(&location).await
            }
            PackageLocation::Oci(location) => oci::fetch(&self.cache, &self.oci, &location, &label).await,
        }
    }

    pub(crate) fn archives<'a>(&'a self, label: &'a str) -> ArchiveGetter<'a> {
        ArchiveGetter { cache: &self.cache, downloader: &self.downloader, label }
    }

    /// Fetches the package to which a server referred. A subdirectory becomes the root of the
    /// package.
    async fn follow(
        &self,
        text: &str,
        pinned: Option<&CommitId>,
        referral: Referral,
    ) -> Result<PackageRecord, PackageError> {
        if referral.count > MAX_REFERRALS {
            return Err(PackageError::TooManyReferrals { limit: MAX_REFERRALS });
        }
        let source = RemoteModuleSource::parse(text)
            .map_err(|source| PackageError::ReferralAddress { location: printable_address(text), source })?;
        let record = self.fetch(&source.package, pinned, referral).await?;
        if source.subdirectory.is_root() {
            return Ok(record);
        }
        let cache = self.cache.clone();
        blocking(move || {
            let temporary = cache.temporary_directory()?;
            let package = temporary.path().join("package");
            if cache.copy_tree(&record.hash, &package)?.is_none() {
                return Err(PackageError::CacheChanged);
            }
            let inner = subdirectory::find(&package, &source.subdirectory)?;
            let hash = cache.store(&package.join(inner))?;
            Ok(PackageRecord { hash, ..record })
        })
        .await
    }

    /// Unpacks an archive on this machine.
    async fn fetch_file(
        &self,
        location: &FileLocation,
        archives: ArchiveGetter<'_>,
    ) -> Result<PackageRecord, PackageError> {
        let path = location.path.clone();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let checksum = archives.checksum(&location.archive, &name).await?;
        let Some(format) = location.archive.format.and_then(archive_format) else {
            return Err(local_path_error(&path, "source path must be a directory"));
        };
        let cache = self.cache.clone();
        blocking(move || {
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() => {}
                Ok(_) => return Err(local_path_error(&path, "source path must be a file")),
                Err(error) => return Err(local_path_error(&path, &error.to_string())),
            }
            if let Some(checksum) = checksum {
                verify(&path, &checksum)?;
            }
            let temporary = cache.temporary_directory()?;
            let tree = temporary.path().join("tree");
            unpack_archive(&path, format, &tree)?;
            Ok(PackageRecord { hash: cache.store(&tree)?, commit: None, subdirectory: String::new() })
        })
        .await
    }
}

pub(crate) fn local_path_error(path: &Path, reason: &str) -> PackageError {
    PackageError::LocalPath { path: path.display().to_string(), reason: reason.to_owned() }
}
