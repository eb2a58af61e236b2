//! Spawns processes, and ensures that none of them outlives the host.
//!
//! Two mechanisms kill a process when the host ends for any reason:
//!
//! 1. On Linux, the kernel kills the direct child. The kernel regards the thread that spawned the
//!    child as the parent, and the threads of a runtime are short-lived. Therefore, all processes
//!    are spawned by threads that exist as long as the [`Spawner`]. There are several such threads,
//!    because each spawn waits until the child has executed its program. On a busy machine, this
//!    wait can be longer than the run time of a short program.
//! 2. A guard kills the descendants. The guard is a shell in a separate process group that reads the ID
//!    of each session from a pipe until the host closes the pipe or exits, and then kills the
//!    sessions that were not released. A process writes the ID itself before it executes its program,
//!    so it has no descendants before the guard knows it.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{ChildStdin, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Reads lines such as `+ 123` and `- 123`, and kills the remaining process groups at the end of
/// its input. The script ignores the signals that a terminal sends to the foreground process group.
const GUARD_SCRIPT: &str = r#"
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

/// Maximum number of spawner threads.
const MAX_THREADS: usize = 8;

enum Job {
    Start {
        command: Box<Command>,
        guard: GuardScope,
        /// The ID that the process has written to the guard.
        registered: Option<Registered>,
        runtime: Handle,
        started: oneshot::Sender<io::Result<(Child, Guarded)>>,
        /// The queue through which the process is released.
        jobs: mpsc::Sender<Job>,
    },
    Forget(u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GuardScope {
    Process,
    Descendants,
}

/// Spawns processes. A spawner must exist as long as any of its processes.
#[derive(Default)]
pub struct Spawner {
    threads: Mutex<Option<Threads>>,
}

/// The threads. A thread is added when all of them are busy.
struct Threads {
    jobs: mpsc::Sender<Job>,
    shared: Shared,
    count: usize,
}

/// The state that the threads share.
#[derive(Clone)]
struct Shared {
    queue: Arc<Mutex<mpsc::Receiver<Job>>>,
    guard: Arc<Mutex<Guard>>,
    /// Number of spawns in progress.
    starting: Arc<AtomicUsize>,
}

/// A process and its descendants, which are killed when the host ends. Dropping this value kills
/// them.
pub struct Guarded {
    group: Option<u32>,
    jobs: mpsc::Sender<Job>,
}

impl Guarded {
    /// Releases the descendants after the process has exited.
    pub fn release(mut self) {
        self.forget();
    }

    fn forget(&mut self) -> Option<u32> {
        let group = self.group.take()?;
        // Sending fails only if the threads have ended, and then the guard has ended as well.
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

/// Calls that a new process makes before it executes its program.
pub struct BeforeExecution(Box<dyn FnMut() -> io::Result<()> + Send + Sync>);

impl BeforeExecution {
    /// Wraps calls.
    ///
    /// # Safety
    /// The calls run in the child of a multithreaded process. They must be async-signal-safe: they must
    /// neither allocate memory nor acquire locks.
    #[allow(unsafe_code, reason = "only the caller can ensure that the calls are async-signal-safe")]
    pub unsafe fn new(calls: impl FnMut() -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Box::new(calls))
    }
}

impl Spawner {
    /// Spawns a process in a separate session, which is killed when the host ends.
    ///
    /// # Errors
    /// Returns an error if the system cannot start it.
    pub async fn spawn(&self, command: Command) -> io::Result<Child> {
        self.start(command, GuardScope::Process, None, None).await.map(|(child, _)| child)
    }

    /// Spawns a process in a separate session that makes these calls before it executes its program.
    /// The process is killed when the host ends, and so are its descendants while it is guarded.
    ///
    /// # Errors
    /// Returns an error if the system cannot start it, or one of the calls fails.
    pub async fn spawn_confined(
        &self,
        command: Command,
        before: BeforeExecution,
    ) -> io::Result<(Child, Guarded)> {
        self.start(command, GuardScope::Descendants, None, Some(before)).await
    }

    /// Spawns a process in a separate session and in an open directory. The process is killed when
    /// the host ends, and so are its descendants while it is guarded.
    ///
    /// # Errors
    /// Returns an error if the system cannot start it.
    pub async fn spawn_guarded(
        &self,
        command: Command,
        directory: Arc<OwnedFd>,
    ) -> io::Result<(Child, Guarded)> {
        self.start(command, GuardScope::Descendants, Some(directory), None).await
    }

    async fn start(
        &self,
        mut command: Command,
        guard: GuardScope,
        directory: Option<Arc<OwnedFd>>,
        before: Option<BeforeExecution>,
    ) -> io::Result<(Child, Guarded)> {
        die_with_host(&mut command, directory);
        let jobs = self.job_sender()?;
        let registered = match guard {
            GuardScope::Process => None,
            GuardScope::Descendants => self.register_with_guard(&mut command)?,
        };
        if let Some(BeforeExecution(calls)) = before {
            #[allow(
                unsafe_code,
                reason = "the creator of the value ensures that the calls are allowed there"
            )]
            // Registered last, so the calls also restrict the process after it has its session.
            unsafe {
                command.pre_exec(calls);
            }
        }
        let (started, answer) = oneshot::channel();
        let job = Job::Start {
            command: Box::new(command),
            guard,
            registered,
            runtime: Handle::current(),
            started,
            jobs: jobs.clone(),
        };
        jobs.send(job).map_err(|_| threads_ended())?;
        answer.await.map_err(|_| threads_ended())?
    }

    /// Makes the process write its ID to the guard; returns `None` if there is no guard.
    fn register_with_guard(&self, command: &mut Command) -> io::Result<Option<Registered>> {
        let threads = lock(&self.threads);
        let Some(guard) = threads.as_ref().and_then(|threads| lock(&threads.shared.guard).pipe()) else {
            return Ok(None);
        };
        let (registered, report) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let register = move || {
            let line = GuardLine::adding(rustix::process::getpid());
            // The host reads it if the program is not executed.
            rustix::io::write(&report, line.bytes())?;
            rustix::io::write(&guard, line.bytes())?;
            Ok(())
        };
        #[allow(
            unsafe_code,
            reason = "the closure makes only system calls, with memory on the stack; there is no safe interface"
        )]
        unsafe {
            command.pre_exec(register);
        }
        Ok(Some(Registered(registered)))
    }

    /// Returns the job queue. Adds a thread first if all threads are busy and the maximum number is
    /// not reached.
    fn job_sender(&self) -> io::Result<mpsc::Sender<Job>> {
        let mut threads = lock(&self.threads);
        let threads = threads.get_or_insert_with(|| {
            let (jobs, queue) = mpsc::channel();
            let (queue, guard) = (Arc::new(Mutex::new(queue)), Arc::default());
            Threads { jobs, shared: Shared { queue, guard, starting: Arc::default() }, count: 0 }
        });
        let starting = threads.shared.starting.fetch_add(1, Ordering::Relaxed) + 1;
        if starting > threads.count && threads.count < MAX_THREADS {
            let shared = threads.shared.clone();
            let started =
                std::thread::Builder::new().name("spawner".into()).spawn(move || shared.process_jobs());
            match started {
                Ok(_) => threads.count += 1,
                Err(error) if threads.count == 0 => {
                    threads.shared.starting.fetch_sub(1, Ordering::Relaxed);
                    return Err(error);
                }
                // The existing threads will process the job.
                Err(_) => {}
            }
        }
        Ok(threads.jobs.clone())
    }
}

