//! Which plugin, from where.
//!
//! Given what a configuration requires ([`selection::Requirements`]), what was
//! chosen before ([`lock_file::LockFile`]) and where plugins may come from
//! ([`sources::Sources`]), this crate chooses a version and an artefact for
//! each provider, places it under the data directory, and later finds it again
//! and checks it ([`installed`]).
//!
//! ```text
//! cli_config ──┐
//! catalogue ───┼─> sources ─┐
//! mirror ──────┤            │
//! plugin_directories ───────┤
//!                           ├─> selection ──> installed ──> PluginArtifact
//! lock_file ────────────────┘        └──> lock_file
//! ```
//!
//! What this crate does not do: it never writes to a terminal, never reads an
//! environment variable or a home directory (callers pass paths and variables
//! in), never opens a connection, and never mentions wasmtime, the engine or
//! state. It reads plugins' bytes; it does not run them.
//!
//! What always holds:
//! - bytes handed out as a [`package::PluginArtifact`] are the bytes that were
//!   hashed: a file is read once, and both come from that read;
//! - a file from outside this program is only handed out by
//!   [`installed::resolve`] when its hash is in the lock file, development
//!   overrides excepted, and those are marked as such;
//! - the lock file is replaced whole or not at all.

pub mod catalogue;
pub mod cli_config;
pub mod file_digests;
pub mod file_kind;
pub mod hash;
pub mod installed;
pub mod lock_file;
pub mod mirror;
pub mod package;
pub mod place;
pub mod plugin_directories;
pub mod selection;
pub mod sources;
