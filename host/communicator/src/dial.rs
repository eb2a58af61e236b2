//! Connects to remote machines. The authority must allow each name lookup and each connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use wardian_access::{ConnectionAuthority, ReachError};
use wardian_network::Resolver;

use crate::error::CommunicatorError;
use crate::proxy;
use crate::settings::{ConnectionMethod, ConnectionSettings, Proxy, endpoint};
use crate::stream::{ByteCounts, CountedStream, Stream};

/// Time limit for connecting to one address.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(15);

/// Connects to machines that the authority allows.
pub(crate) struct Dialer {
    /// The authority of the connection's current user.
    authority: Mutex<Arc<dyn ConnectionAuthority>>,
    resolver: Arc<dyn Resolver>,
    pub(crate) counts: Arc<ByteCounts>,
    last_address: Mutex<Option<IpAddr>>,
}

impl Dialer {
    pub(crate) fn new(authority: &Arc<dyn ConnectionAuthority>, resolver: &Arc<dyn Resolver>) -> Self {
        Self {
            authority: Mutex::new(Arc::clone(authority)),
            resolver: Arc::clone(resolver),
            counts: Arc::default(),
            last_address: Mutex::new(None),
        }
    }

    fn authority(&self) -> Arc<dyn ConnectionAuthority> {
        Arc::clone(&self.authority.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the address of the last connection.
    pub(crate) fn connected_address(&self) -> Option<IpAddr> {
        *self.last_address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Transfers the open connection to another user. The user's authority makes the same checks as
    /// if the user had opened the connection, and authorizes later accesses.
    pub(crate) fn change_authority(
        &self,
        settings: &ConnectionSettings,
        authority: &Arc<dyn ConnectionAuthority>,
    ) -> Result<(), CommunicatorError> {
        let next = Self::new(authority, &self.resolver);
        let hops = hops(settings);
        for (position, (host, port)) in hops.into_iter().enumerate() {
            next.check_host(host, port)?;
            if let (0, Err(_), Some(address)) = (position, host.parse::<IpAddr>(), self.connected_address()) {
                next.check_address(host, port, address)?;
            }
        }
        *self.authority.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(authority);
        Ok(())
    }

    /// Checks a machine whose name a proxy or a bastion resolves.
    pub(crate) fn check_host(&self, host: &str, port: u16) -> Result<(), CommunicatorError> {
        self.authority().may_connect(host, port)?;
        if let Ok(address) = host.parse::<IpAddr>() {
            self.check_address(host, port, address.to_canonical())?;
        }
        Ok(())
    }

    fn check_address(&self, host: &str, port: u16, address: IpAddr) -> Result<(), CommunicatorError> {
        self.authority()
            .may_connect_at(host, port, address)
            .map_err(|denied| ReachError::AddressDenied { host: host.to_owned(), address, denied }.into())
    }

    pub(crate) async fn connect(
        &self,
        host: &str,
        port: u16,
        proxy: Option<&Proxy>,
    ) -> Result<Stream, CommunicatorError> {
        match proxy {
            None => Ok(Box::new(self.connect_directly(host, port).await?)),
            Some(proxy) => {
                self.check_host(host, port)?;
                let stream = self.connect_directly(&proxy.host, proxy.port).await?;
                let tunnel = proxy::open_tunnel(proxy, stream, host, port);
                let silent = || CommunicatorError::Silent(endpoint(&proxy.host, proxy.port));
                timeout(ADDRESS_TIMEOUT, tunnel).await.map_err(|_| silent())?
            }
        }
    }

    pub(crate) async fn connect_directly(
        &self,
        host: &str,
        port: u16,
    ) -> Result<CountedStream<TcpStream>, CommunicatorError> {
        self.authority().may_connect(host, port)?;
        let mut failed = CommunicatorError::Reach(ReachError::NoAddress(host.to_owned()));
        for address in self.addresses(host, port).await? {
            let connecting = TcpStream::connect(SocketAddr::new(address, port));
            match timeout(ADDRESS_TIMEOUT, connecting).await {
                Ok(Ok(stream)) => {
                    // Disabling Nagle's algorithm reduces latency; a failure does not matter.
                    let _ = stream.set_nodelay(true);
                    *self.last_address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
                    return Ok(CountedStream { stream, counts: Arc::clone(&self.counts) });
                }
                Ok(Err(error)) => {
                    failed = ReachError::Connect { endpoint: endpoint(host, port), error }.into();
                }
                Err(_) => failed = CommunicatorError::Silent(endpoint(host, port)),
            }
        }
        Err(failed)
    }

    /// Returns the addresses to which connections are allowed.
    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, CommunicatorError> {
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.resolver.resolve(host).await;
                found.map_err(|error| ReachError::LookUp { host: host.to_owned(), error })?
            }
        };
        let (mut allowed, mut refused) = (Vec::with_capacity(found.len()), None);
        for address in found {
            // The address that is contacted is checked; for an IPv4-mapped IPv6 address, that is an
            // IPv4 address.
            let address = address.to_canonical();
            match self.check_address(host, port, address) {
                Ok(()) => allowed.push(address),
                Err(denied) => refused = refused.or(Some(denied)),
            }
        }
        match (allowed.is_empty(), refused) {
            (true, Some(denied)) => Err(denied),
            _ => Ok(allowed),
        }
    }
}

/// Returns the machines on the route to the target, in the order of connection.
fn hops(settings: &ConnectionSettings) -> Vec<(&str, u16)> {
    let proxy_and_bastion = match &settings.method {
        ConnectionMethod::Ssh(ssh) => {
            let proxy = ssh.proxy.as_ref().map(|proxy| (&*proxy.host, proxy.port));
            let bastion = ssh.bastion.as_ref().map(|bastion| (&*bastion.host, bastion.port));
            [proxy, bastion]
        }
        ConnectionMethod::WinRm(_) => [None, None],
    };
    let target = (settings.host(), settings.port());
    proxy_and_bastion.into_iter().flatten().chain([target]).collect()
}
