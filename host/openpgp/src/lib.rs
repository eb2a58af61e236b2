//! Verifies detached OpenPGP signatures (RFC 4880 and RFC 9580), as provider registries use them:
//! [`PublicKeys`] is the armored text of a registry's signing key, and [`verify_detached`] returns
//! the key that made a signature. This crate does not sign, encrypt or decrypt.
//!
//! ```text
//! armored text ──> armor ──> packet ──> key, signature_packet ──> public_key ──┐
//! signature ───────────────> packet ──> signature_packet ──────────────────────┴──> verify
//! ```
//!
//! | subject | accepted |
//! |---|---|
//! | keys | version 4; RSA with 2048 to 8192 bits, Ed25519, ECDSA with P-256, P-384 and P-521 |
//! | signatures | version 4, of a binary document, with SHA-256, SHA-384 or SHA-512 |
//!
//! All other keys and signatures cause an error that contains the key and the algorithm. An expired
//! signature is rejected. An expired key is accepted and reported in [`Verified::expired`], as in
//! Terraform. A revoked key is rejected, regardless of the reason and time of the revocation.
//! Revocations by another key (a designated revoker) are ignored, because that key is not
//! available.
//!
//! This crate depends on no other crate of the workspace, and opens neither files nor connections.
//! It reads the clock in [`verify_detached`] and [`verify_armored`] only. Invariants:
//! - no input causes a panic, and work and memory are linear in the sizes of the inputs, which are
//!   limited by [`MAX_KEY_SIZE`], [`MAX_KEYS`] and [`MAX_SIGNATURE_SIZE`];
//! - no text of a key or of a signature, such as a user ID, occurs in an error;
//! - aws-lc performs all cryptographic operations.

mod algorithm;
mod armor;
mod bytes;
mod error;
mod hashicorp;
mod key;
mod packet;
mod public_key;
mod self_signature;
mod signature_packet;
mod verify;

pub use error::{ArmorError, KeyError, MalformedData, RevocationReason, SignatureError};
pub use hashicorp::{HASHICORP_FINGERPRINT, PARTNER_FINGERPRINT, PARTNER_KEY};
pub use key::{Fingerprint, KeyId};
pub use public_key::{MAX_KEY_SIZE, MAX_KEYS, PublicKeys};
pub use verify::{MAX_SIGNATURE_SIZE, Verified, verify_armored, verify_detached, verify_detached_at};
