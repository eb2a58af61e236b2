//! The sources of plugins, and the providers for which each source is used.
//!
//! The rules are the same as for `provider_installation` in the CLI configuration:
//!
//! - Each method has `include` and `exclude` patterns, `HOST/NS/TYPE` with `*` for any component;
//!   `NS/TYPE` means the default host, so `*/*` matches all providers of the default host and
//!   `*/*/*` matches all providers. `exclude` takes precedence.
//! - Of all methods that may serve a provider, the method with the newest acceptable version is
//!   used; if several methods have that version, the first of them in the list is used.
//! - The embedded catalog is the first method and serves all of its plugins. A block
//!   `embedded { include = […] exclude = […] }` in `provider_installation` moves the catalog to
//!   that position and restricts it to these providers. (Terraform rejects that block, so put it
//!   into a file that only Wardian reads.)
//! - If the embedded catalog has an acceptable version, no other method is used, since an
//!   embedded plugin needs neither a file nor a connection.
//! - Provisioners that are identified only by a name are also searched for in plugin directories,
//!   regardless of `provider_installation`; other plugins are not.
//! - Without `provider_installation` the methods are: the catalog, each implied directory that
//!   exists, then `direct` for every provider without a directory in any implied directory.
//!
//! This module lists implied directories, and performs no other I/O: the caller provides the client
//! for network methods.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_address::{
    DEFAULT_HOST, DIRECTORY_HOST, DIRECTORY_NAMESPACE, ProviderAddress, ProviderAddressError,
};

use crate::catalog::Catalog;
use crate::file_digests::FileDigests;
use crate::mirror::{FilesystemMirror, MirrorError, Platform};
use crate::network_source::{NetworkMethod, NetworkSource, WantedPackage};
use crate::package_cache::PackageCache;
use crate::plugin_directories::PluginDirectories;

/// All sources of plugins.
#[derive(Debug, Clone)]
pub struct Sources<'a> {
    pub catalog: &'a Catalog,
    /// The methods in the listed order. They include [`InstallationMethodKind::Embedded`], unless
    /// the configuration excludes it.
    pub methods: Vec<InstallationMethod>,
    /// The development overrides of providers.
    pub overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// Providers that already run in an external process: they are not selected, installed or
    /// locked, and their lock entries are preserved.
    pub running: BTreeSet<ProviderAddress>,
    /// The platform for which native packages are selected.
    pub platform: Platform,
    /// The digests of package files.
    pub digests: Arc<FileDigests>,
    /// The client for [`InstallationMethodKind::Network`]; [`None`] if the command makes no
    /// requests.
    pub network: Option<Arc<dyn NetworkSource>>,
    /// The kinds of packages that are accepted from servers.
    pub wanted: WantedPackage,
    /// The purpose of packages from servers.
    pub purpose: DownloadPurpose,
    /// The cache of packages from servers.
    pub cache: Option<PackageCache>,
}

/// The use of a downloaded package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadPurpose {
    /// The package is installed, so a native plugin is unpacked.
    Install,
    /// The package's archive is copied or hashed.
    Archive,
}

/// The content of a `provider_installation` block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderInstallation {
    /// The development overrides (`dev_overrides`).
    pub overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// The methods in the listed order.
    pub methods: Vec<InstallationMethod>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationMethod {
    pub kind: InstallationMethodKind,
    /// The providers that the method may serve.
    pub scope: ProviderFilter,
}

/// The way in which a method finds packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallationMethodKind {
    /// The embedded plugins.
    Embedded,
    Filesystem(FilesystemMirror),
    Directories(PluginDirectories),
    /// Servers.
    Network(NetworkMethod),
}

impl fmt::Display for InstallationMethodKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => formatter.write_str("the embedded plugins"),
            Self::Filesystem(mirror) => write!(formatter, "the mirror {}", mirror.root().display()),
            Self::Directories(_) => formatter.write_str("the plugin directories"),
            Self::Network(method) => method.fmt(formatter),
        }
    }
}

/// The providers that a method may serve.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderFilter {
    /// If set, only matching providers are served.
    pub include: Option<Vec<AddressPattern>>,
    /// Matching providers are not served.
    pub exclude: Vec<AddressPattern>,
}

impl ProviderFilter {
    /// Returns whether the method may serve a provider.
    pub fn covers(&self, address: &ProviderAddress) -> bool {
        let matches = |pattern: &AddressPattern| pattern.matches(address);
        !self.exclude.iter().any(matches)
            && self.include.as_ref().is_none_or(|include| include.iter().any(matches))
    }
}

/// A pattern for provider addresses, whose components may be `*`. After a `*`, only `*` may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPattern {
    hostname: Option<String>,
    namespace: Option<String>,
    type_name: Option<String>,
}

