//! Sockets, by Rust's standard library and by hand.

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
    /// What is kept for a later call.
    static CONNECTION: RefCell<Option<TcpStream>> = const { RefCell::new(None) };
}

pub(crate) fn try_sockets(verb: &str, object: &str) -> Option<String> {
    Some(match verb {
        "connect" => said(TcpStream::connect(object).and_then(|stream| echo(&stream))),
        "connect-and-trap" => {
            match TcpStream::connect(object).and_then(|stream| echo(&stream).map(|_| stream)) {
                Ok(_open) => core::arch::wasm32::unreachable(),
                Err(error) => format!("refused: {error}"),
            }
        }
        "connect-nonblocking" => said(connect_nonblocking(object)),
        "connect-many" => two(object, |count, address| connect_many(number(count), address)),
        "connect-each" => two(object, |count, address| connect_each(number(count), address)),
        "connect-two" => two(object, connect_two),
        "connect-and-drop" => said_by_hand(begun(object).map(|_| "it is dropped".into())),
        "connect-again" => said_by_hand(connect_again(object)),
        "keep-connection" => said(TcpStream::connect(object).and_then(|stream| {
            let answer = echo(&stream)?;
            CONNECTION.with_borrow_mut(|kept| *kept = Some(stream));
            Ok(answer)
        })),
        "drain" => drain(object),
        "listen" => said(TcpListener::bind(object).map(|_| "it listens".into())),
        "datagram" => said(datagram(object)),
        "datagram-connected" => said(datagram_connected(object)),
        "datagrams" => two(object, |count, address| datagrams(number(count), address)),
        "look-up" => said((object, 0).to_socket_addrs().map(|addresses| {
            let mut addresses: Vec<String> = addresses.map(|address| address.ip().to_string()).collect();
            addresses.sort();
            addresses.dedup();
            addresses.join(" ")
        })),
        _ => return None,
    })
}

/// What the connection says that was kept.
pub(crate) fn kept_connection() -> Option<String> {
    let connection = CONNECTION.with_borrow_mut(Option::take)?;
    Some(said(echo(&connection)))
}

fn echo(mut stream: &TcpStream) -> io::Result<String> {
    stream.write_all(b"ping\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

/// With a limit to how long it takes, and without waiting for what comes.
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

/// One after the other.
fn connect_each(count: usize, address: &str) -> String {
    for done in 0..count {
        if let Err(error) = TcpStream::connect(address).and_then(|stream| echo(&stream)) {
            return format!("{done} done, then {error}");
        }
    }
    format!("{count} done")
}

/// Reads to the end, or for as long as it may.
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

/// A connection that is begun.
fn begun(address: &str) -> Result<TcpSocket, ErrorCode> {
    let Ok(SocketAddr::V4(address)) = address.parse() else { return Err(ErrorCode::InvalidArgument) };
    let [a, b, c, d] = address.ip().octets();
    let address = Ipv4SocketAddress { port: address.port(), address: (a, b, c, d) };
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_connect(&instance_network(), IpSocketAddress::Ipv4(address))?;
    Ok(socket)
}

fn finished(socket: &TcpSocket) -> Result<(InputStream, OutputStream), ErrorCode> {
    loop {
        match socket.finish_connect() {
            Err(ErrorCode::WouldBlock) => socket.subscribe().block(),
            result => return result,
        }
    }
}

/// Both are begun before either is finished, and the second is finished first.
fn connect_two(first: &str, second: &str) -> String {
    let (first, second) = (begun(first), begun(second));
    let said = |socket: Result<TcpSocket, ErrorCode>, text: &[u8]| {
        let socket = socket?;
        let (input, output) = finished(&socket)?;
        output.blocking_write_and_flush(text).map_err(|_| ErrorCode::Unknown)?;
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.extend(input.blocking_read(64).map_err(|_| ErrorCode::Unknown)?);
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    };
    let second = said_by_hand(said(second, b"number two\n"));
    format!("{}{second}", said_by_hand(said(first, b"one\n")))
}

/// A socket is connected once.
fn connect_again(address: &str) -> Result<String, ErrorCode> {
    let socket = begun(address)?;
    let _streams = finished(&socket)?;
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
    let mut said = String::new();
    let mut answer = [0; 64];
    for text in ["one", "three"] {
        socket.send(text.as_bytes())?;
        let length = socket.recv(&mut answer)?;
        said.push_str(&String::from_utf8_lossy(&answer[..length]));
    }
    Ok(said)
}

/// Each answered before the next.
fn datagrams(count: usize, address: &str) -> String {
    for done in 0..count {
        if datagram(address).is_err() {
            return format!("{done} answered, then refused");
        }
    }
    format!("{count} answered")
}

fn said(result: io::Result<String>) -> String {
    result.unwrap_or_else(|error| format!("refused: {error}"))
}

fn said_by_hand(result: Result<String, ErrorCode>) -> String {
    result.unwrap_or_else(|code| format!("refused: {}", code.name()))
}
