//! The progress of an installation.

use std::path::Path;

use wardian_address::Version;

/// Receives the progress of an installation. Modules are installed concurrently, so the events of
/// different modules are interleaved.
pub trait ModuleObserver: Send + Sync {
    /// Called before a package is fetched, or copied from the cache. `package` is the address of
    /// the package without credentials; `version` is the version of a module in a registry.
    fn downloading(&self, _key: &str, _package: &str, _version: Option<&Version>) {}

    /// Called when a module is installed in its directory.
    fn installed(&self, _key: &str, _directory: &Path) {}

    /// Called when this process waits because another process installs modules in the same directory.
    fn waiting(&self, _directory: &Path) {}
}

/// Ignores progress.
impl ModuleObserver for () {}

/// Returns the line that Terraform prints before it downloads a package.
pub fn downloading_line(key: &str, package: &str, version: Option<&Version>) -> String {
    match version {
        Some(version) => format!("Downloading {package} {version} for {key}..."),
        None => format!("Downloading {package} for {key}..."),
    }
}

/// Returns the line that Terraform prints when a module is installed.
pub fn installed_line(key: &str, directory: &Path) -> String {
    format!("- {key} in {}", directory.display())
}
