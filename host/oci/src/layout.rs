//! The reasons why an artifact does not have the expected layout.

use crate::media_type::{MODULE_PACKAGE, PROVIDER, PROVIDER_TARGET};

/// The reason why an artifact is not a usable plugin or module. Each message is a predicate whose
/// subject is the artifact's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutProblem {
    #[error("is not a provider: {}", describe(found))]
    NotAProvider {
        /// The artifact type, or an empty string.
        found: String,
    },
    #[error("is not a module package: {}", describe(found))]
    NotAModule {
        /// The artifact type, or an empty string.
        found: String,
    },
    #[error("is an index of several manifests, but {expected} is needed")]
    IndexNotExpected { expected: &'static str },
    #[error("is a single manifest, but {expected} is needed")]
    ImageNotExpected { expected: &'static str },
    #[error("has the artifact type {found:?}, but its index states {expected:?}")]
    ArtifactType { found: String, expected: String },
    #[error("has {count} entries for {platform}, so the package is ambiguous")]
    Ambiguous { count: usize, platform: String },
    #[error("has an entry for {platform} with the media type {found:?}, which is not an image manifest")]
    EntryMediaType { platform: String, found: String },
    #[error("has {count} layers of the type {media_type:?}; exactly one is needed")]
    Layers { count: usize, media_type: &'static str },
    #[error("has {count} layers; a WebAssembly artifact has exactly one, of the type \"application/wasm\"")]
    WasmLayers { count: usize },
    #[error("contains a package of {size} bytes, which is larger than the limit of {limit} bytes")]
    TooLarge { size: u64, limit: u64 },
    #[error("has an invalid config: {reason}")]
    Config { reason: String },
}

fn describe(found: &str) -> String {
    match found {
        "" => "it has no artifact type, and may be a container image".to_owned(),
        PROVIDER => "it is the index of a provider".to_owned(),
        PROVIDER_TARGET => "it is a provider's package for one platform, without an index".to_owned(),
        MODULE_PACKAGE => "it is a module package".to_owned(),
        other => format!("its artifact type is {:?}", other.chars().take(200).collect::<String>()),
    }
}
