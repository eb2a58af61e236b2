//! Attacks within a connection to an allowed address: another host's name, or none.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use crate::outcome::{Arguments, Failure, Outcome};
use crate::sys::{Address, connect, readable, receive, send, server, tcp_socket};

fn connected(arguments: &Arguments) -> Result<OwnedFd, Failure> {
    let address = Address::internet(server(arguments, "")?);
    let socket = tcp_socket(&address)?;
    connect(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

/// Any byte that comes back shows that the first bytes reached the server.
fn answered(socket: RawFd, arguments: &Arguments) -> Outcome {
    let patience = Duration::from_secs(arguments.number_or("seconds", 5)?);
    match receive(socket, patience)? {
        None => Err(Failure::NoEffect("no answer".to_owned())),
        Some(bytes) if bytes.is_empty() => Err(Failure::NoEffect("closed without an answer".to_owned())),
        Some(bytes) => Ok(format!("{} bytes answered, the first is {:#04x}", bytes.len(), bytes[0])),
    }
}

/// Returns bytes preceded by their length, which has `width` bytes.
fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32).to_be_bytes();
    let mut result = length[4 - width..].to_vec();
    result.extend(bytes);
    result
}

fn extension(number: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend(prefixed(2, content));
    bytes
}

/// Returns a ClientHello of TLS 1.2, as a handshake message, with padding of the given length.
fn client_hello(name: Option<&str>, padding: usize) -> Vec<u8> {
    let mut extensions = Vec::new();
    if let Some(name) = name {
        let mut entry = vec![0];
        entry.extend(prefixed(2, name.as_bytes()));
        extensions.extend(extension(0, &prefixed(2, &entry)));
    }
    extensions.extend(extension(10, &prefixed(2, &[0x00, 0x1d, 0x00, 0x17, 0x00, 0x18])));
    extensions.extend(extension(11, &[1, 0]));
    let algorithms = [4, 3, 8, 4, 4, 1, 5, 3, 8, 5, 5, 1, 8, 6, 6, 1, 2, 1];
    extensions.extend(extension(13, &prefixed(2, &algorithms)));
    if padding > 0 {
        extensions.extend(extension(21, &vec![0; padding]));
    }
    let mut body = vec![3, 3];
    body.extend([0x57; 32]);
    // No session.
    body.push(0);
    let ciphers: [u8; 18] = [
        0xc0, 0x2b, 0xc0, 0x2f, 0xc0, 0x2c, 0xc0, 0x30, 0xcc, 0xa9, 0xcc, 0xa8, 0x00, 0x9c, 0x00, 0x2f, 0x00,
        0x35,
    ];
    body.extend(prefixed(2, &ciphers));
    body.extend([1, 0]);
    body.extend(prefixed(2, &extensions));
    let mut message = vec![1];
    message.extend(prefixed(3, &body));
    message
}

fn record(content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![22, 3, 1];
    bytes.extend(prefixed(2, content));
    bytes
}

fn send_all(socket: RawFd, mut bytes: &[u8]) -> Result<(), Failure> {
    while !bytes.is_empty() {
        let sent = send(socket, bytes)?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

pub(crate) fn tls_other_name(arguments: &Arguments) -> Outcome {
    let name = arguments.text("name")?;
    let socket = connected(arguments)?;
    send_all(socket.as_raw_fd(), &record(&client_hello(Some(name), 0)))?;
    answered(socket.as_raw_fd(), arguments)
}

pub(crate) fn tls_without_name(arguments: &Arguments) -> Outcome {
    let socket = connected(arguments)?;
    send_all(socket.as_raw_fd(), &record(&client_hello(None, 0)))?;
    answered(socket.as_raw_fd(), arguments)
}

/// Splits the ClientHello over ten records, each in a separate packet.
pub(crate) fn tls_split_hello(arguments: &Arguments) -> Outcome {
    let name = arguments.text("name")?;
    let socket = connected(arguments)?;
    let hello = client_hello(Some(name), 0);
    for part in hello.chunks(hello.len().div_ceil(10)) {
        send_all(socket.as_raw_fd(), &record(part))?;
        thread::sleep(Duration::from_millis(20));
    }
    answered(socket.as_raw_fd(), arguments)
}

/// Sends a ClientHello of 64 KiB in records of the maximum length. With `last=yes`, the name is at the end.
pub(crate) fn tls_large_hello(arguments: &Arguments) -> Outcome {
    let name = arguments.text("name")?;
    let socket = connected(arguments)?;
    for part in client_hello(Some(name), 65_000).chunks(16_384) {
        send_all(socket.as_raw_fd(), &record(part))?;
    }
    answered(socket.as_raw_fd(), arguments)
}

pub(crate) fn http_other_host(arguments: &Arguments) -> Outcome {
    let name = arguments.text("name")?;
    let socket = connected(arguments)?;
    let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
    send_all(socket.as_raw_fd(), request.as_bytes())?;
    answered(socket.as_raw_fd(), arguments)
}

/// Sends a request with the host of `allowed-name=`, and then a request with another host.
pub(crate) fn http_second_request(arguments: &Arguments) -> Outcome {
    let (allowed, name) = (arguments.text("allowed-name")?, arguments.text("name")?);
    let socket = connected(arguments)?;
    let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    send_all(socket.as_raw_fd(), request(allowed).as_bytes())?;
    answered(socket.as_raw_fd(), arguments).map_err(|failure| failure.with("to the first request"))?;
    // The rest of the first answer.
    while let Some(bytes) = receive(socket.as_raw_fd(), Duration::from_millis(200))? {
        if bytes.is_empty() {
            return Err(Failure::NoEffect("closed after the first request".to_owned()));
        }
    }
    send_all(socket.as_raw_fd(), request(name).as_bytes())?;
    answered(socket.as_raw_fd(), arguments)
}

/// Sends HTTP/2 without TLS: the preface, settings, and a request for another host.
pub(crate) fn http2_plain(arguments: &Arguments) -> Outcome {
    let name = arguments.text("name")?;
    let socket = connected(arguments)?;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut frame = |kind: u8, flags: u8, stream: u32, content: &[u8]| {
        bytes.extend(&(content.len() as u32).to_be_bytes()[1..]);
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(content);
    };
    frame(4, 0, 0, &[]);
    // GET, http, /; then the authority as a literal without an index.
    let mut fields = vec![0x82, 0x86, 0x84, 0x01];
    fields.extend(prefixed(1, &name.as_bytes()[..name.len().min(126)]));
    frame(1, 5, 1, &fields);
    send_all(socket.as_raw_fd(), &bytes)?;
    answered(socket.as_raw_fd(), arguments)
}

/// Sends nothing, and reports whether the connection is still open after a while.
pub(crate) fn silent_connection(arguments: &Arguments) -> Outcome {
    let seconds = arguments.number_or("seconds", 5)?;
    let socket = connected(arguments)?;
    let started = Instant::now();
    if !readable(socket.as_raw_fd(), Duration::from_secs(seconds))? {
        return Ok(format!("open after {seconds} s"));
    }
    let received = receive(socket.as_raw_fd(), Duration::ZERO)?.unwrap_or_default();
    let elapsed = started.elapsed().as_millis();
    if received.is_empty() {
        Err(Failure::NoEffect(format!("closed after {elapsed} ms")))
    } else {
        Ok(format!("{} bytes received after {elapsed} ms", received.len()))
    }
}
