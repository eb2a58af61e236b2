//! Decides whether an installed module is kept.

use std::path::{Component, Path, PathBuf};

use wardian_module_source::{CommitId, ModulePin, ModuleSource, TreeHash};

use super::{
    InstallMode, ModuleCallRequest, ModuleInstallation, ModuleInstaller, ModuleTrust, is_on_this_machine,
    lock,
};
use crate::error::InstallProblem;
use crate::getters::archive::blocking;
use crate::manifest::ManifestRecord;
use crate::tree::{TreeContents, commit_of_checkout};

/// The content of an installed package.
struct InstalledContent {
    hash: TreeHash,
    /// The commit, if Terraform has installed the package from a repository.
    commit: Option<CommitId>,
    contents: TreeContents,
}

impl ModuleInstaller {
    /// Returns the installation of a module that is kept, or `None` if the module must be installed.
    pub(super) async fn keep_existing(
        &self,
        call: &ModuleCallRequest,
    ) -> Result<Option<ModuleInstallation>, InstallProblem> {
        if self.options.mode == InstallMode::Upgrade {
            return Ok(None);
        }
        let Some(record) = self.matching_record(call) else { return Ok(None) };
        let (package, version) = match &call.source {
            ModuleSource::Registry(source) => (source.module.to_string(), record.version.clone()),
            ModuleSource::Remote(source) if is_on_this_machine(&source.package) => {
                return self.keep_local_package(call, &record);
            }
            ModuleSource::Remote(source) => (source.package.without_secrets(), None),
            ModuleSource::Local(_) => return Ok(None),
        };
        let pin = self.pin(&package, version.as_ref());
        if pin.is_none() && self.options.trust == ModuleTrust::OnlyPinned {
            return Err(InstallProblem::NotPinned { package });
        }
        let directory = self.path().join(&call.key);
        let Some(found) = read_content(directory.clone()).await else { return Ok(None) };
        let pin = match pin {
            None => ModulePin { package, version, hash: found.hash, commit: found.commit },
            Some(pin) if pin.hash == found.hash => pin,
            Some(pin) => {
                let expected = self.fetcher.cache.tree_contents(&pin.hash);
                if expected.is_some_and(|expected| found.contents.is_without_hidden_files_of(&expected)) {
                    pin
                } else if self.fetcher.cache.has_tree(&found.hash) {
                    // The directory contains an unchanged package, but not the pinned one: the pin has
                    // changed since the module was installed.
                    return Ok(None);
                } else {
                    return Err(InstallProblem::FilesChanged {
                        directory: self.options.directory.join(&call.key),
                        package,
                        pinned: pin.hash,
                        found: found.hash,
                    });
                }
            }
        };
        lock(&self.new_pins).insert(pin.clone());
        Ok(Some(self.kept(call, &record, Some(pin))))
    }

    /// Returns the record of a module whose source and version match a call, and whose directory exists.
    fn matching_record(&self, call: &ModuleCallRequest) -> Option<ManifestRecord> {
        let record = lock(&self.manifest).get(&call.key).cloned()?;
        if record.source != call.source.full_address() || !self.is_own_directory(call, &record) {
            return None;
        }
        if let ModuleSource::Registry(source) = &call.source {
            let version = record.version.as_ref().filter(|version| call.constraints.accepts(version))?;
            // The lock file may pin a version other than the installed one.
            if self.pinned_version(&source.module, &call.constraints).is_some_and(|pinned| pinned != *version)
            {
                return None;
            }
        }
        Some(record)
    }

    /// Returns whether a record's directory exists and is the directory for the call's module.
    fn is_own_directory(&self, call: &ModuleCallRequest, record: &ManifestRecord) -> bool {
        let directory = Path::new(&record.directory);
        let package = self.options.directory.join(&call.key);
        let is_below = directory
            .strip_prefix(&package)
            .is_ok_and(|inner| inner.components().all(|part| matches!(part, Component::Normal(_))));
        is_below && self.options.root.join(directory).is_dir()
    }

    /// A directory on this machine is not pinned, so its existence is sufficient.
    fn keep_local_package(
        &self,
        call: &ModuleCallRequest,
        record: &ManifestRecord,
    ) -> Result<Option<ModuleInstallation>, InstallProblem> {
        match self.options.trust {
            ModuleTrust::Trusted => Ok(Some(self.kept(call, record, None))),
            ModuleTrust::OnlyPinned => Err(InstallProblem::NotPinned { package: call.source.to_string() }),
        }
    }

    fn kept(
        &self,
        call: &ModuleCallRequest,
        record: &ManifestRecord,
        pin: Option<ModulePin>,
    ) -> ModuleInstallation {
        ModuleInstallation {
            key: call.key.clone(),
            source: record.source.clone(),
            version: record.version.clone(),
            directory: PathBuf::from(&record.directory),
            package_directory: self.options.directory.join(&call.key),
            pin,
            is_new: false,
            warnings: Vec::new(),
        }
    }
}

/// Reads an installed package. Returns `None` if it cannot be read. In this case, it is installed again.
async fn read_content(directory: PathBuf) -> Option<InstalledContent> {
    let read = blocking(move || {
        let contents = TreeContents::read(&directory)?;
        Ok(InstalledContent { hash: contents.hash(), commit: commit_of_checkout(&directory), contents })
    });
    match read.await {
        Ok(content) => Some(content),
        Err(error) => {
            tracing::warn!(%error, "an installed module cannot be read, and is installed again");
            None
        }
    }
}
