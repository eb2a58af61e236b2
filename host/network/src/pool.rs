//! Idle connections, which are reused for later requests to the same destination.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use hyper::client::conn::http1::SendRequest;
use wardian_access::{Host, Scheme};

use crate::boxed_body::BoxedBody;

/// Maximum idle time of a connection. Most servers close idle connections after about a minute.
const MAX_IDLE_TIME: Duration = Duration::from_secs(50);
/// Maximum number of idle connections per destination.
const MAX_IDLE_PER_ENDPOINT: usize = 8;
/// Maximum number of idle connections.
const MAX_IDLE: usize = 64;

/// The destination of a connection. Each request is checked separately, so methods and paths are
/// not part of the destination.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// An open connection.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<BoxedBody>,
    /// The address of the peer; `None` through a proxy. Each later request is checked again with
    /// this address.
    pub(crate) address: Option<IpAddr>,
}

struct Waiting {
    connection: Connection,
    since: Instant,
}

impl Waiting {
    fn is_usable(&self) -> bool {
        self.since.elapsed() < MAX_IDLE_TIME && self.connection.sender.is_ready()
    }
}

/// The idle connections.
#[derive(Default)]
pub(crate) struct Pool {
    waiting: Mutex<HashMap<Endpoint, Vec<Waiting>>>,
}

impl Pool {
    /// Returns the most recently used connection to a destination.
    pub(crate) fn take(&self, endpoint: &Endpoint) -> Option<Connection> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = waiting.get_mut(endpoint)?;
        let found =
            std::iter::from_fn(|| connections.pop()).find(Waiting::is_usable).map(|found| found.connection);
        if connections.is_empty() {
            waiting.remove(endpoint);
        }
        found
    }

    /// Stores a connection after its exchange.
    pub(crate) fn put(&self, endpoint: Endpoint, connection: Connection) {
        if !connection.sender.is_ready() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.values().map(Vec::len).sum::<usize>() >= MAX_IDLE {
            for connections in waiting.values_mut() {
                connections.retain(Waiting::is_usable);
            }
            waiting.retain(|_, connections| !connections.is_empty());
            if waiting.values().map(Vec::len).sum::<usize>() >= MAX_IDLE {
                return;
            }
        }
        let connections = waiting.entry(endpoint).or_default();
        if connections.len() < MAX_IDLE_PER_ENDPOINT {
            connections.push(Waiting { connection, since: Instant::now() });
        }
    }
}
