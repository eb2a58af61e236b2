//! `wardian state history`: lists the versions of the state.

use async_trait::async_trait;
use serde::Serialize;
use wardian_app::state_access;
use wardian_printable::{PrintableText, append_line};
use wardian_state::StateVersion;

use crate::arguments::StateHistoryArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::render::json::pretty;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for StateHistoryArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

/// The output of `state history -json`.
#[derive(Serialize)]
struct History {
    format_version: &'static str,
    versions: Vec<Version>,
}

#[derive(Serialize)]
struct Version {
    serial: u64,
    created: String,
    operation: String,
    who: String,
    /// The number of rows that were added or replaced.
    set: u64,
    /// The number of rows that were removed or replaced.
    ended: u64,
}

impl From<StateVersion> for Version {
    fn from(version: StateVersion) -> Self {
        let StateVersion { serial, operation, who, created, set, ended } = version;
        Self { serial, created, operation, who, set, ended }
    }
}

async fn run(context: &CommandContext, arguments: &StateHistoryArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let manager = state_access::open_versions(&context.app, Some(&configuration)).await?;
    let versions = manager.versions(arguments.limit).await?;
    if arguments.json {
        let versions = versions.into_iter().map(Version::from).collect();
        context.shell.print_json(&pretty(&History { format_version: "1.0", versions }));
        return Ok(Status::Success);
    }
    let mut text = PrintableText::new();
    for StateVersion { serial, operation, who, created, set, ended } in &versions {
        let operation = operation.strip_prefix("OperationType").unwrap_or(operation).to_lowercase();
        append_line!(text, "{serial:>6}  {created}  {operation:<14} +{set} -{ended}  {who}");
    }
    context.shell.print(text);
    Ok(Status::Success)
}
