//! Installs the modules that a configuration calls: fetches their packages, compares them with
//! their pins, and copies them into the directory of installed modules.
//!
//! ```text
//! installer ──> fetch ──> getters (git, hg, http, s3, gcs, oci) ──> cache
//!     │                                                              │
//!     └──> manifest (modules.json)          tree (hashes, copies) <──┘
//! ```
//!
//! | task | start |
//! |---|---|
//! | install the modules of a configuration, level by level | [`ModuleInstaller::install_all`] |
//! | find installed modules | [`ModuleManifest::read`] |
//! | pins | [`ModulePins`](wardian_module_source::ModulePins), [`ModuleInstaller::pins`] |
//! | limit the size of the cache | [`ModuleCache::prune`] |
//!
//! Invariants:
//! - a module is in its directory only if its complete content has the pinned hash, or no pin exists
//!   yet; the hash is computed from the files that were written there;
//! - no request is sent and no program is started for a module whose installed content matches its
//!   pin, or whose pinned package is in the cache;
//! - with [`ModuleTrust::OnlyPinned`], only pinned packages are installed, and no program is started;
//! - directories and cache entries appear under their final names when they are complete, so a
//!   killed process leaves only temporary files, which the next process removes;
//! - all sizes and counts that servers and packages determine are limited: archives, trees, lists,
//!   pages, output of programs, submodules;
//! - no address in an error, event or log contains a password, a key or a token.
//!
//! This crate reads neither environment variables nor the home directory: the caller passes
//! settings, paths and the environment of programs. It runs only `git` and `hg`, and writes only to
//! the directory of installed modules and to the cache.

mod cache;
mod error;
mod fetch;
mod getters;
mod installer;
mod manifest;
mod observer;
mod package_error;
mod programs;
mod subdirectory;
mod tree;

pub use cache::{ModuleCache, ModuleCacheError, PrunedModules};
pub use error::{InstallProblem, ModuleInstallError, ModuleInstallWarning};
pub use getters::bucket::BucketError;
pub use getters::gcs::GcsSettings;
pub use getters::git::GitError;
pub use getters::http::PageError;
pub use getters::s3::S3Settings;
pub use installer::{
    InstallMode, ModuleCallRequest, ModuleInstallation, ModuleInstaller, ModuleInstallerOptions, ModuleTrust,
};
pub use manifest::{MANIFEST_FILE_NAME, ManifestRecord, ModuleManifest};
pub use observer::{ModuleObserver, downloading_line, installed_line};
pub use package_error::PackageError;
pub use programs::{MAX_PROGRAM_TIME, ModuleProgram, ProgramError};
pub use subdirectory::SubdirectoryError;
pub use tree::{MAX_PACKAGE_BYTES, MAX_PATH_BYTES, TreeContents, TreeError, TreeProblem};
