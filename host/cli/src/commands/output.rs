//! `wardian output`: prints the outputs in the state.

use async_trait::async_trait;
use wardian_app::state_access;
use wardian_diagnostic::{Diagnostic, did_you_mean};
use wardian_value::{Value, View};

use crate::arguments::OutputArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::render::json::{output_json, outputs_json};
use crate::render::value::{render_outputs, render_value};
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for OutputArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.json && self.raw {
            return Err(InvalidOptions::new("Incompatible options", "-json and -raw cannot be combined."));
        }
        if self.raw && self.name.is_none() {
            return Err(InvalidOptions::new(
                "Output name required",
                "-raw prints one output. Add the name of the output.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &OutputArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let look =
        state_access::read_unlocked(&context.app, Some(&configuration), arguments.state.as_deref()).await?;
    let outputs = &look.state.outputs;
    if outputs.is_empty() && !(arguments.json && arguments.name.is_none()) {
        let detail = "The state has no outputs. Either the configuration declares none, or it has not been \
            applied since they were declared: `wardian apply` stores them in the state.";
        context.shell.diagnostics(&Diagnostic::warning("No outputs found", detail).into());
        return Ok(Status::Success);
    }
    let Some(name) = &arguments.name else {
        if arguments.json {
            context.shell.print_json(&outputs_json(outputs));
        } else {
            context.shell.print(render_outputs(outputs));
        }
        return Ok(Status::Success);
    };
    let Some(output) = outputs.get(name.as_str()) else {
        let meant = did_you_mean(name, outputs.keys().map(|name| name.as_str()));
        return Err(Failure::error(
            format!("Output \"{name}\" not found"),
            format!(
                "The state has no output of that name.{meant} If you added the output to the configuration \
                 recently, run `wardian apply` to store it in the state."
            ),
        ));
    };
    if arguments.json {
        context.shell.print_json(&output_json(&output.value));
    } else if arguments.raw {
        context.shell.print_data(raw(name, &output.value)?.as_bytes());
    } else {
        context.shell.say(render_value(&output.value, 0));
    }
    Ok(Status::Success)
}

fn raw(name: &str, value: &Value) -> Outcome<String> {
    match value.view() {
        View::String(text) => Ok(text.to_string()),
        View::Number(number) => Ok(number.to_string()),
        View::Bool(truth) => Ok(truth.to_string()),
        View::Null => Err(Failure::error(
            "Unsupported value for -raw",
            format!("The output \"{name}\" is null, which cannot be printed as raw text. Use -json."),
        )),
        _ => Err(Failure::error(
            "Unsupported value for -raw",
            format!(
                "-raw prints strings, numbers and bools, and the output \"{name}\" is {}. Use -json.",
                value.ty().friendly_name()
            ),
        )),
    }
}
