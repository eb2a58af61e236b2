//! The result of selecting a plugin.

use wardian_address::Version;

use crate::package::PluginArtifact;

/// The plugin that was selected for one provider.
#[derive(Debug, Clone)]
pub struct SelectedPlugin {
    pub version: Version,
    /// The reason for selecting this version.
    pub reason: SelectionReason,
    /// The plugin.
    pub artifact: PluginArtifact,
}

/// The reason for selecting a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionReason {
    /// It is the version in the lock file.
    Locked,
    /// It is the newest version that meets the constraints.
    NewestMatching,
    /// It is the newest version, and there are no constraints.
    Newest,
}
