//! Safe wrappers for the system calls that many attacks make.

use std::ffi::{CString, c_int, c_long, c_void};
use std::io::{Read as _, Write as _};
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use crate::outcome::{Arguments, During as _, Failure, Outcome, errno_name};

/// The bytes by which a forbidden server recognizes an attack.
pub(crate) const MARK: &[u8] = b"attack";

/// How long an attack waits for an answer that may never come.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// Turns a negative result into the failure of the last call.
pub(crate) fn check(call: &str, result: impl Into<i64>) -> Result<i64, Failure> {
    match result.into() {
        result if result < 0 => Err(Failure::last(call)),
        result => Ok(result),
    }
}

/// Makes a system call that the C library has no function for.
///
/// # Safety
///
/// Pointers among the arguments must be valid for the call.
pub(crate) unsafe fn system_call(name: &str, number: c_long, arguments: &[usize]) -> Result<usize, Failure> {
    let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: the caller ensures that the pointers are valid.
    let result = unsafe {
        libc::syscall(number, argument(0), argument(1), argument(2), argument(3), argument(4), argument(5))
    };
    check(name, result).map(|result| result as usize)
}

/// Takes ownership of a descriptor that a call returned.
pub(crate) fn own(call: &str, result: impl Into<i64>) -> Result<OwnedFd, Failure> {
    let descriptor = check(call, result)?;
    // SAFETY: the call has just created the descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
}

pub(crate) fn c_string(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::Parameter(format!("{text:?} contains a NUL byte")))
}

/// Returns the address of a value, as an argument of [`system_call`].
pub(crate) fn address_of<T>(value: &T) -> usize {
    std::ptr::from_ref(value) as usize
}

/// Returns the address of a value that the call writes, as an argument of [`system_call`].
pub(crate) fn address_of_mut<T>(value: &mut T) -> usize {
    std::ptr::from_mut(value) as usize
}

/// An address of a socket.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Address {
    fn new<T>(value: T) -> Self {
        assert!(mem::size_of::<T>() <= mem::size_of::<libc::sockaddr_storage>());
        // SAFETY: all of its fields are numbers.
        let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
        // SAFETY: the storage is aligned for every address, and large enough.
        unsafe { (&raw mut storage).cast::<T>().write(value) };
        Self { storage, length: mem::size_of::<T>() as libc::socklen_t }
    }

    pub(crate) fn internet(address: SocketAddr) -> Self {
        // SAFETY: all of their fields are numbers.
        match address {
            SocketAddr::V4(address) => {
                let mut value: libc::sockaddr_in = unsafe { mem::zeroed() };
                value.sin_family = libc::AF_INET as libc::sa_family_t;
                value.sin_port = address.port().to_be();
                value.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
                Self::new(value)
            }
            SocketAddr::V6(address) => {
                let mut value: libc::sockaddr_in6 = unsafe { mem::zeroed() };
                value.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                value.sin6_port = address.port().to_be();
                value.sin6_addr.s6_addr = address.ip().octets();
                Self::new(value)
            }
        }
    }

    fn unix_bytes(bytes: &[u8], abstracted: bool) -> Result<Self, Failure> {
        // SAFETY: all of its fields are numbers.
        let mut value: libc::sockaddr_un = unsafe { mem::zeroed() };
        value.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let start = usize::from(abstracted);
        if start + bytes.len() >= value.sun_path.len() {
            return Err(Failure::Parameter("the name of the socket is too long".to_owned()));
        }
        for (target, source) in value.sun_path[start..].iter_mut().zip(bytes) {
            *target = *source as _;
        }
        let mut address = Self::new(value);
        address.length = (mem::size_of::<libc::sa_family_t>() + 1 + bytes.len()) as libc::socklen_t;
        Ok(address)
    }

    pub(crate) fn path(path: &str) -> Result<Self, Failure> {
        Self::unix_bytes(path.as_bytes(), false)
    }

    /// Returns the address of an abstract Unix domain socket. `name` has no leading NUL byte.
    pub(crate) fn abstract_name(name: &str) -> Result<Self, Failure> {
        Self::unix_bytes(name.as_bytes(), true)
    }

    pub(crate) fn unspecified() -> Self {
        // SAFETY: all of its fields are numbers.
        let mut value: libc::sockaddr = unsafe { mem::zeroed() };
        value.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
        Self::new(value)
    }

    /// Returns an address of a family that this program does not define.
    pub(crate) fn other<T>(value: T) -> Self {
        Self::new(value)
    }

    pub(crate) fn family(&self) -> c_int {
        c_int::from(self.storage.ss_family)
    }

    pub(crate) fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    pub(crate) fn length(&self) -> libc::socklen_t {
        self.length
    }

    /// Returns the first eight bytes. For an IPv4 address, these are the family, the port and the host.
    pub(crate) fn first_word(&self) -> u64 {
        // SAFETY: the storage is longer than eight bytes and aligned for them.
        unsafe { (&raw const self.storage).cast::<u64>().read() }
    }

    /// Returns the port of an internet address, in either family.
    pub(crate) fn port(&self) -> u16 {
        let bytes = self.first_word().to_ne_bytes();
        u16::from_be_bytes([bytes[2], bytes[3]])
    }

    /// Whether both addresses have the same host and port. For IPv6, only the port is compared.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.first_word() == other.first_word()
    }
}

