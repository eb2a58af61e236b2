//! Installs the modules that a configuration calls, for `init` and `get`.
//!
//! The configuration is loaded level by level: a module must be in its directory before the modules
//! that it calls are known. Each load parses all files that were read, so the cost is the number of
//! levels of installed modules times the cost of parsing. All calls of one level are installed
//! concurrently.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use wardian_archive::{CopyOptions, copy_tree};
use wardian_config::{
    Configuration, InstalledModule, InstalledModules, LoadedRoot, MissingModule, Module, load_tests,
};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_module_source::{ModulePins, ModuleSource};
use wardian_modules::{
    GcsSettings, InstallMode, MAX_PROGRAM_TIME, ManifestRecord, ModuleCache, ModuleCacheError,
    ModuleCallRequest, ModuleInstallError, ModuleInstallation, ModuleInstaller, ModuleInstallerOptions,
    ModuleObserver, ModuleTrust, S3Settings,
};

use crate::consent_lock;
use crate::context::AppContext;
use crate::error::{AppError, sentence};
use crate::host_network::HostNetwork;
use crate::module_manifest;
use crate::test_suite::{ConfigurationTests, DEFAULT_TEST_DIRECTORY, LoadedSuite};

/// The key under which the module of `init -from-module` is fetched.
const FROM_MODULE_KEY: &str = "from-module";

/// The settings for installing modules.
pub struct ModuleOptions<'a> {
    pub network: &'a HostNetwork,
    pub mode: InstallMode,
    pub observer: Arc<dyn ModuleObserver>,
    /// Whether the list of modules is written even if the configuration calls none.
    pub writes_empty_manifest: bool,
    /// The directory of the test files whose modules are also installed.
    pub test_directory: Option<&'a Path>,
}

/// A configuration whose modules are installed.
pub struct InstalledConfiguration {
    pub configuration: Arc<Configuration>,
    /// The test files, if their modules were also installed.
    pub tests: ConfigurationTests,
    /// The pins of all packages that the configuration uses, for the lock file.
    pub pins: ModulePins,
    /// The records of local modules that are new or changed, or of all local modules if modules are
    /// upgraded.
    pub local_modules: Vec<ManifestRecord>,
}

/// Loads the root module's blocks, although modules that it calls may not be installed.
///
/// # Errors
/// Returns an error if the root module has errors.
pub fn root_module(context: &AppContext) -> Result<Arc<Module>, AppError> {
    let installed = module_manifest::read_installed_modules(&context.data_directory());
    match context.load_with(&installed) {
        LoadedRoot::Complete(configuration) => Ok(Arc::clone(&configuration.root().module)),
        LoadedRoot::Incomplete { root: Some(root), problems, .. } if !problems.has_errors() => Ok(root),
        LoadedRoot::Incomplete { problems, .. } | LoadedRoot::Invalid(problems) => Err(problems.into()),
    }
}

/// Returns true if a run of a test file executes another module than the root module. Errors in test
/// files are ignored: [`install`] reports them.
pub fn has_run_modules(context: &AppContext, test_directory: Option<&Path>) -> bool {
    let test_directory = test_directory.unwrap_or(Path::new(DEFAULT_TEST_DIRECTORY));
    let mut problems = Diagnostics::new();
    let tests = context.with_files(|files| load_tests(files, Path::new("."), test_directory, &mut problems));
    tests.files.values().flat_map(|file| &file.runs).any(|run| run.module.is_some())
}

