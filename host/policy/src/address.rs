//! Network addresses: what kind each is, and ranges of them.
//!
//! A name says nothing about where it leads: anybody can point one at `127.0.0.1`. So
//! each address that a name leads to is held against the rule once more, and without a
//! word about addresses in the rule only *public* ones pass.
//!
//! | kind | addresses |
//! |---|---|
//! | `loopback` | `127.0.0.0/8`, `::1` |
//! | `private` | `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `100.64.0.0/10`, `fc00::/7`, `fec0::/10`, `64:ff9b:1::/48` |
//! | `link-local` | `169.254.0.0/16`, `fe80::/10` |
//! | `metadata` | where clouds hand credentials to whoever asks; [`METADATA`] |
//! | reserved | all else that is no host of the internet: multicast, broadcast, documentation, ... |
//! | `public` | the rest |
//!
//! An address of IPv6 that carries one of IPv4 is of the kind of that one. Metadata
//! addresses are of no other kind, and no wider range includes them: a rule has to say
//! `metadata`, or that very address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of the services that clouds keep for their machines.
const METADATA: [IpAddr; 10] = [
    // Most clouds.
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    // Credentials of containers: ECS, EKS.
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    // Tencent, Alibaba, Oracle's older one, Azure's agent.
    IpAddr::V4(Ipv4Addr::new(169, 254, 0, 23)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // EC2, EKS and Google by IPv6.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// What kind an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressKind {
    /// A host of the internet.
    Public,
    /// Of a private network.
    Private,
    /// Of this machine.
    Loopback,
    /// Of the link alone.
    LinkLocal,
    /// A cloud's service for its machines.
    Metadata,
    /// Anything else.
    Reserved,
}

impl AddressKind {
    /// The kinds that a rule can name.
    pub(crate) const NAMED: [Self; 5] =
        [Self::Public, Self::Private, Self::Loopback, Self::LinkLocal, Self::Metadata];

    /// The word in a policy.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Reserved => "reserved",
        }
    }

    /// The kind of an address.
    pub fn of(address: IpAddr) -> Self {
        let address = canonical(address);
        if METADATA.contains(&address) {
            return Self::Metadata;
        }
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// An address in its one form: IPv4 where it is an IPv4 address in IPv6's clothes.
pub fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn of_v4(address: Ipv4Addr) -> AddressKind {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, _, _) => AddressKind::Loopback,
        (10, _, _) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => AddressKind::Private,
        (169, 254, _) => AddressKind::LinkLocal,
        // This network; protocols; documentation; 6to4 relays; benchmarks.
        (0, _, _) | (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) | (198, 18..=19, _) => {
            AddressKind::Reserved
        }
        // Multicast, the future, broadcast.
        (224..=255, _, _) => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressKind {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        AddressKind::of(IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // Unspecified, and IPv4 addresses in a form that nobody may use any more.
        [0, 0, 0, 0, 0, 0, _, _] => AddressKind::Reserved,
        // Translated and tunnelled addresses of IPv4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        [0x64, 0xff9b, 1, ..] => AddressKind::Private,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        // Protocols (Teredo among them), documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Reserved,
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        // Of the rest nothing is assigned to hosts.
        _ => AddressKind::Reserved,
    }
}

/// A range of addresses: `10.0.0.0/8`, or a single one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AddressRange {
    first: IpAddr,
    prefix: u8,
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RangeProblem {
    #[error("it is no address and no range such as \"10.0.0.0/8\"")]
    Form,
    #[error("a range of such addresses has a length from 0 to {0} behind its slash")]
    Prefix(u8),
    #[error("it has bits behind its length; write it as \"{0}\"")]
    HostBits(AddressRange),
    #[error("it is IPv4 in the form of IPv6; write it as IPv4")]
    Mapped,
}

impl AddressRange {
    pub(crate) const fn of(address: IpAddr) -> Self {
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        Self { first: address, prefix }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, RangeProblem> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| RangeProblem::Form)?;
        if canonical(address) != address {
            return Err(RangeProblem::Mapped);
        }
        let single = Self::of(address);
        let Some(prefix) = prefix else { return Ok(single) };
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|prefix| is_number && *prefix <= single.prefix);
        let prefix = prefix.ok_or(RangeProblem::Prefix(single.prefix))?;
        let range = Self { first: masked(address, prefix), prefix };
        if range.first == address { Ok(range) } else { Err(RangeProblem::HostBits(range)) }
    }

    /// Whether it holds one address and no other.
    pub(crate) const fn is_single(self) -> bool {
        self.prefix == Self::of(self.first).prefix
    }

    /// Whether an address, which is canonical, is in the range by its bits.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && masked(address, self.prefix) == self.first
    }

    /// As [`Self::contains`], but a wide range never names a metadata address.
    pub(crate) fn names(self, address: IpAddr) -> bool {
        self.contains(address) && (self.is_single() || AddressKind::of(address) != AddressKind::Metadata)
    }

    pub(crate) fn covers(self, other: Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.first)
    }
}

fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix.into())).unwrap_or(0);
            Ipv4Addr::from(u32::from(address) & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix.into())).unwrap_or(0);
            Ipv6Addr::from(u128::from(address) & mask).into()
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_single() {
            write!(formatter, "{}", self.first)
        } else {
            write!(formatter, "{}/{}", self.first, self.prefix)
        }
    }
}

impl fmt::Debug for AddressRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// One thing that `addresses` may list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AddressPattern {
    /// All of a kind.
    Kind(AddressKind),
    /// All in a range.
    Range(AddressRange),
}

