//! Installs the modules that a configuration calls.
//!
//! For each call, the installer decides in this order:
//!
//! 1. An installed module is kept if its source is the same, its version is accepted, its directory
//!    exists and its content has the pinned hash. With [`InstallMode::Upgrade`], no module is kept.
//! 2. A pinned package is taken from the cache without any request, if the cache contains it.
//! 3. The package is fetched into the cache, and its hash is compared with the pin.
//! 4. The package is copied from the cache to a temporary directory next to its target, its hash is
//!    computed again from the copied files, and the directory is renamed.
//!
//! Calls are processed concurrently, but a package that several calls need is fetched once.

mod existing;
mod placement;
mod registry_package;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use tokio::sync::OnceCell;
use wardian_address::{Constraints, Version};
use wardian_download::{Downloader, NetworkAccess};
use wardian_module_source::{
    ModulePin, ModulePins, ModuleSource, PackageLocation, PackageSubdirectory, RemoteModuleSource,
    RemotePackage,
};
use wardian_oci::OciClient;
use wardian_registry::RegistryClient;
use wardian_registry::modules::ModuleVersions;

use crate::cache::{EntryLock, ModuleCache, ModuleCacheError, PackageRecord, lock_file};
use crate::error::{InstallProblem, ModuleInstallError, ModuleInstallWarning};
use crate::fetch::{PackageFetcher, Referral};
use crate::getters::gcs::GcsSettings;
use crate::getters::s3::S3Settings;
use crate::manifest::{ManifestRecord, ModuleManifest, with_slashes};
use crate::observer::ModuleObserver;
use crate::package_error::PackageError;
use crate::programs::ProgramRunner;

/// The number of modules that are installed at the same time.
const CONCURRENT_MODULES: usize = 8;

/// The packages that may be installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModuleTrust {
    /// Any package.
    #[default]
    Trusted,
    /// Only pinned packages are installed, and no program is run. For untrusted configurations.
    OnlyPinned,
}

/// Whether installed modules and pins are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstallMode {
    #[default]
    Keep,
    /// All packages are fetched again, and their new content is pinned.
    Upgrade,
}

/// The configuration of an installer.
pub struct ModuleInstallerOptions {
    /// The root module's directory: absolute.
    pub root: PathBuf,
    /// The directory of installed modules, in the form that the manifest contains: relative to the
    /// root module's directory, or absolute. It is `.terraform/modules` by default.
    pub directory: PathBuf,
    pub cache: ModuleCache,
    pub downloader: Downloader,
    pub network: NetworkAccess,
    pub registry: RegistryClient,
    pub oci: OciClient,
    pub s3: S3Settings,
    pub gcs: GcsSettings,
    /// The environment of this process. `git` and `hg` receive some of its variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Time limit of one run of a program.
    pub program_time: Duration,
    pub pins: ModulePins,
    pub trust: ModuleTrust,
    pub mode: InstallMode,
    pub observer: Arc<dyn ModuleObserver>,
}

/// A module call whose module is to be installed. Local modules are not installed.
#[derive(Clone, Debug)]
pub struct ModuleCallRequest {
    /// The names of the module calls on the path to the module, separated by dots.
    pub key: String,
    pub source: ModuleSource,
    /// The accepted versions. Without constraints, every release is accepted.
    pub constraints: Constraints,
    /// The position of the call, such as `main.tf:1`.
    pub origin: String,
}

/// A module that is installed in its directory.
#[derive(Clone, Debug)]
pub struct ModuleInstallation {
    pub key: String,
    /// The full address, in the form that the manifest contains.
    pub source: String,
    /// The version, if the module is from a registry.
    pub version: Option<Version>,
    /// The directory of the module, relative to the root module's directory or absolute.
    pub directory: PathBuf,
    /// The root of the package that contains the module. Local module calls must not lead out of it.
    pub package_directory: PathBuf,
    /// The pin of the package. Packages on this machine have no pin.
    pub pin: Option<ModulePin>,
    /// Whether this run has installed the module.
    pub is_new: bool,
    pub warnings: Vec<ModuleInstallWarning>,
}

