//! Opens tunnels through a proxy. The proxy resolves the target's name.

use std::io;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use wardian_access::ReachError;

use crate::error::CommunicatorError;
use crate::settings::{Proxy, ProxyScheme, ServerCertificate, endpoint};
use crate::stream::{CountedStream, Stream};
use crate::tls;

/// Maximum size of the response to a `CONNECT` request.
const MAX_RESPONSE_SIZE: usize = 16 << 10;

/// Opens a tunnel to the machine behind a proxy, over an existing connection to the proxy.
pub(crate) async fn open_tunnel(
    proxy: &Proxy,
    stream: CountedStream<TcpStream>,
    host: &str,
    port: u16,
) -> Result<Stream, CommunicatorError> {
    let refused = |reason: String| {
        let (proxy, endpoint) = (endpoint(&proxy.host, proxy.port), endpoint(host, port));
        CommunicatorError::Reach(ReachError::Proxy { proxy, endpoint, reason })
    };
    let mut stream: Stream = match proxy.scheme {
        ProxyScheme::Http | ProxyScheme::Socks5 => Box::new(stream),
        ProxyScheme::Https => {
            let secured = tls::connect(&proxy.host, &ServerCertificate::SystemRoots, stream).await;
            Box::new(secured.map_err(&refused)?)
        }
    };
    match proxy.scheme {
        ProxyScheme::Http | ProxyScheme::Https => {
            request_connect(proxy, &mut stream, &endpoint(host, port)).await
        }
        ProxyScheme::Socks5 => request_socks5(proxy, &mut stream, host, port).await,
    }
    .map_err(refused)?;
    Ok(stream)
}

fn describe_io_error(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the proxy closed the connection".into(),
        _ => error.to_string(),
    }
}

async fn request_connect(proxy: &Proxy, stream: &mut Stream, endpoint: &str) -> Result<(), String> {
    use std::fmt::Write as _;
    let mut request = format!("CONNECT {endpoint} HTTP/1.1\r\nHost: {endpoint}\r\n");
    if let Some(user) = &proxy.user {
        let password = proxy.password.as_ref().map(|password| password.reveal()).unwrap_or_default();
        let proof = STANDARD.encode(format!("{user}:{password}"));
        let _ = write!(request, "Proxy-Authorization: Basic {proof}\r\n");
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.map_err(describe_io_error)?;
    stream.flush().await.map_err(describe_io_error)?;
    // Reads byte by byte: the bytes after the empty line come from the target.
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        if response.len() >= MAX_RESPONSE_SIZE {
            return Err("the response is too long".into());
        }
        response.push(stream.read_u8().await.map_err(describe_io_error)?);
    }
    let response = String::from_utf8_lossy(&response);
    let status = response.lines().next().unwrap_or_default();
    let mut words = status.split(' ').skip(1);
    match words.next() {
        Some(code) if code.len() == 3 && code.starts_with('2') => Ok(()),
        Some("407") => {
            Err("the proxy requires valid values of proxy_user_name and proxy_user_password".into())
        }
        _ => Err(format!("it responded with {:?}", status.chars().take(200).collect::<String>())),
    }
}

async fn request_socks5(proxy: &Proxy, stream: &mut Stream, host: &str, port: u16) -> Result<(), String> {
    const NOTHING: u8 = 0;
    const PASSWORD: u8 = 2;
    let methods: &[u8] = if proxy.user.is_some() { &[5, 2, NOTHING, PASSWORD] } else { &[5, 1, NOTHING] };
    send(stream, methods).await?;
    match receive::<2>(stream).await? {
        [5, NOTHING] => {}
        [5, PASSWORD] if proxy.user.is_some() => {
            let mut proof = vec![1];
            push_string(&mut proof, proxy.user.as_deref().unwrap_or_default(), "proxy_user_name")?;
            let password = proxy.password.as_ref().map(|password| password.reveal()).unwrap_or_default();
            push_string(&mut proof, password, "proxy_user_password")?;
            send(stream, &proof).await?;
            if receive::<2>(stream).await?[1] != 0 {
                return Err("the proxy rejected proxy_user_name and proxy_user_password".into());
            }
        }
        [5, 0xff] => return Err("the proxy requires an authentication method that is not supported".into()),
        _ => return Err("the proxy does not support SOCKS 5".into()),
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
            push_string(&mut request, host, "the machine's name")?;
        }
    }
    request.extend(port.to_be_bytes());
    send(stream, &request).await?;
    let [version, status, _, kind] = receive::<4>(stream).await?;
    if version != 5 {
        return Err("the proxy does not support SOCKS 5".into());
    }
    if status != 0 {
        return Err(match status {
            2 => "the proxy's rules do not allow the connection".into(),
            3 => "the proxy cannot reach that network".into(),
            4 => "the proxy cannot reach the machine".into(),
            5 => "the machine refused the connection".into(),
            other => format!("the proxy responded with code {other}"),
        });
    }
    // The address from which the proxy connects is ignored.
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(receive::<1>(stream).await?[0]),
        _ => return Err("the proxy does not support SOCKS 5".into()),
    };
    let mut address = vec![0; length + 2];
    stream.read_exact(&mut address).await.map_err(describe_io_error)?;
    Ok(())
}

async fn send(stream: &mut Stream, bytes: &[u8]) -> Result<(), String> {
    stream.write_all(bytes).await.map_err(describe_io_error)?;
    stream.flush().await.map_err(describe_io_error)
}

async fn receive<const N: usize>(stream: &mut Stream) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map_err(describe_io_error)?;
    Ok(bytes)
}

fn push_string(message: &mut Vec<u8>, text: &str, name: &str) -> Result<(), String> {
    let length = u8::try_from(text.len()).map_err(|_| {
        format!(
            "{name} is too long for SOCKS 5 (at most 255 \
        bytes)"
        )
    })?;
    message.push(length);
    message.extend(text.as_bytes());
    Ok(())
}
