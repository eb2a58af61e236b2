//! Forwards queries for records other than addresses to the machine's name servers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::message::{Query, ResponseCode};

const CONFIGURATION: &str = "/etc/resolv.conf";
const PORT: u16 = 53;
/// Time limit for the response of one server.
const SERVER_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_RESPONSE_BYTES: usize = 4096;

/// The machine's name servers.
#[derive(Clone, Debug)]
pub(crate) struct NameServers(Vec<IpAddr>);

impl NameServers {
    /// Reads the servers from the system's configuration. Without one, resolvers use this machine.
    pub(crate) fn from_system() -> Self {
        Self::from_configuration(&std::fs::read_to_string(CONFIGURATION).unwrap_or_default())
    }

    fn from_configuration(text: &str) -> Self {
        let servers = text.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            (words.next() == Some("nameserver")).then(|| words.next()?.parse().ok()).flatten()
        });
        let servers: Vec<IpAddr> = servers.collect();
        if servers.is_empty() {
            Self(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
        } else {
            Self(servers)
        }
    }

    pub(crate) fn contains(&self, address: SocketAddr) -> bool {
        address.port() == PORT && self.0.contains(&address.ip())
    }

    /// Forwards the question of a query, and returns the first response.
    pub(crate) async fn forward(&self, query: &Query) -> Vec<u8> {
        let message = query.without_additions();
        for server in &self.0 {
            if let Ok(Some(response)) = timeout(SERVER_TIMEOUT, ask(*server, &message)).await {
                return response;
            }
        }
        query.error(ResponseCode::ServerFailure)
    }
}

async fn ask(server: IpAddr, message: &[u8]) -> Option<Vec<u8>> {
    let local: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((local, 0)).await.ok()?;
    socket.connect((server, PORT)).await.ok()?;
    socket.send(message).await.ok()?;
    let mut response = vec![0; MAX_RESPONSE_BYTES];
    loop {
        let length = socket.recv(&mut response).await.ok()?;
        if length >= 2 && response[..2] == message[..2] {
            response.truncate(length);
            return Some(response);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_from_the_configuration() {
        let text = "# nameserver 192.0.2.1\nsearch corp.example\nnameserver 192.0.2.2\n nameserver\t::1 \n\
            nameserver invalid\n";
        let servers = NameServers::from_configuration(text);
        assert!(servers.contains("192.0.2.2:53".parse().unwrap()));
        assert!(servers.contains("[::1]:53".parse().unwrap()));
        for other in ["192.0.2.1:53", "192.0.2.2:54", "127.0.0.1:53"] {
            assert!(!servers.contains(other.parse().unwrap()), "{other}");
        }
        assert!(NameServers::from_configuration("").contains("127.0.0.1:53".parse().unwrap()));
    }
}
