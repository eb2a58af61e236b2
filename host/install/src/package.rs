//! Reads plugin packages.
//!
//! The first bytes of a file determine its kind: see [`wardian_cache::file_kind`].
//!
//! In a package, the plugin is the first file in alphabetical order that is named
//! `terraform-provider-TYPE`, `terraform-provider-TYPE_…` or `terraform-provider-TYPE.…`;
//! components take precedence. If no such file exists, the plugin is the only `.wasm` file. A
//! provisioner's file can also be named `terraform-provisioner-NAME`.
//!
//! This module reads only the given package, and writes nothing. Invariant: the digest and hash of
//! a [`ComponentArtifact`] were computed from its bytes.

mod mismatch;

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::{ProviderAddress, Version, provisioner_name};
use wardian_cache::file_kind::{FileKind, WASM_HEADER_LENGTH};
use wardian_diagnostic::system_reason;
use wardian_files::open_regular;
use zip::result::ZipError;

pub use mismatch::PackageMismatch;

use crate::archive::{PackageArchive, UnpackError};
use crate::catalog::EmbeddedPlugin;
use crate::file_digests::FileDigests;
use crate::hash::{
    DirectoryHashError, PackageFiles, PackageHash, Sha256Digest, component_file_name, program_file_name,
};

/// The platform of components in directory and file names: as in OCI images, the operating system is
/// `wasip2` and the architecture is `wasm`.
pub const COMPONENT_PLATFORM: &str = "wasip2_wasm";

/// The name that [`COMPONENT_PLATFORM`] had in earlier versions, which can still be read.
pub(crate) const OLD_COMPONENT_PLATFORM: &str = "wasm32_wasip2";

pub(crate) fn is_component_platform(platform: &str) -> bool {
    matches!(platform, COMPONENT_PLATFORM | OLD_COMPONENT_PLATFORM)
}

/// The name of the zip file in the directory of an installed component whose package was downloaded.
/// The directory contains only this file. Therefore, a lock file that records only the `zh:` hash
/// of the package can be checked in every run.
pub(crate) const PACKAGE_FILE_NAME: &str = ".wardian-package.zip";

/// Maximum size of a component, because it is held in memory.
pub const MAX_COMPONENT_BYTES: u64 = 256 * 1024 * 1024;

/// A plugin that can be loaded.
#[derive(Debug, Clone)]
pub enum PluginArtifact {
    /// A component, to run in the sandbox.
    Component(ComponentArtifact),
    /// An executable for this machine, which runs outside the sandbox.
    Native(NativeArtifact),
}

impl PluginArtifact {
    pub fn address(&self) -> &ProviderAddress {
        match self {
            Self::Component(component) => &component.address,
            Self::Native(native) => &native.address,
        }
    }

    /// Returns the version; `None` for a development override.
    pub fn version(&self) -> Option<&Version> {
        match self {
            Self::Component(component) => component.version.as_ref(),
            Self::Native(native) => native.version.as_ref(),
        }
    }

    pub fn origin(&self) -> &PluginOrigin {
        match self {
            Self::Component(component) => &component.origin,
            Self::Native(native) => &native.origin,
        }
    }
}

/// A component with its bytes.
#[derive(Clone)]
pub struct ComponentArtifact {
    pub address: ProviderAddress,
    /// The version; `None` for a development override.
    pub version: Option<Version>,
    pub origin: PluginOrigin,
    /// The digest of the bytes, which is also the key of the compiled code.
    pub sha256: Sha256Digest,
    bytes: ComponentBytes,
}

impl ComponentArtifact {
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            ComponentBytes::Embedded(bytes) => bytes,
            ComponentBytes::Read(bytes) => bytes,
        }
    }

    /// Creates a component from its bytes; `None` if they are not a component.
    pub fn from_bytes(address: ProviderAddress, origin: PluginOrigin, bytes: Vec<u8>) -> Option<Self> {
        let header = bytes.get(..usize::try_from(WASM_HEADER_LENGTH).ok()?)?;
        if FileKind::from_header(header) != FileKind::Component {
            return None;
        }
        let sha256 = Sha256Digest::hash(&bytes);
        Some(Self { address, version: None, origin, sha256, bytes: ComponentBytes::Read(bytes.into()) })
    }

    pub(crate) fn embedded(plugin: &EmbeddedPlugin) -> Self {
        Self {
            address: plugin.address.clone(),
            version: Some(plugin.version.clone()),
            origin: PluginOrigin::Embedded,
            sha256: plugin.sha256,
            bytes: ComponentBytes::Embedded(plugin.bytes),
        }
    }
}

