//! Runs plugins that are WebAssembly components in this process with wasmtime. Plugins have only
//! the granted access.
//!
//! A [`Sandbox`] loads a component's bytes (from its cache of compiled code, if possible), checks
//! its imports and links it. The [`LoadedPlugin`] creates providers, each with its own [`Grants`]
//! and pool of instances. Providers implement the protocol of `wardian-plugin`. No other crate uses
//! wasmtime. This crate does not depend on configuration, state, the engine or a terminal, and
//! receives every path from its caller.
//!
//! Invariants:
//! - a component that imports an interface that the host does not offer is rejected before it is
//!   linked;
//! - every call ends: epochs limit its CPU time, the wall clock limits the time that it waits, and
//!   size limits apply to its memory and response;
//! - an instance whose call did not end normally is never used again;
//! - native code is run only if this process has compiled it, or if a MAC of exactly these bytes,
//!   under this user's key, proves that Wardian stored them;
//! - no response from a component makes the host panic: an invalid response becomes an error
//!   diagnostic that names the plugin, the call and the resource.
//!
//! Diagnostics and log lines name the resource of the call's
//! [context](wardian_plugin::CallContext).

mod artifact;
mod bindings;
mod capability;
mod code_cache;
mod compiler;
mod conversion;
mod cpu_budget;
mod current_call;
mod engine;
mod error;
mod error_chain;
mod exports;
mod failure;
mod function_cache;
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
mod provider_run;
mod provisioner;
mod sandbox;
mod schema;
mod state;
mod state_store;
mod store;
mod symbols;
mod ticker;

pub use artifact::{ComponentDigest, LoadEvent};
#[cfg(feature = "simulation")]
pub use capability::filesystem::simulation::{Choices, SeededChoices, Simulated, simulate};
pub use code_cache::CacheDirectories;
pub use compiler::{
    COMPILER_ARGUMENT, CompileError, CompileLimits, CompileSource, CompiledCode, Compiler, CompilerProcess,
    InProcess, run_compiler,
};
pub use engine::EngineSettings;
pub use error::{LoadError, SandboxError, SurplusImport};
pub use grants::{DeclaredCapabilities, Grants};
pub use imports::offers_import;
pub use limits::SandboxLimits;
pub use network::{MissingSecret, NetworkOptions, Secret, Secrets};
pub use provisioner::{LoadedProvisioner, ProvisionerGrants};
pub use sandbox::{LoadedPlugin, Sandbox, SandboxOptions};
pub use wardian_cache::CacheError;
