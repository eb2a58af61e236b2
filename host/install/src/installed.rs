//! Stores plugins in the data directory for `init`, and finds them for later commands.
//!
//! | selected package | under `DATA/providers/HOST/NS/TYPE/VERSION/` |
//! |---|---|
//! | embedded | `PLATFORM`, an empty directory for programs that check whether it exists; an existing directory is not changed |
//! | unpacked directory | `PLATFORM`, a symbolic link to it, or a copy if links are not supported |
//! | downloaded zip file with a native plugin | `PLATFORM/`, which was unpacked and hashed after the download |
//! | zip file | `PLATFORM/`: the component with a list of the other files, or all files of a native plugin |
//! | downloaded zip file with a component | `wasip2_wasm/.wardian-package.zip`, a copy, since the lock file may contain only the checksums of a signed list |
//! | bare component | `wasip2_wasm/terraform-provider-TYPE_vVERSION.wasm`, a copy |
//! | bare program | `PLATFORM/terraform-provider-TYPE_vVERSION`, a copy |
//!
//! Components have the platform `wasip2_wasm` (in earlier versions `wasm32_wasip2`), so Terraform
//! can use the same tree for native packages.
//!
//! With a plugin cache, a downloaded package is installed in the cache, and `PLATFORM` is a symbolic
//! link to its directory there, or a copy.
//!
//! Later commands first search this tree for a component, then in the catalog, then for a native
//! package: the selection of the last `init` takes precedence, and a native package that Terraform
//! installed does not replace an embedded plugin.
//!
//! This module writes only below the data directory. There, only `PLATFORM` may be a symbolic link,
//! and such a link is replaced, never followed.
//!
//! Invariant: for every resolved file, except for development overrides, the lock file contains the
//! file's hash under its version. Files are hashed in each run, or identified as files that were
//! hashed before (see [`crate::file_digests`]), so a change after `init` is detected. An embedded
//! plugin of the locked version is accepted even if the lock file does not contain its hash, and
//! the acceptance is reported; see [`Trust`](crate::package::Trust).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wardian_address::{ProviderAddress, Version};
use wardian_cache::temporary_path;

use crate::archive::UnpackError;
use crate::file_digests::FileDigests;
use crate::hash::{OMITTED_FILES_NAME, component_file_name, program_file_name};
use crate::lock_file::{LockEntry, LockFile};
use crate::mirror::{Platform, provider_directory};
use crate::package::{
    COMPONENT_PLATFORM, ComponentArtifact, ExpectedContent, OLD_COMPONENT_PLATFORM, OpenedPackage,
    PACKAGE_FILE_NAME, PackageError, PackageLocation, PackageMismatch, PluginArtifact, PluginOrigin,
    omitted_files, open_archive, open_override,
};
use crate::package_cache::PackageCache;
use crate::requirements::Requirements;
use crate::selected_plugin::SelectedPlugin;
use crate::sources::Sources;

/// Maximum number of attempts to replace a directory that other processes replace at the same time.
#[cfg(target_os = "linux")]
const MAX_REPLACEMENTS: usize = 16;

