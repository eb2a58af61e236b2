//! Classes of protected files: files that a later command trusts, runs or keeps secret.
//!
//! `policy` defines the files of each class. Unless a rule names the class, plugins must not write
//! its files; for some classes, they must not read them either.

use std::fmt;

use crate::file_operation::FileOperation;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtectedClass {
    /// The configuration itself, with its overrides.
    Configuration,
    /// Variable values that commands read automatically.
    Variables,
    /// Tests of the configuration.
    Tests,
    /// The repositories and settings of version control, which can run programs.
    VersionControl,
    /// Plugins, the directories that are searched for plugins, and the dependency lock file.
    Plugins,
    /// The data directory of a configuration, `.terraform`.
    Data,
    /// States with their backups, journals and locks.
    States,
    /// Saved plans.
    Plans,
    /// Policy files, and the consent lock file.
    Policies,
    /// The host's keys.
    Keys,
    /// The host's caches.
    Caches,
    /// Credentials of the `wardian` command.
    Credentials,
    CliConfiguration,
}

impl ProtectedClass {
    pub const ALL: [Self; 13] = [
        Self::Configuration,
        Self::Variables,
        Self::Tests,
        Self::VersionControl,
        Self::Plugins,
        Self::Data,
        Self::States,
        Self::Plans,
        Self::Policies,
        Self::Keys,
        Self::Caches,
        Self::Credentials,
        Self::CliConfiguration,
    ];

    /// Returns the keyword in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Variables => "variables",
            Self::Tests => "tests",
            Self::VersionControl => "version-control",
            Self::Plugins => "plugins",
            Self::Data => "data",
            Self::States => "states",
            Self::Plans => "plans",
            Self::Policies => "policies",
            Self::Keys => "keys",
            Self::Caches => "caches",
            Self::Credentials => "credentials",
            Self::CliConfiguration => "cli-configuration",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }

    /// Returns whether the files of this class are protected against an operation. All classes are
    /// protected against writing, and against connections, through which another program might
    /// write them.
    pub const fn protects_against(self, operation: FileOperation) -> bool {
        match operation {
            FileOperation::Write | FileOperation::Connect => true,
            FileOperation::Read => {
                matches!(self, Self::States | Self::Plans | Self::Keys | Self::Caches | Self::Credentials)
            }
        }
    }

    /// Returns whether files of this class affect every configuration on the machine. A
    /// configuration's own policy cannot grant access to such files.
    pub const fn belongs_to_machine(self) -> bool {
        matches!(
            self,
            Self::Policies | Self::Keys | Self::Caches | Self::Credentials | Self::CliConfiguration
        )
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for ProtectedClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// A set of classes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtectedClasses(u16);

impl ProtectedClasses {
    pub const NONE: Self = Self(0);

    /// Returns the set of all classes.
    pub fn all() -> Self {
        ProtectedClass::ALL.into_iter().collect()
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn contains(self, class: ProtectedClass) -> bool {
        self.0 & class.bit() != 0
    }

    /// Returns whether another set contains all classes of this set.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns the classes that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the classes that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the classes of the set that are not in another set.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn insert(&mut self, class: ProtectedClass) {
        self.0 |= class.bit();
    }

    /// Returns the classes whose files are protected against an operation.
    #[must_use]
    pub fn against(self, operation: FileOperation) -> Self {
        self.iter().filter(|class| class.protects_against(operation)).collect()
    }

    /// Returns the classes in the order of their definition.
    pub fn iter(self) -> impl Iterator<Item = ProtectedClass> {
        let all: &[ProtectedClass] = if self.is_empty() { &[] } else { &ProtectedClass::ALL };
        all.iter().copied().filter(move |class| self.contains(*class))
    }
}

impl From<ProtectedClass> for ProtectedClasses {
    fn from(class: ProtectedClass) -> Self {
        Self(class.bit())
    }
}

impl FromIterator<ProtectedClass> for ProtectedClasses {
    fn from_iter<I: IntoIterator<Item = ProtectedClass>>(classes: I) -> Self {
        let mut set = Self::NONE;
        classes.into_iter().for_each(|class| set.insert(class));
        set
    }
}

/// Writes the keywords, separated by commas.
impl fmt::Display for ProtectedClasses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, class) in self.iter().enumerate() {
            formatter.write_str(if index > 0 { ", " } else { "" })?;
            formatter.write_str(class.word())?;
        }
        Ok(())
    }
}

impl fmt::Debug for ProtectedClasses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_sets_support_set_operations() {
        for class in ProtectedClass::ALL {
            let one = ProtectedClasses::from(class);
            assert_eq!(one.iter().collect::<Vec<_>>(), [class]);
            assert!(one.is_subset(ProtectedClasses::all()) && !ProtectedClasses::all().is_subset(one));
            assert!(ProtectedClasses::all().difference(one).intersection(one).is_empty());
            assert_eq!(ProtectedClass::from_word(class.word()), Some(class));
            assert_eq!(one.against(FileOperation::Write), one);
            assert_eq!(one.against(FileOperation::Connect), one);
        }
        assert_eq!(ProtectedClasses::all().iter().count(), ProtectedClass::ALL.len());
        let secret = ProtectedClasses::all().against(FileOperation::Read);
        assert_eq!(secret.to_string(), "states, plans, keys, caches, credentials");
    }
}
