//! Sources of packages that a getter fetches.

use std::fmt;
use std::sync::Arc;

use crate::address_syntax::{split_query, split_subdirectory};
use crate::detect::detect;
use crate::error::{ModuleSourceError, PackageLocationError};
use crate::location::PackageLocation;
use crate::redaction::{printable_address, without_secrets};
use crate::subdirectory::PackageSubdirectory;

/// The address of a package, in the form that Terraform records: `git::https://...`. `Display` and
/// `Debug` redact secrets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemotePackage {
    address: Arc<str>,
}

impl RemotePackage {
    /// Returns the full address, which may contain a password or a key.
    pub fn full_address(&self) -> &str {
        &self.address
    }

    /// Returns the address without passwords, keys and tokens, which identifies the package in
    /// files that are shared.
    pub fn without_secrets(&self) -> String {
        without_secrets(&self.address)
    }

    /// Determines the getter and its arguments.
    ///
    /// # Errors
    /// Returns an error if no getter can fetch the package.
    pub fn location(&self) -> Result<PackageLocation, PackageLocationError> {
        PackageLocation::parse(&self.address)
    }
}

impl fmt::Display for RemotePackage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable_address(&self.address))
    }
}

impl fmt::Debug for RemotePackage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RemotePackage({self})")
    }
}

/// A source that consists of the address of a package, and a directory in the package. `Display`
/// and `Debug` redact secrets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteModuleSource {
    pub package: RemotePackage,
    pub subdirectory: PackageSubdirectory,
}

impl RemoteModuleSource {
    /// Parses the address of a package, for example the location that a registry returns. Paths and
    /// addresses in registries are not accepted.
    ///
    /// # Errors
    /// Returns an error if the installation method cannot be determined.
    pub fn parse(source: &str) -> Result<Self, ModuleSourceError> {
        let (package, subdirectory) = split_subdirectory(source);
        let subdirectory = PackageSubdirectory::parse(subdirectory)?;
        if package.is_empty() {
            return Err(ModuleSourceError::Empty);
        }
        let detected = detect(&package)?;
        let (package, more) = split_subdirectory(&detected);
        let subdirectory = PackageSubdirectory::parse(more)?.join(&subdirectory);
        Ok(Self { package: RemotePackage { address: package.into() }, subdirectory })
    }

    /// Returns the full address as Terraform writes it to `modules.json`. It may contain a password
    /// or a key.
    pub fn full_address(&self) -> String {
        insert_subdirectory(self.package.full_address(), &self.subdirectory)
    }
}

fn insert_subdirectory(package: &str, subdirectory: &PackageSubdirectory) -> String {
    let subdirectory = subdirectory.as_str();
    if subdirectory.is_empty() {
        return package.to_owned();
    }
    match split_query(package) {
        (package, Some(query)) => format!("{package}//{subdirectory}?{query}"),
        (package, None) => format!("{package}//{subdirectory}"),
    }
}

impl fmt::Display for RemoteModuleSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&insert_subdirectory(&self.package.to_string(), &self.subdirectory))
    }
}

impl fmt::Debug for RemoteModuleSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RemoteModuleSource({self})")
    }
}
