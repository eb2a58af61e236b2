//! A program that runs, and its end.
//!
//! One task waits for each program from its start: it feeds, listens, kills where it is
//! told to or the time is over, and reaps. Whoever holds [`Running`] only takes events.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{Notify, mpsc, watch};

use crate::authority::{Authority, Ended};
use crate::command::Leftovers;
use crate::output::forward;
use crate::spawner::{Guarded, Spawner};

/// Events that wait to be taken.
const WAITING_EVENTS: usize = 4;

/// Something that a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It wrote to its standard output.
    Stdout(Vec<u8>),
    /// It wrote to its standard error.
    Stderr(Vec<u8>),
    /// It ended. The last event.
    Exited(ExitStatus),
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// With a code.
    Code(i32),
    /// By a signal, of this number.
    Signal(i32),
    /// Killed when its time was over.
    TimedOut,
}

pub(crate) struct Outputs {
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Option<Receiver>,
}

/// A program that was started, and what its end is told to.
pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) guarded: Guarded,
    pub(crate) spawner: Arc<Spawner>,
    pub(crate) authority: Arc<dyn Authority>,
    pub(crate) record: Ended,
    pub(crate) began: Instant,
    pub(crate) timeout: Option<Duration>,
    pub(crate) leftovers: Leftovers,
}

/// A program that runs. Dropping it kills the program with all that it started, unless it
/// has ended by itself.
#[derive(Debug)]
pub struct Running {
    events: mpsc::Receiver<Event>,
    orders: Arc<Orders>,
}

#[derive(Debug, Default)]
struct Orders {
    kill: Notify,
    interrupt: Notify,
    was_dropped: AtomicBool,
}

impl Running {
    pub(crate) fn begin(program: Program, outputs: Outputs, input: Vec<u8>) -> Self {
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        let orders = Arc::<Orders>::default();
        tokio::spawn(program.watch(outputs, input, sender, Arc::clone(&orders)));
        Self { events, orders }
    }

    /// Waits for the next event; `None` after the last one. Nothing is lost where this is
    /// not waited for.
    pub async fn next_event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Kills the program with all that it started. Its end is an event as ever.
    pub fn kill(&self) {
        self.orders.kill.notify_one();
    }

    /// Asks the program and all that it started to stop, as a terminal's interrupt does.
    pub fn interrupt(&self) {
        self.orders.interrupt.notify_one();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.orders.was_dropped.store(true, Ordering::Release);
        self.orders.kill.notify_one();
    }
}

/// Why a program was killed, if it was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Killed {
    No,
    OnDemand,
    ByTime,
}

impl Program {
    async fn watch(
        mut self,
        outputs: Outputs,
        input: Vec<u8>,
        events: mpsc::Sender<Event>,
        orders: Arc<Orders>,
    ) {
        let group = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let signal = |signal: Signal| {
            if let Some(group) = group {
                // It may be gone already, and its group with it.
                let _ = kill_process_group(group, signal);
            }
        };
        let (ended, hears_end) = watch::channel(false);
        let written = Arc::new(AtomicU64::new(0));
        let listen = |pipe, event: fn(Vec<u8>) -> Event| {
            tokio::spawn(forward(pipe, event, events.clone(), hears_end.clone(), Arc::clone(&written)))
        };
        let stdout = listen(outputs.stdout, Event::Stdout);
        let stderr = outputs.stderr.map(|pipe| listen(pipe, Event::Stderr));
        let feeding = self.child.stdin.take().map(|stdin| tokio::spawn(feed(stdin, input)));

        let deadline = self.timeout.and_then(|timeout| tokio::time::Instant::now().checked_add(timeout));
        let mut killed = Killed::No;
        let status = loop {
            tokio::select! {
                biased;
                status = self.child.wait() => break status,
                () = orders.kill.notified(), if killed == Killed::No => {
                    killed = Killed::OnDemand;
                    signal(Signal::KILL);
                }
                () = until(deadline), if killed == Killed::No => {
                    killed = Killed::ByTime;
                    signal(Signal::KILL);
                }
                () = orders.interrupt.notified() => signal(Signal::INT),
            }
        };
        if let Some(feeding) = feeding {
            feeding.abort();
        }
        if killed == Killed::No && self.leftovers == Leftovers::Killed {
            // The number of a group is not given to another while one of it is left, and
            // not soon after.
            signal(Signal::KILL);
        }
        self.guarded.release();
        let _ = ended.send(true);
        if orders.was_dropped.load(Ordering::Acquire) {
            stdout.abort();
            if let Some(stderr) = &stderr {
                stderr.abort();
            }
        }
        let _ = stdout.await;
        if let Some(stderr) = stderr {
            let _ = stderr.await;
        }
        let status = status.ok().map(|status| match (killed, status.code(), status.signal()) {
            (Killed::ByTime, _, _) => ExitStatus::TimedOut,
            (_, Some(code), _) => ExitStatus::Code(code),
            (_, None, signal) => ExitStatus::Signal(signal.unwrap_or_default()),
        });
        self.record.status = status;
        self.record.written = written.load(Ordering::Relaxed);
        self.record.duration = self.began.elapsed();
        self.authority.ended(&self.record);
        drop(self.spawner);
        // A status that the system does not tell is no success.
        let _ = events.send(Event::Exited(status.unwrap_or(ExitStatus::Code(-1)))).await;
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// A program that does not read all of its input ends as it likes.
async fn feed(mut stdin: ChildStdin, input: Vec<u8>) {
    let _ = stdin.write_all(&input).await;
    let _ = stdin.shutdown().await;
}
