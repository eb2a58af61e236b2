//! System call numbers by architecture, and the treatment of each system call.
//!
//! Sources of the numbers: `arch/x86/entry/syscalls/syscall_64.tbl` and
//! `include/uapi/asm-generic/unistd.h` of Linux.

/// The largest system call number in this table. Later system calls return `ENOSYS`, as on a kernel
/// without them.
pub(crate) const LAST_KNOWN: u32 = 462;

/// An architecture whose system calls can be filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// The architecture of this program, if it is supported.
    pub(crate) const CURRENT: Option<Self> = if cfg!(target_arch = "x86_64") {
        Some(Self::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Self::Aarch64)
    } else {
        None
    };

    /// Returns the value of `AUDIT_ARCH_*` in `linux/audit.h`.
    pub(crate) const fn audit_number(self) -> u32 {
        const LITTLE_ENDIAN_64_BIT: u32 = 0xc000_0000;
        match self {
            Self::X86_64 => LITTLE_ENDIAN_64_BIT | 0x3e,
            Self::Aarch64 => LITTLE_ENDIAN_64_BIT | 0xb7,
        }
    }

    /// Returns the number of a system call; `None` if the architecture does not have it.
    pub(crate) fn number(self, call: &SystemCall) -> Option<u32> {
        match self {
            Self::X86_64 => call.x86_64,
            Self::Aarch64 => call.aarch64,
        }
    }

    /// Returns the name of a system call in the table.
    pub(crate) fn name(self, number: u32) -> Option<&'static str> {
        SYSTEM_CALLS.iter().find(|call| self.number(call) == Some(number)).map(|call| call.name)
    }
}

/// A system call that is not always allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemCall {
    pub(crate) name: &'static str,
    pub(crate) x86_64: Option<u32>,
    pub(crate) aarch64: Option<u32>,
    pub(crate) treatment: Treatment,
}

/// The treatment of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// The supervisor performs or refuses it.
    Supervised,
    /// No plugin has a reason for it: the supervisor refuses and reports it.
    Refused,
    /// It fails with this error number, since programs make it and continue after an error.
    Fails(i32),
    /// It sends a signal. The supervisor decides on it if Landlock cannot restrict signals.
    Signal,
    /// It creates a socket: [`SOCKET`], after [`INTERNET_DATAGRAMS`] in a network namespace.
    Socket,
    /// Some combinations of its arguments are supervised, refused or fail.
    Checked(&'static [ArgumentRule]),
}

/// A treatment for some arguments of a system call. If no rule matches, the call is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentRule {
    /// All of them must match.
    pub(crate) checks: &'static [Check],
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Allowed,
    Refused,
    /// The supervisor creates the socket, or refuses it.
    OtherSocket,
    Fails(i32),
    /// The call returns success without an effect.
    Ignored,
}

/// A check of 32 bits of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) argument: usize,
    pub(crate) half: Half,
    pub(crate) test: Test,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Low,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// These bits have this value.
    Masked { mask: u32, value: u32 },
    /// At least one of these bits is set.
    AnyBit(u32),
}

const fn low(argument: usize, value: u32) -> Check {
    Check { argument, half: Half::Low, test: Test::Masked { mask: u32::MAX, value } }
}

const fn low_masked(argument: usize, mask: u32, value: u32) -> Check {
    Check { argument, half: Half::Low, test: Test::Masked { mask, value } }
}

const fn low_bits(argument: usize, bits: u32) -> Check {
    Check { argument, half: Half::Low, test: Test::AnyBit(bits) }
}

const fn high_bits(argument: usize) -> Check {
    Check { argument, half: Half::High, test: Test::AnyBit(u32::MAX) }
}

