//! Where plugin processes come from.
//!
//! On Linux a plugin is killed by the kernel when we die, however that happens.
//! The kernel counts the thread that started it as the parent, though, and threads
//! of a runtime come and go. So all are started by one thread that lives as long
//! as the spawner does.

use std::io;
use std::sync::{Mutex, PoisonError, mpsc};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct Job {
    command: Command,
    runtime: Handle,
    started: oneshot::Sender<io::Result<Child>>,
}

/// Starts processes. Whoever has one of its processes keeps it.
#[derive(Default)]
pub(crate) struct Spawner {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
}

impl Spawner {
    /// Starts a process that ends with us.
    pub(crate) async fn spawn(&self, mut command: Command) -> io::Result<Child> {
        end_with_us(&mut command);
        let (started, answer) = oneshot::channel();
        self.hand_over(Job { command, runtime: Handle::current(), started })?;
        answer.await.map_err(|_| gone())?
    }

    fn hand_over(&self, job: Job) -> io::Result<()> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*jobs {
            Some(sender) => sender,
            None => {
                let (sender, receiver) = mpsc::channel();
                std::thread::Builder::new().name("plugin-spawner".into()).spawn(move || work(&receiver))?;
                jobs.insert(sender)
            }
        };
        sender.send(job).map_err(|_| gone())
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts plugins is gone")
}

fn work(jobs: &mpsc::Receiver<Job>) {
    while let Ok(mut job) = jobs.recv() {
        let entered = job.runtime.enter();
        let child = job.command.spawn();
        drop(entered);
        // Who asked may have given up; the process then ends by being dropped.
        let _ = job.started.send(child);
    }
}

/// A group of its own, so that a terminal's interrupt does not reach it and that
/// all of it can be killed; and no life without ours.
fn end_with_us(command: &mut Command) {
    command.process_group(0).kill_on_drop(true);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
        let us = getpid();
        let before_it_becomes_the_plugin = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // We may have died before that was said.
            if getppid() != Some(us) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            Ok(())
        };
        #[allow(
            unsafe_code,
            reason = "what runs between fork and exec must be async-signal-safe; these are two system calls \
                      without memory or locks, and nothing else offers the first to a child"
        )]
        unsafe {
            command.pre_exec(before_it_becomes_the_plugin);
        }
    }
}
