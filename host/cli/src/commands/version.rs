//! `wardian version`: shows the versions of Wardian and of the selected plugins.

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;
use wardian_app::compatibility::{TERRAFORM_VERSION, VERSION};
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_install::mirror::Platform;

use crate::arguments::VersionArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::ViewOptions;
use wardian_printable::printable;

/// The output of `version -json`: Terraform's members, followed by a member that only Wardian has.
#[derive(Serialize)]
struct Report {
    terraform_version: &'static str,
    platform: String,
    provider_selections: BTreeMap<String, String>,
    terraform_outdated: bool,
    wardian_version: &'static str,
}

#[async_trait(?Send)]
impl CommandSpec for VersionArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn run(context: &CommandContext, arguments: &VersionArguments) -> Outcome {
    let platform = Platform::current().as_str().to_owned();
    // Other commands report an invalid lock file.
    let lock = LockFile::load(Path::new(LOCK_FILE_NAME)).map(|loaded| loaded.lock).unwrap_or_default();
    let selections: BTreeMap<String, String> = lock
        .providers
        .iter()
        .map(|(address, entry)| (address.to_string(), entry.version.to_string()))
        .collect();
    if arguments.json {
        let report = Report {
            terraform_version: TERRAFORM_VERSION,
            platform,
            provider_selections: selections,
            terraform_outdated: false,
            wardian_version: VERSION,
        };
        let text = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::error("JSON cannot be written", error.to_string()))?;
        context.shell.print_json(&text);
        return Ok(Status::Success);
    }
    let product = context.shell.product();
    if product.is_own() {
        context.shell.say(printable!("Wardian v{VERSION}"));
        context.shell.say(printable!("on {platform}, compatible with Terraform v{TERRAFORM_VERSION}"));
    } else {
        context.shell.say(printable!("{} v{TERRAFORM_VERSION}", product.name()));
        context.shell.say(printable!("on {platform}"));
    }
    for (address, version) in selections {
        context.shell.say(printable!("+ provider {address} v{version}"));
    }
    if !product.is_own() {
        let command = product.command();
        context.shell.say(printable!("\nThis is Wardian v{VERSION}, with the output of {command}."));
    }
    Ok(Status::Success)
}