const SOCK_TYPE_MASK: u32 = 0xf;
const AF_UNIX: u32 = 1;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
const SOCK_SEQPACKET: u32 = 5;
const IPPROTO_TCP: u32 = 6;
const IPPROTO_UDP: u32 = 17;
const IPPROTO_IPV6: u32 = 41;
const IPV6_V6ONLY: u32 = 26;
const MSG_FASTOPEN: u32 = 0x2000_0000;
/// `CLONE_NEWTIME`, `NEWNS`, `PARENT`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID`,
/// `NEWNET`. `CLONE_NEWTIME` is in the bits of the exit signal, and only `clone3` accepts it.
const CLONE_NAMESPACES_OR_PARENT: u32 = 0x7e02_8000;
const PR_SET_PDEATHSIG: u32 = 1;
const PR_SET_SECCOMP: u32 = 22;
const PR_SET_DUMPABLE: u32 = 4;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const FIOSETOWN: u32 = 0x8901;
const SIOCSPGRP: u32 = 0x8902;
const FS_IOC_SETFLAGS: u32 = 0x4008_6602;
const FS_IOC32_SETFLAGS: u32 = 0x4004_6602;
const FS_IOC_FSSETXATTR: u32 = 0x401c_5820;
const FS_IOC_ENABLE_VERITY: u32 = 0x4080_6685;
const F_SETOWN: u32 = 8;
const F_SETSIG: u32 = 10;
const F_SETOWN_EX: u32 = 15;
const F_SETLEASE: u32 = 1024;
const PRIO_PROCESS: u32 = 0;
const IOPRIO_WHO_PROCESS: u32 = 1;
/// The result of `personality` that only reads the current value.
const READ_PERSONALITY: u32 = u32::MAX;

/// Unix domain stream sockets are allowed: they reach nothing without `connect`, which is
/// supervised. The supervisor decides on all others.
pub(crate) const SOCKET: &[ArgumentRule] = &[
    ArgumentRule {
        checks: &[low(0, AF_UNIX), low_masked(1, SOCK_TYPE_MASK, SOCK_STREAM)],
        outcome: Outcome::Allowed,
    },
    ArgumentRule {
        checks: &[low(0, AF_UNIX), low_masked(1, SOCK_TYPE_MASK, SOCK_SEQPACKET)],
        outcome: Outcome::Allowed,
    },
    ArgumentRule { checks: &[], outcome: Outcome::OtherSocket },
];
/// Internet datagram sockets, which reach nothing outside of a network namespace.
pub(crate) const INTERNET_DATAGRAMS: &[ArgumentRule] = &[
    ArgumentRule { checks: &[INTERNET, DATAGRAMS, low(2, 0)], outcome: Outcome::Allowed },
    ArgumentRule { checks: &[INTERNET, DATAGRAMS, low(2, IPPROTO_UDP)], outcome: Outcome::Allowed },
];
/// Connections over the internet, which reach only the host's listeners in a network namespace.
pub(crate) const INTERNET_STREAMS: &[ArgumentRule] = &[
    ArgumentRule { checks: &[INTERNET, STREAMS, low(2, 0)], outcome: Outcome::Allowed },
    ArgumentRule { checks: &[INTERNET, STREAMS, low(2, IPPROTO_TCP)], outcome: Outcome::Allowed },
];
/// `AF_INET` is 2, and `AF_INET6` is 10.
const INTERNET: Check = low_masked(0, !8, 2);
const STREAMS: Check = low_masked(1, SOCK_TYPE_MASK, SOCK_STREAM);
const DATAGRAMS: Check = low_masked(1, SOCK_TYPE_MASK, SOCK_DGRAM);
/// Other Unix domain sockets are datagram sockets, which can send to any path without `connect`.
const SOCKET_PAIR: &[ArgumentRule] = &[
    ArgumentRule {
        checks: &[low(0, AF_UNIX), low_masked(1, SOCK_TYPE_MASK, SOCK_STREAM)],
        outcome: Outcome::Allowed,
    },
    ArgumentRule {
        checks: &[low(0, AF_UNIX), low_masked(1, SOCK_TYPE_MASK, SOCK_SEQPACKET)],
        outcome: Outcome::Allowed,
    },
    ArgumentRule { checks: &[], outcome: Outcome::Refused },
];
/// The option cannot be set on a connected socket, and the host's listeners accept both families.
const SOCKET_OPTION: &[ArgumentRule] =
    &[ArgumentRule { checks: &[low(1, IPPROTO_IPV6), low(2, IPV6_V6ONLY)], outcome: Outcome::Ignored }];
const FAST_OPEN_IN_3: &[ArgumentRule] =
    &[ArgumentRule { checks: &[low_bits(3, MSG_FASTOPEN)], outcome: Outcome::Fails(libc::EOPNOTSUPP) }];
const FAST_OPEN_IN_2: &[ArgumentRule] =
    &[ArgumentRule { checks: &[low_bits(2, MSG_FASTOPEN)], outcome: Outcome::Fails(libc::EOPNOTSUPP) }];
