//! What a provisioner is written with.
//!
//! A provisioner is a value with the trait [`Provisioner`]; the macro
//! [`crate::export_provisioner!`] makes a component of it. What it may do beside computing
//! it is handed for each call as [`Work`]: showing text, running programs as far as policy
//! lets it, and the [`Machine`] that a connection block names.
//!
//! ```
//! use serde::Deserialize;
//! use wardian_sdk::provisioner::{Command, Provisioner, Work};
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
//!     fn provision(&self, config: Config, work: &mut Work<'_>) -> Result<()> {
//!         work.show(&format!("Telling {}", config.message));
//!         let ended = work.run(&Command::new("logger", [config.message])).map_err(|problem| {
//!             Diagnostics::error("Not told", problem.to_string())
//!         })?;
//!         if ended.is_success() { Ok(()) } else { Err(Diagnostics::error("Not told", ended.output)) }
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
//! use wardian_sdk::provisioner::testing::Rehearsal;
//! let mut rehearsal = Rehearsal::new().program("a\nb\n", 0);
//! let config = r#"{ "message": "hello" }"#;
//! assert!(rehearsal.provision(Notify, config).is_ok());
//! assert_eq!(rehearsal.shown, ["Telling hello", "a", "b"]);
//! assert_eq!(rehearsal.started[0].arguments, ["hello"]);
//! ```

#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod export;
mod lines;
mod machine;
pub mod testing;
mod work;

use serde::de::DeserializeOwned;

use crate::{Object, Result, Schema};

pub use machine::{Machine, Platform, Remote, RemoteError, RemoteProgram, Telling};
pub use work::{Command, Ended, Ending, Event, NotRun, Program, Surroundings, Work};

/// Work on an object that was just created, or is about to go.
pub trait Provisioner: 'static {
    /// What its block says.
    type Config: DeserializeOwned;

    /// The schema of its block.
    fn schema(&self) -> Schema;

    /// Checks what the schema cannot say. Values may be unknown.
    ///
    /// # Errors
    /// What is wrong.
    fn validate(&self, _config: &Object) -> Result<()> {
        Ok(())
    }

    /// Does the work.
    ///
    /// # Errors
    /// Why it failed.
    fn provision(&self, config: Self::Config, work: &mut Work<'_>) -> Result<()>;
}
