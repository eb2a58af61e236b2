//! Determines the level of confinement that this machine supports, by applying it.
//!
//! A child process enters the namespaces, applies the rules and the filter to itself and makes supervised
//! calls, which this process answers as it would answer a plugin. Kernels and containers differ in too many ways
//! to conclude the result from versions.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::landlock::{self, LandlockRules, PreparedRules, TcpPorts};
use crate::level::{ConfinementLevel, SupportedLevel};
use crate::linux::connect::ConnectCall;
use crate::linux::filter::{Filter, FilterOptions};
use crate::linux::isolation::Isolation;
use crate::linux::kernel::{self, Answer, NewDescriptor};
use crate::linux::namespace_calls;
use crate::linux::namespaces::Namespaces;
use crate::linux::system_calls::Architecture;

/// Time limit for each call of the child.
const CALL_TIMEOUT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// The step at which the child failed, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
enum Step {
    Privileges = 11,
    Rules = 12,
    Filter = 13,
    Listener = 14,
    Socket = 15,
    Connect = 16,
    Namespaces = 17,
    Datagrams = 18,
    PlainFilter = 19,
}

impl Step {
    const ALL: [Self; 9] = [
        Self::Privileges,
        Self::Rules,
        Self::Filter,
        Self::Listener,
        Self::Socket,
        Self::Connect,
        Self::Namespaces,
        Self::Datagrams,
        Self::PlainFilter,
    ];

    fn missing(self) -> &'static str {
        match self {
            Self::Privileges => "the system does not let a process give up privileges",
            Self::Rules => "the kernel's Landlock cannot be applied",
            Self::Filter => {
                "the kernel does not support seccomp filters that notify a supervisor (Linux 5.19 or later), or \
                 this process already runs under such a filter"
            }
            Self::Listener => "the descriptor of the filter cannot be passed to the supervisor",
            Self::Socket => "the supervisor cannot pass sockets to the program (Linux 5.14 or later)",
            Self::Connect => {
                "the supervisor cannot read the program's memory: the kernel must allow a process to trace its \
                 children (kernel.yama.ptrace_scope of 0 or 1)"
            }
            Self::Namespaces => {
                "the system does not let an unprivileged process set up user, mount and network \
                 namespaces (a container's profile, or kernel.apparmor_restrict_unprivileged_userns of 1)"
            }
            Self::PlainFilter => "the kernel does not support seccomp filters",
            Self::Datagrams => {
                "the supervisor cannot copy the program's sockets (pidfd_getfd, Linux 5.6 or later)"
            }
        }
    }
}

/// Returns the highest level that this machine supports. The result is determined once per process.
pub fn supported_level() -> &'static SupportedLevel {
    static SUPPORTED: OnceLock<SupportedLevel> = OnceLock::new();
    SUPPORTED.get_or_init(probe)
}

fn probe() -> SupportedLevel {
    let limited = |level, missing: String| SupportedLevel { level, missing: Some(missing) };
    let ports = LandlockRules { tcp: TcpPorts::Only(Vec::new()), ..LandlockRules::default() };
    let rules = ports.prepare().map_err(|error| error.to_string());
    let Some(architecture) = Architecture::CURRENT else {
        let missing = format!("{} processors are not supported", std::env::consts::ARCH);
        return match rules {
            Ok(_) => limited(ConfinementLevel::FilesAndPorts, missing),
            Err(missing) => limited(ConfinementLevel::None, missing),
        };
    };
    let supervised = rules.as_ref().map_err(Clone::clone).and_then(|rules| {
        let in_namespaces = Namespaces::prepare(&[])
            .map_err(no_files)
            .and_then(|(namespaces, _files)| try_supervision(rules, architecture, Some(&namespaces)));
        match in_namespaces {
            Ok(()) => Ok(SupportedLevel { level: ConfinementLevel::Full, missing: None }),
            Err(missing) => try_supervision(rules, architecture, None)
                .map(|()| limited(ConfinementLevel::Filtered, missing)),
        }
    });
    let missing = match supervised {
        Ok(level) => return level,
        Err(missing) => missing,
    };
    match (try_isolation(architecture), rules) {
        (Ok(()), _) => limited(ConfinementLevel::Namespaced, missing),
        (Err(also), Ok(_)) => limited(ConfinementLevel::FilesAndPorts, format!("{missing}; {also}")),
        (Err(also), Err(_)) => limited(ConfinementLevel::None, format!("{missing}; {also}")),
    }
}

fn no_files(error: io::Error) -> String {
    format!("the files of a mount namespace cannot be created: {error}")
}

/// Checks whether a process can be confined by namespaces alone.
fn try_isolation(architecture: Architecture) -> Result<(), String> {
    let isolation = Isolation::prepare(architecture, &LandlockRules::default(), &[], &[], Path::new("/"));
    let (isolation, _files) = isolation.map_err(no_files)?;
    let child = kernel::fork_and_run(|| {
        if isolation.enter(|_| Ok(())).is_err() {
            return Step::Namespaces as i32;
        }
        let restricted = kernel::forbid_new_privileges()
            .and_then(|()| kernel::drop_capabilities())
            .and_then(|()| isolation.forbid_system_calls());
        if restricted.is_err() { Step::PlainFilter as i32 } else { 0 }
    });
    let child = child.map_err(|error| format!("no process can be started for the check: {error}"))?;
    match kernel::wait_for(child) {
        Some(0) => Ok(()),
        Some(code) if code == Step::PlainFilter as i32 => Err(Step::PlainFilter.missing().to_owned()),
        _ => Err(Step::Namespaces.missing().to_owned()),
    }
}

