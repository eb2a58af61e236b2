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
//! use wardian_sdk::{Context, Provider, Resource, Result, Schema};
//!
//! struct Greeting;
//!
//! /// A greeting.
//! #[derive(Serialize, Deserialize, Schema)]
//! struct State {
//!     /// The person to greet.
//!     #[attr(force_new, validate(length(1..)))]
//!     name: String,
//!     /// The greeting.
//!     #[attr(computed, use_state_for_unknown)]
//!     text: Option<String>,
//! }
//!
//! impl Resource for Greeting {
//!     type State = State;
//!
//!     fn schema(&self) -> Schema {
//!         Schema::for_type::<State>()
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
pub mod clock;
mod codec;
#[doc(hidden)]
pub mod configured_form;
mod context;
mod data_source;
#[doc(hidden)]
pub mod declaration;
mod definition_check;
#[doc(hidden)]
pub mod derive;
mod diagnostic;
mod ephemeral;
#[doc(hidden)]
pub mod export;
pub mod file_access;
pub mod file_mode;
mod format;
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
pub mod retry;
pub mod run;
mod schema;
mod service;
pub mod shared;
pub mod state_store;
mod stored;
pub mod testing;
mod timeouts;
mod unique_id;
mod upgrade;
pub mod validate;

/// Derives a schema from a struct, whose fields are attributes and blocks.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::Schema;
///
/// /// A server.
/// #[derive(Serialize, Deserialize, Schema)]
/// #[schema(version = 1, conflicting("image", "disk.image"))]
/// struct Server {
///     /// The name.
///     #[attr(force_new, validate(length(1..=63)))]
///     name: String,
///     #[attr(default = 300, validate(range(30..)))]
///     timeout: i64,
///     image: Option<String>,
///     #[attr(computed, use_state_for_unknown)]
///     id: Option<String>,
///     #[attr(block, max_items = 4)]
///     disk: Vec<Disk>,
/// }
///
/// #[derive(Serialize, Deserialize, Schema)]
/// #[schema(nested)]
/// struct Disk {
///     image: Option<String>,
/// }
///
/// let schema = Schema::for_type::<Server>();
/// assert_eq!(schema.version_number(), 1);
/// ```
///
/// `docs/sdk-rust.md` lists the types of fields and the options `#[attr(..)]` and `#[schema(..)]`.
/// The names are those of serde (`#[serde(rename = "type")]`, `#[serde(flatten)]`).
///
/// A contradiction is a compile error. A default must pass the validators:
///
/// ```compile_fail
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Server {
///     #[attr(default = 10, validate(range(30..)))]
///     timeout: i64,
/// }
/// ```
///
/// A validator must match the type, even if the macro sees only its alias:
///
/// ```compile_fail
/// type Name = String;
///
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Server {
///     #[attr(validate(range(30..)))]
///     name: Name,
/// }
/// ```
///
/// Fields need types that attributes can have:
///
/// ```compile_fail
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Plain {
///     size: i64,
/// }
///
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Server {
///     disk: Plain,
/// }
/// ```
///
/// Nested attributes cannot contain blocks:
///
/// ```compile_fail
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Rule {
///     port: i64,
/// }
///
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Network {
///     #[attr(block)]
///     rule: Vec<Rule>,
/// }
///
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Server {
///     network: Network,
/// }
/// ```
///
/// Schemas cannot be recursive:
///
/// ```compile_fail
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Parent {
///     children: Vec<Child>,
/// }
///
/// #[derive(serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
/// struct Child {
///     parents: Vec<Parent>,
/// }
/// ```
#[doc(inline)]
pub use wardian_sdk_macros::Schema;
pub use wardian_value::{Number, Path, PathStep, Str, Type, Value, View, duration};

pub use action::{Action, ActionSteps};
pub use context::{Context, DeferredReason};
pub use data_source::DataSource;
pub use definition_check::{assert_valid_provider, definition_errors};
pub use diagnostic::{Diagnostic, Diagnostics, Explain, Result, Severity};
pub use ephemeral::{EphemeralResource, Opened, Renew};
pub use format::{
    CidrBlock, CidrFormat, CidrText, DurationFormat, DurationText, JsonFormat, JsonText, Text, TextFormat,
    TimeFormat, TimeText, Timestamp,
};
pub use function::{Function, FunctionBuilder, FunctionError, Parameter};
pub use identity::{IdentityAttribute, IdentitySchema};
pub use import::{Import, ImportKey};
pub use list::{ListRequest, ListResource, ListResult, ListResults};
pub use model::{Attr, ConfigModel, Dynamic, Model, ModelError, Object};
pub use modifier::AttributePlan;
pub use provider::Provider;
pub use resource::{Plan, Resource, Update};
pub use schema::{
    Attribute, AttributeShape, AttributeType, Block, BlockNesting, BlockType, Equality, HasSchema, Nesting,
    Schema,
};
pub use timeouts::{Deadline, Timeouts};
pub use unique_id::unique_id;
pub use upgrade::{MoveSource, StateUpgrader};

#[doc(hidden)]
pub use wit_bindgen::rt as wit_runtime;

/// The examples of the guide and of the introduction, which `cargo test --doc` compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sdk-rust.md")]
#[doc = include_str!("../README.md")]
struct Guide;

#[cfg(test)]
mod tests;
