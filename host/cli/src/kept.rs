//! What is kept of native plugins between runs, beside compiled code: the digests of
//! their files, and their schemas. Both decide whom and what a run trusts, so that
//! neither is kept where a plugin may be allowed to write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_install::file_digests::FileDigests;
use wardian_install::package::NativeArtifact;
use wardian_legacy_grpc_bridge::SchemaCache;

use crate::environment::Environment;
use crate::plugins::lies_within;

/// Digests of files, remembered where that may be.
pub(crate) fn file_digests(environment: &Environment, working_directory: &Path) -> FileDigests {
    let remembered = directories(environment, working_directory, "digests").and_then(|(directory, key)| {
        FileDigests::with_cache(&directory, &key).inspect_err(|refusal| note("digests", refusal)).ok()
    });
    remembered.unwrap_or_default()
}

/// Schemas of native plugins, where they may be kept.
pub(crate) fn schemas(environment: &Environment, working_directory: &Path) -> Option<SchemaCache> {
    let (directory, key) = directories(environment, working_directory, "schemas")?;
    SchemaCache::open(&directory, &key).inspect_err(|refusal| note("schemas", refusal)).ok()
}

/// What a schema is kept under: the hash of the plugin's package, where there is one
/// and the schema follows from it.
pub(crate) fn content(native: &NativeArtifact) -> Option<Arc<str>> {
    let hash = native.package_hash.as_ref().filter(|_| !reads_its_schema_from_files(&native.address))?;
    Some(Arc::from(hash.as_str()))
}

/// This provider has the types that a file beside the configuration defines.
fn reads_its_schema_from_files(address: &ProviderAddress) -> bool {
    (address.namespace(), address.type_name()) == ("hashicorp", "tfcoremock")
}

fn directories(
    environment: &Environment,
    working_directory: &Path,
    name: &str,
) -> Option<(PathBuf, PathBuf)> {
    if environment.distrusts_what_was_kept() {
        return None;
    }
    let directory = environment.cache_directory()?.join(name);
    let key = environment.private_directory()?;
    let exposed = [&directory, &key].into_iter().any(|path| lies_within(path, working_directory));
    (!exposed).then_some((directory, key))
}

fn note(what: &str, refusal: &wardian_sandbox::CacheError) {
    tracing::warn!("no {what} of native plugins are kept between runs: {refusal}");
}
