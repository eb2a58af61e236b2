//! The `wardian` command line.
//!
//! Only this crate handles the arguments, the terminal, the process's environment and signals.
//! `arguments` parses the command line into argument structs, each of which describes its command
//! (`command_spec`); `commands/` has one file for each command; `render/` converts values to text
//! and JSON; `shell` writes all output for the user. The commands call `wardian-app`; `frontend`
//! shows its progress and questions. `completion` responds to shells without any of them.
//!
//! This crate does not implement plans, version selection, states or plugins. No crate depends on
//! it.
//!
//! Invariants: a command ends with one of the exit codes of `failure::Status`; when the process
//! ends, even after a crash, a locked state is unlocked and complete.

mod address_file;
mod arguments;
mod audit;
mod bundle;
mod command_context;
mod command_spec;
mod commands;
mod completion;
mod component_file;
mod crash;
mod failure;
mod file_watch;
mod frontend;
mod grant_command;
mod interrupt;
mod logging;
mod operation;
mod plan_passphrase;
mod product;
mod progress;
mod render;
mod report;
mod review_findings;
mod review_source;
mod review_view;
mod shell;
mod variables;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use wardian_printable::PrintableText;

use wardian_app::native_confinement::{SHIM_ARGUMENT, run_shim};
use wardian_app::untrusted;
use wardian_app::workspaces::Workspace;
use wardian_app::{AppContext, AppError, AppOptions, Frontend, ProcessEnvironment, audit_log};
use wardian_diagnostic::system_reason;
use wardian_download::DownloadObserver;
use wardian_network::proxy::ProxySettings;
use wardian_sandbox::{COMPILER_ARGUMENT, run_compiler};
use wardian_state::release_locks;

use tracing::Instrument as _;

use arguments::{CommandLine, Request};
use command_context::CommandContext;
use failure::{Failure, Outcome, Status};
use product::Product;
use progress::{DownloadProgress, Progress};
use shell::{OutputKind, Shell, ViewOptions};

/// Maximum number of threads for provider calls.
const THREADS: usize = 8;

/// Runs the command in the arguments. If the program's file name is a native plugin's file name,
/// serves that plugin and ignores the arguments. If a part of the process panics, a crash report is
/// written to a file.
pub fn main(program: Option<OsString>, arguments: Vec<OsString>) -> ExitCode {
    crash::print_panics();
    if let [first, rest @ ..] = arguments.as_slice()
        && first == COMPILER_ARGUMENT
    {
        return run_compiler(rest);
    }
    if let [first, rest @ ..] = arguments.as_slice()
        && first == SHIM_ARGUMENT
    {
        return run_shim(rest);
    }
    crash::report_panics(arguments.clone());
    let status = match crash::catch(|| run_request(program, arguments)) {
        Some((status, shell)) => conclude(&shell, status),
        None => {
            let environment = process_environment();
            let shell =
                Shell::new(&environment, Product::default(), ViewOptions::default(), OutputKind::Report);
            conclude(&shell, Status::Crashed)
        }
    };
    ExitCode::from(status.code())
}

/// Returns the status of a command. After a crash, it reports the file that describes the crash.
fn conclude(shell: &Shell, status: Status) -> Status {
    let Some(error) = crash::error() else { return status };
    shell.failure(&error.into());
    Status::Crashed
}

/// The maximum time in which the tasks of a command are dropped.
const MAX_SHUTDOWN_TIME: Duration = Duration::from_millis(200);

/// Parses and runs a command line.
fn run_request(program: Option<OsString>, arguments: Vec<OsString>) -> (Status, Arc<Shell>) {
    let environment = process_environment();
    if let Some(response) = completion_response(&arguments, &environment) {
        let shell = Shell::new(&environment, Product::default(), ViewOptions::default(), OutputKind::Data);
        shell.print_data(response.as_bytes());
        return (Status::Success, Arc::new(shell));
    }
    let (product, invalid_setting) =
        match Product::for_process(program.as_deref().map(Path::new), &environment) {
            Ok(product) => (product, None),
            Err(usage) => (Product::default(), Some(usage)),
        };
    let (environment, arguments) = match program.filter(|program| is_plugin(Path::new(program))) {
        Some(_) => (environment.for_plugin(), vec!["serve".into(), own_file()]),
        None => (environment, arguments),
    };
    let for_programs = arguments::wants_json_messages(&arguments);
    let request = match invalid_setting {
        Some(usage) => Err(usage),
        None => arguments::parse(arguments, &environment),
    };
    let (status, shell) = match request {
        Ok(Request::Help(page, status)) => {
            let shell = Shell::new(&environment, product, ViewOptions::default(), OutputKind::Report);
            let text = page.text(product, shell.render_options().width);
            shell.print(PrintableText::from_lines(&text));
            (status, Arc::new(shell))
        }
        Ok(Request::Run(line)) => {
            let spec = line.command.spec();
            let mut shell = Shell::new(&environment, product, spec.view(), spec.output_kind());
            let recorded = spec.json_into().map_or(Ok(()), |path| record_messages(&mut shell, path));
            let shell = Arc::new(shell);
            let outcome = recorded.and_then(|()| run(&line, environment, &shell));
            (outcome.unwrap_or_else(|failure| shell.failure(&failure)), shell)
        }
        Err(usage) => {
            let kind = if for_programs { OutputKind::JsonMessages } else { OutputKind::Report };
            let shell = Shell::new(&environment, product, ViewOptions::default(), kind);
            (shell.failure(&usage.into()), Arc::new(shell))
        }
    };
    (output_status(&shell, status), shell)
}

