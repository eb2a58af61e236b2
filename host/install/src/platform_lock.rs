//! Selects packages for other platforms, for `providers lock` and `providers mirror`.
//!
//! Nothing is installed, and packages that are already installed or cached are not used: each
//! package is read from its source. The recorded hashes are therefore the hashes of the published
//! package.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wardian_address::ProviderAddress;

use crate::lock_file::LockFile;
use crate::mirror::Platform;
use crate::network_source::WantedPackage;
use crate::package::is_component_platform;
use crate::requirements::Requirements;
use crate::selection::{Selection, SelectionError, SelectionOptions, select};
use crate::sources::{DownloadPurpose, Sources};

/// Selects one package of each required provider for a platform: the locked version, or the newest
/// version that meets the constraints. The hashes of the lock file are ignored. `directory` is the
/// parent of the directory for downloads, which exist until the selection is dropped.
///
/// # Errors
/// Returns one error for each provider that has no such package.
pub async fn select_for_platform(
    requirements: &Requirements,
    lock: &LockFile,
    sources: &Sources<'_>,
    platform: &Platform,
    directory: &Path,
) -> Result<Selection, Vec<SelectionError>> {
    let mut versions = lock.clone();
    for entry in versions.providers.values_mut() {
        entry.hashes.clear();
    }
    let mut sources = sources.clone();
    sources.wanted = if is_component_platform(platform.as_str()) {
        WantedPackage::Component
    } else {
        WantedPackage::Native
    };
    sources.platform = platform.clone();
    sources.purpose = DownloadPurpose::Archive;
    sources.cache = None;
    sources.overrides = BTreeMap::new();
    select(requirements, &versions, &sources, directory, SelectionOptions::default()).await
}

/// The effect of the hashes for one platform on a lock entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformLockChange {
    /// The lock file had no entry for the provider.
    NewProvider,
    /// Hashes were added.
    NewHashes,
    /// The lock file already had all hashes.
    None,
}

/// Adds the hashes of a selection to a lock file. Entries of other providers are not changed.
pub fn add_hashes(
    lock: &mut LockFile,
    selection: &Selection,
) -> BTreeMap<ProviderAddress, PlatformLockChange> {
    let mut changes = BTreeMap::new();
    for (address, selected) in &selection.lock.providers {
        if !selection.plugins.contains_key(address) {
            continue;
        }
        let change = match lock.providers.get_mut(address) {
            Some(entry) if entry.version == selected.version => {
                let before = entry.hashes.len();
                entry.hashes.extend(selected.hashes.iter().cloned());
                entry.constraints = selected.constraints.clone();
                if entry.hashes.len() == before {
                    PlatformLockChange::None
                } else {
                    PlatformLockChange::NewHashes
                }
            }
            _ => {
                lock.providers.insert(address.clone(), selected.clone());
                PlatformLockChange::NewProvider
            }
        };
        changes.insert(address.clone(), change);
    }
    changes
}

/// Returns the requirements of only some providers.
pub fn restrict(requirements: &Requirements, only: &BTreeSet<ProviderAddress>) -> Requirements {
    let mut restricted = requirements.clone();
    restricted.providers.retain(|address, _| only.is_empty() || only.contains(address));
    restricted
}
