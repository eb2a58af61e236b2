//! wardian-sdk: the library for writing Wardian plugins.
//!
//! A provider is a function that returns a [`Provider`]; the macro [`export_provider!`] exports it
//! from a component. The crate's only `unsafe` code is generated bindings and the symbols that a
//! component exports. The crate performs I/O only in [`file_mode`], [`http`] and [`file_access`],
//! and also compiles for the host. A provider's unit tests therefore run natively ([`testing`]), on
//! the same request path as in the sandbox. The module [`provisioner`] is for
//! provisioners, and [`state_store`] for services in which states are stored.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use wardian_sdk::{Attribute, Context, Provider, Resource, Result, Schema, validate};
//!
//! struct Greeting;
//!
//! #[derive(Serialize, Deserialize)]
//! struct State {
//!     name: String,
//!     text: Option<String>,
//! }
//!
//! impl Resource for Greeting {
//!     type State = State;
//!
//!     fn schema(&self) -> Schema {
//!         Schema::new()
//!             .attribute(Attribute::string("name").required().force_new().validate(validate::length(1..)))
//!             .attribute(Attribute::string("text").computed().use_state_for_unknown())
//!     }
//!
//!     fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
//!         let text = format!("Hello, {}!", plan.name);
//!         Ok(State { text: Some(text), ..plan })
//!     }
//! }
//!
//! fn provider() -> Provider {
//!     Provider::new("greeting").resource("greeting_text", Greeting)
//! }
//!
//! wardian_sdk::export_provider!(provider);
//!
//! // In a test:
//! wardian_sdk::assert_valid_provider(provider());
//! ```

#![warn(missing_docs)]

// The generated bindings and the documentation tests use the external name of this crate.
extern crate self as wardian_sdk;

mod action;
#[doc(hidden)]
pub mod bindings;
mod check;
mod codec;
mod context;
mod data_source;
#[doc(hidden)]
pub mod declaration;
mod definition_check;
mod diagnostic;
mod ephemeral;
pub mod export;
pub mod file_access;
pub mod file_mode;
mod function;
pub mod http;
mod identity;
mod import;
mod list;
pub mod log;
mod model;
mod modifier;
mod plan;
mod provider;
pub mod provisioner;
mod resource;
pub mod run;
mod schema;
mod service;
pub mod shared;
pub mod state_store;
mod stored;
pub mod testing;
mod timeouts;
mod upgrade;
pub mod validate;

pub use wardian_value::{Number, Path, PathStep, Str, Type, Value, View, duration};

pub use action::{Action, ActionSteps};
pub use context::{Context, DeferredReason};
pub use data_source::DataSource;
pub use definition_check::{assert_valid_provider, definition_errors};
pub use diagnostic::{Diagnostic, Diagnostics, Explain, Result, Severity};
pub use ephemeral::{EphemeralResource, Opened, Renew};
pub use function::{Function, FunctionBuilder, FunctionError, Parameter};
pub use identity::{IdentityAttribute, IdentitySchema};
pub use import::Import;
pub use list::{ListRequest, ListResource, ListResult, ListResults};
pub use model::{Attr, Dynamic, Model, ModelError, Object};
pub use modifier::AttributePlan;
pub use provider::Provider;
pub use resource::{Plan, Resource, Update};
pub use schema::{Attribute, Block, BlockNesting, Nesting, Schema};
pub use timeouts::{Deadline, Timeouts};
pub use upgrade::{MoveSource, StateUpgrader};

#[doc(hidden)]
pub use wit_bindgen::rt as wit_runtime;

#[cfg(test)]
mod tests;
