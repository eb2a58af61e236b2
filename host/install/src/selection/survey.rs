//! Collects the versions of one provider from all installation methods.

use wardian_address::{Constraints, ProviderAddress, Version};

use super::errors::{SearchedSource, SelectionError, SourceRemark};
use crate::catalogue::EmbeddedPlugin;
use crate::file_digests::FileDigests;
use crate::mirror::MirrorPackage;
use crate::package::{OpenedPackage, PluginOrigin};
use crate::sources::{InstallationMethodKind, Sources};

pub(super) struct Survey<'a> {
    offers: Vec<Offer<'a>>,
    pub(super) searched: Vec<SearchedSource>,
}

/// An available version from one installation method. Offers are in the order of the methods.
pub(super) struct Offer<'a> {
    pub(super) version: Version,
    package: OfferedPackage<'a>,
}

enum OfferedPackage<'a> {
    Embedded(&'a EmbeddedPlugin),
    Mirror(MirrorPackage),
}

impl<'a> Survey<'a> {
    pub(super) fn for_provider(
        address: &ProviderAddress,
        sources: &'a Sources<'_>,
    ) -> Result<Self, SelectionError> {
        let mut survey = Self { offers: Vec::new(), searched: Vec::new() };
        for method in sources.methods_for(address) {
            let (versions, remark) = match &method.kind {
                InstallationMethodKind::Embedded => {
                    (survey.add_embedded(address, sources), SourceRemark::None)
                }
                InstallationMethodKind::Filesystem(mirror) => {
                    let listing = mirror
                        .list(address, &sources.platform)
                        .map_err(|error| SelectionError::Mirror { address: address.clone(), error })?;
                    let versions = listing.packages.keys().cloned().collect();
                    for (version, package) in listing.packages {
                        survey.offers.push(Offer { version, package: OfferedPackage::Mirror(package) });
                    }
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
                    for (version, package) in listing {
                        survey.offers.push(Offer { version, package: OfferedPackage::Mirror(package) });
                    }
                    (versions, SourceRemark::None)
                }
                InstallationMethodKind::NetworkMirror(_) | InstallationMethodKind::Direct => {
                    (Vec::new(), SourceRemark::NeedsNetwork)
                }
            };
            survey.searched.push(SearchedSource { name: method.kind.to_string(), versions, remark });
        }
        Ok(survey)
    }

    fn add_embedded(&mut self, address: &ProviderAddress, sources: &'a Sources<'_>) -> Vec<Version> {
        let mut versions = Vec::new();
        for plugin in sources.catalogue.iter().filter(|plugin| plugin.address == *address) {
            versions.push(plugin.version.clone());
            let package = OfferedPackage::Embedded(plugin);
            self.offers.push(Offer { version: plugin.version.clone(), package });
        }
        versions
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
    pub(super) fn open(
        &self,
        address: &ProviderAddress,
        digests: &FileDigests,
    ) -> Result<OpenedPackage, SelectionError> {
        match &self.package {
            OfferedPackage::Embedded(plugin) => Ok(OpenedPackage::embedded(plugin)),
            OfferedPackage::Mirror(package) => {
                let origin = PluginOrigin::Mirror(package.location.clone());
                OpenedPackage::open(
                    address,
                    &self.version,
                    &package.location,
                    origin,
                    package.expected,
                    digests,
                )
                .map_err(|error| SelectionError::Package {
                    address: address.clone(),
                    version: self.version.clone(),
                    error: Box::new(error),
                })
            }
        }
    }
}