impl AddressPattern {
    pub(crate) fn matches(self, address: IpAddr) -> bool {
        let address = canonical(address);
        match self {
            Self::Kind(kind) => AddressKind::of(address) == kind,
            Self::Range(range) => range.names(address),
        }
    }

    /// Whether it surely holds every address that `other` does.
    pub(crate) fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::Kind(one), Self::Kind(two)) => one == two,
            (Self::Range(one), Self::Range(two)) => one.covers(two) && (one.is_single() || !two.is_single()),
            (Self::Kind(kind), Self::Range(range)) => {
                range.is_single() && AddressKind::of(range.first) == kind
            }
            (Self::Range(_), Self::Kind(_)) => false,
        }
    }

    /// Whether it surely shares no address with `other`.
    pub(crate) fn excludes(self, other: Self) -> bool {
        match (self, other) {
            (Self::Kind(one), Self::Kind(two)) => one != two,
            (Self::Range(one), Self::Range(two)) => !one.covers(two) && !two.covers(one),
            (Self::Kind(kind), Self::Range(range)) | (Self::Range(range), Self::Kind(kind)) => {
                has_one_kind(range).is_some_and(|only| only != kind)
            }
        }
    }
}

/// The kind of all addresses that a range names, where that is told by its first bits.
fn has_one_kind(range: AddressRange) -> Option<AddressKind> {
    let uniform = match range.first {
        IpAddr::V4(address) => match AddressKind::of(range.first) {
            AddressKind::Loopback => range.prefix >= 8,
            AddressKind::Private if address.octets()[0] == 10 => range.prefix >= 8,
            AddressKind::Private | AddressKind::LinkLocal => range.prefix >= 16,
            _ => range.is_single(),
        },
        IpAddr::V6(_) => match AddressKind::of(range.first) {
            AddressKind::Private | AddressKind::LinkLocal => range.prefix >= 48,
            _ => range.is_single(),
        },
    };
    uniform.then(|| AddressKind::of(range.first))
}

impl fmt::Display for AddressPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => fmt::Display::fmt(kind, formatter),
            Self::Range(range) => fmt::Display::fmt(range, formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(address: &str) -> AddressKind {
        AddressKind::of(address.parse().unwrap())
    }

    #[test]
    fn kinds_are_those_of_the_table() {
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

    #[test]
    fn ranges_are_read_in_one_form() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "::/0", "fd00::/8", "192.0.2.7", "::1"] {
            assert_eq!(AddressRange::parse(text).unwrap().to_string(), text);
        }
        let problem = |text| AddressRange::parse(text).unwrap_err().to_string();
        assert!(problem("10.1.0.0/8").contains("\"10.0.0.0/8\""));
        assert!(problem("10.0.0.0/33").contains("0 to 32"));
        assert!(problem("10.0.0.0/+8").contains("0 to 32"));
        assert!(problem("::ffff:10.0.0.1").contains("as IPv4"));
        assert!(problem("example.com").contains("10.0.0.0/8"));
    }

    #[test]
    fn wide_ranges_name_no_metadata() {
        let matches = |pattern: &str, address: &str| {
            AddressPattern::Range(AddressRange::parse(pattern).unwrap()).matches(address.parse().unwrap())
        };
        assert!(!matches("0.0.0.0/0", "169.254.169.254"));
        assert!(!matches("169.254.0.0/16", "169.254.169.254"));
        assert!(matches("169.254.169.254", "169.254.169.254"));
        assert!(matches("169.254.0.0/16", "169.254.3.4"));
        assert!(matches("10.0.0.0/8", "::ffff:10.1.2.3"));
    }

    fn any_address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()),
            any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()),
            any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).to_ipv6_mapped().into()),
            proptest::sample::select(METADATA.as_slice()),
            (0_u8..3, any::<u16>()).prop_map(|(which, low)| {
                let [high, low] = low.to_be_bytes();
                match which {
                    0 => Ipv4Addr::new(127, 0, high, low).into(),
                    1 => Ipv4Addr::new(10, 0, high, low).into(),
                    _ => Ipv4Addr::new(169, 254, high, low).into(),
                }
            }),
        ]
    }

    fn any_pattern() -> impl Strategy<Value = AddressPattern> {
        prop_oneof![
            proptest::sample::select(AddressKind::NAMED.as_slice()).prop_map(AddressPattern::Kind),
            (any_address(), 0_u8..=128).prop_map(|(address, prefix)| {
                let address = canonical(address);
                let prefix = prefix.min(AddressRange::of(address).prefix);
                AddressPattern::Range(AddressRange { first: masked(address, prefix), prefix })
            }),
        ]
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_the_last(address in any_address()) {
            prop_assert_eq!(canonical(canonical(address)), canonical(address));
            prop_assert_eq!(AddressKind::of(canonical(address)), AddressKind::of(address));
        }

        #[test]
        fn a_single_range_names_its_address(address in any_address()) {
            let address = canonical(address);
            prop_assert!(AddressRange::of(address).names(address));
            prop_assert_eq!(AddressRange::parse(&address.to_string()), Ok(AddressRange::of(address)));
        }

        #[test]
        fn covering_and_excluding_are_true(
            one in any_pattern(), two in any_pattern(), address in any_address(),
        ) {
            let (by_one, by_two) = (one.matches(address), two.matches(address));
            prop_assert!(!(one.covers(two) && by_two && !by_one), "{} covers {}", one, two);
            prop_assert!(!(one.excludes(two) && by_one && by_two), "{} excludes {}", one, two);
        }
    }
}
