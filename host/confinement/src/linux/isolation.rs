//! Confines a program with namespaces alone, on systems without Landlock or supervised system calls.
//!
//! - The root of the program's mount namespace contains only granted files (`new_root.rs`).
//! - In its network namespace, every address denotes the machine itself. The host listens at the ports
//!   that policy grants, so it learns the address that a connection was opened to, decides, and
//!   relays. Connections to other ports are refused, and leave no record.
//! - Its PID namespace contains no other processes. The process that the host started waits for the
//!   program outside of that namespace.
//! - A filter refuses the system calls that a supervisor would refuse.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::landlock::LandlockRules;
use crate::linux::filter::{Filter, FilterOptions};
use crate::linux::kernel;
use crate::linux::namespace_calls as calls;
use crate::linux::namespaces::{NAME_SERVER, UserNamespace};
use crate::linux::new_root::NewRoot;
use crate::linux::servers::Servers;
use crate::linux::system_calls::Architecture;
use crate::view::DirectoryView;

/// An isolation that is ready to be entered by one process.
pub(crate) struct Isolation {
    users: UserNamespace,
    root: NewRoot,
    ports: Vec<u16>,
    filter: Filter,
}

impl Isolation {
    /// Prepares the isolation. The files in the returned directory must exist as long as the program.
    ///
    /// # Errors
    /// Returns an error if the files that will be mounted cannot be created.
    pub(crate) fn prepare(
        architecture: Architecture,
        rules: &LandlockRules,
        views: &[DirectoryView],
        ports: &[u16],
        working_directory: &Path,
    ) -> io::Result<(Self, TempDir)> {
        let files = tempfile::Builder::new().prefix("wardian-root-").tempdir()?;
        let root = NewRoot::prepare(rules, views, working_directory, &files.path().canonicalize()?)?;
        let options = FilterOptions { is_unsupervised: true, ..FilterOptions::default() };
        let mut ports = ports.to_vec();
        ports.push(NAME_SERVER.port());
        ports.sort_unstable();
        ports.dedup();
        let filter = Filter::new(architecture, options);
        Ok((Self { users: UserNamespace::new(), root, ports, filter }, files))
    }

    /// Returns the number of descriptors that the process sends to the host.
    pub(crate) fn descriptors(&self) -> usize {
        1 + self.ports.len()
    }

    /// Moves the calling process, which must have one thread, into its namespaces, and continues in a child
    /// of it. Passes the sockets at which the host must accept queries and connections to `send`.
    /// Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
    pub(crate) fn enter(&self, send: impl Fn(RawFd) -> io::Result<()>) -> io::Result<()> {
        self.users.enter(calls::NAMESPACES | libc::CLONE_NEWPID)?;
        self.root.mount()?;
        calls::activate_loopback()?;
        calls::make_all_addresses_local(libc::AF_INET)?;
        // The system may not support IPv6.
        let _ = calls::make_all_addresses_local(libc::AF_INET6);
        let send_and_close = |socket: RawFd| {
            let sent = send(socket);
            kernel::close(socket);
            sent
        };
        send_and_close(calls::bind_datagrams(NAME_SERVER)?)?;
        for port in &self.ports {
            send_and_close(calls::listen(*port)?)?;
        }
        calls::continue_in_child()?;
        self.root.enter()
    }

    /// Forbids system calls, after the other restrictions have been applied. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the system does not support filters.
    pub(crate) fn forbid_system_calls(&self) -> io::Result<()> {
        kernel::install_plain_filter(self.filter.instructions())
    }
}

/// Answers the queries and accepts the connections of a program, until the future is dropped.
pub(crate) async fn serve(queries: OwnedFd, listeners: Vec<OwnedFd>, servers: Servers) {
    let servers = Arc::new(servers);
    let mut tasks = JoinSet::new();
    let names = Arc::clone(servers.names());
    // An error ends only the lookups over UDP.
    tasks.spawn(async move { drop(names.serve_datagrams(queries.into()).await) });
    for listener in listeners {
        let servers = Arc::clone(&servers);
        // An error ends only the connections to this port.
        tasks.spawn(async move { drop(accept(listener, servers).await) });
    }
    while tasks.join_next().await.is_some() {}
}

async fn accept(listener: OwnedFd, servers: Arc<Servers>) -> io::Result<()> {
    let listener = std::net::TcpListener::from(listener);
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        // Connections wait in the kernel until the program may have another one.
        let Ok(permit) = servers.permit().await else { continue };
        let (program, _) = listener.accept().await?;
        drop(permit);
        while connections.try_join_next().is_some() {}
        let servers = Arc::clone(&servers);
        connections.spawn(async move { drop(connect(program, &servers).await) });
    }
}

/// Connects the program to the server whose address it requested. A connection that is not allowed is
/// reset.
async fn connect(program: TcpStream, servers: &Servers) -> io::Result<()> {
    let requested = program.local_addr()?;
    let address = SocketAddr::new(requested.ip().to_canonical(), requested.port());
    program.set_nodelay(true)?;
    match servers.open(address).await {
        Ok(peer) => {
            servers.relay(program, peer).await;
            Ok(())
        }
        Err(_) => program.set_zero_linger(),
    }
}
