//! Plugins that are WebAssembly components, run in this process under wasmtime
//! with no rights but those that are granted.
//!
//! A [`Sandbox`] loads a component's bytes (from its cache of compiled code,
//! where it can), checks its imports and links it. The [`LoadedPlugin`] makes
//! providers, each with its own [`Grants`], a pool of instances behind it, and
//! the protocol of `wardian-plugin` in front. wasmtime is mentioned in no other
//! crate; this one knows no configuration, no state, no engine and no terminal,
//! and takes every path from its caller.
//!
//! Always holds:
//! - a component that imports what nothing offers is refused before it is linked;
//! - a call ends: what it computes is bounded by epochs, what it waits for by the
//!   wall clock, what it takes and answers by sizes;
//! - an instance whose call did not come to its regular end is never used again;
//! - native code is run only if it was compiled here just now, or carries this
//!   user's keyed digest over the very bytes that are run;
//! - whatever a component answers, the host does not panic: it becomes an error
//!   diagnostic that names plugin, call and resource.
//!
//! Diagnostics and log lines name the resource that the call's
//! [context](wardian_plugin::CallContext) has.

mod artifact;
mod bindings;
mod capability;
mod code_cache;
mod conversion;
mod cpu_budget;
mod current_call;
mod engine;
mod error;
mod failure;
mod grants;
mod imports;
mod instance;
mod interface_name;
mod limits;
mod network;
mod output;
mod plugin;
mod pool;
mod provider;
mod provisioner;
mod sandbox;
mod schema;
mod state;
mod store;
mod ticker;

pub use artifact::{ComponentDigest, LoadEvent};
pub use code_cache::CacheDirectories;
pub use error::{LoadError, SandboxError, SurplusImport};
pub use grants::Grants;
pub use imports::offers_import;
pub use limits::SandboxLimits;
pub use network::{MissingSecret, NetworkOptions, Secret, Secrets};
pub use provisioner::{LoadedProvisioner, ProvisionerGrants};
pub use sandbox::{LoadedPlugin, Sandbox, SandboxOptions};
pub use wardian_cache::CacheError;
