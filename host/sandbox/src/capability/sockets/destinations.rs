//! Where the sockets of an instance lead.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wardian_monitor::Capability;
use wardian_policy::{Host, NetworkRequest, Request, RequestError, Scheme};
use wasmtime_wasi::sockets::SocketAddrUse;

use crate::in_flight::InFlight;

/// Addresses whose names are remembered.
const MOST_ADDRESSES: usize = 1_000;
/// Names of one address that are remembered.
const MOST_NAMES: usize = 8;
/// Places that datagrams go to without each being decided on and recorded, until the next
/// call.
const MOST_PEERS: usize = 1_000;

/// Decides where one instance's sockets may lead.
pub(crate) struct Destinations {
    in_flight: InFlight,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Names that were looked up, by the addresses that they led to.
    names: HashMap<IpAddr, Vec<Host>>,
    /// The addresses, the oldest first.
    order: VecDeque<IpAddr>,
    /// Where datagrams may go to in this call, since it was decided.
    peers: HashSet<SocketAddr>,
}

impl Destinations {
    pub(crate) fn new(in_flight: InFlight) -> Self {
        Self { in_flight, known: Mutex::default() }
    }

    pub(super) fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    /// A call begins: what is sent from here on is sent in it.
    pub(super) fn enter(&self) {
        let mut known = self.known();
        if !known.peers.is_empty() {
            known.peers.clear();
        }
    }

    /// A name led there.
    pub(super) fn remember(&self, name: &Host, addresses: &[IpAddr]) {
        let mut known = self.known();
        for address in addresses {
            if !known.names.contains_key(address) {
                if known.order.len() >= MOST_ADDRESSES
                    && let Some(oldest) = known.order.pop_front()
                {
                    known.names.remove(&oldest);
                }
                known.order.push_back(*address);
            }
            let names = known.names.entry(*address).or_default();
            if names.len() < MOST_NAMES && !names.contains(name) {
                names.push(name.clone());
            }
        }
    }

    /// Whether a socket may be used so.
    pub(super) fn permits(&self, address: SocketAddr, purpose: SocketAddrUse) -> bool {
        // What is decided on is what is reached: IPv4 in IPv6's clothes is IPv4.
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        match purpose {
            SocketAddrUse::TcpConnect => self.may_reach(Scheme::Tcp, address),
            SocketAddrUse::UdpSend => {
                self.known().peers.contains(&address) || self.may_send_datagrams(address)
            }
            SocketAddrUse::UdpReceive => self.known().peers.contains(&address),
            // The system chooses, as for every connection.
            SocketAddrUse::TcpBind | SocketAddrUse::UdpBind
                if address.ip().is_unspecified() && address.port() == 0 =>
            {
                true
            }
            SocketAddrUse::TcpBind | SocketAddrUse::UdpBind => self.refuse("binding", address),
            SocketAddrUse::TcpListen | SocketAddrUse::TcpAccept => self.refuse("listening", address),
        }
    }

    fn may_send_datagrams(&self, address: SocketAddr) -> bool {
        let may = self.may_reach(Scheme::Udp, address);
        if may {
            let mut known = self.known();
            if known.peers.len() < MOST_PEERS {
                known.peers.insert(address);
            }
        }
        may
    }

    /// Decides as which of its names an address is reached, or as itself, and records it.
    fn may_reach(&self, scheme: Scheme, address: SocketAddr) -> bool {
        let monitor = self.in_flight.monitor();
        let mut requests = Vec::new();
        let names = self.known().names.get(&address.ip()).cloned().unwrap_or_default();
        let hosts = names.into_iter().map(|name| name.to_string()).chain([address.ip().to_string()]);
        for host in hosts {
            match request(scheme, &host, address.port()) {
                Ok(request) => requests.push(Request::Network(request)),
                Err(error) => {
                    let target = format!("{scheme}://{address}");
                    monitor.refuse(&self.in_flight.call(), Capability::Network, target, error);
                    return false;
                }
            }
        }
        let is_allowed = |request: &Request| monitor.policy().decide_at(request, address.ip()).is_allowed();
        let chosen = requests.iter().position(is_allowed).unwrap_or_default();
        let Some(request) = requests.into_iter().nth(chosen) else { return false };
        match monitor.begin_at(&self.in_flight.call(), request, address.ip()) {
            Ok(mut usage) => {
                usage.connected_to(address.ip());
                true
            }
            Err(_) => false,
        }
    }

    fn refuse(&self, what: &str, address: SocketAddr) -> bool {
        let reason = format!("{what} at {address} is not for plugins");
        let monitor = self.in_flight.monitor();
        monitor.refuse(&self.in_flight.call(), Capability::Network, format!("tcp://{address}"), reason);
        false
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request(scheme: Scheme, host: &str, port: u16) -> Result<NetworkRequest, RequestError> {
    match scheme {
        Scheme::Udp => NetworkRequest::udp(host, port),
        _ => NetworkRequest::tcp(host, port),
    }
}

#[cfg(test)]
mod tests {
    use wardian_monitor::{Call, Monitor};
    use wardian_plugin::address::ProviderAddress;

    use super::*;
    use crate::current_call::CurrentCall;

    fn destinations() -> Destinations {
        let monitor = Monitor::that_denies_everything(&ProviderAddress::built_in("nobody"));
        let call = Call::outside_of_calls(&"nobody".into());
        Destinations::new(InFlight::new(monitor, CurrentCall::new(call)))
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_oldest_goes_first() {
        let destinations = destinations();
        let name = |number: usize| Host::parse(&format!("n{number}.example")).unwrap();
        let address = |number: u32| IpAddr::from((0x0a00_0000 + number).to_be_bytes());
        for number in 0..2_000 {
            destinations.remember(&name(number as usize), &[address(number)]);
        }
        for number in 0..100 {
            destinations.remember(&name(number), &[address(1_999)]);
        }
        let known = destinations.known();
        assert_eq!((known.names.len(), known.order.len()), (MOST_ADDRESSES, MOST_ADDRESSES));
        assert!(!known.names.contains_key(&address(999)) && known.names.contains_key(&address(1_000)));
        assert_eq!(known.names[&address(1_999)].len(), MOST_NAMES);
    }

    #[test]
    fn nothing_but_an_address_of_the_systems_choice_is_bound() {
        let destinations = destinations();
        let permits = |address: &str, purpose| destinations.permits(address.parse().unwrap(), purpose);
        assert!(permits("0.0.0.0:0", SocketAddrUse::TcpBind));
        assert!(permits("[::]:0", SocketAddrUse::UdpBind));
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
            assert!(!permits(address, purpose), "{address} {purpose:?}");
        }
    }
}