/// Installs a selected package in the data directory, where later commands find it.
///
/// # Errors
/// Returns an error if the data directory or the plugin cache cannot be written to, or the package
/// has become unreadable since it was selected.
pub fn install(
    selected: &SelectedPlugin,
    data_directory: &Path,
    sources: &Sources<'_>,
) -> Result<(), InstallError> {
    let address = selected.artifact.address();
    let native_platform = sources.platform.as_str();
    let platform = match &selected.artifact {
        PluginArtifact::Component(_) => COMPONENT_PLATFORM,
        PluginArtifact::Native(_) => native_platform,
    };
    let version_directory = version_directory(data_directory, address, &selected.version);
    let target = version_directory.join(platform);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| InstallError { path, source }
    };
    let origin = selected.artifact.origin();
    if matches!(origin, PluginOrigin::Installed(_) | PluginOrigin::DevelopmentOverride(_)) {
        return Ok(());
    }
    reject_symlinks(data_directory, &version_directory)?;
    if let PluginArtifact::Component(_) = &selected.artifact {
        let old = version_directory.join(OLD_COMPONENT_PLATFORM);
        remove(&old).map_err(failed(&old))?;
    }
    match origin {
        PluginOrigin::Installed(_) | PluginOrigin::DevelopmentOverride(_) => Ok(()),
        PluginOrigin::Embedded => {
            remove(&target).map_err(failed(&target))?;
            let expected = version_directory.join(native_platform);
            if expected.symlink_metadata().is_ok() {
                return Ok(());
            }
            fs::create_dir_all(&expected).map_err(failed(&expected))
        }
        PluginOrigin::Mirror(location) => {
            place_package(selected, location, &target, &sources.digests).map_err(failed(&target))
        }
        PluginOrigin::Cached(cached) => {
            place(&target, |staged| link_or_copy(cached, staged), || false).map_err(failed(&target))
        }
        PluginOrigin::Downloaded(location) => {
            let Some(cache) = &sources.cache else {
                return place_package(selected, location, &target, &sources.digests).map_err(failed(&target));
            };
            let cached = cache.directory(address, &selected.version, platform);
            add_to_cache(selected, location, &cached, &sources.digests).map_err(failed(&cached))?;
            place(&target, |staged| link_or_copy(&cached, staged), || false).map_err(failed(&target))
        }
    }
}

/// Adds a downloaded package to the cache. A cached package with the same content is retained,
/// because other configurations may use it at the same time.
fn add_to_cache(
    selected: &SelectedPlugin,
    location: &PackageLocation,
    cached: &Path,
    digests: &FileDigests,
) -> io::Result<()> {
    let lock = PackageCache::lock(cached)?;
    lock.with(|| {
        if cached.is_dir() && has_same_content(selected, location, cached) {
            return Ok(());
        }
        place(cached, |staged| unpack_package(selected, location, staged, digests), || false)
    })
}

/// Places a package. If another process has just placed a package with the same content, that one is
/// retained: the other process may be hashing its files.
fn place_package(
    selected: &SelectedPlugin,
    location: &PackageLocation,
    target: &Path,
    digests: &FileDigests,
) -> io::Result<()> {
    let is_placed =
        || !target.is_symlink() && target.is_dir() && has_same_content(selected, location, target);
    place(target, |staged| unpack_package(selected, location, staged, digests), is_placed)
}

fn has_same_content(selected: &SelectedPlugin, location: &PackageLocation, cached: &Path) -> bool {
    let (address, version) = (selected.artifact.address(), &selected.version);
    let digests = FileDigests::default();
    let open = |location: &PackageLocation| {
        let origin = PluginOrigin::Downloaded(location.clone());
        let expected = match &selected.artifact {
            PluginArtifact::Component(_) => ExpectedContent::Component,
            PluginArtifact::Native(_) => ExpectedContent::ComponentOrNative,
        };
        OpenedPackage::open(address, version, location, origin, expected, &digests).ok()
    };
    let cached = open(&PackageLocation::Directory(cached.to_owned()));
    match (&selected.artifact, cached) {
        (_, None) => false,
        // The hash was computed when the package was selected.
        (PluginArtifact::Native(native), Some(cached)) => native.package_hash == Some(cached.content_hash),
        (PluginArtifact::Component(_), Some(cached)) => {
            open(location).is_some_and(|new| new.content_hash == cached.content_hash)
        }
    }
}

/// Replaces a directory with a new one, or with a symbolic link. The directory is created under a
/// temporary name and then renamed. It is therefore never incomplete. An existing target is retained
/// if `is_placed` returns that it is the same.
fn place(
    target: &Path,
    create: impl FnOnce(&Path) -> io::Result<()>,
    is_placed: impl Fn() -> bool,
) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let staged = temporary_path(target)?;
    let placed = create(&staged).and_then(|()| replace(&staged, target, is_placed));
    if placed.is_err() {
        // The staged file may not exist, and the first error is returned, so an error during this
        // removal is ignored.
        let _ = remove(&staged);
    }
    placed
}

