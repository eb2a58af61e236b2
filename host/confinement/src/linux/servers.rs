//! Opens connections to servers on behalf of a confined program, if policy allows them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wardian_access::{AllowedConnection, NativeAuthority, Scheme};
use wardian_network::connect_stream;
use wardian_network::proxy::ProxySettings;

use crate::linux::names::Names;
use crate::linux::namespaces::NAME_SERVER;
use crate::supervision::SupervisorOptions;

/// Time limit of a connection. Until it is open, the program's thread is blocked.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections of a program, if policy sets none. Each occupies two descriptors
/// of the host.
const MAX_CONNECTIONS: usize = 1_000;

/// The servers of one program's process.
pub(crate) struct Servers {
    authority: Arc<dyn NativeAuthority>,
    names: Arc<Names>,
    proxies: ProxySettings,
    connections: Arc<Semaphore>,
    /// Whether the program has a network namespace, with a name server of its own.
    has_own_network: bool,
}

/// An open connection to a server.
pub(crate) struct ServerConnection {
    pub(crate) stream: TcpStream,
    pub(crate) allowed: AllowedConnection,
    /// The permit of the limit on connections.
    pub(crate) permit: OwnedSemaphorePermit,
}

impl Servers {
    pub(crate) fn new(options: &SupervisorOptions, has_own_network: bool) -> Self {
        let SupervisorOptions { authority, resolver, proxies, max_connections, .. } = options;
        let most = max_connections.map_or(MAX_CONNECTIONS, |most| most.min(MAX_CONNECTIONS));
        Self {
            authority: Arc::clone(authority),
            names: Arc::new(Names::new(Arc::clone(authority), Arc::clone(resolver))),
            proxies: proxies.clone(),
            connections: Arc::new(Semaphore::new(most)),
            has_own_network,
        }
    }

    pub(crate) fn names(&self) -> &Arc<Names> {
        &self.names
    }

    pub(crate) fn has_own_network(&self) -> bool {
        self.has_own_network
    }

    /// Whether a stream to this address is a connection to a name server.
    pub(crate) fn is_name_server(&self, address: SocketAddr) -> bool {
        self.names.is_server(address) || (self.has_own_network && address == NAME_SERVER.into())
    }

    /// Waits until the program may have another connection.
    ///
    /// # Errors
    /// Returns the error number of a call that would open the connection.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, i32> {
        let permit = timeout(CONNECT_TIMEOUT, Arc::clone(&self.connections).acquire_owned()).await;
        // The semaphore is never closed.
        permit.map_err(|_| libc::ETIMEDOUT)?.map_err(|_| libc::ECONNREFUSED)
    }

    /// Connects to a server that policy allows.
    ///
    /// # Errors
    /// Returns the error number of a call that would open the connection.
    pub(crate) async fn connect(&self, address: SocketAddr) -> Result<ServerConnection, i32> {
        let names = self.names.of_address(address.ip());
        let Ok(allowed) = self.authority.may_connect(&names, address) else { return Err(libc::EACCES) };
        let connecting = async {
            let permit = self.permit().await?;
            let scheme = allowed.schemes.first().copied().unwrap_or(Scheme::Tcp);
            let stream = connect_stream(&self.proxies, &allowed.host, scheme, address).await;
            stream
                .map(|stream| (stream, permit))
                .map_err(|error| error.raw_os_error().unwrap_or(libc::ECONNREFUSED))
        };
        let (stream, permit) = timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| libc::ETIMEDOUT)??;
        // Plugins send small requests. If the option cannot be set, requests are only slower.
        let _ = stream.set_nodelay(true);
        Ok(ServerConnection { stream, allowed, permit })
    }
}
