//! Servers for installation tests, on loopback addresses and in one process.
//!
//! One [`RegistryServer`] listens on several origins, which lets a test redirect from one to
//! another:
//!
//! | origin | address |
//! |---|---|
//! | [`Origin::Plain`], [`Origin::OtherPlain`] | `http://127.0.0.1:PORT` |
//! | [`Origin::Tls`], [`Origin::OtherTls`] | `https://localhost:PORT`, with a certificate of the server's own authority |
//! | [`Origin::Proxy`] | an HTTP proxy that forwards requests for every host to the server itself |
//!
//! Every origin has the same content: service discovery, the provider and module registry
//! protocols, a network mirror, a login service, an OCI registry, `git http-backend`, and files.
//! A [`ServerDescription`] defines the content, the [`FaultRule`]s, the latency and the required
//! credentials. The server records every request.
//!
//! ```text
//! description ──> site (releases, modules, files) ──┐
//! request ──> listeners ──> answer ─────────────────┴─> faults ──> body ──> response
//! ```
//!
//! The crate depends on no other crate of the workspace, to avoid repeating a mistake of the
//! product here. It is for tests only: it panics if a test's description is invalid.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod answer;
mod body;
mod certificates;
mod description;
mod docker_registry;
mod faults;
mod git;
mod hostile;
mod listeners;
mod login;
mod mirror;
mod modules;
mod oci;
mod openpgp;
mod packages;
mod providers;
mod proxy;
mod request_log;
mod server;
mod site;
mod tar_archive;
mod zip_archive;

pub use description::{
    ComponentChannel, FileDescription, ModuleRelease, OciRepository, PackageContent, ProviderRelease,
    RegistryModule, RegistryProvider, ServerDescription, SignatureKind,
};
pub use docker_registry::DockerRegistry;
pub use faults::{Fault, FaultRule};
pub use hostile::HostileArchive;
pub use listeners::{Origin, ServerAddresses};
pub use request_log::RecordedRequest;
pub use server::RegistryServer;
pub use tar_archive::tar;
pub use zip_archive::{ZipEntry, zip};
