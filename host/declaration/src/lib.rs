//! What a component says that it needs, read without running it.
//!
//! A plugin's author states it with the SDK's `export_provider!`, which leaves it in a
//! custom section named [`SECTION_NAME`]. [`inspect`] finds such sections in a
//! component's bytes, with what the component imports and exports, and
//! [`Inspected::check`] holds one against the other. [`Agreements`] is the file beside
//! the lock file that says which declarations somebody has agreed to.
//!
//! ```text
//! component bytes ──> component ──> declaration ──> Inspected ──> honesty
//!                                        │
//! .wardian.lock.hcl ──> agreements <─────┘ (both hold wardian_policy::Asked)
//! ```
//!
//! The section holds JSON documents, one on each line, since linkers put sections of one
//! name after another and tools put components into components. All of them count: what
//! one asks for, another cannot take back.
//!
//! ```json
//! {"version":1,"sdk":"wardian-sdk 0.1.0","capabilities":[{"network":{"hosts":["api.example.com"],"reason":"..."}}]}
//! ```
//!
//! How versions meet: a document of another version, or with a word that is not known
//! here, is an error. Who reads less into a declaration than it says grants too much
//! later, or denies what nobody understands.
//!
//! Nothing here runs a component, or names wasmtime; nothing decides what is granted,
//! which is `wardian-policy`'s; nothing is written. Always holds:
//! - no bytes make it panic, recurse without bound or hold more than a small multiple of
//!   what it may hold by [`MOST_DECLARED`];
//! - what is declared is what a rule of a policy can grant, word for word.

mod agreements;
mod component;
mod declaration;
mod honesty;

pub use agreements::{Agreement, Agreements};
pub use component::{InspectError, Inspected, MOST_DECLARED, SECTION_NAME, inspect};
pub use declaration::{Declaration, DeclarationError};
pub use honesty::{Honesty, Undeclared};