/// Returns the response to a shell that completes a command line; `None` for other command lines.
fn completion_response(arguments: &[OsString], environment: &ProcessEnvironment) -> Option<String> {
    match environment.completion_line() {
        Some(line) => Some(completion::response_to_line(&line, environment)),
        None => completion::response_to(arguments, environment),
    }
}

fn record_messages(shell: &mut Shell, path: &Path) -> Outcome<()> {
    shell.record_messages(path).map_err(|error| {
        let detail = format!(
            "The file {}, given with -json-into, cannot be created: {}.",
            path.display(),
            system_reason(&error)
        );
        Failure::error("Output file cannot be created", detail)
    })
}

/// Returns the status of a command whose output may be incomplete.
fn output_status(shell: &Shell, status: Status) -> Status {
    let Some(reason) = shell.output_failure() else { return status };
    let detail = format!("The output is incomplete, because it could not be written: {reason}.");
    shell.failure(&Failure::error("Output is not complete", detail))
}

fn run(line: &CommandLine, environment: ProcessEnvironment, shell: &Arc<Shell>) -> Outcome {
    let traces = logging::start(&environment)
        .map_err(|problem| Failure::error("Logging cannot be started", format!("{problem}.")))?
        .map(|traces| (traces, ProxySettings::from_variables(|name| environment.get(name))));
    let started_in = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    if let Some(directory) = &line.chdir {
        change_to(directory)?;
    }
    let command = line.command.spec();
    let trust = command.trust();
    let learnt_addresses = command.learnt_addresses();
    let audit_log = audit_log::open(command.audit_log(), trust, &environment, &started_in)?;
    let is_summarized = learnt_addresses.is_some() || command.shows_accesses();
    let audit_log = Arc::new(if is_summarized { audit_log.with_summary() } else { audit_log });
    untrusted::check_directory(trust, &environment.data_directory(), &audit_log)?;
    let workspace =
        if command.needs_workspace() { Workspace::selected(&environment)? } else { Workspace::default() };
    let frontend = Arc::clone(shell) as Arc<dyn Frontend>;
    let named_files = command.named_files();
    let downloads = Arc::new(DownloadProgress::default());
    let app = AppContext::new(AppOptions {
        frontend,
        downloads: Arc::clone(&downloads) as Arc<dyn DownloadObserver>,
        environment,
        started_in,
        workspace,
        audit_log,
        trust,
        named_files,
        learnt_addresses,
        query_files: command.query_files(),
    })?;
    let progress = Arc::new(Progress::new(shell));
    let context = CommandContext { shell: Arc::clone(shell), app, progress, downloads };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Failure::error("Threads cannot be started", format!("{error}.")))?;
    let span = tracing::info_span!(target: "wardian::command", "command", name = line.command_name);
    let running = async {
        let outcome = command.run(&context).await;
        let outcome = report_held_locks(&context, outcome).await;
        context.app.close().await;
        audit::conclude(&context, outcome)
    };
    let outcome = runtime.block_on(running.instrument(span));
    if let Some((traces, proxies)) = traces {
        runtime.block_on(logging::traces::send(&traces, proxies, shell));
    }
    // Tasks that still run, such as the connections of a native plugin, write their records when they are
    // dropped. A thread that waits for input must not prevent the process from ending.
    runtime.shutdown_timeout(MAX_SHUTDOWN_TIME);
    outcome
}

/// Releases the locks that a command still holds, for example after an error.
async fn report_held_locks(context: &CommandContext, outcome: Outcome) -> Outcome {
    let mut status = outcome;
    for error in release_locks().await {
        let reported = context.shell.failure(&AppError::for_unlock(error).into());
        status = status.map(|_| reported);
    }
    status
}

/// Returns the process's environment. Variables that are not UTF-8 are omitted.
fn process_environment() -> ProcessEnvironment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect::<ProcessEnvironment>()
        .with_account_home(std::env::home_dir())
        .with_own_program(own_program())
}

/// Returns the running program's file. On Linux, returns the kernel's link to the file, which
/// remains valid even if the file has been replaced.
fn own_program() -> Option<PathBuf> {
    let known = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && known.exists() {
        return Some(known.to_owned());
    }
    std::env::current_exe().ok()
}

fn is_plugin(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(commands::serve::PREFIX))
}

/// Returns the path of the running binary, with the name under which it was started.
fn own_file() -> OsString {
    let named = std::env::args_os().next().map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| std::env::current_exe().ok()).unwrap_or_default().into_os_string()
}

fn change_to(directory: &Path) -> Outcome<()> {
    std::env::set_current_dir(directory).map_err(|error| {
        Failure::error(
            "Directory cannot be used",
            format!(
                "The directory {}, given with -chdir, cannot be entered: {}.",
                directory.display(),
                system_reason(&error)
            ),
        )
    })
}
