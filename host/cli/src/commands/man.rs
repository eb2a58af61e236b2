//! `wardian man`: prints or writes manual pages.

use std::fs;

use async_trait::async_trait;
use wardian_diagnostic::system_reason;
use wardian_printable::printable;

use crate::arguments::{ManArguments, manual_pages};
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::render::counted::counted;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for ManArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        let pages = manual_pages(context.shell.product());
        let Some(directory) = &self.directory else {
            let main = pages.first().map(|page| page.text.as_str()).unwrap_or_default();
            context.shell.print_data(main.as_bytes());
            return Ok(Status::Success);
        };
        let write = || {
            fs::create_dir_all(directory)?;
            pages.iter().try_for_each(|page| fs::write(directory.join(&page.file_name), &page.text))
        };
        write().map_err(|error| {
            Failure::error(
                "Manual pages cannot be written",
                format!("{}: {}.", directory.display(), system_reason(&error)),
            )
        })?;
        context.shell.say(printable!("Wrote {} to {}.", counted(pages.len(), "page"), directory.display()));
        Ok(Status::Success)
    }
}
