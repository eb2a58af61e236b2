//! System calls that have no safe interface elsewhere.

#![allow(
    unsafe_code,
    reason = "each function makes one system call with pointers to local values that live until it returns; \
        neither rustix nor the standard library offers these calls"
)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::ptr::{from_mut, from_ref};

use libc::{c_int, c_ulong, c_void, sock_filter};

/// A system call of the confined program that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notification {
    /// Identifies the waiting call.
    pub(crate) id: u64,
    /// The thread that made the call.
    pub(crate) thread: u32,
    /// The number of the system call.
    pub(crate) number: u32,
    pub(crate) arguments: [u64; 6],
}

impl Notification {
    /// Returns an argument of the C type `unsigned int`: the kernel uses only its lower half.
    pub(crate) fn unsigned(&self, index: usize) -> u32 {
        lower_half(self.arguments[index])
    }

    /// Returns the thread ID in the type that other system calls use.
    pub(crate) fn thread_number(&self) -> i32 {
        self.thread.cast_signed()
    }

    /// Returns an argument of the C type `int`, such as a descriptor.
    pub(crate) fn signed(&self, index: usize) -> i32 {
        self.unsigned(index).cast_signed()
    }
}

fn lower_half(argument: u64) -> u32 {
    let [a, b, c, d, ..] = argument.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// The answer to a [`Notification`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Value(i64),
    /// The call fails with this error number.
    Error(i32),
    /// The kernel executes the call. Its arguments may have changed since they were read.
    Continue,
}

pub(crate) fn checked(result: impl Into<i64>) -> io::Result<i64> {
    match result.into() {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// Prevents the process from gaining privileges by executing a program. Async-signal-safe.
pub(crate) fn forbid_new_privileges() -> io::Result<()> {
    let (one, none): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: the call has only integer arguments.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) }).map(drop)
}

/// Applies Landlock rules to the calling thread. Async-signal-safe.
pub(crate) fn restrict_self(rules: BorrowedFd<'_>) -> io::Result<()> {
    let none: c_ulong = 0;
    // SAFETY: the descriptor is open, and the call has no pointers.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), none) }).map(drop)
}

/// Applies a filter to the calling thread and returns the descriptor at which its notifications
/// arrive. Async-signal-safe.
pub(crate) fn install_filter(instructions: &[sock_filter]) -> io::Result<RawFd> {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let listener = set_filter(instructions, flags)?;
    RawFd::try_from(listener).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))
}

/// Applies a filter without notifications to the calling thread. Async-signal-safe.
pub(crate) fn install_plain_filter(instructions: &[sock_filter]) -> io::Result<()> {
    set_filter(instructions, 0).map(drop)
}

fn set_filter(instructions: &[sock_filter], flags: c_ulong) -> io::Result<i64> {
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?,
        filter: instructions.as_ptr().cast_mut(),
    };
    // SAFETY: the program points to instructions that the kernel copies during the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::c_ulong::from(libc::SECCOMP_SET_MODE_FILTER),
            flags,
            from_ref(&program),
        )
    })
}

/// The capabilities that a process of root keeps: to read and write files of other users. Landlock
/// restricts the files.
const KEPT_CAPABILITIES: u64 = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH;
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_DAC_READ_SEARCH: u32 = 2;
/// `_LINUX_CAPABILITY_VERSION_3` in `linux/capability.h`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: c_int,
}

/// One half (32 bits) of each capability set.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up all capabilities except for [`KEPT_CAPABILITIES`]. Since the process cannot gain
/// privileges, it does not regain them by executing a program. Async-signal-safe.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, process: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: the structures have the layout of version 3, and live until the call returns.
    checked(unsafe { libc::syscall(libc::SYS_capget, from_mut(&mut header), sets.as_mut_ptr()) })?;
    let [kept_low, kept_high] = [KEPT_CAPABILITIES, KEPT_CAPABILITIES >> 32].map(lower_half);
    for (set, kept) in sets.iter_mut().zip([kept_low, kept_high]) {
        set.effective &= kept;
        set.permitted &= kept;
        set.inheritable = 0;
    }
    // SAFETY: as above.
    checked(unsafe { libc::syscall(libc::SYS_capset, from_mut(&mut header), sets.as_ptr()) }).map(drop)
}