/// Installs the modules that the configuration calls, and loads the configuration with them. Writes
/// the list of modules, but not the pins.
///
/// # Errors
/// Returns all errors in the configuration and all installation errors.
pub async fn install(
    context: &AppContext,
    options: ModuleOptions<'_>,
) -> Result<InstalledConfiguration, AppError> {
    let pins = consent_lock::load(&context.directory)?.modules;
    let mode = options.mode;
    let mut installed = InstalledModules::default();
    let mut installer: Option<ModuleInstaller> = None;
    let (configuration, tests, warnings) = loop {
        let loaded = match options.test_directory {
            Some(test_directory) => context.load_suite(Path::new("."), test_directory, &installed),
            None => LoadedSuite::without_tests(context.load_with(&installed)),
        };
        let missing: Vec<MissingModule> = loaded.missing().cloned().collect();
        // A module that was installed but cannot be read would otherwise be installed repeatedly.
        let was_installed = |module: &MissingModule| installed.get(&module.key()).is_some();
        if missing.is_empty() || loaded.has_errors() || missing.iter().any(was_installed) {
            break loaded.into_result()?;
        }
        let installer = match &installer {
            Some(installer) => installer,
            None => installer.insert(open(context, &options, pins.clone()).await?),
        };
        install_level(context, installer, missing, &mut installed).await?;
    };
    let mut records = module_manifest::records(&configuration, &installed);
    records.extend(module_manifest::test_records(&tests, &installed));
    records.sort_by(|one, other| one.key.cmp(&other.key));
    let (new_pins, local_modules) = match installer {
        Some(installer) => {
            let local = records.into_iter().filter(is_local).collect();
            let changed = installer.finish(local).map_err(|error| manifest_error(&error))?;
            (installer.pins(), changed)
        }
        None => {
            let all: Vec<ManifestRecord> =
                records.iter().filter(|record| is_local(record)).cloned().collect();
            let has_calls = !all.is_empty();
            let new = if has_calls || options.writes_empty_manifest {
                module_manifest::save(records, &context.data_directory())?
            } else {
                Vec::new()
            };
            let changed = if mode == InstallMode::Upgrade { all } else { new };
            (ModulePins::default(), changed)
        }
    };
    let configuration = context.accept_loaded(configuration)?;
    context.frontend.warn(&warnings);
    Ok(InstalledConfiguration { configuration, tests, pins: new_pins, local_modules })
}

fn is_local(record: &ManifestRecord) -> bool {
    !record.key.is_empty() && (record.source.starts_with("./") || record.source.starts_with("../"))
}

async fn open(
    context: &AppContext,
    options: &ModuleOptions<'_>,
    pins: ModulePins,
) -> Result<ModuleInstaller, AppError> {
    let environment = &context.environment;
    let cloud = environment.module_credentials();
    let data_directory = context.data_directory();
    let cache = match environment.cache_directory() {
        Some(directory) => directory.join("modules"),
        None => context.directory.join(&data_directory).join("module-cache"),
    };
    let cache = ModuleCache::open(&cache).map_err(|error| cache_error(&error))?;
    let variables = environment.all().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let s3 = S3Settings {
        access_key_id: cloud.aws_access_key_id,
        secret_access_key: cloud.aws_secret_access_key,
        session_token: cloud.aws_session_token,
        profile: cloud.aws_profile,
        credentials_file: cloud.aws_credentials_file,
        config_file: cloud.aws_config_file,
        endpoint: None,
        instance_metadata: None,
    };
    let gcs = GcsSettings {
        access_token: cloud.google_access_token,
        credentials_file: cloud.google_credentials_file,
        endpoint: None,
    };
    let opened = ModuleInstaller::open(ModuleInstallerOptions {
        root: context.directory.clone(),
        directory: module_manifest::modules_directory(&data_directory),
        cache,
        downloader: options.network.downloader.clone(),
        network: options.network.access,
        registry: options.network.registry.clone(),
        oci: options.network.oci.clone(),
        s3,
        gcs,
        environment: variables.collect(),
        program_time: MAX_PROGRAM_TIME,
        pins,
        trust: if context.confinement.is_some() { ModuleTrust::OnlyPinned } else { ModuleTrust::Trusted },
        mode: options.mode,
        observer: Arc::clone(&options.observer),
    });
    opened.await.map_err(|error| cache_error(&error))
}

async fn install_level(
    context: &AppContext,
    installer: &ModuleInstaller,
    missing: Vec<MissingModule>,
    installed: &mut InstalledModules,
) -> Result<(), AppError> {
    let mut calls = Vec::new();
    for module in &missing {
        let source = ModuleSource::parse(&module.source)
            .map_err(|error| AppError::new("Invalid module source address", sentence(&error.to_string())))?;
        let constraints = module.version.as_ref().map(|(constraints, _)| constraints.clone());
        calls.push(ModuleCallRequest {
            key: module.key(),
            source,
            constraints: constraints.unwrap_or_default(),
            origin: format!("{}:{}", module.span.file.name(), module.span.start_position().line),
        });
    }
    let mut problems = Diagnostics::new();
    let mut warnings = Diagnostics::new();
    for (module, result) in missing.iter().zip(installer.install_all(calls).await) {
        match result {
            Ok(installation) => {
                for warning in &installation.warnings {
                    warnings.push(Diagnostic::warning(warning.summary(), warning.to_string()));
                }
                if installation.directory.as_os_str().is_empty() {
                    continue;
                }
                let (key, module) = installed_module(installation);
                installed.insert(key, module);
            }
            Err(error) => problems.push(install_error(module, &error)),
        }
    }
    if !warnings.is_empty() {
        context.frontend.warn(&warnings);
    }
    Ok(problems.into_result(())?)
}

