//! Copies data between the program's end of a connection and the server.
//!
//! The program's end is one end of a TCP connection on the loopback interface, whose other end the
//! host holds. A connection without traffic occupies no buffer.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream as BlockingStream};
use std::sync::{Mutex, PoisonError};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use wardian_access::{AllowedConnection, ConnectionRecord, Host, Scheme};

use crate::linux::first_bytes::{FirstBytes, Recognized, ServerName};
use crate::linux::http_requests::{Followed, HttpRequests, NotFollowed};

const CHUNK_BYTES: usize = 8 * 1024;
/// Maximum number of unexpected connections that the listener accepts before the expected one.
const MAX_STRANGERS: usize = 16;

/// A family of internet addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// Creates a TCP connection on the loopback interface, and returns both ends. The second end is in
/// non-blocking mode. A machine without IPv6 returns a connection over IPv4.
pub(crate) fn loopback_pair(family: Family) -> io::Result<(BlockingStream, BlockingStream)> {
    let over_v4 = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listener = match family {
        Family::V4 => over_v4()?,
        Family::V6 => TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).or_else(|_| over_v4())?,
    };
    let first = BlockingStream::connect(listener.local_addr()?)?;
    let expected = first.local_addr()?;
    for _ in 0..MAX_STRANGERS {
        let (second, peer) = listener.accept()?;
        // Any process of the machine can connect to the listener.
        if peer == expected {
            second.set_nonblocking(true)?;
            second.set_nodelay(true)?;
            first.set_nodelay(true)?;
            return Ok((first, second));
        }
    }
    Err(io::ErrorKind::ConnectionAborted.into())
}

/// Relays a connection until both directions end, or its content is not allowed.
pub(crate) async fn relay(program: TcpStream, server: TcpStream, allowed: AllowedConnection) {
    let AllowedConnection { host, schemes, max_received, mut record } = allowed;
    let (from_program, to_program) = program.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut requests = None;
    if schemes.contains(&Scheme::Tcp) {
        record.set_scheme(Scheme::Tcp);
    } else {
        // In a separate allocation, which is released before the connection is copied.
        let first = match Box::pin(admit(&from_program, &host, &schemes, &mut *record)).await {
            Ok(Some(first)) => first,
            Ok(None) => return,
            Err(reason) => {
                record.refuse(&reason);
                return;
            }
        };
        if let Recognized::Http(_) = first.recognized {
            // The first request was checked, and the others are checked when they are sent.
            requests = Some(Requests { position: HttpRequests::new(), host });
        }
        let bytes = match &mut requests {
            Some(requests) => requests.check(&first.bytes, &*record),
            None => Ok(first.bytes),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(reason) => {
                record.refuse(&reason);
                return;
            }
        };
        if to_server.write_all(&bytes).await.is_err() {
            return;
        }
        record.add_sent(bytes.len() as u64);
    }
    // The record is complete at any time, since the supervisor can end before the connection.
    let record = Mutex::new(record);
    let send = |bytes: Vec<u8>| {
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match &mut requests {
            Some(requests) => requests.check(&bytes, &**record)?,
            None => bytes,
        };
        record.add_sent(bytes.len() as u64);
        Ok(bytes)
    };
    let mut received = 0;
    let receive = |bytes: Vec<u8>| {
        received += bytes.len() as u64;
        if let Some(limit) = max_received.filter(|limit| received > *limit) {
            return Err(format!("more than {limit} bytes were received on one connection"));
        }
        record.lock().unwrap_or_else(PoisonError::into_inner).add_received(bytes.len() as u64);
        Ok(bytes)
    };
    // If one direction is refused, the other one ends as well.
    let copied =
        tokio::try_join!(copy(from_program, to_server, send), copy(from_server, to_program, receive));
    if let Err(reason) = copied {
        record.into_inner().unwrap_or_else(PoisonError::into_inner).refuse(&reason);
    }
}

/// The requests of a connection that is granted for HTTP.
struct Requests {
    position: HttpRequests,
    /// The granted host.
    host: Host,
}

