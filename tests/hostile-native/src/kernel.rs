//! Attacks on the kernel: interfaces that no plugin needs, and attempts to bypass a system call filter.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::outcome::{Arguments, During as _, Failure, Outcome, errno_name, first_success};
use crate::sys::{
    Address, MARK, address_of, address_of_mut, check, in_child, own, readable, server, system_call,
};

pub(crate) fn bpf(_: &Arguments) -> Outcome {
    // Creates an array of one element.
    let attributes = [2_u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let arguments = [0, address_of(&attributes), size_of_val(&attributes)];
    // SAFETY: the attributes live until the call returns.
    unsafe { system_call("bpf", libc::SYS_bpf, &arguments) }.map(|_| "a map".to_owned())
}

pub(crate) fn keyctl(_: &Arguments) -> Outcome {
    let process_keyring = -2_isize as usize;
    // SAFETY: strings and bytes live until the calls return.
    first_success(&[
        ("add_key", &|| {
            let arguments = [
                c"user".as_ptr() as usize,
                c"attack".as_ptr() as usize,
                MARK.as_ptr() as usize,
                MARK.len(),
                process_keyring,
            ];
            let key = unsafe { system_call("add_key", libc::SYS_add_key, &arguments)? };
            Ok(format!("key {key}"))
        }),
        ("keyctl", &|| {
            let session_keyring = -3_isize as usize;
            let arguments = [0, session_keyring, 1];
            let keyring = unsafe { system_call("keyctl", libc::SYS_keyctl, &arguments)? };
            Ok(format!("keyring {keyring}"))
        }),
        ("request_key", &|| {
            let arguments = [c"user".as_ptr() as usize, c"attack".as_ptr() as usize, 0, 0];
            unsafe { system_call("request_key", libc::SYS_request_key, &arguments)? };
            Ok("a key".to_owned())
        }),
    ])
}

pub(crate) fn userfaultfd(_: &Arguments) -> Outcome {
    let user_mode_only = 1;
    let flags = libc::O_CLOEXEC as usize | user_mode_only;
    // SAFETY: the call takes no pointers.
    unsafe { system_call("userfaultfd", libc::SYS_userfaultfd, &[flags]) }.map(|_| "a descriptor".to_owned())
}

/// Injects a character into a terminal: a new one, or else standard input.
pub(crate) fn terminal_input(_: &Arguments) -> Outcome {
    let pushes = |descriptor: RawFd| {
        // SAFETY: the call reads one character.
        check("ioctl(TIOCSTI)", unsafe { libc::ioctl(descriptor, libc::TIOCSTI, c"x".as_ptr()) })
    };
    first_success(&[
        ("new terminal", &|| {
            in_child(|| {
                // SAFETY: the calls read or write one number.
                let (_master, terminal) = unsafe {
                    // Otherwise, the end of the terminal would end this process before its report.
                    libc::signal(libc::SIGHUP, libc::SIG_IGN);
                    check("setsid", libc::setsid())?;
                    let master = OpenOptions::new()
                        .read(true)
                        .write(true)
                        .custom_flags(libc::O_NOCTTY)
                        .open("/dev/ptmx")
                        .during("open /dev/ptmx")?;
                    let (mut number, unlock) = (0_i32, 0_i32);
                    check("ioctl", libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlock))?;
                    check("ioctl", libc::ioctl(master.as_raw_fd(), libc::TIOCGPTN, &raw mut number))?;
                    let path = format!("/dev/pts/{number}");
                    let terminal =
                        OpenOptions::new().read(true).write(true).open(path).during("open terminal")?;
                    let mut settings: libc::termios = std::mem::zeroed();
                    check("tcgetattr", libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings))?;
                    libc::cfmakeraw(&raw mut settings);
                    check("tcsetattr", libc::tcsetattr(terminal.as_raw_fd(), 0, &raw const settings))?;
                    (master, terminal)
                };
                pushes(terminal.as_raw_fd())?;
                if readable(terminal.as_raw_fd(), Duration::from_millis(500))? {
                    Ok("the terminal received the character".to_owned())
                } else {
                    Err(Failure::NoEffect("the terminal received nothing".to_owned()))
                }
            })
        }),
        ("controlling terminal", &|| {
            let terminal = File::open("/dev/tty").during("open /dev/tty")?;
            pushes(terminal.as_raw_fd()).map(|_| "typed".to_owned())
        }),
        ("standard input", &|| pushes(0).map(|_| "typed".to_owned())),
    ])
}

