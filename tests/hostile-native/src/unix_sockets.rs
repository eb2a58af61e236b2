//! Attacks through Unix domain sockets: services of other programs, such as an SSH agent.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use crate::outcome::{Arguments, During as _, Failure, Outcome};
use crate::sys::{
    Address, MARK, PATIENCE, accept, attack_over, bind, connect, in_child, listen, receive, send, send_to,
    server, socket, socket_pair, tcp_socket,
};

fn stream_to(address: &Address) -> Outcome {
    let socket = socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)?;
    connect(socket.as_raw_fd(), address)?;
    attack_over(socket.as_raw_fd())
}

pub(crate) fn abstract_socket(arguments: &Arguments) -> Outcome {
    stream_to(&Address::abstract_name(arguments.text("name")?)?)
}

pub(crate) fn path_socket_stream(arguments: &Arguments) -> Outcome {
    stream_to(&Address::path(arguments.text("socket")?)?)
}

pub(crate) fn path_socket_datagram(arguments: &Arguments) -> Outcome {
    let address = Address::path(arguments.text("socket")?)?;
    let socket = socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0)?;
    send_to(socket.as_raw_fd(), MARK, 0, &address).map(|sent| format!("sent {sent} bytes"))
}

pub(crate) fn path_socket_datagram_connected(arguments: &Arguments) -> Outcome {
    let address = Address::path(arguments.text("socket")?)?;
    let socket = socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0)?;
    connect(socket.as_raw_fd(), &address)?;
    send(socket.as_raw_fd(), MARK).map(|sent| format!("sent {sent} bytes"))
}

/// Sends to a path from one end of a pair, which needs neither `socket` nor `connect`.
pub(crate) fn path_socket_datagram_pair(arguments: &Arguments) -> Outcome {
    let address = Address::path(arguments.text("socket")?)?;
    let (pair, _other) = socket_pair(libc::SOCK_DGRAM)?;
    send_to(pair.as_raw_fd(), MARK, 0, &address).map(|sent| format!("sent {sent} bytes"))
}

/// Sends to a path from a `SOCK_SEQPACKET` pair, for which the kernel ignores the address.
pub(crate) fn path_socket_packet_pair(arguments: &Arguments) -> Outcome {
    let address = Address::path(arguments.text("socket")?)?;
    let (pair, other) = socket_pair(libc::SOCK_SEQPACKET)?;
    send_to(pair.as_raw_fd(), MARK, 0, &address)?;
    match receive(other.as_raw_fd(), PATIENCE)? {
        Some(_) => Err(Failure::NoEffect("the other end received the bytes".to_owned())),
        None => Ok("sent, and the other end has not received it".to_owned()),
    }
}

pub(crate) fn path_socket_link(arguments: &Arguments) -> Outcome {
    let link = Path::new(arguments.text("directory")?).join(format!("link-{}", std::process::id()));
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(arguments.text("socket")?, &link).during("symlink")?;
    let outcome = Address::path(&link.to_string_lossy()).and_then(|address| stream_to(&address));
    let _ = fs::remove_file(link);
    outcome
}

/// Listens on a path in a granted directory and connects to it: allowed.
pub(crate) fn own_path_socket(arguments: &Arguments) -> Outcome {
    let path = Path::new(arguments.text("directory")?).join(format!("own-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let address = Address::path(&path.to_string_lossy())?;
    let listener = socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)?;
    bind(listener.as_raw_fd(), &address)?;
    let outcome = listen(listener.as_raw_fd()).and_then(|()| {
        in_child(|| {
            let client = socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)?;
            connect(client.as_raw_fd(), &address)?;
            send(client.as_raw_fd(), MARK).map(|sent| format!("sent {sent} bytes"))
        })?;
        let connection = accept(listener.as_raw_fd())?;
        let received = receive(connection.as_raw_fd(), PATIENCE)?.unwrap_or_default();
        Ok(format!("received {} bytes", received.len()))
    });
    let _ = fs::remove_file(path);
    outcome
}

/// Connects an internet socket to a path. The supervisor may have returned a Unix domain socket as a
/// placeholder.
pub(crate) fn placeholder_to_path(arguments: &Arguments) -> Outcome {
    let address = Address::path(arguments.text("socket")?)?;
    let socket = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd())
}

/// Connects a datagram socket, which may be one end of a pair, to a path.
pub(crate) fn datagram_placeholder_to_path(arguments: &Arguments) -> Outcome {
    let address = Address::path(arguments.text("socket")?)?;
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let failure = match connect(socket.as_raw_fd(), &address) {
        Ok(()) => match send(socket.as_raw_fd(), MARK) {
            Ok(sent) => return Ok(format!("sent {sent} bytes")),
            Err(failure) => failure,
        },
        Err(failure) => failure,
    };
    match send_to(socket.as_raw_fd(), MARK, 0, &address) {
        Ok(_) => Err(failure.with("sendto: 0, which may have ignored the address")),
        Err(other) => Err(failure.with(&format!("sendto: {}", other.name()))),
    }
}

/// Binds a placeholder to an abstract name and listens on it.
pub(crate) fn placeholder_listens(arguments: &Arguments) -> Outcome {
    let name = arguments.optional("name").unwrap_or("wardian-hostile-native");
    let address = Address::abstract_name(name)?;
    let listener = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    bind(listener.as_raw_fd(), &address)?;
    listen(listener.as_raw_fd())?;
    let client = socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)?;
    connect(client.as_raw_fd(), &address)?;
    Ok("listens on an abstract name".to_owned())
}

/// Connects a Unix domain socket to the internet address of the forbidden server.
pub(crate) fn unix_socket_to_internet(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    let socket = socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)?;
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd())
}

/// Connects a copy of the descriptor, then sends over the original.
pub(crate) fn connect_duplicate(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    let socket = tcp_socket(&address)?;
    let duplicate = socket.try_clone().during("dup")?;
    connect(duplicate.as_raw_fd(), &address)?;
    match attack_over(socket.as_raw_fd()) {
        Ok(effect) => Ok(format!("{effect}, over the original")),
        Err(failure) => {
            let note = format!("over the original: {}", failure.name());
            attack_over(duplicate.as_raw_fd()).map(|effect| format!("{effect}, over the copy; {note}"))
        }
    }
}
