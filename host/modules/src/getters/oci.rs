//! Packages in OCI registries, in OpenTofu's layout for modules.

use wardian_archive::ArchiveFormat;
use wardian_module_source::OciLocation;
use wardian_oci::{ArtifactReference, OciClient};

use super::archive::{blocking, unpack_archive};
use crate::cache::{ModuleCache, PackageKey, PackageRecord};
use crate::package_error::PackageError;

/// Fetches a package. The digest of the package's archive identifies the content, so the archive is
/// fetched only once.
pub(crate) async fn fetch(
    cache: &ModuleCache,
    client: &OciClient,
    location: &OciLocation,
    label: &str,
) -> Result<PackageRecord, PackageError> {
    let reference = ArtifactReference::from_module_source(&location.address)?;
    let package = client.module_package(&reference).await?;
    let key = PackageKey::new("oci", &reference.repository.to_string(), &package.blob.digest.to_string());
    if let Some(record) = cache.record(&key) {
        return Ok(record);
    }
    let temporary = cache.temporary_directory()?;
    let archive = temporary.path().join("archive");
    client.download_blob(&reference.repository, package.blob, &archive, label).await?;
    let unpacking = cache.clone();
    let hash = blocking(move || {
        let tree = temporary.path().join("tree");
        unpack_archive(&archive, ArchiveFormat::Zip, &tree)?;
        Ok(unpacking.store(&tree)?)
    })
    .await?;
    let record = PackageRecord { hash, commit: None, subdirectory: String::new() };
    cache.write_record(&key, &record)?;
    Ok(record)
}
