//! Where processes come from, and who sees to it that none outlives us.
//!
//! Two things end a program when we do, however that happens:
//!
//! 1. On Linux the kernel kills the process that we started. It counts the thread that
//!    started it as the parent, though, and threads of a runtime come and go: so all are
//!    started by threads that live as long as the [`Spawner`] does. There are several,
//!    since a start is waited for until the new process has become its program, which on
//!    a machine that is busy takes longer than short programs do.
//! 2. What that process started itself is killed by a guard: a shell of its own that is
//!    told of each session, reads until we close our end of the pipe or are gone, and then
//!    kills those that it was not told to forget.

use std::io::{self, Write as _};
use std::process::{ChildStdin, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use crate::confinement::Prepared;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Reads `+ 123` and `- 123`, and kills the groups that are left when nobody is there to
/// say more. What a terminal sends to everybody is not for it.
const GUARD: &str = r#"
trap '' HUP INT QUIT TERM PIPE
groups=' '
while read -r sign group; do
    case $sign in
        +) groups="$groups$group " ;;
        -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
    esac
done
for group in $groups; do
    kill -s KILL -- "-$group"
done
"#;

/// The most threads that start processes.
const MOST_THREADS: usize = 8;

enum Job {
    Start {
        command: Box<Command>,
        guard: Guarding,
        runtime: Handle,
        started: oneshot::Sender<io::Result<(Child, Guarded)>>,
        /// For what was started, to be forgotten by.
        jobs: mpsc::Sender<Job>,
    },
    Forget(u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Guarding {
    Itself,
    WithDescendants,
}

/// Starts processes. Whoever has one of its processes keeps it.
#[derive(Default)]
pub struct Spawner {
    threads: Mutex<Option<Threads>>,
}

/// The threads, as many as were ever needed at a time.
struct Threads {
    jobs: mpsc::Sender<Job>,
    shared: Shared,
    count: usize,
}

/// What they have together.
#[derive(Clone)]
struct Shared {
    queue: Arc<Mutex<mpsc::Receiver<Job>>>,
    guard: Arc<Mutex<Guard>>,
    /// Starts that were asked for and not answered.
    starting: Arc<AtomicUsize>,
}

/// A process and what it started, which end with us. Dropping this kills them.
pub struct Guarded {
    group: Option<u32>,
    jobs: mpsc::Sender<Job>,
}

impl Guarded {
    /// The process has ended, and what it started may go on without us.
    pub fn release(mut self) {
        self.forget();
    }

    fn forget(&mut self) -> Option<u32> {
        let group = self.group.take()?;
        // Where the thread is gone, the guard is, too.
        let _ = self.jobs.send(Job::Forget(group));
        Some(group)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(group) = self.forget().and_then(|group| Pid::from_raw(group.cast_signed())) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Spawner {
    /// Starts a process in a session of its own that ends with us.
    ///
    /// # Errors
    /// Where the system does not start it.
    pub async fn spawn(&self, command: Command) -> io::Result<Child> {
        self.start(command, Guarding::Itself).await.map(|(child, _)| child)
    }

    /// As [`Spawner::spawn`], and the kernel holds the process to some rules.
    ///
    /// # Errors
    /// Where the system does not start it, or does not take the rules.
    pub async fn spawn_confined(&self, mut command: Command, rules: Prepared) -> io::Result<Child> {
        rules.hold(&mut command);
        self.spawn(command).await
    }

    /// Starts a process in a session of its own that ends with us, as does all that it
    /// starts while it is guarded.
    ///
    /// # Errors
    /// Where the system does not start it.
    pub async fn spawn_guarded(&self, command: Command) -> io::Result<(Child, Guarded)> {
        self.start(command, Guarding::WithDescendants).await
    }

    async fn start(&self, mut command: Command, guard: Guarding) -> io::Result<(Child, Guarded)> {
        end_with_us(&mut command);
        let (started, answer) = oneshot::channel();
        let jobs = self.jobs()?;
        let job = Job::Start {
            command: Box::new(command),
            guard,
            runtime: Handle::current(),
            started,
            jobs: jobs.clone(),
        };
        jobs.send(job).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Where a start is asked for; a thread is free to hear of it, or there are all that
    /// there may be.
    fn jobs(&self) -> io::Result<mpsc::Sender<Job>> {
        let mut threads = lock(&self.threads);
        let threads = threads.get_or_insert_with(|| {
            let (jobs, queue) = mpsc::channel();
            let (queue, guard) = (Arc::new(Mutex::new(queue)), Arc::default());
            Threads { jobs, shared: Shared { queue, guard, starting: Arc::default() }, count: 0 }
        });
        let starting = threads.shared.starting.fetch_add(1, Ordering::Relaxed) + 1;
        if starting > threads.count && threads.count < MOST_THREADS {
            let shared = threads.shared.clone();
            let started = std::thread::Builder::new().name("spawner".into()).spawn(move || shared.work());
            match started {
                Ok(_) => threads.count += 1,
                Err(error) if threads.count == 0 => {
                    threads.shared.starting.fetch_sub(1, Ordering::Relaxed);
                    return Err(error);
                }
                // Those that there are do it.
                Err(_) => {}
            }
        }
        Ok(threads.jobs.clone())
    }
}

fn gone() -> io::Error {
    io::Error::other("the threads that start programs are gone")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn next(&self) -> Option<Job> {
        lock(&self.queue).recv().ok()
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            match job {
                Job::Start { mut command, guard: guarding, runtime, started, jobs } => {
                    let entered = runtime.enter();
                    let child = command.spawn();
                    drop(entered);
                    // Our ends of its pipes would keep them open.
                    drop(command);
                    let answer = child.map(|child| {
                        let group = child.id().filter(|_| guarding == Guarding::WithDescendants);
                        if let Some(group) = group {
                            lock(&self.guard).tell('+', group);
                        }
                        (child, Guarded { group, jobs })
                    });
                    self.starting.fetch_sub(1, Ordering::Relaxed);
                    // Who asked may have given up; all of it then ends by being dropped.
                    let _ = started.send(answer);
                }
                Job::Forget(group) => lock(&self.guard).tell('-', group),
            }
        }
    }
}

/// The shell that outlives us by a moment. A system without one has the kernel's part.
#[derive(Default)]
enum Guard {
    #[default]
    NotYet,
    There(Shell),
    Absent,
}

impl Guard {
    fn tell(&mut self, sign: char, group: u32) {
        if matches!(self, Self::NotYet) {
            *self = Self::start().unwrap_or(Self::Absent);
        }
        if let Self::There(shell) = self
            && !shell.hears(sign, group)
        {
            *self = Self::Absent;
        }
    }

    fn start() -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", GUARD])
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = child.stdin.take().ok_or_else(gone)?;
        Ok(Self::There(Shell { child, pipe: Some(pipe) }))
    }
}

struct Shell {
    child: std::process::Child,
    pipe: Option<ChildStdin>,
}

impl Shell {
    fn hears(&mut self, sign: char, group: u32) -> bool {
        self.pipe.as_mut().is_some_and(|pipe| writeln!(pipe, "{sign} {group}").is_ok())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // It has nothing to wait for.
        let _ = self.child.wait();
    }
}

/// A session of its own, so that a terminal's interrupt does not reach it and that all of
/// it can be killed; and no life without ours.
fn end_with_us(command: &mut Command) {
    command.kill_on_drop(true);
    #[cfg(target_os = "linux")]
    let us = rustix::process::getpid();
    let before_it_becomes_the_program = move || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{getppid, set_parent_process_death_signal};
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // We may have died before that was said.
            if getppid() != Some(us) {
                return Err(io::ErrorKind::NotConnected.into());
            }
        }
        Ok(())
    };
    #[allow(
        unsafe_code,
        reason = "what runs between fork and exec must be async-signal-safe; these are system calls \
                  without memory or locks, and nothing else offers them to a child"
    )]
    unsafe {
        command.pre_exec(before_it_becomes_the_program);
    }
}
