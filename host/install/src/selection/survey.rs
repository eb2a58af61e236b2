//! Collects the versions of one provider from all installation methods.

use std::collections::BTreeSet;

use wardian_address::{Constraints, ProviderAddress, Version};

use super::download::Downloads;
use super::errors::{KnownVersions, NeededVersion, SearchedSource, SelectionError, SourceRemark};
use crate::catalog::EmbeddedPlugin;
use crate::file_digests::FileDigests;
use crate::hash::PackageHash;
use crate::lock_file::LockEntry;
use crate::mirror::MirrorPackage;
use crate::network_source::{NetworkErrorKind, NetworkMethod, PackageAuthentication, PackageBundles};
use crate::package::{OpenedPackage, PluginOrigin};
use crate::sources::{InstallationMethodKind, Sources};

pub(super) struct Survey<'a> {
    /// The offers in the order of the methods.
    offers: Vec<Offer<'a>>,
    pub(super) searched: Vec<SearchedSource>,
    /// Warnings that registries publish.
    pub(super) warnings: Vec<String>,
}

/// An available version from one installation method.
pub(super) struct Offer<'a> {
    pub(super) version: Version,
    /// The position of the method.
    method: usize,
    package: OfferedPackage<'a>,
}

enum OfferedPackage<'a> {
    Embedded(&'a EmbeddedPlugin),
    Mirror(MirrorPackage),
    Network(&'a NetworkMethod),
}

/// An opened package with the results of its download.
pub(super) struct OpenedOffer {
    pub(super) package: OpenedPackage,
    /// The hashes of all packages of the release, if a signature authenticates them.
    pub(super) signed_hashes: BTreeSet<PackageHash>,
    /// The authentication of a downloaded package.
    pub(super) authentication: Option<PackageAuthentication>,
    /// The Sigstore bundles of a downloaded package.
    pub(super) bundles: Option<PackageBundles>,
}

impl OpenedOffer {
    pub(super) fn from_local(package: OpenedPackage) -> Self {
        Self { package, signed_hashes: BTreeSet::new(), authentication: None, bundles: None }
    }
}

impl<'a> Survey<'a> {
    /// Searches the local methods.
    pub(super) fn for_provider(
        address: &ProviderAddress,
        sources: &'a Sources<'_>,
    ) -> Result<Self, SelectionError> {
        let mut survey = Self { offers: Vec::new(), searched: Vec::new(), warnings: Vec::new() };
        for (position, method) in sources.methods_for(address).enumerate() {
            let (versions, remark) = match &method.kind {
                InstallationMethodKind::Embedded => {
                    (survey.add_embedded(address, position, sources), SourceRemark::None)
                }
                InstallationMethodKind::Filesystem(mirror) => {
                    let listing = mirror
                        .list(address, &sources.platform)
                        .map_err(|error| SelectionError::Mirror { address: address.clone(), error })?;
                    let versions = listing.packages.keys().cloned().collect();
                    survey.add_mirrored(listing.packages, position);
                    let others: Vec<Version> = listing.other_platforms.into_iter().collect();
                    let remark = if others.is_empty() {
                        SourceRemark::None
                    } else {
                        SourceRemark::OtherPlatformsOnly(others)
                    };
                    (versions, remark)
                }
                InstallationMethodKind::Directories(directories) => {
                    let listing = directories.list(address);
                    let versions = listing.keys().cloned().collect();
                    survey.add_mirrored(listing, position);
                    (versions, SourceRemark::None)
                }
                InstallationMethodKind::Network(_) => (Vec::new(), SourceRemark::NotSearched),
            };
            let is_network = matches!(method.kind, InstallationMethodKind::Network(_));
            let name = method.kind.to_string();
            survey.searched.push(SearchedSource { name, is_network, versions, remark });
        }
        Ok(survey)
    }

    fn add_embedded(
        &mut self,
        address: &ProviderAddress,
        method: usize,
        sources: &'a Sources<'_>,
    ) -> Vec<Version> {
        let mut versions = Vec::new();
        for plugin in sources.catalog.iter().filter(|plugin| plugin.address == *address) {
            versions.push(plugin.version.clone());
            let package = OfferedPackage::Embedded(plugin);
            self.offers.push(Offer { version: plugin.version.clone(), method, package });
        }
        versions
    }

    fn add_mirrored(&mut self, packages: impl IntoIterator<Item = (Version, MirrorPackage)>, method: usize) {
        let offer = |(version, package)| Offer { version, method, package: OfferedPackage::Mirror(package) };
        self.offers.extend(packages.into_iter().map(offer));
    }

    /// Searches the network methods.
    ///
    /// # Errors
    /// Returns an error if a server cannot be reached or its response is wrong.
    pub(super) async fn add_network(
        &mut self,
        address: &ProviderAddress,
        sources: &'a Sources<'_>,
        needed: impl FnOnce() -> NeededVersion,
    ) -> Result<(), SelectionError> {
        let Some(client) = &sources.network else { return Ok(()) };
        if self.has_unpackaged(address, sources) {
            return Ok(());
        }
        let methods = sources.methods.iter().filter(|method| method.scope.covers(address));
        for (position, method) in methods.enumerate() {
            let InstallationMethodKind::Network(method) = &method.kind else { continue };
            let (versions, remark) = match client.versions(method, address).await {
                Ok(listing) => {
                    self.warnings.extend(listing.warnings);
                    (listing.versions.into_iter().collect(), SourceRemark::None)
                }
                Err(error) if error.kind == NetworkErrorKind::NotFound => {
                    (Vec::new(), SourceRemark::NotFound { summary: error.summary, reason: error.detail })
                }
                Err(error) => {
                    let known = KnownVersions {
                        needed: needed(),
                        searched: std::mem::take(&mut self.searched),
                        similar: sources.catalog.similar(address).cloned(),
                    };
                    let known = Box::new(known);
                    return Err(SelectionError::Query { address: address.clone(), error, known });
                }
            };
            self.offers.extend(versions.iter().map(|version: &Version| Offer {
                version: version.clone(),
                method: position,
                package: OfferedPackage::Network(method),
            }));
            if let Some(searched) = self.searched.get_mut(position) {
                (searched.versions, searched.remark) = (versions, remark);
            }
        }
        self.offers.sort_by_key(|offer| offer.method);
        Ok(())
    }

    /// Returns whether a directory of unpackaged plugins contains the provider. If so, no server is
    /// searched for the provider, as with implied mirrors.
    fn has_unpackaged(&self, address: &ProviderAddress, sources: &Sources<'_>) -> bool {
        sources.methods_for(address).zip(&self.searched).any(|(method, searched)| {
            matches!(method.kind, InstallationMethodKind::Directories(_)) && !searched.versions.is_empty()
        })
    }

    /// Returns whether an embedded plugin meets the constraints.
    pub(super) fn has_embedded(&self, constraints: &Constraints) -> bool {
        self.offers.iter().any(|offer| {
            matches!(offer.package, OfferedPackage::Embedded(_)) && constraints.accepts(&offer.version)
        })
    }

    pub(super) fn offer_for(&self, version: &Version) -> Option<&Offer<'a>> {
        self.offers.iter().find(|offer| offer.version == *version)
    }

    pub(super) fn newest(&self, constraints: &Constraints) -> Option<&Offer<'a>> {
        let newest = constraints.newest(self.offers.iter().map(|offer| &offer.version))?;
        self.offer_for(newest)
    }
}

