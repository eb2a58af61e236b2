//! Selects and installs plugins.
//!
//! Given the requirements of a configuration ([`requirements::Requirements`]), the previous
//! selection ([`lock_file::LockFile`]) and the sources of plugins ([`sources::Sources`]), this
//! crate selects a version and an artifact for each provider, installs it in the data directory,
//! and later finds it there and checks it ([`installed`]).
//!
//! ```text
//! cli_config ──┐
//! catalog ───┼─> sources ─┐
//! mirror ──────┤            │
//! network_source ───────────┤
//! plugin_directories ───────┤
//!                           ├─> selection ──> installed ──> PluginArtifact
//! lock_file ────────────────┘        └──> lock_file
//! ```
//!
//! This crate never writes to a terminal, never reads an environment variable or a home directory
//! (the caller passes paths and variables), never opens a connection, and does not use wasmtime,
//! the engine or state. It reads plugins, but does not run them.
//!
//! Invariants:
//! - the bytes of a [`package::PluginArtifact`] are the bytes that were hashed, because a file is
//!   read only once;
//! - [`installed::resolve`] returns a file that is not embedded in Wardian only if the lock file
//!   contains its hash, except for development overrides, which are marked as such;
//! - the lock file is replaced atomically.

mod archive;
pub mod catalog;
pub mod cli_config;
pub mod download_area;
pub mod file_digests;
pub mod file_position;
pub mod hash;
pub mod installed;
pub mod lock_file;
pub mod mirror;
pub mod network_source;
pub mod package;
pub mod package_cache;
pub mod platform_lock;
pub mod plugin_directories;
pub mod requirements;
pub mod selected_plugin;
pub mod selection;
pub mod sources;
