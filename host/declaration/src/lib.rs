//! Reads the capabilities that a component declares, without running it.
//!
//! A plugin's author declares them with the SDK's `export_provider!`, which stores them in a custom
//! section named [`SECTION_NAME`]. [`inspect`] reads these sections, and the imports and exports of
//! the component, and [`Inspected::verify_imports`] compares them. [`ApprovedCapabilities`] is the
//! consent lock file next to the dependency lock file: the declarations and the publishers of signed
//! releases that a user has approved.
//!
//! ```text
//! component bytes ──> component ──> declaration ──> Inspected ──> verify_imports
//!                                        │
//! .wardian.lock.hcl ──> consent_lock <───┘ (both hold wardian_policy::CapabilityRequest)
//! ```
//!
//! The section contains JSON documents, one per line, since linkers concatenate sections of the
//! same name and tools nest components. All documents apply: no document can withdraw a request of
//! another document.
//!
//! ```json
//! {"version":1,"sdk":"wardian-sdk 0.1.0","capabilities":[{"network":{"hosts":["api.example.com"],"reason":"..."}}]}
//! ```
//!
//! Compatibility: a document with another version or an unknown name causes an error. If an element
//! of a declaration were ignored, later grants would be too broad, or accesses would be denied for
//! no apparent reason.
//!
//! This crate does not run components, does not depend on wasmtime, writes no files, and does not
//! grant access, which is the task of `wardian-policy`. Invariants:
//! - for any input, this crate does not panic, does not recurse without a limit, and does not use
//!   more memory than a small multiple of [`MAX_DECLARATION_SIZE`];
//! - every declared capability request can be granted by a policy rule with the same arguments.

mod component;
mod consent_lock;
mod declaration;
mod verify_imports;

pub use component::{InspectError, Inspected, MAX_DECLARATION_SIZE, SECTION_NAME, inspect};
pub use consent_lock::{Approval, ApprovedCapabilities};
pub use declaration::{Declaration, DeclarationError};
pub use verify_imports::{ImportVerification, UndeclaredCapability};