impl Offer<'_> {
    /// Opens the package. If it is on a server, it is downloaded, unless the cache contains it.
    pub(super) async fn open(
        &self,
        address: &ProviderAddress,
        entry: Option<&LockEntry>,
        downloads: &Downloads<'_>,
    ) -> Result<OpenedOffer, SelectionError> {
        match &self.package {
            OfferedPackage::Network(method) => downloads.open(method, address, &self.version, entry).await,
            OfferedPackage::Embedded(plugin) => Ok(OpenedOffer::from_local(OpenedPackage::embedded(plugin))),
            OfferedPackage::Mirror(package) => {
                self.open_mirrored(address, package, downloads.digests()).map(OpenedOffer::from_local)
            }
        }
    }

    /// Opens a package that is not on a server.
    pub(super) fn open_local(
        &self,
        address: &ProviderAddress,
        digests: &FileDigests,
    ) -> Option<Result<OpenedPackage, SelectionError>> {
        match &self.package {
            OfferedPackage::Network(_) => None,
            OfferedPackage::Embedded(plugin) => Some(Ok(OpenedPackage::embedded(plugin))),
            OfferedPackage::Mirror(package) => Some(self.open_mirrored(address, package, digests)),
        }
    }

    fn open_mirrored(
        &self,
        address: &ProviderAddress,
        package: &MirrorPackage,
        digests: &FileDigests,
    ) -> Result<OpenedPackage, SelectionError> {
        let origin = PluginOrigin::Mirror(package.location.clone());
        OpenedPackage::open(address, &self.version, &package.location, origin, package.expected, digests)
            .map_err(|error| SelectionError::Package {
                address: address.clone(),
                version: self.version.clone(),
                error: Box::new(error),
            })
    }
}
