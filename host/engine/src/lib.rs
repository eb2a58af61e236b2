//! The engine plans and applies configurations.
//!
//! The engine depends on configurations, states and the plugin protocol, but not on wasmtime, gRPC,
//! terminals or files. A plan depends only on the configuration, the prior state and the providers'
//! responses; an apply makes the planned changes without additional decisions.
//!
//! Invariants: every step costs O(edges touched); provider operations run concurrently up to the
//! given limit, everything else runs on one task in a stable order; a provider's response is
//! checked before it is used.

mod apply_order;
mod apply_walk;
mod checks;
mod clock;
mod conditions;
mod context;
mod diagnostic_spans;
mod ephemeral;
mod evaluator;
mod events;
mod expired;
mod function_results;
mod functions;
mod graph;
mod graph_export;
mod import;
mod nodes;
mod object;
mod object_secrets;
mod operation;
mod persisted_meta;
mod plan;
pub mod plan_file;
mod plan_secrets;
mod plan_walk;
mod plugin_diagnostics;
mod providers;
mod provisioners;
mod query;
mod query_walk;
mod refactoring;
mod reference_check;
mod relevant_attributes;
mod repeats;
mod reported_references;
mod run;
mod scheduler;
mod schema_steps;
mod state_values;
mod stop;
mod targets;
mod test_inputs;
mod test_run;
mod transitive_dependencies;
mod validate;
mod values;
mod walk;

pub use context::{Applied, DirectImport, EngineContext, FlushReply, StateSink};
pub use evaluator::Directories;
pub use events::{EphemeralAction, Event, Events, Silent};
pub use function_results::CallDigest;
pub use graph_export::{GraphNode, GraphNodeKind, export_graph, export_plan_graph};
pub use object::sensitive::sensitive_paths;
pub use object_secrets::ObjectSecrets;
pub use plan::{
    Action, ActionInvocation, ActionReason, ChangeCounts, ChangeInvocations, Importing, InvocationTrigger,
    InvokeAddress, MissingConfiguration, Mode, OutputChange, Plan, PlanOptions, RelevantAttribute,
    ResourceChange, TargetAddress, has_same_changes, row_locks,
};
pub use providers::{Schemas, TERRAFORM_VERSION};
pub use provisioners::blocks as provisioner_blocks;
pub use query::{DEFAULT_LIMIT, GeneratedImport, ListInstance, ListedObject, QueriedList, QueryOptions};
pub use run::Console;
pub use state_values::decode_stored;
pub use stop::{Stop, StopSignal, Stopper, stop_channel};
pub use test_inputs::{AcceptedConfigurations, Coverage, Overrides, TestInputs, TestValues};
pub use test_run::{TestApplied, TestPlanned};
