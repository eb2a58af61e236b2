//! A third-party provisioner: `notify` writes a message to the system log with the program
//! `logger`.
//!
//! ```text
//! resource "terraform_data" "web" {
//!   provisioner "acme/notify" {
//!     message = "web is up"
//!     level   = "notice"
//!   }
//! }
//! ```
//!
//! `cargo build --target wasm32-wasip2` builds the component. In a plugin directory, with the file
//! name `terraform-provisioner-notify_v1.0.0.wasm`, its label is `provisioner "notify"`; in a
//! mirror, below `registry.terraform.io/acme/provisioner-notify/1.0.0/`, its label is `provisioner
//! "acme/notify"`.

use serde::Deserialize;
use wardian_sdk::provisioner::{Command, ProvisionContext, Provisioner};
use wardian_sdk::{Attribute, Diagnostic, Diagnostics, Object, Result, Schema};

/// The priorities of syslog that `level` accepts.
const LEVELS: [&str; 4] = ["debug", "info", "notice", "warning"];

/// The provisioner `notify`.
#[derive(Clone, Copy, Debug)]
pub struct Notify;

/// The arguments of the provisioner.
#[derive(Debug, Deserialize)]
pub struct Config {
    message: String,
    level: Option<String>,
}

impl Provisioner for Notify {
    type Config = Config;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("message").required())
            .attribute(Attribute::string("level").optional())
    }

    fn validate(&self, config: &Object) -> Result<()> {
        match config.value("level").as_str() {
            Some(level) if !LEVELS.contains(&level) => {
                let detail = format!("The level must be one of: {}.", LEVELS.join(", "));
                Err(Diagnostic::error("Invalid level", detail).at_attribute("level").into())
            }
            _ => Ok(()),
        }
    }

    fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
        let level = config.level.as_deref().unwrap_or("info");
        context.show(&format!("Logging ({level}): {}", config.message));
        let priority = format!("user.{level}");
        let arguments = ["-t", "wardian", "-p", &priority, "--", &config.message];
        let output = context
            .run(&Command::new("logger", arguments))
            .map_err(|problem| Diagnostics::error("Message was not logged", format!("{problem}.")))?;
        if output.is_success() {
            return Ok(());
        }
        let detail = format!("The program logger failed with {}. Output: {}", output.status, output.output);
        Err(Diagnostics::error("Message was not logged", detail))
    }
}

/// Returns the provisioner that the component exports.
pub fn provisioner() -> Notify {
    Notify
}

wardian_sdk::export_provisioner!(
    provisioner,
    process {
        program: "logger",
        arguments: ["-t", "wardian", "-p", "user.*", "--", "*"],
        reason: "writes messages to the system log",
    },
);

#[cfg(test)]
mod tests {
    use wardian_sdk::provisioner::testing::ProvisionerHarness;

    use super::*;

    #[test]
    fn provision_runs_logger() {
        let mut harness = ProvisionerHarness::new().with_program("", 0);
        harness.provision(Notify, r#"{ "message": "it is there", "level": "notice" }"#).unwrap();
        assert_eq!(harness.shown, ["Logging (notice): it is there"]);
        assert_eq!(harness.started[0].arguments, ["-t", "wardian", "-p", "user.notice", "--", "it is there"]);
        let mut failing = ProvisionerHarness::new().with_program("no log here\n", 1);
        let found = failing.provision(Notify, r#"{ "message": "it is there" }"#).unwrap_err();
        assert!(format!("{found:?}").contains("no log here"));
    }

    #[test]
    fn validate_rejects_unknown_level() {
        let found = ProvisionerHarness::validate(Notify, r#"{ "message": "x", "level": "loud" }"#);
        assert!(format!("{found:?}").contains("Invalid level"));
        assert!(
            !format!("{:?}", ProvisionerHarness::validate(Notify, r#"{ "message": "x" }"#)).contains("level")
        );
    }
}
