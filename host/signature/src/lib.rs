//! Verifies Sigstore bundles offline, and determines the identities of publishers.
//!
//! A bundle contains a signature of an artifact, a certificate with the identity of the signer, and
//! proofs of the signing time. [`verify_bundle`] verifies all of them against a [`TrustRoot`] and
//! returns the [`VerifiedIdentity`]. Anyone can obtain a certificate and sign any artifact, so a
//! valid bundle alone proves nothing about the publisher: the caller must compare
//! [`VerifiedIdentity::publisher`] with the publisher in the consent lock file, or with a
//! requirement of a policy.
//!
//! ```text
//! bundle ──> bundle (limits) ──> sigstore ──> identity ──> VerifiedIdentity
//!                                   ↑
//! trusted_root.json ──> trust_root ─┘
//! ```
//!
//! Only `sigstore.rs` uses the crate `sigstore-verify`, whose API changes with every release. This
//! crate opens no files and no connections; it reads the clock, because a signing time in the
//! future is invalid. Invariants:
//! - the size of a bundle is at most [`MAX_BUNDLE_SIZE`], and has a limited number of log entries
//!   and timestamps, so the cost of its verification is limited;
//! - every log entry has a verified inclusion proof, if the trust root contains a transparency log;
//! - an attestation is accepted only if its type means that the signer published or built the
//!   artifact, see [`PUBLISHER_STATEMENTS`];
//! - errors contain no control characters from a bundle.

mod bundle;
mod error;
mod identity;
mod sigstore;
mod trust_root;

pub use bundle::{MAX_BUNDLE_SIZE, PUBLISHER_STATEMENTS, verify_bundle};
pub use error::{BundleError, TrustRootError};
pub use identity::VerifiedIdentity;
pub use trust_root::{MAX_TRUST_ROOT_SIZE, TrustRoot};
