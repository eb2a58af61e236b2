//! The result of selecting a plugin.

use wardian_address::Version;

use crate::network_source::{PackageAuthentication, PackageBundles};
use crate::package::{PluginArtifact, PluginOrigin};

/// The plugin that was selected for one provider.
#[derive(Debug, Clone)]
pub struct SelectedPlugin {
    pub version: Version,
    /// The reason for selecting this version.
    pub reason: SelectionReason,
    /// The authentication of the package, if it was downloaded.
    pub authentication: Option<PackageAuthentication>,
    /// The bundles of the package, if it was downloaded.
    pub bundles: Option<PackageBundles>,
    pub artifact: PluginArtifact,
}

impl SelectedPlugin {
    /// Returns how the package was authenticated, for messages. A filesystem mirror publishes no
    /// hashes. [`None`] if the plugin is embedded or installed.
    pub fn shown_authentication(&self) -> Option<&PackageAuthentication> {
        match self.artifact.origin() {
            PluginOrigin::Mirror(_) => Some(&PackageAuthentication::Unauthenticated),
            _ => self.authentication.as_ref(),
        }
    }
}

/// The reason for selecting a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionReason {
    /// The lock file contains this version.
    Locked,
    /// The newest version that meets the constraints.
    NewestMatching,
    /// The newest version, if there are no constraints.
    Newest,
}
