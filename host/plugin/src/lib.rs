//! The plugin protocol in Rust, with one definition for all transports: Terraform's newest protocol
//! (6.x) for providers, and protocol 5 for provisioners.
//!
//! The sandbox and the bridge to native plugins implement [`Provider`] and [`Provisioner`]; the
//! engine does not depend on which of the two it uses. This crate does not depend on the
//! configuration language or the engine. It also redacts the [sensitive values](SensitiveValues)
//! that a plugin received, in the plugin's output and records.

#![warn(missing_docs)]

mod call_context;
mod calls_in_flight;
mod diagnostic;
mod file_gate;
mod notices;
mod printable;
mod provider;
mod provisioner;
mod raw_state;
mod redacting;
mod redaction;
mod schema;
mod schema_check;
mod schema_table;
mod source;
mod state_recorder;
mod state_store;
pub mod transport;

pub use call_context::{CallContext, PluginCall, call_span};
pub use calls_in_flight::{CallInFlight, CallsInFlight, CpuTimeExceeded};
pub use diagnostic::{PluginDiagnostic, PluginDiagnostics, Severity, has_errors};
pub use file_gate::FileGate;
pub use notices::CallNotices;
pub use printable::{printable, printable_line};
pub use provider::*;
pub use provisioner::{ProvisionOutput, ProvisionRequest, Provisioner, Shareable, SharedByObject};
pub use raw_state::RawState;
pub use redacting::{RedactingProvider, RedactingProvisioner};
pub use redaction::{CallScope, MAX_SENSITIVE_LENGTH, REDACTED, RecentSensitiveValues, SensitiveValues};
pub use schema::*;
pub use schema_check::{MistakeKind, SchemaMistake, schema_mistakes};
pub use schema_table::{SchemaSource, SchemaTable};
pub use source::{NoProvisioners, ProviderSource, ProvisionerSource};
pub use state_recorder::{ObjectRecorder, RecordError, RecordedState};
pub use state_store::{
    LockOutcome, MAX_LISTED_STATES, MAX_STORED_STATE_BYTES, PROPOSED_CHUNK_BYTES, Reported, StateAssembly,
    StateChunk, StateLockInfo, StateStore, StateStoreConfig, StateStorePlugin, StateStoreSchemas,
    StoreResult, UnlockOutcome, check_chunk_size, no_state_stores, state_chunks,
};
