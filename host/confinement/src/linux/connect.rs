//! Opens the connections of a confined program on its behalf.

use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use tokio::net::{TcpStream, UnixStream};

use crate::linux::kernel::{self, Answer, NewDescriptor, Notification};
use crate::linux::program_memory::{DescriptorTarget, Thread};
use crate::linux::supervisor::Supervisor;

/// The size of `struct sockaddr_storage`, the largest address.
const MAX_ADDRESS_BYTES: usize = 128;

/// The address in a `connect` call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SocketAddress {
    Internet(SocketAddr),
    Path(PathBuf),
    /// A name that is not in the file system.
    Abstract(Vec<u8>),
    /// `AF_UNSPEC`, which ends a connection.
    Unspecified,
    Unsupported,
}

impl SocketAddress {
    /// Parses the bytes of a `struct sockaddr`. An address that denotes this machine, or an IPv4
    /// address in IPv6 form, is returned in the form in which policy checks it.
    fn parse(bytes: &[u8]) -> Result<Self, i32> {
        let (family, rest) = bytes.split_first_chunk::<2>().ok_or(libc::EINVAL)?;
        let port = |rest: &[u8]| rest.first_chunk::<2>().map(|port| u16::from_be_bytes(*port));
        match i32::from(u16::from_ne_bytes(*family)) {
            libc::AF_UNSPEC => Ok(Self::Unspecified),
            libc::AF_INET => {
                let [_, _, a, b, c, d, ..] = *rest else { return Err(libc::EINVAL) };
                let port = port(rest).ok_or(libc::EINVAL)?;
                let address = Ipv4Addr::new(a, b, c, d);
                let address = if address.is_unspecified() { Ipv4Addr::LOCALHOST } else { address };
                Ok(Self::Internet(SocketAddrV4::new(address, port).into()))
            }
            libc::AF_INET6 => {
                let port = port(rest).ok_or(libc::EINVAL)?;
                let octets: [u8; 16] =
                    rest.get(6..22).ok_or(libc::EINVAL)?.try_into().map_err(|_| libc::EINVAL)?;
                let scope =
                    rest.get(22..26).and_then(|scope| scope.try_into().ok()).map_or(0, u32::from_ne_bytes);
                let address = Ipv6Addr::from(octets);
                Ok(Self::Internet(match address.to_canonical() {
                    IpAddr::V4(v4) if v4.is_unspecified() => (Ipv4Addr::LOCALHOST, port).into(),
                    IpAddr::V4(v4) => (v4, port).into(),
                    IpAddr::V6(v6) if v6.is_unspecified() => (Ipv6Addr::LOCALHOST, port).into(),
                    IpAddr::V6(v6) => SocketAddrV6::new(v6, port, 0, scope).into(),
                }))
            }
            libc::AF_UNIX => match rest.split_first() {
                None => Err(libc::EINVAL),
                Some((0, name)) => Ok(Self::Abstract(name.to_vec())),
                Some(_) => {
                    let path = rest.split(|byte| *byte == 0).next().unwrap_or_default();
                    Ok(Self::Path(OsStr::from_bytes(path).into()))
                }
            },
            _ => Ok(Self::Unsupported),
        }
    }
}

/// A `connect` call whose arguments were copied.
pub(crate) struct ConnectCall {
    notification: Notification,
    thread: Thread,
    descriptor: i32,
    socket: u64,
    address: SocketAddress,
    /// The address as the program passed it.
    bytes: Vec<u8>,
}

