//! `wardian workspace`: lists, creates, selects and deletes workspaces.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;
use wardian_app::AppError;
use wardian_app::backend::{self, ConfiguredBackend};
use wardian_app::compatibility::DEFAULT_WORKSPACE;
use wardian_app::encryption::NamedStateError;
use wardian_app::state_access::{self, LockPurpose};
use wardian_app::state_change::ChangeRequest;
use wardian_app::workspaces::{self, RULE, SelectedBy};
use wardian_diagnostic::system_reason;
use wardian_printable::{PrintableText, append_line, printable};
use wardian_state::{BackupRule, State};

use crate::arguments::{
    StateLockArguments, WorkspaceDeleteArguments, WorkspaceListArguments, WorkspaceNewArguments,
    WorkspaceSelectArguments, WorkspaceShowArguments,
};
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::render::json::pretty;
use crate::shell::{Paint, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for WorkspaceListArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        list(context, self).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for WorkspaceShowArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        context.shell.say(printable!("{}", context.app.workspace.name));
        Ok(Status::Success)
    }
}

#[async_trait(?Send)]
impl CommandSpec for WorkspaceNewArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        new(context, self).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for WorkspaceSelectArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        select(context, self).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for WorkspaceDeleteArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        delete(context, self).await
    }
}

/// Returns the backend whose workspaces are listed and changed by the commands.
async fn backend_in_effect(context: &CommandContext) -> Outcome<ConfiguredBackend> {
    let configuration = context.app.configuration()?;
    Ok(backend::in_effect(&context.app, Some(&configuration)).await?)
}

/// The output of `workspace list -json`, as in Terraform 1.16.
#[derive(Serialize)]
struct WorkspaceList {
    format_version: &'static str,
    workspaces: Vec<WorkspaceEntry>,
    diagnostics: [(); 0],
}

#[derive(Serialize)]
struct WorkspaceEntry {
    name: String,
    is_current: bool,
}

async fn list(context: &CommandContext, arguments: &WorkspaceListArguments) -> Outcome {
    let backend = &backend_in_effect(context).await?;
    if arguments.json {
        let current = &context.app.workspace.name;
        let workspaces = backend_workspaces(backend)
            .await?
            .into_iter()
            .map(|name| WorkspaceEntry { is_current: name == *current, name })
            .collect();
        let list = WorkspaceList { format_version: "1.0", workspaces, diagnostics: [] };
        context.shell.print_json(&pretty(&list));
        return Ok(Status::Success);
    }
    let mut text = PrintableText::new();
    for name in backend_workspaces(backend).await? {
        let mark = if name == context.app.workspace.name { "*" } else { " " };
        append_line!(text, "{mark} {name}");
    }
    context.shell.say(text);
    if context.app.workspace.selected_by == SelectedBy::Environment {
        context.shell.note("TF_WORKSPACE selects the workspace.");
    }
    Ok(Status::Success)
}

async fn new(context: &CommandContext, arguments: &WorkspaceNewArguments) -> Outcome {
    let backend = &backend_in_effect(context).await?;
    let name = &arguments.name;
    check_name(name)?;
    check_selectable(context)?;
    if backend_workspaces(backend).await?.contains(name) {
        return Err(Failure::error(
            "Workspace already exists",
            format!("There is a workspace \"{name}\". `wardian workspace select {name}` selects it."),
        ));
    }
    // Reads the initial state before any file is created.
    let first = match arguments.state.as_deref() {
        Some(path) => Some(first_state(context, path).await?),
        None => None,
    };
    make(context, backend, name, arguments.lock.lock).await?;
    if let Some(state) = first {
        store(context, backend, name, &state, arguments.lock).await?;
    }
    workspaces::select(&context.app.environment, name)?;
    report_new(context, name);
    Ok(Status::Success)
}

/// Reads an initial state and assigns a new lineage to it.
async fn first_state(context: &CommandContext, path: &Path) -> Outcome<State> {
    let unreadable =
        |problem: String| Failure::error("State cannot be copied", format!("{}: {problem}.", path.display()));
    let bytes = fs::read(path).map_err(|error| unreadable(system_reason(&error)))?;
    let state = context.app.decode_named_state(&bytes).await.map_err(|error| match error {
        NamedStateError::Content(problem) => unreadable(problem.to_string()),
        NamedStateError::Configuration(error) => error.into(),
    })?;
    state.ok_or_else(|| unreadable("it is empty".to_owned()))
}

async fn store(
    context: &CommandContext,
    backend: &ConfiguredBackend,
    name: &str,
    state: &State,
    lock: StateLockArguments,
) -> Outcome<()> {
    let stop = interrupt::listen(&context.shell)?;
    let request = ChangeRequest {
        lock: lock.lock,
        lock_timeout: lock.lock_timeout,
        location: state_access::workspace_location(&context.app, backend, name)?,
        written: None,
        backup: BackupRule::Off,
        purpose: LockPurpose::NewWorkspace,
    };
    Ok(request.open(&context.app, &stop).await?.save(state).await?)
}

async fn make(context: &CommandContext, backend: &ConfiguredBackend, name: &str, lock: bool) -> Outcome<()> {
    let request = lock.then(|| state_access::lock_request(&context.app, LockPurpose::NewWorkspace));
    backend.create_workspace(name, request.as_ref()).await.map_err(AppError::from)?;
    Ok(state_access::encrypt_initial_state(&context.app, backend, name, request.as_ref()).await?)
}

