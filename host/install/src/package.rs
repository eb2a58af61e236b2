//! What a plugin package holds, and the artefact that comes out of it.
//!
//! What a file is, its first bytes decide: see [`crate::file_kind`].
//!
//! In a package the plugin is the first file, in name order, called
//! `terraform-provider-TYPE` followed by nothing, `_…` or `.…`, components
//! before others; failing that, the only `.wasm` file. A provisioner's file may be
//! called `terraform-provisioner-NAME` as well.
//!
//! Reads the package it is given; writes nothing. What always holds: the bytes
//! of a [`ComponentArtifact`] are those that its digest and hash were computed
//! from.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_address::{ProviderAddress, Version, provisioner_name};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::catalogue::EmbeddedPlugin;
use crate::file_digests::FileDigests;
use crate::file_kind::{FileKind, HEADER_LENGTH};
use crate::hash::{
    DirectoryHashError, PackageFiles, PackageHash, Sha256Digest, component_file_name, program_file_name,
};

/// The platform directory and file name part of components.
pub const COMPONENT_PLATFORM: &str = "wasm32_wasip2";

/// No component may be larger: it is held in memory.
pub const LARGEST_COMPONENT: u64 = 256 * 1024 * 1024;

/// A plugin that can be loaded.
#[derive(Debug, Clone)]
pub enum PluginArtifact {
    /// A component, to run in the sandbox.
    Component(ComponentArtifact),
    /// An executable for this machine, outside any sandbox.
    Native(NativeArtifact),
}

impl PluginArtifact {
    /// The provider that it is for.
    pub fn address(&self) -> &ProviderAddress {
        match self {
            Self::Component(component) => &component.address,
            Self::Native(native) => &native.address,
        }
    }

    /// The version; a development override has none.
    pub fn version(&self) -> Option<&Version> {
        match self {
            Self::Component(component) => component.version.as_ref(),
            Self::Native(native) => native.version.as_ref(),
        }
    }

    /// Where it came from.
    pub fn origin(&self) -> &Origin {
        match self {
            Self::Component(component) => &component.origin,
            Self::Native(native) => &native.origin,
        }
    }
}

/// A component with its bytes.
#[derive(Clone)]
pub struct ComponentArtifact {
    /// The provider that it is for.
    pub address: ProviderAddress,
    /// The version; a development override has none.
    pub version: Option<Version>,
    /// Where it came from.
    pub origin: Origin,
    /// The digest of the bytes: a key for compiled code, too.
    pub sha256: Sha256Digest,
    bytes: ComponentBytes,
}

impl ComponentArtifact {
    /// The component.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            ComponentBytes::Embedded(bytes) => bytes,
            ComponentBytes::Read(bytes) => bytes,
        }
    }

    /// A component from its bytes; `None` where they are none.
    pub fn of_bytes(address: ProviderAddress, origin: Origin, bytes: Vec<u8>) -> Option<Self> {
        let header = bytes.get(..usize::try_from(HEADER_LENGTH).ok()?)?;
        if FileKind::of(header) != FileKind::Component {
            return None;
        }
        let sha256 = Sha256Digest::of(&bytes);
        Some(Self { address, version: None, origin, sha256, bytes: ComponentBytes::Read(bytes.into()) })
    }

    pub(crate) fn embedded(plugin: &EmbeddedPlugin) -> Self {
        Self {
            address: plugin.address.clone(),
            version: Some(plugin.version.clone()),
            origin: Origin::Embedded,
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

/// An executable plugin. It is found, hashed and locked here; running it is the
/// work of the bridge for native plugins.
#[derive(Debug, Clone)]
pub struct NativeArtifact {
    /// The provider that it is for.
    pub address: ProviderAddress,
    /// The version; a development override has none.
    pub version: Option<Version>,
    /// Where it came from.
    pub origin: Origin,
    /// The executable's name in its package.
    pub executable: String,
    /// Where the executable is; while its package is packed, where that is.
    pub file: PathBuf,
    /// The hash of its package; a development override has none.
    pub package_hash: Option<PackageHash>,
}

/// Where an artefact came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is part of this program.
    Embedded,
    /// A filesystem mirror.
    Mirror(PackageLocation),
    /// The data directory, where `init` put it.
    Installed(PathBuf),
    /// A development override.
    DevelopmentOverride(PathBuf),
}

impl Origin {
    /// Whether a hash must already be in the lock file.
    pub fn trust(&self) -> Trust {
        match self {
            Self::Embedded => Trust::PartOfProgram,
            Self::Mirror(_) | Self::Installed(_) => Trust::MustMatchLock,
            Self::DevelopmentOverride(_) => Trust::Unlocked,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => formatter.write_str("the plugins inside this program"),
            Self::Mirror(location) => write!(formatter, "{}", location.path().display()),
            Self::Installed(path) | Self::DevelopmentOverride(path) => {
                write!(formatter, "{}", path.display())
            }
        }
    }
}

/// What the lock file means for an artefact.
///
/// A lock file by Terraform records hashes of native packages only. An embedded
/// plugin matches none of them, yet it cannot be exchanged without exchanging
/// the program, which the user trusts already by running it: so its hash is
/// added, as Terraform adds those of further platforms. A file in a mirror can
/// be exchanged by whoever writes there; that is what the lock file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// A hash that the lock file lacks is added with a notice.
    PartOfProgram,
    /// A hash that the lock file lacks, while it has others for this version,
    /// is an error.
    MustMatchLock,
    /// The lock file is not asked: the user pointed at this file for now.
    Unlocked,
}