/// Returns the server of the parameters `address=` and `port=`, each with a prefix.
pub(crate) fn server(arguments: &Arguments, prefix: &str) -> Result<SocketAddr, Failure> {
    let key = format!("{prefix}address");
    let address: IpAddr =
        arguments.text(&key)?.parse().map_err(|_| Failure::Parameter(format!("{key}= is not an address")))?;
    Ok(SocketAddr::new(address, arguments.number(&format!("{prefix}port"))?))
}

pub(crate) fn socket(domain: c_int, kind: c_int, protocol: c_int) -> Result<OwnedFd, Failure> {
    // SAFETY: the call takes no pointers.
    own("socket", unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })
}

/// Creates a TCP socket of the address's family.
pub(crate) fn tcp_socket(address: &Address) -> Result<OwnedFd, Failure> {
    socket(address.family(), libc::SOCK_STREAM, 0)
}

pub(crate) fn socket_pair(kind: c_int) -> Result<(OwnedFd, OwnedFd), Failure> {
    let mut pair = [0; 2];
    // SAFETY: the call writes two descriptors.
    let result = unsafe { libc::socketpair(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0, pair.as_mut_ptr()) };
    check("socketpair", result)?;
    Ok((own("socketpair", pair[0])?, own("socketpair", pair[1])?))
}

pub(crate) fn connect(socket: RawFd, address: &Address) -> Result<(), Failure> {
    // SAFETY: the address lives until the call returns.
    check("connect", unsafe { libc::connect(socket, address.pointer(), address.length()) }).map(drop)
}

pub(crate) fn bind(socket: RawFd, address: &Address) -> Result<(), Failure> {
    // SAFETY: the address lives until the call returns.
    check("bind", unsafe { libc::bind(socket, address.pointer(), address.length()) }).map(drop)
}

pub(crate) fn listen(socket: RawFd) -> Result<(), Failure> {
    // SAFETY: the call takes no pointers.
    check("listen", unsafe { libc::listen(socket, 16) }).map(drop)
}

pub(crate) fn send(socket: RawFd, bytes: &[u8]) -> Result<usize, Failure> {
    // SAFETY: the bytes live until the call returns.
    let sent = unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    check("send", sent as i64).map(|sent| sent as usize)
}

pub(crate) fn send_to(
    socket: RawFd,
    bytes: &[u8],
    flags: c_int,
    address: &Address,
) -> Result<usize, Failure> {
    // SAFETY: bytes and address live until the call returns.
    let sent = unsafe {
        libc::sendto(
            socket,
            bytes.as_ptr().cast(),
            bytes.len(),
            flags | libc::MSG_NOSIGNAL,
            address.pointer(),
            address.length(),
        )
    };
    check("sendto", sent as i64).map(|sent| sent as usize)
}