fn try_supervision(
    rules: &PreparedRules,
    architecture: Architecture,
    namespaces: Option<&Namespaces>,
) -> Result<(), String> {
    let (receiver, sender) = UnixStream::pair().map_err(|error| error.to_string())?;
    let options = FilterOptions {
        supervises_signals: !landlock::restricts_signals(),
        allows_datagrams: namespaces.is_some(),
        ..FilterOptions::default()
    };
    let filter = Filter::new(architecture, options);
    let child = kernel::fork_and_run(|| run_child(rules, &filter, namespaces, &sender).code())
        .map_err(|error| format!("no process can be started for the check: {error}"))?;
    drop(sender);
    let served = serve(&receiver);
    drop(receiver);
    let code = kernel::wait_for(child);
    match (served, code) {
        (Ok(()), Some(0)) => Ok(()),
        (_, Some(code)) if let Some(step) = Step::ALL.into_iter().find(|step| *step as i32 == code) => {
            Err(step.missing().to_owned())
        }
        (Err(error), _) => Err(error),
        (Ok(()), _) => Err("the check ended unexpectedly".to_owned()),
    }
}

/// Runs in the child: only system calls, without memory allocation.
fn run_child(
    rules: &PreparedRules,
    filter: &Filter,
    namespaces: Option<&Namespaces>,
    sender: &UnixStream,
) -> ChildResult {
    if let Some(namespaces) = namespaces {
        let Ok(queries) = namespaces.enter() else { return ChildResult::Failed(Step::Namespaces) };
        kernel::close(queries);
    }
    if kernel::forbid_new_privileges().and_then(|()| kernel::drop_capabilities()).is_err() {
        return ChildResult::Failed(Step::Privileges);
    }
    if kernel::restrict_self(rules.as_fd()).is_err() {
        return ChildResult::Failed(Step::Rules);
    }
    let Ok(listener) = kernel::install_filter(filter.instructions()) else {
        return ChildResult::Failed(Step::Filter);
    };
    if kernel::send_descriptor(sender.as_raw_fd(), listener).is_err() {
        return ChildResult::Failed(Step::Listener);
    }
    kernel::close(listener);
    let Ok(socket) = namespace_calls::internet_socket(libc::SOCK_STREAM) else {
        return ChildResult::Failed(Step::Socket);
    };
    if kernel::connect_to_loopback(socket) != Err(libc::ECONNABORTED) {
        return ChildResult::Failed(Step::Connect);
    }
    if namespaces.is_some() && !connects_datagrams() {
        return ChildResult::Failed(Step::Datagrams);
    }
    ChildResult::Succeeded
}

fn connects_datagrams() -> bool {
    let Ok(socket) = namespace_calls::internet_socket(libc::SOCK_DGRAM) else { return false };
    kernel::connect_to_loopback(socket).is_ok()
}

#[derive(Clone, Copy)]
enum ChildResult {
    Succeeded,
    Failed(Step),
}

impl ChildResult {
    fn code(self) -> i32 {
        match self {
            Self::Succeeded => 0,
            Self::Failed(step) => step as i32,
        }
    }
}

/// Answers the calls of the child until it ends.
fn serve(receiver: &UnixStream) -> Result<(), String> {
    let listener = kernel::receive_descriptor(receiver.as_fd()).map_err(|error| error.to_string())?;
    let Some(listener) = listener else { return Err("the check ended before its first call".to_owned()) };
    while wait(&listener)? {
        let Ok(call) = kernel::receive_notification(listener.as_fd()) else { continue };
        if let Ok(connect) = ConnectCall::read(call) {
            // The child checks for this error, which proves that its memory could be read.
            let refused = Answer::Error(libc::ECONNABORTED);
            let answer = connect.connect_datagrams().unwrap_or(refused);
            let _ = kernel::send_answer(listener.as_fd(), call.id, answer);
        } else {
            let added = kernel::unix_socket(false).and_then(|socket| {
                kernel::add_descriptor(
                    listener.as_fd(),
                    call.id,
                    socket.as_fd(),
                    NewDescriptor::AsResult,
                    true,
                )
            });
            if added.is_err() {
                let _ = kernel::send_answer(listener.as_fd(), call.id, Answer::Error(libc::EPERM));
            }
        }
    }
    Ok(())
}

/// Waits for a call. Returns false if the child has ended.
fn wait(listener: &OwnedFd) -> Result<bool, String> {
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut polled, Some(&CALL_TIMEOUT)) {
        Ok(0) | Err(_) => Err("the check did not make its calls".to_owned()),
        Ok(_) => Ok(polled[0].revents().contains(PollFlags::IN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_has_a_reason_unless_it_is_the_highest() {
        let supported = supported_level();
        println!("{supported:?}");
        assert_eq!(supported.level == ConfinementLevel::Full, supported.missing.is_none());
    }
}
