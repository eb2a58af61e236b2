//! Provider registries: the protocol `providers.v1`.
//!
//! | request | response |
//! |---|---|
//! | `GET NAMESPACE/TYPE/versions` | the versions, with their protocols and platforms |
//! | `GET NAMESPACE/TYPE/VERSION/download/OS/ARCH` | the package for a platform, with the URLs of the checksums and of their signature |
//!
//! A release is authenticated by its checksums, which a key of the registry must have signed. A
//! component is either a package for the platform `wasip2_wasm`, or a file x
//! [`RegistryClient::provider_release`](crate::RegistryClient::provider_release).

mod checksums;
mod document;
mod error;
mod listing;
mod platform;
mod protocol;
mod release;
mod signature;
mod version;

pub use checksums::SignedChecksums;
pub use error::{ProviderProblem, ProviderRegistryError};
pub(crate) use listing::CachedListing;
pub use listing::{ListedProviderVersion, ProviderListing};
pub use platform::PackagePlatform;
pub use protocol::ProtocolMismatch;
pub use release::{NativeAvailability, RegistryRelease, ReleaseFormat, ReleasePackage};
pub use signature::{ReleaseSignature, ReleaseSignatureError, ReleaseSigner};
pub use version::VersionTextError;

pub(crate) use document::resolve_link;
pub(crate) use version::parse_version;
