//! The authority over connections to remote machines.

use std::fs::Metadata;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Denied;

/// Authorizes and records connections to remote machines.
pub trait ConnectionAuthority: Send + Sync + 'static {
    /// Checks whether a connection to a machine is allowed. Called for each machine on the route
    /// (proxy, bastion and target) before its name is resolved.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_connect(&self, host: &str, port: u16) -> Result<(), Denied>;

    /// Checks whether a connection to a machine at this address is allowed. Called right before
    /// connecting. A proxy or bastion resolves the name of the next machine, which is therefore
    /// checked here only if its host is an address.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_connect_at(&self, host: &str, port: u16, address: IpAddr) -> Result<(), Denied>;

    /// Checks whether a local file or directory may be read in order to copy it to the machine. The
    /// path is absolute and contains no symbolic links.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_read(&self, path: &Path) -> Result<(), Denied>;

    /// Checks whether the existence of a path may be revealed: a symbolic link on the way to a
    /// file, or the path at which path resolution stopped. The path is absolute.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_look(&self, path: &Path) -> Result<(), Denied>;

    /// Checks an opened file whose path [`ConnectionAuthority::may_read`] allowed, since it may be
    /// a hard link to a denied file.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_read_opened(&self, path: &Path, metadata: &Metadata) -> Result<(), Denied>;

    /// Returns the directories that plugins may write to. A symbolic link in such a directory is not
    /// followed to a target outside of the directory.
    fn writable_directories(&self) -> Vec<PathBuf>;

    /// Reports that a connection attempt begins or has succeeded.
    fn report_progress(&self, _progress: &ConnectProgress<'_>) {}

    /// Records a connection that ended or failed. If several users share a connection, the
    /// authority of each user is called when that user's access ends, with the bytes of that
    /// access.
    fn finished(&self, connection: &FinishedConnection);
}

#[derive(Clone, Copy, Debug)]
pub enum ConnectProgress<'a> {
    /// An attempt begins.
    Connecting {
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The failure of the previous attempt.
        failed: Option<&'a str>,
    },
    /// The connection is open.
    Connected,
}

/// Records the connections that the host itself opens for the operator, such as those of backends to
/// databases.
pub trait HostConnections: Send + Sync + 'static {
    /// Records a connection that ended or failed.
    fn finished(&self, connection: &HostConnection);
}

/// The record of a connection that the host opened.
#[derive(Clone, Debug)]
pub struct HostConnection {
    pub peer: HostPeer,
    /// The peer's address, if a connection was opened.
    pub address: Option<IpAddr>,
    pub sent: u64,
    pub received: u64,
    /// The time from the attempt to the end.
    pub duration: Duration,
}

/// The peer of a connection that the host opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPeer {
    Tcp {
        host: String,
        port: u16,
    },
    /// A Unix domain socket.
    Socket(PathBuf),
}

/// The record of a connection.
#[derive(Clone, Debug)]
pub struct FinishedConnection {
    /// The target machine.
    pub host: String,
    pub port: u16,
    /// The address to which the connection was opened: the address of the first machine on the
    /// route, which may be the target. `None` if no connection was opened.
    pub address: Option<IpAddr>,
    /// The number of bytes sent.
    pub sent: u64,
    /// The number of bytes received.
    pub received: u64,
    /// The time from the first attempt, or from the start of the access over an open connection, to
    /// the end.
    pub duration: Duration,
}
