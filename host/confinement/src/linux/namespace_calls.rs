//! System calls that set up namespaces. All of them are async-signal-safe.

#![allow(
    unsafe_code,
    reason = "each function makes one system call with pointers to values that live until it returns; they run \
        between fork and exec, so they allocate no memory"
)]

use std::ffi::CStr;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddrV4;
use std::os::fd::RawFd;
use std::ptr::{from_mut, from_ref, null};

use libc::{c_int, c_ulong, c_void};
use rustix::path::DecInt;

use crate::linux::kernel::{checked, close};

/// The namespaces that a process enters, except for the user namespace.
pub(crate) const NAMESPACES: c_int = libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;

/// Moves the process into new namespaces.
pub(crate) fn unshare(namespaces: c_int) -> io::Result<()> {
    // SAFETY: the call has only integer arguments.
    checked(unsafe { libc::unshare(namespaces) }).map(drop)
}

/// Writes bytes to an existing file in one call.
pub(crate) fn write_file(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the path is NUL-terminated, and the bytes live until the call returns.
    unsafe {
        let file = checked(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let file = RawFd::try_from(file).unwrap_or(-1);
        let written = checked(libc::write(file, bytes.as_ptr().cast(), bytes.len()) as i64);
        close(file);
        written.map(drop)
    }
}

/// Keeps later mounts from spreading to other namespaces, and the mounts of others from this one.
pub(crate) fn make_mounts_private() -> io::Result<()> {
    mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE)
}

/// Mounts a file or directory, with everything that is mounted in it, at another path. The path of the
/// source must not contain a symbolic link: another process could have replaced a directory in it.
pub(crate) fn bind_mount(source: &CStr, target: &CStr) -> io::Result<()> {
    let source = open_real(source)?;
    let mounted = DescriptorPath::new(source)
        .as_c_str()
        .and_then(|source| mount(Some(source), target, None, libc::MS_BIND | libc::MS_REC));
    close(source);
    mounted
}

/// Opens a file or directory without access to its content.
fn open_real(path: &CStr) -> io::Result<RawFd> {
    // SAFETY: the path is NUL-terminated, and the structure is a local value of the given size.
    let file = unsafe {
        let mut how: libc::open_how = zeroed();
        how.flags = u64::from((libc::O_PATH | libc::O_CLOEXEC).cast_unsigned());
        how.resolve = libc::RESOLVE_NO_SYMLINKS;
        let size = size_of::<libc::open_how>();
        checked(libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), from_ref(&how), size))?
    };
    RawFd::try_from(file).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))
}

/// The path at which the process can use an open file, in memory on the stack.
struct DescriptorPath([u8; Self::LENGTH]);

impl DescriptorPath {
    const PREFIX: &[u8] = b"/proc/self/fd/";
    /// The prefix, up to ten digits, and the terminating NUL byte.
    const LENGTH: usize = Self::PREFIX.len() + 11;

    fn new(descriptor: RawFd) -> Self {
        let mut path = [0; Self::LENGTH];
        let number = DecInt::new(descriptor.unsigned_abs());
        for (to, from) in path.iter_mut().zip(Self::PREFIX.iter().chain(number.as_bytes())) {
            *to = *from;
        }
        Self(path)
    }

    fn as_c_str(&self) -> io::Result<&CStr> {
        CStr::from_bytes_until_nul(&self.0).map_err(|_| io::ErrorKind::InvalidInput.into())
    }
}

/// Calls `mount`.
pub(crate) fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: c_ulong,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(null(), CStr::as_ptr);
    // SAFETY: the strings are NUL-terminated and live until the call returns.
    checked(unsafe { libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, null::<c_void>()) })
        .map(drop)
}

/// Restrictions of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MountAttributes {
    pub(crate) read_only: bool,
    pub(crate) no_execution: bool,
    pub(crate) no_devices: bool,
}

/// Adds restrictions to a mount and the mounts in it. Set-user-ID bits never have an effect.
pub(crate) fn set_attributes(target: &CStr, attributes: MountAttributes) -> io::Result<()> {
    let bit = |holds: bool, bit: u64| if holds { bit } else { 0 };
    // SAFETY: the path is NUL-terminated, and the structure is a local value of the given size.
    unsafe {
        let mut change: libc::mount_attr = zeroed();
        change.attr_set = libc::MOUNT_ATTR_NOSUID
            | bit(attributes.read_only, libc::MOUNT_ATTR_RDONLY)
            | bit(attributes.no_execution, libc::MOUNT_ATTR_NOEXEC)
            | bit(attributes.no_devices, libc::MOUNT_ATTR_NODEV);
        checked(libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            libc::AT_RECURSIVE,
            from_ref(&change),
            size_of::<libc::mount_attr>(),
        ))
        .map(drop)
    }
}

