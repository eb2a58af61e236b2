//! Selects a version and a package for every required provider.
//!
//! 1. A locked version is used while it meets the constraints and is available; `-upgrade`
//!    ignores it. Otherwise the newest acceptable version of all methods is selected; see
//!    [`crate::sources`].
//! 2. The selected package is opened and compared with the lock file. How a missing hash is treated
//!    depends on the origin of the package, as defined by [`Trust`]:
//!
//! | lock entry | embedded plugin | component from a mirror | native package |
//! |---|---|---|---|
//! | none, other version, or no hashes | recorded | recorded | recorded |
//! | this version, hash among them | used | used | used |
//! | this version, only other hashes | hash added, with a notice | **error** | error; if no comparable hash is recorded, hash added |
//!
//! So a configuration whose lock file was written by Terraform continues to work with the embedded
//! plugins, and the updated lock entry applies to both programs. A component that was replaced in a
//! mirror is not loaded. "No comparable hash" means that the entry of an unpacked native package
//! contains only `zh:` hashes, which are hashes of zip files. Terraform accepts such an entry, so a
//! mirror with unpacked packages continues to work.
//!
//! The entry of an embedded plugin also gets the hashes that the registry publishes for the native
//! packages of its version, unless it has such hashes. Then Terraform accepts the lock file as well.
//!
//! This module reads mirrors. If no mirror contains a locked version any more, the module also
//! reads the installed packages. It writes nothing: the caller saves [`Selection::lock`] and calls
//! [`crate::installed::install`]. Invariant: for every required provider that can be installed,
//! either the selection contains it or an error about it is returned.

mod errors;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use wardian_address::{Constraints, ProviderAddress, Version};

pub use errors::{SearchedSource, SelectionError, SourceRemark};

pub use crate::requirements::{RequiredBy, Requirements};
pub use crate::selected_plugin::{SelectedPlugin, SelectionReason};

use crate::hash::PackageHash;
use crate::installed::installed_component;
use crate::lock_file::{LockEntry, LockFile};
use crate::package::{OpenedPackage, PackageMismatch, PluginArtifact, PluginOrigin, Trust, open_override};
use crate::sources::Sources;
use survey::Survey;

/// How locked versions are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VersionPolicy {
    /// Use the locked versions.
    #[default]
    KeepLocked,
    /// Select the newest acceptable versions (`-upgrade`).
    Upgrade,
}

/// How the lock file is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockFilePolicy {
    /// The lock file is updated to the selection.
    #[default]
    Update,
    /// A new provider or version causes an error. A new hash is only reported, and changed
    /// constraints are ignored (`-lockfile=readonly`).
    ReadOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectionOptions {
    pub versions: VersionPolicy,
    pub lock_file: LockFilePolicy,
}

/// The selected plugins and their effect on the lock file.
#[derive(Debug, Clone)]
pub struct Selection {
    /// One plugin for each required provider that is not built in.
    pub plugins: BTreeMap<ProviderAddress, SelectedPlugin>,
    /// The new content of the lock file.
    pub lock: LockFile,
    /// The difference between the new and the current content.
    pub lock_change: LockChange,
    pub notices: Vec<Notice>,
    /// Providers whose component would be replaced by a native program, with the version of the
    /// component. Only the user can allow such a program to run.
    pub replaced_components: BTreeMap<ProviderAddress, Version>,
}

/// The required change to the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockChange {
    /// The file does not need to be written.
    Unchanged,
    /// The lock file does not exist yet.
    Created,
    /// Only constraints or hashes change.
    DetailsChanged,
    /// Providers or versions change.
    Changed,
}

