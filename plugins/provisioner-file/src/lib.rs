//! The provisioner `file`: copies a file or directory to the provisioned machine.
//!
//! It has the arguments of Terraform's provisioner and uses only one host operation, copying. The
//! host reads the local files if policy allows this plugin to read them, so the component does not
//! receive their content.

use serde::Deserialize;
use wardian_sdk::provisioner::{ConnectionOutput, ProvisionContext, Provisioner, RemoteError};
use wardian_sdk::{Attribute, Diagnostics, Object, Result, Schema};

/// The summary of every error diagnostic.
const SUMMARY: &str = "file provisioner error";

#[derive(Clone, Copy, Debug)]
pub struct File;

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
                "There is nothing to copy. Set source to a local file or directory, or content to the \
                 content of the new file.",
            )),
            (true, true) => Err(Diagnostics::error(
                "Cannot set both 'source' and 'content'",
                "Set either source, to copy a local file or directory, or content.",
            )),
            _ => Ok(()),
        }
    }

    fn provision(&self, config: Config, context: &mut ProvisionContext<'_>) -> Result<()> {
        let Some(destination) = config.destination.as_deref().filter(|path| !path.is_empty()) else {
            return Err(failed(
                "the \"destination\" argument is empty or null; set it to the path of the copy",
            ));
        };
        let mut machine = context.machine().map_err(machine_failure)?;
        let copied = match (&config.source, &config.content) {
            (Some(source), _) if source.is_empty() => {
                return Err(failed("the \"source\" argument is empty; set it to a local file or directory"));
            }
            (Some(source), _) => machine.upload_path(source, destination),
            (None, Some(content)) => {
                let connected = machine.connect(ConnectionOutput::Silent);
                connected.and_then(|()| machine.upload(destination, content.as_bytes(), None))
            }
            (None, None) => {
                return Err(failed("there is nothing to copy: both source and content are null"));
            }
        };
        copied.map_err(machine_failure)
    }
}

fn failed(what: &str) -> Diagnostics {
    Diagnostics::error(SUMMARY, format!("Nothing was copied: {what}."))
}

fn machine_failure(problem: RemoteError) -> Diagnostics {
    let detail = match problem {
        RemoteError::Denied(why) => format!("Policy does not allow this copy: {why}."),
        problem => format!("The copy failed: {problem}."),
    };
    Diagnostics::error(SUMMARY, detail)
}

/// Returns the provisioner that the component exports.
pub fn provisioner() -> File {
    File
}

wardian_sdk::export_provisioner!(provisioner);

#[cfg(test)]
mod tests {
    use wardian_sdk::provisioner::Platform;
    use wardian_sdk::provisioner::testing::{MachineOperation, ProvisionerHarness};

    use super::*;

    fn summary(found: &Diagnostics) -> String {
        found.iter().map(|one| one.summary.clone()).collect()
    }

    fn failed(mut harness: ProvisionerHarness, config: &str) -> String {
        let found = harness.provision(File, config).unwrap_err();
        let one = found.iter().next().unwrap();
        format!("{}: {}", one.summary, one.detail)
    }

    #[test]
    fn exactly_one_source_is_required() {
        let found = |config: &str| summary(&ProvisionerHarness::validate(File, config));
        assert_eq!(found(r#"{ "destination": "/x" }"#), "Must provide one of 'source' or 'content'");
        let both = r#"{ "destination": "/x", "source": "a", "content": "b" }"#;
        assert_eq!(found(both), "Cannot set both 'source' and 'content'");
        assert_eq!(found(r#"{ "destination": "", "source": "" }"#), "");
        assert_eq!(found(r#"{ "source": "a" }"#), "Missing Configuration for Required Attribute");
    }

    #[test]
    fn content_and_source_are_uploaded() {
        let mut harness = ProvisionerHarness::new().with_machine(Platform::Unix);
        harness.provision(File, r#"{ "destination": "/x", "content": "" }"#).unwrap();
        harness.provision(File, r#"{ "destination": "/x", "source": "a/" }"#).unwrap();
        let wrote = MachineOperation::Upload { path: "/x".into(), content: String::new(), mode: None };
        let copied = MachineOperation::UploadPath { source: "a/".into(), destination: "/x".into() };
        let operations = harness.machine.map(|machine| machine.operations);
        assert_eq!(
            operations,
            Some(vec![MachineOperation::Connect(ConnectionOutput::Silent), wrote, copied])
        );
        assert!(harness.shown.is_empty());
    }

    #[test]
    fn failed_uploads_and_invalid_arguments_are_errors() {
        let config = r#"{ "destination": "/x", "source": "a" }"#;
        let text = failed(ProvisionerHarness::new(), config);
        assert!(
            text.starts_with("file provisioner error: The copy failed: ")
                && text.contains("no connection block")
        );
        let machine = || ProvisionerHarness::new().with_machine(Platform::Unix);
        let denied = machine().with_machine_result(Err(RemoteError::Denied("no rule allows it".into())));
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