/// Where a package lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageLocation {
    /// A directory with the plugin in it.
    Directory(PathBuf),
    /// A zip file with the plugin in it.
    Archive(PathBuf),
    /// A component without anything around it.
    BareComponent(PathBuf),
    /// A program without anything around it.
    BareProgram(PathBuf),
}

impl PackageLocation {
    /// The directory or file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(path)
            | Self::Archive(path)
            | Self::BareComponent(path)
            | Self::BareProgram(path) => path,
        }
    }
}

/// What a package must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Only a component will do.
    Component,
    /// A component or an executable.
    ComponentOrNative,
}

/// A package that was read: what is in it and the hashes it may be known by.
#[derive(Debug, Clone)]
pub struct OpenedPackage {
    /// The plugin.
    pub artifact: PluginArtifact,
    /// The hash of the contents.
    pub content_hash: PackageHash,
    /// The hash of the zip file, when there is one.
    pub archive_hash: Option<PackageHash>,
}

impl OpenedPackage {
    /// An embedded plugin as a package. Nothing is read or hashed but one line.
    pub fn embedded(plugin: &EmbeddedPlugin) -> Self {
        Self {
            artifact: PluginArtifact::Component(ComponentArtifact::embedded(plugin)),
            content_hash: plugin.package_hash(),
            archive_hash: None,
        }
    }

    /// Reads a package of a known version.
    ///
    /// # Errors
    /// When it cannot be read or holds no plugin of the expected kind.
    pub fn open(
        address: &ProviderAddress,
        version: &Version,
        location: &PackageLocation,
        origin: Origin,
        expected: Expected,
        digests: &FileDigests,
    ) -> Result<Self, PackageError> {
        let (contents, content_hash, archive_hash) = match location {
            PackageLocation::Directory(path) => {
                let contents = read_directory(path, address, expected)?;
                let known = contents.digest().map(|digest| (contents.name(), digest));
                let files = PackageFiles::of_directory(path, known, digests)?;
                (contents, files.hash(), None)
            }
            PackageLocation::Archive(path) => read_archive(path, address, expected)?,
            PackageLocation::BareComponent(path) => {
                let contents =
                    read_plugin_file(path, component_file_name(address, version), Expected::Component)?;
                let digest = contents.digest().unwrap_or(Sha256Digest::of(&[]));
                (contents, PackageHash::of_component(address, version, digest), None)
            }
            PackageLocation::BareProgram(path) => {
                let name = program_file_name(address, version);
                let contents = read_plugin_file(path, name, Expected::ComponentOrNative)?;
                let digest = match contents.digest() {
                    Some(digest) => digest,
                    None => digests.of(path).map_err(|source| read_error(path, source))?,
                };
                (contents, PackageHash::of_program(address, version, digest), None)
            }
        };
        let place = match location {
            PackageLocation::Directory(path) => path.join(contents.name()),
            PackageLocation::Archive(path)
            | PackageLocation::BareComponent(path)
            | PackageLocation::BareProgram(path) => path.clone(),
        };
        let mut artifact = contents.into_artifact(address.clone(), Some(version.clone()), origin, place);
        if let PluginArtifact::Native(native) = &mut artifact {
            native.package_hash = Some(content_hash.clone());
        }
        Ok(Self { artifact, content_hash, archive_hash })
    }

    /// The hashes that a lock file may know this package by.
    pub fn hashes(&self) -> impl Iterator<Item = &PackageHash> {
        std::iter::once(&self.content_hash).chain(&self.archive_hash)
    }
}

