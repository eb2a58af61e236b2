//! `wardian plugin debug`: prints the calls of a plugin with their arguments and responses, and repeats
//! one of them.

mod difference;

use std::io::BufRead as _;
use std::path::Path;
use std::process::Stdio;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_app::call_recording::{RecordedCall, replay};
use wardian_app::sentence;
use wardian_diagnostic::system_reason;
use wardian_files::open_regular;
use wardian_printable::{PrintableText, append_line, printable};

use crate::arguments::PluginDebugArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::component_file::FileProvider;
use crate::failure::{Failure, Outcome, Status};
use crate::render::counted::counted;
use crate::shell::{OutputKind, Paint, ViewOptions};

/// Maximum length of one recorded call.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Maximum number of recorded calls that are read.
const MAX_CALLS: usize = 100_000;

#[async_trait(?Send)]
impl CommandSpec for PluginDebugArguments {
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
        match (self.replay, self.command.is_empty()) {
            (None, true) => Err(InvalidOptions::new(
                "Command required",
                "Specify the command whose calls are recorded after \"--\", such as -- plan.",
            )),
            (Some(_), false) => Err(InvalidOptions::new(
                "Incompatible options",
                "-replay repeats a call that was recorded earlier, so it cannot be combined with a command.",
            )),
            _ => Ok(()),
        }
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        match self.replay {
            Some(number) => repeat(context, self, number).await,
            None => record(context, self).await,
        }
    }
}

/// Runs a command and prints the calls of the plugin.
async fn record(context: &CommandContext, arguments: &PluginDebugArguments) -> Outcome {
    let address = arguments.plugin.parse::<ProviderAddress>().map_err(|error| {
        let detail = format!(
            "\"{}\" is not a provider address: {error}. To record calls, name the provider.",
            arguments.plugin
        );
        Failure::error("Plugin cannot be debugged", detail)
    })?;
    let failed = |error: std::io::Error| {
        Failure::error("Command cannot be recorded", format!("{}.", system_reason(&error)))
    };
    // Only the calls of this command are recorded.
    match std::fs::remove_file(&arguments.recording) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let recording = std::path::absolute(&arguments.recording).map_err(failed)?;
    let mut command = tokio::process::Command::new(std::env::current_exe().map_err(failed)?);
    command.args(&arguments.command).stdin(Stdio::inherit()).kill_on_drop(true);
    command.env("WARDIAN_CALL_LOG", &recording);
    let status = command.status().await.map_err(failed)?;
    let calls = if recording.is_file() { read(&recording)? } else { Vec::new() };
    let shell = &context.shell;
    let mut count = 0;
    for (number, call) in calls.iter().enumerate() {
        if call.plugin == address.to_string() {
            count += 1;
            shell.print(call_text(context, number + 1, call));
        }
    }
    if count == 0 {
        shell.say(printable!("\nThe command made no calls of {}.", address.for_display()));
    } else {
        let file = arguments.recording.display();
        let are = if count == 1 { "is" } else { "are" };
        shell.say(printable!(
            "\n{} {are} recorded in {file}. Repeat one with -replay=NUMBER.",
            counted(count, "call")
        ));
    }
    Ok(if status.success() { Status::Success } else { Status::Failed })
}

/// Repeats a recorded call with the plugin in a file.
async fn repeat(context: &CommandContext, arguments: &PluginDebugArguments, number: usize) -> Outcome {
    let calls = read(&arguments.recording)?;
    let call = number.checked_sub(1).and_then(|index| calls.get(index)).ok_or_else(|| {
        let detail = format!(
            "{} contains {}, but not call {number}.",
            arguments.recording.display(),
            counted(calls.len(), "call")
        );
        Failure::error("No such call", detail)
    })?;
    let address = call.plugin.parse::<ProviderAddress>().ok();
    let loaded = FileProvider::load(context, Path::new(&arguments.plugin), address.as_ref()).await?;
    let failed = |number: usize, error: &dyn std::fmt::Display| {
        Failure::error("Call cannot be repeated", format!("Call {number}: {}", sentence(&error.to_string())))
    };
    // The provider is configured as it was before the call.
    let configured = calls[..number - 1]
        .iter()
        .rposition(|earlier| earlier.call == "configure-provider" && earlier.plugin == call.plugin);
    if let Some(index) = configured {
        replay(&loaded.provider, &calls[..=index]).await.map_err(|error| failed(index + 1, &error))?;
    }
    let started = std::time::Instant::now();
    let response =
        replay(&loaded.provider, &calls[..number]).await.map_err(|error| failed(number, &error))?;
    let repeated =
        RecordedCall { milliseconds: started.elapsed().as_secs_f64() * 1000.0, response, ..call.clone() };
    context.shell.print(call_text(context, number, &repeated));
    let differences = difference::differences(&call.response, &repeated.response);
    if differences.is_empty() {
        context.shell.say("\nThe response is the same as the recorded one.");
        return Ok(Status::Success);
    }
    let mut text = PrintableText::new();
    append_line!(text, "\nThe response differs from the recorded one:");
    for difference in &differences {
        append_line!(text, "  {difference}");
    }
    context.shell.print(text);
    Ok(Status::Failed)
}

/// Reads recorded calls.
fn read(path: &Path) -> Outcome<Vec<RecordedCall>> {
    let failed =
        |reason: String| Failure::error("Recording cannot be read", format!("{}: {reason}.", path.display()));
    let file = open_regular(path).map_err(|error| failed(system_reason(&error)))?;
    let mut reader = std::io::BufReader::new(file);
    let mut calls = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = std::io::Read::take(&mut reader, MAX_LINE_BYTES);
        let length = limited.read_until(b'\n', &mut line).map_err(|error| failed(system_reason(&error)))?;
        if length == 0 {
            return Ok(calls);
        }
        if calls.len() >= MAX_CALLS {
            return Err(failed(format!("it contains more than {MAX_CALLS} calls")));
        }
        let call = serde_json::from_slice(&line)
            .map_err(|error| failed(format!("line {} is not a recorded call: {error}", calls.len() + 1)))?;
        calls.push(call);
    }
}

/// Returns a call with its arguments and its response.
fn call_text(context: &CommandContext, number: usize, call: &RecordedCall) -> PrintableText {
    let shell = &context.shell;
    let mut text = PrintableText::new();
    let subject = call.resource.as_deref().or(call.type_name.as_deref()).unwrap_or_default();
    let title = printable!("\n#{number} {} {subject}", call.call);
    append_line!(text, "{} ({:.1} ms)", shell.paint(Paint::Bold, title), call.milliseconds);
    for (sign, fields) in [(">", &call.request), ("<", &call.response)] {
        for (name, value) in fields {
            let pretty = serde_json::to_string_pretty(value.json()).unwrap_or_default();
            let mut lines = pretty.lines();
            append_line!(text, "  {sign} {name} = {}", lines.next().unwrap_or_default());
            for line in lines {
                append_line!(text, "      {line}");
            }
        }
    }
    text
}