/// Closes a descriptor that no other value owns. Async-signal-safe.
pub(crate) fn close(descriptor: RawFd) {
    // SAFETY: the caller owns the descriptor.
    unsafe { libc::close(descriptor) };
}

/// Marks all descriptors except the standard streams to be closed when a program is executed.
/// Async-signal-safe.
pub(crate) fn close_others_on_execution() -> io::Result<()> {
    let (first, last): (libc::c_uint, libc::c_uint) = (3, libc::c_uint::MAX);
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: the call has only integer arguments.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) }).map(drop)
}

/// Raises the number of descriptors that this process may have to its hard limit. Each connection of a
/// confined program occupies two of them.
pub(crate) fn raise_descriptor_limit() {
    // SAFETY: the pointers are to a local value. If a call fails, the limit remains.
    unsafe {
        let mut limit: libc::rlimit = zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, from_mut(&mut limit)) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, from_ref(&limit));
        }
    }
}

/// Sets the soft and hard value of a resource limit. Async-signal-safe.
pub(crate) fn limit(resource: ResourceLimit, value: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    let number = match resource {
        ResourceLimit::CoreSize => libc::RLIMIT_CORE,
        ResourceLimit::Data => libc::RLIMIT_DATA,
        ResourceLimit::FileSize => libc::RLIMIT_FSIZE,
    };
    // SAFETY: the pointer is to a local value.
    checked(unsafe { libc::setrlimit(number, from_ref(&limit)) }).map(drop)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ResourceLimit {
    CoreSize,
    /// Private writable memory.
    Data,
    /// The size of each written file.
    FileSize,
}

/// The number of bytes of a control message with one descriptor, rounded up.
const CONTROL_LENGTH: usize = 64;

/// A buffer for a control message, with the alignment of its header.
#[repr(C)]
union Control {
    bytes: [u8; CONTROL_LENGTH],
    header: libc::cmsghdr,
}

/// Sends a descriptor over a Unix socket. Async-signal-safe.
pub(crate) fn send_descriptor(socket: RawFd, descriptor: RawFd) -> io::Result<()> {
    let mut byte = [0u8; 1];
    let mut vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
    let mut control = Control { bytes: [0; CONTROL_LENGTH] };
    let length = u32::try_from(size_of::<RawFd>()).unwrap_or_default();
    // SAFETY: the message points to local values. The buffer is aligned and large enough for one
    // header with one descriptor.
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = from_mut(&mut vector);
        message.msg_iovlen = 1;
        message.msg_control = from_mut(&mut control).cast::<c_void>();
        message.msg_controllen = libc::CMSG_SPACE(length) as _;
        let header = libc::CMSG_FIRSTHDR(from_ref(&message));
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(length) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor);
        checked(libc::sendmsg(socket, from_ref(&message), 0) as i64).map(drop)
    }
}

/// Receives a descriptor from a Unix socket; `None` if the other end was closed first.
pub(crate) fn receive_descriptor(socket: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0u8; 1];
    let mut vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
    let mut control = Control { bytes: [0; CONTROL_LENGTH] };
    // SAFETY: the message points to local values. A control message is read only if the kernel has
    // written one that contains a descriptor, which this process then owns.
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = from_mut(&mut vector);
        message.msg_iovlen = 1;
        message.msg_control = from_mut(&mut control).cast::<c_void>();
        message.msg_controllen = CONTROL_LENGTH as _;
        checked(libc::recvmsg(socket.as_raw_fd(), from_mut(&mut message), libc::MSG_CMSG_CLOEXEC) as i64)?;
        let header = libc::CMSG_FIRSTHDR(from_ref(&message));
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_RIGHTS
        {
            return Ok(None);
        }
        let descriptor = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
        Ok(Some(OwnedFd::from_raw_fd(descriptor)))
    }
}