fn installed_module(installation: ModuleInstallation) -> (String, InstalledModule) {
    let module = InstalledModule {
        source: installation.source,
        version: installation.version,
        directory: installation.directory,
    };
    (installation.key, module)
}

fn install_error(module: &MissingModule, error: &ModuleInstallError) -> Diagnostic {
    Diagnostic::error(error.summary(), error.to_string()).at(module.span.clone()).in_block(module.context())
}

fn cache_error(error: &ModuleCacheError) -> AppError {
    AppError::new("Modules cannot be installed", sentence(&error.to_string()))
}

fn manifest_error(error: &ModuleCacheError) -> AppError {
    AppError::new("Failed to update module manifest", sentence(&error.to_string()))
}

/// Records the pins of modules, if they have changed. All other content of the lock file remains.
///
/// # Errors
/// Returns an error if the lock file cannot be read or written, or must not change.
pub fn record_pins(context: &AppContext, pins: &ModulePins, is_read_only: bool) -> Result<(), AppError> {
    let mut locked = consent_lock::load(&context.directory)?;
    if locked.modules == *pins {
        return Ok(());
    }
    if is_read_only {
        return Err(pins_changed());
    }
    locked.modules = pins.clone();
    consent_lock::save(&locked)
}

fn pins_changed() -> AppError {
    AppError::new(
        "Module pins would change",
        format!(
            "-lockfile=readonly prevents changes to {}, which does not pin all modules of the configuration. Run \
             `wardian init` without -lockfile=readonly, and commit the file to version control.",
            wardian_policy::CONSENT_LOCK_FILE_NAME
        ),
    )
}

/// Copies a module into the root module's directory, for `init -from-module`.
///
/// # Errors
/// Returns an error if the directory already contains a configuration, or the module cannot be
/// fetched or copied.
pub async fn copy_into_root(
    context: &AppContext,
    options: ModuleOptions<'_>,
    source: &str,
) -> Result<(), AppError> {
    let parsed = ModuleSource::parse(source)
        .map_err(|error| AppError::new("Invalid module source address", sentence(&error.to_string())))?;
    let is_empty = std::fs::read_dir(&context.directory).is_ok_and(|entries| {
        entries.flatten().all(|entry| entry.file_name().to_string_lossy().starts_with('.'))
    });
    if !is_empty {
        return Err(AppError::new(
            "The working directory already contains files",
            format!(
                "-from-module copies a module into an empty directory, but {} contains files.",
                context.directory.display()
            ),
        ));
    }
    let directory = match &parsed {
        ModuleSource::Local(local) => context.directory.join(local.as_path()),
        ModuleSource::Registry(_) | ModuleSource::Remote(_) => {
            let installer = open(context, &options, ModulePins::default()).await?;
            let call = ModuleCallRequest {
                key: FROM_MODULE_KEY.to_owned(),
                source: parsed,
                constraints: wardian_address::Constraints::default(),
                origin: String::new(),
            };
            let installed = installer.install_all(vec![call]).await.into_iter().next();
            let installed = installed.map(|result| match result {
                Ok(installation) => Ok(installation.directory),
                Err(error) => Err(AppError::new(error.summary(), error.to_string())),
            });
            let Some(directory) = installed.transpose()? else { return Ok(()) };
            context.directory.join(directory)
        }
    };
    let copied =
        copy_tree(&directory, &context.directory, CopyOptions { skips_hidden: true, uses_hard_links: false });
    let staged = context.directory.join(module_manifest::modules_directory(&context.data_directory()));
    // The package was needed only for the copy.
    let _ = std::fs::remove_dir_all(staged.join(FROM_MODULE_KEY));
    copied.map_err(|error| AppError::new("Failed to copy module", sentence(&error.to_string())))
}