impl fmt::Debug for ComponentArtifact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ComponentArtifact")
            .field("address", &self.address)
            .field("version", &self.version)
            .field("origin", &self.origin)
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

#[derive(Clone)]
enum ComponentBytes {
    Embedded(&'static [u8]),
    Read(Arc<[u8]>),
}

/// A native plugin. This crate finds, hashes and locks it; the bridge runs it.
#[derive(Debug, Clone)]
pub struct NativeArtifact {
    pub address: ProviderAddress,
    /// The version; `None` for a development override.
    pub version: Option<Version>,
    pub origin: PluginOrigin,
    /// The executable's name in its package.
    pub executable: String,
    /// The path of the executable, or of the zip file that contains it.
    pub file: PathBuf,
    /// The hash of its package; `None` for a development override.
    pub package_hash: Option<PackageHash>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginOrigin {
    /// Embedded in the `wardian` binary.
    Embedded,
    /// A filesystem mirror.
    Mirror(PackageLocation),
    /// A server. The package was downloaded to this location, and is not installed yet.
    Downloaded(PackageLocation),
    /// The plugin cache.
    Cached(PathBuf),
    /// The data directory, where `init` installed it.
    Installed(PathBuf),
    /// A development override.
    DevelopmentOverride(PathBuf),
}

impl PluginOrigin {
    /// Returns how the artifact is checked against the lock file.
    pub fn trust(&self) -> Trust {
        match self {
            Self::Embedded => Trust::PartOfProgram,
            Self::Mirror(_) | Self::Downloaded(_) | Self::Cached(_) | Self::Installed(_) => {
                Trust::MustMatchLock
            }
            Self::DevelopmentOverride(_) => Trust::Unlocked,
        }
    }
}

impl fmt::Display for PluginOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => formatter.write_str("the embedded plugins"),
            Self::Mirror(location) | Self::Downloaded(location) => {
                write!(formatter, "{}", location.path().display())
            }
            Self::Cached(path) | Self::Installed(path) | Self::DevelopmentOverride(path) => {
                write!(formatter, "{}", path.display())
            }
        }
    }
}

/// The way in which an artifact is checked against the lock file.
///
/// A lock file written by Terraform records only hashes of native packages. An embedded plugin does
/// not match any of them, but it can be replaced only together with the `wardian` binary, which the
/// user trusts by running it. Therefore, its hash is added, in the same way as Terraform adds the
/// hashes of additional platforms. In contrast, any user with write access can replace a file in a
/// mirror, and the lock file detects the replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// A hash that the lock file does not contain is added, and the addition is reported.
    PartOfProgram,
    /// If the lock file has hashes for this version but not this hash, an error is returned.
    MustMatchLock,
    /// The lock file is not checked: the user selected this file for development.
    Unlocked,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageLocation {
    /// A directory that contains the plugin.
    Directory(PathBuf),
    /// A zip file that contains the plugin.
    Archive(PathBuf),
    /// A component that is a single file.
    BareComponent(PathBuf),
    /// A program that is a single file.
    BareProgram(PathBuf),
}

impl PackageLocation {
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(path)
            | Self::Archive(path)
            | Self::BareComponent(path)
            | Self::BareProgram(path) => path,
        }
    }
}

/// The required content of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedContent {
    /// A component.
    Component,
    /// A component or an executable.
    ComponentOrNative,
}

/// A package that was read: its plugin and its hashes.
#[derive(Debug, Clone)]
pub struct OpenedPackage {
    pub artifact: PluginArtifact,
    /// The `h1:` hash of the contents.
    pub content_hash: PackageHash,
    /// The `zh:` hash of the package file, which is a zip file or an unpacked component. [`None`]
    /// for a directory that contains more than a component.
    pub archive_hash: Option<PackageHash>,
}

impl OpenedPackage {
    /// Returns an embedded plugin as a package, without reading files. Only one line of text is
    /// hashed.
    pub fn embedded(plugin: &EmbeddedPlugin) -> Self {
        Self {
            artifact: PluginArtifact::Component(ComponentArtifact::embedded(plugin)),
            content_hash: plugin.package_hash(),
            archive_hash: None,
        }
    }

    fn new(
        mut artifact: PluginArtifact,
        content_hash: PackageHash,
        archive_hash: Option<PackageHash>,
    ) -> Self {
        if let PluginArtifact::Native(native) = &mut artifact {
            native.package_hash = Some(content_hash.clone());
        }
        Self { artifact, content_hash, archive_hash }
    }

