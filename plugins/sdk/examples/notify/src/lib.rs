//! A provisioner as somebody else would write it: `notify` tells the system's log what was
//! made, by the program `logger`.
//!
//! ```text
//! resource "terraform_data" "web" {
//!   provisioner "acme/notify" {
//!     message = "web is there"
//!     level   = "notice"
//!   }
//! }
//! ```
//!
//! `cargo build --target wasm32-wasip2` makes the component. `terraform-provisioner-notify_v1.0.0.wasm`
//! in a directory of plugins is `provisioner "notify"`; in a mirror, below
//! `registry.terraform.io/acme/provisioner-notify/1.0.0/`, it is `provisioner "acme/notify"`.

use serde::Deserialize;
use wardian_sdk::provisioner::{Command, Provisioner, Work};
use wardian_sdk::{Attribute, Diagnostic, Diagnostics, Object, Result, Schema};

/// What the log calls how much something matters.
const LEVELS: [&str; 4] = ["debug", "info", "notice", "warning"];

/// The provisioner.
#[derive(Clone, Copy, Debug)]
pub struct Notify;

/// What the block says.
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
                let told = format!("There are: {}.", LEVELS.join(", "));
                Err(Diagnostic::error("No such level", told).at_attribute("level").into())
            }
            _ => Ok(()),
        }
    }

    fn provision(&self, config: Config, work: &mut Work<'_>) -> Result<()> {
        let level = config.level.as_deref().unwrap_or("info");
        work.show(&format!("Telling the log ({level}): {}", config.message));
        let priority = format!("user.{level}");
        let arguments = ["-t", "wardian", "-p", &priority, "--", &config.message];
        let ended = work
            .run(&Command::new("logger", arguments))
            .map_err(|problem| Diagnostics::error("Log was not told", format!("{problem}.")))?;
        if ended.is_success() {
            return Ok(());
        }
        let told = format!("The program logger failed with {}. Output: {}", ended.ending, ended.output);
        Err(Diagnostics::error("Log was not told", told))
    }
}

/// The provisioner of the component.
pub fn provisioner() -> Notify {
    Notify
}

wardian_sdk::export_provisioner!(
    provisioner,
    process {
        program: "logger",
        arguments: ["-t", "wardian", "-p", "user.*", "--", "*"],
        reason: "it tells the system's log what was made",
    },
);

#[cfg(test)]
mod tests {
    use wardian_sdk::provisioner::testing::Rehearsal;

    use super::*;

    #[test]
    fn the_log_is_told() {
        let mut rehearsal = Rehearsal::new().program("", 0);
        rehearsal.provision(Notify, r#"{ "message": "it is there", "level": "notice" }"#).unwrap();
        assert_eq!(rehearsal.shown, ["Telling the log (notice): it is there"]);
        assert_eq!(
            rehearsal.started[0].arguments,
            ["-t", "wardian", "-p", "user.notice", "--", "it is there"]
        );
        let mut failing = Rehearsal::new().program("no log here\n", 1);
        let found = failing.provision(Notify, r#"{ "message": "it is there" }"#).unwrap_err();
        assert!(format!("{found:?}").contains("no log here"));
    }

    #[test]
    fn only_levels_that_there_are_will_do() {
        let found = Rehearsal::validate(Notify, r#"{ "message": "x", "level": "loud" }"#);
        assert!(format!("{found:?}").contains("No such level"));
        assert!(!format!("{:?}", Rehearsal::validate(Notify, r#"{ "message": "x" }"#)).contains("level"));
    }
}
