//! Supervises a running program until it ends.
//!
//! One task supervises each program from its start: the task writes the input, reads the output,
//! kills the program on request or after the time limit, and reaps it. The holder of
//! [`ChildProcess`] only receives events.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{Notify, mpsc, watch};

use wardian_access::{ExitStatus, FinishedProgram, ProcessAuthority};

use crate::command::DescendantPolicy;
use crate::event::CommandEvent;
use crate::output::forward;
use crate::spawner::{Guarded, Spawner};

/// Maximum number of queued events.
const MAX_QUEUED_EVENTS: usize = 4;

pub(crate) struct Outputs {
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Option<Receiver>,
}

/// The state of the task that supervises a program.
pub(crate) struct ChildSupervisor {
    pub(crate) child: Child,
    pub(crate) guarded: Guarded,
    pub(crate) spawner: Arc<Spawner>,
    pub(crate) authority: Arc<dyn ProcessAuthority>,
    pub(crate) record: FinishedProgram,
    pub(crate) began: Instant,
    pub(crate) timeout: Option<Duration>,
    pub(crate) descendants: DescendantPolicy,
}

/// A running program. Dropping it kills the program and its descendants, unless the program has
/// already exited.
#[derive(Debug)]
pub struct ChildProcess {
    events: mpsc::Receiver<CommandEvent>,
    requests: Arc<ChildRequests>,
}

#[derive(Debug, Default)]
struct ChildRequests {
    kill: Notify,
    interrupt: Notify,
    was_dropped: AtomicBool,
}

impl ChildProcess {
    pub(crate) fn start(program: ChildSupervisor, outputs: Outputs, input: Vec<u8>) -> Self {
        let (sender, events) = mpsc::channel(MAX_QUEUED_EVENTS);
        let requests = Arc::<ChildRequests>::default();
        tokio::spawn(program.supervise(outputs, input, sender, Arc::clone(&requests)));
        Self { events, requests }
    }

    /// Waits for the next event; returns `None` after the last event. Cancel safe.
    pub async fn next_event(&mut self) -> Option<CommandEvent> {
        self.events.recv().await
    }

    /// Kills the program and its descendants. Their end is reported as an event.
    pub fn kill(&self) {
        self.requests.kill.notify_one();
    }

    /// Sends an interrupt signal to the program and its descendants.
    pub fn interrupt(&self) {
        self.requests.interrupt.notify_one();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.requests.was_dropped.store(true, Ordering::Release);
        self.requests.kill.notify_one();
    }
}

/// The reason why a program was killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KillReason {
    None,
    Requested,
    Timeout,
}

impl ChildSupervisor {
    async fn supervise(
        mut self,
        outputs: Outputs,
        input: Vec<u8>,
        events: mpsc::Sender<CommandEvent>,
        requests: Arc<ChildRequests>,
    ) {
        let group = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let signal = |signal: Signal| {
            if let Some(group) = group {
                // The process group may no longer exist.
                let _ = kill_process_group(group, signal);
            }
        };
        let (ended, end_receiver) = watch::channel(false);
        let written = Arc::new(AtomicU64::new(0));
        let forward_output = |pipe, event: fn(Vec<u8>) -> CommandEvent| {
            tokio::spawn(forward(pipe, event, events.clone(), end_receiver.clone(), Arc::clone(&written)))
        };
        let stdout = forward_output(outputs.stdout, CommandEvent::Stdout);
        let stderr = outputs.stderr.map(|pipe| forward_output(pipe, CommandEvent::Stderr));
        let input_task = self.child.stdin.take().map(|stdin| tokio::spawn(write_input(stdin, input)));

        let deadline = self.timeout.and_then(|timeout| tokio::time::Instant::now().checked_add(timeout));
        let mut kill_reason = KillReason::None;
        let status = loop {
            tokio::select! {
                biased;
                status = self.child.wait() => break status,
                () = requests.kill.notified(), if kill_reason == KillReason::None => {
                    kill_reason = KillReason::Requested;
                    signal(Signal::KILL);
                }
                () = sleep_until_deadline(deadline), if kill_reason == KillReason::None => {
                    kill_reason = KillReason::Timeout;
                    signal(Signal::KILL);
                }
                () = requests.interrupt.notified() => signal(Signal::INT),
            }
        };
        if let Some(input_task) = input_task {
            input_task.abort();
        }
        if kill_reason == KillReason::None && self.descendants == DescendantPolicy::Kill {
            // The system does not reuse the ID of a process group while the group has members or
            // immediately afterwards.
            signal(Signal::KILL);
        }
        self.guarded.release();
        let _ = ended.send(true);
        if requests.was_dropped.load(Ordering::Acquire) {
            stdout.abort();
            if let Some(stderr) = &stderr {
                stderr.abort();
            }
        }
        let _ = stdout.await;
        if let Some(stderr) = stderr {
            let _ = stderr.await;
        }
        let status = status.ok().map(|status| match (kill_reason, status.code(), status.signal()) {
            (KillReason::Timeout, _, _) => ExitStatus::TimedOut,
            (_, Some(code), _) => ExitStatus::Code(code),
            (_, None, signal) => ExitStatus::Signal(signal.unwrap_or_default()),
        });
        self.record.status = status;
        self.record.written = written.load(Ordering::Relaxed);
        self.record.duration = self.began.elapsed();
        self.authority.finished(&self.record);
        drop(self.spawner);
        // An unknown exit status must not be reported as success.
        let _ = events.send(CommandEvent::Exited(status.unwrap_or(ExitStatus::Code(-1)))).await;
    }
}

async fn sleep_until_deadline(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Writes the input. A program that does not read all of its input can still exit normally.
async fn write_input(mut stdin: ChildStdin, input: Vec<u8>) {
    let _ = stdin.write_all(&input).await;
    let _ = stdin.shutdown().await;
}
