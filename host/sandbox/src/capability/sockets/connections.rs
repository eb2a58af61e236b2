//! TCP connections. In each call that uses it, a connection is one network access.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_access::{AccessRequest, Denied};
use wardian_monitor::{Capability, Use};
use wardian_network::{Permit, Ticket, Timeouts};
use wasmtime_wasi_io::streams::StreamResult;

use crate::capability::streams::{Meter, denied};
use crate::current_call::CurrentCall;
use crate::limits::Bound;

/// An instance's connections, by socket.
#[derive(Default)]
pub(super) struct Connections {
    /// A connection that was allowed, before its socket is known.
    beginning: Option<Arc<Connection>>,
    /// The connections by socket, at most as many as the instance may have sockets.
    of_sockets: HashMap<u32, Arc<Connection>>,
}

/// A connection, from the decision to allow it until its socket and both of its streams are
/// dropped, or the connection fails.
///
/// The access is recorded for the call that began it. If a later call uses the connection, the
/// access is checked again, and recorded for that call.
pub(super) struct Connection {
    current_call: CurrentCall,
    request: AccessRequest,
    address: IpAddr,
    /// Maximum number of bytes received in one call.
    most: Bound<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// A permit of the limiter of concurrent requests and connections.
    permit: Option<Permit>,
    usage: Option<Use>,
    received: u64,
    is_over: bool,
}

/// A connection or a datagram peer has sent more data than allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {} bytes were received from this peer in one call{}", .0.value, .0.origin())]
pub(super) struct ReceivedTooMuch(pub(super) Bound<u64>);

impl Connections {
    /// Prepares for the next socket, to which the next connection will belong.
    pub(super) fn before_connecting(&mut self) {
        self.beginning = None;
    }

    pub(super) fn begin(&mut self, connection: Arc<Connection>) {
        self.beginning = Some(connection);
    }

    /// Assigns the connection that has just begun to this socket.
    pub(super) fn keep(&mut self, socket: u32) {
        if let Some(connection) = self.beginning.take() {
            self.of_sockets.insert(socket, connection);
        }
    }

    pub(super) fn get(&self, socket: u32) -> Option<&Arc<Connection>> {
        self.of_sockets.get(&socket)
    }

    /// Drops the connection of a socket that was closed or is not connected.
    pub(super) fn forget(&mut self, socket: u32) {
        self.of_sockets.remove(&socket);
    }

    /// Returns the number of sockets that are connected or connecting.
    pub(super) fn count(&self) -> usize {
        self.of_sockets.values().filter(|connection| connection.state().permit.is_some()).count()
    }

    /// Ends the accesses of the call. A connection that remains open begins a new access in the
    /// next call.
    pub(super) fn end_uses(&self) {
        for connection in self.of_sockets.values() {
            connection.end_use();
        }
    }
}

impl Connection {
    pub(super) fn new(
        current_call: CurrentCall,
        request: AccessRequest,
        address: IpAddr,
        most: Bound<u64>,
    ) -> Self {
        Self { current_call, request, address, most, state: Mutex::default() }
    }

    /// Waits for a permit and begins the access; returns whether it is allowed.
    pub(super) async fn begin(self: Arc<Self>, ticket: Ticket) -> bool {
        // The timeout is the same as for an HTTP request.
        match ticket.acquire(Timeouts::default().first_byte).await {
            Ok(permit) => {
                let mut state = self.state();
                state.permit = Some(permit);
                self.used(&mut state).is_ok()
            }
            Err(error) => {
                self.refuse(&error);
                false
            }
        }
    }

    fn used<'a>(&self, state: &'a mut State) -> Result<&'a mut Use, Denied> {
        match &mut state.usage {
            Some(usage) => Ok(usage),
            none => {
                let call = self.current_call.get();
                let usage =
                    self.current_call.monitor().begin_at(&call, self.request.clone(), self.address)?;
                state.received = 0;
                Ok(none.insert(usage))
            }
        }
    }

    fn end_use(&self) {
        self.state().usage = None;
    }

    fn refuse(&self, reason: &dyn std::fmt::Display) {
        let target = match &self.request {
            AccessRequest::Network(request) => request.destination(),
            request => request.to_string(),
        };
        self.current_call.monitor().reject(&self.current_call.get(), Capability::Network, target, reason);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Meter for Connection {
    fn check_read(&self, size: usize) -> StreamResult<usize> {
        let mut state = self.state();
        if state.is_over {
            return Err(denied(ReceivedTooMuch(self.most.clone())));
        }
        self.used(&mut state).map_err(denied)?;
        let left = usize::try_from(self.most.value.saturating_sub(state.received)).unwrap_or(usize::MAX);
        // Reading one byte beyond the limit distinguishes excess data from the end of the
        // stream.
        Ok(size.min(left.saturating_add(1)))
    }

    fn has_read(&self, bytes: usize) -> StreamResult<()> {
        let mut state = self.state();
        state.received = state.received.saturating_add(bytes as u64);
        if let Some(usage) = state.usage.as_mut().filter(|_| bytes > 0) {
            usage.add_received(bytes as u64);
        }
        if state.received <= self.most.value {
            return Ok(());
        }
        state.is_over = true;
        let error = ReceivedTooMuch(self.most.clone());
        self.refuse(&error);
        Err(denied(error))
    }

    fn check_write(&self, _bytes: usize) -> StreamResult<()> {
        self.used(&mut self.state()).map(drop).map_err(denied)
    }

    fn has_written(&self, bytes: usize) {
        if let Some(usage) = self.state().usage.as_mut().filter(|_| bytes > 0) {
            usage.add_sent(bytes as u64);
        }
    }
}
