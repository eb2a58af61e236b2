//! Why a provider cannot be selected. Each message says what happened, where
//! was looked, and what to do.

use std::fmt::{self, Write as _};

use wardian_address::{ProviderAddress, Version};

use super::RequiredBy;
use crate::hash::PackageHash;
use crate::mirror::MirrorError;
use crate::package::{Origin, PackageError};

/// One place that was asked for a provider, and what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The place, for people.
    pub place: String,
    /// What it has for this machine.
    pub versions: Vec<Version>,
    /// What else is to be said.
    pub remark: Remark,
}

/// What is to be said about a place beside its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Nothing.
    None,
    /// It has these versions, but not for this machine.
    OtherPlatformsOnly(Vec<Version>),
    /// It was not asked, because that takes a network method.
    NeedsNetwork,
}

/// A package whose hash is not among those that the lock file has for its
/// version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageMismatch {
    /// Which provider.
    pub address: ProviderAddress,
    /// The version.
    pub version: Version,
    /// Where the package is.
    pub origin: Origin,
    /// The hash that it has.
    pub found: PackageHash,
    /// The hashes that are allowed.
    pub recorded: Vec<PackageHash>,
}

impl fmt::Display for PackageMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, version, origin, found, recorded } = self;
        let name = address.for_display();
        write!(
            formatter,
            "the package of {name} {version} at {origin} is not one that the lock file allows: "
        )?;
        write!(formatter, "its hash {found} is not recorded. Recorded are:")?;
        recorded.iter().try_for_each(|hash| write!(formatter, "\n  - {hash}"))
    }
}

/// Why a provider cannot be selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// No version anywhere meets the constraints.
    #[error("{}", no_matching_version(address, required_by, looked))]
    NoMatchingVersion {
        /// Which provider.
        address: ProviderAddress,
        /// Who asks for what.
        required_by: Vec<RequiredBy>,
        /// What there is instead.
        looked: Vec<Looked>,
    },
    /// The locked version does not meet the constraints any more.
    #[error(
        "the lock file has {} {locked}, which does not meet the constraints of this configuration:{}\nTo choose a new version, run `wardian init -upgrade`.",
        address.for_display(),
        constraint_list(required_by)
    )]
    LockedVersionRejected {
        /// Which provider.
        address: ProviderAddress,
        /// The version in the lock file.
        locked: Version,
        /// Who asks for what.
        required_by: Vec<RequiredBy>,
    },
    /// No source has the locked version.
    #[error(
        "the lock file has {} {locked}, which is not available:{}\nTo choose from what is available, run `wardian init -upgrade`.",
        address.for_display(),
        place_list(looked)
    )]
    LockedVersionUnavailable {
        /// Which provider.
        address: ProviderAddress,
        /// The version in the lock file.
        locked: Version,
        /// What there is instead.
        looked: Vec<Looked>,
    },
    /// The package is not one that the lock file allows.
    #[error(
        "{0}\nThe package was changed since it was locked, or is another build of this version. If you know why and trust it, remove this provider's block from .terraform.lock.hcl and run `wardian init`."
    )]
    HashMismatch(Box<PackageMismatch>),
    /// The chosen package is not usable.
    #[error("failed to use {} {version}: {error}", address.for_display())]
    Package {
        /// Which provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
        /// Why.
        error: Box<PackageError>,
    },
    /// A mirror cannot be searched.
    #[error("failed to look for {}: {error}", address.for_display())]
    Mirror {
        /// Which provider.
        address: ProviderAddress,
        /// Why.
        error: MirrorError,
    },
    /// An address from an old state that nobody can install.
    #[error(
        "the state or configuration names the provider {address} in a form that cannot be installed, since it does not say whose provider that is; declare its source in required_providers, and hand what is in the state over with `wardian state replace-provider {address} NAMESPACE/{type_name}`", type_name = address.type_name()
    )]
    Legacy {
        /// Which provider.
        address: ProviderAddress,
    },
    /// The lock file would have to change and may not.
    #[error(
        "the lock file would have to change, which -lockfile=readonly forbids: {}\nRun `wardian init` without it and review the change.",
        changes.join("; ")
    )]
    LockFileReadOnly {
        /// What would change.
        changes: Vec<String>,
    },
}

impl SelectionError {
    /// A heading for the message.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::NoMatchingVersion { looked, .. } if needs_network(looked) => {
                "Provider needs registry access"
            }
            Self::LockedVersionUnavailable { looked, .. } if needs_network(looked) => {
                "Provider needs registry access"
            }
            Self::NoMatchingVersion { .. } | Self::LockedVersionUnavailable { .. } => {
                "No available provider version"
            }
            Self::LockedVersionRejected { .. } => "Locked provider version does not match constraints",
            Self::HashMismatch(_) => "Provider package does not match the lock file",
            Self::Package { .. } => "Unusable provider package",
            Self::Mirror { .. } => "Unreadable provider mirror",
            Self::Legacy { .. } => "Invalid legacy provider address",
            Self::LockFileReadOnly { .. } => "Provider lock file may not change",
        }
    }
}

fn needs_network(looked: &[Looked]) -> bool {
    looked.iter().any(|place| place.remark == Remark::NeedsNetwork)
}

fn no_matching_version(address: &ProviderAddress, required_by: &[RequiredBy], looked: &[Looked]) -> String {
    let name = address.for_display();
    let constrained = required_by.iter().any(|required| !required.constraints.is_empty());
    let mut text = if constrained {
        format!("no available version of {name} meets all constraints:{}", constraint_list(required_by))
    } else {
        let origins: Vec<&str> = required_by.iter().map(|required| required.origin.as_str()).collect();
        format!("no version of {name} is available (required by {})", origins.join(", "))
    };
    let _ = write!(text, "\nLooked in:{}", place_list(looked));
    if needs_network(looked) {
        text.push_str(
            "\nTo go on without the registry, put the provider into a filesystem mirror, or change its constraints to a version that is at hand.",
        );
    } else if looked.is_empty() {
        text.push_str("\nNo installation method of the CLI configuration covers this provider.");
    }
    text
}

fn constraint_list(required_by: &[RequiredBy]) -> String {
    let mut text = String::new();
    for required in required_by {
        if required.constraints.is_empty() {
            let _ = write!(text, "\n  - any version ({})", required.origin);
        } else {
            let _ = write!(text, "\n  - {} ({})", required.constraints, required.origin);
        }
    }
    text
}

fn place_list(looked: &[Looked]) -> String {
    let join = |versions: &[Version]| versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    for place in looked {
        let versions = join(&place.versions);
        let has = if versions.is_empty() { "none" } else { &versions };
        let _ = match &place.remark {
            Remark::None => write!(text, "\n  - {}: {has}", place.place),
            Remark::OtherPlatformsOnly(others) => {
                write!(text, "\n  - {}: {has} (for other platforms: {})", place.place, join(others))
            }
            Remark::NeedsNetwork => {
                write!(text, "\n  - {}: needs registry access, not available yet", place.place)
            }
        };
    }
    text
}
