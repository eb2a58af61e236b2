//! Authorizes and records the programs that plugins start.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use wardian_access::{
    AccessRequest, Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProcessStart, ProgramLaunch,
};
use wardian_plugin::PluginCall;
use wardian_policy::PluginPolicy;

use crate::monitor::{Monitor, Use};
use crate::record::{Capability, RecordedTarget};

/// The authority over one start of a program.
pub struct ProgramMonitor {
    monitor: Monitor,
    calls: Vec<PluginCall>,
    /// The names of the variables that the plugin sets.
    variables: Vec<String>,
    begun: Mutex<Option<Use>>,
}

impl ProgramMonitor {
    /// Creates the authority. `calls` contains the calls of which one starts the program, and
    /// `variables` the names of the variables that the plugin sets.
    pub fn new(monitor: Monitor, calls: Vec<PluginCall>, variables: Vec<String>) -> Self {
        Self { monitor, calls, variables, begun: Mutex::default() }
    }

    fn request(&self, start: &ProgramLaunch<'_>) -> Result<ProcessStart, Denied> {
        ProcessStart::new(start.program, start.arguments.iter().cloned())
            .and_then(|request| request.with_variables(self.variables.iter().map(String::as_str)))
            .map(|request| request.in_directory(start.directory))
            .map_err(|problem| {
                let target = RecordedTarget::new(start.program.to_owned());
                self.monitor.reject_among(&self.calls, Capability::Process, target, problem)
            })
    }

    fn take(&self) -> Option<Use> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ProcessAuthority for ProgramMonitor {
    fn may_start(&self, start: &ProgramLaunch<'_>) -> Result<(), Denied> {
        let request = AccessRequest::Process(self.request(start)?);
        let begun = self.monitor.begin_among(&self.calls, request, None)?;
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        Ok(())
    }

    fn may_execute(&self, start: &ProgramLaunch<'_>, executable: &Path) -> Result<(), Denied> {
        if !is_replaceable(executable, self.monitor.policy()) {
            return Ok(());
        }
        let request = AccessRequest::Process(self.request(start)?.with_replaceable_file(executable));
        let begun = match self.monitor.begin_among(&self.calls, request, None) {
            Ok(begun) => Some(begun),
            Err(denied) => {
                if let Some(begun) = self.take() {
                    begun.discard();
                }
                return Err(denied);
            }
        };
        let mut place = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(replaced) = std::mem::replace(&mut *place, begun) {
            replaced.discard();
        }
        Ok(())
    }

    fn finished(&self, ended: &FinishedProgram) {
        let Some(mut begun) = self.take() else { return };
        match ended.status {
            Some(ExitStatus::Code(code)) => begun.set_status(code.into()),
            // Shells use the same convention: 128 plus the number of the signal.
            Some(ExitStatus::Signal(signal)) => begun.set_status(128 + i64::from(signal)),
            Some(ExitStatus::TimedOut) | None => {}
        }
        begun.add_received(ended.written);
    }
}

/// Returns whether a plugin may be able to write or replace a program's file. That is the case if
/// the file is in a directory to which both policy and the system allow plugins to write.
fn is_replaceable(executable: &Path, policy: &PluginPolicy) -> bool {
    let real = executable.canonicalize().ok();
    let paths = [Some(executable), real.as_deref()];
    let is_writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    paths.into_iter().flatten().any(|path| {
        policy.writable_directories().any(|directory| {
            path.ancestors().take_while(|above| above.starts_with(directory)).any(is_writable)
        })
    })
}
