//! The `wardian` command line.
//!
//! The edge of the house: here and nowhere else are the terminal, the
//! environment, the home directory and signals, and here the other crates are
//! put together ([`session`]). What a command means is in `commands/`, one file
//! each; how things look is in `render/`; every word that a person reads goes
//! through [`shell`].
//!
//! What this crate does not do: it decides nothing about plans, versions or
//! states, it never mentions wasmtime, and nothing depends on it.
//!
//! Always holds: a command ends with one of the exit codes of [`failure::Status`];
//! a state that was locked is unlocked and whole when the process ends, however
//! it ends.

mod agreements;
mod arguments;
mod audit;
mod backend;
mod built_in;
mod bundle;
mod catalogue;
mod commands;
mod compatibility;
mod environment;
mod failure;
mod generated_configuration;
mod granting;
mod grants;
mod interrupt;
mod kept;
mod logging;
mod module_manifest;
mod native_confinement;
mod operation;
mod plugins;
mod progress;
mod provisioners;
mod render;
mod replacement;
mod report;
mod saved_plan;
mod secrets;
mod session;
mod shell;
mod state_access;
mod state_change;
mod untrusted;
mod variables;
mod workspaces;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use arguments::{CommandLine, Request};
use environment::Environment;
use failure::{Failure, Outcome};
use session::Session;
use shell::{Shell, ShellOptions};

/// The most threads that calls of providers share.
const THREADS: usize = 8;

/// Does what the arguments behind the program's name ask for. Under the name of a
/// native plugin the program is that plugin, whatever they are.
pub fn main(program: Option<OsString>, arguments: Vec<OsString>) -> ExitCode {
    let environment = Environment::of_process();
    let (environment, arguments) = match program.filter(|program| is_plugin(Path::new(program))) {
        Some(_) => (environment.of_plugin(), vec!["serve".into(), own_file()]),
        None => (environment, arguments),
    };
    let for_programs = arguments::ask_for_messages(&arguments);
    let status = match arguments::parse(arguments, &environment) {
        Ok(Request::Help(text, status)) => {
            Shell::new(&environment, ShellOptions::default()).print(&text);
            status
        }
        Ok(Request::Run(line)) => {
            let shell = Arc::new(Shell::new(&environment, commands::shell_options(&line.command)));
            run(*line, environment, &shell).unwrap_or_else(|failure| shell.failure(&failure))
        }
        Err(usage) => {
            let options = ShellOptions { for_programs, ..ShellOptions::default() };
            Shell::new(&environment, options).failure(&usage.into())
        }
    };
    ExitCode::from(status.code())
}

fn run(line: CommandLine, environment: Environment, shell: &Arc<Shell>) -> Outcome {
    logging::start(&environment)
        .map_err(|problem| Failure::error("Logging cannot be started", format!("{problem}.")))?;
    let started_in = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    if let Some(directory) = &line.chdir {
        change_to(directory)?;
    }
    let audit_log = Arc::new(audit::open(&line.command, &environment, &started_in)?);
    let trust = line.command.trust();
    untrusted::check_before_anything_is_read(trust, &environment.data_directory(), &audit_log)?;
    let workspace = commands::workspace(&line.command, &environment)?;
    let session = Session::new(Arc::clone(shell), environment, started_in, workspace, audit_log, trust)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Failure::error("Threads cannot be started", format!("{error}.")))?;
    let outcome = runtime.block_on(async {
        let outcome = commands::run(&session, line.command).await;
        session.close().await;
        audit::conclude(&session, outcome)
    });
    // A thread that waits for an answer must not keep the process.
    runtime.shutdown_background();
    outcome
}

fn is_plugin(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(commands::serve::PREFIX))
}

/// Where this program's file is, by the name that it was started under.
fn own_file() -> OsString {
    let named = std::env::args_os().next().map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| std::env::current_exe().ok()).unwrap_or_default().into_os_string()
}

fn change_to(directory: &Path) -> Outcome<()> {
    std::env::set_current_dir(directory).map_err(|error| {
        Failure::error(
            "Directory cannot be used",
            format!("The directory {}, given with -chdir, cannot be entered: {error}.", directory.display()),
        )
    })
}