/// A notice about a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The lock entry contained only hashes of other packages of this version, such as Terraform's
    /// native packages; the hash of the embedded plugin was added.
    EmbeddedHashAdded { address: ProviderAddress, version: Version },
    /// A hash is not recorded because the lock file must not change.
    HashNotRecorded {
        address: ProviderAddress,
        /// The hash that would be added.
        hash: PackageHash,
    },
    /// A development override is used instead of the selected plugin.
    OverrideInEffect {
        address: ProviderAddress,
        /// The path of the override.
        path: PathBuf,
    },
    /// A provider could not be selected. The failure has no effect while its development override
    /// is in effect.
    OverriddenNotSelected { address: ProviderAddress, reason: String },
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmbeddedHashAdded { address, version } => write!(
                formatter,
                "the lock file had no hash of the {} {version} that is embedded in Wardian; it was added to \
                 the hashes of other packages of this version",
                address.for_display()
            ),
            Self::HashNotRecorded { address, hash } => write!(
                formatter,
                "the lock file lacks the hash {hash} of {}; it was not added because of -lockfile=readonly",
                address.for_display()
            ),
            Self::OverrideInEffect { address, path } => write!(
                formatter,
                "{} is taken from {}, a development override; its version and hash are not checked",
                address.for_display(),
                path.display()
            ),
            Self::OverriddenNotSelected { address, reason } => write!(
                formatter,
                "without its development override, {} could not be used: {reason}",
                address.for_display()
            ),
        }
    }
}

