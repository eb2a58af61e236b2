//! The API for writing provisioners.
//!
//! A provisioner is a value that implements the trait [`Provisioner`]; the macro
//! [`crate::export_provisioner!`] exports it from a component. Each call receives a
//! [`ProvisionContext`], which shows text, runs programs if policy allows it, and provides access
//! to the [`Machine`] in a connection block.
//!
//! ```
//! use serde::Deserialize;
//! use wardian_sdk::provisioner::{Command, Provisioner, ProvisionContext};
//! use wardian_sdk::{Attribute, Diagnostics, Result, Schema};
//!
//! struct Notify;
//!
//! #[derive(Deserialize)]
//! struct Config {
//!     message: String,
//! }
//!
//! impl Provisioner for Notify {
//!     type Config = Config;
//!
//!     fn schema(&self) -> Schema {
//!         Schema::new().attribute(Attribute::string("message").required())
//!     }
//!
//!     fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
//!         context.show(&format!("Logging {}", config.message));
//!         let result = context.run(&Command::new("logger", [config.message])).map_err(|problem| {
//!             Diagnostics::error("Message was not logged", problem.to_string())
//!         })?;
//!         if result.is_success() {
//!             Ok(())
//!         } else {
//!             Err(Diagnostics::error("Message was not logged", result.output))
//!         }
//!     }
//! }
//!
//! fn provisioner() -> Notify {
//!     Notify
//! }
//!
//! wardian_sdk::export_provisioner!(provisioner);
//!
//! // In a test:
//! use wardian_sdk::provisioner::testing::ProvisionerHarness;
//! let mut harness = ProvisionerHarness::new().with_program("a\nb\n", 0);
//! let config = r#"{ "message": "hello" }"#;
//! assert!(harness.provision(Notify, config).is_ok());
//! assert_eq!(harness.shown, ["Logging hello", "a", "b"]);
//! assert_eq!(harness.started[0].arguments, ["hello"]);
//! ```

#[doc(hidden)]
pub mod bindings;
mod context;
#[doc(hidden)]
pub mod export;
mod lines;
mod machine;
pub mod testing;

use serde::de::DeserializeOwned;

use crate::{Object, Result, Schema};

pub use context::{
    Command, CommandOutput, ExitStatus, HostApi, ProcessEvent, ProvisionContext, RunningProgram, SpawnError,
};
pub use machine::{ConnectionOutput, Machine, MachineApi, Platform, RemoteError, RunningCommand};

/// A provisioner runs steps for an object after it is created or before it is destroyed.
///
/// ```
/// use wardian_sdk::provisioner::{ProvisionContext, Provisioner};
/// use wardian_sdk::{Attribute, Result, Schema};
///
/// #[derive(serde::Deserialize)]
/// struct Config {
///     message: String,
/// }
///
/// struct Say;
///
/// impl Provisioner for Say {
///     type Config = Config;
///
///     fn schema(&self) -> Schema {
///         Schema::new().attribute(Attribute::string("message").required())
///     }
///
///     fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
///         context.show(&config.message);
///         Ok(())
///     }
/// }
/// ```
pub trait Provisioner: 'static {
    /// The Rust type of the provisioner block's configuration.
    type Config: DeserializeOwned;

    /// Returns the schema of the provisioner block.
    fn schema(&self) -> Schema;

    /// Checks a configuration in addition to the schema. The check must accept unknown values.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid.
    fn validate(&self, _config: &Object) -> Result<()> {
        Ok(())
    }

    /// Runs the steps.
    ///
    /// # Errors
    /// Returns an error if a step failed.
    fn provision(&self, config: Self::Config, context: &mut ProvisionContext<'_>) -> Result<()>;
}
