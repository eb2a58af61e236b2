//! The way through a proxy, which looks names up itself.

use std::io;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::error::CommunicatorError;
use crate::settings::{Proxy, ProxyScheme, ServerCertificate, place};
use crate::stream::{Counted, Stream};
use crate::tls;

/// The longest answer to a `CONNECT` that is read.
const LONGEST_ANSWER: usize = 16 << 10;

/// Makes a connection with a proxy one with the machine behind it.
pub(crate) async fn through(
    proxy: &Proxy,
    stream: Counted<TcpStream>,
    host: &str,
    port: u16,
) -> Result<Stream, CommunicatorError> {
    let refused = |reason: String| CommunicatorError::Proxy {
        proxy: place(&proxy.host, proxy.port),
        place: place(host, port),
        reason,
    };
    let mut stream: Stream = match proxy.scheme {
        ProxyScheme::Http | ProxyScheme::Socks5 => Box::new(stream),
        ProxyScheme::Https => {
            let secured = tls::connect(&proxy.host, &ServerCertificate::OfSystem, stream).await;
            Box::new(secured.map_err(&refused)?)
        }
    };
    match proxy.scheme {
        ProxyScheme::Http | ProxyScheme::Https => connect(proxy, &mut stream, &place(host, port)).await,
        ProxyScheme::Socks5 => socks5(proxy, &mut stream, host, port).await,
    }
    .map_err(refused)?;
    Ok(stream)
}

fn broken(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it closed the connection".into(),
        _ => error.to_string(),
    }
}

async fn connect(proxy: &Proxy, stream: &mut Stream, place: &str) -> Result<(), String> {
    use std::fmt::Write as _;
    let mut request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
    if let Some(user) = &proxy.user {
        let password = proxy.password.as_ref().map(|password| password.reveal()).unwrap_or_default();
        let proof = STANDARD.encode(format!("{user}:{password}"));
        let _ = write!(request, "Proxy-Authorization: Basic {proof}\r\n");
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;
    // Byte by byte: what follows the empty line is the machine's already.
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= LONGEST_ANSWER {
            return Err("its answer has no end".into());
        }
        answer.push(stream.read_u8().await.map_err(broken)?);
    }
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.lines().next().unwrap_or_default();
    let mut words = status.split(' ').skip(1);
    match words.next() {
        Some(code) if code.len() == 3 && code.starts_with('2') => Ok(()),
        Some("407") => Err("it wants proxy_user_name and proxy_user_password, or others".into()),
        _ => Err(format!("it answered {:?}", status.chars().take(200).collect::<String>())),
    }
}

async fn socks5(proxy: &Proxy, stream: &mut Stream, host: &str, port: u16) -> Result<(), String> {
    const NOTHING: u8 = 0;
    const PASSWORD: u8 = 2;
    let methods: &[u8] = if proxy.user.is_some() { &[5, 2, NOTHING, PASSWORD] } else { &[5, 1, NOTHING] };
    send(stream, methods).await?;
    match receive::<2>(stream).await? {
        [5, NOTHING] => {}
        [5, PASSWORD] if proxy.user.is_some() => {
            let mut proof = vec![1];
            push(&mut proof, proxy.user.as_deref().unwrap_or_default(), "proxy_user_name")?;
            let password = proxy.password.as_ref().map(|password| password.reveal()).unwrap_or_default();
            push(&mut proof, password, "proxy_user_password")?;
            send(stream, &proof).await?;
            if receive::<2>(stream).await?[1] != 0 {
                return Err("it does not accept proxy_user_name and proxy_user_password".into());
            }
        }
        [5, 0xff] => return Err("it wants another proof than it was given".into()),
        _ => return Err("it does not speak SOCKS 5".into()),
    }
    let mut request = vec![5, 1, 0];
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(1);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(4);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(3);
            push(&mut request, host, "the machine's name")?;
        }
    }
    request.extend(port.to_be_bytes());
    send(stream, &request).await?;
    let [version, status, _, kind] = receive::<4>(stream).await?;
    if version != 5 {
        return Err("it does not speak SOCKS 5".into());
    }
    if status != 0 {
        return Err(match status {
            2 => "its rules forbid it".into(),
            3 => "it cannot reach that network".into(),
            4 => "it cannot reach the machine".into(),
            5 => "the machine refused the connection".into(),
            other => format!("it answered with code {other}"),
        });
    }
    // The address that it connects from, which tells us nothing.
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(receive::<1>(stream).await?[0]),
        _ => return Err("it does not speak SOCKS 5".into()),
    };
    let mut address = vec![0; length + 2];
    stream.read_exact(&mut address).await.map_err(broken)?;
    Ok(())
}

async fn send(stream: &mut Stream, bytes: &[u8]) -> Result<(), String> {
    stream.write_all(bytes).await.map_err(broken)?;
    stream.flush().await.map_err(broken)
}

async fn receive<const N: usize>(stream: &mut Stream) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map_err(broken)?;
    Ok(bytes)
}

fn push(message: &mut Vec<u8>, text: &str, what: &str) -> Result<(), String> {
    let length = u8::try_from(text.len()).map_err(|_| format!("{what} is longer than SOCKS can say"))?;
    message.push(length);
    message.extend(text.as_bytes());
    Ok(())
}
