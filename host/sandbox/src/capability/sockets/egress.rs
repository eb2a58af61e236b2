//! Checks the destinations that an instance's sockets contact.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_access::{AccessRequest, AccessRequestError, Host, NetworkRequest, Scheme};
use wardian_monitor::Capability;
use wardian_network::{KnownNames, Ticket};
use wasmtime_wasi::sockets::SocketAddrUse;

use super::connections::{Connection, Connections, ReceivedTooMuch};
use super::datagram_accounting::Peers;
use crate::current_call::CurrentCall;
use crate::network::ProviderNetwork;

/// A future that returns whether a socket may be used.
type Permission = Pin<Box<dyn Future<Output = bool> + Send + Sync>>;

/// Checks the destinations of one instance's sockets, and holds the accesses that it allowed.
pub(crate) struct SocketEgress {
    current_call: CurrentCall,
    network: Arc<ProviderNetwork>,
    known: Mutex<KnownNames>,
    connections: Mutex<Connections>,
    peers: Mutex<Peers>,
}

impl SocketEgress {
    pub(crate) fn new(current_call: CurrentCall, network: Arc<ProviderNetwork>) -> Self {
        let (known, connections, peers) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { current_call, network, known, connections, peers }
    }

    pub(super) fn current_call(&self) -> &CurrentCall {
        &self.current_call
    }

    /// Ends the current accesses when a call begins or the operation has ended, since subsequent
    /// traffic is not part of the previous call.
    pub(super) fn end_uses(&self) {
        self.connections().end_uses();
        self.peers().end_uses();
    }

    pub(super) fn connections(&self) -> MutexGuard<'_, Connections> {
        lock(&self.connections)
    }

    /// Prepares for sending datagrams.
    pub(super) fn before_sending(&self) {
        self.peers().before_sending();
    }

    /// Counts the datagrams that were sent. `lengths` contains the lengths of the first recorded
    /// datagrams.
    pub(super) fn after_sending(&self, lengths: &[usize]) {
        self.peers().after_sending(lengths);
    }

    /// Counts a received datagram. Returns whether to pass it to the guest.
    pub(super) fn receives(&self, address: SocketAddr, bytes: usize) -> Result<bool, ReceivedTooMuch> {
        let received = self.peers().received(canonical(address), bytes, self.network.response());
        received.inspect_err(|error| self.refuse(format!("udp://{address}"), error))
    }

    /// Records that a name resolved to these addresses.
    pub(super) fn remember(&self, name: &Host, addresses: &[IpAddr]) {
        self.known().remember(name, addresses);
    }

    /// Whether a socket may be used for this purpose.
    pub(super) fn permits(&self, address: SocketAddr, purpose: SocketAddrUse) -> Permission {
        // The address that is contacted is checked; for an IPv4-mapped IPv6 address, that is an
        // IPv4 address.
        let address = canonical(address);
        let scheme = match purpose {
            SocketAddrUse::TcpConnect => Some("tcp"),
            SocketAddrUse::UdpSend => Some("udp"),
            _ => None,
        };
        if let (Some(scheme), Err(reason)) = (scheme, self.network.check_declared()) {
            self.refuse(format!("{scheme}://{address}"), reason);
            return Box::pin(std::future::ready(false));
        }
        let permits = match purpose {
            SocketAddrUse::TcpConnect => match self.may_connect(address) {
                Some((connection, ticket)) => return Box::pin(connection.begin(ticket)),
                None => false,
            },
            SocketAddrUse::UdpSend => self.may_send_datagram(address),
            SocketAddrUse::UdpReceive => self.peers().contains(address),
            // The system chooses the address, as it does for every connection.
            SocketAddrUse::TcpBind | SocketAddrUse::UdpBind
                if address.ip().is_unspecified() && address.port() == 0 =>
            {
                true
            }
            SocketAddrUse::TcpBind | SocketAddrUse::UdpBind => self.is_not_for_plugins("binding", address),
            SocketAddrUse::TcpListen | SocketAddrUse::TcpAccept => {
                self.is_not_for_plugins("listening", address)
            }
        };
        Box::pin(std::future::ready(permits))
    }

    /// Checks a connection. An allowed connection then waits for a permit.
    fn may_connect(&self, address: SocketAddr) -> Option<(Arc<Connection>, Ticket)> {
        let request = self.choose_request(Scheme::Tcp, address)?;
        let monitor = self.current_call.monitor();
        if !monitor.policy().decide_at(&request, address.ip()).is_allowed() {
            // An allowed access begins only after it has waited for a permit; a denial is recorded
            // immediately.
            let _ = monitor.begin_at(&self.current_call.get(), request, address.ip());
            return None;
        }
        let mut connections = self.connections();
        let limiter = self.network.limiter();
        // An instance that holds every permit would wait for itself, so the connection is refused
        // immediately.
        if connections.count() >= limiter.limit() {
            let origin = self.network.concurrent().origin();
            let most = limiter.limit();
            self.refuse(
                format!("tcp://{address}"),
                format!("it has {most} open connections, the maximum number{origin}"),
            );
            return None;
        }
        let most = self.network.response().clone();
        let connection = Arc::new(Connection::new(self.current_call.clone(), request, address.ip(), most));
        connections.begin(Arc::clone(&connection));
        Some((connection, limiter.ticket()))
    }

    fn may_send_datagram(&self, address: SocketAddr) -> bool {
        if !self.peers().contains(address) {
            let Some(request) = self.choose_request(Scheme::Udp, address) else { return false };
            let call = self.current_call.get();
            match self.current_call.monitor().begin_at(&call, request, address.ip()) {
                Ok(usage) => self.peers().begin(address, usage),
                Err(_) => return false,
            }
        }
        self.peers().will_send_to(address);
        true
    }

    /// Chooses the name or the address that is checked. A granted name or address is preferred.
    fn choose_request(&self, scheme: Scheme, address: SocketAddr) -> Option<AccessRequest> {
        let policy = self.current_call.monitor().policy();
        let mut requests = Vec::new();
        let names: Vec<Host> = self.known().of_address(address.ip()).cloned().collect();
        let hosts = names.into_iter().map(|name| name.to_string()).chain([address.ip().to_string()]);
        for host in hosts {
            match request(scheme, &host, address.port()) {
                Ok(request) => requests.push(AccessRequest::Network(request)),
                Err(error) => {
                    self.refuse(format!("{scheme}://{address}"), error);
                    return None;
                }
            }
        }
        let is_allowed = |request: &AccessRequest| policy.decide_at(request, address.ip()).is_allowed();
        let chosen = requests.iter().position(is_allowed).unwrap_or_default();
        requests.into_iter().nth(chosen)
    }

    fn is_not_for_plugins(&self, what: &str, address: SocketAddr) -> bool {
        let reason = format!("{what} at {address} is not allowed for plugins");
        self.refuse(format!("tcp://{address}"), reason);
        false
    }

    fn refuse(&self, target: String, reason: impl std::fmt::Display) {
        let call = self.current_call.get();
        self.current_call.monitor().reject(&call, Capability::Network, target, reason);
    }

    fn known(&self) -> MutexGuard<'_, KnownNames> {
        lock(&self.known)
    }

    fn peers(&self) -> MutexGuard<'_, Peers> {
        lock(&self.peers)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn request(scheme: Scheme, host: &str, port: u16) -> Result<NetworkRequest, AccessRequestError> {
    match scheme {
        Scheme::Udp => NetworkRequest::udp(host, port),
        _ => NetworkRequest::tcp(host, port),
    }
}