async fn backend_workspaces(backend: &ConfiguredBackend) -> Outcome<Vec<String>> {
    Ok(backend.workspaces().await.map_err(AppError::from)?)
}

fn report_new(context: &CommandContext, name: &str) {
    let product = context.shell.product();
    if !product.is_own() {
        let headline =
            context.shell.paint(Paint::Success, printable!("Created and switched to workspace \"{name}\"!"));
        context.shell.say(printable!(
            "{headline}\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \
             \"{} plan\" {} will not see any existing state\nfor this configuration.",
            product.command(),
            product.name()
        ));
        return;
    }
    let text = printable!("The workspace \"{name}\" was created and selected.");
    context.shell.say(printable!(
        "{}\n\nIts state is separate: plans do not see the objects of other workspaces.",
        context.shell.paint(Paint::Success, text)
    ));
}

async fn select(context: &CommandContext, arguments: &WorkspaceSelectArguments) -> Outcome {
    let backend = &backend_in_effect(context).await?;
    let name = &arguments.name;
    check_name(name)?;
    check_selectable(context)?;
    if *name == context.app.workspace.name {
        return Ok(Status::Success);
    }
    if !backend_workspaces(backend).await?.contains(name) {
        if !arguments.or_create {
            return Err(unknown(name));
        }
        make(context, backend, name, true).await?;
        workspaces::select(&context.app.environment, name)?;
        report_new(context, name);
        return Ok(Status::Success);
    }
    workspaces::select(&context.app.environment, name)?;
    let text = if context.shell.product().is_own() {
        printable!("Selected the workspace \"{name}\".")
    } else {
        printable!("Switched to workspace \"{name}\".")
    };
    context.shell.say(context.shell.paint(Paint::Success, text));
    Ok(Status::Success)
}

async fn delete(context: &CommandContext, arguments: &WorkspaceDeleteArguments) -> Outcome {
    let backend = &backend_in_effect(context).await?;
    let name = &arguments.name;
    check_name(name)?;
    if !backend_workspaces(backend).await?.contains(name) {
        return Err(unknown(name));
    }
    if *name == context.app.workspace.name {
        return Err(Failure::error(
            "Workspace is selected",
            format!("\"{name}\" is the selected workspace. Select another one first."),
        ));
    }
    if name == DEFAULT_WORKSPACE {
        return Err(Failure::error(
            "Workspace cannot be deleted",
            format!("The workspace \"{DEFAULT_WORKSPACE}\" always exists."),
        ));
    }
    let stop = interrupt::listen(&context.shell)?;
    let location = state_access::workspace_location(&context.app, backend, name)?;
    let mut manager = location.open(&context.app, BackupRule::Off, None)?;
    if arguments.lock.lock {
        let timeout = arguments.lock.lock_timeout;
        location.create_directories()?;
        state_access::acquire(&context.app, &mut manager, timeout, LockPurpose::WorkspaceDeletion, &stop)
            .await?;
    }
    let state = manager.read().await?;
    let count = state.instances().count();
    if count > 0 && !arguments.force {
        return Err(Failure::error("Workspace is not empty", not_empty(name, &state)));
    }
    // The lock of a local state is in the workspace's directory and is removed with it.
    let deleted = backend.delete_workspace(name).await;
    let unlocked = manager.unlock().await;
    deleted.map_err(AppError::from)?;
    unlocked.map_err(AppError::for_unlock)?;
    let text = if context.shell.product().is_own() {
        printable!("The workspace \"{name}\" was deleted.")
    } else {
        printable!("Deleted workspace \"{name}\"!")
    };
    context.shell.say(context.shell.paint(Paint::Success, text));
    if count > 0 {
        context.shell.say(printable!(
            "Its state had {count} instances. The objects may still exist, but Wardian no longer manages \
             them."
        ));
    }
    Ok(Status::Success)
}

fn not_empty(name: &str, state: &State) -> String {
    let mut text = format!("The state of the workspace \"{name}\" has these instances:\n");
    for (address, ..) in state.instances() {
        let _ = write!(text, "\n  - {address}");
    }
    text.push_str(
        "\n\nWithout the state, Wardian no longer manages these objects, and you would have to destroy them \
         manually. Destroy them first. To delete the workspace anyway, use -force.",
    );
    text
}

fn check_name(name: &str) -> Outcome<()> {
    if workspaces::is_name(name) {
        return Ok(());
    }
    Err(Failure::error("Invalid workspace name", format!("\"{name}\" is not a valid workspace name. {RULE}")))
}

fn check_selectable(context: &CommandContext) -> Outcome<()> {
    if context.app.workspace.selected_by == SelectedBy::Directory {
        return Ok(());
    }
    Err(Failure::error(
        "Workspace is selected by the environment",
        "TF_WORKSPACE selects the workspace, so no other workspace can be created or selected. Unset it, or \
         set it to the other workspace.",
    ))
}

fn unknown(name: &str) -> Failure {
    Failure::error(
        "No such workspace",
        format!(
            "There is no workspace \"{name}\". `wardian workspace list` lists the workspaces; `wardian \
             workspace new {name}` creates this one."
        ),
    )
}
