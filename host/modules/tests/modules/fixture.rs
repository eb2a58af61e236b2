//! Code that the tests share: a root module, a cache, and installers for them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use wardian_address::{ConstraintDialect, Constraints, Version};
use wardian_download::{Downloader, DownloaderOptions, Netrc, NetworkAccess};
use wardian_module_source::{ModulePins, ModuleSource};
use wardian_modules::{
    GcsSettings, InstallMode, ManifestRecord, ModuleCache, ModuleCallRequest, ModuleInstallError,
    ModuleInstallation, ModuleInstaller, ModuleInstallerOptions, ModuleObserver, ModuleTrust, S3Settings,
    downloading_line, installed_line,
};
use wardian_oci::{OciClient, OciClientOptions, OciCredentials, PlainHttpRegistries};
use wardian_registry::credentials::Credentials;
use wardian_registry::services::ServiceTable;
use wardian_registry::{RegistryClient, RegistryClientOptions, ServiceHost};

use crate::repositories::write_file;

/// The time after which a test fails instead of waiting.
const TEST_TIME: Duration = Duration::from_mins(4);

/// A directory with a root module and a cache.
pub(crate) struct Fixture {
    pub(crate) place: tempfile::TempDir,
    pub(crate) settings: Settings,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

/// The settings of the next installers.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) mode: InstallMode,
    pub(crate) trust: ModuleTrust,
    pub(crate) network: NetworkAccess,
    pub(crate) pins: ModulePins,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) netrc: String,
    pub(crate) s3: S3Settings,
    pub(crate) gcs: GcsSettings,
    /// The hosts of module registries and their URLs.
    pub(crate) registries: BTreeMap<String, String>,
    /// The name of the root module's directory, and of the cache.
    pub(crate) root: &'static str,
    pub(crate) cache: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: InstallMode::Keep,
            trust: ModuleTrust::Trusted,
            network: NetworkAccess::Online,
            pins: ModulePins::default(),
            environment: Vec::new(),
            netrc: String::new(),
            s3: S3Settings::default(),
            gcs: GcsSettings::default(),
            registries: BTreeMap::new(),
            root: "root",
            cache: "cache",
        }
    }
}

struct Lines(Arc<Mutex<Vec<String>>>);

impl ModuleObserver for Lines {
    fn downloading(&self, key: &str, package: &str, version: Option<&Version>) {
        self.0.lock().unwrap().push(downloading_line(key, package, version));
    }

    fn installed(&self, key: &str, directory: &Path) {
        self.0.lock().unwrap().push(installed_line(key, directory));
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        Self { place, settings: Settings::default(), lines: Arc::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path(self.settings.root)
    }

    /// Returns the path of a file in the directory of installed modules.
    pub(crate) fn module(&self, name: &str) -> PathBuf {
        self.root().join(".terraform/modules").join(name)
    }

    pub(crate) fn cache(&self) -> ModuleCache {
        ModuleCache::open(&self.path(self.settings.cache)).unwrap()
    }

    pub(crate) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }

    pub(crate) fn options(&self) -> ModuleInstallerOptions {
        let settings = &self.settings;
        fs::create_dir_all(self.root()).unwrap();
        let downloader = Downloader::new(DownloaderOptions {
            network: settings.network,
            netrc: Netrc::parse(&settings.netrc).unwrap(),
            retries: 0,
            ..DownloaderOptions::default()
        });
        let services = settings.registries.iter().map(|(host, url)| {
            let table: ServiceTable = BTreeMap::from([("modules.v1".to_owned(), json!(url))]);
            (ServiceHost::parse(host).unwrap(), table)
        });
        let registry = RegistryClient::new(RegistryClientOptions {
            downloader: downloader.clone(),
            credentials: Arc::new(Credentials::default()),
            services: services.collect(),
            terraform_version: "1.11.4".to_owned(),
        });
        let oci = OciClient::new(OciClientOptions {
            downloader: downloader.clone(),
            credentials: OciCredentials::default(),
            plain_http: PlainHttpRegistries::default(),
        });
        let home = self.path("home");
        fs::create_dir_all(&home).unwrap();
        let mut environment: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), home.into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        environment.extend(settings.environment.iter().map(|(name, value)| (name.into(), value.into())));
        ModuleInstallerOptions {
            root: self.root(),
            directory: ".terraform/modules".into(),
            cache: self.cache(),
            downloader,
            network: settings.network,
            registry,
            oci,
            s3: settings.s3.clone(),
            gcs: settings.gcs.clone(),
            environment,
            program_time: Duration::from_mins(2),
            pins: settings.pins.clone(),
            trust: settings.trust,
            mode: settings.mode,
            observer: Arc::new(Lines(Arc::clone(&self.lines))),
        }
    }

    /// Installs modules, and writes the manifest if all of them are installed. The next installer
    /// uses the resulting pins.
    pub(crate) async fn install_all(
        &mut self,
        calls: &[ModuleCallRequest],
    ) -> Vec<Result<ModuleInstallation, ModuleInstallError>> {
        let installation = async {
            let installer = ModuleInstaller::open(self.options()).await.unwrap();
            let results = installer.install_all(calls.to_vec()).await;
            if results.iter().all(Result::is_ok) {
                installer.finish(Vec::new()).unwrap();
            }
            (results, installer.pins())
        };
        let (results, pins) = within(installation).await;
        if results.iter().all(Result::is_ok) {
            self.settings.pins = pins;
        }
        results
    }

    /// Installs one module `m`.
    pub(crate) async fn install(&mut self, source: &str) -> Result<ModuleInstallation, ModuleInstallError> {
        self.install_all(&[call("m", source)]).await.pop().unwrap()
    }

    /// Installs one module `m`, which must fail. Returns the summary and the detail.
    #[track_caller]
    pub(crate) fn failure(result: Result<ModuleInstallation, ModuleInstallError>) -> (&'static str, String) {
        let error = result.expect_err("the installation succeeded");
        (error.summary(), error.to_string())
    }

    /// Asserts that the directory of installed modules contains no files of a failed installation.
    #[track_caller]
    pub(crate) fn assert_nothing_installed(&self) {
        let names: Vec<_> = fs::read_dir(self.module(""))
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(names.is_empty(), "{names:?}");
    }

    pub(crate) fn manifest(&self) -> String {
        fs::read_to_string(self.module("modules.json")).unwrap_or_default()
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        write_file(&self.path(name), content);
    }
}

/// Limits the time of a test.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIME, future).await.expect("the test takes too long")
}

pub(crate) fn call(key: &str, source: &str) -> ModuleCallRequest {
    versioned_call(key, source, "")
}

pub(crate) fn versioned_call(key: &str, source: &str, constraints: &str) -> ModuleCallRequest {
    let constraints = if constraints.is_empty() {
        Constraints::default()
    } else {
        Constraints::parse(constraints, ConstraintDialect::Module).unwrap()
    };
    ModuleCallRequest {
        key: key.to_owned(),
        source: ModuleSource::parse(source).unwrap_or_else(|error| panic!("{source}: {error}")),
        constraints,
        origin: "main.tf:1".to_owned(),
    }
}

/// Returns the paths and contents of the files in a directory, without the metadata of repositories.
pub(crate) fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(current) = waiting.pop() {
        for entry in fs::read_dir(&current).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            if name.split('/').any(|part| matches!(part, ".git" | ".hg")) {
                continue;
            }
            match fs::read_link(&path) {
                Ok(target) => drop(found.insert(name, format!("-> {}", target.display()))),
                Err(_) if path.is_dir() => waiting.push(path),
                Err(_) => drop(found.insert(name, fs::read_to_string(&path).unwrap())),
            }
        }
    }
    found
}

/// Returns the record of a local module for the manifest.
pub(crate) fn local_record(key: &str, source: &str, directory: &str) -> ManifestRecord {
    ManifestRecord { key: key.into(), source: source.into(), version: None, directory: directory.into() }
}
