//! The reason why a module could not be installed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use wardian_address::Version;
use wardian_download::advice::disk_advice;
use wardian_module_source::{ModuleSourceError, TreeHash};
use wardian_registry::modules::ModuleRegistryError;

use crate::getters::s3::BucketError;
use crate::package_error::PackageError;
use crate::subdirectory::SubdirectoryError;

/// A module that could not be installed. `Display` is the detail of the diagnostic.
#[derive(Debug, thiserror::Error)]
#[error("{}", describe(self))]
pub struct ModuleInstallError {
    /// The names of the module calls on the path to the module, separated by dots.
    pub key: String,
    /// The position of the module call, such as `main.tf:1`.
    pub origin: String,
    pub problem: Box<InstallProblem>,
}

/// The reason why a module could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallProblem {
    /// The package could not be fetched.
    #[error("{source}")]
    Download {
        package: String,
        /// The host of the registry that refers to the package.
        registry: Option<String>,
        source: PackageError,
    },
    #[error(transparent)]
    Registry(#[from] ModuleRegistryError),
    /// The registry's host or the module's names cannot be used in requests.
    #[error("{reason}")]
    RegistryAddress { module: String, reason: String },
    /// The registry has only prereleases, which an exact constraint must require.
    #[error("module \"{module}\" has no versions available on {host} that are not prereleases")]
    NoVersions { module: String, host: String },
    #[error(
        "there is no available version of module \"{module}\" which matches the given version constraint; the newest \
         available version is {newest}"
    )]
    UnresolvableVersion { module: String, newest: Version },
    #[error(
        "the module registry {host} returned an invalid source location \"{location}\" for {module} {version}: {source}"
    )]
    PackageLocation {
        host: String,
        location: String,
        module: String,
        version: Version,
        source: ModuleSourceError,
    },
    /// The module's directory is not in the package.
    #[error("{0}")]
    Subdirectory(SubdirectoryError),
    /// The module's directory is not in the package of a registry.
    #[error("the directory of the module does not exist in {module} {version}: {source}")]
    RegistrySubdirectory { module: String, version: Version, source: SubdirectoryError },
    /// The package differs from the pinned package.
    #[error(
        "the content of {package} has changed since it was pinned: its hash is {found}, but the pinned hash is \
         {pinned}. If the change is expected, run `wardian init -upgrade` to pin the new content"
    )]
    ContentChanged { package: String, pinned: TreeHash, found: TreeHash },
    /// The files in the directory of an installed module differ from the files that were installed.
    #[error(
        "the files in {} were changed after the module was installed: their hash is {found}, but the pinned hash of \
         {package} is {pinned}. Remove the directory and run `wardian init` to install the pinned content, or run \
         `wardian init -upgrade` to install and pin the current content of the source", directory.display()
    )]
    FilesChanged { directory: PathBuf, package: String, pinned: TreeHash, found: TreeHash },
    #[error(
        "{package} is not pinned in .wardian.lock.hcl, and an untrusted configuration can use only modules that are \
         pinned. Check the module, run `wardian init` in a trusted copy of this configuration, and commit the file"
    )]
    NotPinned { package: String },
    #[error("failed to write {}: {source}{}", path.display(), disk_advice(source))]
    Write { path: PathBuf, source: io::Error },
    #[error("failed to remove the previous content of {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// The module's key cannot be used as a file name.
    #[error("the path to the module cannot be used as a directory name")]
    Key,
}

impl InstallProblem {
    /// Returns the error about a package that the module call names.
    pub(crate) fn download(package: &str, source: PackageError) -> Self {
        Self::Download { package: package.to_owned(), registry: None, source }
    }
}

impl ModuleInstallError {
    /// Returns the summary of the diagnostic, which is Terraform's if Terraform has the same error.
    pub fn summary(&self) -> &'static str {
        match &*self.problem {
            // Terraform creates no directory for a prefix without objects.
            InstallProblem::Download {
                source: PackageError::Subdirectory(_) | PackageError::Bucket(BucketError::Empty { .. }),
                ..
            }
            | InstallProblem::Subdirectory(_) => "Failed to expand subdir globs",
            InstallProblem::Download { .. } => "Failed to download module",
            InstallProblem::Registry(error) => error.summary(),
            InstallProblem::RegistryAddress { .. } => "Error accessing remote module registry",
            InstallProblem::NoVersions { .. } => "Module has no versions",
            InstallProblem::UnresolvableVersion { .. } => "Unresolvable module version constraint",
            InstallProblem::PackageLocation { .. } => "Invalid package location from module registry",
            InstallProblem::RegistrySubdirectory { .. } => "Unreadable module subdirectory",
            InstallProblem::ContentChanged { .. } => "Module content has changed",
            InstallProblem::FilesChanged { .. } => "Installed module was changed",
            InstallProblem::NotPinned { .. } => "Module is not pinned",
            InstallProblem::Write { .. } | InstallProblem::Key => "Failed to install module",
            InstallProblem::Remove { .. } => "Failed to remove local module cache",
        }
    }
}

fn describe(error: &ModuleInstallError) -> String {
    let (key, origin) = (&error.key, Origin(&error.origin));
    let advice = if may_be_unreachable(&error.problem) { local_copy_advice(key) } else { String::new() };
    match &*error.problem {
        InstallProblem::Download { package, registry, source } => {
            let referral = registry.as_ref();
            let referral =
                referral.map_or(String::new(), |host| format!(", to which the registry {host} refers"));
            format!(
                "Could not download module \"{key}\"{origin} source code from \"{package}\"{referral}: {source}.{advice}"
            )
        }
        problem => format!("Module \"{key}\"{origin} could not be installed: {problem}.{advice}"),
    }
}

/// Returns whether the problem may be caused by a server that cannot be reached.
fn may_be_unreachable(problem: &InstallProblem) -> bool {
    match problem {
        InstallProblem::Registry(_) => true,
        InstallProblem::Download { source, .. } => {
            matches!(
                source,
                PackageError::Fetch(_)
                    | PackageError::Program(_)
                    | PackageError::Bucket(_)
                    | PackageError::Oci(_)
                    | PackageError::Offline { .. }
            )
        }
        _ => false,
    }
}

fn local_copy_advice(key: &str) -> String {
    let name = key.rsplit('.').next().unwrap_or(key);
    format!(
        "\nTo continue without the server, download the module into a directory of the configuration, and write the \
         directory's path as its source: \"./modules/{name}\"."
    )
}

/// The position of a module call in a message.
struct Origin<'a>(&'a str);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, " ({})", self.0) }
    }
}

/// A problem that does not prevent an installation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleInstallWarning {
    /// A registry lists a version that is not a valid version.
    #[error(
        "The registry at {host} returned an invalid version string \"{version}\" for module \"{key}\", which is \
         ignored."
    )]
    IgnoredVersion { host: String, key: String, version: String },
}

impl ModuleInstallWarning {
    /// Returns the summary of the diagnostic, which is Terraform's.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::IgnoredVersion { .. } => "Invalid response from remote module registry",
        }
    }
}
