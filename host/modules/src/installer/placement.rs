//! Places packages in the directory of installed modules.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use wardian_module_source::{FileLocation, RemoteModuleSource};

use super::{
    ChosenPackage, InstallProblem, ModuleCallRequest, ModuleInstallation, ModuleInstaller, ModuleTrust, lock,
};
use crate::fetch::local_path_error;
use crate::getters::archive::blocking;
use crate::package_error::PackageError;
use crate::subdirectory::{self, SubdirectoryError};
use crate::tree::{TreeContents, TreeError};

/// The prefix of the names of temporary files in the directory of installed modules. No key begins
/// with a dot.
const TEMPORARY_PREFIX: &str = ".wardian-";

/// Removes the files that a killed process has left. The caller has locked the directory.
pub(super) fn remove_abandoned(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMPORARY_PREFIX)) {
            let _ = remove(&entry.path());
        }
    }
}

/// Removes a file, a link or a directory. A missing file is not an error.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// A file or directory that appears under its final name when it is complete.
struct Staged {
    path: PathBuf,
}

impl Staged {
    fn new(directory: &Path) -> io::Result<Self> {
        let path = wardian_cache::temporary_path(&directory.join(format!("{TEMPORARY_PREFIX}module")))?;
        Ok(Self { path })
    }

    /// Renames the file or directory to its final name, and removes an existing file or directory
    /// of that name.
    fn place(self, target: &Path) -> Result<(), InstallProblem> {
        let remove_failed = |source| InstallProblem::Remove { path: target.to_owned(), source };
        let write_failed = |source| InstallProblem::Write { path: target.to_owned(), source };
        let parent = target.parent().unwrap_or(target);
        let previous = Self::new(parent).map_err(write_failed)?;
        match fs::rename(target, &previous.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(remove_failed(error)),
            _ => {}
        }
        fs::rename(&self.path, target).map_err(write_failed)?;
        remove(&previous.path).map_err(remove_failed)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = remove(&self.path);
    }
}

/// A package that could not be placed in its directory.
enum PlacementError {
    Copy(TreeError),
    Write(PathBuf, io::Error),
    Subdirectory(SubdirectoryError),
    Place(InstallProblem),
}

impl ModuleInstaller {
    /// Copies a package from the cache, and verifies its content again. Returns `None` if the cache
    /// no longer contains the package.
    pub(super) async fn install_package(
        &self,
        call: &ModuleCallRequest,
        chosen: &ChosenPackage,
    ) -> Result<Option<ModuleInstallation>, InstallProblem> {
        let cache = self.fetcher.cache.clone();
        let (hash, parent, key) = (chosen.record.hash, self.path(), call.key.clone());
        let subdirectory = chosen.subdirectory.clone();
        let placed = tokio::task::spawn_blocking(move || {
            let staged =
                Staged::new(&parent).map_err(|error| PlacementError::Write(parent.clone(), error))?;
            if cache.copy_tree(&hash, &staged.path).map_err(PlacementError::Copy)?.is_none() {
                return Ok(None);
            }
            let inner =
                subdirectory::find(&staged.path, &subdirectory).map_err(PlacementError::Subdirectory)?;
            staged.place(&parent.join(&key)).map_err(PlacementError::Place)?;
            Ok(Some(inner))
        });
        let failed = |source: PackageError| InstallProblem::download(&call.source.to_string(), source);
        let placed = placed.await.map_err(|error| failed(PackageError::Task(error.to_string())))?;
        let inner = placed.map_err(|error| match (error, &chosen.version) {
            (PlacementError::Copy(error), _) => failed(error.into()),
            (PlacementError::Write(path, source), _) => InstallProblem::Write { path, source },
            (PlacementError::Place(problem), _) => problem,
            (PlacementError::Subdirectory(source), None) => InstallProblem::Subdirectory(source),
            (PlacementError::Subdirectory(source), Some(version)) => InstallProblem::RegistrySubdirectory {
                module: chosen.package.clone(),
                version: version.clone(),
                source,
            },
        })?;
        Ok(inner.map(|inner| self.record(call, Some(chosen), &inner)))
    }

    /// Installs a directory on this machine: the first call receives a symbolic link, and later
    /// calls receive copies without hidden files, as in Terraform.
    pub(super) async fn install_local_package(
        &self,
        call: &ModuleCallRequest,
        source: &RemoteModuleSource,
        location: &FileLocation,
    ) -> Result<ModuleInstallation, InstallProblem> {
        let shown = source.package.to_string();
        if self.options.trust == ModuleTrust::OnlyPinned {
            return Err(InstallProblem::NotPinned { package: shown });
        }
        self.options.observer.downloading(&call.key, &shown, None);
        let failed = |source: PackageError| InstallProblem::download(&shown, source);
        let path = location.path.clone();
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(failed(local_path_error(&path, "source path must be a directory"))),
            Err(error) => return Err(failed(local_path_error(&path, &error.to_string()))),
        }
        let is_first = lock(&self.linked).insert(path.clone());
        let parent = self.path();
        let write_failed = |source| InstallProblem::Write { path: parent.clone(), source };
        let staged = Staged::new(&parent).map_err(write_failed)?;
        if is_first {
            symlink(&path, &staged.path).map_err(write_failed)?;
        } else {
            let target = staged.path.clone();
            let copied = blocking(move || Ok(TreeContents::copy_visible(&path, &target)?)).await;
            copied.map_err(failed)?;
        }
        let inner =
            subdirectory::find(&staged.path, &source.subdirectory).map_err(InstallProblem::Subdirectory)?;
        staged.place(&parent.join(&call.key))?;
        Ok(self.record(call, None, &inner))
    }
}
