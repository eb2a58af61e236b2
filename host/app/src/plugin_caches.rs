//! Cached data about native plugins: the digests of their files, and their schemas. A run trusts
//! both, so neither cache may be in a directory that a plugin may write to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_cache::{Cache, CacheFormat};
use wardian_install::file_digests::FileDigests;
use wardian_install::package::NativeArtifact;
use wardian_legacy_grpc_bridge::SchemaCache;

use crate::environment::ProcessEnvironment;
use crate::paths::lies_within;

/// Returns the digests of files. They are cached if the cache can be used.
pub(crate) fn file_digests(environment: &ProcessEnvironment, working_directory: &Path) -> FileDigests {
    let remembered = directories(environment, working_directory, "digests").and_then(|(directory, key)| {
        FileDigests::with_cache(&directory, &key).inspect_err(|refusal| note("digests", refusal)).ok()
    });
    remembered.unwrap_or_default()
}

/// Returns the cache of native plugins' schemas, if it can be used.
pub(crate) fn schemas(environment: &ProcessEnvironment, working_directory: &Path) -> Option<SchemaCache> {
    let (directory, key) = directories(environment, working_directory, "schemas")?;
    SchemaCache::open(&directory, &key).inspect_err(|refusal| note("schemas", refusal)).ok()
}

/// Returns the cache of configurations that native plugins have accepted, if it can be used.
pub(crate) fn accepted_configurations(
    environment: &ProcessEnvironment,
    working_directory: &Path,
) -> Option<Cache> {
    const FORMAT: CacheFormat =
        CacheFormat { magic: b"wardian accept1\n", max_total_bytes: 64 << 20, max_entry_bytes: 8 << 20 };
    let (directory, key) = directories(environment, working_directory, "accepted")?;
    Cache::open(&directory, &key, FORMAT).inspect_err(|refusal| note("accepted configurations", refusal)).ok()
}

/// Returns the cache key for a plugin's schema, which is the hash of the plugin's package. `None`
/// if the plugin has no package, or if the package does not determine the schema.
pub(crate) fn schema_key(native: &NativeArtifact) -> Option<Arc<str>> {
    let hash = native.package_hash.as_ref().filter(|_| !reads_its_schema_from_files(&native.address))?;
    Some(Arc::from(hash.as_str()))
}

/// Returns whether a file in the configuration's directory defines resource types of the provider.
fn reads_its_schema_from_files(address: &ProviderAddress) -> bool {
    (address.namespace(), address.type_name()) == ("hashicorp", "tfcoremock")
}

fn directories(
    environment: &ProcessEnvironment,
    working_directory: &Path,
    name: &str,
) -> Option<(PathBuf, PathBuf)> {
    if environment.distrusts_caches() {
        return None;
    }
    let directory = environment.cache_directory()?.join(name);
    let key = environment.private_directory()?;
    let exposed = [&directory, &key].into_iter().any(|path| lies_within(path, working_directory));
    (!exposed).then_some((directory, key))
}

fn note(what: &str, refusal: &wardian_sandbox::CacheError) {
    tracing::warn!("native plugins' {what} are not cached between runs: {refusal}");
}
