//! `wardian import`: adds an existing object to the state.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::{ResourceInstanceAddress, ResourceMode};
use wardian_app::AppError;
use wardian_app::protected_files::NamedFile;
use wardian_app::state_access::{self, LockPurpose};
use wardian_config::Configuration;
use wardian_engine::{DirectImport, Event, Events};

use crate::arguments::ImportArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::progress::Progress;
use crate::shell::{OutputKind, Paint, Shell, ViewOptions};
use crate::variables::{self, Prompting};
use wardian_printable::{PrintableText, printable};

#[async_trait(?Send)]
impl CommandSpec for ImportArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    fn named_files(&self) -> Vec<NamedFile> {
        let variables = self.variables.named_files();
        variables.chain(self.lock.named_files()).chain(self.state_out.named_files()).collect()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &ImportArguments) -> Outcome {
    let address = address(&arguments.address)?;
    let stop = interrupt::listen(&context.shell)?;
    let configuration = configuration(context, arguments.config.as_deref())?;
    check_declared(&configuration, &address)?;
    let asking = if arguments.operation.input { Prompting::Allowed } else { Prompting::Forbidden };
    let (module, shell) = (&configuration.root().module, &context.shell);
    let variables =
        variables::collect(module, &arguments.variables, asking, &context.app.environment, shell, &stop)
            .await?;
    context.app.set_encryption_root(module);
    context.app.set_encryption_variables(&variables);
    let (lock, out) = (&arguments.lock.options(), &arguments.state_out.options());
    let mut manager =
        state_access::open(&context.app, &configuration, lock, out, LockPurpose::Import, &stop).await?;
    let state = manager.read().await?;
    let parallelism = arguments.operation.parallelism;
    let plugins =
        context.app.plugins(&configuration, Some(&state), &context.app.lock_file()?, parallelism)?;
    let mut run = context.engine_run(configuration, plugins);
    run.events = Arc::new(ImportProgress::new(&context.shell));
    if let Some(directory) = &arguments.config {
        run.directories.root_directory = context.app.directory.join(directory);
    }
    let order = DirectImport { address, id: arguments.id.clone() };
    let imported = run.import((*state).clone(), variables, &order, parallelism, stop).await;
    let (imported, diagnostics) = imported.into_result().map_err(Failure::Diagnostics)?;
    manager.write(&imported).await?;
    manager.unlock().await.map_err(AppError::for_unlock)?;
    let text = context.shell.paint(Paint::Success, "Import successful!");
    context.shell.say(printable!(
        "\n{text}\n\nThe object shown above is now in the state and is managed by Wardian. `wardian plan` \
         shows how it differs from the configuration.\n"
    ));
    context.shell.diagnostics(&diagnostics);
    Ok(Status::Success)
}

fn address(text: &str) -> Outcome<ResourceInstanceAddress> {
    let address: ResourceInstanceAddress = text.parse().map_err(|error| {
        Failure::error(
            "Invalid address",
            format!(
                "\"{text}\" is not the address of a resource instance, such as aws_instance.web or \
                 module.a.aws_instance.web[0]: {error}."
            ),
        )
    })?;
    if address.mode() == ResourceMode::Managed {
        return Ok(address);
    }
    Err(Failure::error(
        "Only managed resources can be imported",
        format!("{address} is a data source; data sources cannot be imported."),
    ))
}

fn configuration(context: &CommandContext, directory: Option<&Path>) -> Outcome<Arc<Configuration>> {
    let (configuration, diagnostics) = context.app.load(directory.unwrap_or(Path::new(".")))?;
    let configuration = context.shell.warned(configuration, &diagnostics)?;
    if configuration.files().next().is_none() {
        return Err(Failure::error(
            "No configuration files",
            format!(
                "There is no .tf file in {}. The configuration determines the provider of an object. If the \
                 configuration is in another directory, specify it with -config.",
                directory.map_or_else(|| "this directory".to_owned(), |path| path.display().to_string())
            ),
        ));
    }
    Ok(configuration)
}

fn check_declared(configuration: &Configuration, address: &ResourceInstanceAddress) -> Outcome<()> {
    let resource = address.config();
    if configuration.module(&resource.module).is_none() {
        return Err(Failure::error(
            "Import to non-existent module",
            format!(
                "The configuration has no {}. Add the module call before you import its resources.",
                resource.module
            ),
        ));
    }
    if configuration.resource(&resource).is_some() {
        return Ok(());
    }
    let whose =
        if resource.module.is_root() { "the root module".to_owned() } else { resource.module.to_string() };
    Err(Failure::error(
        "Resource not in the configuration",
        format!(
            "The configuration does not declare {address}. Add its block to {whose}, and import again:\n\n    \
             resource \"{}\" \"{}\" {{\n    }}",
            resource.type_name, resource.name
        ),
    ))
}

/// Reports the imported object. All other progress is reported as in every run.
struct ImportProgress {
    shell: Arc<Shell>,
    progress: Progress,
}

impl ImportProgress {
    fn new(shell: &Arc<Shell>) -> Self {
        Self { shell: Arc::clone(shell), progress: Progress::new(shell) }
    }

    fn say(&self, line: PrintableText) {
        self.shell.say(self.shell.paint(Paint::Bold, line));
    }
}

impl Events for ImportProgress {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::ImportStarted { address, id } => {
                let id = id.strip_prefix("id=").unwrap_or(id);
                self.say(printable!("{address}: Importing from ID \"{id}\"..."));
            }
            Event::ImportFound { address, count } => {
                self.say(printable!("{address}: Import prepared!"));
                for _ in 0..*count {
                    self.say(printable!("  Prepared {} for import", address.type_name()));
                }
            }
            other => self.progress.event(other),
        }
    }
}
