//! `wardian plugin componentize`: converts a core module to a component.

use async_trait::async_trait;
use wardian_app::sentence;
use wardian_authoring::componentize::componentize;
use wardian_authoring::declare::declare;
use wardian_install::package::MAX_COMPONENT_BYTES;
use wardian_printable::printable;

use super::plugin_declare::{read, read_document, write_component};
use crate::arguments::PluginComponentizeArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for PluginComponentizeArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn run(context: &CommandContext, arguments: &PluginComponentizeArguments) -> Outcome {
    let module = read(&arguments.module, MAX_COMPONENT_BYTES)?;
    let failed = |error: &dyn std::fmt::Display| {
        let detail = format!("{}: {}", arguments.module.display(), sentence(&error.to_string()));
        Failure::error("Module cannot be converted", detail)
    };
    let mut component = componentize(&module, arguments.world.as_deref()).map_err(|error| failed(&error))?;
    let adjacent = arguments.module.with_extension("capabilities.json");
    let declared = arguments.declare.clone().or_else(|| adjacent.is_file().then_some(adjacent));
    let mut requests = Vec::new();
    if let Some(file) = declared {
        let (bytes, inspected) = declare(&component, &read_document(&file)?, &context.app.directory)
            .map_err(|error| failed(&error))?;
        component = bytes;
        requests = inspected.declaration.requests;
    }
    let out = arguments.out.clone().unwrap_or_else(|| arguments.module.with_extension("component.wasm"));
    write_component(&out, &component)?;
    context.shell.say(printable!("Wrote {} ({} bytes).", out.display(), component.len()));
    for request in &requests {
        let (what, reason) = (request.description(), request.reason());
        context.shell.say(context.shell.wrapped_item(&printable!("- {what} ({reason})")));
    }
    Ok(Status::Success)
}
