//! `wardian:plugin/process`: runs programs on this machine.
//!
//! A guest runs programs through a [`Spawner`] that the host passes to it for one call. Each start
//! is submitted to the plugin's monitor on behalf of that call's resource, and recorded with its
//! outcome. A program's environment consists of the host's variables that policy grants, and the
//! variables that the guest sets, which the rule for the program must grant. Programs that are
//! still running when the call ends are killed, even if the call failed.
//!
//! A program starts in the root module's directory. Another working directory requires read access.
//! Its path without symbolic links is checked, it is opened without following a symbolic link, and
//! the program starts in the open directory.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wardian_access::{AccessExtent, ExitStatus, FileOperation, normalize};
use wardian_files::Directory;
use wardian_monitor::{Capability as Used, Monitor, ProgramMonitor};
use wardian_plugin::PluginCall;
use wardian_process::{ChildProcess, Command, CommandEvent, DescendantPolicy, Launcher, Streams};
use wasmtime::component::{HasSelf, Linker, Resource};

use super::Capability;
use super::filesystem::{FileError, FileGuard};
use crate::bindings::provisioner::wardian::plugin::process::{
    self as wit, Host, HostRunningProcess, HostSpawner, OutputStreams, ProcessError, ProcessEvent,
};
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

pub(super) struct Process;

impl Capability for Process {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName { path: "wardian:plugin/process", major: 0, minor: 1 }];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        wit::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }
}

/// The programs that a plugin may run, and the settings for running them.
pub(crate) struct Programs {
    pub(crate) runner: Arc<Launcher>,
    pub(crate) monitor: Monitor,
    /// The working directory of programs; absolute.
    pub(crate) directory: PathBuf,
    /// The environment of programs, unless the plugin sets a different environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Whether a stop is requested.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Permission to run programs during one call.
#[derive(Clone)]
pub struct Spawner {
    pub(crate) programs: Arc<Programs>,
    pub(crate) call: PluginCall,
    /// Checks working directories.
    pub(crate) guard: FileGuard,
}

pub struct RunningProcess {
    running: ChildProcess,
    stopping: watch::Receiver<bool>,
    is_interrupted: bool,
}

impl Spawner {
    /// Returns the path of a working directory and the open directory. The policy must allow the
    /// plugin to read the directory, unless it is the root module's directory.
    fn working_directory(&self, named: &str) -> Result<(PathBuf, Option<Arc<OwnedFd>>), ProcessError> {
        let root_module = &self.programs.directory;
        let path = root_module.join(named);
        let missing = || convert_error(wardian_process::ProcessError::Directory(path.clone()));
        let Ok(lexical) = normalize(Path::new("/"), &path) else { return Err(missing()) };
        // No path is looked up before this decision, since the response must not reveal which files
        // exist.
        if lexical != *root_module
            && !self.guard.is_allowed(&lexical, FileOperation::Read, AccessExtent::Path)
        {
            self.decide(&lexical)?;
        }
        let Some(real) = resolve_links(&path) else { return Err(missing()) };
        if root_module.canonicalize().is_ok_and(|root_module| root_module == real) {
            return Ok((root_module.clone(), None));
        }
        self.decide(&real)?;
        let directory = Directory::open_absolute(&real).map_err(|_| missing())?;
        let directory = directory.try_clone_file().map_err(|_| missing())?;
        Ok((real, Some(Arc::new(directory.into()))))
    }

    /// Checks access to a working directory, and records the access.
    fn decide(&self, directory: &Path) -> Result<(), ProcessError> {
        match self.guard.begin(directory, FileOperation::Read, AccessExtent::Path) {
            Ok(_recorded) => Ok(()),
            Err(FileError::Denied(denied)) => Err(ProcessError::Denied(denied.to_string())),
            Err(FileError::System(error)) => Err(ProcessError::Failed(error.to_string())),
            Err(FileError::TooMuch(problem)) => Err(ProcessError::Failed(problem.to_string())),
        }
    }