/// Selects a version and a package for every required provider.
///
/// `data_directory` is searched for a locked version that is no longer in any source.
///
/// # Errors
/// Returns one error for each provider that is not available, or one error for the lock file.
pub fn select(
    requirements: &Requirements,
    lock: &LockFile,
    sources: &Sources<'_>,
    data_directory: &Path,
    options: SelectionOptions,
) -> Result<Selection, Vec<SelectionError>> {
    let mut selector = Selector { requirements, lock, sources, data_directory, options, notices: Vec::new() };
    let mut plugins = BTreeMap::new();
    let mut new_lock = LockFile::default();
    let mut replaced_components = BTreeMap::new();
    let mut errors = Vec::new();
    for address in requirements.providers.keys().filter(|address| !address.is_built_in()) {
        if sources.running.contains(address) {
            let kept = lock.providers.get(address).map(|entry| (address.clone(), entry.clone()));
            new_lock.providers.extend(kept);
            continue;
        }
        let overridden = sources.overrides.get(address);
        if let Some(path) = overridden {
            selector.notices.push(Notice::OverrideInEffect { address: address.clone(), path: path.clone() });
        }
        match selector.select(address) {
            Ok((plugin, entry)) => {
                let replaced = selector.replaced_component(address, &plugin);
                replaced_components.extend(replaced.map(|version| (address.clone(), version)));
                plugins.insert(address.clone(), plugin);
                new_lock.providers.insert(address.clone(), entry);
            }
            Err(error) => {
                let usable = overridden.is_some_and(|path| open_override(address, path).is_ok());
                if usable {
                    let reason = error.to_string();
                    selector.notices.push(Notice::OverriddenNotSelected { address: address.clone(), reason });
                    let kept = lock.providers.get(address).map(|entry| (address.clone(), entry.clone()));
                    new_lock.providers.extend(kept);
                } else {
                    errors.push(error);
                }
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut notices = selector.notices;
    let mut lock_change = lock_change(lock, &new_lock);
    if options.lock_file == LockFilePolicy::ReadOnly {
        match lock_change {
            LockChange::Unchanged => {}
            LockChange::DetailsChanged => {
                notices.retain(|notice| !matches!(notice, Notice::EmbeddedHashAdded { .. }));
                notices.extend(hashes_not_recorded(lock, &new_lock));
                new_lock = lock.clone();
                lock_change = LockChange::Unchanged;
            }
            LockChange::Created | LockChange::Changed => {
                let changes = describe_changes(lock, &new_lock);
                return Err(vec![SelectionError::LockFileReadOnly { changes }]);
            }
        }
    }
    Ok(Selection { plugins, lock: new_lock, lock_change, notices, replaced_components })
}

struct Selector<'a> {
    requirements: &'a Requirements,
    lock: &'a LockFile,
    sources: &'a Sources<'a>,
    data_directory: &'a Path,
    options: SelectionOptions,
    notices: Vec<Notice>,
}

impl Selector<'_> {
    fn select(&mut self, address: &ProviderAddress) -> Result<(SelectedPlugin, LockEntry), SelectionError> {
        if address.is_legacy() {
            return Err(SelectionError::Legacy { address: address.clone() });
        }
        let constraints = self.requirements.constraints_on(address);
        let entry = self.lock.providers.get(address);
        let (version, opened, reason) = match (entry, self.options.versions) {
            (Some(entry), VersionPolicy::KeepLocked) => {
                let opened = self.open_locked(address, entry, &constraints)?;
                (entry.version.clone(), opened, SelectionReason::Locked)
            }
            _ => self.open_newest(address, &constraints)?,
        };
        let same_version = entry.filter(|entry| entry.version == version);
        let hashes = self.accept(address, &version, same_version, &opened)?;
        let entry = LockEntry { version: version.clone(), constraints, hashes };
        Ok((SelectedPlugin { version, reason, artifact: opened.artifact }, entry))
    }

    /// Returns the version of the component that the lock file selects, if the plugin is a native
    /// program. If the locked package is no longer available, it is assumed to be a component if
    /// the catalogue contains a component of the provider.
    fn replaced_component(&self, address: &ProviderAddress, plugin: &SelectedPlugin) -> Option<Version> {
        let entry = self.lock.providers.get(address)?;
        if !matches!(plugin.artifact, PluginArtifact::Native(_)) || plugin.reason == SelectionReason::Locked {
            return None;
        }
        let was_component = match self.open_locked(address, entry, &Constraints::default()) {
            Ok(opened) if opened.hashes().any(|hash| entry.hashes.contains(hash)) => {
                matches!(opened.artifact, PluginArtifact::Component(_))
            }
            _ => self.sources.catalogue.versions_of(address).next().is_some(),
        };
        was_component.then(|| entry.version.clone())
    }

    fn open_locked(
        &self,
        address: &ProviderAddress,
        entry: &LockEntry,
        constraints: &Constraints,
    ) -> Result<OpenedPackage, SelectionError> {
        let version = &entry.version;
        if !constraints.accepts(version) {
            return Err(SelectionError::LockedVersionRejected {
                address: address.clone(),
                locked: version.clone(),
                required_by: self.requirements.required_by(address),
            });
        }
        let survey = Survey::for_provider(address, self.sources)?;
        if let Some(offer) = survey.offer_for(version) {
            return offer.open(address, &self.sources.digests);
        }
        match installed_component(self.data_directory, address, version, &self.sources.digests) {
            Some(Ok(opened)) if opened.hashes().any(|hash| entry.hashes.contains(hash)) => Ok(opened),
            _ => Err(SelectionError::LockedVersionUnavailable {
                address: address.clone(),
                locked: version.clone(),
                searched: survey.searched,
            }),
        }
    }

    fn open_newest(
        &self,
        address: &ProviderAddress,
        constraints: &Constraints,
    ) -> Result<(Version, OpenedPackage, SelectionReason), SelectionError> {
        let survey = Survey::for_provider(address, self.sources)?;
        let Some(offer) = survey.newest(constraints) else {
            return Err(SelectionError::NoMatchingVersion {
                address: address.clone(),
                required_by: self.requirements.required_by(address),
                searched: survey.searched,
                similar: self.sources.catalogue.similar(address).cloned(),
            });
        };
        let opened = offer.open(address, &self.sources.digests)?;
        let reason =
            if constraints.is_empty() { SelectionReason::Newest } else { SelectionReason::NewestMatching };
        Ok((offer.version.clone(), opened, reason))
    }

    /// Returns the new hashes of the lock entry, if the lock file allows the package.
    fn accept(
        &mut self,
        address: &ProviderAddress,
        version: &Version,
        entry: Option<&LockEntry>,
        opened: &OpenedPackage,
    ) -> Result<BTreeSet<PackageHash>, SelectionError> {
        let mut hashes = entry.map(|entry| entry.hashes.clone()).unwrap_or_default();
        let recorded = opened.hashes().any(|hash| hashes.contains(hash));
        if !recorded && !hashes.is_empty() {
            match opened.artifact.origin().trust() {
                Trust::PartOfProgram => self
                    .notices
                    .push(Notice::EmbeddedHashAdded { address: address.clone(), version: version.clone() }),
                Trust::Unlocked => return Ok(hashes),
                Trust::MustMatchLock if has_no_comparable_hash(&hashes, opened) => {}
                Trust::MustMatchLock => {
                    return Err(SelectionError::HashMismatch(Box::new(PackageMismatch {
                        address: address.clone(),
                        version: version.clone(),
                        origin: opened.artifact.origin().clone(),
                        found: opened.content_hash.clone(),
                        recorded: hashes.into_iter().collect(),
                    })));
                }
            }
        }
        hashes.insert(opened.content_hash.clone());
        if matches!(opened.artifact.origin(), PluginOrigin::Embedded) {
            self.add_published_hashes(address, version, &mut hashes);
        }
        Ok(hashes)
    }

    /// Adds the published hashes of an embedded plugin's version to a lock entry without such hashes,
    /// so that Terraform can install its native package.
    fn add_published_hashes(
        &self,
        address: &ProviderAddress,
        version: &Version,
        hashes: &mut BTreeSet<PackageHash>,
    ) {
        let has_published = hashes.iter().any(|hash| hash.scheme() == "zh");
        if has_published || self.options.lock_file == LockFilePolicy::ReadOnly {
            return;
        }
        let plugin = self.sources.catalogue.find(address, version);
        let published = plugin.into_iter().flat_map(|plugin| plugin.published_hashes);
        hashes.extend(published.filter_map(|hash| PackageHash::parse(hash).ok()));
    }
}

fn has_no_comparable_hash(recorded: &BTreeSet<PackageHash>, opened: &OpenedPackage) -> bool {
    matches!(opened.artifact, PluginArtifact::Native(_))
        && opened.archive_hash.is_none()
        && recorded.iter().all(|hash| hash.scheme() == "zh")
}

fn lock_change(old: &LockFile, new: &LockFile) -> LockChange {
    if old == new {
        return LockChange::Unchanged;
    }
    if old.providers.is_empty() {
        return LockChange::Created;
    }
    let same_versions = old.providers.len() == new.providers.len()
        && old.providers.iter().zip(&new.providers).all(|((old_address, old), (new_address, new))| {
            old_address == new_address && old.version == new.version
        });
    if same_versions { LockChange::DetailsChanged } else { LockChange::Changed }
}

fn hashes_not_recorded(old: &LockFile, new: &LockFile) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (address, entry) in &new.providers {
        let known = old.providers.get(address).map(|entry| &entry.hashes);
        for hash in entry.hashes.iter().filter(|hash| known.is_none_or(|known| !known.contains(hash))) {
            notices.push(Notice::HashNotRecorded { address: address.clone(), hash: hash.clone() });
        }
    }
    notices
}

fn describe_changes(old: &LockFile, new: &LockFile) -> Vec<String> {
    let mut changes = Vec::new();
    for (address, entry) in &new.providers {
        let name = address.for_display();
        match old.providers.get(address) {
            None => changes.push(format!("{name} {} would be added", entry.version)),
            Some(known) if known.version != entry.version => {
                changes.push(format!("{name} would change from {} to {}", known.version, entry.version));
            }
            Some(_) => {}
        }
    }
    for address in old.providers.keys().filter(|address| !new.providers.contains_key(*address)) {
        changes.push(format!("{} is no longer required", address.for_display()));
    }
    changes
}

#[cfg(test)]
mod tests;