/// Moves a staged directory or symbolic link to its target. Another process that uses the target
/// finds either the previous or the new version.
#[cfg(target_os = "linux")]
fn replace(staged: &Path, target: &Path, is_placed: impl Fn() -> bool) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    // Another process may create or remove the target at the same time.
    for _ in 0..MAX_REPLACEMENTS {
        match renameat_with(CWD, staged, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) if is_placed() => return remove(staged),
            Err(Errno::EXIST) => {}
            Err(_) => break,
        }
        match renameat_with(CWD, staged, CWD, target, RenameFlags::EXCHANGE) {
            Ok(()) => return remove(staged),
            Err(Errno::NOENT) => {}
            Err(_) => break,
        }
    }
    remove(target).and_then(|()| fs::rename(staged, target))
}

#[cfg(not(target_os = "linux"))]
fn replace(staged: &Path, target: &Path, is_placed: impl Fn() -> bool) -> io::Result<()> {
    if is_placed() {
        return remove(staged);
    }
    remove(target).and_then(|()| fs::rename(staged, target))
}

fn unpack_package(
    selected: &SelectedPlugin,
    location: &PackageLocation,
    staged: &Path,
    digests: &FileDigests,
) -> io::Result<()> {
    let address = selected.artifact.address();
    match (location, &selected.artifact) {
        (PackageLocation::Directory(path), artifact) => match artifact.origin() {
            PluginOrigin::Downloaded(_) => move_directory(path, staged),
            _ => link_or_copy(path, staged),
        },
        (PackageLocation::Archive(path), PluginArtifact::Component(component)) => {
            if matches!(component.origin, PluginOrigin::Downloaded(_)) {
                return fs::create_dir(staged)
                    .and_then(|()| fs::copy(path, staged.join(PACKAGE_FILE_NAME)))
                    .map(drop);
            }
            place_component(path, component, staged)
        }
        (PackageLocation::Archive(path), _) => {
            open_archive(path).map_err(io::Error::other)?.unpack(staged, digests).map(drop).map_err(|error| {
                match error {
                    UnpackError::Write(error) => error,
                    UnpackError::Package(error) => io::Error::other(error),
                }
            })
        }
        (PackageLocation::BareComponent(_), PluginArtifact::Component(component)) => {
            let file = staged.join(component_file_name(address, &selected.version));
            fs::create_dir(staged).and_then(|()| fs::write(file, component.bytes()))
        }
        (PackageLocation::BareComponent(path) | PackageLocation::BareProgram(path), _) => {
            let file = staged.join(program_file_name(address, &selected.version));
            fs::create_dir(staged).and_then(|()| fs::copy(path, file)).map(drop)
        }
    }
}

/// A package that could not be installed.
#[derive(Debug, thiserror::Error)]
#[error("failed to install a provider at {}: {source}", path.display())]
pub struct InstallError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// The plugins that a configuration needs, ready to be loaded.
#[derive(Debug, Clone, Default)]
pub struct ResolvedPlugins {
    /// One plugin for each required provider that is neither built in nor already running.
    pub artifacts: BTreeMap<ProviderAddress, PluginArtifact>,
    /// Embedded plugins whose hash is not in the lock file, for example after `init
    /// -lockfile=readonly` with a lock file written by Terraform.
    pub not_recorded: Vec<ProviderAddress>,
}

