//! Selects a version and a package for every required provider.
//!
//! 1. A locked version is used while it meets the constraints and is available; `-upgrade` ignores
//!    it. Otherwise, the newest acceptable version of all methods is selected; see
//!    [`crate::sources`].
//! 2. The selected package is opened and compared with the lock file. The treatment of a missing
//!    hash depends on the package's origin, as defined by [`Trust`]:
//!
//! | lock entry | embedded plugin | component from a mirror | native package |
//! |---|---|---|---|
//! | none, other version, or no hashes | recorded | recorded | recorded |
//! | this version, hash among them | used | used | used |
//! | this version, only other hashes | hash added, with a notice | **error** | error; if no comparable hash is recorded, hash added |
//!
//! Therefore, a configuration whose lock file was written by Terraform continues to work with the
//! embedded plugins, and the updated lock entry applies to both programs. A component that was
//! replaced in a mirror is not loaded. "No comparable hash" means that the entry of an unpacked
//! native package contains only `zh:` hashes, which are hashes of zip files. Terraform accepts such
//! an entry, so a mirror with unpacked packages continues to work.
//!
//! The entry of an embedded plugin also gets the hashes that the registry publishes for the native
//! packages of its version, unless it has such hashes. Then Terraform accepts the lock file as well.
//!
//! A downloaded package is treated like a package from a mirror. If a signature authenticates the
//! hashes of a release, all of them are added to the lock entry, as in Terraform. The file of a
//! component is one of the files of its release, so its `zh:` hash is among them, and the entry is
//! identical to the entry that Terraform writes.
//!
//! If no local source contains a locked version, the installed packages are searched, then the
//! plugin cache, and only then servers. Therefore, no requests are sent if the lock file and the
//! installed or cached packages are complete. Providers are selected concurrently.
//!
//! This module reads mirrors, the cache and the installed packages, and downloads packages into a
//! [`DownloadArea`]. It writes nothing else: the caller saves [`Selection::lock`] and calls
//! [`crate::installed::install`]. Invariant: for every required provider that can be installed,
//! either the selection contains it or an error about it is returned.

mod download;
mod errors;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use futures::future::join_all;
use wardian_address::{Constraints, ProviderAddress, Version, is_in_plugin_directory};

pub use errors::{KnownVersions, NeededVersion, SearchedSource, SelectionError, SourceRemark};

pub use crate::requirements::{RequiredBy, Requirements};
pub use crate::selected_plugin::{SelectedPlugin, SelectionReason};

use crate::download_area::DownloadArea;
use crate::hash::PackageHash;
use crate::installed::{installed_component, installed_package};
use crate::lock_file::{LockEntry, LockFile};
use crate::package::{OpenedPackage, PackageMismatch, PluginArtifact, PluginOrigin, Trust, open_override};
use crate::sources::Sources;
use download::Downloads;
use survey::{OpenedOffer, Survey};

/// The treatment of locked versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VersionPolicy {
    /// Use the locked versions.
    #[default]
    KeepLocked,
    /// Select the newest acceptable versions (`-upgrade`).
    Upgrade,
}

