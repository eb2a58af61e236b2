//! The source of any module call.

use std::fmt;

use crate::error::ModuleSourceError;
use crate::local::LocalModuleSource;
use crate::registry::RegistryModuleSource;
use crate::remote::RemoteModuleSource;

/// The source of a module call. `Display` and `Debug` redact secrets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModuleSource {
    /// A directory relative to the calling module.
    Local(LocalModuleSource),
    /// A module in a registry. Only these modules have versions.
    Registry(RegistryModuleSource),
    /// A package that a getter fetches.
    Remote(RemoteModuleSource),
}

impl ModuleSource {
    /// Parses the `source` argument of a module call. If the call has the `version` argument, use
    /// [`RegistryModuleSource::parse`], which reports why the source is not in a registry.
    ///
    /// # Errors
    /// Returns an error if the form of the source is not supported. The summary of the diagnostic
    /// is [`ModuleSourceError::summary`].
    pub fn parse(source: &str) -> Result<Self, ModuleSourceError> {
        if let Some(local) = LocalModuleSource::parse(source) {
            return Ok(Self::Local(local));
        }
        if let Ok(registry) = RegistryModuleSource::parse(source) {
            return Ok(Self::Registry(registry));
        }
        RemoteModuleSource::parse(source).map(Self::Remote)
    }

    /// Returns the full address as Terraform writes it to `modules.json`. It may contain a password
    /// or a key.
    pub fn full_address(&self) -> String {
        match self {
            Self::Local(source) => source.to_string(),
            Self::Registry(source) => source.to_string(),
            Self::Remote(source) => source.full_address(),
        }
    }
}

impl fmt::Display for ModuleSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(source) => fmt::Display::fmt(source, formatter),
            Self::Registry(source) => fmt::Display::fmt(source, formatter),
            Self::Remote(source) => fmt::Display::fmt(source, formatter),
        }
    }
}

impl fmt::Debug for ModuleSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ModuleSource({self})")
    }
}