    /// Reads a package of a known version.
    ///
    /// # Errors
    /// Returns an error if the package cannot be read or contains no plugin of the expected kind.
    pub fn open(
        address: &ProviderAddress,
        version: &Version,
        location: &PackageLocation,
        origin: PluginOrigin,
        expected: ExpectedContent,
        digests: &FileDigests,
    ) -> Result<Self, PackageError> {
        let packed = match location {
            PackageLocation::Directory(path) => Some(path.join(PACKAGE_FILE_NAME)),
            _ => None,
        };
        let packed = packed.filter(|file| file.is_file()).map(PackageLocation::Archive);
        let location = packed.as_ref().unwrap_or(location);
        let (contents, content_hash, archive_hash) = match location {
            PackageLocation::Directory(path) => {
                let contents = read_directory(path, address, expected)?;
                let known = contents.digest().map(|digest| (contents.name(), digest));
                let files = PackageFiles::from_directory(path, known, digests)?;
                let file_hash = contents.digest().map(PackageHash::for_archive);
                (contents, files.hash(), file_hash)
            }
            PackageLocation::Archive(path) => read_archive(path, address, expected)?,
            PackageLocation::BareComponent(path) => {
                let contents = read_plugin_file(
                    path,
                    component_file_name(address, version),
                    ExpectedContent::Component,
                )?;
                let digest = contents.digest().unwrap_or(Sha256Digest::hash(&[]));
                let file_hash = PackageHash::for_archive(digest);
                (contents, PackageHash::for_component(address, version, digest), Some(file_hash))
            }
            PackageLocation::BareProgram(path) => {
                let name = program_file_name(address, version);
                let contents = read_plugin_file(path, name, ExpectedContent::ComponentOrNative)?;
                let digest = match contents.digest() {
                    Some(digest) => digest,
                    None => digests.digest(path).map_err(|source| read_error(path, source))?,
                };
                (contents, PackageHash::for_program(address, version, digest), None)
            }
        };
        let file = match location {
            PackageLocation::Directory(path) => path.join(contents.name()),
            PackageLocation::Archive(path)
            | PackageLocation::BareComponent(path)
            | PackageLocation::BareProgram(path) => path.clone(),
        };
        let artifact = contents.into_artifact(address.clone(), Some(version.clone()), origin, file);
        Ok(Self::new(artifact, content_hash, archive_hash))
    }

    /// Reads the archive of a downloaded package, whose digest is known. A native plugin is unpacked
    /// into a new directory while its files are hashed.
    ///
    /// # Errors
    /// Returns an error if the archive contains no plugin of the expected kind, or if the directory
    /// cannot be written to.
    pub(crate) fn unpack(
        address: &ProviderAddress,
        version: &Version,
        download: Download,
        expected: ExpectedContent,
        digests: &FileDigests,
    ) -> Result<Self, UnpackError> {
        let Download { archive: path, digest, unpacked } = download;
        let mut archive = open_archive(&path)?;
        let name = plugin_file_name(archive.names_in_root(), address, &path)?;
        let contents = read_plugin(archive.file(&name)?, &path, name, expected)?;
        if let Contents::Component { .. } = contents {
            let location = PackageLocation::Archive(path);
            let origin = PluginOrigin::Downloaded(location.clone());
            return Ok(Self::open(address, version, &location, origin, expected, digests)?);
        }
        let content_hash = archive.unpack(&unpacked, digests)?.hash();
        let file = unpacked.join(contents.name());
        let origin = PluginOrigin::Downloaded(PackageLocation::Directory(unpacked));
        let artifact = contents.into_artifact(address.clone(), Some(version.clone()), origin, file);
        Ok(Self::new(artifact, content_hash, Some(PackageHash::for_archive(digest))))
    }

    /// Returns the hashes by which a lock file may record this package.
    pub fn hashes(&self) -> impl Iterator<Item = &PackageHash> {
        std::iter::once(&self.content_hash).chain(&self.archive_hash)
    }
}

/// Reads a development override: a directory, or the plugin's file itself.
///
/// # Errors
/// Returns an error if the override cannot be read or contains no plugin.
pub fn open_override(address: &ProviderAddress, path: &Path) -> Result<PluginArtifact, PackageError> {
    let metadata = fs::metadata(path).map_err(|source| read_error(path, source))?;
    let (contents, file) = if metadata.is_dir() {
        let contents = read_directory(path, address, ExpectedContent::ComponentOrNative)?;
        let file = path.join(contents.name());
        (contents, file)
    } else {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (read_plugin_file(path, name, ExpectedContent::ComponentOrNative)?, path.to_owned())
    };
    Ok(contents.into_artifact(
        address.clone(),
        None,
        PluginOrigin::DevelopmentOverride(path.to_owned()),
        file,
    ))
}

