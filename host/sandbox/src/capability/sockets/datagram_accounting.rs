//! Destinations of datagrams. In each call, every destination is one network access.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use wardian_monitor::Use;

use super::connections::ReceivedTooMuch;
use crate::limits::Bound;

/// Maximum number of active accesses in one call. Each additional access ends the oldest one.
const MAX_PEERS: usize = 1_000;

/// The allowed destinations of datagrams in this call, which are also the allowed senders.
#[derive(Default)]
pub(super) struct Peers {
    uses: HashMap<SocketAddr, Peer>,
    /// The addresses, in the order in which they were added.
    order: VecDeque<SocketAddr>,
    /// The destinations of the datagrams that are being sent, in the order of sending.
    sending: Option<Vec<SocketAddr>>,
}

struct Peer {
    usage: Use,
    received: u64,
}

impl Peers {
    pub(super) fn contains(&self, address: SocketAddr) -> bool {
        self.uses.contains_key(&address)
    }

    /// Adds an allowed destination.
    pub(super) fn begin(&mut self, address: SocketAddr, usage: Use) {
        if self.order.len() >= MAX_PEERS
            && let Some(oldest) = self.order.pop_front()
        {
            self.uses.remove(&oldest);
        }
        self.order.push_back(address);
        self.uses.insert(address, Peer { usage, received: 0 });
    }

    /// Ends the accesses of the call.
    pub(super) fn end_uses(&mut self) {
        for address in self.order.drain(..) {
            self.uses.remove(&address);
        }
    }

    /// Prepares for recording the destinations of the next datagrams.
    pub(super) fn before_sending(&mut self) {
        self.sending = Some(Vec::new());
    }

    /// Records the destination of an allowed datagram.
    pub(super) fn will_send_to(&mut self, address: SocketAddr) {
        if let Some(sending) = &mut self.sending {
            sending.push(address);
        }
    }

    /// Counts the datagrams that were sent. `lengths` contains the lengths of the first recorded
    /// datagrams.
    pub(super) fn after_sending(&mut self, lengths: &[usize]) {
        for (address, length) in self.sending.take().into_iter().flatten().zip(lengths) {
            if let Some(peer) = self.uses.get_mut(&address) {
                peer.usage.add_sent(*length as u64);
            }
        }
    }

    /// Counts a received datagram. Returns whether it came from a destination of this call.
    pub(super) fn received(
        &mut self,
        address: SocketAddr,
        bytes: usize,
        most: &Bound<u64>,
    ) -> Result<bool, ReceivedTooMuch> {
        let Some(peer) = self.uses.get_mut(&address) else { return Ok(false) };
        peer.usage.add_received(bytes as u64);
        peer.received = peer.received.saturating_add(bytes as u64);
        if peer.received > most.value { Err(ReceivedTooMuch(most.clone())) } else { Ok(true) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use wardian_access::{AccessRequest, NetworkRequest};
    use wardian_plugin::PluginCall;

    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;
    use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
    use wardian_policy::{Level, Policy, PolicyFile};

    use super::*;

    fn monitor() -> Monitor {
        let address = ProviderAddress::parse("acme/x").unwrap();
        let text = "plugin \"*\" {\n allow network {\n hosts = [\"127.0.0.1\"]\n schemes = [\"udp\"]\n ports = [\"*\"]\n addresses = [\"loopback\"]\n }\n}\n";
        let root = Path::new("/srv/project");
        let file = PolicyFile::parse(Level::User, &SourceFile::new("p.hcl", text), root).unwrap();
        let policy = Policy::new(root, [file], []).for_plugin(&address);
        let identity = PluginIdentity { address, version: None, sha256: None, confinement: None };
        Monitor::new(policy, identity, Arc::new(AuditLog::disabled()))
    }

    #[test]
    fn excess_destinations_drop_the_oldest() {
        let (monitor, call) = (monitor(), PluginCall::outside_of_calls(&"acme/x".into()));
        let most = Bound { value: 10, set_at: None };
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let mut peers = Peers::default();
        for port in 1..=1_500 {
            let request = AccessRequest::Network(NetworkRequest::udp("127.0.0.1", port).unwrap());
            peers.begin(address(port), monitor.begin(&call, request).unwrap());
        }
        assert_eq!((peers.uses.len(), peers.order.len()), (MAX_PEERS, MAX_PEERS));
        assert_eq!(peers.received(address(500), 1, &most), Ok(false));
        assert_eq!(peers.received(address(501), 10, &most), Ok(true));
        assert_eq!(peers.received(address(501), 1, &most), Err(ReceivedTooMuch(most.clone())));
        assert_eq!(peers.received(address(502), 1, &most), Ok(true));
        peers.end_uses();
        assert!(peers.uses.is_empty() && !peers.contains(address(502)));
    }
}