/// Calls `getpid` through the interface for 32-bit programs.
pub(crate) fn thirty_two_bit_call(_: &Arguments) -> Outcome {
    #[cfg(target_arch = "x86_64")]
    {
        in_child(|| {
            let result: i64;
            // SAFETY: the call takes no arguments; the kernel changes the listed registers only.
            unsafe {
                std::arch::asm!(
                    "int 0x80",
                    inlateout("rax") 20_i64 => result,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                );
            }
            // SAFETY: the call takes no pointers.
            let expected = i64::from(unsafe { libc::getpid() });
            let result = result as i32;
            if i64::from(result) == expected {
                return Ok(format!("getpid returned {result}"));
            }
            Err(Failure::Error { errno: -result, detail: "int 0x80".to_owned() })
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        Err(Failure::Unavailable("x86-64 only".to_owned()))
    }
}

/// Calls `getpid` by its x32 number.
pub(crate) fn x32_call(_: &Arguments) -> Outcome {
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::Unavailable("x86-64 only".to_owned()));
    }
    in_child(|| {
        // SAFETY: the call takes no pointers.
        unsafe { system_call("x32 getpid", libc::SYS_getpid | 0x4000_0000, &[]) }
            .map(|process| format!("getpid returned {process}"))
    })
}

fn forgo_privileges() -> Result<(), Failure> {
    // SAFETY: the call takes no pointers.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}

/// Calls `body` with a filter that allows every call.
fn with_filter(body: impl FnOnce(&libc::sock_fprog) -> Outcome) -> Outcome {
    let mut instruction = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    body(&libc::sock_fprog { len: 1, filter: &raw mut instruction })
}

pub(crate) fn own_seccomp_filter(_: &Arguments) -> Outcome {
    // SAFETY: the filter lives until the calls return.
    first_success(&[
        ("seccomp", &|| {
            in_child(|| {
                forgo_privileges()?;
                with_filter(|filter| {
                    let arguments = [libc::SECCOMP_SET_MODE_FILTER as usize, 0, address_of(filter)];
                    unsafe { system_call("seccomp", libc::SYS_seccomp, &arguments)? };
                    Ok("a filter".to_owned())
                })
            })
        }),
        ("prctl", &|| {
            in_child(|| {
                forgo_privileges()?;
                with_filter(|filter| {
                    let mode = libc::SECCOMP_MODE_FILTER;
                    check("prctl", unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, address_of(filter)) })?;
                    Ok("a filter".to_owned())
                })
            })
        }),
    ])
}

pub(crate) fn own_seccomp_listener(_: &Arguments) -> Outcome {
    in_child(|| {
        forgo_privileges()?;
        with_filter(|filter| {
            let arguments = [
                libc::SECCOMP_SET_MODE_FILTER as usize,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as usize,
                address_of(filter),
            ];
            // SAFETY: the filter lives until the call returns.
            unsafe { system_call("seccomp", libc::SYS_seccomp, &arguments)? };
            Ok("a listener".to_owned())
        })
    })
}

/// Restricts the process further, which is allowed.
pub(crate) fn own_landlock(_: &Arguments) -> Outcome {
    in_child(|| {
        forgo_privileges()?;
        // The ruleset handles only the right to execute.
        let rights = 1_u64;
        // SAFETY: the rights live until the call returns.
        unsafe {
            let arguments = [address_of(&rights), 8, 0];
            let rules =
                system_call("landlock_create_ruleset", libc::SYS_landlock_create_ruleset, &arguments)?;
            let rules = own("landlock_create_ruleset", rules as i64)?;
            let arguments = [rules.as_raw_fd() as usize, 0];
            system_call("landlock_restrict_self", libc::SYS_landlock_restrict_self, &arguments)?;
        }
        Ok("restricted".to_owned())
    })
}

/// A ring of requests to the kernel that bypasses system calls.
struct Ring {
    descriptor: OwnedFd,
    /// The offsets of the ring's parts, as returned by the kernel.
    parameters: [u32; 30],
    submissions: usize,
    completions: usize,
    entries: usize,
}

impl Ring {
    fn new() -> Result<Self, Failure> {
        let mut parameters = [0_u32; 30];
        let arguments = [4, address_of_mut(&mut parameters)];
        // SAFETY: the parameters are as long as the kernel's structure.
        let descriptor = unsafe { system_call("io_uring_setup", libc::SYS_io_uring_setup, &arguments)? };
        let descriptor = own("io_uring_setup", descriptor as i64)?;
        let map = |offset: i64| {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the call creates a new mapping.
            let memory = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    4096,
                    rights,
                    libc::MAP_SHARED,
                    descriptor.as_raw_fd(),
                    offset,
                )
            };
            if memory == libc::MAP_FAILED { Err(Failure::last("mmap")) } else { Ok(memory as usize) }
        };
        let (submissions, completions, entries) = (map(0)?, map(0x0800_0000)?, map(0x1000_0000)?);
        Ok(Self { descriptor, parameters, submissions, completions, entries })
    }

    fn word(base: usize, offset: u32) -> &'static AtomicU32 {
        // SAFETY: the ring's memory remains mapped, and its words are aligned.
        unsafe { &*((base + offset as usize) as *const AtomicU32) }
    }

    /// Submits one request and waits for its result. The entry has 16 words.
    fn request(&self, call: &str, entry: [u32; 16]) -> Result<i32, Failure> {
        let tail = Self::word(self.submissions, self.parameters[11]);
        let index = tail.load(Ordering::Acquire) & (self.parameters[0] - 1);
        // SAFETY: the ring has as many entries of 64 bytes.
        unsafe { (self.entries as *mut [u32; 16]).add(index as usize).write_volatile(entry) };
        Self::word(self.submissions, self.parameters[16] + 4 * index).store(index, Ordering::Release);
        tail.fetch_add(1, Ordering::Release);
        let arguments = [self.descriptor.as_raw_fd() as usize, 1, 1, 1, 0, 0];
        // SAFETY: the memory to which the entry refers lives until the completion.
        unsafe { system_call("io_uring_enter", libc::SYS_io_uring_enter, &arguments)? };
        let head = Self::word(self.completions, self.parameters[20]);
        let index = head.load(Ordering::Acquire) & (self.parameters[1] - 1);
        // A completion consists of user data (8 bytes), result, flags.
        let result = Self::word(self.completions, self.parameters[25] + 16 * index + 8);
        let result = result.load(Ordering::Acquire) as i32;
        head.fetch_add(1, Ordering::Release);
        if result < 0 {
            return Err(Failure::Error { errno: -result, detail: format!("{call} by io_uring") });
        }
        Ok(result)
    }
}

