//! Who decides what is connected to, and who learns of it.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// Decides, and learns what became of it.
pub trait Authority: Send + Sync + 'static {
    /// Whether a machine may be connected to, before anything is looked up. Asked for
    /// each machine on the way: proxy, bastion, and the one that is provisioned.
    ///
    /// # Errors
    /// Where it may not.
    fn may_connect(&self, host: &str, port: u16) -> Result<(), Denied>;

    /// Whether it may be connected to at this address, right before that is done. A
    /// machine behind a proxy or a bastion is looked up there; it is asked for here only
    /// where it is an address itself.
    ///
    /// # Errors
    /// Where it may not.
    fn may_connect_at(&self, host: &str, port: u16, address: IpAddr) -> Result<(), Denied>;

    /// Whether a file of this machine may be read, or what is in a directory, to be copied
    /// to the other one. The path is absolute and leads there without symbolic links.
    ///
    /// # Errors
    /// Where it may not.
    fn may_read(&self, path: &Path) -> Result<(), Denied>;

    /// An attempt to connect begins, or has succeeded: for whoever shows progress.
    fn progressed(&self, _progress: &Progress<'_>) {}

    /// A connection has ended, or did not come about. Where several share one, each is told
    /// when its own use of it ends, and of its own bytes.
    fn ended(&self, ended: &Ended);
}

/// Why something was not allowed, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub String);

/// How far connecting has come.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// An attempt begins.
    Connecting {
        /// The how many-th, beginning with 1.
        attempt: u32,
        /// Why the one before failed.
        failed: Option<&'a str>,
    },
    /// The connection is there.
    Connected,
}

/// A connection, for the record.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The machine that was provisioned.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The address that was connected to: the machine's own, or that of the first one on
    /// the way. `None` where no connection came about.
    pub address: Option<IpAddr>,
    /// Bytes that were sent.
    pub sent: u64,
    /// Bytes that were received.
    pub received: u64,
    /// From the first attempt, or the first use of a connection that was there, to the end.
    pub duration: Duration,
}
