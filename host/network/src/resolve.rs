//! Name resolution.

use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Resolves host names.
#[async_trait]
pub trait Resolver: Send + Sync + 'static {
    /// Returns the addresses of a name, in the order of preference.
    ///
    /// # Errors
    /// If the name cannot be resolved.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system, which uses the hosts file, name servers and search
/// domains.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        let found = tokio::net::lookup_host((name, 0)).await?;
        for address in found {
            if !addresses.contains(&address.ip()) {
                addresses.push(address.ip());
            }
        }
        Ok(addresses)
    }
}
