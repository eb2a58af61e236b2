//! The grammar of the `source` argument of module calls.
//!
//! | source | parsed as |
//! |---|---|
//! | begins with `./` or `../` | [`LocalModuleSource`] |
//! | `[HOST/]NAMESPACE/NAME/SYSTEM[//SUB]` | [`RegistryModuleSource`] |
//! | any other address that Terraform recognizes | [`RemoteModuleSource`] |
//!
//! A remote source is normalized to the text that Terraform writes to `modules.json`, for example
//! `git::https://github.com/org/vpc.git//sub?ref=v1` for `github.com/org/vpc//sub?ref=v1`.
//! [`RemotePackage::location`] parses that text further: which getter fetches the package, and with
//! which arguments. The two steps are separate because Terraform also reports their errors in
//! different phases: an address without a known form is an error of the configuration, and an
//! address that no getter can fetch is an error of the download.
//!
//! [`ModulePins`] are the contents that packages must have.
//!
//! This crate performs no I/O. Invariants:
//! - no input causes a panic;
//! - a source leads to no directory outside of its package;
//! - `Display` and `Debug` show no passwords, keys or tokens; only `full_address` returns them.

mod address_syntax;
mod archive;
mod checksum;
mod detect;
mod error;
mod local;
mod location;
mod pin;
mod redaction;
mod registry;
mod remote;
mod source;
mod subdirectory;

pub use archive::PackageArchive;
pub use checksum::{ArchiveChecksum, ChecksumAlgorithm, ChecksumArgument, ChecksumList};
pub use error::{ModuleSourceError, PackageLocationError, RegistryAddressProblem};
pub use local::LocalModuleSource;
pub use location::{
    ArchiveOptions, FileLocation, GcsLocation, GitLocation, HttpLocation, MercurialLocation, OciLocation,
    PackageLocation, S3Credentials, S3Endpoint, S3Location, SshKey, UrlCredentials,
};
pub use pin::{CommitId, ModulePin, ModulePinChange, ModulePins, TreeHash};
pub use redaction::printable_address;
pub use registry::{RegistryModuleAddress, RegistryModuleSource};
pub use remote::{RemoteModuleSource, RemotePackage};
pub use source::ModuleSource;
pub use subdirectory::PackageSubdirectory;
