//! The files of a release.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use wardian_address::{ProviderAddress, Version};
use wardian_cache::file_kind::FileKind;
use wardian_digest::Sha256Digest;
use wardian_files::open_regular;
use wardian_oci::OciPlatform;
use wardian_oci::provider::MAX_NATIVE_PACKAGE_BYTES;

use crate::archive::{ArchiveEntry, check_archive, copy_and_hash, write_archive};
use crate::component::{ReleaseComponent, read_component};
use crate::error::PublishError;
use crate::progress::{PublishEvent, PublishObserver};
use crate::source_date::SourceDate;

/// A version of the plugin protocol, such as 6.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PluginProtocolVersion {
    pub major: u16,
    pub minor: u16,
}

impl FromStr for PluginProtocolVersion {
    type Err = PublishError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
        match (number(major), number(minor)) {
            (Some(major), Some(minor)) => Ok(Self { major, minor }),
            _ => Err(PublishError::Protocol { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for PluginProtocolVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// A native package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NativeSource {
    /// An executable, which is packed.
    Executable(PathBuf),
    /// A zip file, which is published unchanged.
    Archive(PathBuf),
}

/// Information about a release, which is published in OCI registries as annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseMetadata {
    pub description: Option<String>,
    pub authors: Option<String>,
    /// An SPDX license expression.
    pub licenses: Option<String>,
    /// The URL of the source code.
    pub source: Option<String>,
    /// The URL of the documentation.
    pub url: Option<String>,
}

/// The inputs from which a release is built.
#[derive(Debug, Clone)]
pub struct ReleaseSources {
    pub address: ProviderAddress,
    pub version: Version,
    pub protocols: Vec<PluginProtocolVersion>,
    pub date: SourceDate,
    /// The file of the component.
    pub component: PathBuf,
    /// The native packages with their platforms.
    pub natives: Vec<(OciPlatform, NativeSource)>,
    /// Files that are added to each package that is packed, such as a license.
    pub documents: Vec<PathBuf>,
    /// Whether the component is also packed into a zip file.
    pub pack_component: bool,
    pub metadata: ReleaseMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseFile {
    /// The name under which the file is published.
    pub name: String,
    pub path: PathBuf,
    pub digest: Sha256Digest,
    pub size: u64,
}

/// A release whose packages have been written.
#[derive(Debug, Clone)]
pub struct Release {
    pub(crate) address: ProviderAddress,
    pub(crate) version: Version,
    pub(crate) protocols: Vec<PluginProtocolVersion>,
    pub(crate) date: SourceDate,
    pub(crate) component: ReleaseComponent,
    pub(crate) component_file: ReleaseFile,
    pub(crate) component_archive: Option<ReleaseFile>,
    /// The native packages by `OS_ARCH`.
    pub(crate) natives: BTreeMap<String, (OciPlatform, ReleaseFile)>,
    pub(crate) metadata: ReleaseMetadata,
}

impl Release {
    /// Checks the sources of a release, and writes its packages to `work`, an empty directory that
    /// must exist until the release is published.
    ///
    /// # Errors
    /// Returns an error if a source cannot be read or is invalid, or if a package cannot be written.
    pub fn build(
        sources: ReleaseSources,
        work: &Path,
        observer: &dyn PublishObserver,
    ) -> Result<Self, PublishError> {
        let ReleaseSources { address, version, mut protocols, date, .. } = sources;
        protocols.sort();
        protocols.dedup();
        if protocols.is_empty() {
            return Err(PublishError::NoProtocol);
        }
        let plugin = format!("terraform-provider-{}", address.type_name());
        let prefix = format!("{plugin}_{version}");
        let documents: Vec<ArchiveEntry> = sources
            .documents
            .iter()
            .map(|path| ArchiveEntry::for_document(path))
            .collect::<Result<_, _>>()?;

        let component = read_component(&sources.component, &address)?;
        let platform = OciPlatform::for_components();
        let component_file = ReleaseFile {
            name: format!("{prefix}_{platform}.wasm"),
            path: sources.component.clone(),
            digest: component.digest,
            size: component.size,
        };
        let packing = Packing { work, date, observer };
        let component_archive = if sources.pack_component {
            let name = format!("{plugin}_v{version}.wasm");
            let plugin = ArchiveEntry { name, path: sources.component.clone(), is_executable: false };
            Some(packing.pack(format!("{prefix}_{platform}.zip"), plugin, &documents)?)
        } else {
            None
        };
        let mut natives = BTreeMap::new();
        for (platform, source) in sources.natives {
            if platform.is_component() {
                return Err(PublishError::ComponentPlatform { platform: platform.to_string() });
            }
            let name = format!("{prefix}_{platform}.zip");
            let file = match source {
                NativeSource::Archive(path) => {
                    check_archive(&path, &plugin)?;
                    describe(name, path, MAX_NATIVE_PACKAGE_BYTES)?
                }
                NativeSource::Executable(path) => {
                    check_executable(&path, &platform)?;
                    let suffix = if platform.os == "windows" { ".exe" } else { "" };
                    let executable = format!("{plugin}_v{version}{suffix}");
                    let plugin = ArchiveEntry { name: executable, path, is_executable: true };
                    packing.pack(name, plugin, &documents)?
                }
            };
            let key = platform.to_string();
            if natives.insert(key.clone(), (platform, file)).is_some() {
                return Err(PublishError::RepeatedPlatform { platform: key });
            }
        }
        Ok(Self {
            address,
            version,
            protocols,
            date,
            component,
            component_file,
            component_archive,
            natives,
            metadata: sources.metadata,
        })
    }

    pub fn address(&self) -> &ProviderAddress {
        &self.address
    }

    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Returns the file of the component. Its digest is the `zh:` hash in a dependency lock file
    /// that another program writes.
    pub fn component(&self) -> &ReleaseFile {
        &self.component_file
    }

    /// Returns the packages, sorted by name: the component and the zip files.
    pub fn packages(&self) -> Vec<&ReleaseFile> {
        let mut packages: Vec<&ReleaseFile> = self.natives.values().map(|(_, file)| file).collect();
        packages.push(&self.component_file);
        packages.extend(&self.component_archive);
        packages.sort_by(|one, other| one.name.cmp(&other.name));
        packages
    }

    /// Returns `terraform-provider-TYPE_VERSION`, the prefix of all file names.
    pub(crate) fn prefix(&self) -> String {
        format!("terraform-provider-{}_{}", self.address.type_name(), self.version)
    }
}

struct Packing<'a> {
    work: &'a Path,
    date: SourceDate,
    observer: &'a dyn PublishObserver,
}

impl Packing<'_> {
    fn pack(
        &self,
        name: String,
        plugin: ArchiveEntry,
        documents: &[ArchiveEntry],
    ) -> Result<ReleaseFile, PublishError> {
        self.observer.report(PublishEvent::PackingStarted { name: &name });
        let path = self.work.join(&name);
        let entries = std::iter::once(plugin).chain(documents.iter().cloned()).collect();
        write_archive(&path, entries, self.date)?;
        describe(name, path, MAX_NATIVE_PACKAGE_BYTES)
    }
}

/// Returns a file with its digest and size.
fn describe(name: String, path: PathBuf, limit: u64) -> Result<ReleaseFile, PublishError> {
    let failed = |source| PublishError::Read { path: path.clone(), source };
    let file = open_regular(&path).map_err(failed)?;
    let (digest, size) = copy_and_hash(file.take(limit + 1), std::io::sink(), failed, failed)?;
    if size > limit {
        return Err(PublishError::TooLarge { path, limit });
    }
    Ok(ReleaseFile { name, path, digest, size })
}

/// Checks that a file can be an executable for a platform.
fn check_executable(path: &Path, platform: &OciPlatform) -> Result<(), PublishError> {
    let failed = |source| PublishError::Read { path: path.to_owned(), source };
    let mut header = Vec::new();
    let file = open_regular(path).map_err(failed)?;
    file.take(wardian_cache::file_kind::ELF_HEADER_LENGTH).read_to_end(&mut header).map_err(failed)?;
    let found = FileKind::from_header(&header);
    let is_possible = match found {
        FileKind::Component | FileKind::CoreModule | FileKind::OtherWasm | FileKind::WasmText => false,
        FileKind::Zip | FileKind::Empty => false,
        FileKind::Elf => !matches!(platform.os.as_str(), "windows" | "darwin"),
        FileKind::MachO => platform.os == "darwin",
        FileKind::Windows => platform.os == "windows",
        FileKind::Script => platform.os != "windows",
        FileKind::Unknown => true,
    };
    if is_possible {
        return Ok(());
    }
    let (path, platform, found) = (path.to_owned(), platform.to_string(), found.to_string());
    Err(PublishError::Executable { path, platform, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_is_one_or_two_numbers() {
        let parse = |text: &str| text.parse::<PluginProtocolVersion>().map(|version| version.to_string());
        assert_eq!(parse("6.0").unwrap(), "6.0");
        assert_eq!(parse("5").unwrap(), "5.0");
        for bad in ["", "6.", ".1", "6.0.1", "v6", "+6.0", "99999"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn executable_must_match_its_platform() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let check = |content: &[u8], os: &str| {
            std::fs::write(&path, content).unwrap();
            check_executable(&path, &OciPlatform::new(os, "amd64")).is_ok()
        };
        assert!(check(b"\x7fELF", "linux") && check(b"#!/bin/sh", "linux") && check(b"MZ", "windows"));
        assert!(!check(b"\x7fELF", "darwin") && !check(b"MZ", "linux") && !check(b"", "linux"));
        assert!(!check(b"\0asm\x0d\0\x01\0", "linux") && !check(b"PK\x03\x04", "linux"));
    }
}
