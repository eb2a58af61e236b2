//! Choosing a version and a package for every required provider.
//!
//! 1. A locked version is kept while it meets the constraints and can be had;
//!    `-upgrade` forgets it. Otherwise the newest acceptable version over all
//!    methods is taken; see [`crate::sources`].
//! 2. The chosen package is opened and compared with the lock file. What a
//!    missing hash means depends on where the package came from, which its
//!    [`Trust`] says:
//!
//! | lock entry | embedded plugin | component from a mirror | native package |
//! |---|---|---|---|
//! | none, other version, or no hashes | recorded | recorded | recorded |
//! | this version, hash among them | used | used | used |
//! | this version, only other hashes | hash added, with a notice | **error** | error; when nothing comparable is recorded, hash added |
//!
//! So a configuration whose lock file came from Terraform goes on to work with
//! the embedded plugins, and its entry then serves both programs; while a
//! component that was exchanged in a mirror is not loaded. ("Nothing
//! comparable": only `zh:` hashes, of zip files, for an unpacked native
//! package. Terraform accepts that, so such a mirror keeps working.)
//!
//! Reads mirrors and, for a locked version that no mirror has any more, what is
//! installed. Writes nothing: the caller saves [`Selection::lock`] and calls
//! [`crate::installed::install`]. What always holds: every required provider
//! that can be installed is in the selection, or there is an error about it.

mod errors;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use wardian_address::{Constraints, ProviderAddress, Version};

pub use errors::{Looked, PackageMismatch, Remark, SelectionError};

use crate::hash::PackageHash;
use crate::installed::installed_component;
use crate::lock_file::{LockEntry, LockFile};
use crate::package::{OpenedPackage, PluginArtifact, Trust, open_override};
use crate::sources::Sources;
use survey::Survey;

/// What a configuration asks for, provider by provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Who asks for what. A provider without constraints has entries, too.
    pub providers: BTreeMap<ProviderAddress, Vec<RequiredBy>>,
}

/// One module's constraints on one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredBy {
    /// What it asks for; empty when any version will do.
    pub constraints: Constraints,
    /// Who asks, for messages: "main.tf:3" or "module.network".
    pub origin: String,
}

impl Requirements {
    /// Adds one module's requirement.
    pub fn add(&mut self, address: ProviderAddress, constraints: Constraints, origin: impl Into<String>) {
        let required = RequiredBy { constraints, origin: origin.into() };
        self.providers.entry(address).or_default().push(required);
    }

    /// All constraints on a provider together.
    pub fn constraints_on(&self, address: &ProviderAddress) -> Constraints {
        let all = self.providers.get(address).into_iter().flatten();
        all.fold(Constraints::default(), |merged, required| merged.and(&required.constraints))
    }

    fn of(&self, address: &ProviderAddress) -> Vec<RequiredBy> {
        self.providers.get(address).cloned().unwrap_or_default()
    }
}

/// What to do about locked versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VersionPolicy {
    /// Keep them.
    #[default]
    KeepLocked,
    /// Take the newest acceptable ones (`-upgrade`).
    Upgrade,
}

/// What may happen to the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockFilePolicy {
    /// It follows the selection.
    #[default]
    Update,
    /// Another provider or version is an error; a further hash is only noticed,
    /// other constraints are not even that (`-lockfile=readonly`).
    ReadOnly,
}

/// What to select under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectionOptions {
    /// About locked versions.
    pub versions: VersionPolicy,
    /// About the lock file.
    pub lock_file: LockFilePolicy,
}

/// What was chosen.
#[derive(Debug, Clone)]
pub struct Selection {
    /// One for each required provider that is not built in.
    pub chosen: BTreeMap<ProviderAddress, Chosen>,
    /// What the lock file must hold now.
    pub lock: LockFile,
    /// How that differs from what it held.
    pub lock_change: LockChange,
    /// What people should know.
    pub notices: Vec<Notice>,
}

/// One provider's choice.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The version.
    pub version: Version,
    /// Why this version.
    pub reason: Reason,
    /// The plugin.
    pub artifact: PluginArtifact,
}

/// Why a version was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The lock file has it.
    Locked,
    /// It is the newest that meets the constraints.
    NewestMatching,
    /// It is the newest; there are no constraints.
    Newest,
}

/// How the lock file must change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockChange {
    /// Not at all: it need not be written.
    Unchanged,
    /// There was none before.
    Created,
    /// Only by constraints or hashes.
    DetailsChanged,
    /// By providers or versions.
    Changed,
}

