//! The CLI configuration that installs plugins from a directory.

use std::path::Path;

/// Returns a CLI configuration with which Terraform and Wardian install plugins only from a filesystem
/// mirror.
pub(crate) fn mirror_settings(mirror: &Path) -> String {
    let path = mirror.display().to_string();
    format!("provider_installation {{\n  filesystem_mirror {{\n    path = {path:?}\n  }}\n}}\n")
}
