//! Counts the elements of an expanded WebAssembly component before the component is validated,
//! compiled or instantiated.
//!
//! A small component can expand to a huge component, since each nested component can be
//! instantiated many times. In addition, compilers need superlinear time for some functions.
//! [`check`] reads the bytes once, multiplies instead of expanding, and compares the results with
//! [`ComponentLimits`]. The limits admit a component of 20 MB that contains a Python interpreter.
//!
//! ```text
//! bytes ──> component (sections, instances by multiplication) ──> types
//!              └──> module (types, segments) ──> function (locals, blocks, values)
//! ```
//!
//! This crate does not validate components. Other crates validate them with the same parser, and
//! reject components that this crate misreads. It runs no code, and depends on no other crate of
//! this workspace. Time and memory are linear in the number of bytes for every input, and no input
//! makes it panic.

mod component;
mod function;
mod function_types;
mod limits;
mod module;
mod types;

pub use component::{check, check_structure};
pub use limits::{CheckError, ComponentCounts, ComponentLimits, LimitExceeded, MAX_NESTING};
