//! `wardian get`: records the locations of modules.

use async_trait::async_trait;
use wardian_app::module_manifest::{self, ModuleRecord};

use crate::arguments::GetArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::shell::{OutputKind, ViewOptions};
use wardian_printable::printable;

#[async_trait(?Send)]
impl CommandSpec for GetArguments {
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

fn run(context: &CommandContext, arguments: &GetArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let installed = module_manifest::read_installed_modules(&context.app.data_directory());
    let records = module_manifest::records(&configuration, &installed);
    let all = if arguments.update { records.clone() } else { Vec::new() };
    let new = module_manifest::save(records, &context.app.data_directory())?;
    report_modules(context, if arguments.update { &all } else { &new });
    Ok(Status::Success)
}

/// Prints `- name in directory` for each module except the root module.
pub(crate) fn report_modules(context: &CommandContext, records: &[ModuleRecord]) {
    for record in records.iter().filter(|record| !record.key.is_empty()) {
        context.shell.say(printable!("- {} in {}", record.key, record.directory));
    }
}
