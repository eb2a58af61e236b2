//! Builds releases of plugins, and publishes them for provider registries and in OCI registries.
//!
//! ```text
//! component, native packages ──> Release ──┬──> publish_directory (the assets of a release)
//!                                          └──> publish_oci (one tag for OpenTofu and Wardian)
//! ```
//!
//! | file of a release directory | content |
//! |---|---|
//! | `terraform-provider-TYPE_VERSION_OS_ARCH.zip` | a native package |
//! | `terraform-provider-TYPE_VERSION_wasip2_wasm.wasm` | the component |
//! | `terraform-provider-TYPE_VERSION_wasip2_wasm.zip` | the component, for registries that accept only zip files; optional |
//! | `terraform-provider-TYPE_VERSION_manifest.json` | the protocol versions |
//! | `terraform-provider-TYPE_VERSION_SHA256SUMS` | the SHA-256 digests of the other files |
//!
//! Registries also require `..._SHA256SUMS.sig`, a detached OpenPGP signature. This crate has no
//! private keys: the publisher creates the signature with
//! `gpg --detach-sign terraform-provider-TYPE_VERSION_SHA256SUMS`. The component's digest is in one
//! of the signed lines, so the signature covers a component even if a registry does not list its
//! platform. In an OCI registry, the publisher signs the digest that [`publish_oci`] returns.
//!
//! [`wardian_oci::provider`] describes the tags in an OCI registry.
//!
//! Invariant: the bytes of a release depend only on the content of the given files, the options and
//! the version of this program, not on the time, the names and times of the given files, or the
//! operating system. All times are the given [`SourceDate`].
//!
//! This crate reads only the given files, writes only to the given directories, and reads no
//! environment variables.

mod archive;
mod component;
mod directory;
mod error;
mod oci;
mod progress;
mod release;
mod source_date;

pub use directory::publish_directory;
pub use error::PublishError;
pub use oci::{OciPublishOptions, PublishedArtifact, publish_oci, publish_repository};
pub use progress::{PublishEvent, PublishObserver};
pub use release::{
    NativeSource, PluginProtocolVersion, Release, ReleaseFile, ReleaseMetadata, ReleaseSources,
};
pub use source_date::SourceDate;