/// Waits for the next notification.
///
/// # Errors
/// Returns `ENOENT` if the thread was killed in the meantime.
pub(crate) fn receive_notification(listener: BorrowedFd<'_>) -> io::Result<Notification> {
    // SAFETY: the structure consists of integers, and the kernel requires it to be zeroed.
    let notification = unsafe {
        let mut notification: libc::seccomp_notif = zeroed();
        checked(libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV as _,
            from_mut(&mut notification),
        ))?;
        notification
    };
    Ok(Notification {
        id: notification.id,
        thread: notification.pid,
        number: notification.data.nr.cast_unsigned(),
        arguments: notification.data.args,
    })
}

/// Answers a notification.
///
/// # Errors
/// Returns `ENOENT` if the thread was killed in the meantime.
pub(crate) fn send_answer(listener: BorrowedFd<'_>, id: u64, answer: Answer) -> io::Result<()> {
    let (val, error, flags) = match answer {
        Answer::Value(value) => (value, 0, 0),
        Answer::Error(error) => (0, -error, 0),
        Answer::Continue => (0, 0, u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1)),
    };
    let mut response = libc::seccomp_notif_resp { id, val, error, flags };
    // SAFETY: the pointer is to a local value.
    checked(unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, from_mut(&mut response))
    })
    .map(drop)
}

/// Whether the call still waits. If it does, its thread has not ended since the notification, and
/// its number has not been reused.
pub(crate) fn is_waiting(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the pointer is to a local value.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, from_ref(&id)) };
    result == 0
}

/// The descriptor number that a program receives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NewDescriptor {
    /// The lowest free number, which is the result of the call. This answers the notification.
    AsResult,
    /// This number, whose previous file is closed.
    Replacing(u32),
}

/// Gives the program a copy of a descriptor.
pub(crate) fn add_descriptor(
    listener: BorrowedFd<'_>,
    id: u64,
    descriptor: BorrowedFd<'_>,
    new: NewDescriptor,
    close_on_execution: bool,
) -> io::Result<()> {
    let (flags, newfd) = match new {
        NewDescriptor::AsResult => (libc::SECCOMP_ADDFD_FLAG_SEND, 0),
        NewDescriptor::Replacing(number) => (libc::SECCOMP_ADDFD_FLAG_SETFD, number),
    };
    let request = libc::seccomp_notif_addfd {
        id,
        flags: u32::try_from(flags).unwrap_or_default(),
        srcfd: descriptor.as_raw_fd().cast_unsigned(),
        newfd,
        newfd_flags: if close_on_execution { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
    };
    // SAFETY: the pointer is to a local value, and the descriptor is open.
    checked(unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD as _, from_ref(&request))
    })
    .map(drop)
}

/// Creates a Unix socket.
pub(crate) fn unix_socket(nonblocking: bool) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    // SAFETY: the call has only integer arguments, and the new descriptor has no other owner.
    unsafe {
        let socket = checked(libc::socket(libc::AF_UNIX, flags, 0))?;
        Ok(OwnedFd::from_raw_fd(RawFd::try_from(socket).unwrap_or(-1)))
    }
}

/// Creates a pair of Unix sockets that preserve the boundaries of messages.
pub(crate) fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut pair: [c_int; 2] = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes two descriptors, which have no other owner.
    unsafe {
        checked(libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()))?;
        Ok((OwnedFd::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1])))
    }
}

/// Sets the status flags of an open file.
pub(crate) fn set_nonblocking(descriptor: BorrowedFd<'_>, nonblocking: bool) -> io::Result<()> {
    // SAFETY: the calls have only integer arguments.
    unsafe {
        let flags = libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL);
        checked(flags)?;
        let flags = if nonblocking { flags | libc::O_NONBLOCK } else { flags & !libc::O_NONBLOCK };
        checked(libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFL, flags)).map(drop)
    }
}

