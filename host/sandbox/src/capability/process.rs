//! `wardian:plugin/process`: runs programs on this machine.
//!
//! A guest runs programs through a [`Spawner`] that the host passes to it for one call. Each start
//! is submitted to the plugin's monitor on behalf of that call's resource, and recorded with its
//! outcome. A program's environment consists of the host's variables that policy grants and those
//! that the guest sets. Programs that are still running when the call ends are killed, even if the
//! call failed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use wardian_access::{
    AccessRequest, Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProcessStart, ProgramLaunch,
};
use wardian_monitor::{Capability as Used, Monitor, Use};
use wardian_plugin::PluginCall;
use wardian_process::{ChildProcess, Command, CommandEvent, DescendantPolicy, Launcher, Streams};
use wasmtime::component::{HasSelf, Linker, Resource};

use super::Capability;
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

/// The programs that a plugin may run, and how they are run.
pub(crate) struct Programs {
    pub(crate) runner: Arc<Launcher>,
    pub(crate) monitor: Monitor,
    /// The working directory of programs; absolute.
    pub(crate) directory: PathBuf,
    /// The environment of programs, unless the plugin sets another one.
    pub(crate) environment: Vec<(String, String)>,
    /// Whether a stop is requested.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Permission to run programs during one call.
pub struct Spawner {
    pub(crate) programs: Arc<Programs>,
    pub(crate) call: PluginCall,
}

/// A running program.
pub struct RunningProcess {
    running: ChildProcess,
    stopping: watch::Receiver<bool>,
    is_interrupted: bool,
}

/// Submits the start of a program to the monitor.
struct StartAuthority {
    monitor: Monitor,
    call: PluginCall,
    begun: Mutex<Option<Use>>,
}

impl ProcessAuthority for StartAuthority {
    fn may_start(&self, start: &ProgramLaunch<'_>) -> Result<(), Denied> {
        let request = ProcessStart::new(start.program, start.arguments.iter().cloned()).map_err(|problem| {
            self.monitor.reject(&self.call, Used::Process, start.program.to_owned(), problem)
        });
        let begun =
            request.and_then(|request| self.monitor.begin(&self.call, AccessRequest::Process(request)));
        let begun = begun?;
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        Ok(())
    }

    fn finished(&self, ended: &FinishedProgram) {
        let Some(mut begun) = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        match ended.status {
            Some(ExitStatus::Code(code)) => begun.set_status(code.into()),
            // Shells use the same convention: 128 plus the number of the signal.
            Some(ExitStatus::Signal(signal)) => begun.set_status(128 + i64::from(signal)),
            Some(ExitStatus::TimedOut) | None => {}
        }
        begun.add_received(ended.written);
    }
}

impl Spawner {
    async fn start(&self, command: wit::Command) -> Result<RunningProcess, ProcessError> {
        let Programs { runner, monitor, directory, environment, stopping } = &*self.programs;
        if *stopping.borrow() {
            return Err(ProcessError::Failed(
                "the run is being stopped, so no further program is started".into(),
            ));
        }
        let set = &command.environment;
        let kept = environment.iter().filter(|(name, _)| set.iter().all(|(other, _)| other != name));
        let command = Command {
            program: command.program,
            arguments: command.arguments,
            directory: match command.working_directory {
                Some(below) => directory.join(below),
                None => directory.clone(),
            },
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
        let authority =
            StartAuthority { monitor: monitor.clone(), call: self.call.clone(), begun: Mutex::default() };
        let running =
            runner.for_authority(Arc::new(authority)).start(command).await.map_err(convert_error)?;
        Ok(RunningProcess { running, stopping: stopping.clone(), is_interrupted: false })
    }
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

/// Waits until a stop is requested; returns false if the sender is gone.
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
        let spawner = self.table().get(&spawner)?;
        let spawner = Spawner { programs: Arc::clone(&spawner.programs), call: spawner.call.clone() };
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
