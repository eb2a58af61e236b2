//! The authority over native programs that open connections and files themselves.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::{Denied, FileOperation, Host, ProcessAuthority, Scheme};

/// Authorizes and records the accesses of a confined native program.
pub trait NativeAuthority: Send + Sync + 'static {
    /// Checks whether a name may be resolved.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_look_up(&self, name: &Host) -> Result<(), Denied>;

    /// Records a lookup of a text that is not a host name.
    fn refuse_look_up(&self, text: &str);

    /// Checks whether a connection to an address is allowed. `names` are the granted names that
    /// resolved to the address, the last one first. Without a granted name, the address itself is
    /// checked.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_connect(&self, names: &[Host], address: SocketAddr) -> Result<AllowedConnection, Denied>;

    /// Checks whether a connection to a Unix domain socket is allowed. The path is absolute and
    /// contains no symbolic links.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_connect_to_path(&self, path: &Path) -> Result<(), Denied>;

    /// Checks whether the attributes of a file may be changed, which counts as writing it. The path
    /// is absolute and contains no symbolic links.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_change_attributes(&self, path: &Path) -> Result<(), Denied>;

    /// Reports an attempt to open a file, on which the kernel decides. The path is absolute and contains
    /// no symbolic links. `is_reachable` is whether the kernel's rules allow it.
    fn opens(&self, path: &Path, operation: FileOperation, is_reachable: bool);

    /// Returns the authority over the start of a granted program. `variables` are the names of the
    /// variables that the native program sets for it.
    fn program_authority(&self, variables: Vec<String>) -> Arc<dyn ProcessAuthority>;

    /// Records an attempt to execute a program that is not granted by name.
    fn refuse_program(&self, program: &Path, arguments: &[OsString]);

    /// Records a system call that no policy can grant. `reason` describes the effect that it would
    /// have had.
    fn refuse_system_call(&self, name: &str, reason: &str);
}

/// A connection that may be opened.
pub struct AllowedConnection {
    /// The granted name or address.
    pub host: Host,
    /// The protocols for which the connection is granted. Never empty.
    pub schemes: Vec<Scheme>,
    /// Maximum number of received bytes.
    pub max_received: Option<u64>,
    pub record: Box<dyn ConnectionRecord>,
}

/// Records a connection. The record is written when this value is dropped.
pub trait ConnectionRecord: Send + Sync {
    /// Sets the protocol that the program uses, which is one of the granted ones.
    fn set_scheme(&mut self, scheme: Scheme);

    /// Whether the connection is also granted for another name, which the program sent to the
    /// server.
    fn permits_name(&self, name: &Host, scheme: Scheme) -> bool;

    /// Adds bytes that were sent.
    fn add_sent(&mut self, bytes: u64);

    /// Adds bytes that were received.
    fn add_received(&mut self, bytes: u64);

    /// Records that the connection was closed because its content was not allowed.
    fn refuse(&mut self, reason: &str);
}