/// Something that people should know about a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The lock entry had only hashes of other packages of this version, such
    /// as Terraform's native ones; that of the embedded plugin was added.
    EmbeddedHashAdded {
        /// Which provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
    },
    /// A hash is not recorded because the lock file may not change.
    HashNotRecorded {
        /// Which provider.
        address: ProviderAddress,
        /// The hash that would be added.
        hash: PackageHash,
    },
    /// A provider under development is used instead of the selected one.
    OverrideInEffect {
        /// Which provider.
        address: ProviderAddress,
        /// Where its plugin is.
        path: PathBuf,
    },
    /// A provider could not be selected, which does not matter while its
    /// override is in effect.
    OverriddenNotSelected {
        /// Which provider.
        address: ProviderAddress,
        /// What went wrong.
        reason: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmbeddedHashAdded { address, version } => write!(
                formatter,
                "the lock file had no hash of the {} {version} that is part of this program; it was added beside those of other packages of this version",
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

/// Chooses a version and a package for every required provider.
///
/// `data_directory` is asked for a locked version that no source has any more.
///
/// # Errors
/// With one error for each provider that cannot be had, or one about the lock
/// file.
pub fn select(
    requirements: &Requirements,
    lock: &LockFile,
    sources: &Sources<'_>,
    data_directory: &Path,
    options: SelectionOptions,
) -> Result<Selection, Vec<SelectionError>> {
    let mut selector = Selector { requirements, lock, sources, data_directory, options, notices: Vec::new() };
    let mut chosen = BTreeMap::new();
    let mut new_lock = LockFile::default();
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
        match selector.choose(address) {
            Ok((choice, entry)) => {
                chosen.insert(address.clone(), choice);
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
    Ok(Selection { chosen, lock: new_lock, lock_change, notices })
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
    fn choose(&mut self, address: &ProviderAddress) -> Result<(Chosen, LockEntry), SelectionError> {
        if address.is_legacy() {
            return Err(SelectionError::Legacy { address: address.clone() });
        }
        let constraints = self.requirements.constraints_on(address);
        let entry = self.lock.providers.get(address);
        let (version, opened, reason) = match (entry, self.options.versions) {
            (Some(entry), VersionPolicy::KeepLocked) => {
                let opened = self.open_locked(address, entry, &constraints)?;
                (entry.version.clone(), opened, Reason::Locked)
            }
            _ => self.open_newest(address, &constraints)?,
        };
        let same_version = entry.filter(|entry| entry.version == version);
        let hashes = self.accept(address, &version, same_version, &opened)?;
        let entry = LockEntry { version: version.clone(), constraints, hashes };
        Ok((Chosen { version, reason, artifact: opened.artifact }, entry))
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
                required_by: self.requirements.of(address),
            });
        }
        let survey = Survey::of(address, self.sources)?;
        if let Some(offer) = survey.first_of(version) {
            return offer.open(address, &self.sources.digests);
        }
        match installed_component(self.data_directory, address, version, &self.sources.digests) {
            Some(Ok(opened)) if opened.hashes().any(|hash| entry.hashes.contains(hash)) => Ok(opened),
            _ => Err(SelectionError::LockedVersionUnavailable {
                address: address.clone(),
                locked: version.clone(),
                looked: survey.looked,
            }),
        }
    }

    fn open_newest(
        &self,
        address: &ProviderAddress,
        constraints: &Constraints,
    ) -> Result<(Version, OpenedPackage, Reason), SelectionError> {
        let survey = Survey::of(address, self.sources)?;
        let Some(offer) = survey.newest(constraints) else {
            return Err(SelectionError::NoMatchingVersion {
                address: address.clone(),
                required_by: self.requirements.of(address),
                looked: survey.looked,
            });
        };
        let opened = offer.open(address, &self.sources.digests)?;
        let reason = if constraints.is_empty() { Reason::Newest } else { Reason::NewestMatching };
        Ok((offer.version.clone(), opened, reason))
    }

    /// The hashes that the lock entry has from now on, if the package may be
    /// used.
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
                Trust::MustMatchLock if nothing_comparable(&hashes, opened) => {}
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
        Ok(hashes)
    }
}

fn nothing_comparable(recorded: &BTreeSet<PackageHash>, opened: &OpenedPackage) -> bool {
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
