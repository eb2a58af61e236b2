//! Connections that wait for the next request to the same place.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use hyper::client::conn::http1::SendRequest;
use wardian_policy::{Host, Scheme};

use crate::body::BoxedBody;

/// How long a connection waits. Servers close theirs after about a minute.
const IDLE: Duration = Duration::from_secs(50);
/// How many wait for one place.
const MOST_FOR_PLACE: usize = 8;
/// How many wait at all.
const MOST: usize = 64;

/// Where a connection leads. What was decided on for one request is decided on again for
/// each, so that methods and paths are no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// One end of a connection.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<BoxedBody>,
    /// Where it leads; a proxy alone knows where through it. What one request may be sent
    /// to need not be what the next one may.
    pub(crate) address: Option<IpAddr>,
}

struct Waiting {
    connection: Connection,
    since: Instant,
}

impl Waiting {
    fn is_usable(&self) -> bool {
        self.since.elapsed() < IDLE && self.connection.sender.is_ready()
    }
}

/// Connections that are open and not in use.
#[derive(Default)]
pub(crate) struct Pool {
    waiting: Mutex<HashMap<Place, Vec<Waiting>>>,
}

impl Pool {
    /// A connection to a place, the one that was used last.
    pub(crate) fn take(&self, place: &Place) -> Option<Connection> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let of_place = waiting.get_mut(place)?;
        let found =
            std::iter::from_fn(|| of_place.pop()).find(Waiting::is_usable).map(|found| found.connection);
        if of_place.is_empty() {
            waiting.remove(place);
        }
        found
    }

    /// Keeps a connection whose exchange is over.
    pub(crate) fn put(&self, place: Place, connection: Connection) {
        if !connection.sender.is_ready() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.values().map(Vec::len).sum::<usize>() >= MOST {
            for of_place in waiting.values_mut() {
                of_place.retain(Waiting::is_usable);
            }
            waiting.retain(|_, of_place| !of_place.is_empty());
            if waiting.values().map(Vec::len).sum::<usize>() >= MOST {
                return;
            }
        }
        let of_place = waiting.entry(place).or_default();
        if of_place.len() < MOST_FOR_PLACE {
            of_place.push(Waiting { connection, since: Instant::now() });
        }
    }
}