/// The treatment of the lock file.
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
#[derive(Debug)]
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
    /// The downloaded packages, until they are installed.
    pub downloads: Option<DownloadArea>,
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
    /// The lock file has the hash of a native package for this platform only.
    OnlyLocalHash { address: ProviderAddress },
    /// The registry publishes a warning about a provider.
    RegistryWarning { address: ProviderAddress, warning: String },
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
            Self::OnlyLocalHash { address } => write!(
                formatter,
                "the lock file has the hash of {} for this platform only",
                address.for_display()
            ),
            Self::RegistryWarning { address, warning } => {
                write!(formatter, "the registry reports about {}: {warning}", address.for_display())
            }
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
/// `data_directory` is searched for a locked version that is not in any local source.
///
/// # Errors
/// Returns one error for each provider that is not available, or one error for the lock file.
pub async fn select(
    requirements: &Requirements,
    lock: &LockFile,
    sources: &Sources<'_>,
    data_directory: &Path,
    options: SelectionOptions,
) -> Result<Selection, Vec<SelectionError>> {
    let downloads = Downloads::new(sources, data_directory);
    let selector = Selector { requirements, lock, sources, data_directory, options, downloads: &downloads };
    let required = requirements.providers.keys().filter(|address| !address.is_built_in());
    let (running, selected): (Vec<_>, Vec<_>) =
        required.partition(|address| sources.running.contains(*address));
    let results = join_all(selected.into_iter().map(|address| selector.select_one(address))).await;

    let mut new_lock = LockFile::default();
    let kept = running.into_iter().filter_map(|address| lock.providers.get_key_value(address));
    new_lock.providers.extend(kept.map(|(address, entry)| (address.clone(), entry.clone())));
    let (mut plugins, mut replaced_components) = (BTreeMap::new(), BTreeMap::new());
    let (mut notices, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        notices.extend(result.notices);
        match result.outcome {
            Ok(Some(Accepted { plugin, entry, replaced })) => {
                let address = plugin.artifact.address().clone();
                replaced_components.extend(replaced.map(|version| (address.clone(), version)));
                new_lock.providers.insert(address.clone(), entry);
                plugins.insert(address, plugin);
            }
            Ok(None) => new_lock.providers.extend(result.kept_entry),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
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
    let downloads = downloads.into_area();
    Ok(Selection { plugins, lock: new_lock, lock_change, notices, replaced_components, downloads })
}

/// The result of selecting one provider.
struct ProviderSelection {
    /// `None` if the provider is not available, but its development override is in effect.
    outcome: Result<Option<Accepted>, SelectionError>,
    /// The lock entry that remains if nothing was selected.
    kept_entry: Option<(ProviderAddress, LockEntry)>,
    notices: Vec<Notice>,
}

struct Accepted {
    plugin: SelectedPlugin,
    entry: LockEntry,
    /// The version of the component that a native program replaces.
    replaced: Option<Version>,
}

struct Selector<'a> {
    requirements: &'a Requirements,
    lock: &'a LockFile,
    sources: &'a Sources<'a>,
    data_directory: &'a Path,
    options: SelectionOptions,
    downloads: &'a Downloads<'a>,
}

impl Selector<'_> {
    async fn select_one(&self, address: &ProviderAddress) -> ProviderSelection {
        let mut notices = Vec::new();
        let overridden = self.sources.overrides.get(address);
        if let Some(path) = overridden {
            notices.push(Notice::OverrideInEffect { address: address.clone(), path: path.clone() });
        }
        let outcome = match self.select(address, &mut notices).await {
            Ok(accepted) => Ok(Some(accepted)),
            Err(error) if overridden.is_some_and(|path| open_override(address, path).is_ok()) => {
                let reason = error.to_string();
                notices.push(Notice::OverriddenNotSelected { address: address.clone(), reason });
                Ok(None)
            }
            Err(error) => Err(error),
        };
        let kept_entry = self.lock.providers.get(address).map(|entry| (address.clone(), entry.clone()));
        ProviderSelection { outcome, kept_entry, notices }
    }

    async fn select(
        &self,
        address: &ProviderAddress,
        notices: &mut Vec<Notice>,
    ) -> Result<Accepted, SelectionError> {
        if address.is_legacy() {
            return Err(SelectionError::Legacy { address: address.clone() });
        }
        let constraints = self.requirements.constraints_on(address);
        let entry = self.lock.providers.get(address);
        let (version, opened, reason) = match (entry, self.options.versions) {
            (Some(entry), VersionPolicy::KeepLocked) => {
                let opened = self.open_locked(address, entry, &constraints).await?;
                (entry.version.clone(), opened, SelectionReason::Locked)
            }
            _ => self.open_newest(address, &constraints, notices).await?,
        };
        let same_version = entry.filter(|entry| entry.version == version);
        let hashes = self.accept(address, &version, same_version, &opened, notices)?;
        let entry = match (entry, opened.package.artifact.origin()) {
            // Terraform does not change the entry of a package that is already installed.
            (Some(entry), PluginOrigin::Installed(_)) => entry.clone(),
            _ => LockEntry { version: version.clone(), constraints, hashes },
        };
        let OpenedOffer { package, authentication, bundles, .. } = opened;
        let plugin = SelectedPlugin { version, reason, authentication, bundles, artifact: package.artifact };
        let replaced = self.replaced_component(address, &plugin);
        Ok(Accepted { plugin, entry, replaced })
    }

    /// Returns the version of the component that the lock file selects, if the plugin is a native
    /// program. If the locked package is no longer available, it is assumed to be a component if
    /// the catalog contains a component of the provider.
    fn replaced_component(&self, address: &ProviderAddress, plugin: &SelectedPlugin) -> Option<Version> {
        let entry = self.lock.providers.get(address)?;
        if !matches!(plugin.artifact, PluginArtifact::Native(_)) || plugin.reason == SelectionReason::Locked {
            return None;
        }
        let was_component = match self.open_locally(address, entry) {
            Some(Ok(opened)) if opened.hashes().any(|hash| entry.hashes.contains(hash)) => {
                matches!(opened.artifact, PluginArtifact::Component(_))
            }
            _ => self.sources.catalog.versions_of(address).next().is_some(),
        };
        was_component.then(|| entry.version.clone())
    }

    async fn open_locked(
        &self,
        address: &ProviderAddress,
        entry: &LockEntry,
        constraints: &Constraints,
    ) -> Result<OpenedOffer, SelectionError> {
        let version = &entry.version;
        if !constraints.accepts(version) {
            return Err(SelectionError::LockedVersionRejected {
                address: address.clone(),
                locked: version.clone(),
                required_by: self.requirements.required_by(address),
            });
        }
        if let Some(opened) = self.open_locally(address, entry) {
            return opened.map(OpenedOffer::from_local);
        }
        if let Some(cached) = self.downloads.cached(address, version, Some(entry)) {
            return Ok(OpenedOffer::from_local(cached));
        }
        let mut survey = Survey::for_provider(address, self.sources)?;
        survey.add_network(address, self.sources, || NeededVersion::Locked(version.clone())).await?;
        match survey.offer_for(version) {
            Some(offer) => offer.open(address, Some(entry), self.downloads).await,
            None => Err(SelectionError::LockedVersionUnavailable {
                address: address.clone(),
                locked: version.clone(),
                searched: survey.searched,
            }),
        }
    }

    /// Opens the package of a locked version from a local source or, if no local source has it,
    /// from the installed packages. Returns `None` if neither contains it.
    fn open_locally(
        &self,
        address: &ProviderAddress,
        entry: &LockEntry,
    ) -> Option<Result<OpenedPackage, SelectionError>> {
        let version = &entry.version;
        let survey = match Survey::for_provider(address, self.sources) {
            Ok(survey) => survey,
            Err(error) => return Some(Err(error)),
        };
        if let Some(offer) = survey.offer_for(version) {
            return offer.open_local(address, &self.sources.digests);
        }
        let (data, digests) = (self.data_directory, &self.sources.digests);
        let component = installed_component(data, address, version, digests);
        let native = || installed_package(data, address, version, &self.sources.platform, digests);
        let is_recorded = |opened: &OpenedPackage| opened.hashes().any(|hash| entry.hashes.contains(hash));
        let matching = component.and_then(Result::ok).filter(is_recorded);
        matching.or_else(|| native()?.ok().filter(is_recorded)).map(Ok)
    }

    async fn open_newest(
        &self,
        address: &ProviderAddress,
        constraints: &Constraints,
        notices: &mut Vec<Notice>,
    ) -> Result<(Version, OpenedOffer, SelectionReason), SelectionError> {
        let mut survey = Survey::for_provider(address, self.sources)?;
        let is_locked = self.lock.providers.contains_key(address);
        if self.options.lock_file == LockFilePolicy::ReadOnly
            && !is_locked
            && survey.newest(constraints).is_none()
        {
            // A version from a server would have to be added to the lock file.
            let changes = vec![format!("{} would be added", address.for_display())];
            return Err(SelectionError::LockFileReadOnly { changes });
        }
        if !survey.has_embedded(constraints) {
            let needed = || NeededVersion::Required(self.requirements.required_by(address));
            survey.add_network(address, self.sources, needed).await?;
        }
        let warning = |warning| Notice::RegistryWarning { address: address.clone(), warning };
        notices.extend(std::mem::take(&mut survey.warnings).into_iter().map(warning));
        let Some(offer) = survey.newest(constraints) else {
            return Err(SelectionError::NoMatchingVersion {
                address: address.clone(),
                required_by: self.requirements.required_by(address),
                searched: survey.searched,
                similar: self.sources.catalog.similar(address).cloned(),
            });
        };
        let entry = self.lock.providers.get(address).filter(|entry| entry.version == offer.version);
        let opened = offer.open(address, entry, self.downloads).await?;
        let reason =
            if constraints.is_empty() { SelectionReason::Newest } else { SelectionReason::NewestMatching };
        Ok((offer.version.clone(), opened, reason))
    }

    /// Returns the new hashes of the lock entry, if the lock file allows the package.
    fn accept(
        &self,
        address: &ProviderAddress,
        version: &Version,
        entry: Option<&LockEntry>,
        offer: &OpenedOffer,
        notices: &mut Vec<Notice>,
    ) -> Result<BTreeSet<PackageHash>, SelectionError> {
        let opened = &offer.package;
        let mut hashes = entry.map(|entry| entry.hashes.clone()).unwrap_or_default();
        let recorded = opened.hashes().any(|hash| hashes.contains(hash));
        if !recorded && !hashes.is_empty() {
            match opened.artifact.origin().trust() {
                Trust::PartOfProgram => notices
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
        let is_only_local = !recorded
            && offer.signed_hashes.is_empty()
            && hashes.iter().all(|hash| *hash == opened.content_hash)
            && matches!(opened.artifact, PluginArtifact::Native(_))
            && !matches!(opened.artifact.origin(), PluginOrigin::Installed(_));
        // A file in a plugin directory is not part of a release, so no server has its hashes.
        if is_only_local && !is_in_plugin_directory(address) {
            notices.push(Notice::OnlyLocalHash { address: address.clone() });
        }
        hashes.extend(offer.signed_hashes.iter().cloned());
        // The signed hash of a component's file identifies the component on every platform.
        let is_signed_component = matches!(opened.artifact, PluginArtifact::Component(_))
            && opened.archive_hash.as_ref().is_some_and(|hash| hashes.contains(hash));
        if !is_signed_component {
            hashes.insert(opened.content_hash.clone());
        }
        if matches!(opened.artifact.origin(), PluginOrigin::Embedded) {
            self.add_published_hashes(address, version, &mut hashes);
        }
        Ok(hashes)
    }

    /// Adds the published hashes of an embedded plugin's version to a lock entry without such
    /// hashes. Terraform can then install its native package.
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
        let plugin = self.sources.catalog.find(address, version);
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
