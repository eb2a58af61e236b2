//! Recognizes the protocol of a connection by the first bytes that the program sends.
//!
//! The name in a TLS handshake or in an HTTP request is a second opinion on the name that policy has
//! allowed: servers that share an address select a site by it. The rest of a TLS connection is
//! encrypted, so its methods, paths and headers are not visible.

use wardian_access::{Host, Scheme};

/// Maximum number of bytes up to the end of a TLS handshake message or of an HTTP header.
const MAX_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;
/// The first byte of a TLS record that contains a handshake message.
const TLS_HANDSHAKE: u8 = 22;

/// The protocol of a connection, and the name of the server that the program sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recognized {
    Tls(ServerName),
    Http(ServerName),
    Other,
}

/// The name of the server in the first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerName {
    Missing,
    Host(Host),
    Invalid,
}

impl ServerName {
    fn parse(text: &str) -> Self {
        Host::parse(text).map_or(Self::Invalid, Self::Host)
    }
}

impl Recognized {
    pub(crate) fn scheme(&self) -> Scheme {
        match self {
            Self::Tls(_) => Scheme::Https,
            Self::Http(_) => Scheme::Http,
            Self::Other => Scheme::Tcp,
        }
    }
}

/// Collects the first bytes until the protocol is recognized.
pub(crate) struct FirstBytes {
    bytes: Vec<u8>,
    /// Reads a TLS handshake, which may consist of several records.
    acceptor: rustls::server::Acceptor,
}

impl FirstBytes {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), acceptor: rustls::server::Acceptor::default() }
    }

    /// Returns all bytes that were added, to forward them.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds bytes. Returns the protocol, or nothing if more bytes are required.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Option<Recognized> {
        self.bytes.extend(bytes);
        let recognized = match self.bytes.first() {
            None => None,
            Some(&TLS_HANDSHAKE) => self.tls(bytes),
            Some(_) => self.http(),
        };
        let is_too_long = self.bytes.len() > MAX_BYTES;
        recognized.or_else(|| is_too_long.then_some(Recognized::Other))
    }

    fn tls(&mut self, mut added: &[u8]) -> Option<Recognized> {
        while !added.is_empty() {
            match self.acceptor.read_tls(&mut added) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => {
                    let name = accepted.client_hello().server_name().map(ServerName::parse);
                    return Some(Recognized::Tls(name.unwrap_or(ServerName::Missing)));
                }
                Err(_) => return Some(Recognized::Other),
            }
        }
        None
    }

    fn http(&self) -> Option<Recognized> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&self.bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return None,
            Err(_) => return Some(Recognized::Other),
        }
        Some(Recognized::Http(server_of_request(&request)))
    }
}

/// Returns the server of an HTTP request.
pub(crate) fn server_of_request(request: &httparse::Request<'_, '_>) -> ServerName {
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let host = match (hosts.next(), hosts.next()) {
        (None, _) => ServerName::Missing,
        (Some(host), None) => named_by(host.value),
        (Some(_), Some(_)) => ServerName::Invalid,
    };
    // A request to a proxy contains the host a second time.
    let target = request.path.unwrap_or_default();
    let is_consistent =
        target.starts_with('/') || target == "*" || named_by(authority_of(target).as_bytes()) == host;
    if is_consistent { host } else { ServerName::Invalid }
}

/// Returns the host in an authority such as `example.com:8080`.
fn named_by(authority: &[u8]) -> ServerName {
    let Ok(text) = str::from_utf8(authority) else { return ServerName::Invalid };
    let text = text.trim_ascii();
    let host = match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => text,
    };
    ServerName::parse(host)
}

/// Returns the authority of an absolute URL, or the text itself.
fn authority_of(target: &str) -> &str {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Returns the first message of a TLS client.
    pub(crate) fn client_hello(name: &'static str) -> Vec<u8> {
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(
            rustls::crypto::aws_lc_rs::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
        let mut client = rustls::ClientConnection::new(Arc::new(config), name.try_into().unwrap()).unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        hello
    }

    fn host(text: &str) -> ServerName {
        ServerName::Host(Host::parse(text).unwrap())
    }

    fn recognize(bytes: &[u8]) -> Option<Recognized> {
        FirstBytes::new().add(bytes)
    }

    #[test]
    fn tls_is_recognized_byte_by_byte_and_across_records() {
        let hello = client_hello("api.example.com");
        assert_eq!(recognize(&hello), Some(Recognized::Tls(host("api.example.com"))));
        assert_eq!(recognize(&client_hello("192.0.2.1")), Some(Recognized::Tls(ServerName::Missing)));
        let mut first = FirstBytes::new();
        for byte in &hello[..hello.len() - 1] {
            assert_eq!(first.add(&[*byte]), None);
        }
        let last = first.add(&hello[hello.len() - 1..]);
        assert_eq!(last, Some(Recognized::Tls(host("api.example.com"))));
        assert_eq!(first.into_bytes(), hello);
        // The same message in ten records.
        let (header, message) = hello.split_at(5);
        let mut records = Vec::new();
        for part in message.chunks(message.len().div_ceil(10)) {
            records.extend(&header[..3]);
            records.extend(u16::try_from(part.len()).unwrap().to_be_bytes());
            records.extend(part);
        }
        assert_eq!(recognize(&records), Some(Recognized::Tls(host("api.example.com"))));
    }

    #[test]
    fn http_is_recognized_with_its_host() {
        let request = |host: &str| format!("GET / HTTP/1.1\r\n{host}accept: */*\r\n\r\n");
        let found = |text: &str| recognize(text.as_bytes());
        let http = |name| Some(Recognized::Http(name));
        assert_eq!(found(&request("Host: API.example.com:8080\r\n")), http(host("api.example.com")));
        assert_eq!(found(&request("host: [::1]:80\r\n")), http(host("::1")));
        assert_eq!(found(&request("Host: 127.0.0.1\r\n")), http(host("127.0.0.1")));
        assert_eq!(found(&request("")), http(ServerName::Missing));
        assert_eq!(found(&request("Host: a.example\r\nHost: b.example\r\n")), http(ServerName::Invalid));
        assert_eq!(
            found("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n"),
            http(host("a.example"))
        );
        let other = "GET http://b.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n";
        assert_eq!(found(other), http(ServerName::Invalid));
        assert_eq!(found("GET / HTTP/1.1\r\nHost: a"), None);
    }

    #[test]
    fn other_protocols_are_recognized() {
        for bytes in [
            &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
            b"SSH-2.0-x\r\n",
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"\x16\x03\x01\0\x05hello",
            b"\x16\x16\x16\x16\x16\x16\x16",
        ] {
            assert_eq!(recognize(bytes), Some(Recognized::Other), "{bytes:?}");
        }
        let endless = format!("GET /{}", "a".repeat(2 * MAX_BYTES));
        assert_eq!(recognize(endless.as_bytes()), Some(Recognized::Other));
        assert_eq!(recognize(b""), None);
    }
}
