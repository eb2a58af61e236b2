//! Answers the system calls of a confined program that the kernel does not decide on.
//!
//! One thread per program receives the notifications. Calls that wait for the network run as tasks,
//! so none of them delays another call. Every decision uses a copy of the arguments that was made
//! after the call began and before it was answered. A call whose arguments are in memory continues in
//! the kernel only if the kernel enforces the rest: `execve` of the program itself, which the host's own
//! code makes, `execve` of the scripts of granted programs, since every executed file remains within
//! the confinement, and the opening of files, on which Landlock decides.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use wardian_access::NativeAuthority;

use crate::landlock::LandlockRules;
use crate::linux::attributes;
use crate::linux::connect::{ConnectCall, open_as};
use crate::linux::kernel::{self, Answer, NewDescriptor, Notification};
use crate::linux::names::MAX_QUERY_BYTES;
use crate::linux::opens::OpenReports;
use crate::linux::program_memory::Thread;
use crate::linux::programs::ProgramServer;
use crate::linux::refusals;
use crate::linux::relay::Family;
use crate::linux::servers::Servers;
use crate::linux::signals;
use crate::linux::sockets::ProgramSockets;
use crate::linux::system_calls::Architecture;
use crate::supervision::SupervisorOptions;
use crate::view::DirectoryView;

/// Maximum number of records of the same kind of refused call, so that a program cannot fill the
/// disk.
const MAX_RECORDS_OF_A_CALL: u32 = 100;

/// The environment of a program's process, as far as the supervisor needs it.
#[derive(Default)]
pub(crate) struct ProcessEnvironment {
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The rules that the kernel enforces.
    pub(crate) rules: LandlockRules,
    /// The directory with the scripts of granted programs.
    pub(crate) program_directory: Option<PathBuf>,
    /// Whether the program has a network namespace.
    pub(crate) has_own_network: bool,
    /// Directories of which the program sees a part.
    pub(crate) views: Vec<DirectoryView>,
}

/// The state of one program's supervision.
pub(crate) struct Supervisor {
    listener: OwnedFd,
    architecture: Architecture,
    supervision: SupervisorOptions,
    environment: ProcessEnvironment,
    opens: OpenReports,
    servers: Servers,
    has_started: AtomicBool,
    sockets: ProgramSockets,
    records: Mutex<HashMap<&'static str, u32>>,
}

impl Supervisor {
    pub(crate) fn new(
        listener: OwnedFd,
        architecture: Architecture,
        supervision: SupervisorOptions,
        environment: ProcessEnvironment,
    ) -> Self {
        Self {
            listener,
            architecture,
            opens: OpenReports::new(&environment.rules, &environment.views),
            servers: Servers::new(&supervision, environment.has_own_network),
            environment,
            has_started: AtomicBool::new(false),
            sockets: ProgramSockets::default(),
            records: Mutex::default(),
            supervision,
        }
    }

    pub(crate) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    pub(crate) fn authority(&self) -> &dyn NativeAuthority {
        &*self.supervision.authority
    }

    /// Whether a path is in the program's own directory.
    pub(crate) fn is_own_path(&self, path: &Path) -> bool {
        path.starts_with(&self.supervision.own_directory)
    }

    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    pub(crate) fn sockets(&self) -> &ProgramSockets {
        &self.sockets
    }

    /// Answers a call. The thread may have been killed in the meantime.
    pub(crate) fn answer(&self, id: u64, answer: Answer) {
        let _ = kernel::send_answer(self.listener(), id, answer);
    }

    /// Answers notifications until the last process of the program has ended, or `stop` is closed.
    /// `queries` is the socket that receives queries for names in the program's network namespace.
    pub(crate) fn run(self, queries: Option<OwnedFd>, stop: &OwnedFd, runtime: &Handle) {
        let supervisor = Arc::new(self);
        let mut tasks = JoinSet::new();
        if let Some(socket) = queries {
            let supervisor = Arc::clone(&supervisor);
            let serve = async move {
                // Without the socket, names are not resolved.
                let _ = supervisor.servers.names().serve_datagrams(socket.into()).await;
            };
            tasks.spawn_on(serve, runtime);
        }
        if let Some(server) =
            ProgramServer::new(&supervisor.supervision, supervisor.environment.variables.clone())
        {
            // Without the socket, programs cannot be started.
            tasks.spawn_on(async move { drop(server.serve().await) }, runtime);
        }
        while wait_for_notification(&supervisor.listener, stop) {
            while tasks.try_join_next().is_some() {}
            match kernel::receive_notification(supervisor.listener()) {
                Ok(notification) => supervisor.handle(notification, &mut tasks, runtime),
                // The thread was killed, or a signal arrived.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                Err(_) => break,
            }
        }
        // Dropping the tasks closes the program's connections.
    }

