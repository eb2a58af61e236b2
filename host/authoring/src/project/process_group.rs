//! The process groups of running build tools.
//!
//! A build tool starts processes of its own: compilers and tests. It runs in a process group, so all of them
//! end with it. A terminal does not send Ctrl-C to such a group, so the program calls [`end_programs`] before
//! it ends.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::process::{Child, Command};

/// The groups whose programs are running.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Ends the build tools that are running, and their processes, as Ctrl-C does.
pub fn end_programs() {
    for group in running(|groups| groups.clone()) {
        signal(group, Signal::Interrupt);
    }
}

fn running<T>(use_groups: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
    use_groups(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Lets a command run in a group of its own.
pub(super) fn isolate(command: &mut Command) {
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(not(unix))]
    let _ = command;
}

/// The group of a program. It is killed when this value is dropped before the program has ended.
pub(super) struct ProcessGroup(Option<i32>);

impl ProcessGroup {
    pub(super) fn from_child(child: &Child) -> Self {
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group {
            running(|groups| groups.insert(group));
        }
        Self(group)
    }

    /// The program has ended, so another group may get the number.
    pub(super) fn has_ended(mut self) {
        if let Some(group) = self.0.take() {
            running(|groups| groups.remove(&group));
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            running(|groups| groups.remove(&group));
            signal(group, Signal::Kill);
        }
    }
}

enum Signal {
    Interrupt,
    Kill,
}

#[cfg(unix)]
fn signal(group: i32, signal: Signal) {
    let signal = match signal {
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(group) = rustix::process::Pid::from_raw(group) {
        // The processes may have ended.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

#[cfg(not(unix))]
fn signal(_: i32, _: Signal) {}