/// Sends with `sendmsg`, or with `sendmmsg` if `several` is true.
pub(crate) fn send_message(
    socket: RawFd,
    bytes: &[u8],
    flags: c_int,
    address: &Address,
    several: bool,
) -> Result<usize, Failure> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(), iov_len: bytes.len() };
    // SAFETY: all fields are numbers, or pointers that may be null.
    let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
    message.msg_hdr.msg_name = address.pointer().cast_mut().cast();
    message.msg_hdr.msg_namelen = address.length();
    message.msg_hdr.msg_iov = &raw mut part;
    message.msg_hdr.msg_iovlen = 1;
    let flags = flags | libc::MSG_NOSIGNAL;
    // SAFETY: everything that the message refers to lives until the call returns.
    unsafe {
        if several {
            check("sendmmsg", libc::sendmmsg(socket, &raw mut message, 1, flags as _))?;
            Ok(message.msg_len as usize)
        } else {
            let sent = libc::sendmsg(socket, &raw const message.msg_hdr, flags);
            check("sendmsg", sent as i64).map(|sent| sent as usize)
        }
    }
}

/// Waits for an answer. Returns `None` if none arrives in time, and no bytes if the peer has closed the
/// connection.
pub(crate) fn receive(socket: RawFd, patience: Duration) -> Result<Option<Vec<u8>>, Failure> {
    if !readable(socket, patience)? {
        return Ok(None);
    }
    let mut bytes = vec![0; 65_536];
    // SAFETY: the call writes at most as many bytes.
    let received = unsafe { libc::recv(socket, bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let received = check("recv", received as i64)?;
    bytes.truncate(received as usize);
    Ok(Some(bytes))
}

/// Whether the descriptor becomes readable (or closed) in time.
pub(crate) fn readable(descriptor: RawFd, patience: Duration) -> Result<bool, Failure> {
    let mut event = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: the event lives until the call returns.
    let ready = unsafe { libc::poll(&raw mut event, 1, patience.as_millis() as c_int) };
    Ok(check("poll", ready)? > 0)
}

/// Sends the mark over a connected socket. A reset means that the peer has not read it.
pub(crate) fn attack_over(socket: RawFd) -> Outcome {
    let sent = send(socket, MARK)?;
    let answer = match receive(socket, PATIENCE)? {
        None => "no answer".to_owned(),
        Some(bytes) if bytes.is_empty() => "the peer closed".to_owned(),
        Some(bytes) => format!("{} bytes answered", bytes.len()),
    };
    Ok(format!("sent {sent} bytes, {answer}"))
}

/// Returns an integer socket option.
pub(crate) fn socket_option(socket: RawFd, level: c_int, option: c_int) -> Result<c_int, Failure> {
    let mut value: c_int = 0;
    let mut length = mem::size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the length is the size of `value`.
    let result = unsafe { libc::getsockopt(socket, level, option, (&raw mut value).cast(), &raw mut length) };
    check("getsockopt", result)?;
    Ok(value)
}

pub(crate) fn set_socket_option(
    socket: RawFd,
    level: c_int,
    option: c_int,
    value: c_int,
) -> Result<(), Failure> {
    let length = mem::size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the value lives until the call returns.
    let result = unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) };
    check("setsockopt", result).map(drop)
}

/// Returns the socket's own address, or its peer's.
pub(crate) fn name_of_socket(socket: RawFd, peer: bool) -> Result<Address, Failure> {
    let mut address = Address::unspecified();
    address.length = mem::size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let pointer = (&raw mut address.storage).cast();
    // SAFETY: the storage is large enough for every address.
    let result = unsafe {
        if peer {
            libc::getpeername(socket, pointer, &raw mut address.length)
        } else {
            libc::getsockname(socket, pointer, &raw mut address.length)
        }
    };
    check(if peer { "getpeername" } else { "getsockname" }, result)?;
    Ok(address)
}

pub(crate) fn accept(socket: RawFd) -> Result<OwnedFd, Failure> {
    // SAFETY: the pointers to the address are null.
    own("accept", unsafe { libc::accept(socket, std::ptr::null_mut(), std::ptr::null_mut()) })
}

/// Raises the soft limit on descriptors to the hard limit, and returns it.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls read and write one limit.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let previous = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0 { limit.rlim_max } else { previous }
    }
}

/// Maps a private page of memory, which is never freed.
pub(crate) fn page() -> Result<usize, Failure> {
    // SAFETY: the call creates a new mapping.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED { Err(Failure::last("mmap")) } else { Ok(page as usize) }
}