impl AddressPattern {
    /// Parses a pattern of one to three components.
    ///
    /// # Errors
    /// Returns an error if a component is neither `*` nor valid at its position.
    pub fn parse(text: &str) -> Result<Self, ProviderAddressError> {
        // Each `*` is replaced by a valid placeholder. The address parser then validates the rest.
        let parts: Vec<&str> = text.split('/').collect();
        let stand_ins: Vec<&str> = parts.iter().map(|part| if *part == "*" { "x" } else { part }).collect();
        let address = ProviderAddress::parse(&stand_ins.join("/"))?;
        let fixed = |part: &str, folded: &str| (part != "*").then(|| folded.to_owned());
        Ok(match parts.as_slice() {
            [hostname, namespace, type_name] => Self {
                hostname: fixed(hostname, address.hostname()),
                namespace: fixed(namespace, address.namespace()),
                type_name: fixed(type_name, address.type_name()),
            },
            [namespace, type_name] => Self {
                hostname: Some(DEFAULT_HOST.to_owned()),
                namespace: fixed(namespace, address.namespace()),
                type_name: fixed(type_name, address.type_name()),
            },
            _ => Self {
                hostname: Some(DEFAULT_HOST.to_owned()),
                namespace: Some(address.namespace().to_owned()),
                type_name: fixed(text, address.type_name()),
            },
        })
    }

    /// Returns the pattern that matches only one provider.
    pub fn exactly(address: &ProviderAddress) -> Self {
        Self {
            hostname: Some(address.hostname().to_owned()),
            namespace: Some(address.namespace().to_owned()),
            type_name: Some(address.type_name().to_owned()),
        }
    }

    /// Returns the host name, the namespace and the type that all matching addresses have; [`None`]
    /// for a `*`.
    pub fn parts(&self) -> [Option<&str>; 3] {
        [self.hostname.as_deref(), self.namespace.as_deref(), self.type_name.as_deref()]
    }

    pub fn matches(&self, address: &ProviderAddress) -> bool {
        let fits = |wanted: &Option<String>, part: &str| wanted.as_ref().is_none_or(|wanted| wanted == part);
        fits(&self.hostname, address.hostname())
            && fits(&self.namespace, address.namespace())
            && fits(&self.type_name, address.type_name())
    }
}

impl<'a> Sources<'a> {
    /// Returns the sources of a CLI configuration. Without a `provider_installation` block, returns
    /// the implied sources; implied directories that do not exist are ignored.
    ///
    /// # Errors
    /// Returns an error if an implied directory exists but cannot be listed.
    pub fn new(
        catalog: &'a Catalog,
        installation: Option<&ProviderInstallation>,
        implied_directories: &[PathBuf],
        platform: Platform,
    ) -> Result<Self, MirrorError> {
        let (mut methods, overrides) = match installation {
            Some(installation) => (installation.methods.clone(), installation.overrides.clone()),
            None => (implied_methods(implied_directories)?, BTreeMap::new()),
        };
        if !methods.iter().any(|method| method.kind == InstallationMethodKind::Embedded) {
            methods.insert(
                0,
                InstallationMethod {
                    kind: InstallationMethodKind::Embedded,
                    scope: ProviderFilter::default(),
                },
            );
        }
        Ok(Self {
            catalog,
            methods,
            overrides,
            running: BTreeSet::new(),
            platform,
            digests: Arc::default(),
            network: None,
            wanted: WantedPackage::ComponentOrNative,
            purpose: DownloadPurpose::Install,
            cache: None,
        })
    }

    /// Adds plugin directories, for provisioners that are identified only by a name.
    #[must_use]
    pub fn with_plugin_directories(mut self, directories: PluginDirectories) -> Self {
        let scope = ProviderFilter {
            include: Some(vec![AddressPattern {
                hostname: Some(DIRECTORY_HOST.to_owned()),
                namespace: Some(DIRECTORY_NAMESPACE.to_owned()),
                type_name: None,
            }]),
            exclude: Vec::new(),
        };
        self.methods
            .push(InstallationMethod { kind: InstallationMethodKind::Directories(directories), scope });
        self
    }

    /// Returns whether a plugin directory contains this plugin.
    pub fn is_in_directory(&self, address: &ProviderAddress) -> bool {
        self.methods.iter().any(|method| match &method.kind {
            InstallationMethodKind::Directories(directories) => !directories.list(address).is_empty(),
            _ => false,
        })
    }

