//! `wardian metadata`: prints the signatures of functions.

use async_trait::async_trait;
use wardian_lang::function_signatures;

use crate::arguments::MetadataFunctionsArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Outcome, Status};
use crate::render::json::functions_json;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for MetadataFunctionsArguments {
    fn view(&self) -> ViewOptions {
        ViewOptions::default()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.json {
            return Ok(());
        }
        Err(InvalidOptions::new(
            "Option required",
            "Signatures are available only as JSON. Add the option -json.",
        ))
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        context.shell.print_json(&functions_json(function_signatures()));
        Ok(Status::Success)
    }
}
