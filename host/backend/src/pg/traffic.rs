//! Records the connections to PostgreSQL servers.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use wardian_access::{HostConnection, HostConnections, HostPeer};

/// The traffic of one connection, which is recorded when the connection ends or could not be opened.
pub(super) struct Traffic {
    connections: Option<Arc<dyn HostConnections>>,
    peer: HostPeer,
    begun: Instant,
    pub(super) address: Option<IpAddr>,
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl fmt::Debug for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Traffic").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Traffic {
    pub(super) fn begin(connections: Option<&Arc<dyn HostConnections>>, peer: HostPeer) -> Self {
        let connections = connections.cloned();
        Self { connections, peer, begun: Instant::now(), address: None, sent: 0, received: 0 }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        let Some(connections) = &self.connections else { return };
        connections.finished(&HostConnection {
            peer: self.peer.clone(),
            address: self.address,
            sent: self.sent,
            received: self.received,
            duration: self.begun.elapsed(),
        });
    }
}
