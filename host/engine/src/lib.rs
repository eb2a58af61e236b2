//! Plan and apply.
//!
//! Knows configurations, states and the plugin protocol; never wasmtime, gRPC, a
//! terminal or a file. Planning is a function of configuration, prior state and
//! the providers' answers; applying carries out a plan and decides nothing anew.
//!
//! Always holds: every step costs O(edges touched); provider operations run
//! concurrently up to the given limit, all else on one task, in a stable order;
//! what a provider answers is checked before anything relies on it.

mod apply_order;
mod apply_walk;
mod behind;
mod checks;
mod clock;
mod conditions;
mod drawing;
mod ephemeral;
mod evaluator;
mod events;
mod files;
mod function_results;
mod functions;
mod graph;
mod import;
mod located;
mod nodes;
mod object;
mod operation;
mod plan;
pub mod plan_file;
mod plan_walk;
mod providers;
mod provisioners;
mod refactoring;
mod reference_check;
mod relevant;
mod repetition;
mod replan;
mod run;
mod scheduler;
mod scope;
mod stop;
mod stored;
mod targets;
mod validate;
mod values;

pub use drawing::{DrawnKind, DrawnNode, draw, draw_plan};
pub use evaluator::Environment;
pub use events::{EphemeralAction, Event, Events, Silent};
pub use function_results::CallDigest;
pub use import::check::MissingConfiguration;
pub use plan::{
    Action, ActionReason, ChangeCounts, Importing, Mode, OutputChange, Plan, PlanOptions, RelevantAttribute,
    ResourceChange, Target,
};
pub use providers::{Schemas, TERRAFORM_VERSION};
pub use provisioners::blocks as provisioner_blocks;
pub use run::{Applied, Console, ImportOrder, Run, StateSink};
pub use stop::{Stop, StopSignal, Stopper, stop_channel};
pub use stored::decode_stored;