    async fn start(&self, command: wit::Command) -> Result<RunningProcess, ProcessError> {
        let Programs { runner, monitor, directory, environment, stopping } = &*self.programs;
        if *stopping.borrow() {
            return Err(ProcessError::Failed(
                "the run is being stopped, so no new program is started".into(),
            ));
        }
        let (directory, open_directory) = match &command.working_directory {
            Some(named) => self.working_directory(named).inspect_err(|error| {
                // The denied access to the directory is recorded, and so is the program start that
                // fails because of it.
                if let ProcessError::Denied(reason) = error {
                    monitor.reject(&self.call, Used::Process, command.program.clone(), reason);
                }
            })?,
            None => (directory.clone(), None),
        };
        let set = &command.environment;
        let variables = set.iter().map(|(name, _)| name.clone()).collect();
        let kept = environment.iter().filter(|(name, _)| set.iter().all(|(other, _)| other != name));
        let command = Command {
            program: command.program,
            arguments: command.arguments,
            directory,
            open_directory,
            environment: kept
                .chain(set)
                .map(|(name, value)| (name.into(), value.into()))
                .collect::<Vec<(OsString, OsString)>>(),
            input: command.input,
            timeout: command.timeout_milliseconds.map(Duration::from_millis),
            streams: match command.streams {
                OutputStreams::Apart => Streams::Separate,
                OutputStreams::Together => Streams::Combined,
            },
            descendants: DescendantPolicy::Detach,
        };
        let authority = ProgramMonitor::new(monitor.clone(), vec![self.call.clone()], variables);
        let running =
            runner.for_authority(Arc::new(authority)).start(command).await.map_err(convert_error)?;
        Ok(RunningProcess { running, stopping: stopping.clone(), is_interrupted: false })
    }
}

/// Resolves the symbolic links in the existing components of a path.
fn resolve_links(path: &Path) -> Option<PathBuf> {
    let (existing, real) = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(existing).ok()?;
    normalize(Path::new("/"), &real.join(rest)).ok()
}

fn convert_error(error: wardian_process::ProcessError) -> ProcessError {
    use wardian_process::ProcessError as Cause;
    let text = error.to_string();
    match error {
        Cause::Denied(_) => ProcessError::Denied(text),
        Cause::NotFound { .. } | Cause::Directory(_) => ProcessError::NotFound(text),
        _ => ProcessError::Failed(text),
    }
}

impl RunningProcess {
    async fn next(&mut self) -> Option<ProcessEvent> {
        let Self { running, stopping, is_interrupted } = self;
        loop {
            tokio::select! {
                event = running.next_event() => return event.map(event_told),
                is_stopping = is_stop_requested(stopping), if !*is_interrupted => {
                    *is_interrupted = true;
                    if is_stopping {
                        running.interrupt();
                    }
                }
            }
        }
    }
}

/// Waits until a stop is requested; returns false if the sender was dropped.
pub(super) async fn is_stop_requested(stopping: &mut watch::Receiver<bool>) -> bool {
    stopping.wait_for(|stopping| *stopping).await.is_ok()
}

pub(super) fn event_told(event: CommandEvent) -> ProcessEvent {
    match event {
        CommandEvent::Stdout(bytes) => ProcessEvent::Stdout(bytes),
        CommandEvent::Stderr(bytes) => ProcessEvent::Stderr(bytes),
        CommandEvent::Exited(ExitStatus::Code(code)) => ProcessEvent::Exited(wit::ExitStatus::Code(code)),
        CommandEvent::Exited(ExitStatus::Signal(signal)) => {
            ProcessEvent::Exited(wit::ExitStatus::Signal(signal))
        }
        CommandEvent::Exited(ExitStatus::TimedOut) => ProcessEvent::Exited(wit::ExitStatus::TimedOut),
    }
}

impl Host for GuestState {}

impl HostSpawner for GuestState {
    async fn spawn(
        &mut self,
        spawner: Resource<Spawner>,
        command: wit::Command,
    ) -> wasmtime::Result<Result<Resource<RunningProcess>, ProcessError>> {
        let spawner = self.table().get(&spawner)?.clone();
        match spawner.start(command).await {
            Ok(running) => Ok(Ok(self.table().push(running)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn drop(&mut self, spawner: Resource<Spawner>) -> wasmtime::Result<()> {
        self.table().delete(spawner)?;
        Ok(())
    }
}

impl HostRunningProcess for GuestState {
    async fn next_event(
        &mut self,
        process: Resource<RunningProcess>,
    ) -> wasmtime::Result<Option<ProcessEvent>> {
        Ok(self.table().get_mut(&process)?.next().await)
    }

    async fn kill(&mut self, process: Resource<RunningProcess>) -> wasmtime::Result<()> {
        self.table().get(&process)?.running.kill();
        Ok(())
    }

    async fn drop(&mut self, process: Resource<RunningProcess>) -> wasmtime::Result<()> {
        self.table().delete(process)?;
        Ok(())
    }
}
