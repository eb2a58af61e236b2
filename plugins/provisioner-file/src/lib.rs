//! The provisioner `file`: a file or a directory to the machine that is provisioned.
//!
//! It takes what Terraform's own takes, and asks the host for one thing: to copy. The host
//! reads what is copied, as far as policy lets this plugin read it, so that nothing of it
//! passes through here.

use serde::Deserialize;
use wardian_sdk::provisioner::{Provisioner, RemoteError, Telling, Work};
use wardian_sdk::{Attribute, Diagnostics, Object, Result, Schema};

/// What is said of every failure.
const SUMMARY: &str = "file provisioner error";

/// The provisioner.
#[derive(Clone, Copy, Debug)]
pub struct File;

/// What the block says.
#[derive(Debug, Deserialize)]
pub struct Config {
    content: Option<String>,
    destination: Option<String>,
    source: Option<String>,
}

impl Provisioner for File {
    type Config = Config;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("content").optional())
            .attribute(Attribute::string("destination").required())
            .attribute(Attribute::string("source").optional())
    }

    fn validate(&self, config: &Object) -> Result<()> {
        let is_set = |name| config.as_value().get(name).is_some_and(|value| !value.is_null());
        match (is_set("source"), is_set("content")) {
            (false, false) => Err(Diagnostics::error(
                "Must provide one of 'source' or 'content'",
                "There is nothing to copy: source names a file or a directory of this machine, and content is what \
                 a file is to hold.",
            )),
            (true, true) => Err(Diagnostics::error(
                "Cannot set both 'source' and 'content'",
                "What is copied is either what source names or what content says.",
            )),
            _ => Ok(()),
        }
    }

    fn provision(&self, config: Config, work: &mut Work<'_>) -> Result<()> {
        let Some(destination) = config.destination.as_deref().filter(|path| !path.is_empty()) else {
            return Err(failed("the argument destination is empty, or null; it says where the copy goes"));
        };
        let mut machine = work.machine().map_err(not_done)?;
        let copied = match (&config.source, &config.content) {
            (Some(source), _) if source.is_empty() => {
                return Err(failed(
                    "the argument source is empty; it names a file or a directory of this machine",
                ));
            }
            (Some(source), _) => machine.upload_path(source, destination),
            (None, Some(content)) => {
                let connected = machine.connect(Telling::Silent);
                connected.and_then(|()| machine.upload(destination, content.as_bytes(), None))
            }
            (None, None) => {
                return Err(failed("there is nothing to copy: both source and content are null"));
            }
        };
        copied.map_err(not_done)
    }
}

fn failed(what: &str) -> Diagnostics {
    Diagnostics::error(SUMMARY, format!("Nothing was copied: {what}."))
}

fn not_done(problem: RemoteError) -> Diagnostics {
    let told = match problem {
        RemoteError::Denied(why) => format!("Policy does not allow this copy: {why}."),
        problem => format!("The copy failed: {problem}."),
    };
    Diagnostics::error(SUMMARY, told)
}

/// The provisioner of the component.
pub fn provisioner() -> File {
    File
}

wardian_sdk::export_provisioner!(provisioner);

#[cfg(test)]
mod tests {
    use wardian_sdk::provisioner::Platform;
    use wardian_sdk::provisioner::testing::{Done, Rehearsal};

    use super::*;

    fn summary(found: &Diagnostics) -> String {
        found.iter().map(|one| one.summary.clone()).collect()
    }

    fn failed(mut rehearsal: Rehearsal, config: &str) -> String {
        let found = rehearsal.provision(File, config).unwrap_err();
        let one = found.iter().next().unwrap();
        format!("{}: {}", one.summary, one.detail)
    }

    #[test]
    fn there_is_one_thing_to_copy() {
        let found = |config: &str| summary(&Rehearsal::validate(File, config));
        assert_eq!(found(r#"{ "destination": "/x" }"#), "Must provide one of 'source' or 'content'");
        let both = r#"{ "destination": "/x", "source": "a", "content": "b" }"#;
        assert_eq!(found(both), "Cannot set both 'source' and 'content'");
        assert_eq!(found(r#"{ "destination": "", "source": "" }"#), "");
        assert_eq!(found(r#"{ "source": "a" }"#), "Missing Configuration for Required Attribute");
    }

    #[test]
    fn content_is_written_and_a_source_is_copied() {
        let mut rehearsal = Rehearsal::new().with_machine(Platform::Unix);
        rehearsal.provision(File, r#"{ "destination": "/x", "content": "" }"#).unwrap();
        rehearsal.provision(File, r#"{ "destination": "/x", "source": "a/" }"#).unwrap();
        let wrote = Done::Wrote { path: "/x".into(), content: String::new(), mode: None };
        let copied = Done::Copied { source: "a/".into(), destination: "/x".into() };
        let done = rehearsal.machine.map(|machine| machine.done);
        assert_eq!(done, Some(vec![Done::Connected(Telling::Silent), wrote, copied]));
        assert!(rehearsal.shown.is_empty());
    }

    #[test]
    fn what_fails_is_told() {
        let config = r#"{ "destination": "/x", "source": "a" }"#;
        let text = failed(Rehearsal::new(), config);
        assert!(
            text.starts_with("file provisioner error: The copy failed: ")
                && text.contains("no connection block")
        );
        let machine = || Rehearsal::new().with_machine(Platform::Unix);
        let denied = machine().there(Err(RemoteError::Denied("no rule allows it".into())));
        assert!(failed(denied, config).ends_with("Policy does not allow this copy: no rule allows it."));
        for (config, name) in [
            (r#"{ "destination": "", "source": "a" }"#, "destination"),
            (r#"{ "destination": "/x", "source": "" }"#, "source"),
            (r#"{ "destination": "/x" }"#, "content"),
        ] {
            assert!(failed(machine(), config).contains(name), "{config}");
        }
    }
}