    fn handle(self: &Arc<Self>, call: Notification, tasks: &mut JoinSet<()>, runtime: &Handle) {
        let name = self.architecture.name(call.number).unwrap_or("unknown");
        let answer = match name {
            "connect" => match ConnectCall::read(call) {
                // After this check, the copied arguments are known to belong to the waiting call.
                Ok(_) if !kernel::is_waiting(self.listener(), call.id) => return,
                Ok(connect) => match connect.perform_now(self) {
                    Ok(answer) => answer,
                    Err((connect, address)) => {
                        let supervisor = Arc::clone(self);
                        tasks.spawn_on(connect.connect(address, supervisor), runtime);
                        return;
                    }
                },
                Err(error) => Answer::Error(error),
            },
            "socket" => match self.create_socket(call, tasks, runtime) {
                Some(answer) => answer,
                None => return,
            },
            "execve" | "execveat" => self.execute(name, call),
            "open" | "creat" | "openat" | "openat2" => {
                self.opens.report(name, call, self.authority());
                // The kernel decides by its own rules, even if the path has changed since.
                Answer::Continue
            }
            "chmod" | "fchmod" | "fchmodat" | "fchmodat2" | "utime" | "utimes" | "futimesat"
            | "utimensat" => attributes::change(self, name, call),
            "kill" | "tkill" | "tgkill" | "rt_sigqueueinfo" | "rt_tgsigqueueinfo"
                if signals::is_within_group(call) =>
            {
                Answer::Continue
            }
            refused => {
                self.refuse(refused, refusals::effect(refused));
                Answer::Error(libc::EPERM)
            }
        };
        self.answer(call.id, answer);
    }

    /// Records a call that no policy can grant.
    pub(crate) fn refuse(&self, name: &'static str, effect: &str) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let count = records.entry(name).or_default();
        *count += 1;
        if *count <= MAX_RECORDS_OF_A_CALL {
            drop(records);
            self.authority().refuse_system_call(name, effect);
        }
    }

    /// Creates a socket for the program. Returns nothing if the call has been answered.
    fn create_socket(
        self: &Arc<Self>,
        call: Notification,
        tasks: &mut JoinSet<()>,
        runtime: &Handle,
    ) -> Option<Answer> {
        let [family, kind, protocol] = [0, 1, 2].map(|index| call.signed(index));
        let (flags, kind) = (kind & !0xf, kind & 0xf);
        let (nonblocking, close_on_execution) =
            (flags & libc::SOCK_NONBLOCK != 0, flags & libc::SOCK_CLOEXEC != 0);
        let created = match (family, kind, protocol) {
            (libc::AF_INET, libc::SOCK_STREAM, 0 | libc::IPPROTO_TCP) => {
                self.sockets.create_stream(Family::V4, nonblocking)
            }
            (libc::AF_INET6, libc::SOCK_STREAM, 0 | libc::IPPROTO_TCP) => {
                self.sockets.create_stream(Family::V6, nonblocking)
            }
            (libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM, 0 | libc::IPPROTO_UDP) => {
                self.datagram_socket(nonblocking, tasks, runtime)
            }
            // Programs fall back from Multipath TCP to TCP.
            (libc::AF_INET | libc::AF_INET6, ..) => return Some(Answer::Error(libc::EPROTONOSUPPORT)),
            // C libraries list the machine's interfaces, and continue if they cannot.
            (libc::AF_NETLINK, ..) => return Some(Answer::Error(libc::EAFNOSUPPORT)),
            _ => {
                self.refuse("socket", &format!("it would create a socket of family {family}, type {kind}"));
                return Some(Answer::Error(libc::EAFNOSUPPORT));
            }
        };
        let added = created.and_then(|socket| {
            let new = NewDescriptor::AsResult;
            kernel::add_descriptor(self.listener(), call.id, socket.as_fd(), new, close_on_execution)
        });
        match added {
            Ok(()) => None,
            Err(error) => Some(Answer::Error(error.raw_os_error().unwrap_or(libc::EMFILE))),
        }
    }