#[cfg(test)]
mod tests {
    use wardian_address::ProviderAddress;
    use wardian_monitor::Monitor;
    use wardian_plugin::PluginCall;

    use super::*;
    use crate::grants::Grants;

    fn egress() -> SocketEgress {
        let monitor = Monitor::deny_all(&ProviderAddress::built_in("nobody"));
        let call = PluginCall::outside_of_calls(&"nobody".into());
        let network = Arc::new(ProviderNetwork::new(&Arc::default(), &Grants::denied_by(monitor.clone())));
        SocketEgress::new(CurrentCall::new(monitor, call), network)
    }

    #[tokio::test]
    async fn only_system_chosen_addresses_can_be_bound() {
        let egress = egress();
        let permits = |address: &str, purpose| egress.permits(address.parse().unwrap(), purpose);
        assert!(permits("0.0.0.0:0", SocketAddrUse::TcpBind).await);
        assert!(permits("[::]:0", SocketAddrUse::UdpBind).await);
        for (address, purpose) in [
            ("0.0.0.0:80", SocketAddrUse::TcpBind),
            ("127.0.0.1:0", SocketAddrUse::UdpBind),
            ("0.0.0.0:0", SocketAddrUse::TcpListen),
            ("192.0.2.1:5", SocketAddrUse::TcpAccept),
            ("192.0.2.1:5", SocketAddrUse::TcpConnect),
            ("192.0.2.1:0", SocketAddrUse::TcpConnect),
            ("192.0.2.1:5", SocketAddrUse::UdpSend),
            ("192.0.2.1:5", SocketAddrUse::UdpReceive),
        ] {
            assert!(!permits(address, purpose).await, "{address} {purpose:?}");
        }
    }
}
