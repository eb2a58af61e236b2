//! The library behind the command line: everything that commands do in a root module's directory,
//! except for argument parsing, rendering and terminal access.
//!
//! [`AppContext`] is the composition root. It loads the configuration, finds the plugins, checks
//! them against the lock files and the policy, and passes the engine its inputs. Other modules
//! contain the backend and its states ([`backend`], [`state_access`], [`workspaces`]), saved plans
//! ([`saved_plan`]), consent to plugins' capability requests ([`consent`]), and the confinement of
//! untrusted configurations ([`untrusted`]).
//!
//! Invariants:
//! - nothing here writes to a terminal, reads arguments, installs signal handlers or exits: the
//!   caller implements [`Frontend`], which shows warnings and progress and asks the user;
//! - no environment variable is read: the caller passes a [`ProcessEnvironment`];
//! - this crate does not use wasmtime directly;
//! - when its [`wardian_state::StateManager`] is dropped, a locked state is completely written and
//!   unlocked.

pub mod atomic_write;
pub mod audit_log;
pub mod backend;
pub mod backend_init;
pub mod built_in;
pub mod call_recording;
mod cancellation;
pub mod catalog;
pub mod compatibility;
mod configuration_shape;
pub mod consent;
pub mod consent_lock;
mod context;
mod directory_view;
pub mod encryption;
mod enterprise_hosts;
mod environment;
mod error;
mod evaluation_limits;
mod frontend;
pub mod generated_configuration;
pub mod go_json;
pub mod granted_paths;
pub mod host_network;
mod host_secrets;
pub mod module_manifest;
pub mod modules;
pub mod native_confinement;
mod native_environment;
mod package_servers;
mod paths;
mod plugin_caches;
mod plugin_name;
pub mod plugin_path;
mod plugin_policy;
pub mod plugins;
pub mod policy_file;
pub mod policy_learning;
pub mod protected_files;
mod published_hashes;
mod publisher_consent;
mod requirements;
pub mod saved_plan;
pub mod state_access;
pub mod state_change;
mod state_migration;
pub mod state_recorder;
mod state_store;
pub mod test_suite;
pub mod testing;
pub mod untrusted;
mod untrusted_services;
pub mod variable_files;
pub mod workspaces;

pub use cancellation::unless_stopped;
pub use configuration_shape::CONFIGURATION_TARGET;
pub use context::{AppContext, AppOptions, require_files};
pub use environment::{EnvironmentVariable, ProcessEnvironment, VARIABLES};
pub use error::{AppError, json_reason, sentence, state_diagnostic};
pub use frontend::{
    AppEvent, CapabilityChange, Confirmation, Frontend, NativeReplacement, RequestedCapability,
};
pub use plugin_name::plugin_name;
pub use publisher_consent::PublisherChange;
pub use requirements::{requirements, requirements_with_tests};
pub use state_migration::StateCopy;
pub use state_store::store_requirements;