/// Mounts procfs, for the PID namespace of the process.
pub(crate) fn mount_proc(target: &CStr) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Some(c"proc"), target, Some(c"proc"), flags)
}

/// Makes a mounted directory the root, and detaches the previous root.
pub(crate) fn change_root(root: &CStr) -> io::Result<()> {
    change_directory(root)?;
    // SAFETY: the paths are NUL-terminated.
    unsafe {
        checked(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        checked(libc::umount2(c".".as_ptr(), libc::MNT_DETACH))?;
    }
    change_directory(c"/")
}

pub(crate) fn change_directory(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is NUL-terminated.
    checked(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

/// Forks, if the process has one thread. The child continues; the parent waits for it, and then ends in
/// the same way.
pub(crate) fn continue_in_child() -> io::Result<()> {
    // SAFETY: the process has one thread, and both processes make only system calls with integer arguments
    // and pointers to local values.
    unsafe {
        let child = libc::fork();
        checked(child)?;
        if child == 0 {
            let signal = c_ulong::try_from(libc::SIGKILL).unwrap_or_default();
            let none: c_ulong = 0;
            return checked(libc::prctl(libc::PR_SET_PDEATHSIG, signal, none, none, none)).map(drop);
        }
        let (first, last): (libc::c_uint, libc::c_uint) = (0, libc::c_uint::MAX);
        libc::syscall(libc::SYS_close_range, first, last, 0);
        let mut status = 0;
        while libc::waitpid(child, from_mut(&mut status), 0) == -1 && *libc::__errno_location() == libc::EINTR
        {
        }
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status));
    }
}

/// Activates the loopback interface of the process's network namespace.
pub(crate) fn activate_loopback() -> io::Result<()> {
    // SAFETY: the requests read and write a local value.
    unsafe {
        let socket = internet_socket(libc::SOCK_DGRAM)?;
        let mut request: libc::ifreq = zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = from.cast_signed() as libc::c_char;
        }
        let activated = checked(libc::ioctl(socket, libc::SIOCGIFFLAGS as _, from_mut(&mut request)))
            .and_then(|_| {
                let up = libc::c_short::try_from(libc::IFF_UP).unwrap_or_default();
                request.ifr_ifru.ifru_flags |= up;
                checked(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, from_ref(&request)))
            });
        close(socket);
        activated.map(drop)
    }
}

/// Creates a datagram socket with this address.
pub(crate) fn bind_datagrams(address: SocketAddrV4) -> io::Result<RawFd> {
    let socket = internet_socket(libc::SOCK_DGRAM)?;
    bind_socket(socket, address).inspect_err(|_| close(socket))?;
    Ok(socket)
}

/// Creates a socket for IPv4.
pub(crate) fn internet_socket(kind: c_int) -> io::Result<RawFd> {
    // SAFETY: the call has only integer arguments.
    let socket = checked(unsafe { libc::socket(libc::AF_INET, kind | libc::SOCK_CLOEXEC, 0) })?;
    RawFd::try_from(socket).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))
}

/// Creates a socket that accepts connections to a port of every address, for both families if the system
/// supports them.
pub(crate) fn listen(port: u16) -> io::Result<RawFd> {
    let socket = match bind_both_families(port) {
        Ok(socket) => socket,
        Err(_) => {
            let socket = internet_socket(libc::SOCK_STREAM)?;
            let any = SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, port);
            bind_socket(socket, any).inspect_err(|_| close(socket))?;
            socket
        }
    };
    // SAFETY: the call has only integer arguments.
    checked(unsafe { libc::listen(socket, BACKLOG) }).inspect_err(|_| close(socket))?;
    Ok(socket)
}

/// Maximum number of connections that wait to be accepted.
const BACKLOG: c_int = 128;