    /// Returns the methods that may serve a provider.
    pub fn methods_for<'s>(
        &'s self,
        address: &'s ProviderAddress,
    ) -> impl Iterator<Item = &'s InstallationMethod> {
        self.methods.iter().filter(move |method| method.scope.covers(address))
    }

    /// Returns whether the catalog may serve a provider.
    pub fn embedded_covers(&self, address: &ProviderAddress) -> bool {
        self.methods_for(address).any(|method| method.kind == InstallationMethodKind::Embedded)
    }
}

fn implied_methods(directories: &[PathBuf]) -> Result<Vec<InstallationMethod>, MirrorError> {
    let mut methods = Vec::new();
    let mut found = BTreeSet::new();
    for directory in directories.iter().filter(|directory| directory.is_dir()) {
        let mirror = FilesystemMirror::new(directory);
        let addresses = mirror.addresses()?;
        let include = addresses.iter().map(AddressPattern::exactly).collect();
        found.extend(addresses);
        methods.push(InstallationMethod {
            kind: InstallationMethodKind::Filesystem(mirror),
            scope: ProviderFilter { include: Some(include), exclude: Vec::new() },
        });
    }
    let exclude = found.iter().map(AddressPattern::exactly).collect();
    methods.push(InstallationMethod {
        kind: InstallationMethodKind::Network(NetworkMethod::Registry),
        scope: ProviderFilter { include: None, exclude },
    });
    Ok(methods)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(source: &str) -> ProviderAddress {
        ProviderAddress::parse(source).unwrap()
    }

    fn matches(pattern: &str, source: &str) -> bool {
        AddressPattern::parse(pattern).unwrap().matches(&address(source))
    }

    #[test]
    fn address_patterns_match_each_component() {
        assert!(matches("*/*/*", "example.com/a/b"));
        assert!(matches("*/*", "a/b"));
        assert!(!matches("*/*", "example.com/a/b"));
        assert!(matches("hashicorp/*", "random"));
        assert!(!matches("hashicorp/*", "acme/random"));
        assert!(matches("Example.com/*/*", "example.com/a/b"));
        assert!(matches("random", "hashicorp/random"));
        assert!(matches("*", "hashicorp/random"));
        for bad in ["", "a/b/c/d", "a*/b", "example.com:x/*/*", "*/terraform-provider-x"] {
            assert!(AddressPattern::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn exclude_overrides_include() {
        let scope = ProviderFilter {
            include: Some(vec![AddressPattern::parse("*/*").unwrap()]),
            exclude: vec![AddressPattern::parse("hashicorp/random").unwrap()],
        };
        assert!(scope.covers(&address("hashicorp/null")));
        assert!(!scope.covers(&address("hashicorp/random")));
        assert!(!scope.covers(&address("example.com/a/b")));
        assert!(!ProviderFilter { include: Some(vec![]), exclude: vec![] }.covers(&address("a/b")));
    }

    #[test]
    fn implied_directories_exclude_the_registry_for_their_providers() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("registry.terraform.io/acme/dns")).unwrap();
        let catalog = Catalog::default();
        let directories = [root.path().to_owned(), root.path().join("missing")];
        let sources = Sources::new(&catalog, None, &directories, Platform::current()).unwrap();
        let kinds = |source: &str| -> Vec<String> {
            sources
                .methods_for(&address(source))
                .map(|method| match method.kind {
                    InstallationMethodKind::Embedded => "embedded".to_owned(),
                    InstallationMethodKind::Filesystem(_) => "filesystem".to_owned(),
                    InstallationMethodKind::Directories(_) => "directories".to_owned(),
                    InstallationMethodKind::Network(NetworkMethod::Registry) => "direct".to_owned(),
                    InstallationMethodKind::Network(_) => "network".to_owned(),
                })
                .collect()
        };
        assert_eq!(kinds("acme/dns"), ["embedded", "filesystem"]);
        assert_eq!(kinds("acme/other"), ["embedded", "direct"]);
    }

    #[test]
    fn embedded_method_can_be_reordered_and_restricted() {
        let catalog = Catalog::default();
        let installation = ProviderInstallation {
            overrides: BTreeMap::new(),
            methods: vec![
                InstallationMethod {
                    kind: InstallationMethodKind::Network(NetworkMethod::Registry),
                    scope: ProviderFilter::default(),
                },
                InstallationMethod {
                    kind: InstallationMethodKind::Embedded,
                    scope: ProviderFilter {
                        include: None,
                        exclude: vec![AddressPattern::parse("acme/*").unwrap()],
                    },
                },
            ],
        };
        let sources = Sources::new(&catalog, Some(&installation), &[], Platform::current()).unwrap();
        assert!(sources.embedded_covers(&address("random")));
        assert!(!sources.embedded_covers(&address("acme/dns")));
        assert_eq!(sources.methods.len(), 2);
    }
}