/// The archive of a downloaded package.
pub(crate) struct Download {
    pub(crate) archive: PathBuf,
    /// The digest of the archive.
    pub(crate) digest: Sha256Digest,
    /// The directory into which a native plugin is unpacked. The directory does not exist yet.
    pub(crate) unpacked: PathBuf,
}

enum Contents {
    Component { name: String, bytes: Vec<u8>, sha256: Sha256Digest },
    Native { name: String },
}

impl Contents {
    fn name(&self) -> &str {
        match self {
            Self::Component { name, .. } | Self::Native { name } => name,
        }
    }

    fn digest(&self) -> Option<Sha256Digest> {
        match self {
            Self::Component { sha256, .. } => Some(*sha256),
            Self::Native { .. } => None,
        }
    }

    fn into_artifact(
        self,
        address: ProviderAddress,
        version: Option<Version>,
        origin: PluginOrigin,
        file: PathBuf,
    ) -> PluginArtifact {
        match self {
            Self::Component { bytes, sha256, .. } => PluginArtifact::Component(ComponentArtifact {
                address,
                version,
                origin,
                sha256,
                bytes: ComponentBytes::Read(bytes.into()),
            }),
            Self::Native { name } => {
                let (executable, package_hash) = (name, None);
                PluginArtifact::Native(NativeArtifact {
                    address,
                    version,
                    origin,
                    executable,
                    file,
                    package_hash,
                })
            }
        }
    }
}

fn read_error(path: &Path, source: io::Error) -> PackageError {
    PackageError::Read { path: path.to_owned(), source }
}

fn read_directory(
    path: &Path,
    address: &ProviderAddress,
    expected: ExpectedContent,
) -> Result<Contents, PackageError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(|source| read_error(path, source))? {
        let entry = entry.map_err(|source| read_error(path, source))?;
        if let Ok(name) = entry.file_name().into_string()
            && fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_file())
        {
            names.push(name);
        }
    }
    let name = plugin_file_name(names, address, path)?;
    read_plugin_file(&path.join(&name), name, expected)
}

fn plugin_file_name(
    mut names: Vec<String>,
    address: &ProviderAddress,
    package: &Path,
) -> Result<String, PackageError> {
    names.sort();
    let prefix = format!("terraform-provider-{}", address.type_name());
    let of_provisioner = provisioner_name(address).map(|own| format!("terraform-provisioner-{own}"));
    // In the names of libraries, cargo replaces `-` by `_`.
    let of_cargo = format!("{}.wasm", prefix.replace('-', "_"));
    let is_named = |name: &&String| {
        if **name == of_cargo {
            return true;
        }
        let prefixes = std::iter::once(&prefix).chain(&of_provisioner);
        let mut rests = prefixes.filter_map(|prefix| name.strip_prefix(prefix.as_str()));
        rests.any(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    };
    let is_component = |name: &&String| has_component_extension(name);
    let named = names.iter().filter(is_named);
    if let Some(name) = named.clone().find(is_component).or_else(|| named.clone().next()) {
        return Ok(name.clone());
    }
    let components: Vec<&String> = names.iter().filter(is_component).collect();
    match components.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(PackageError::NoPlugin { path: package.to_owned(), prefix }),
        several => Err(PackageError::SeveralComponents {
            path: package.to_owned(),
            names: several.iter().map(|name| (*name).clone()).collect(),
            prefix,
        }),
    }
}

pub(crate) fn has_component_extension(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm"))
}

fn read_plugin_file(path: &Path, name: String, expected: ExpectedContent) -> Result<Contents, PackageError> {
    let file = open_regular(path).map_err(|source| read_error(path, source))?;
    read_plugin(file, path, name, expected)
}

fn read_plugin(
    mut file: impl Read,
    path: &Path,
    name: String,
    expected: ExpectedContent,
) -> Result<Contents, PackageError> {
    let failed = |source| read_error(path, source);
    let mut bytes = Vec::new();
    file.by_ref().take(WASM_HEADER_LENGTH).read_to_end(&mut bytes).map_err(failed)?;
    match FileKind::from_header(&bytes) {
        FileKind::Component => {}
        found => {
            let must_be_component = expected == ExpectedContent::Component
                || has_component_extension(&name)
                || matches!(found, FileKind::CoreModule | FileKind::OtherWasm);
            if must_be_component {
                return Err(PackageError::NotAComponent { path: path.to_owned(), found });
            }
            return Ok(Contents::Native { name });
        }
    }
    file.take(MAX_COMPONENT_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(PackageError::TooLarge { path: path.to_owned() });
    }
    let sha256 = Sha256Digest::hash(&bytes);
    Ok(Contents::Component { name, bytes, sha256 })
}

