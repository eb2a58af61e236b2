//! A client for OCI registries, and the layouts of plugin and module artifacts.
//!
//! ```text
//! provider, module, referrers ──> client ──> authorizer ──> credentials
//!  (layouts)      push ────────────^            (tokens)     (files, helpers)
//! ```
//!
//! | task | start |
//! |---|---|
//! | versions and packages of a provider | [`OciClient::provider_versions`], [`OciClient::provider_package`] |
//! | the repository of a provider in a mirror | [`RepositoryTemplate`] |
//! | a module package | [`ArtifactReference::from_module_source`], [`OciClient::module_package`] |
//! | signatures | [`OciClient::sigstore_bundles`] |
//! | downloading a package | [`OciClient::download_blob`] |
//! | pushing | [`OciClient::push_blob`], [`OciClient::push_image`], [`OciClient::push_index`] |
//!
//! Providers and modules have OpenTofu's layouts, and components have the CNCF's layout;
//! [`provider`] describes how one tag serves both.
//!
//! All requests go through `wardian-download`. This crate reads neither environment variables nor
//! the home directory: the caller passes the paths of credential files, and the directories and the
//! environment of credential helpers. It writes only the files that the caller names.
//!
//! Invariants:
//! - content is used only if it has the expected digest; the digest of a manifest is computed from
//!   its bytes, never taken from a header;
//! - credentials and tokens are sent only to the registry that they are for and to that registry's
//!   token server, never to a server to which a registry redirects, and never appear in `Debug`
//!   output, errors or logs;
//! - plain HTTP is used only for registries on this machine that the caller specifies;
//! - the size of every response and the number of pages, tags and referrers are limited.

mod authorizer;
mod challenge;
mod client;
mod credentials;
mod digest;
mod error;
mod layout;
mod manifest;
pub mod media_type;
mod module;
mod plain_http;
mod platform;
pub mod provider;
mod push;
mod reference;
mod referrers;
mod repository_template;
mod wasm_config;

pub use challenge::ChallengeError;
pub use client::{BlobDescriptor, FetchedManifest, MAX_TAGS, OciClient, OciClientOptions};
pub use credentials::{
    CredentialsBlock, CredentialsFile, CredentialsOptions, CredentialsScope, DiscoveryDirectories,
    HelperPrograms, OciCredentials, OciCredentialsError, RegistryCredential,
};
pub use digest::{ContentDigest, DigestError, parse_digest};
pub use error::{OciError, RegistryMessage, UnauthorizedReason};
pub use layout::LayoutProblem;
pub use manifest::{
    Descriptor, EMPTY_CONFIG_CONTENT, ImageIndex, ImageManifest, MAX_MANIFEST_BYTES, Manifest, ManifestError,
};
pub use module::{MAX_MODULE_PACKAGE_BYTES, ModuleAddressError};
pub use plain_http::PlainHttpRegistries;
pub use platform::OciPlatform;
pub use provider::{PackageBlob, PackageEntry, ProviderPackage, ProviderRelease};
pub use push::{PushedBlob, UploadProgress, UploadSource};
pub use reference::{ArtifactReference, ArtifactSelector, ReferenceError, RegistryHost, Repository, Tag};
pub use referrers::{MAX_BUNDLE_BYTES, MAX_REFERRERS, SigstoreBundle, SigstoreBundles};
pub use repository_template::{AddressPart, RepositoryTemplate, TemplateError};
pub use wasm_config::{ComponentSummary, MAX_CONFIG_BYTES, WasmConfig};