fn threads_ended() -> io::Error {
    io::Error::other("the spawner threads have ended")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn next(&self) -> Option<Job> {
        lock(&self.queue).recv().ok()
    }

    fn process_jobs(&self) {
        while let Some(job) = self.next() {
            match job {
                Job::Start { mut command, guard: guarding, registered, runtime, started, jobs } => {
                    let entered = runtime.enter();
                    let child = command.spawn();
                    drop(entered);
                    // The command holds this process's ends of the pipes until it is dropped.
                    drop(command);
                    if child.is_err()
                        && let Some(group) = registered.and_then(|registered| registered.read())
                    {
                        lock(&self.guard).release(group);
                    }
                    let answer = child.map(|child| {
                        let group = child.id().filter(|_| guarding == GuardScope::Descendants);
                        (child, Guarded { group, jobs })
                    });
                    self.starting.fetch_sub(1, Ordering::Relaxed);
                    // If the receiver was dropped, dropping the result kills the process.
                    let _ = started.send(answer);
                }
                Job::Forget(group) => lock(&self.guard).release(group),
            }
        }
    }
}

/// The guard: a shell that briefly outlives the host. If no shell is available, only the kernel's
/// mechanism applies.
#[derive(Default)]
enum Guard {
    #[default]
    NotStarted,
    Started(Shell),
    Unavailable,
}

impl Guard {
    /// Returns the pipe to the guard, which is started if necessary; `None` if there is no guard.
    fn pipe(&mut self) -> Option<OwnedFd> {
        if matches!(self, Self::NotStarted) {
            *self = Self::start().unwrap_or(Self::Unavailable);
        }
        let Self::Started(shell) = self else { return None };
        shell.pipe.as_ref()?.as_fd().try_clone_to_owned().ok()
    }

