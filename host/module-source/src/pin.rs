//! Pins: the content that a module package must have.
//!
//! `init` records a pin for each package that it fetches, and compares later fetches with it. A pin
//! contains the package's address without credentials, so it can be committed to version control,
//! and it applies to all users of the configuration.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_address::Version;

const HASH_PREFIX: &str = "h1:";
const HASH_BYTES: usize = 32;

/// The hash of a package's content: `h1:` and a SHA-256 digest in base64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeHash([u8; HASH_BYTES]);

impl TreeHash {
    /// Parses a hash in its canonical form.
    pub fn parse(text: &str) -> Option<Self> {
        let digest = STANDARD.decode(text.strip_prefix(HASH_PREFIX)?).ok()?;
        digest.try_into().ok().map(Self)
    }

    /// Creates a hash from its digest.
    pub const fn from_bytes(digest: [u8; HASH_BYTES]) -> Self {
        Self(digest)
    }

    /// Returns the digest.
    pub const fn as_bytes(&self) -> &[u8; HASH_BYTES] {
        &self.0
    }
}

impl fmt::Display for TreeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{HASH_PREFIX}{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for TreeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TreeHash({self})")
    }
}

/// The full ID of a commit: 40 or 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    pub fn parse(text: &str) -> Option<Self> {
        let is_hexadecimal = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (matches!(text.len(), 40 | 64) && is_hexadecimal).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CommitId({self})")
    }
}

/// The content that a package must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePin {
    /// The address of the package without credentials and without a subdirectory.
    pub package: String,
    /// The version, if the package is from a registry.
    pub version: Option<Version>,
    pub hash: TreeHash,
    /// The commit, if the package was fetched from a repository.
    pub commit: Option<CommitId>,
}

/// The pins of a configuration: at most one for each package, or for each version of a package in a
/// registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModulePins {
    /// By package and version.
    pins: BTreeMap<String, BTreeMap<Option<Version>, ModulePin>>,
}

impl ModulePins {
    /// Adds a pin. Returns the pin that it replaces.
    pub fn insert(&mut self, pin: ModulePin) -> Option<ModulePin> {
        self.pins.entry(pin.package.clone()).or_default().insert(pin.version.clone(), pin)
    }

    /// Returns the pin of a package, or of a version of a package in a registry.
    pub fn get(&self, package: &str, version: Option<&Version>) -> Option<&ModulePin> {
        let versions = self.pins.get(package)?;
        versions.iter().find(|(pinned, _)| pinned.as_ref() == version).map(|(_, pin)| pin)
    }

    /// Iterates over the pinned versions of a package, from the oldest.
    pub fn versions(&self, package: &str) -> impl DoubleEndedIterator<Item = &Version> {
        self.pins.get(package).into_iter().flat_map(|versions| versions.keys().flatten())
    }

    /// Iterates over the pins, by package and version.
    pub fn iter(&self) -> impl Iterator<Item = &ModulePin> {
        self.pins.values().flat_map(|versions| versions.values())
    }

    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// Returns the differences between these pins and newer pins, by package and version.
    pub fn changes_to<'a>(&'a self, newer: &'a Self) -> Vec<ModulePinChange<'a>> {
        let mut changes: Vec<ModulePinChange<'a>> = newer
            .iter()
            .filter_map(|after| match self.get(&after.package, after.version.as_ref()) {
                None => Some(ModulePinChange::Added(after)),
                Some(before) if before != after => Some(ModulePinChange::Changed { before, after }),
                Some(_) => None,
            })
            .collect();
        let removed =
            self.iter().filter(|before| newer.get(&before.package, before.version.as_ref()).is_none());
        changes.extend(removed.map(ModulePinChange::Removed));
        changes.sort_by(|one, other| one.key().cmp(&other.key()));
        changes
    }
}

impl FromIterator<ModulePin> for ModulePins {
    fn from_iter<I: IntoIterator<Item = ModulePin>>(pins: I) -> Self {
        let mut all = Self::default();
        for pin in pins {
            all.insert(pin);
        }
        all
    }
}

/// A difference between two sets of pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModulePinChange<'a> {
    Added(&'a ModulePin),
    Changed { before: &'a ModulePin, after: &'a ModulePin },
    Removed(&'a ModulePin),
}

impl ModulePinChange<'_> {
    fn key(&self) -> (&str, Option<&Version>) {
        let (Self::Added(pin) | Self::Changed { after: pin, .. } | Self::Removed(pin)) = self;
        (&pin.package, pin.version.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(package: &str, version: Option<(u64, u64)>, content: u8) -> ModulePin {
        ModulePin {
            package: package.to_owned(),
            version: version.map(|(major, minor)| Version::new(major, minor, 0)),
            hash: TreeHash([content; HASH_BYTES]),
            commit: None,
        }
    }

    #[test]
    fn only_canonical_hashes_and_commit_ids_are_parsed() {
        let hash = TreeHash([7; 32]);
        assert_eq!(TreeHash::parse(&hash.to_string()), Some(hash));
        for bad in ["", "h1:", "h1:AAAA", "zh:00", "h1:***", &hash.to_string()[..40]] {
            assert!(TreeHash::parse(bad).is_none(), "{bad}");
        }
        assert!(CommitId::parse(&"0a".repeat(20)).is_some() && CommitId::parse(&"0a".repeat(32)).is_some());
        for bad in ["", "main", &"0A".repeat(20), &"0a".repeat(21), &"é".repeat(20)] {
            assert!(CommitId::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn registry_packages_have_a_pin_for_each_version() {
        let pins: ModulePins =
            [pin("r/a/b/c", Some((1, 0)), 1), pin("r/a/b/c", Some((2, 0)), 2), pin("g", None, 3)]
                .into_iter()
                .collect();
        let hash =
            |version: Option<&Version>, package| pins.get(package, version).map(|pin| pin.hash.as_bytes()[0]);
        assert_eq!(hash(Some(&Version::new(2, 0, 0)), "r/a/b/c"), Some(2));
        assert_eq!(hash(None, "r/a/b/c"), None);
        assert_eq!(hash(None, "g"), Some(3));
        assert_eq!(pins.versions("r/a/b/c").next_back(), Some(&Version::new(2, 0, 0)));
        assert_eq!(pins.versions("g").count(), 0);
        assert_eq!(pins.iter().count(), 3);
    }

    #[test]
    fn changes_are_listed_by_package() {
        let old: ModulePins = [pin("a", None, 1), pin("b", None, 1), pin("c", None, 1)].into_iter().collect();
        let new: ModulePins = [pin("a", None, 1), pin("b", None, 2), pin("0", None, 1)].into_iter().collect();
        let changes = old.changes_to(&new);
        assert!(matches!(
            changes.as_slice(),
            [ModulePinChange::Added(_), ModulePinChange::Changed { .. }, ModulePinChange::Removed(_)]
        ));
        assert_eq!(changes.iter().map(|change| change.key().0).collect::<String>(), "0bc");
    }
}