const CLONE: &[ArgumentRule] =
    &[ArgumentRule { checks: &[low_bits(0, CLONE_NAMESPACES_OR_PARENT)], outcome: Outcome::Refused }];
/// The signal at the end of the host, and filters that would replace the supervisor.
const PRCTL: &[ArgumentRule] = &[
    ArgumentRule { checks: &[low(0, PR_SET_PDEATHSIG)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(0, PR_SET_SECCOMP)], outcome: Outcome::Refused },
    // The supervisor could then not read the arguments of system calls.
    ArgumentRule { checks: &[low(0, PR_SET_DUMPABLE)], outcome: Outcome::Refused },
];
const IOCTL: &[ArgumentRule] = &[
    ArgumentRule { checks: &[low(1, TIOCSTI)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, TIOCLINUX)], outcome: Outcome::Refused },
    // The recipient of signals about input.
    ArgumentRule { checks: &[low(1, FIOSETOWN)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, SIOCSPGRP)], outcome: Outcome::Refused },
    // Attributes of files that are open for reading.
    ArgumentRule { checks: &[low(1, FS_IOC_SETFLAGS)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, FS_IOC32_SETFLAGS)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, FS_IOC_FSSETXATTR)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, FS_IOC_ENABLE_VERITY)], outcome: Outcome::Refused },
];
/// Signals about input to any process, and leases that delay other processes.
const FCNTL: &[ArgumentRule] = &[
    ArgumentRule { checks: &[low(1, F_SETOWN)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, F_SETSIG)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, F_SETOWN_EX)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low(1, F_SETLEASE)], outcome: Outcome::Refused },
];
/// Calls that set limits of another process.
const PRLIMIT: &[ArgumentRule] = &[
    ArgumentRule { checks: &[low_bits(0, u32::MAX), low_bits(2, u32::MAX)], outcome: Outcome::Refused },
    ArgumentRule { checks: &[low_bits(0, u32::MAX), high_bits(2)], outcome: Outcome::Refused },
];
/// Calls whose first argument is the ID of another thread or process; 0 is the caller.
const OTHER_IN_0: &[ArgumentRule] =
    &[ArgumentRule { checks: &[low_bits(0, u32::MAX)], outcome: Outcome::Fails(libc::EPERM) }];
/// The priority of the caller, not of other processes, or of all processes of a group or a user.
const PRIORITY: &[ArgumentRule] = &[
    ArgumentRule { checks: &[low(0, PRIO_PROCESS), low(1, 0)], outcome: Outcome::Allowed },
    ArgumentRule { checks: &[], outcome: Outcome::Fails(libc::EPERM) },
];
const IO_PRIORITY: &[ArgumentRule] = &[
    ArgumentRule { checks: &[low(0, IOPRIO_WHO_PROCESS), low(1, 0)], outcome: Outcome::Allowed },
    ArgumentRule { checks: &[], outcome: Outcome::Fails(libc::EPERM) },
];
const PERSONALITY: &[ArgumentRule] = &[
    ArgumentRule { checks: &[low(0, READ_PERSONALITY)], outcome: Outcome::Allowed },
    ArgumentRule { checks: &[low_bits(0, u32::MAX)], outcome: Outcome::Refused },
];

const fn both(name: &'static str, number: u32, treatment: Treatment) -> SystemCall {
    SystemCall { name, x86_64: Some(number), aarch64: Some(number), treatment }
}

const fn each(name: &'static str, x86_64: u32, aarch64: u32, treatment: Treatment) -> SystemCall {
    SystemCall { name, x86_64: Some(x86_64), aarch64: Some(aarch64), treatment }
}

const fn x86_64(name: &'static str, number: u32, treatment: Treatment) -> SystemCall {
    SystemCall { name, x86_64: Some(number), aarch64: None, treatment }
}

use Treatment::{Checked, Fails, Refused, Signal, Supervised};