    /// Creates a socket whose datagrams are answered as queries for names.
    fn datagram_socket(
        self: &Arc<Self>,
        nonblocking: bool,
        tasks: &mut JoinSet<()>,
        runtime: &Handle,
    ) -> io::Result<OwnedFd> {
        let (theirs, ours) = kernel::message_pair()?;
        kernel::set_nonblocking(theirs.as_fd(), nonblocking)?;
        kernel::set_nonblocking(ours.as_fd(), true)?;
        let inode = self.sockets.add_datagram_socket(&theirs)?;
        let supervisor = Arc::clone(self);
        let serve = async move {
            // An error ends only this socket.
            let _ = supervisor.serve_datagrams(ours).await;
            supervisor.sockets.remove_datagram_socket(inode);
        };
        tasks.spawn_on(serve, runtime);
        Ok(theirs)
    }

    async fn serve_datagrams(&self, socket: OwnedFd) -> io::Result<()> {
        // The socket preserves the boundaries of messages: each read returns one message.
        let mut socket = UnixStream::from_std(socket.into())?;
        loop {
            let mut message = vec![0; MAX_QUERY_BYTES];
            let length = socket.read(&mut message).await?;
            if length == 0 {
                return Ok(());
            }
            if let Some(response) = self.servers.names().respond(&message[..length]).await {
                socket.write_all(&response).await?;
            }
        }
    }

    /// Whether a path is the script of a granted program.
    fn is_granted_program(&self, path: &Path) -> bool {
        self.environment
            .program_directory
            .as_deref()
            .is_some_and(|directory| path.parent() == Some(directory))
    }

    /// Lets the program itself and the scripts of granted programs be executed, and refuses all
    /// others.
    fn execute(&self, name: &'static str, call: Notification) -> Answer {
        if !self.has_started.swap(true, Ordering::AcqRel) {
            return Answer::Continue;
        }
        let thread = Thread(call.thread);
        let (path, arguments) = match name {
            "execve" => (call.arguments[0], call.arguments[1]),
            _ => (call.arguments[1], call.arguments[2]),
        };
        let program = thread.read_string(path).unwrap_or_default();
        if self.is_granted_program(Path::new(&program)) {
            // If another thread changes the path, another file is executed within the same confinement.
            return Answer::Continue;
        }
        if is_missing(thread, name, call, Path::new(&program)) {
            // Programs search the directories of PATH.
            return Answer::Error(libc::ENOENT);
        }
        let arguments = refusals::read_arguments(thread, arguments);
        if kernel::is_waiting(self.listener(), call.id) {
            self.authority().refuse_program(Path::new(&program), &arguments);
        }
        Answer::Error(libc::EPERM)
    }
}

/// Whether the file of an `execve` call does not exist.
fn is_missing(thread: Thread, name: &str, call: Notification, program: &Path) -> bool {
    let base = match name {
        "execveat" if call.signed(0) != libc::AT_FDCWD => thread.descriptor_path(call.signed(0)),
        _ => thread.working_directory(),
    };
    let opened = open_as(thread, &base, program, true);
    opened.is_err_and(|error| {
        matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) && !program.as_os_str().is_empty()
    })
}

/// Waits for a notification. Returns false after the last process has ended, or to stop.
fn wait_for_notification(listener: &OwnedFd, stop: &OwnedFd) -> bool {
    loop {
        let mut polled = [PollFd::new(listener, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return false,
            Ok(_) => {}
        }
        let [listener, stop] = polled.map(|polled| polled.revents());
        if !stop.is_empty() {
            return false;
        }
        if listener.contains(PollFlags::IN) {
            return true;
        }
        if !listener.is_empty() {
            return false;
        }
    }
}
