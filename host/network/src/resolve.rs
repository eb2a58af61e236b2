//! Resolves host names.
//!
//! A name is looked up as an absolute name: first in the hosts file, then by the system's resolver
//! with a trailing dot. Therefore, exactly the name that policy allowed is looked up, regardless of
//! the system's search domains: with search domains, `payroll` could resolve as
//! `payroll.corp.example`, which policy may deny.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use async_trait::async_trait;

const HOSTS_FILE: &str = "/etc/hosts";

#[async_trait]
pub trait Resolver: Send + Sync + 'static {
    /// Returns the addresses of a name, in the order of preference. The name is absolute, with or
    /// without a trailing dot.
    ///
    /// # Errors
    /// Returns an error if the name cannot be resolved.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver: the hosts file and name servers, without search domains.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = name.strip_suffix('.').unwrap_or(name);
        // The C library does not find a name with a trailing dot in the hosts file. Without a hosts
        // file, the name servers are used.
        let hosts = tokio::task::spawn_blocking(|| std::fs::read(HOSTS_FILE)).await;
        let hosts = hosts.unwrap_or_else(|_| Ok(Vec::new())).unwrap_or_default();
        let listed = addresses_in(&String::from_utf8_lossy(&hosts), name);
        if !listed.is_empty() {
            return Ok(listed);
        }
        // RFC 6761: this name never belongs to another machine.
        if name.eq_ignore_ascii_case("localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let found = tokio::net::lookup_host((absolute(name), 0)).await?;
        Ok(without_repetition(found.map(|address| address.ip())))
    }
}

fn absolute(name: &str) -> String {
    format!("{name}.")
}

/// Returns the addresses that a hosts file lists for a name.
fn addresses_in(hosts: &str, name: &str) -> Vec<IpAddr> {
    let matching = hosts.lines().filter_map(|line| {
        let (entry, _comment) = line.split_once('#').unwrap_or((line, ""));
        let mut words = entry.split_ascii_whitespace();
        let address = words.next()?.parse::<IpAddr>().ok()?;
        let names = |word: &str| word.strip_suffix('.').unwrap_or(word).eq_ignore_ascii_case(name);
        words.any(names).then_some(address)
    });
    without_repetition(matching)
}

fn without_repetition(addresses: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut all = Vec::new();
    for address in addresses {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: &str = "127.0.0.1 localhost localhost.localdomain\n\
        ::1\tlocalhost ip6-localhost # loopback\n\
        # 192.0.2.1 commented.example\n\
        fe80::1%lo0 zone.example\n\
        192.0.2.7 Alias.Example. other.example # hidden.example\n\
        192.0.2.7 other.example\n\
        not-an-address bad.example\n";

    #[test]
    fn addresses_are_read_from_the_hosts_file() {
        let listed =
            |name: &str| -> Vec<String> { addresses_in(HOSTS, name).iter().map(IpAddr::to_string).collect() };
        assert_eq!(listed("localhost"), ["127.0.0.1", "::1"]);
        assert_eq!(listed("LOCALHOST"), ["127.0.0.1", "::1"]);
        assert_eq!(listed("alias.example"), ["192.0.2.7"]);
        assert_eq!(listed("other.example"), ["192.0.2.7"]);
        for absent in ["commented.example", "hidden.example", "zone.example", "bad.example", "example", ""] {
            assert!(listed(absent).is_empty(), "{absent}");
        }
    }

    #[tokio::test]
    async fn names_are_resolved_as_absolute_names() {
        for name in ["localhost", "localhost.", "LocalHost"] {
            let found = SystemResolver.resolve(name).await.unwrap();
            assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{name}: {found:?}");
        }
        assert_eq!(absolute("payroll"), "payroll.");
    }
}