#[rustfmt::skip]
pub(crate) const SYSTEM_CALLS: &[SystemCall] = &[
    // Sockets.
    each("socket", 41, 198, Treatment::Socket),
    each("setsockopt", 54, 208, Checked(SOCKET_OPTION)),
    each("socketpair", 53, 199, Checked(SOCKET_PAIR)),
    each("connect", 42, 203, Supervised),
    each("sendto", 44, 206, Checked(FAST_OPEN_IN_3)),
    each("sendmsg", 46, 211, Checked(FAST_OPEN_IN_2)),
    each("sendmmsg", 307, 269, Checked(FAST_OPEN_IN_3)),
    // Programs and processes. The arguments of `clone3` are in memory, and C libraries fall back to
    // `clone`. All processes stay in the group that is killed at the end.
    each("execve", 59, 221, Supervised),
    each("execveat", 322, 281, Supervised),
    each("clone", 56, 220, Checked(CLONE)),
    both("clone3", 435, Fails(libc::ENOSYS)),
    each("setsid", 112, 157, Fails(libc::EPERM)),
    each("setpgid", 109, 154, Fails(libc::EPERM)),
    each("prctl", 157, 167, Checked(PRCTL)),
    each("seccomp", 317, 277, Refused),
    each("personality", 135, 92, Checked(PERSONALITY)),
    // Signals to other processes. Their arguments are numbers, not pointers.
    each("kill", 62, 129, Signal),
    each("tkill", 200, 130, Signal),
    each("tgkill", 234, 131, Signal),
    each("rt_sigqueueinfo", 129, 138, Signal),
    each("rt_tgsigqueueinfo", 297, 240, Signal),
    both("pidfd_send_signal", 424, Signal),
    // Namespaces and mounts.
    each("unshare", 272, 97, Refused),
    each("setns", 308, 268, Refused),
    each("mount", 165, 40, Refused),
    each("umount2", 166, 39, Refused),
    each("pivot_root", 155, 41, Refused),
    each("chroot", 161, 51, Refused),
    both("open_tree", 428, Refused),
    both("move_mount", 429, Refused),
    both("fsopen", 430, Refused),
    both("fsconfig", 431, Refused),
    both("fsmount", 432, Refused),
    both("fspick", 433, Refused),
    both("mount_setattr", 442, Refused),
    // Other processes.
    each("ptrace", 101, 117, Refused),
    each("process_vm_readv", 310, 270, Refused),
    each("process_vm_writev", 311, 271, Refused),
    both("pidfd_getfd", 438, Refused),
    each("kcmp", 312, 272, Refused),
    both("process_madvise", 440, Refused),
    both("process_mrelease", 448, Refused),
    each("prlimit64", 302, 261, Checked(PRLIMIT)),
    each("setpriority", 141, 140, Checked(PRIORITY)),
    each("ioprio_set", 251, 30, Checked(IO_PRIORITY)),
    each("sched_setaffinity", 203, 122, Checked(OTHER_IN_0)),
    each("sched_setscheduler", 144, 119, Checked(OTHER_IN_0)),
    each("sched_setparam", 142, 118, Checked(OTHER_IN_0)),
    each("sched_setattr", 314, 274, Checked(OTHER_IN_0)),
    each("migrate_pages", 256, 238, Refused),
    each("move_pages", 279, 239, Checked(OTHER_IN_0)),
    each("shmget", 29, 194, Refused),
    each("shmat", 30, 196, Refused),
    each("shmctl", 31, 195, Refused),
    each("semget", 64, 190, Refused),
    each("semop", 65, 193, Refused),
    each("semtimedop", 220, 192, Refused),
    each("semctl", 66, 191, Refused),
    each("msgget", 68, 186, Refused),
    each("msgsnd", 69, 189, Refused),
    each("msgrcv", 70, 188, Refused),
    each("msgctl", 71, 187, Refused),
    each("mq_open", 240, 180, Refused),
    each("mq_unlink", 241, 181, Refused),
    // Files, on which Landlock decides. The supervisor reports them.
    x86_64("open", 2, Supervised),
    x86_64("creat", 85, Supervised),
    each("openat", 257, 56, Supervised),
    both("openat2", 437, Supervised),
    // Attributes of files, which Landlock does not restrict.
    x86_64("chmod", 90, Supervised),
    each("fchmod", 91, 52, Supervised),
    each("fchmodat", 268, 53, Supervised),
    both("fchmodat2", 452, Supervised),
    x86_64("utime", 132, Supervised),
    x86_64("utimes", 235, Supervised),
    x86_64("futimesat", 261, Supervised),
    each("utimensat", 280, 88, Supervised),
    x86_64("chown", 92, Refused),
    each("fchown", 93, 55, Refused),
    x86_64("lchown", 94, Refused),
    each("fchownat", 260, 54, Refused),
    each("setxattr", 188, 5, Refused),
    each("lsetxattr", 189, 6, Refused),
    each("fsetxattr", 190, 7, Refused),
    each("removexattr", 197, 14, Refused),
    each("lremovexattr", 198, 15, Refused),
    each("fremovexattr", 199, 16, Refused),
    each("getxattr", 191, 8, Fails(libc::EOPNOTSUPP)),
    each("lgetxattr", 192, 9, Fails(libc::EOPNOTSUPP)),
    each("listxattr", 194, 11, Fails(libc::EOPNOTSUPP)),
    each("llistxattr", 195, 12, Fails(libc::EOPNOTSUPP)),
    // Names of files in directories that are not granted.
    each("inotify_add_watch", 254, 27, Refused),
    each("fanotify_init", 300, 262, Refused),
    each("fanotify_mark", 301, 263, Refused),
    each("name_to_handle_at", 303, 264, Refused),
    each("open_by_handle_at", 304, 265, Refused),
    // Interfaces with a large part of the kernel behind them.
    both("io_uring_setup", 425, Refused),
    both("io_uring_enter", 426, Refused),
    both("io_uring_register", 427, Refused),
    each("bpf", 321, 280, Refused),
    each("perf_event_open", 298, 241, Refused),
    each("userfaultfd", 323, 282, Refused),
    each("add_key", 248, 217, Refused),
    each("request_key", 249, 218, Refused),
    each("keyctl", 250, 219, Refused),
    each("ioctl", 16, 29, Checked(IOCTL)),
    each("fcntl", 72, 25, Checked(FCNTL)),
    // The machine.
    each("init_module", 175, 105, Refused),
    each("finit_module", 313, 273, Refused),
    each("delete_module", 176, 106, Refused),
    each("kexec_load", 246, 104, Refused),
    each("kexec_file_load", 320, 294, Refused),
    each("clock_settime", 227, 112, Refused),
    each("clock_adjtime", 305, 266, Refused),
    each("adjtimex", 159, 171, Refused),
    each("settimeofday", 164, 170, Refused),
    each("reboot", 169, 142, Refused),
    each("swapon", 167, 224, Refused),
    each("swapoff", 168, 225, Refused),
    each("acct", 163, 89, Refused),
    each("quotactl", 179, 60, Refused),
    both("quotactl_fd", 443, Refused),
    each("sethostname", 170, 161, Refused),
    each("setdomainname", 171, 162, Refused),
    each("syslog", 103, 116, Refused),
    each("vhangup", 153, 58, Refused),
    x86_64("iopl", 172, Refused),
    x86_64("ioperm", 173, Refused),
    x86_64("modify_ldt", 154, Refused),
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn numbers_are_unique() {
        for architecture in [Architecture::X86_64, Architecture::Aarch64] {
            let mut seen = BTreeSet::new();
            for call in SYSTEM_CALLS {
                if let Some(number) = architecture.number(call) {
                    assert!(seen.insert(number), "{architecture:?} {}", call.name);
                    assert!(number <= LAST_KNOWN, "{}", call.name);
                    assert_eq!(architecture.name(number), Some(call.name));
                }
            }
        }
    }

    /// Compares the numbers with the headers of the machine's C library.
    #[test]
    fn numbers_match_the_kernel_headers() {
        let headers = [
            (Architecture::X86_64, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
            (Architecture::Aarch64, "/usr/include/asm-generic/unistd.h"),
        ];
        for (architecture, path) in headers {
            let Ok(header) = std::fs::read_to_string(path) else {
                println!("skipped: there is no {path}");
                continue;
            };
            let numbers: BTreeMap<&str, u32> = header.lines().filter_map(definition).collect();
            let mut compared = 0;
            for call in SYSTEM_CALLS {
                // Headers can be older than the table.
                let Some(expected) = numbers.get(call.name) else { continue };
                assert_eq!(architecture.number(call), Some(*expected), "{architecture:?} {}", call.name);
                compared += 1;
            }
            assert!(compared > 80, "{path} has only {compared} of the calls");
        }
    }

    fn definition(line: &str) -> Option<(&str, u32)> {
        let mut words = line.split_ascii_whitespace();
        let (Some("#define"), Some(name), Some(number)) = (words.next(), words.next(), words.next()) else {
            return None;
        };
        let name = name.strip_prefix("__NR3264_").or_else(|| name.strip_prefix("__NR_"))?;
        Some((name, number.parse().ok()?))
    }
}
