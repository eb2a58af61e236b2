//! Attacks on the network: connections, listeners and messages that policy does not grant.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use crate::outcome::{Arguments, Failure, Outcome, first_success};
use crate::sys::{
    Address, MARK, PATIENCE, accept, attack_over, bind, check, connect, in_child, in_clone, listen,
    name_of_socket, receive, send, send_message, send_to, server, set_socket_option, socket, socket_option,
    system_call, tcp_socket,
};

/// Returns the forbidden server.
fn target(arguments: &Arguments) -> Result<Address, Failure> {
    server(arguments, "").map(Address::internet)
}

pub(crate) fn tcp_connect(arguments: &Arguments) -> Outcome {
    let address = target(arguments)?;
    let socket = tcp_socket(&address)?;
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd())
}

pub(crate) fn tcp_connect_mapped(arguments: &Arguments) -> Outcome {
    let address = server(arguments, "")?;
    let host = match address.ip() {
        IpAddr::V4(host) => host.to_ipv6_mapped(),
        IpAddr::V6(host) => host,
    };
    let address = Address::internet(SocketAddr::new(IpAddr::V6(host), address.port()));
    let socket = tcp_socket(&address)?;
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd())
}

fn connect_with_protocol(arguments: &Arguments, protocol: i32) -> Outcome {
    let address = target(arguments)?;
    let socket = socket(address.family(), libc::SOCK_STREAM, protocol)?;
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd())
}

pub(crate) fn multipath_tcp(arguments: &Arguments) -> Outcome {
    connect_with_protocol(arguments, libc::IPPROTO_MPTCP)
}

pub(crate) fn sctp(arguments: &Arguments) -> Outcome {
    connect_with_protocol(arguments, libc::IPPROTO_SCTP)
}

pub(crate) fn smc(arguments: &Arguments) -> Outcome {
    let address = target(arguments)?;
    let family_smc = 43;
    let socket = socket(family_smc, libc::SOCK_STREAM, 0)?;
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd())
}

/// Sends without `connect`: the mark is in the first packet or follows it.
fn fast_open(arguments: &Arguments, send: impl FnOnce(RawFd, &Address) -> Result<usize, Failure>) -> Outcome {
    let address = target(arguments)?;
    let socket = tcp_socket(&address)?;
    let sent = send(socket.as_raw_fd(), &address)?;
    match receive(socket.as_raw_fd(), PATIENCE)? {
        Some(bytes) => Ok(format!("sent {sent} bytes, {} bytes answered", bytes.len())),
        None if name_of_socket(socket.as_raw_fd(), true).is_ok() => {
            Ok(format!("sent {sent} bytes, no answer"))
        }
        None => Err(Failure::NoEffect("the socket is not connected".to_owned())),
    }
}

pub(crate) fn fast_open_sendto(arguments: &Arguments) -> Outcome {
    fast_open(arguments, |socket, address| send_to(socket, MARK, libc::MSG_FASTOPEN, address))
}

pub(crate) fn fast_open_sendmsg(arguments: &Arguments) -> Outcome {
    fast_open(arguments, |socket, address| send_message(socket, MARK, libc::MSG_FASTOPEN, address, false))
}

pub(crate) fn fast_open_sendmmsg(arguments: &Arguments) -> Outcome {
    fast_open(arguments, |socket, address| send_message(socket, MARK, libc::MSG_FASTOPEN, address, true))
}

pub(crate) fn fast_open_connect(arguments: &Arguments) -> Outcome {
    let address = target(arguments)?;
    let socket = tcp_socket(&address)?;
    let tcp_fastopen_connect = 30;
    let option = set_socket_option(socket.as_raw_fd(), libc::IPPROTO_TCP, tcp_fastopen_connect, 1);
    let outcome = connect(socket.as_raw_fd(), &address).and_then(|()| attack_over(socket.as_raw_fd()));
    let note = match &option {
        Ok(()) => "with the option".to_owned(),
        Err(failure) => format!("without the option: {}", failure.name()),
    };
    match outcome {
        Ok(effect) => Ok(format!("{effect}, {note}")),
        Err(failure) => Err(failure.with(&note)),
    }
}

