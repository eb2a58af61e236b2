//! Filesystem mirrors: directories of packages, with one directory for each address.
//!
//! | path below the mirror | package |
//! |---|---|
//! | `HOST/NS/TYPE/VERSION/OS_ARCH/` | unpacked native package |
//! | `HOST/NS/TYPE/VERSION/wasip2_wasm/` | unpacked component |
//! | `HOST/NS/TYPE/VERSION/ANY.wasm` | a bare component, if the directory contains only one |
//! | `HOST/NS/TYPE/terraform-provider-TYPE_VERSION_PLATFORM.zip` | packed native package or component |
//! | `HOST/NS/TYPE/terraform-provider-TYPE_VERSION_wasip2_wasm.wasm` | a bare component, named as in releases |
//!
//! The archive of a provisioner `NAME`, whose `TYPE` is `provisioner-NAME`, can also begin with
//! `terraform-provisioner-NAME`.
//!
//! The platform of components can also be written `wasm32_wasip2`. Other entries are ignored, as in
//! Terraform. For the same version, a component is preferred to a native package, and an unpacked
//! package to a packed package.
//!
//! This module lists directories but does not open packages. Invariant: a listed version is the
//! exact semantic version in the name of its directory or file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wardian_address::{ProviderAddress, Version, provisioner_name};

use crate::package::{
    COMPONENT_PLATFORM, ExpectedContent, PackageLocation, has_component_extension, is_component_platform,
};

/// A platform, as in package file names: `linux_amd64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform(String);

impl Platform {
    /// Returns the platform for which the `wardian` binary was built.
    pub fn current() -> Self {
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            other => other,
        };
        Self(format!("{system}_{architecture}"))
    }

    /// Creates the platform with this name.
    pub fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Returns `OS_ARCH`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the operating system and the architecture.
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once('_').unwrap_or((&self.0, ""))
    }
}

/// A package in a mirror that is usable on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorPackage {
    pub location: PackageLocation,
    /// The required content.
    pub expected: ExpectedContent,
}

/// The packages of one provider in a mirror.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MirrorListing {
    /// The best package of each version.
    pub packages: BTreeMap<Version, MirrorPackage>,
    /// Versions for which only packages of other platforms exist.
    pub other_platforms: BTreeSet<Version>,
}

/// A directory of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesystemMirror {
    root: PathBuf,
}

impl FilesystemMirror {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lists the packages of one provider; returns an empty list if the provider has no directory
    /// in the mirror.
    ///
    /// # Errors
    /// Returns an error if the mirror, or a directory in it, cannot be listed.
    pub fn list(&self, address: &ProviderAddress, platform: &Platform) -> Result<MirrorListing, MirrorError> {
        names_in(&self.root)?;
        let directory = provider_directory(&self.root, address);
        let mut found = Found { platform, listing: MirrorListing::default(), ranks: BTreeMap::new() };
        if !directory.is_dir() {
            return Ok(found.listing);
        }
        for name in names_in(&directory)? {
            let path = directory.join(&name);
            if let Ok(version) = Version::parse(&name) {
                if path.is_dir() {
                    found.add_version_directory(&path, &version)?;
                }
            } else if let Some((version, platform)) = package_name(&name, address, ".zip") {
                found.add(version, &platform, PackageLocation::Archive(path), RANK_PACKED);
            } else if let Some((version, platform)) = package_name(&name, address, ".wasm")
                && is_component_platform(&platform)
            {
                found.add(version, &platform, PackageLocation::BareComponent(path), RANK_PACKED);
            }
        }
        let Found { mut listing, .. } = found;
        listing.other_platforms.retain(|version| !listing.packages.contains_key(version));
        Ok(listing)
    }

    /// Returns every provider that has a directory in the mirror.
    ///
    /// # Errors
    /// Returns an error if the mirror, or a directory in it, cannot be listed.
    pub fn addresses(&self) -> Result<BTreeSet<ProviderAddress>, MirrorError> {
        let mut addresses = BTreeSet::new();
        for host in names_in(&self.root)? {
            let host_path = self.root.join(&host);
            for namespace in directories_in(&host_path)? {
                for type_name in directories_in(&host_path.join(&namespace))? {
                    let text = format!("{host}/{namespace}/{type_name}");
                    addresses.extend(ProviderAddress::parse_full(&text));
                }
            }
        }
        Ok(addresses)
    }
}

/// Returns `HOST/NS/TYPE` below a directory.
pub(crate) fn provider_directory(root: &Path, address: &ProviderAddress) -> PathBuf {
    root.join(address.hostname()).join(address.namespace()).join(address.type_name())
}

const RANK_PACKED: u8 = 0;
const RANK_UNPACKED: u8 = 1;
const RANK_COMPONENT: u8 = 2;

struct Found<'a> {
    platform: &'a Platform,
    listing: MirrorListing,
    ranks: BTreeMap<Version, u8>,
}

