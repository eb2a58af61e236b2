//! From names to addresses.

use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Looks names up.
#[async_trait]
pub trait Resolver: Send + Sync + 'static {
    /// The addresses of a name, in the order in which they are to be tried.
    ///
    /// # Errors
    /// Where nobody knows it.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own way.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in tokio::net::lookup_host((name, 0)).await? {
            if !addresses.contains(&address.ip()) {
                addresses.push(address.ip());
            }
        }
        Ok(addresses)
    }
}
