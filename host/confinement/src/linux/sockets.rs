//! The sockets of a program that the host has created.
//!
//! An internet stream socket is one end of a TCP connection on the loopback interface from the
//! beginning, so every option can be set on it. The host holds the other end, and relays it to a server
//! when the program connects. Whenever the number of unconnected sockets has doubled, the host closes its
//! ends of those that the program has closed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::linux::kernel;
use crate::linux::relay::{Family, loopback_pair};

/// Maximum number of datagram sockets. Each occupies a descriptor and a task of the host.
const MAX_DATAGRAM_SOCKETS: usize = 1_000;
/// Maximum number of stream sockets that are not connected. Each occupies a descriptor of the host.
const MAX_UNCONNECTED: usize = 16_384;
/// Number of unconnected sockets at which the host first looks for closed ones.
const MIN_SWEPT: usize = 64;

/// The sockets of one program, by inode.
#[derive(Default)]
pub(crate) struct ProgramSockets(Mutex<Sockets>);

#[derive(Default)]
struct Sockets {
    datagram: HashSet<u64>,
    streams: HashMap<u64, StreamState>,
    unconnected: usize,
    sweep_at: usize,
}

enum StreamState {
    /// The host's end.
    Unconnected(TcpStream),
    Connecting,
    Connected,
}

impl ProgramSockets {
    fn lock(&self) -> MutexGuard<'_, Sockets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_datagram_socket(&self, inode: u64) -> bool {
        self.lock().datagram.contains(&inode)
    }

    /// Adds a datagram socket.
    ///
    /// # Errors
    /// Returns `EMFILE` if the program has too many.
    pub(crate) fn add_datagram_socket(&self, socket: &OwnedFd) -> io::Result<u64> {
        let mut sockets = self.lock();
        if sockets.datagram.len() >= MAX_DATAGRAM_SOCKETS {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let inode = rustix::fs::fstat(socket)?.st_ino;
        sockets.datagram.insert(inode);
        Ok(inode)
    }

    pub(crate) fn remove_datagram_socket(&self, inode: u64) {
        self.lock().datagram.remove(&inode);
    }

    /// Creates a stream socket for the program.
    ///
    /// # Errors
    /// Returns `EMFILE` if the program has too many, and other errors if the host has.
    pub(crate) fn create_stream(&self, family: Family, nonblocking: bool) -> io::Result<OwnedFd> {
        let (theirs, ours) = loopback_pair(family)?;
        let theirs = OwnedFd::from(theirs);
        kernel::set_nonblocking(theirs.as_fd(), nonblocking)?;
        let inode = rustix::fs::fstat(&theirs)?.st_ino;
        let mut sockets = self.lock();
        if sockets.unconnected >= sockets.sweep_at.max(MIN_SWEPT) {
            sockets.close_abandoned();
        }
        if sockets.unconnected >= MAX_UNCONNECTED {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        sockets.unconnected += 1;
        sockets.streams.insert(inode, StreamState::Unconnected(ours));
        Ok(theirs)
    }

    /// Begins to connect a socket. The host's end is removed from the
    /// table until the call has succeeded or failed.
    ///
    /// # Errors
    /// Returns the error number of the call if the socket cannot be connected.
    pub(crate) fn begin_connecting(&self, inode: u64) -> Result<TcpStream, i32> {
        let mut sockets = self.lock();
        match sockets.streams.get_mut(&inode) {
            None => Err(libc::EAFNOSUPPORT),
            Some(StreamState::Connecting) => Err(libc::EALREADY),
            Some(StreamState::Connected) => Err(libc::EISCONN),
            Some(state) => match std::mem::replace(state, StreamState::Connecting) {
                StreamState::Unconnected(stream) => {
                    sockets.unconnected -= 1;
                    Ok(stream)
                }
                StreamState::Connecting | StreamState::Connected => Err(libc::EALREADY),
            },
        }
    }

    /// Returns a socket to its state after a connection failed: the program may try another address.
    pub(crate) fn fail_connecting(&self, inode: u64, stream: TcpStream) {
        let mut sockets = self.lock();
        sockets.unconnected += 1;
        sockets.streams.insert(inode, StreamState::Unconnected(stream));
    }

    pub(crate) fn set_connected(&self, inode: u64) {
        self.lock().streams.insert(inode, StreamState::Connected);
    }

    pub(crate) fn is_connected(&self, inode: u64) -> bool {
        matches!(self.lock().streams.get(&inode), Some(StreamState::Connected))
    }

    /// Forgets a socket whose connection has ended.
    pub(crate) fn remove_stream(&self, inode: u64) {
        self.lock().streams.remove(&inode);
    }
}

impl Sockets {
    /// Closes the host's ends of sockets that the program has closed.
    fn close_abandoned(&mut self) {
        let unconnected: Vec<(u64, &TcpStream)> = self
            .streams
            .iter()
            .filter_map(|(inode, state)| match state {
                StreamState::Unconnected(stream) => Some((*inode, stream)),
                StreamState::Connecting | StreamState::Connected => None,
            })
            .collect();
        let mut polled: Vec<PollFd<'_>> =
            unconnected.iter().map(|(_, stream)| PollFd::new(*stream, PollFlags::RDHUP)).collect();
        let without_waiting = Timespec { tv_sec: 0, tv_nsec: 0 };
        let abandoned: Vec<u64> = match poll(&mut polled, Some(&without_waiting)) {
            Ok(_) => unconnected
                .iter()
                .zip(&polled)
                .filter(|(_, polled)| !polled.revents().is_empty())
                .map(|((inode, _), _)| *inode)
                .collect(),
            // They stay open until the next attempt.
            Err(_) => Vec::new(),
        };
        for inode in abandoned {
            self.streams.remove(&inode);
            self.unconnected -= 1;
        }
        self.sweep_at = 2 * self.unconnected;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_can_be_set_before_the_connection() {
        let sockets = ProgramSockets::default();
        for family in [Family::V4, Family::V6] {
            let theirs = TcpStream::from(sockets.create_stream(family, true).unwrap());
            theirs.set_nodelay(true).unwrap();
            assert!(theirs.nodelay().unwrap());
            theirs.set_ttl(9).unwrap();
        }
    }

    #[test]
    fn socket_is_connected_once() {
        let sockets = ProgramSockets::default();
        let theirs = sockets.create_stream(Family::V4, false).unwrap();
        let inode = rustix::fs::fstat(&theirs).unwrap().st_ino;
        let ours = sockets.begin_connecting(inode).unwrap();
        assert_eq!(sockets.begin_connecting(inode).unwrap_err(), libc::EALREADY);
        sockets.fail_connecting(inode, ours);
        drop(sockets.begin_connecting(inode).unwrap());
        sockets.set_connected(inode);
        assert_eq!(sockets.begin_connecting(inode).unwrap_err(), libc::EISCONN);
        sockets.remove_stream(inode);
        assert_eq!(sockets.begin_connecting(inode).unwrap_err(), libc::EAFNOSUPPORT);
    }

    #[test]
    fn ends_of_closed_sockets_are_closed() {
        let sockets = ProgramSockets::default();
        let kept = sockets.create_stream(Family::V4, false).unwrap();
        for _ in 0..10 * MIN_SWEPT {
            drop(sockets.create_stream(Family::V4, false).unwrap());
        }
        assert!(sockets.lock().streams.len() <= 2 * MIN_SWEPT, "{}", sockets.lock().streams.len());
        let inode = rustix::fs::fstat(&kept).unwrap().st_ino;
        assert!(sockets.begin_connecting(inode).is_ok());
    }
}
