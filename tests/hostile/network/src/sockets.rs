//! Attempts to use sockets, through Rust's standard library and directly.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use wasip2::io::streams::{InputStream, OutputStream};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

use crate::reach::{number, two};

thread_local! {
    /// A connection that is held for a later call.
    static CONNECTION: RefCell<Option<TcpStream>> = const { RefCell::new(None) };
}

pub(crate) fn try_sockets(verb: &str, object: &str) -> Option<String> {
    Some(match verb {
        "connect" => outcome(TcpStream::connect(object).and_then(|stream| echo(&stream))),
        "connect-and-trap" => {
            match TcpStream::connect(object).and_then(|stream| echo(&stream).map(|_| stream)) {
                Ok(_open) => core::arch::wasm32::unreachable(),
                Err(error) => format!("refused: {error}"),
            }
        }
        "connect-nonblocking" => outcome(connect_nonblocking(object)),
        "connect-many" => two(object, |count, address| connect_many(number(count), address)),
        "connect-each" => two(object, |count, address| connect_each(number(count), address)),
        "connect-two" => two(object, connect_two),
        "connect-and-drop" => socket_outcome(start_connect(object).map(|_| "it is dropped".into())),
        "connect-again" => socket_outcome(connect_again(object)),
        "keep-connection" => outcome(TcpStream::connect(object).and_then(|stream| {
            let answer = echo(&stream)?;
            CONNECTION.with_borrow_mut(|kept| *kept = Some(stream));
            Ok(answer)
        })),
        "drain" => drain(object),
        "listen" => outcome(TcpListener::bind(object).map(|_| "it listens".into())),
        "datagram" => outcome(datagram(object)),
        "datagram-connected" => outcome(datagram_connected(object)),
        "datagrams" => two(object, |count, address| datagrams(number(count), address)),
        "look-up" => outcome((object, 0).to_socket_addrs().map(|addresses| {
            let mut addresses: Vec<String> = addresses.map(|address| address.ip().to_string()).collect();
            addresses.sort();
            addresses.dedup();
            addresses.join(" ")
        })),
        _ => return None,
    })
}

pub(crate) fn read_held_connection() -> Option<String> {
    let connection = CONNECTION.with_borrow_mut(Option::take)?;
    Some(outcome(echo(&connection)))
}

fn echo(mut stream: &TcpStream) -> io::Result<String> {
    stream.write_all(b"ping\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

/// Connects with a timeout, and reads in nonblocking mode.
fn connect_nonblocking(address: &str) -> io::Result<String> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10))?;
    stream.set_nonblocking(true)?;
    stream.write_all(b"ping\n")?;
    let mut line = Vec::new();
    let mut part = [0; 64];
    while !line.ends_with(b"\n") {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(length) => line.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn connect_many(count: usize, address: &str) -> String {
    let mut open = Vec::new();
    for _ in 0..count {
        match TcpStream::connect(address) {
            Ok(stream) => open.push(stream),
            Err(error) => return format!("{} open, then {error}", open.len()),
        }
    }
    format!("{} open", open.len())
}

/// Connects repeatedly, one connection after the other.
fn connect_each(count: usize, address: &str) -> String {
    for done in 0..count {
        if let Err(error) = TcpStream::connect(address).and_then(|stream| echo(&stream)) {
            return format!("{done} done, then {error}");
        }
    }
    format!("{count} done")
}

/// Reads until the end of the stream or until the host stops it.
fn drain(address: &str) -> String {
    let mut stream = match TcpStream::connect(address) {
        Ok(stream) => stream,
        Err(error) => return format!("refused: {error}"),
    };
    let (mut bytes, mut part) = (0, vec![0; 64 << 10]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => return format!("{bytes} bytes"),
            Ok(length) => bytes += length,
            Err(_) => return format!("{bytes} bytes, then refused"),
        }
    }
}

fn start_connect(address: &str) -> Result<TcpSocket, ErrorCode> {
    let Ok(SocketAddr::V4(address)) = address.parse() else { return Err(ErrorCode::InvalidArgument) };
    let [a, b, c, d] = address.ip().octets();
    let address = Ipv4SocketAddress { port: address.port(), address: (a, b, c, d) };
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_connect(&instance_network(), IpSocketAddress::Ipv4(address))?;
    Ok(socket)
}

fn finish_connect(socket: &TcpSocket) -> Result<(InputStream, OutputStream), ErrorCode> {
    loop {
        match socket.finish_connect() {
            Err(ErrorCode::WouldBlock) => socket.subscribe().block(),
            result => return result,
        }
    }
}

/// Starts two connections before it finishes either of them, and finishes the second connection first.
fn connect_two(first: &str, second: &str) -> String {
    let (first, second) = (start_connect(first), start_connect(second));
    let outcome = |socket: Result<TcpSocket, ErrorCode>, text: &[u8]| {
        let socket = socket?;
        let (input, output) = finish_connect(&socket)?;
        output.blocking_write_and_flush(text).map_err(|_| ErrorCode::Unknown)?;
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.extend(input.blocking_read(64).map_err(|_| ErrorCode::Unknown)?);
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    };
    let second = socket_outcome(outcome(second, b"number two\n"));
    format!("{}{second}", socket_outcome(outcome(first, b"one\n")))
}

/// Connects the same socket twice.
fn connect_again(address: &str) -> Result<String, ErrorCode> {
    let socket = start_connect(address)?;
    let _streams = finish_connect(&socket)?;
    let again = socket.finish_connect().err();
    Ok(format!("then {}", again.map_or("it is", |code| code.name())))
}

fn datagram(address: &str) -> io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.send_to(b"ping", address)?;
    let mut answer = [0; 64];
    let (length, _) = socket.recv_from(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

fn datagram_connected(address: &str) -> io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(address)?;
    let mut outcome = String::new();
    let mut answer = [0; 64];
    for text in ["one", "three"] {
        socket.send(text.as_bytes())?;
        let length = socket.recv(&mut answer)?;
        outcome.push_str(&String::from_utf8_lossy(&answer[..length]));
    }
    Ok(outcome)
}

/// Sends datagrams, waiting for the response to each.
fn datagrams(count: usize, address: &str) -> String {
    for done in 0..count {
        if datagram(address).is_err() {
            return format!("{done} answered, then refused");
        }
    }
    format!("{count} answered")
}

fn outcome(result: io::Result<String>) -> String {
    result.unwrap_or_else(|error| format!("refused: {error}"))
}

fn socket_outcome(result: Result<String, ErrorCode>) -> String {
    result.unwrap_or_else(|code| format!("refused: {}", code.name()))
}