type ArchiveContents = (Contents, PackageHash, Option<PackageHash>);

fn read_archive(
    path: &Path,
    address: &ProviderAddress,
    expected: ExpectedContent,
) -> Result<ArchiveContents, PackageError> {
    let mut file = open_regular(path).map_err(|source| read_error(path, source))?;
    let digest = Sha256Digest::hash_reader(&mut file).map_err(|source| read_error(path, source))?;
    let mut archive = PackageArchive::open(path, file)?;
    let name = plugin_file_name(archive.names_in_root(), address, path)?;
    let contents = read_plugin(archive.file(&name)?, path, name, expected)?;
    // The digest of the bytes already read is used, since the file could change between two reads.
    let files = match contents.digest() {
        Some(digest) => {
            archive.check_component_package()?;
            let mut files = archive.hash_files(contents.name())?;
            let name = contents.name().to_owned();
            files.add(&name, digest).map_err(|_| PackageError::UnsafeName { path: path.to_owned(), name })?;
            files
        }
        None => archive.hash_files("")?,
    };
    Ok((contents, files.hash(), Some(PackageHash::for_archive(digest))))
}

/// Opens an archive and checks its entries.
pub(crate) fn open_archive(path: &Path) -> Result<PackageArchive, PackageError> {
    let file = open_regular(path).map_err(|source| read_error(path, source))?;
    PackageArchive::open(path, file)
}

/// Opens the archive of a component before its installation, and returns the name of the component
/// in it and the digests of its other files.
pub(crate) fn omitted_files(
    path: &Path,
    address: &ProviderAddress,
) -> Result<(String, PackageFiles), PackageError> {
    let mut archive = open_archive(path)?;
    archive.check_component_package()?;
    let name = plugin_file_name(archive.names_in_root(), address, path)?;
    let omitted = archive.hash_files(&name)?;
    Ok((name, omitted))
}

/// A package without a usable plugin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The package cannot be read.
    #[error("failed to read {}: {}", path.display(), system_reason(source))]
    Read {
        /// The file or directory.
        path: PathBuf,
        source: io::Error,
    },
    /// The files in the package cannot be hashed.
    #[error(transparent)]
    Hash(#[from] DirectoryHashError),
    /// The package does not contain the plugin.
    #[error("{} contains no plugin: no file name begins with \"{prefix}\", and there is no .wasm file", path.display())]
    NoPlugin {
        path: PathBuf,
        /// The prefix of the plugin's file name.
        prefix: String,
    },
    /// Several files could be the plugin.
    #[error("{} contains several components ({}); the plugin's name must begin with \"{prefix}\"", path.display(), names.join(", "))]
    SeveralComponents {
        path: PathBuf,
        /// The candidates.
        names: Vec<String>,
        /// The prefix of the plugin's file name.
        prefix: String,
    },
    /// A file that must be a component has another format.
    #[error("{} is not a WebAssembly component: it is {found}", path.display())]
    NotAComponent {
        /// The file, or the archive that contains it.
        path: PathBuf,
        found: FileKind,
    },
    /// A component exceeds the maximum size.
    #[error("the component {} is larger than 256 MiB", path.display())]
    TooLarge {
        /// The file, or the archive that contains it.
        path: PathBuf,
    },
    /// A zip file is damaged.
    #[error("failed to read the archive {}: {source}", path.display())]
    Archive { path: PathBuf, source: ZipError },
    /// A name in a zip file leads out of the archive.
    #[error("the archive {} contains a file with the unsafe name {name:?}", path.display())]
    UnsafeName { path: PathBuf, name: String },
    /// Two entries of a zip file have the same name, at least on some systems.
    #[error("the archive {} contains {name:?} twice", path.display())]
    RepeatedName { path: PathBuf, name: String },
    /// An entry of a zip file is neither a file nor a directory.
    #[error("the archive {} contains {name:?}, which is a link or another special file", path.display())]
    SpecialEntry { path: PathBuf, name: String },
    /// The files in a zip file are too large.
    #[error("the files in the archive {} are larger than {limit} MiB in total", path.display())]
    ArchiveTooLarge {
        path: PathBuf,
        /// The maximum, in MiB.
        limit: u64,
    },
}

#[cfg(test)]
mod tests;