impl ConnectCall {
    /// Copies the arguments. Later changes to the program's memory have no effect.
    ///
    /// # Errors
    /// Returns the error number of the call.
    pub(crate) fn read(notification: Notification) -> Result<Self, i32> {
        let thread = Thread(notification.thread);
        let (descriptor, pointer) = (notification.signed(0), notification.arguments[1]);
        let length = usize::try_from(notification.unsigned(2)).unwrap_or(usize::MAX);
        if length > MAX_ADDRESS_BYTES {
            return Err(libc::EINVAL);
        }
        let socket = match thread.descriptor(descriptor) {
            Ok(DescriptorTarget::Socket(inode)) => inode,
            Ok(DescriptorTarget::Other(_)) => return Err(libc::ENOTSOCK),
            Err(error) => {
                return Err(if error.kind() == io::ErrorKind::NotFound { libc::EBADF } else { libc::EACCES });
            }
        };
        let mut bytes = vec![0; length];
        thread.read(pointer, &mut bytes).map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied { libc::EACCES } else { libc::EFAULT }
        })?;
        let address = SocketAddress::parse(&bytes)?;
        Ok(Self { notification, thread, descriptor, socket, address, bytes })
    }

    /// Performs a call to an address that requires no waiting; returns the call otherwise.
    pub(crate) fn perform_now(self, supervisor: &Supervisor) -> Result<Answer, (Self, SocketAddr)> {
        if supervisor.sockets().is_datagram_socket(self.socket) {
            // Resolvers connect datagram sockets to name servers, and Go connects them to every
            // address that it sorts. Nothing is sent.
            return Ok(match self.address {
                SocketAddress::Internet(_) | SocketAddress::Unspecified => Answer::Value(0),
                _ => Answer::Error(libc::EAFNOSUPPORT),
            });
        }
        if supervisor.servers().has_own_network()
            && let Some(answer) = self.connect_datagrams()
        {
            return Ok(answer);
        }
        if supervisor.sockets().is_connected(self.socket) {
            return Ok(Answer::Error(match self.address {
                SocketAddress::Unspecified => libc::EAFNOSUPPORT,
                _ => libc::EISCONN,
            }));
        }
        Ok(match &self.address {
            SocketAddress::Internet(address) if address.port() == 0 => Answer::Error(libc::ECONNREFUSED),
            &SocketAddress::Internet(address) => return Err((self, address)),
            SocketAddress::Path(path) => match self.connect_to_path(path, supervisor) {
                Ok(()) => Answer::Value(0),
                Err(error) => Answer::Error(error),
            },
            SocketAddress::Abstract(name) => {
                let name = String::from_utf8_lossy(name);
                supervisor.authority().refuse_system_call(
                    "connect",
                    &format!("it would connect to the abstract socket {name:?} of another program"),
                );
                Answer::Error(libc::EPERM)
            }
            SocketAddress::Unspecified | SocketAddress::Unsupported => Answer::Error(libc::EAFNOSUPPORT),
        })
    }

    /// Performs the call if the socket is a datagram socket of the program's own network namespace, which
    /// has no interface except the loopback interface.
    pub(crate) fn connect_datagrams(&self) -> Option<Answer> {
        let socket = self.thread.copy_of_descriptor(self.descriptor).ok()?;
        if !kernel::is_internet_datagram_socket(socket.as_fd()) {
            return None;
        }
        Some(match kernel::connect(socket.as_fd(), &self.bytes) {
            Ok(()) => Answer::Value(0),
            Err(error) => Answer::Error(error.raw_os_error().unwrap_or(libc::EINVAL)),
        })
    }

    /// Replaces the program's socket by a connected one.
    fn replace_socket(&self, listener: BorrowedFd<'_>, connected: BorrowedFd<'_>) -> Result<(), i32> {
        let flags = self.thread.descriptor_flags(self.descriptor).map_err(|_| libc::EBADF)?;
        kernel::set_nonblocking(connected, flags.nonblocking).map_err(|_| libc::EBADF)?;
        let number = NewDescriptor::Replacing(self.descriptor.cast_unsigned());
        kernel::add_descriptor(listener, self.notification.id, connected, number, flags.close_on_execution)
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EBADF))
    }

    /// Connects to a Unix domain socket whose real path policy grants. The socket that was checked is
    /// the one that is connected.
    fn connect_to_path(&self, path: &Path, supervisor: &Supervisor) -> Result<(), i32> {
        let file = open_as(self.thread, &self.thread.working_directory(), path, true)
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EACCES))?;
        let real = real_path_of(&file).map_err(|_| libc::EACCES)?;
        if !supervisor.is_own_path(&real) && supervisor.authority().may_connect_to_path(&real).is_err() {
            return Err(libc::EACCES);
        }
        // Without waiting: other calls of the program wait for this thread.
        let connected = kernel::unix_socket(true).map_err(|_| libc::EACCES)?;
        kernel::connect_to_path(connected.as_fd(), path_of(&file).as_os_str().as_bytes())
            .map_err(|error| error.raw_os_error().unwrap_or(libc::ECONNREFUSED))?;
        self.replace_socket(supervisor.listener(), connected.as_fd())
    }

    /// Connects to an internet address, and relays the connection until it ends.
    pub(crate) async fn connect(self, address: SocketAddr, supervisor: Arc<Supervisor>) {
        let (id, inode) = (self.notification.id, self.socket);
        let sockets = supervisor.sockets();
        let program = match sockets.begin_connecting(inode) {
            Ok(program) => program,
            Err(error) => return supervisor.answer(id, Answer::Error(error)),
        };
        // Boxed futures are released when they end, so an open connection occupies less memory.
        let peer = match Box::pin(supervisor.servers().open(address)).await {
            Ok(peer) => peer,
            Err(error) => {
                sockets.fail_connecting(inode, program);
                return supervisor.answer(id, Answer::Error(error));
            }
        };
        let Ok(program) = TcpStream::from_std(program) else {
            return supervisor.answer(id, Answer::Error(libc::EMFILE));
        };
        sockets.set_connected(inode);
        supervisor.answer(id, Answer::Value(0));
        supervisor.servers().relay(program, peer).await;
        sockets.remove_stream(inode);
    }
}

