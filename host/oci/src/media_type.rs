//! The media types and artifact types of plugins and modules.

/// A manifest with a config and layers.
pub const IMAGE_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of manifests.
pub const IMAGE_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The config of an artifact without a config: the two bytes `{}`.
pub const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";

/// The manifests that Docker used before the OCI specification.
pub(crate) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub(crate) const DOCKER_MANIFEST_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// The artifact type of the index of a provider's version.
pub const PROVIDER: &str = "application/vnd.opentofu.provider";
/// The artifact type of a provider's native package for one platform.
pub const PROVIDER_TARGET: &str = "application/vnd.opentofu.provider-target";
/// The artifact type of a module package.
pub const MODULE_PACKAGE: &str = "application/vnd.opentofu.modulepkg";
/// The layer of provider and module packages.
pub const ZIP_LAYER: &str = "archive/zip";

/// The config of a WebAssembly artifact, and its artifact type in an index.
pub const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The layer of a WebAssembly artifact.
pub const WASM_LAYER: &str = "application/wasm";

/// The prefix of the layer types of Sigstore bundles, which is followed by the format's version.
pub const SIGSTORE_BUNDLE_PREFIX: &str = "application/vnd.dev.sigstore.bundle";