/// Connects to a listener of this program from a separate process.
fn reach(listener: &OwnedFd) -> Outcome {
    let mut own = name_of_socket(listener.as_raw_fd(), false)?;
    if own.family() != libc::AF_INET {
        return Err(Failure::NoEffect(format!("the listener has the address family {}", own.family())));
    }
    let port = own.port();
    if port == 0 {
        return Err(Failure::NoEffect("the listener has no port".to_owned()));
    }
    own = Address::internet(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let result = in_child(|| {
        let client = tcp_socket(&own)?;
        connect(client.as_raw_fd(), &own)?;
        send(client.as_raw_fd(), MARK).map(|sent| format!("{sent} bytes"))
    });
    match result {
        Ok(_) => {
            let connection = accept(listener.as_raw_fd())?;
            let received = receive(connection.as_raw_fd(), PATIENCE)?;
            Ok(format!("port {port} received {} bytes", received.unwrap_or_default().len()))
        }
        // Others could connect.
        Err(failure) => Ok(format!("port {port} listens, but a connection from here: {}", failure.name())),
    }
}

pub(crate) fn bind_and_listen(arguments: &Arguments) -> Outcome {
    let host: IpAddr = match arguments.optional("address") {
        None => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(text) => text.parse().map_err(|_| Failure::Parameter("address= is wrong".to_owned()))?,
    };
    let address = Address::internet(SocketAddr::new(host, arguments.number_or("port", 0)?));
    let listener = tcp_socket(&address)?;
    bind(listener.as_raw_fd(), &address)?;
    listen(listener.as_raw_fd())?;
    reach(&listener)
}

pub(crate) fn listen_without_bind(_: &Arguments) -> Outcome {
    let listener = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    listen(listener.as_raw_fd())?;
    reach(&listener)
}

/// Sends a datagram. A socket that is not an internet socket cannot have reached the server, unless
/// something answers.
fn datagram(arguments: &Arguments, send: impl FnOnce(RawFd, &Address) -> Result<usize, Failure>) -> Outcome {
    let address = target(arguments)?;
    let socket = socket(address.family(), libc::SOCK_DGRAM, 0)?;
    let sent = send(socket.as_raw_fd(), &address)?;
    match receive(socket.as_raw_fd(), PATIENCE)? {
        Some(bytes) if !bytes.is_empty() => {
            return Ok(format!("sent {sent} bytes, {} bytes answered", bytes.len()));
        }
        Some(_) => return Err(Failure::NoEffect("the socket was closed".to_owned())),
        None => {}
    }
    match socket_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_DOMAIN)? {
        domain if domain == address.family() => Ok(format!("sent {sent} bytes, no answer")),
        domain => Err(Failure::NoEffect(format!("the socket has the address family {domain}, no answer"))),
    }
}

pub(crate) fn udp_sendto(arguments: &Arguments) -> Outcome {
    datagram(arguments, |socket, address| send_to(socket, MARK, 0, address))
}

pub(crate) fn udp_sendmsg(arguments: &Arguments) -> Outcome {
    datagram(arguments, |socket, address| send_message(socket, MARK, 0, address, false))
}

pub(crate) fn udp_sendmmsg(arguments: &Arguments) -> Outcome {
    datagram(arguments, |socket, address| send_message(socket, MARK, 0, address, true))
}

pub(crate) fn udp_connected(arguments: &Arguments) -> Outcome {
    datagram(arguments, |socket, address| {
        connect(socket, address)?;
        send(socket, MARK)
    })
}

/// An ICMP echo request. The kernel computes its checksum only for ping sockets.
const ECHO: [u8; 8] = [8, 0, 0xf7, 0xfd, 0, 1, 0, 1];