/// Finds the installed plugin of every required provider and checks it against the lock file.
///
/// # Errors
/// Returns one error for each provider that is missing or does not match the lock file.
pub fn resolve(
    requirements: &Requirements,
    lock: &LockFile,
    sources: &Sources<'_>,
    data_directory: &Path,
) -> Result<ResolvedPlugins, Vec<ResolveError>> {
    let mut resolved = ResolvedPlugins::default();
    let mut errors = Vec::new();
    let is_installed =
        |address: &&ProviderAddress| !address.is_built_in() && !sources.running.contains(*address);
    for address in requirements.providers.keys().filter(is_installed) {
        match resolve_one(address, requirements, lock, sources, data_directory) {
            Ok(CheckedPlugin { artifact, is_recorded }) => {
                if !is_recorded {
                    resolved.not_recorded.push(address.clone());
                }
                resolved.artifacts.insert(address.clone(), artifact);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(resolved) } else { Err(errors) }
}

/// An installed plugin that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The lock file has no entry for this provider.
    #[error("the provider {} is required but not in the lock file; run `wardian init`", .0.for_display())]
    NotLocked(ProviderAddress),
    /// The constraints have changed since `init`.
    #[error(
        "the lock file has {} {locked}, but the configuration requires \"{constraints}\"; run `wardian init \
         -upgrade`",
        address.for_display()
    )]
    Constraints {
        address: ProviderAddress,
        /// The locked version.
        locked: Version,
        /// The current constraints.
        constraints: String,
    },
    /// The provider is locked but not installed.
    #[error("the provider {} {version} is not installed; run `wardian init`", address.for_display())]
    NotInstalled {
        address: ProviderAddress,
        /// The locked version.
        version: Version,
    },
    /// The installed package does not match the lock file.
    #[error(
        "{0}\nThe package or the lock file was changed after `wardian init`. Run `wardian init` to install \
         it again."
    )]
    HashMismatch(Box<PackageMismatch>),
    /// The installed package is unusable.
    #[error("the installed provider {} {version} cannot be used: {error}. Run `wardian init`", address.for_display())]
    Package {
        address: ProviderAddress,
        /// The locked version.
        version: Version,
        error: Box<PackageError>,
    },
    /// The path of a development override does not point to a plugin.
    #[error("the development override of {} cannot be used: {error}", address.for_display())]
    Override { address: ProviderAddress, error: Box<PackageError> },
}

impl ResolveError {
    /// Returns the summary of the diagnostic.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::NotLocked(_) | Self::NotInstalled { .. } | Self::Constraints { .. } => {
                "Required plugins are not installed"
            }
            Self::HashMismatch(_) => "Provider package does not match the lock file",
            Self::Package { .. } => "Unusable provider package",
            Self::Override { .. } => "Unusable development override",
        }
    }
}

struct CheckedPlugin {
    artifact: PluginArtifact,
    is_recorded: bool,
}

fn resolve_one(
    address: &ProviderAddress,
    requirements: &Requirements,
    lock: &LockFile,
    sources: &Sources<'_>,
    data_directory: &Path,
) -> Result<CheckedPlugin, ResolveError> {
    if let Some(path) = sources.overrides.get(address) {
        return match open_override(address, path) {
            Ok(artifact) => Ok(CheckedPlugin { artifact, is_recorded: true }),
            Err(error) => Err(ResolveError::Override { address: address.clone(), error: Box::new(error) }),
        };
    }
    let entry = lock.providers.get(address).ok_or_else(|| ResolveError::NotLocked(address.clone()))?;
    let version = &entry.version;
    let constraints = requirements.constraints_on(address);
    if !constraints.accepts(version) {
        return Err(ResolveError::Constraints {
            address: address.clone(),
            locked: version.clone(),
            constraints: constraints.to_string(),
        });
    }
    if let Some(opened) = installed_component(data_directory, address, version, &sources.digests) {
        return check(address, entry, opened);
    }
    if sources.embedded_covers(address)
        && let Some(plugin) = sources.catalog.find(address, version)
    {
        let opened = OpenedPackage::embedded(plugin);
        let is_recorded = entry.hashes.contains(&opened.content_hash);
        return Ok(CheckedPlugin { artifact: opened.artifact, is_recorded });
    }
    match installed_package(data_directory, address, version, &sources.platform, &sources.digests) {
        Some(opened) => check(address, entry, opened),
        None => Err(ResolveError::NotInstalled { address: address.clone(), version: version.clone() }),
    }
}