impl Found<'_> {
    fn add_version_directory(&mut self, directory: &Path, version: &Version) -> Result<(), MirrorError> {
        let mut bare = Vec::new();
        for name in names_in(directory)? {
            let path = directory.join(&name);
            if has_component_extension(&name) {
                if path.is_file() {
                    bare.push(path);
                }
            } else if is_platform_name(&name) && path.is_dir() {
                self.add(version.clone(), &name, PackageLocation::Directory(path), RANK_UNPACKED);
            }
        }
        if let [only] = bare.as_slice() {
            let location = PackageLocation::BareComponent(only.clone());
            self.add(version.clone(), COMPONENT_PLATFORM, location, RANK_PACKED);
        }
        Ok(())
    }

    fn add(&mut self, version: Version, platform: &str, location: PackageLocation, packing: u8) {
        let (rank, expected) = if is_component_platform(platform) {
            (packing + RANK_COMPONENT, ExpectedContent::Component)
        } else if platform == self.platform.as_str() {
            (packing, ExpectedContent::ComponentOrNative)
        } else {
            self.listing.other_platforms.insert(version);
            return;
        };
        if self.ranks.get(&version).is_none_or(|known| *known < rank) {
            self.ranks.insert(version.clone(), rank);
            self.listing.packages.insert(version, MirrorPackage { location, expected });
        }
    }
}

fn is_platform_name(name: &str) -> bool {
    matches!(name.split('_').collect::<Vec<_>>().as_slice(), [system, architecture] if !system.is_empty() && !architecture.is_empty())
}

/// Parses version and platform from `terraform-provider-TYPE_VERSION_OS_ARCH` and an extension.
fn package_name(name: &str, address: &ProviderAddress, extension: &str) -> Option<(Version, String)> {
    let of_provisioner = provisioner_name(address)
        .and_then(|own| name.strip_prefix("terraform-provisioner-")?.strip_prefix(own));
    let of_plugin =
        || name.strip_prefix("terraform-provider-").and_then(|rest| rest.strip_prefix(address.type_name()));
    let rest = of_provisioner.or_else(of_plugin)?;
    let rest = rest.strip_prefix('_')?.strip_suffix(extension)?;
    let (version, platform) = rest.split_once('_')?;
    let version = Version::parse(version).ok()?;
    is_platform_name(platform).then(|| (version, platform.to_owned()))
}

fn names_in(directory: &Path) -> Result<Vec<String>, MirrorError> {
    let failed = |source| MirrorError { path: directory.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn directories_in(path: &Path) -> Result<Vec<String>, MirrorError> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = names_in(path)?;
    names.retain(|name| path.join(name).is_dir());
    Ok(names)
}

/// A directory of a mirror that cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error("failed to list the provider mirror directory {}: {source}", path.display())]
pub struct MirrorError {
    pub path: PathBuf,
    pub source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn list_finds_every_layout_and_prefers_components() {
        let root = tempfile::tempdir().unwrap();
        let base = "registry.terraform.io/acme/dns";
        for path in [
            "1.0.0/linux_amd64/terraform-provider-dns",
            "1.1.0/linux_amd64/terraform-provider-dns",
            "1.1.0/wasm32_wasip2/terraform-provider-dns.wasm",
            "1.1.0/loose.wasm",
            "1.2.0/loose.wasm",
            "1.3.0/one.wasm",
            "1.3.0/two.wasm",
            "1.4.0/darwin_arm64/terraform-provider-dns",
            "terraform-provider-dns_1.5.0_linux_amd64.zip",
            "terraform-provider-dns_1.5.0_wasm32_wasip2.zip",
            "terraform-provider-dns_1.6.0_windows_386.zip",
            "terraform-provider-dns_1.7.0_wasip2_wasm.wasm",
            "terraform-provider-dns_1.7.1_linux_amd64.wasm",
            "v2.0.0/linux_amd64/terraform-provider-dns",
            "terraform-provider-other_3.0.0_linux_amd64.zip",
            "README.md",
        ] {
            touch(root.path(), &format!("{base}/{path}"));
        }
        touch(root.path(), "README.md");
        touch(root.path(), "example.com/not_valid/x/1.0.0/linux_amd64/y");
        let mirror = FilesystemMirror::new(root.path());
        let address = ProviderAddress::parse("acme/dns").unwrap();
        let listing = mirror.list(&address, &Platform::named("linux_amd64")).unwrap();
        let shown: Vec<String> = listing
            .packages
            .iter()
            .map(|(version, package)| {
                let path = package.location.path().strip_prefix(root.path().join(base)).unwrap();
                format!("{version} {}", path.display())
            })
            .collect();
        assert_eq!(
            shown,
            [
                "1.0.0 1.0.0/linux_amd64",
                "1.1.0 1.1.0/wasm32_wasip2",
                "1.2.0 1.2.0/loose.wasm",
                "1.5.0 terraform-provider-dns_1.5.0_wasm32_wasip2.zip",
                "1.7.0 terraform-provider-dns_1.7.0_wasip2_wasm.wasm",
            ]
        );
        let others: Vec<String> = listing.other_platforms.iter().map(ToString::to_string).collect();
        assert_eq!(others, ["1.4.0", "1.6.0"]);
        assert_eq!(mirror.addresses().unwrap(), BTreeSet::from([address]));
        let unknown = ProviderAddress::parse("acme/unknown").unwrap();
        assert_eq!(mirror.list(&unknown, &Platform::current()).unwrap(), MirrorListing::default());
    }

    #[test]
    fn list_rejects_missing_mirror() {
        let mirror = FilesystemMirror::new("/nonexistent/mirror");
        let address = ProviderAddress::parse("acme/dns").unwrap();
        let error = mirror.list(&address, &Platform::current()).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/mirror"));
    }
}
