//! Requests to Amazon Web Services and to services with the same protocols: signatures (version 4)
//! and credentials.
//!
//! [`CredentialChain`] finds credentials as the AWS CLI does, and renews them before they expire.
//! [`sign`] signs a request.
//!
//! Invariants: secrets appear neither in `Debug` output nor in errors; credentials are requested
//! only from the services that the settings name. The crate reads no environment variables: the
//! caller passes [`AwsSettings`].

mod chain;
mod encoding;
mod error;
mod key;
mod machine;
mod profiles;
mod signature;
mod sso;
mod token_service;

pub use chain::{AwsSettings, CredentialChain, RoleSettings, WebIdentitySettings};
pub use encoding::{encode_path, encode_value};
pub use error::{AwsError, AwsServiceError};
pub use key::SigningKey;
pub use machine::key_of_machine;
pub use profiles::{Profile, ProfileFiles};
pub use signature::{SignedRequest, sign};