/// Installs modules in the directory of one root module. The directory is locked as long as this
/// value exists.
pub struct ModuleInstaller {
    options: InstallerState,
    fetcher: PackageFetcher,
    registry: RegistryClient,
    manifest: Mutex<ModuleManifest>,
    /// The pins that this run has found.
    new_pins: Mutex<ModulePins>,
    /// The directories on this machine to which links were created.
    linked: Mutex<HashSet<PathBuf>>,
    packages: OnceMap<PackageRecord>,
    versions: OnceMap<Arc<ModuleVersions>>,
    _lock: EntryLock,
}

/// The options that are used after the installer was created.
struct InstallerState {
    root: PathBuf,
    directory: PathBuf,
    pins: ModulePins,
    trust: ModuleTrust,
    mode: InstallMode,
    observer: Arc<dyn ModuleObserver>,
}

/// Values that are computed once, by key.
struct OnceMap<T>(Mutex<HashMap<String, Arc<OnceCell<T>>>>);

impl<T: Clone> OnceMap<T> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    async fn get_or_try_init<E>(
        &self,
        key: &str,
        compute: impl AsyncFnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let cell = Arc::clone(lock(&self.0).entry(key.to_owned()).or_default());
        cell.get_or_try_init(|| compute()).await.cloned()
    }

    fn forget_all(&self) {
        lock(&self.0).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A package that is installed for a call.
struct ChosenPackage {
    record: PackageRecord,
    /// The name of the package in its pin.
    package: String,
    version: Option<Version>,
    /// The directory of the module in the package.
    subdirectory: PackageSubdirectory,
    warnings: Vec<ModuleInstallWarning>,
}

impl ChosenPackage {
    fn pin(&self) -> ModulePin {
        ModulePin {
            package: self.package.clone(),
            version: self.version.clone(),
            hash: self.record.hash,
            commit: self.record.commit.clone(),
        }
    }
}

impl ModuleInstaller {
    /// Prepares an installation: creates the directory of modules, locks it, and reads the
    /// manifest. Waits while another process installs modules in the directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or locked.
    pub async fn open(options: ModuleInstallerOptions) -> Result<Self, ModuleCacheError> {
        let path = options.root.join(&options.directory);
        let failed = |error| ModuleCacheError::new(&path, error);
        std::fs::create_dir_all(&path).map_err(failed)?;
        let lock = lock_file(&path, || options.observer.waiting(&options.directory)).await.map_err(failed)?;
        placement::remove_abandoned(&path);
        let manifest = ModuleManifest::read(&path);
        let runner = match options.trust {
            ModuleTrust::Trusted => Some(ProgramRunner::new(&options.environment, options.program_time)),
            ModuleTrust::OnlyPinned => None,
        };
        Ok(Self {
            fetcher: PackageFetcher {
                cache: options.cache,
                downloader: options.downloader,
                network: options.network,
                runner,
                oci: options.oci,
                s3: options.s3,
                gcs: options.gcs,
            },
            registry: options.registry,
            options: InstallerState {
                root: options.root,
                directory: options.directory,
                pins: options.pins,
                trust: options.trust,
                mode: options.mode,
                observer: options.observer,
            },
            manifest: Mutex::new(manifest),
            new_pins: Mutex::default(),
            linked: Mutex::default(),
            packages: OnceMap::new(),
            versions: OnceMap::new(),
            _lock: lock,
        })
    }

    /// Installs the modules of several calls. The results are in the order of the calls.
    pub async fn install_all(
        &self,
        calls: Vec<ModuleCallRequest>,
    ) -> Vec<Result<ModuleInstallation, ModuleInstallError>> {
        let mut results: Vec<Option<Result<ModuleInstallation, ModuleInstallError>>> = Vec::new();
        // Installed modules are checked first and in order, since they determine the pins of packages
        // that are not pinned yet.
        for call in &calls {
            let result = self.keep_existing(call).await.map_err(|problem| wrap(call, problem)).transpose();
            results.push(result);
        }
        let missing = calls.iter().enumerate().filter(|(index, _)| matches!(results.get(*index), Some(None)));
        let installations: Vec<_> = missing
            .map(|(index, call)| async move {
                (index, self.install(call).await.map_err(|problem| wrap(call, problem)))
            })
            .collect();
        let installed: Vec<(usize, Result<ModuleInstallation, ModuleInstallError>)> =
            futures::stream::iter(installations).buffered(CONCURRENT_MODULES).collect().await;
        for (index, result) in installed {
            if let Some(place) = results.get_mut(index) {
                *place = Some(result);
            }
        }
        results.into_iter().flatten().collect()
    }

    /// Returns the pins of the packages that this run has installed or kept.
    pub fn pins(&self) -> ModulePins {
        lock(&self.new_pins).clone()
    }

    /// Adds the records of local modules and writes the manifest. Call this when all modules are
    /// installed. Returns the records of local modules that are new or changed or, if modules are
    /// upgraded, the records of all local modules.
    ///
    /// # Errors
    /// Returns an error if the manifest cannot be written.
    pub fn finish(&self, local: Vec<ManifestRecord>) -> Result<Vec<ManifestRecord>, ModuleCacheError> {
        let path = self.path();
        let before = ModuleManifest::read(&path);
        let mut manifest = lock(&self.manifest);
        manifest.insert(ManifestRecord::root());
        let is_upgrade = self.options.mode == InstallMode::Upgrade;
        let mut new = Vec::new();
        for record in local {
            if is_upgrade || before.get(&record.key) != Some(&record) {
                new.push(record.clone());
            }
            manifest.insert(record);
        }
        if *manifest != before {
            manifest.write(&path).map_err(|error| ModuleCacheError::new(&path, error))?;
        }
        Ok(new)
    }

    /// Returns the directory of installed modules.
    fn path(&self) -> PathBuf {
        self.options.root.join(&self.options.directory)
    }

    async fn install(&self, call: &ModuleCallRequest) -> Result<ModuleInstallation, InstallProblem> {
        if call.key.is_empty() || call.key.starts_with('.') || call.key.contains(['/', '\0']) {
            return Err(InstallProblem::Key);
        }
        if let ModuleSource::Remote(source) = &call.source
            && let Ok(PackageLocation::File(location)) = source.package.location()
            && location.archive.format.is_none()
        {
            return self.install_local_package(call, source, &location).await;
        }
        let chosen = self.choose_package(call).await?;
        if let Some(installation) = self.install_package(call, &chosen).await? {
            return Ok(installation);
        }
        // The cached package was damaged or removed, so it is fetched again.
        self.packages.forget_all();
        let chosen = self.choose_package(call).await?;
        self.install_package(call, &chosen)
            .await?
            .ok_or_else(|| InstallProblem::download(&call.source.to_string(), PackageError::CacheChanged))
    }

    async fn choose_package(&self, call: &ModuleCallRequest) -> Result<ChosenPackage, InstallProblem> {
        match &call.source {
            ModuleSource::Local(_) => Err(InstallProblem::Key),
            ModuleSource::Registry(source) => self.choose_registry_package(call, source).await,
            ModuleSource::Remote(source) => self.choose_remote_package(call, source).await,
        }
    }

    async fn choose_remote_package(
        &self,
        call: &ModuleCallRequest,
        source: &RemoteModuleSource,
    ) -> Result<ChosenPackage, InstallProblem> {
        let shown = source.package.to_string();
        self.options.observer.downloading(&call.key, &shown, None);
        let package = source.package.without_secrets();
        let is_on_this_machine = is_on_this_machine(&source.package);
        let pin = self.pin(&package, None).filter(|_| !is_on_this_machine);
        if pin.is_none() && self.options.trust == ModuleTrust::OnlyPinned {
            return Err(InstallProblem::NotPinned { package: shown });
        }
        let record = match pin.as_ref().and_then(|pin| self.record_of_pin(pin)) {
            Some(record) => record,
            None => {
                let pinned = pin.as_ref().and_then(|pin| pin.commit.as_ref());
                let fetch = async || self.fetcher.fetch(&source.package, pinned, Referral::default()).await;
                let key = source.package.full_address();
                self.packages
                    .get_or_try_init(key, fetch)
                    .await
                    .map_err(|source| InstallProblem::download(&shown, source))?
            }
        };
        check_pin(&shown, pin.as_ref(), &record)?;
        let subdirectory = source.subdirectory.clone();
        Ok(ChosenPackage { record, package, version: None, subdirectory, warnings: Vec::new() })
    }

    /// Returns the pin of a package from the lock file or, if the lock file has none, from this run.
    fn pin(&self, package: &str, version: Option<&Version>) -> Option<ModulePin> {
        let new = lock(&self.new_pins).get(package, version).cloned();
        match self.options.mode {
            InstallMode::Keep => self.options.pins.get(package, version).cloned().or(new),
            InstallMode::Upgrade => new,
        }
    }

    /// Returns the record of a pinned package, if the cache contains it.
    fn record_of_pin(&self, pin: &ModulePin) -> Option<PackageRecord> {
        self.fetcher.cache.has_tree(&pin.hash).then(|| PackageRecord {
            hash: pin.hash,
            commit: pin.commit.clone(),
            subdirectory: String::new(),
        })
    }

    /// Adds a manifest record and returns the installation.
    fn record(
        &self,
        call: &ModuleCallRequest,
        chosen: Option<&ChosenPackage>,
        inner: &Path,
    ) -> ModuleInstallation {
        let package_directory = self.options.directory.join(&call.key);
        let directory = if inner.as_os_str().is_empty() {
            package_directory.clone()
        } else {
            package_directory.join(inner)
        };
        let version = chosen.and_then(|chosen| chosen.version.clone());
        let record = ManifestRecord {
            key: call.key.clone(),
            source: call.source.full_address(),
            version: version.clone(),
            directory: with_slashes(&directory),
        };
        {
            let mut manifest = lock(&self.manifest);
            manifest.remove(&call.key);
            manifest.insert(record);
        }
        let pin = chosen.map(ChosenPackage::pin);
        if let Some(pin) = &pin {
            lock(&self.new_pins).insert(pin.clone());
        }
        self.options.observer.installed(&call.key, &directory);
        ModuleInstallation {
            key: call.key.clone(),
            source: call.source.full_address(),
            version,
            directory,
            package_directory,
            pin,
            is_new: true,
            warnings: chosen.map(|chosen| chosen.warnings.clone()).unwrap_or_default(),
        }
    }
}

fn wrap(call: &ModuleCallRequest, problem: InstallProblem) -> ModuleInstallError {
    ModuleInstallError { key: call.key.clone(), origin: call.origin.clone(), problem: Box::new(problem) }
}

/// Compares a package with its pin.
fn check_pin(package: &str, pin: Option<&ModulePin>, record: &PackageRecord) -> Result<(), InstallProblem> {
    match pin {
        Some(pin) if pin.hash != record.hash => Err(InstallProblem::ContentChanged {
            package: package.to_owned(),
            pinned: pin.hash,
            found: record.hash,
        }),
        _ => Ok(()),
    }
}

/// Returns whether a package is on this machine. Such a package is not pinned, since the user may
/// change it at any time.
fn is_on_this_machine(package: &RemotePackage) -> bool {
    matches!(package.location(), Ok(PackageLocation::File(_)))
}
