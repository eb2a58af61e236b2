//! IP addresses: their canonical form and their kind.
//!
//! A name does not determine an address: the owner of a name can let it resolve to `127.0.0.1`.
//! Therefore, each address that a name resolves to is also matched against the rule. A rule without
//! addresses allows only *public* addresses.
//!
//! | kind | addresses |
//! |---|---|
//! | `loopback` | `127.0.0.0/8`, `::1` |
//! | `private` | `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `100.64.0.0/10`, `fc00::/7`, `fec0::/10`, `64:ff9b:1::/48` |
//! | `link-local` | `169.254.0.0/16`, `fe80::/10` |
//! | `metadata` | the services through which clouds provide credentials to any local caller; [`METADATA`] |
//! | reserved | all other addresses that are not internet hosts: multicast, broadcast, documentation, ... |
//! | `public` | all other addresses |
//!
//! An IPv6 address that contains an IPv4 address has the kind of that address. A metadata address
//! has no other kind, and is not included in any wider range: a rule must contain `metadata` or
//! that exact address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of the metadata services of clouds.
const METADATA: [IpAddr; 10] = [
    // Used by most clouds.
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    // Container credentials of ECS and EKS.
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    // Tencent, Alibaba, Oracle (its older address), and Azure's agent.
    IpAddr::V4(Ipv4Addr::new(169, 254, 0, 23)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // The IPv6 addresses of EC2, EKS and Google.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// The kind of a network that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressKind {
    /// The internet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
    /// The local link.
    LinkLocal,
    /// A cloud's metadata service.
    Metadata,
    /// Any other address.
    Reserved,
}

impl AddressKind {
    /// The kinds that a rule can name.
    pub const NAMED: [Self; 5] =
        [Self::Public, Self::Private, Self::Loopback, Self::LinkLocal, Self::Metadata];

    /// Returns the keyword in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Reserved => "reserved",
        }
    }

    /// Returns the kind of an address.
    pub fn from_address(address: IpAddr) -> Self {
        let address = canonical(address);
        if METADATA.contains(&address) {
            return Self::Metadata;
        }
        match address {
            IpAddr::V4(address) => kind_of_v4(address),
            IpAddr::V6(address) => kind_of_v6(address),
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// Returns the canonical form of an address: IPv4 for an IPv4-mapped IPv6 address.
pub fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn kind_of_v4(address: Ipv4Addr) -> AddressKind {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, _, _) => AddressKind::Loopback,
        (10, _, _) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => AddressKind::Private,
        (169, 254, _) => AddressKind::LinkLocal,
        // "This network", protocol assignments, documentation, 6to4 relays, benchmarks.
        (0, _, _) | (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) | (198, 18..=19, _) => {
            AddressKind::Reserved
        }
        // Multicast, future use, broadcast.
        (224..=255, _, _) => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> AddressKind {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        AddressKind::from_address(IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // Unspecified, and IPv4-compatible addresses, which are deprecated.
        [0, 0, 0, 0, 0, 0, _, _] => AddressKind::Reserved,
        // Translated and tunneled IPv4 addresses.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        [0x64, 0xff9b, 1, ..] => AddressKind::Private,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        // Protocol assignments (including Teredo), documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Reserved,
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        // The remaining ranges are not assigned to hosts.
        _ => AddressKind::Reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(address: &str) -> AddressKind {
        AddressKind::from_address(address.parse().unwrap())
    }

    #[test]
    fn address_kind_equals_table() {
        use AddressKind::{LinkLocal, Loopback, Metadata, Private, Public, Reserved};
        for (addresses, expected) in [
            (&["93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:2800::1"][..], Public),
            (&["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"], Loopback),
            (&["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fc00::1", "fdff::1"], Private),
            (&["::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::1", "64:ff9b:1::1"], Private),
            (&["169.254.1.1", "fe80::1", "febf::1"], LinkLocal),
            (&["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"], Metadata),
            (&["64:ff9b::169.254.169.254", "2002:a9fe:a9fe::1", "168.63.129.16"], Metadata),
            (&["0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.1", "::", "ff02::1"], Reserved),
            (&["::127.0.0.1", "2001:db8::1", "2001::1", "4000::1"], Reserved),
        ] {
            for address in addresses {
                assert_eq!(kind(address), expected, "{address}");
            }
        }
    }
}
