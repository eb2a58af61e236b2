//! The error for a package whose hash is not in the lock file.

use std::fmt;

use wardian_address::{ProviderAddress, Version};

use super::PluginOrigin;
use crate::hash::PackageHash;

/// A package whose hash is not in the lock file's entry for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageMismatch {
    pub address: ProviderAddress,
    pub version: Version,
    pub origin: PluginOrigin,
    /// The package's hash.
    pub found: PackageHash,
    /// The hashes in the lock file.
    pub recorded: Vec<PackageHash>,
}

impl fmt::Display for PackageMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, version, origin, found, recorded } = self;
        let name = address.for_display();
        write!(formatter, "the package of {name} {version} at {origin} is not allowed by the lock file: ")?;
        write!(formatter, "its hash {found} is not recorded. Recorded hashes:")?;
        recorded.iter().try_for_each(|hash| write!(formatter, "\n  - {hash}"))
    }
}