fn bind_both_families(port: u16) -> io::Result<RawFd> {
    // SAFETY: the pointers are to local values of the given sizes.
    unsafe {
        let socket = checked(libc::socket(libc::AF_INET6, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?;
        let socket = RawFd::try_from(socket).unwrap_or(-1);
        let no: c_int = 0;
        let length = libc::socklen_t::try_from(size_of::<c_int>()).unwrap_or_default();
        let mut address: libc::sockaddr_in6 = zeroed();
        address.sin6_family = u16::try_from(libc::AF_INET6).unwrap_or_default();
        address.sin6_port = port.to_be();
        let size = libc::socklen_t::try_from(size_of::<libc::sockaddr_in6>()).unwrap_or_default();
        checked(libc::setsockopt(
            socket,
            libc::IPPROTO_IPV6,
            libc::IPV6_V6ONLY,
            from_ref(&no).cast(),
            length,
        ))
        .and_then(|_| checked(libc::bind(socket, from_ref(&address).cast(), size)))
        .inspect_err(|_| close(socket))?;
        Ok(socket)
    }
}

/// Lets every address of a family denote this machine, so that listeners accept connections to all of
/// them (`ip route add local 0.0.0.0/0 dev lo`).
pub(crate) fn make_all_addresses_local(family: c_int) -> io::Result<()> {
    let request = LocalRoute::new(family);
    let mut response = [0u8; 64];
    // SAFETY: the pointers are to local values of the given sizes.
    let received = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let socket = checked(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?;
        let socket = RawFd::try_from(socket).unwrap_or(-1);
        let received =
            checked(libc::send(socket, from_ref(&request).cast(), size_of::<LocalRoute>(), 0) as i64)
                .and_then(|_| {
                    checked(libc::recv(socket, response.as_mut_ptr().cast(), response.len(), 0) as i64)
                });
        close(socket);
        received?
    };
    // The error number follows the header.
    let header = size_of::<libc::nlmsghdr>();
    match response.get(header..header + 4).and_then(|error| error.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) if received >= 20 => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::from_raw_os_error(libc::EPROTO)),
    }
}

/// A message of rtnetlink(7) that adds a route. A new namespace numbers its loopback interface 1.
#[repr(C)]
struct LocalRoute {
    header: libc::nlmsghdr,
    family: u8,
    destination_length: u8,
    source_length: u8,
    type_of_service: u8,
    table: u8,
    protocol: u8,
    scope: u8,
    kind: u8,
    flags: u32,
    interface_length: u16,
    interface_attribute: u16,
    interface: u32,
}

impl LocalRoute {
    fn new(family: c_int) -> Self {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_CREATE | libc::NLM_F_EXCL | libc::NLM_F_ACK;
        Self {
            header: libc::nlmsghdr {
                nlmsg_len: u32::try_from(size_of::<Self>()).unwrap_or_default(),
                nlmsg_type: libc::RTM_NEWROUTE,
                nlmsg_flags: u16::try_from(flags).unwrap_or_default(),
                nlmsg_seq: 1,
                nlmsg_pid: 0,
            },
            family: u8::try_from(family).unwrap_or_default(),
            destination_length: 0,
            source_length: 0,
            type_of_service: 0,
            table: libc::RT_TABLE_LOCAL,
            protocol: libc::RTPROT_BOOT,
            scope: libc::RT_SCOPE_HOST,
            kind: libc::RTN_LOCAL,
            flags: 0,
            interface_length: 8,
            interface_attribute: libc::RTA_OIF,
            interface: 1,
        }
    }
}

fn bind_socket(socket: RawFd, address: SocketAddrV4) -> io::Result<()> {
    // SAFETY: the address is a local value of the given size.
    unsafe {
        let mut native: libc::sockaddr_in = zeroed();
        native.sin_family = u16::try_from(libc::AF_INET).unwrap_or_default();
        native.sin_port = address.port().to_be();
        native.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).unwrap_or_default();
        checked(libc::bind(socket, from_ref(&native).cast(), length)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_descriptor_is_decimal() {
        for (descriptor, expected) in
            [(0, c"/proc/self/fd/0"), (10, c"/proc/self/fd/10"), (RawFd::MAX, c"/proc/self/fd/2147483647")]
        {
            assert_eq!(DescriptorPath::new(descriptor).as_c_str().unwrap(), expected);
        }
    }

    #[test]
    fn real_paths_contain_no_links() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::write(real.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let open = |path: &str| {
            let path = std::ffi::CString::new(real.join(path).to_str().unwrap()).unwrap();
            open_real(&path).map(close).map_err(|error| error.raw_os_error())
        };
        assert_eq!(open("file"), Ok(()));
        assert_eq!(open("link"), Err(Some(libc::ELOOP)));
        assert_eq!(open("link/file"), Err(Some(libc::ELOOP)));
        assert_eq!(open("missing"), Err(Some(libc::ENOENT)));
    }
}
