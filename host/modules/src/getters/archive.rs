//! Archives: download, checksum, unpacking.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use url::Url;
use wardian_archive::{ArchiveFormat, ArchiveLimits, unpack};
use wardian_digest::Sha256Digest;
use wardian_download::{Downloader, Fetch, FetchError, Target, printable_url};
use wardian_module_source::{
    ArchiveChecksum, ArchiveOptions, ChecksumAlgorithm, ChecksumArgument, ChecksumList, PackageArchive,
    TreeHash,
};

use crate::cache::{ModuleCache, ModuleCacheError};
use crate::package_error::PackageError;

/// Maximum size of an archive.
pub(crate) const MAX_ARCHIVE_BYTES: u64 = 512 << 20;
/// Maximum size of a list of checksums.
const MAX_CHECKSUM_LIST_BYTES: u64 = 1 << 20;
/// Maximum number of redirects.
pub(crate) const MAX_REDIRECTS: usize = 10;

/// Downloads archives and unpacks them into the cache.
#[derive(Clone, Copy)]
pub(crate) struct ArchiveGetter<'a> {
    pub cache: &'a ModuleCache,
    pub downloader: &'a Downloader,
    /// Identifies the package in progress reports.
    pub label: &'a str,
}

impl ArchiveGetter<'_> {
    /// Returns the digest that an archive must have.
    pub(crate) async fn checksum(
        &self,
        options: &ArchiveOptions,
        file: &str,
    ) -> Result<Option<ArchiveChecksum>, PackageError> {
        let address = match &options.checksum {
            None => return Ok(None),
            Some(ChecksumArgument::Digest(checksum)) => return Ok(Some(checksum.clone())),
            Some(ChecksumArgument::File(address)) => address,
        };
        let list_url = Url::parse(address)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| PackageError::ChecksumAddress {
                address: wardian_module_source::printable_address(address),
            })?;
        let request = Fetch::get(list_url.clone()).with_netrc();
        let fetched = self.downloader.fetch(request, MAX_CHECKSUM_LIST_BYTES).await?;
        let shown = printable_url(&list_url);
        if !fetched.status.is_success() {
            return Err(FetchError::Status { url: shown, status: fetched.status }.into());
        }
        let text = String::from_utf8_lossy(&fetched.body);
        match ChecksumList::new(&text).find(file) {
            Some(checksum) => Ok(Some(checksum)),
            None => Err(PackageError::ChecksumMissing { url: shown, file: file.to_owned() }),
        }
    }

    /// Downloads an archive and unpacks it. If no format is given, the content determines the format.
    pub(crate) async fn fetch(
        &self,
        request: Fetch,
        url: &Url,
        format: Option<ArchiveFormat>,
        checksum: Option<ArchiveChecksum>,
    ) -> Result<TreeHash, PackageError> {
        let temporary = self.cache.temporary_directory()?;
        let archive = temporary.path().join("archive");
        let sha256 = checksum.as_ref().filter(|checksum| checksum.algorithm() == ChecksumAlgorithm::Sha256);
        let sha256 =
            sha256.and_then(|checksum| Some(Sha256Digest::from_bytes(checksum.digest().try_into().ok()?)));
        let target = Target {
            path: &archive,
            expected: sha256,
            max_bytes: MAX_ARCHIVE_BYTES,
            size: None,
            label: self.label,
        };
        self.downloader.download(request.redirects(MAX_REDIRECTS), target).await?;
        let cache = self.cache.clone();
        let shown = printable_url(url);
        blocking(move || {
            if let Some(checksum) = checksum {
                verify(&archive, &checksum)?;
            }
            let format = match format {
                Some(format) => format,
                None => detect(&archive)?.ok_or(PackageError::UnknownArchive { url: shown })?,
            };
            let tree = temporary.path().join("tree");
            unpack_archive(&archive, format, &tree)?;
            Ok(cache.store(&tree)?)
        })
        .await
    }
}

pub(crate) fn file_name(url: &Url) -> &str {
    url.path().rsplit('/').next().unwrap_or_default()
}

/// Unpacks an archive into a new directory.
pub(crate) fn unpack_archive(archive: &Path, format: ArchiveFormat, tree: &Path) -> Result<(), PackageError> {
    unpack(archive, format, tree, &ArchiveLimits::for_module_package()).map_err(|error| error.problem)?;
    let is_empty = std::fs::read_dir(tree).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty { Err(PackageError::Empty) } else { Ok(()) }
}

/// Returns the archive format for an argument. The format is never a single compressed file,
/// because such a source was rejected earlier.
pub(crate) fn archive_format(format: PackageArchive) -> Option<ArchiveFormat> {
    match format {
        PackageArchive::Zip => Some(ArchiveFormat::Zip),
        PackageArchive::TarGzip => Some(ArchiveFormat::TarGzip),
        PackageArchive::TarBzip2 => Some(ArchiveFormat::TarBzip2),
        PackageArchive::TarXz => Some(ArchiveFormat::TarXz),
        PackageArchive::Gzip | PackageArchive::Bzip2 | PackageArchive::Xz => None,
    }
}

/// Runs a blocking function on a separate thread.
pub(crate) async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, PackageError> + Send + 'static,
) -> Result<T, PackageError> {
    let result = tokio::task::spawn_blocking(function).await;
    result.unwrap_or_else(|error| Err(PackageError::Task(error.to_string())))
}

fn detect(archive: &Path) -> Result<Option<ArchiveFormat>, PackageError> {
    let mut header = Vec::new();
    let limit = ArchiveFormat::MAX_HEADER_BYTES as u64;
    let read = File::open(archive).and_then(|file| file.take(limit).read_to_end(&mut header));
    read.map_err(|error| ModuleCacheError::new(archive, error))?;
    Ok(ArchiveFormat::from_content(&header))
}

/// Compares the digest of a file with the expected digest.
pub(crate) fn verify(archive: &Path, checksum: &ArchiveChecksum) -> Result<(), PackageError> {
    let found = match checksum.algorithm() {
        ChecksumAlgorithm::Md5 => digest::<Md5>(archive),
        ChecksumAlgorithm::Sha1 => digest::<Sha1>(archive),
        ChecksumAlgorithm::Sha256 => digest::<Sha256>(archive),
        ChecksumAlgorithm::Sha512 => digest::<Sha512>(archive),
    };
    let found = found.map_err(|error| ModuleCacheError::new(archive, error))?;
    if found == checksum.digest() {
        return Ok(());
    }
    Err(PackageError::Checksum {
        algorithm: checksum.algorithm().name(),
        expected: hex::encode(checksum.digest()),
        found: hex::encode(found),
    })
}

fn digest<D: Digest>(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut hasher = D::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        match buffer.get(..count) {
            None | Some([]) => return Ok(hasher.finalize().to_vec()),
            Some(bytes) => hasher.update(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_must_match_its_checksum() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("archive");
        std::fs::write(&path, "abc").unwrap();
        let check = |list: &str| {
            let checksum = ChecksumList::new(list).find("x").unwrap();
            verify(&path, &checksum)
        };
        for good in [
            "900150983cd24fb0d6963f7d28e17f72",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ] {
            check(good).unwrap();
        }
        let error = check(&"0".repeat(32)).unwrap_err().to_string();
        assert!(error.contains("900150983cd24fb0d6963f7d28e17f72"), "{error}");
    }
}
