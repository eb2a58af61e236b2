//! Where datagrams go to: each place is one use of the network, in one call.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use wardian_monitor::Use;

use super::connections::ReceivedTooMuch;
use crate::limits::Bound;

/// Places of one call whose uses go on. With one more, the use of the oldest ends.
const MOST_PEERS: usize = 1_000;

/// Where datagrams may go to in this call, and come from, since it was decided.
#[derive(Default)]
pub(super) struct Peers {
    uses: HashMap<SocketAddr, Peer>,
    /// The oldest first.
    order: VecDeque<SocketAddr>,
    /// Where those datagrams go that are being sent, in their order.
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

    /// It was decided that they may go there.
    pub(super) fn begin(&mut self, address: SocketAddr, usage: Use) {
        if self.order.len() >= MOST_PEERS
            && let Some(oldest) = self.order.pop_front()
        {
            self.uses.remove(&oldest);
        }
        self.order.push_back(address);
        self.uses.insert(address, Peer { usage, received: 0 });
    }

    /// The call is over.
    pub(super) fn end_uses(&mut self) {
        for address in self.order.drain(..) {
            self.uses.remove(&address);
        }
    }

    /// Datagrams are about to be sent: where each goes is noted.
    pub(super) fn before_sending(&mut self) {
        self.sending = Some(Vec::new());
    }

    /// One of them is allowed to go there.
    pub(super) fn goes_to(&mut self, address: SocketAddr) {
        if let Some(sending) = &mut self.sending {
            sending.push(address);
        }
    }

    /// The first of them were sent, and are of these lengths.
    pub(super) fn after_sending(&mut self, lengths: &[usize]) {
        for (address, length) in self.sending.take().into_iter().flatten().zip(lengths) {
            if let Some(peer) = self.uses.get_mut(&address) {
                peer.usage.sent(*length as u64);
            }
        }
    }

    /// A datagram came. Whether it came from where one was sent in this call.
    pub(super) fn received(
        &mut self,
        address: SocketAddr,
        bytes: usize,
        most: &Bound<u64>,
    ) -> Result<bool, ReceivedTooMuch> {
        let Some(peer) = self.uses.get_mut(&address) else { return Ok(false) };
        peer.usage.received(bytes as u64);
        peer.received = peer.received.saturating_add(bytes as u64);
        if peer.received > most.value { Err(ReceivedTooMuch(most.clone())) } else { Ok(true) }
    }
}