/// Reads a development override: a directory, or the plugin's file itself.
///
/// # Errors
/// When it cannot be read or holds no plugin.
pub fn open_override(address: &ProviderAddress, path: &Path) -> Result<PluginArtifact, PackageError> {
    let metadata = fs::metadata(path).map_err(|source| read_error(path, source))?;
    let (contents, place) = if metadata.is_dir() {
        let contents = read_directory(path, address, Expected::ComponentOrNative)?;
        let place = path.join(contents.name());
        (contents, place)
    } else {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (read_plugin_file(path, name, Expected::ComponentOrNative)?, path.to_owned())
    };
    Ok(contents.into_artifact(address.clone(), None, Origin::DevelopmentOverride(path.to_owned()), place))
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
        origin: Origin,
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
    expected: Expected,
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
    let is_named = |name: &&String| {
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

fn read_plugin_file(path: &Path, name: String, expected: Expected) -> Result<Contents, PackageError> {
    let file = File::open(path).map_err(|source| read_error(path, source))?;
    read_plugin(file, path, name, expected)
}

fn read_plugin(
    mut file: impl Read,
    path: &Path,
    name: String,
    expected: Expected,
) -> Result<Contents, PackageError> {
    let failed = |source| read_error(path, source);
    let mut bytes = Vec::new();
    file.by_ref().take(HEADER_LENGTH).read_to_end(&mut bytes).map_err(failed)?;
    match FileKind::of(&bytes) {
        FileKind::Component => {}
        found => {
            let must_be_component = expected == Expected::Component
                || has_component_extension(&name)
                || matches!(found, FileKind::CoreModule | FileKind::OtherWasm);
            if must_be_component {
                return Err(PackageError::NotAComponent { path: path.to_owned(), found });
            }
            return Ok(Contents::Native { name });
        }
    }
    file.take(LARGEST_COMPONENT).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST_COMPONENT {
        return Err(PackageError::TooLarge { path: path.to_owned() });
    }
    let sha256 = Sha256Digest::of(&bytes);
    Ok(Contents::Component { name, bytes, sha256 })
}

type ArchiveContents = (Contents, PackageHash, Option<PackageHash>);

fn read_archive(
    path: &Path,
    address: &ProviderAddress,
    expected: Expected,
) -> Result<ArchiveContents, PackageError> {
    let archive_error = |source| PackageError::Archive { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(|source| read_error(path, source))?;
    let digest = Sha256Digest::of_reader(&mut file).map_err(|source| read_error(path, source))?;
    let mut archive = ZipArchive::new(file).map_err(archive_error)?;
    let mut files = PackageFiles::default();
    let mut names_in_root = Vec::new();
    let mut total = 0;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(archive_error)?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().map_err(archive_error)?.into_owned();
        if entry.enclosed_name().is_none() || name.contains('\\') {
            return Err(PackageError::UnsafeName { path: path.to_owned(), name });
        }
        let mut limited = Counted { inner: entry, count: &mut total };
        let digest = Sha256Digest::of_reader(&mut limited).map_err(|source| read_error(path, source))?;
        files
            .add(&name, digest)
            .map_err(|_| PackageError::UnsafeName { path: path.to_owned(), name: name.clone() })?;
        if !name.contains('/') {
            names_in_root.push(name);
        }
    }
    let name = plugin_file_name(names_in_root, address, path)?;
    let entry = archive.by_name(&name).map_err(archive_error)?;
    let contents = read_plugin(entry, path, name, expected)?;
    if let Some(digest) = contents.digest() {
        // What is handed out is what counts, should two reads ever differ.
        let name = contents.name().to_owned();
        files.add(&name, digest).map_err(|_| PackageError::UnsafeName { path: path.to_owned(), name })?;
    }
    Ok((contents, files.hash(), Some(PackageHash::of_archive(digest))))
}

/// A package archive may not grow beyond this when it is unpacked.
const LARGEST_PACKAGE: u64 = 8 * 1024 * 1024 * 1024;

/// Fails once too much was read: a small archive can hold endless zeros.
pub(crate) struct Counted<'a, R> {
    pub(crate) inner: R,
    pub(crate) count: &'a mut u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        *self.count += count as u64;
        if *self.count > LARGEST_PACKAGE {
            return Err(io::Error::other("the archive unpacks to more than 8 GiB"));
        }
        Ok(count)
    }
}

/// Why a package has no plugin to give.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// It cannot be read.
    #[error("failed to read {}: {source}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its files cannot be hashed.
    #[error(transparent)]
    Hash(#[from] DirectoryHashError),
    /// No file in it is the plugin.
    #[error("{} holds no plugin: no file's name begins with \"{prefix}\", and there is no .wasm file", path.display())]
    NoPlugin {
        /// The package.
        path: PathBuf,
        /// What a plugin's name begins with.
        prefix: String,
    },
    /// It is unclear which file is the plugin.
    #[error("{} holds several components ({}); the plugin's name must begin with \"{prefix}\"", path.display(), names.join(", "))]
    SeveralComponents {
        /// The package.
        path: PathBuf,
        /// The files in question.
        names: Vec<String>,
        /// What a plugin's name begins with.
        prefix: String,
    },
    /// A file that must be a component is not.
    #[error("{} is not a WebAssembly component: it is {found}", path.display())]
    NotAComponent {
        /// The file, or the archive that it is in.
        path: PathBuf,
        /// What it is.
        found: FileKind,
    },
    /// A component that is larger than allowed.
    #[error("the component {} is larger than 256 MiB", path.display())]
    TooLarge {
        /// The file, or the archive that it is in.
        path: PathBuf,
    },
    /// A zip file that is damaged.
    #[error("failed to read the archive {}: {source}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Why.
        source: ZipError,
    },
    /// A zip file with a name that leads out of it.
    #[error("the archive {} holds a file with the unsafe name {name:?}", path.display())]
    UnsafeName {
        /// The archive.
        path: PathBuf,
        /// The name.
        name: String,
    },
}

#[cfg(test)]
mod tests;