impl Requests {
    /// Checks the requests that are now complete, and returns the bytes that may be forwarded.
    fn check(&mut self, bytes: &[u8], record: &dyn ConnectionRecord) -> Result<Vec<u8>, String> {
        let Followed { servers, bytes } = self.position.add(bytes).map_err(|NotFollowed| {
            "policy grants http, but the program sent something other than unambiguous HTTP requests"
                .to_owned()
        })?;
        servers.iter().try_for_each(|server| check_name(server, &self.host, Scheme::Http, record))?;
        Ok(bytes)
    }
}

/// The first bytes of a connection, which policy allows.
struct Admitted {
    recognized: Recognized,
    bytes: Vec<u8>,
}

/// Reads the first bytes and checks them. Returns nothing if the program closes the connection.
async fn admit(
    program: &OwnedReadHalf,
    host: &Host,
    schemes: &[Scheme],
    record: &mut dyn ConnectionRecord,
) -> Result<Option<Admitted>, String> {
    let mut first = FirstBytes::new();
    loop {
        if program.readable().await.is_err() {
            return Ok(None);
        }
        let mut chunk = vec![0; CHUNK_BYTES];
        let length = match program.try_read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => return Ok(None),
        };
        if let Some(recognized) = first.add(&chunk[..length]) {
            check(&recognized, host, schemes, record)?;
            return Ok(Some(Admitted { recognized, bytes: first.into_bytes() }));
        }
    }
}

fn check(
    recognized: &Recognized,
    host: &Host,
    schemes: &[Scheme],
    record: &mut dyn ConnectionRecord,
) -> Result<(), String> {
    let scheme = recognized.scheme();
    if !schemes.contains(&scheme) {
        let granted = schemes.iter().map(|scheme| scheme.word()).collect::<Vec<_>>().join(" and ");
        let found = match recognized {
            Recognized::Tls(_) => "TLS",
            Recognized::Http(_) => "HTTP without TLS",
            Recognized::Other => "neither TLS nor HTTP",
        };
        return Err(format!("policy grants {granted}, but the program sent {found}"));
    }
    record.set_scheme(scheme);
    match recognized {
        Recognized::Tls(name) | Recognized::Http(name) => check_name(name, host, scheme, record),
        Recognized::Other => Ok(()),
    }
}

/// Checks the name of the server that the program sent.
fn check_name(
    name: &ServerName,
    host: &Host,
    scheme: Scheme,
    record: &dyn ConnectionRecord,
) -> Result<(), String> {
    match (name, host) {
        (ServerName::Invalid, _) => Err("its server name is not valid".to_owned()),
        (ServerName::Missing, _) if scheme == Scheme::Http => Err("it has no Host header".to_owned()),
        // Without a name, the server selects its default site.
        (ServerName::Missing, _) => Ok(()),
        // The address itself is granted, with every site at it.
        (_, Host::Address(_)) => Ok(()),
        (ServerName::Host(name), host) if name == host || record.permits_name(name, scheme) => Ok(()),
        (ServerName::Host(name), host) => {
            Err(format!("policy allowed {host}, but the program requested {name} from the server"))
        }
    }
}

/// Copies until the end or an error. `check` returns the bytes of each part that may be sent.
///
/// # Errors
/// Returns the reason why a part may not be sent.
async fn copy(
    from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut check: impl FnMut(Vec<u8>) -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    loop {
        if from.readable().await.is_err() {
            break;
        }
        let mut chunk = vec![0; CHUNK_BYTES];
        let length = match from.try_read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => break,
        };
        chunk.truncate(length);
        let chunk = check(chunk)?;
        if to.write_all(&chunk).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_ends_are_connected() {
        use tokio::io::AsyncReadExt as _;
        let (first, second) = loopback_pair(Family::V6).unwrap();
        first.set_nonblocking(true).unwrap();
        let mut first = TcpStream::from_std(first).unwrap();
        let mut second = TcpStream::from_std(second).unwrap();
        first.write_all(b"ping").await.unwrap();
        let mut bytes = [0; 4];
        second.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"ping");
    }
}
