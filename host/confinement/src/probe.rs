//! Determines the level of confinement that this machine supports, by applying it.
//!
//! A child process applies the rules and the filter to itself and makes two supervised calls, which
//! this process answers as it would answer a plugin. Kernels and containers differ in too many ways
//! to conclude the result from versions.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::connect::ConnectCall;
use crate::filter::Filter;
use crate::kernel::{self, Answer, NewDescriptor};
use crate::landlock::{self, LandlockRules, PreparedRules, TcpPorts};
use crate::level::{ConfinementLevel, SupportedLevel};
use crate::system_calls::Architecture;

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
}

impl Step {
    const ALL: [Self; 6] =
        [Self::Privileges, Self::Rules, Self::Filter, Self::Listener, Self::Socket, Self::Connect];

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
    let rules = match ports.prepare() {
        Ok(rules) => rules,
        Err(error) => return limited(ConfinementLevel::None, error.to_string()),
    };
    let Some(architecture) = Architecture::CURRENT else {
        let name = std::env::consts::ARCH;
        return limited(ConfinementLevel::FilesAndPorts, format!("{name} processors are not supported"));
    };
    match try_supervision(&rules, architecture) {
        Ok(()) => SupportedLevel { level: ConfinementLevel::Filtered, missing: None },
        Err(missing) => limited(ConfinementLevel::FilesAndPorts, missing),
    }
}

fn try_supervision(rules: &PreparedRules, architecture: Architecture) -> Result<(), String> {
    let (receiver, sender) = UnixStream::pair().map_err(|error| error.to_string())?;
    let filter = Filter::new(architecture, !landlock::restricts_signals());
    let child = kernel::fork_and_run(|| run_child(rules, &filter, &sender).code())
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
fn run_child(rules: &PreparedRules, filter: &Filter, sender: &UnixStream) -> ChildResult {
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
    let Ok(socket) = kernel::internet_socket() else { return ChildResult::Failed(Step::Socket) };
    match kernel::connect_to_loopback(socket) {
        Err(libc::ECONNABORTED) => ChildResult::Succeeded,
        _ => ChildResult::Failed(Step::Connect),
    }
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

/// Answers the two calls of the child.
fn serve(receiver: &UnixStream) -> Result<(), String> {
    let listener = kernel::receive_descriptor(receiver.as_fd()).map_err(|error| error.to_string())?;
    let Some(listener) = listener else { return Err("the check ended before its first call".to_owned()) };
    for _ in 0..2 {
        if !wait(&listener) {
            return Err("the check did not make its calls".to_owned());
        }
        let Ok(call) = kernel::receive_notification(listener.as_fd()) else { continue };
        if let Ok(_connect) = ConnectCall::read(call) {
            // The child checks for this error, which proves that its memory could be read.
            let _ = kernel::send_answer(listener.as_fd(), call.id, Answer::Error(libc::ECONNABORTED));
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

fn wait(listener: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut polled, Some(&CALL_TIMEOUT)).is_ok() && polled[0].revents().contains(PollFlags::IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_has_a_reason_unless_it_is_the_highest() {
        let supported = supported_level();
        println!("{supported:?}");
        assert_eq!(supported.level == ConfinementLevel::Filtered, supported.missing.is_none());
    }
}
