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
//! [`RemotePackage::location`] then determines the getter that fetches the package, and the
//! getter's arguments. The two steps are separate because Terraform also reports their errors in
//! different phases: an address in an unknown form is an error in the configuration, and an address
//! that no getter can fetch is a download error.
//!
//! [`ModulePins`] contains the content that each package must have.
//!
//! This crate performs no I/O. Invariants:
//! - no input causes a panic;
//! - a source never refers to a directory outside of its package;
//! - the output of `Display` and `Debug` contains no passwords, keys or tokens; only `full_address`
//!   returns them.

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