/// Opens the file at a path, as seen by a thread, without access to its content. `base` is the directory
/// to which the path is relative.
///
/// In this process, links such as `/proc/self/fd/3` denote other files, so they are not followed; the
/// descriptors of the thread itself are opened instead.
pub(crate) fn open_as(thread: Thread, base: &Path, path: &Path, follow: bool) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    if let Some(descriptor) = own_descriptor(thread, path) {
        return Ok(open(descriptor, flags, Mode::empty())?);
    }
    let base = open(base, flags, Mode::empty())?;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    Ok(openat2(&base, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?)
}

/// Returns the path at which this process can open the file of a path that names a descriptor of the
/// thread itself.
fn own_descriptor(thread: Thread, path: &Path) -> Option<PathBuf> {
    let own = thread.own_path(path)?;
    let number = own.strip_prefix(thread.directory().join("fd")).ok()?.to_str()?.parse().ok()?;
    Some(thread.descriptor_path(number))
}

/// Returns the path at which this process can use an open file.
pub(crate) fn path_of(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Returns the real path of an open file.
pub(crate) fn real_path_of(file: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(path_of(file))
}

/// Connects to the socket of a confined program if its real path is in a directory; returns nothing
/// otherwise. The socket that was checked is the one that is connected.
///
/// # Errors
/// Returns an error if the socket does not exist, is a link, or does not accept the connection.
pub async fn connect_within(path: &Path, directory: &Path) -> io::Result<Option<UnixStream>> {
    let socket = open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
    if !real_path_of(&socket)?.starts_with(directory) {
        return Ok(None);
    }
    UnixStream::connect(path_of(&socket)).await.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(family: i32, rest: &[u8]) -> Result<SocketAddress, i32> {
        let mut bytes = u16::try_from(family).unwrap().to_ne_bytes().to_vec();
        bytes.extend(rest);
        SocketAddress::parse(&bytes)
    }

    #[test]
    fn addresses_are_parsed_in_their_canonical_form() {
        let internet = |text: &str| Ok(SocketAddress::Internet(text.parse().unwrap()));
        assert_eq!(parse(libc::AF_INET, &[0, 80, 192, 0, 2, 1]), internet("192.0.2.1:80"));
        assert_eq!(parse(libc::AF_INET, &[0, 80, 0, 0, 0, 0, 9]), internet("127.0.0.1:80"));
        let six = |address: &str| {
            let mut bytes = vec![1, 187, 0, 0, 0, 0];
            bytes.extend(address.parse::<Ipv6Addr>().unwrap().octets());
            bytes.extend([0; 4]);
            parse(libc::AF_INET6, &bytes)
        };
        assert_eq!(six("2001:db8::1"), internet("[2001:db8::1]:443"));
        assert_eq!(six("::ffff:169.254.169.254"), internet("169.254.169.254:443"));
        assert_eq!(six("::"), internet("[::1]:443"));
        assert_eq!(six("::ffff:0.0.0.0"), internet("127.0.0.1:443"));
        assert_eq!(parse(libc::AF_UNIX, b"/run/x.sock\0junk"), Ok(SocketAddress::Path("/run/x.sock".into())));
        assert_eq!(parse(libc::AF_UNIX, b"\0name"), Ok(SocketAddress::Abstract(b"name".to_vec())));
        assert_eq!(parse(libc::AF_UNSPEC, &[]), Ok(SocketAddress::Unspecified));
        assert_eq!(parse(libc::AF_VSOCK, &[0; 14]), Ok(SocketAddress::Unsupported));
    }

    #[test]
    fn short_addresses_are_rejected() {
        for length in 0..6 {
            assert!(parse(libc::AF_INET, &vec![0; length]).is_err(), "{length}");
        }
        for length in 0..22 {
            assert!(parse(libc::AF_INET6, &vec![0; length]).is_err(), "{length}");
        }
        assert!(SocketAddress::parse(&[]).is_err() && SocketAddress::parse(&[1]).is_err());
        assert!(parse(libc::AF_UNIX, &[]).is_err());
    }
}
