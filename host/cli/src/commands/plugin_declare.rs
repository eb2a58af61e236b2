//! `wardian plugin declare`: adds capability requests to a component.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use wardian_app::{atomic_write, sentence};
use wardian_authoring::declare::{DeclaredCapability, declare, document, document_from_json};
use wardian_diagnostic::system_reason;
use wardian_files::read_regular;
use wardian_install::package::MAX_COMPONENT_BYTES;
use wardian_printable::printable;

use crate::arguments::PluginDeclareArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::shell::{OutputKind, ViewOptions};

/// Maximum size of a file with declarations.
const MAX_DOCUMENT_BYTES: u64 = 1 << 20;

#[async_trait(?Send)]
impl CommandSpec for PluginDeclareArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        let requests = requests(self);
        if self.from.is_some() && !requests.is_empty() {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "-from names a file with all capabilities, so it cannot be combined with options for \
                 capabilities.",
            ));
        }
        if !requests.is_empty() && self.reason.is_none() {
            return Err(InvalidOptions::new(
                "Reason required",
                "Users see the reason for each capability before they approve it. Specify it with -reason.",
            ));
        }
        if has_detail_without_subject(self) {
            return Err(InvalidOptions::new(
                "Capability required",
                "The options -network-method, -network-port and -network-scheme require -network-host, and \
                 -filesystem-access requires -filesystem-directory.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn has_detail_without_subject(arguments: &PluginDeclareArguments) -> bool {
    let network = [&arguments.network_method, &arguments.network_port, &arguments.network_scheme];
    arguments.network_host.is_empty() && network.iter().any(|values| !values.is_empty())
        || arguments.filesystem_directory.is_empty() && !arguments.filesystem_access.is_empty()
}

fn run(context: &CommandContext, arguments: &PluginDeclareArguments) -> Outcome {
    let line = declaration(arguments)?;
    let component = read(&arguments.component, MAX_COMPONENT_BYTES)?;
    let (bytes, inspected) = declare(&component, &line, &context.app.directory).map_err(|error| {
        let name = arguments.component.display();
        let detail = format!("Nothing can be declared in {name}: {}", sentence(&error.to_string()));
        Failure::error("Capabilities cannot be declared", detail)
    })?;
    let out = arguments.out.as_ref().unwrap_or(&arguments.component);
    write_component(out, &bytes)?;
    context.shell.say(printable!("{} now requests:", out.display()));
    for request in &inspected.declaration.requests {
        let (what, reason) = (request.description(), request.reason());
        context.shell.say(context.shell.wrapped_item(&printable!("- {what} ({reason})")));
    }
    Ok(Status::Success)
}

/// Returns the line of the declaration that the options or a file contain.
fn declaration(arguments: &PluginDeclareArguments) -> Outcome<String> {
    let requests = requests(arguments);
    if !requests.is_empty() {
        return Ok(document(&requests));
    }
    let adjacent = arguments.component.with_extension("capabilities.json");
    let file: PathBuf = match &arguments.from {
        Some(file) => file.clone(),
        None if adjacent.is_file() => adjacent,
        None => {
            let detail = format!(
                "No option names a capability, and there is no file {}. Specify a capability, such as \
                 -network-host=api.example.com -reason=\"manages zones\", or a file with -from.",
                adjacent.display()
            );
            return Err(Failure::error("No capabilities to declare", detail));
        }
    };
    read_document(&file)
}

/// Reads a JSON file with capabilities.
pub(super) fn read_document(file: &Path) -> Outcome<String> {
    let bytes = read(file, MAX_DOCUMENT_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    document_from_json(&text).map_err(|error| {
        let detail = format!("{}: {}", file.display(), sentence(&error.to_string()));
        Failure::error("Capabilities cannot be declared", detail)
    })
}

/// Returns the requests that the options describe.
fn requests(arguments: &PluginDeclareArguments) -> Vec<DeclaredCapability> {
    let network = [
        ("hosts", &arguments.network_host),
        ("schemes", &arguments.network_scheme),
        ("ports", &arguments.network_port),
        ("methods", &arguments.network_method),
    ];
    let filesystem =
        [("directories", &arguments.filesystem_directory), ("access", &arguments.filesystem_access)];
    let environment = [("names", &arguments.environment_name)];
    [("network", &network[..]), ("filesystem", &filesystem), ("environment", &environment)]
        .into_iter()
        .filter(|(_, values)| values.first().is_some_and(|(_, subjects)| !subjects.is_empty()))
        .map(|(capability, values)| {
            let mut all: Vec<(String, Vec<String>)> = values
                .iter()
                .filter(|(_, list)| !list.is_empty())
                .map(|(name, list)| ((*name).to_owned(), (*list).clone()))
                .collect();
            all.push(("reason".to_owned(), vec![arguments.reason.clone().unwrap_or_default()]));
            DeclaredCapability { capability: capability.to_owned(), arguments: all }
        })
        .collect()
}

/// Writes a component, and replaces an existing file atomically.
pub(super) fn write_component(out: &Path, component: &[u8]) -> Outcome<()> {
    atomic_write::write(out, component).map_err(|error| {
        let detail = format!("{} cannot be written: {}.", out.display(), system_reason(&error));
        Failure::error("Component cannot be written", detail)
    })
}

pub(super) fn read(path: &Path, limit: u64) -> Outcome<Vec<u8>> {
    read_regular(path, limit).map_err(|error| {
        let detail = format!("{} cannot be read: {}.", path.display(), system_reason(&error));
        Failure::error("File cannot be read", detail)
    })
}