/// Runs the body in a forked process and returns what it reports.
pub(crate) fn in_child(body: impl FnOnce() -> Outcome) -> Outcome {
    in_clone("clone", 0, body)
}

/// Runs the body in a process that is cloned with these flags (which exclude `CLONE_VM`).
pub(crate) fn in_clone(call: &str, flags: c_int, body: impl FnOnce() -> Outcome) -> Outcome {
    let number = (flags | libc::SIGCHLD) as usize;
    // SAFETY: the child is a separate process with a copy of the memory.
    in_process(|| unsafe { system_call(call, libc::SYS_clone, &[number]) }, body)
}

/// Runs the body in the process that `start` creates (it returns zero there, as `fork` does).
pub(crate) fn in_process(
    start: impl FnOnce() -> Result<usize, Failure>,
    body: impl FnOnce() -> Outcome,
) -> Outcome {
    let (mut reader, mut writer) = std::io::pipe().during("pipe")?;
    let child = start()?;
    if child == 0 {
        let report = match body() {
            Ok(effect) => format!("ok 0 {effect}"),
            Err(Failure::Error { errno, detail }) => format!("error {errno} {detail}"),
            Err(Failure::Signal { signal, detail }) => format!("signal {signal} {detail}"),
            Err(Failure::NoEffect(detail)) => format!("none 0 {detail}"),
            Err(Failure::Unavailable(detail)) => format!("unavailable 0 {detail}"),
            Err(Failure::Parameter(detail)) => format!("parameter 0 {detail}"),
        };
        let failed = writer.write_all(report.as_bytes()).is_err();
        // SAFETY: the call ends the process.
        unsafe { libc::_exit(i32::from(failed)) };
    }
    let ending = wait(child as libc::pid_t)?;
    // The child may share the table of descriptors, so the end of the pipe cannot be awaited.
    if !readable(reader.as_raw_fd(), Duration::ZERO)? {
        return Err(ending.unwrap_or(Failure::NoEffect("the process ended without a report".to_owned())));
    }
    drop(writer);
    let mut report = String::new();
    reader.read_to_string(&mut report).during("read")?;
    parse_report(&report)
        .ok_or_else(|| ending.unwrap_or(Failure::NoEffect("the process ended without a report".to_owned())))?
}

fn parse_report(report: &str) -> Option<Outcome> {
    let mut parts = report.splitn(3, ' ');
    let (kind, number) = (parts.next()?, parts.next()?.parse().ok()?);
    let detail = parts.next()?.to_owned();
    Some(match kind {
        "ok" => Ok(detail),
        "error" => Err(Failure::Error { errno: number, detail }),
        "signal" => Err(Failure::Signal { signal: number, detail }),
        "none" => Err(Failure::NoEffect(detail)),
        "unavailable" => Err(Failure::Unavailable(detail)),
        _ => Err(Failure::Parameter(detail)),
    })
}

/// Waits until the process ends, and returns the signal that ended it, if any.
pub(crate) fn wait(process: libc::pid_t) -> Result<Option<Failure>, Failure> {
    let status = wait_status(process)?;
    Ok(libc::WIFSIGNALED(status).then(|| Failure::Signal {
        signal: libc::WTERMSIG(status),
        detail: "the signal ended the process".to_owned(),
    }))
}

pub(crate) fn wait_status(process: libc::pid_t) -> Result<c_int, Failure> {
    let mut status = 0;
    loop {
        // SAFETY: the call writes the status.
        let result = unsafe { libc::waitpid(process, &raw mut status, libc::__WALL) };
        match check("waitpid", result) {
            Err(failure) if failure.errno() == Some(libc::EINTR) => {}
            result => return result.map(|_| status),
        }
    }
}

/// Returns the name of the last error, for a list of results.
pub(crate) fn result_name<T>(result: &Result<T, Failure>) -> String {
    match result {
        Ok(_) => "0".to_owned(),
        Err(Failure::Error { errno, .. }) => errno_name(*errno),
        Err(failure) => failure.name(),
    }
}

/// Whether a filter of system calls applies to this process. If none does, an error such as
/// `ENOSYS` shows that the kernel lacks the feature.
pub(crate) fn is_filtered() -> bool {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) != 0 }
}
