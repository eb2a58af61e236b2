//! Clients for Terraform's registry protocols: service discovery, provider registries, network
//! mirrors, module registries, and the login service of a host.
//!
//! | module | protocol |
//! |---|---|
//! | [`services`] | service discovery, `/.well-known/terraform.json` |
//! | [`credentials`] | the user's tokens: variables, CLI configuration, credentials helpers |
//! | [`providers`] | provider registries, `providers.v1` |
//! | [`mirror`] | network mirrors of providers |
//! | [`modules`] | module registries, `modules.v1` |
//! | [`login`] | OAuth 2.0 login of hosts, `login.v1` |
//!
//! [`RegistryClient`] sends all requests through a `Downloader` of `wardian-download`. It returns
//! the available versions and packages, and the data that authenticates them; the caller selects
//! versions and downloads packages.
//!
//! Invariants:
//! - tokens are sent only to the services of the host that they are configured for, and never appear
//!   in `Debug` output, errors or logs;
//! - a package of a provider registry is returned only after the signature of its digest was
//!   verified;
//! - every response is limited in size, depth and number of elements before memory is allocated;
//! - each error names the host, and the URL if a request was sent, and explains how to proceed.
//!
//! This crate reads neither environment variables nor the home directory: the caller passes them.
//! It writes only `credentials.tfrc.json`, and starts only the credentials helper that the caller
//! specifies.

mod access_token;
mod bounded_json;
mod client;
pub mod credentials;
mod error_kind;
pub mod login;
pub mod mirror;
pub mod modules;
pub mod providers;
mod request;
mod service_host;
pub mod services;

pub use access_token::{AccessToken, AccessTokenError};
pub use client::{RegistryClient, RegistryClientOptions};
pub use error_kind::RegistryErrorKind;
pub use request::{CredentialUse, RequestError};
pub use service_host::{ServiceHost, ServiceHostError};
