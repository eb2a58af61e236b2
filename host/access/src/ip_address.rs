//! IP addresses: their canonical form and their kind.
//!
//! A name does not determine an address, since the owner of a name can make it resolve to
//! `127.0.0.1`. Therefore, each address to which a name resolves is also matched against the rule.
//! A rule without `addresses` allows only *public* addresses.
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
//! An IPv6 address may contain an IPv4 address to which a router or a tunnel delivers the data
//! ([`EmbeddedAddresses`]). If the prefix determines the IPv4 address, the IPv6 address has the
//! kind of the IPv4 address. If an embedded IPv4 address is possible but not certain, as with a
//! translation prefix of unknown length, the IPv6 address is a metadata address if any possible
//! address is a metadata address, private only if no possible address is a loopback address, and
//! public only if all possible addresses are public. A metadata address has no other kind and is
//! not included in any wider range: a rule must contain `metadata` or that exact address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of the metadata services of clouds.
const METADATA: [IpAddr; 10] = [
    // The address that most clouds use.
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    // The endpoints for container credentials of ECS and EKS.
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    // The addresses of Tencent, of Alibaba, of Oracle (the older one), and of Azure's agent.
    IpAddr::V4(Ipv4Addr::new(169, 254, 0, 23)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // The IPv6 addresses of EC2, EKS and Google.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// The kind of an address, by the network to which it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressKind {
    /// The internet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
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

    pub fn from_address(address: IpAddr) -> Self {
        let address = canonical(address);
        if METADATA.contains(&address) {
            return Self::Metadata;
        }
        let address = match address {
            IpAddr::V4(address) => return kind_of_v4(address),
            IpAddr::V6(address) => address,
        };
        let embedded = EmbeddedAddresses::from_address(address);
        if let Some(certain) = embedded.certain() {
            return Self::from_address(certain.into());
        }
        let kinds = || embedded.iter().map(|address| Self::from_address(address.into()));
        match kind_of_v6(address) {
            _ if kinds().any(|kind| kind == Self::Metadata) => Self::Metadata,
            Self::Private if kinds().any(|kind| kind == Self::Loopback) => Self::Loopback,
            Self::Public => kinds().find(|kind| *kind != Self::Public).unwrap_or(Self::Public),
            own => own,
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// The IPv4 addresses that an IPv6 address may contain.
///
/// | prefix | mechanism | IPv4 address |
/// |---|---|---|
/// | `64:ff9b::/96` | NAT64 | certain |
/// | `2002::/16` | 6to4 | certain |
/// | `64:ff9b:1::/48` | site-specific NAT64, with a prefix of 48, 56, 64 or 96 bits | possible |
/// | `2001::/32` | Teredo: the server, and the client in inverted bits | possible |
/// | `::/96`, `::ffff:0:0:0/96` | IPv4-compatible and IPv4-translated | possible |
/// | any, with the interface identifier `[02]00:5efe:a.b.c.d` | ISATAP | possible |
///
/// An IPv4-mapped address is an IPv4 address; see [`canonical`]. Other translation prefixes belong
/// to a site and cannot be recognized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedAddresses {
    certain: Option<Ipv4Addr>,
    possible: [Option<Ipv4Addr>; 5],
}

impl EmbeddedAddresses {
    /// Returns the addresses that an address contains.
    pub fn from_address(address: Ipv6Addr) -> Self {
        let octets = address.octets();
        let at = |indices: [usize; 4]| {
            let [a, b, c, d] = indices.map(|index| octets.get(index).copied().unwrap_or_default());
            Some(Ipv4Addr::new(a, b, c, d))
        };
        let last = at([12, 13, 14, 15]);
        let (certain, first, second, third, fourth) = match address.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, ..] => (last, None, None, None, None),
            [0x2002, ..] => (at([2, 3, 4, 5]), None, None, None, None),
            // The format (RFC 6052) skips the byte with index 8.
            [0x64, 0xff9b, 1, ..] => (None, at([6, 7, 9, 10]), at([7, 9, 10, 11]), at([9, 10, 11, 12]), last),
            [0x2001, 0, ..] => (None, at([4, 5, 6, 7]), last.map(|client| !client), None, None),
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => (None, None, None, None, None),
            [0, 0, 0, 0, 0 | 0xffff, 0, ..] => (None, last, None, None, None),
            _ => (None, None, None, None, None),
        };
        let is_isatap = matches!(address.segments(), [_, _, _, _, 0 | 0x200, 0x5efe, ..]);
        let isatap = last.filter(|_| is_isatap);
        Self { certain, possible: [first, second, third, fourth, isatap] }
    }

    /// Returns the IPv4 address, if the prefix determines it.
    pub fn certain(&self) -> Option<Ipv4Addr> {
        self.certain
    }

    /// Returns all embedded addresses, certain and possible.
    pub fn iter(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.certain.into_iter().chain(self.possible.into_iter().flatten())
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
        // Multicast, reserved for future use, broadcast.
        (224..=255, _, _) => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> AddressKind {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // The unspecified address, and the deprecated IPv4-compatible addresses.
        [0, 0, 0, 0, 0, 0, _, _] => AddressKind::Reserved,
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
    fn address_kinds_match_the_table() {
        use AddressKind::{LinkLocal, Loopback, Metadata, Private, Public, Reserved};
        for (addresses, expected) in [
            (&["93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:2800::1"][..], Public),
            (&["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b:1::127.0.0.1"], Loopback),
            (&["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fc00::1", "fdff::1"], Private),
            (&["::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::1", "64:ff9b:1::1"], Private),
            (&["169.254.1.1", "fe80::1", "febf::1"], LinkLocal),
            (&["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"], Metadata),
            (&["64:ff9b::169.254.169.254", "2002:a9fe:a9fe::1", "168.63.129.16"], Metadata),
            // Site-specific NAT64, with each prefix length.
            (&["64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:0:a9:fea9:fe00:0"], Metadata),
            (&["64:ff9b:1::169.254.169.254", "64:ff9b:1:fffe::169.254.169.254"], Metadata),
            // Teredo, IPv4-compatible, IPv4-translated, ISATAP.
            (&["2001:0:a9fe:a9fe::1", "2001::5601:5601", "::169.254.169.254"], Metadata),
            (&["::ffff:0:169.254.169.254", "2606:2800::5efe:169.254.169.254"], Metadata),
            (&["fe80::200:5efe:169.254.169.254", "2606:2800::200:5efe:a9fe:a9fe"], Metadata),
            (&["2606:2800::5efe:10.0.0.1", "2606:2800::200:5efe:10.0.0.1"], Private),
            (&["2606:2800::5efe:127.0.0.1"], Loopback),
            (&["2606:2800::5efe:93.184.216.34", "2606:2800::1:5efe:10.0.0.1", "2002:5db8:d822::1"], Public),
            (&["fe80::5efe:10.0.0.1"], LinkLocal),
            (&["0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.1", "::", "ff02::1"], Reserved),
            (&["::127.0.0.1", "2001:db8::1", "2001::1", "4000::1"], Reserved),
        ] {
            for address in addresses {
                assert_eq!(kind(address), expected, "{address}");
            }
        }
    }
}