    fn release(&mut self, group: u32) {
        if let Self::Started(shell) = self
            && !shell.release(group)
        {
            *self = Self::Unavailable;
        }
    }

    fn start() -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", GUARD_SCRIPT])
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = child.stdin.take().ok_or_else(threads_ended)?;
        Ok(Self::Started(Shell { child, pipe: Some(pipe) }))
    }
}

/// The end of a pipe from which the host reads the line that a process has written to the guard.
struct Registered(OwnedFd);

impl Registered {
    fn read(&self) -> Option<u32> {
        let mut bytes = [0; GuardLine::LENGTH];
        let length = rustix::io::read(&self.0, &mut bytes).ok()?;
        str::from_utf8(&bytes[..length]).ok()?.trim_start_matches('+').trim().parse().ok()
    }
}

/// A line that adds a process group, in memory on the stack.
struct GuardLine {
    bytes: [u8; Self::LENGTH],
    start: usize,
}

impl GuardLine {
    /// A sign, a space, up to ten digits and a line end.
    const LENGTH: usize = 13;

    fn adding(process: Pid) -> Self {
        let mut line = Self { bytes: [0; Self::LENGTH], start: Self::LENGTH - 1 };
        line.bytes[line.start] = b'\n';
        let mut rest = process.as_raw_nonzero().get().unsigned_abs();
        while rest > 0 {
            line.prepend(b'0' + u8::try_from(rest % 10).unwrap_or_default());
            rest /= 10;
        }
        line.prepend(b' ');
        line.prepend(b'+');
        line
    }

    fn prepend(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

struct Shell {
    child: std::process::Child,
    pipe: Option<ChildStdin>,
}

impl Shell {
    fn release(&mut self, group: u32) -> bool {
        self.pipe.as_mut().is_some_and(|pipe| pipe.write_all(format!("- {group}\n").as_bytes()).is_ok())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // The guard exits at the end of its input.
        let _ = self.child.wait();
    }
}

/// The largest signal number on any supported system.
const MAX_SIGNAL: libc::c_int = 64;

/// Gives every signal its default disposition. A process inherits the signals that its parent
/// ignores, and `nohup`, background jobs of scripts and some CI systems start the host with ignored
/// signals. Without the reset, programs would then not react to an interrupt.
fn reset_signals() {
    for number in 1..=MAX_SIGNAL {
        #[allow(
            unsafe_code,
            reason = "the function is async-signal-safe and changes only the disposition; there is no safe \
                interface for it"
        )]
        // Fails for signals that do not exist or always have the default disposition.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
        }
    }
}

/// Creates a separate session for the process, which therefore receives no interrupts from the
/// terminal and can be killed as a group. Instructs the kernel to kill the process when the host
/// ends. The process starts in the given directory.
fn die_with_host(command: &mut Command, directory: Option<Arc<OwnedFd>>) {
    command.kill_on_drop(true);
    #[cfg(target_os = "linux")]
    let us = rustix::process::getpid();
    let pre_exec = move || {
        reset_signals();
        rustix::process::setsid()?;
        if let Some(directory) = &directory {
            rustix::process::fchdir(directory)?;
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{getppid, set_parent_process_death_signal};
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The host may have exited before the previous call.
            if getppid() != Some(us) {
                return Err(io::ErrorKind::NotConnected.into());
            }
        }
        Ok(())
    };
    #[allow(
        unsafe_code,
        reason = "code between fork and exec must be async-signal-safe; these are system calls without \
            allocation or locks, and there is no safe interface for them"
    )]
    unsafe {
        command.pre_exec(pre_exec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_line_has_the_form_that_the_script_reads() {
        let line = |process: i32| {
            let line = GuardLine::adding(Pid::from_raw(process).unwrap());
            String::from_utf8(line.bytes().to_vec()).unwrap()
        };
        assert_eq!(line(1), "+ 1\n");
        assert_eq!(line(4_194_304), "+ 4194304\n");
        assert_eq!(line(i32::MAX), "+ 2147483647\n");
    }

    #[test]
    fn registered_process_is_read_back() {
        let (registered, report) = rustix::pipe::pipe_with(PipeFlags::NONBLOCK).unwrap();
        let registered = Registered(registered);
        assert_eq!(registered.read(), None);
        rustix::io::write(&report, GuardLine::adding(Pid::from_raw(77).unwrap()).bytes()).unwrap();
        assert_eq!(registered.read(), Some(77));
    }
}
