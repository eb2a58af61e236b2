//! Selects a version of a module in a registry, and fetches the package of that version.

use std::sync::Arc;

use wardian_address::{Constraints, Version};
use wardian_module_source::{
    ModulePin, PackageSubdirectory, RegistryModuleAddress, RegistryModuleSource, RemoteModuleSource,
    printable_address,
};
use wardian_registry::ServiceHost;
use wardian_registry::modules::{ModuleLocation, ModuleVersions, RegistryModule};

use super::{ChosenPackage, InstallMode, ModuleCallRequest, ModuleInstaller, ModuleTrust, check_pin};
use crate::cache::{PackageKey, PackageRecord};
use crate::error::{InstallProblem, ModuleInstallWarning};
use crate::fetch::Referral;
use crate::package_error::PackageError;

/// The identifier of the service in service discovery.
const MODULE_SERVICE: &str = "modules.v1";

impl ModuleInstaller {
    pub(super) async fn choose_registry_package(
        &self,
        call: &ModuleCallRequest,
        source: &RegistryModuleSource,
    ) -> Result<ChosenPackage, InstallProblem> {
        let address = &source.module;
        let mut warnings = Vec::new();
        let version = match self.pinned_version(address, &call.constraints) {
            Some(version) => version,
            None if self.options.trust == ModuleTrust::OnlyPinned => {
                return Err(InstallProblem::NotPinned { package: address.to_string() });
            }
            None => self.newest_version(address, call, &mut warnings).await?,
        };
        self.options.observer.downloading(&call.key, &address.for_display(), Some(&version));
        let package = address.to_string();
        let pin = self.pin(&package, Some(&version));
        let key = format!("{package} {version}");
        let fetch = async || self.fetch_registry_package(address, &version, pin.as_ref()).await;
        let record = self.packages.get_or_try_init(&key, fetch).await?;
        check_pin(&format!("{} {version}", address.for_display()), pin.as_ref(), &record)?;
        let outer = PackageSubdirectory::parse(&record.subdirectory).unwrap_or_default();
        let subdirectory = outer.join(&source.subdirectory);
        Ok(ChosenPackage { record, package, version: Some(version), subdirectory, warnings })
    }

    /// Returns the newest pinned version that a call accepts.
    pub(super) fn pinned_version(
        &self,
        address: &RegistryModuleAddress,
        constraints: &Constraints,
    ) -> Option<Version> {
        if self.options.mode == InstallMode::Upgrade {
            return None;
        }
        let package = address.to_string();
        self.options.pins.versions(&package).rfind(|version| constraints.accepts(version)).cloned()
    }

    async fn newest_version(
        &self,
        address: &RegistryModuleAddress,
        call: &ModuleCallRequest,
        warnings: &mut Vec<ModuleInstallWarning>,
    ) -> Result<Version, InstallProblem> {
        let module = registry_module(address)?;
        let request = async || self.registry.module_versions(&module).await.map(Arc::new);
        let listed: Arc<ModuleVersions> =
            self.versions.get_or_try_init(&address.to_string(), request).await?;
        warnings.extend(listed.ignored.iter().map(|version| ModuleInstallWarning::IgnoredVersion {
            host: address.host().to_owned(),
            key: call.key.clone(),
            version: version.clone(),
        }));
        if let Some(version) = call.constraints.newest(&listed.versions) {
            return Ok(version.clone());
        }
        let newest = listed.versions.iter().rfind(|version| version.pre.is_empty());
        let module = address.for_display();
        Err(match newest.or_else(|| listed.versions.last().filter(|_| !call.constraints.is_empty())) {
            Some(newest) => InstallProblem::UnresolvableVersion { module, newest: newest.clone() },
            None => InstallProblem::NoVersions { module, host: address.host().to_owned() },
        })
    }

    /// Returns whether the registry of a module is accessed over TLS. The CLI configuration can
    /// specify a registry without TLS.
    async fn is_registry_encrypted(&self, address: &RegistryModuleAddress) -> bool {
        let Ok(host) = ServiceHost::parse(address.host()) else { return true };
        let services = self.registry.services(&host).await;
        let url = services.ok().and_then(|services| services.url(MODULE_SERVICE).ok());
        url.is_none_or(|url| url.scheme() == "https")
    }

    /// Fetches the package of a version. The package is cached, since versions do not change; only
    /// an upgrade fetches it again.
    async fn fetch_registry_package(
        &self,
        address: &RegistryModuleAddress,
        version: &Version,
        pin: Option<&ModulePin>,
    ) -> Result<PackageRecord, InstallProblem> {
        let cache = &self.fetcher.cache;
        let key = PackageKey::new("registry", &address.to_string(), &version.to_string());
        let is_pinned = |record: &PackageRecord| pin.is_none_or(|pin| pin.hash == record.hash);
        if self.options.mode == InstallMode::Keep
            && let Some(record) = cache.record(&key).filter(is_pinned)
        {
            return Ok(record);
        }
        let module = registry_module(address)?;
        let shown = format!("{} {version}", address.for_display());
        let failed = |source: PackageError| InstallProblem::download(&shown, source);
        let record = match self.registry.module_location(&module, version).await? {
            ModuleLocation::Source(location) => {
                let source = RemoteModuleSource::parse(&location).map_err(|source| {
                    InstallProblem::PackageLocation {
                        host: address.host().to_owned(),
                        location: printable_address(&location),
                        module: address.for_display(),
                        version: version.clone(),
                        source,
                    }
                })?;
                let subdirectory = source.subdirectory.to_string();
                match pin.and_then(|pin| self.record_of_pin(pin)) {
                    Some(record) => PackageRecord { subdirectory, ..record },
                    None => {
                        let pinned = pin.and_then(|pin| pin.commit.as_ref());
                        let referral = Referral::from_server(self.is_registry_encrypted(address).await);
                        let package = source.package.to_string();
                        let record = self.fetcher.fetch(&source.package, pinned, referral).await;
                        let record = record.map_err(|source| {
                            let registry = Some(address.host().to_owned());
                            InstallProblem::Download { package, registry, source }
                        })?;
                        PackageRecord { subdirectory, ..record }
                    }
                }
            }
            ModuleLocation::Archive { url, uses_registry_credentials } => {
                match pin.and_then(|pin| self.record_of_pin(pin)) {
                    Some(record) => record,
                    None => {
                        let request = self
                            .registry
                            .module_archive_request(&module, url.clone(), uses_registry_credentials)
                            .await
                            .map_err(|error| InstallProblem::RegistryAddress {
                                module: address.for_display(),
                                reason: error.to_string(),
                            })?;
                        let archives = self.fetcher.archives(&shown);
                        let hash = archives.fetch(request, &url, None, None).await.map_err(failed)?;
                        PackageRecord { hash, commit: None, subdirectory: String::new() }
                    }
                }
            }
        };
        check_pin(&shown, pin, &record)?;
        cache.write_record(&key, &record).map_err(|error| failed(error.into()))?;
        Ok(record)
    }
}

fn registry_module(address: &RegistryModuleAddress) -> Result<RegistryModule, InstallProblem> {
    let wrong = |reason: String| InstallProblem::RegistryAddress { module: address.for_display(), reason };
    let host = ServiceHost::parse(address.host()).map_err(|error| wrong(error.to_string()))?;
    RegistryModule::new(host, address.namespace(), address.name(), address.system())
        .map_err(|error| wrong(error.to_string()))
}