fn check(
    address: &ProviderAddress,
    entry: &LockEntry,
    opened: Result<OpenedPackage, PackageError>,
) -> Result<CheckedPlugin, ResolveError> {
    let (address, version) = (address.clone(), entry.version.clone());
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => return Err(ResolveError::Package { address, version, error: Box::new(error) }),
    };
    if opened.hashes().any(|hash| entry.hashes.contains(hash)) {
        return Ok(CheckedPlugin { artifact: opened.artifact, is_recorded: true });
    }
    Err(ResolveError::HashMismatch(Box::new(PackageMismatch {
        address,
        version,
        origin: opened.artifact.origin().clone(),
        found: opened.content_hash,
        recorded: entry.hashes.iter().cloned().collect(),
    })))
}

/// Opens the installed component of one version; `None` if it is not installed.
pub(crate) fn installed_component(
    data_directory: &Path,
    address: &ProviderAddress,
    version: &Version,
    digests: &FileDigests,
) -> Option<Result<OpenedPackage, PackageError>> {
    let directory = version_directory(data_directory, address, version);
    [COMPONENT_PLATFORM, OLD_COMPONENT_PLATFORM].into_iter().find_map(|platform| {
        open_installed(&directory.join(platform), address, version, ExpectedContent::Component, digests)
    })
}

/// Opens the installed package for a platform; `None` if it is not installed.
pub(crate) fn installed_package(
    data_directory: &Path,
    address: &ProviderAddress,
    version: &Version,
    platform: &Platform,
    digests: &FileDigests,
) -> Option<Result<OpenedPackage, PackageError>> {
    let path = version_directory(data_directory, address, version).join(platform.as_str());
    open_installed(&path, address, version, ExpectedContent::ComponentOrNative, digests)
}

fn open_installed(
    path: &Path,
    address: &ProviderAddress,
    version: &Version,
    expected: ExpectedContent,
    digests: &FileDigests,
) -> Option<Result<OpenedPackage, PackageError>> {
    // A symbolic link whose target is missing is a damaged installation, not a missing one.
    fs::symlink_metadata(path).ok()?;
    let location = PackageLocation::Directory(path.to_owned());
    let origin = PluginOrigin::Installed(path.to_owned());
    Some(OpenedPackage::open(address, version, &location, origin, expected, digests))
}

fn version_directory(data_directory: &Path, address: &ProviderAddress, version: &Version) -> PathBuf {
    provider_directory(&data_directory.join("providers"), address).join(version.to_string())
}

/// Rejects symbolic links in the data directory. A repository could contain a data directory whose
/// symbolic links redirect removals and writes to any path. The data directory itself may be a
/// symbolic link.
fn reject_symlinks(data_directory: &Path, version_directory: &Path) -> Result<(), InstallError> {
    let below = version_directory.ancestors().take_while(|path| *path != data_directory);
    match below.filter(|path| path.is_symlink()).last() {
        None => Ok(()),
        Some(link) => Err(InstallError {
            path: link.to_owned(),
            source: io::Error::other("it is a symbolic link, which is not followed; remove it"),
        }),
    }
}

/// Removes a file, a link or a directory with its content, if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn link_or_copy(package: &Path, target: &Path) -> io::Result<()> {
    let package = fs::canonicalize(package)?;
    if link(&package, target).is_ok() {
        return Ok(());
    }
    copy_directory(&package, target)
}

#[cfg(unix)]
fn link(package: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(package, target)
}

#[cfg(not(unix))]
fn link(_package: &Path, _target: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Moves the directory of an unpacked download. The directory and the target may be on different
/// file systems.
fn move_directory(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy_directory(from, to).and_then(|()| fs::remove_dir_all(from))
        }
        renamed => renamed,
    }
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Places a component from an archive, without the other files of its package. A list of their
/// digests replaces them, which gives the directory the same hash as the package.
fn place_component(path: &Path, component: &ComponentArtifact, target: &Path) -> io::Result<()> {
    let (name, omitted) = omitted_files(path, &component.address).map_err(io::Error::other)?;
    fs::create_dir(target)?;
    fs::write(target.join(name), component.bytes())?;
    let omitted = omitted.to_text();
    if omitted.is_empty() { Ok(()) } else { fs::write(target.join(OMITTED_FILES_NAME), omitted) }
}