/// Connects a Unix socket to a path of fewer than 108 bytes.
pub(crate) fn connect_to_path(socket: BorrowedFd<'_>, path: &[u8]) -> io::Result<()> {
    // SAFETY: the address is a local value, and its length does not exceed its size.
    unsafe {
        let mut address: libc::sockaddr_un = zeroed();
        if path.len() >= address.sun_path.len() || path.contains(&0) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        address.sun_family = u16::try_from(libc::AF_UNIX).unwrap_or_default();
        for (to, from) in address.sun_path.iter_mut().zip(path) {
            *to = from.cast_signed() as libc::c_char;
        }
        let length = size_of::<libc::sa_family_t>() + path.len() + 1;
        let length = libc::socklen_t::try_from(length).unwrap_or_default();
        checked(libc::connect(socket.as_raw_fd(), from_ref(&address).cast(), length)).map(drop)
    }
}

/// Connects a socket to an address in the kernel's form.
pub(crate) fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(address.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the kernel copies the given number of bytes.
    checked(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) }).map(drop)
}

/// Whether a descriptor is an internet datagram socket.
pub(crate) fn is_internet_datagram_socket(socket: BorrowedFd<'_>) -> bool {
    let family = socket_option(socket, libc::SO_DOMAIN);
    matches!(family, Some(libc::AF_INET | libc::AF_INET6))
        && socket_option(socket, libc::SO_TYPE) == Some(libc::SOCK_DGRAM)
}

fn socket_option(socket: BorrowedFd<'_>, option: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut length = libc::socklen_t::try_from(size_of::<c_int>()).ok()?;
    // SAFETY: the kernel writes at most the given number of bytes to a local value.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            from_mut(&mut value).cast(),
            from_mut(&mut length),
        )
    };
    (result == 0).then_some(value)
}

/// Returns a copy of a descriptor of another process.
pub(crate) fn copy_descriptor(process: u32, descriptor: c_int) -> io::Result<OwnedFd> {
    let own = |descriptor: i64| -> io::Result<OwnedFd> {
        let descriptor =
            RawFd::try_from(descriptor).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
        // SAFETY: the system call has just created the descriptor, which has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    };
    // SAFETY: both calls have only integer arguments.
    unsafe {
        let process = own(checked(libc::syscall(libc::SYS_pidfd_open, process, 0))?)?;
        own(checked(libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0))?)
    }
}

/// Forks, runs a function in the child, and ends the child with the function's result as its exit
/// code. Returns the process ID of the child.
///
/// The function must be async-signal-safe: it must neither allocate memory nor acquire locks.
pub(crate) fn fork_and_run(child: impl FnOnce() -> i32) -> io::Result<libc::pid_t> {
    // SAFETY: the child only runs the function, and ends without running destructors of this process.
    unsafe {
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => libc::_exit(child()),
            number => Ok(number),
        }
    }
}

/// Waits for a child, and returns its exit code; `None` if it was killed.
pub(crate) fn wait_for(child: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a local value.
        let waited = unsafe { libc::waitpid(child, from_mut(&mut status), 0) };
        if waited == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

/// Returns the process group of a process or thread; `None` if there is none, or if it is outside of
/// the host's namespace.
pub(crate) fn process_group(number: i32) -> Option<i32> {
    // SAFETY: the call has only integer arguments.
    let group = unsafe { libc::getpgid(number) };
    (number > 0 && group > 0).then_some(group)
}

/// Connects a socket to the discard port of this machine. Async-signal-safe.
pub(crate) fn connect_to_loopback(socket: RawFd) -> Result<(), i32> {
    // SAFETY: the address is a local value of the given size.
    let result = unsafe {
        let mut address: libc::sockaddr_in = zeroed();
        address.sin_family = u16::try_from(libc::AF_INET).unwrap_or_default();
        address.sin_port = 9_u16.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).unwrap_or_default();
        libc::connect(socket, from_ref(&address).cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> i32 {
    // SAFETY: the C library provides a valid pointer for each thread.
    unsafe { *libc::__errno_location() }
}
