//! The two walls: before a machine is looked up, and before it is connected to.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use wardian_network::Resolver;

use crate::authority::Authority;
use crate::error::CommunicatorError;
use crate::proxy;
use crate::settings::{ConnectionSettings, Method, Proxy, place};
use crate::stream::{Counted, Counts, Stream};

/// How long one address is waited for.
const PER_ADDRESS: Duration = Duration::from_secs(15);

/// Connects with machines that may be connected to.
pub(crate) struct Dialer {
    /// Who uses the connection at present.
    authority: Mutex<Arc<dyn Authority>>,
    resolver: Arc<dyn Resolver>,
    pub(crate) counts: Arc<Counts>,
    /// Where the last connection went.
    reached: Mutex<Option<IpAddr>>,
}

impl Dialer {
    pub(crate) fn new(authority: &Arc<dyn Authority>, resolver: &Arc<dyn Resolver>) -> Self {
        Self {
            authority: Mutex::new(Arc::clone(authority)),
            resolver: Arc::clone(resolver),
            counts: Arc::default(),
            reached: Mutex::new(None),
        }
    }

    fn authority(&self) -> Arc<dyn Authority> {
        Arc::clone(&self.authority.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The address that the last connection went to.
    pub(crate) fn reached(&self) -> Option<IpAddr> {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody else is to use what was connected: asked as if they had connected
    /// themselves, and from here on in the place of who did.
    pub(crate) fn hand_over(
        &self,
        settings: &ConnectionSettings,
        authority: &Arc<dyn Authority>,
    ) -> Result<(), CommunicatorError> {
        let next = Self::new(authority, &self.resolver);
        let way = way(settings);
        for (position, (host, port)) in way.into_iter().enumerate() {
            next.allow(host, port)?;
            if let (0, Err(_), Some(address)) = (position, host.parse::<IpAddr>(), self.reached()) {
                next.allow_at(host, port, address)?;
            }
        }
        *self.authority.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(authority);
        Ok(())
    }

    /// Asks for a machine that is looked up elsewhere.
    pub(crate) fn allow(&self, host: &str, port: u16) -> Result<(), CommunicatorError> {
        self.authority().may_connect(host, port)?;
        if let Ok(address) = host.parse::<IpAddr>() {
            self.allow_at(host, port, address.to_canonical())?;
        }
        Ok(())
    }

    fn allow_at(&self, host: &str, port: u16, address: IpAddr) -> Result<(), CommunicatorError> {
        self.authority()
            .may_connect_at(host, port, address)
            .map_err(|denied| CommunicatorError::AddressDenied { host: host.to_owned(), address, denied })
    }

    /// Connects with a machine, through the proxy if there is one.
    pub(crate) async fn connect(
        &self,
        host: &str,
        port: u16,
        proxy: Option<&Proxy>,
    ) -> Result<Stream, CommunicatorError> {
        match proxy {
            None => Ok(Box::new(self.direct(host, port).await?)),
            Some(proxy) => {
                self.allow(host, port)?;
                let stream = self.direct(&proxy.host, proxy.port).await?;
                let through = proxy::through(proxy, stream, host, port);
                let silent = || CommunicatorError::Silent(place(&proxy.host, proxy.port));
                timeout(PER_ADDRESS, through).await.map_err(|_| silent())?
            }
        }
    }

    pub(crate) async fn direct(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Counted<TcpStream>, CommunicatorError> {
        self.authority().may_connect(host, port)?;
        let mut failed = CommunicatorError::NoAddress(host.to_owned());
        for address in self.addresses(host, port).await? {
            let connecting = TcpStream::connect(SocketAddr::new(address, port));
            match timeout(PER_ADDRESS, connecting).await {
                Ok(Ok(stream)) => {
                    // What is sent is small and waited for; its loss is noticed elsewhere.
                    let _ = stream.set_nodelay(true);
                    *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
                    return Ok(Counted { stream, counts: Arc::clone(&self.counts) });
                }
                Ok(Err(error)) => {
                    failed = CommunicatorError::Connect { place: place(host, port), error };
                }
                Err(_) => failed = CommunicatorError::Silent(place(host, port)),
            }
        }
        Err(failed)
    }

    /// The addresses that may be connected to.
    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, CommunicatorError> {
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.resolver.resolve(host).await;
                found.map_err(|error| CommunicatorError::LookUp { host: host.to_owned(), error })?
            }
        };
        let (mut allowed, mut refused) = (Vec::with_capacity(found.len()), None);
        for address in found {
            // What is decided on is what is connected to: IPv4 in IPv6's clothes is IPv4.
            let address = address.to_canonical();
            match self.allow_at(host, port, address) {
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

/// The machines on the way, from the one that is connected to.
fn way(settings: &ConnectionSettings) -> Vec<(&str, u16)> {
    let proxy_and_bastion = match &settings.method {
        Method::Ssh(ssh) => {
            let proxy = ssh.proxy.as_ref().map(|proxy| (&*proxy.host, proxy.port));
            let bastion = ssh.bastion.as_ref().map(|bastion| (&*bastion.host, bastion.port));
            [proxy, bastion]
        }
        Method::WinRm(_) => [None, None],
    };
    let target = (settings.host(), settings.port());
    proxy_and_bastion.into_iter().flatten().chain([target]).collect()
}