/// Returns the words of a request: operation, descriptor, offset, address, length.
fn entry(operation: u8, descriptor: i32, offset: u64, address: usize, length: u32) -> [u32; 16] {
    let halves = |value: u64| [value as u32, (value >> 32) as u32];
    let mut words = [0; 16];
    words[0] = u32::from_le_bytes([operation, 0, 0, 0]);
    words[1] = descriptor as u32;
    words[2..4].copy_from_slice(&halves(offset));
    words[4..6].copy_from_slice(&halves(address as u64));
    words[6] = length;
    words
}

pub(crate) fn io_uring_setup(_: &Arguments) -> Outcome {
    Ring::new().map(|ring| format!("a ring of {} entries", ring.parameters[0]))
}

/// Creates a socket, connects it and sends, only through io_uring.
pub(crate) fn io_uring_connect(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    let ring = Ring::new()?;
    let (operation_socket, operation_connect, operation_send) = (45, 16, 26);
    let socket =
        ring.request("socket", entry(operation_socket, address.family(), libc::SOCK_STREAM as u64, 0, 0))?;
    let length = u64::from(address.length());
    ring.request("connect", entry(operation_connect, socket, length, address.pointer() as usize, 0))?;
    let sent =
        ring.request("send", entry(operation_send, socket, 0, MARK.as_ptr() as usize, MARK.len() as u32))?;
    Ok(format!("sent {sent} bytes"))
}

/// Calls that only an administrator may make, with arguments that change nothing. They count as
/// not refused if the kernel complains about the arguments, although some of these complaints
/// come before the check of privileges.
pub(crate) fn privileged_calls(_: &Arguments) -> Outcome {
    let name = |text: &'static CStr| text.as_ptr() as usize;
    let calls: [(&str, libc::c_long, [usize; 4]); 10] = [
        ("delete_module", libc::SYS_delete_module, [name(c"wardian_hostile"), 0, 0, 0]),
        ("init_module", libc::SYS_init_module, [0, 0, name(c""), 0]),
        ("finit_module", libc::SYS_finit_module, [usize::MAX, name(c""), 0, 0]),
        ("kexec_load", libc::SYS_kexec_load, [0, 0, 0, usize::MAX]),
        ("reboot", libc::SYS_reboot, [0, 0, 0, 0]),
        ("swapoff", libc::SYS_swapoff, [name(c"/nothing"), 0, 0, 0]),
        ("clock_settime", libc::SYS_clock_settime, [0, 0, 0, 0]),
        ("settimeofday", libc::SYS_settimeofday, [0, 1, 0, 0]),
        ("syslog", libc::SYS_syslog, [10, 0, 0, 0]),
        ("acct", libc::SYS_acct, [name(c"/nothing"), 0, 0, 0]),
    ];
    let mut reached = Vec::new();
    let mut refused = Vec::new();
    let mut first = None;
    for (call, number, arguments) in calls {
        // SAFETY: strings, which are static, or addresses that the kernel refuses.
        match unsafe { system_call(call, number, &arguments) } {
            Err(failure) if matches!(failure.errno(), Some(libc::EPERM | libc::ENOSYS | libc::EACCES)) => {
                refused.push(format!("{call}: {}", failure.name()));
                first.get_or_insert(failure);
            }
            Err(failure) => {
                reached.push(format!("{call}: {}", errno_name(failure.errno().unwrap_or(0))));
            }
            Ok(_) => reached.push(format!("{call}: 0")),
        }
    }
    match first {
        Some(failure) if reached.is_empty() => Err(failure.with(&refused.join(", "))),
        _ => Ok(format!("not refused: {}", reached.join(", "))),
    }
}