fn ping(kind: i32) -> Outcome {
    let socket = socket(libc::AF_INET, kind, libc::IPPROTO_ICMP)?;
    let address = Address::internet(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
    send_to(socket.as_raw_fd(), &ECHO, 0, &address)?;
    match receive(socket.as_raw_fd(), PATIENCE)? {
        Some(bytes) => Ok(format!("{} bytes answered", bytes.len())),
        None => Ok("sent, no answer".to_owned()),
    }
}

pub(crate) fn raw_socket(_: &Arguments) -> Outcome {
    ping(libc::SOCK_RAW)
}

pub(crate) fn ping_socket(_: &Arguments) -> Outcome {
    ping(libc::SOCK_DGRAM)
}

pub(crate) fn packet_socket(_: &Arguments) -> Outcome {
    let all = i32::from((libc::ETH_P_ALL as u16).to_be());
    first_success(&[
        ("raw", &|| socket(libc::AF_PACKET, libc::SOCK_RAW, all).map(|_| "a socket".to_owned())),
        ("datagram", &|| socket(libc::AF_PACKET, libc::SOCK_DGRAM, all).map(|_| "a socket".to_owned())),
    ])
}

/// Connects to the hypervisor. The attempt itself is the effect.
pub(crate) fn vsock(arguments: &Arguments) -> Outcome {
    let socket = socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0)?;
    // SAFETY: all of its fields are numbers.
    let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    address.svm_cid = arguments.number_or("cid", libc::VMADDR_CID_HOST)?;
    address.svm_port = arguments.number_or("port", 1)?;
    let result = connect(socket.as_raw_fd(), &Address::other(address));
    Ok(format!("a socket; connect: {}", crate::sys::result_name(&result)))
}

/// Requests the network interfaces from the kernel.
pub(crate) fn netlink(_: &Arguments) -> Outcome {
    let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    let mut request = Vec::new();
    request.extend(32_u32.to_ne_bytes());
    request.extend(libc::RTM_GETLINK.to_ne_bytes());
    request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    request.extend([0; 24]);
    send(socket.as_raw_fd(), &request)?;
    match receive(socket.as_raw_fd(), PATIENCE)? {
        Some(bytes) if !bytes.is_empty() => Ok(format!("{} bytes on interfaces", bytes.len())),
        _ => Err(Failure::NoEffect("no answer".to_owned())),
    }
}

pub(crate) fn alg(_: &Arguments) -> Outcome {
    let socket = socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)?;
    // SAFETY: all of its fields are numbers.
    let mut address: libc::sockaddr_alg = unsafe { std::mem::zeroed() };
    address.salg_family = libc::AF_ALG as libc::sa_family_t;
    address.salg_type[..4].copy_from_slice(b"hash");
    address.salg_name[..6].copy_from_slice(b"sha256");
    let result = bind(socket.as_raw_fd(), &Address::other(address));
    Ok(format!("a socket; bind: {}", crate::sys::result_name(&result)))
}

pub(crate) fn tipc(_: &Arguments) -> Outcome {
    socket(libc::AF_TIPC, libc::SOCK_RDM, 0).map(|_| "a socket".to_owned())
}

pub(crate) fn xdp(_: &Arguments) -> Outcome {
    let family_xdp = 44;
    socket(family_xdp, libc::SOCK_RAW, 0).map(|_| "a socket".to_owned())
}

/// Disconnects a connected socket, then connects it to the forbidden server.
pub(crate) fn connect_unspecified(arguments: &Arguments) -> Outcome {
    let (allowed, forbidden) = both(arguments)?;
    let socket = tcp_socket(&allowed)?;
    connect(socket.as_raw_fd(), &allowed).map_err(|failure| failure.with("to the allowed server"))?;
    let disconnected = connect(socket.as_raw_fd(), &Address::unspecified());
    let note = format!("AF_UNSPEC: {}", crate::sys::result_name(&disconnected));
    connect(socket.as_raw_fd(), &forbidden).map_err(|failure| failure.with(&note))?;
    reached(socket.as_raw_fd(), &forbidden)
}

/// Connects a connected socket to the forbidden server.
pub(crate) fn connect_twice(arguments: &Arguments) -> Outcome {
    let (allowed, forbidden) = both(arguments)?;
    let socket = tcp_socket(&allowed)?;
    connect(socket.as_raw_fd(), &allowed).map_err(|failure| failure.with("to the allowed server"))?;
    connect(socket.as_raw_fd(), &forbidden)?;
    reached(socket.as_raw_fd(), &forbidden)
}

/// Returns the allowed server and the forbidden one.
pub(crate) fn both(arguments: &Arguments) -> Result<(Address, Address), Failure> {
    Ok((target(arguments)?, Address::internet(server(arguments, "forbidden-")?)))
}

/// Attacks over the socket, and checks whether the peer is the forbidden server. Behind a relay, the
/// peer's address is hidden, so only an answer that begins with `forbidden` counts.
pub(crate) fn reached(socket: RawFd, forbidden: &Address) -> Outcome {
    let peer = name_of_socket(socket, true)?;
    send(socket, MARK)?;
    if peer.same(forbidden) {
        return Ok("the peer is the forbidden server".to_owned());
    }
    match receive(socket, Duration::from_millis(20)) {
        Ok(Some(bytes)) if bytes.starts_with(b"forbidden") => Ok("the forbidden server answered".to_owned()),
        _ => Err(Failure::NoEffect(format!("the peer has the port {}", peer.port()))),
    }
}

/// Creates a socket, and connects it in a forked process.
pub(crate) fn fork_between(arguments: &Arguments) -> Outcome {
    let address = target(arguments)?;
    let socket = tcp_socket(&address)?;
    in_child(|| {
        connect(socket.as_raw_fd(), &address)?;
        attack_over(socket.as_raw_fd())
    })
}

/// Connects in a process that shares the descriptors but not the memory, and sends in this one.
pub(crate) fn thread_connect(arguments: &Arguments) -> Outcome {
    let address = target(arguments)?;
    let socket = tcp_socket(&address)?;
    in_clone("clone with CLONE_FILES", libc::CLONE_FILES, || {
        connect(socket.as_raw_fd(), &address).map(|()| "connected".to_owned())
    })?;
    attack_over(socket.as_raw_fd())
}

/// Connects with lengths that no address has, and descriptors that are not sockets.
pub(crate) fn connect_odd_lengths(arguments: &Arguments) -> Outcome {
    let address = target(arguments)?;
    let mut results = Vec::new();
    let mut attempt = |name: &str, descriptor: RawFd, length: u32| {
        let arguments = [descriptor as usize, address.pointer() as usize, length as usize];
        // SAFETY: the kernel refuses lengths beyond the longest address.
        let result = unsafe { system_call("connect", libc::SYS_connect, &arguments) };
        results.push((name.to_owned(), result.map(|_| ())));
    };
    for length in [0, 1, 2, 7, 129, 1 << 31, u32::MAX] {
        let socket = tcp_socket(&address)?;
        attempt(&format!("length {length}"), socket.as_raw_fd(), length);
    }
    let (pipe, _writer) = std::io::pipe().map_err(|error| Failure::from_error(&error, "pipe"))?;
    attempt("pipe", pipe.as_raw_fd(), address.length());
    match std::fs::File::open("/proc/self/exe") {
        Ok(file) => attempt("file", file.as_raw_fd(), address.length()),
        Err(_) => attempt("standard error", 2, address.length()),
    }
    attempt("closed descriptor", 1_000_000, address.length());
    attempt("negative descriptor", -1, address.length());
    // SAFETY: the address is not mapped, so the kernel rejects it.
    let null = unsafe {
        let socket = tcp_socket(&address)?;
        libc::connect(socket.as_raw_fd(), std::ptr::null(), address.length())
    };
    results.push(("null address".to_owned(), check("connect", null).map(drop)));
    let list = results
        .iter()
        .map(|(name, result)| format!("{name}: {}", crate::sys::result_name(result)))
        .collect::<Vec<_>>()
        .join(", ");
    match results.into_iter().find_map(|(_, result)| result.err()) {
        Some(failure) if !list.contains(": 0") => Err(failure.with(&list)),
        _ => Ok(list),
    }
}
