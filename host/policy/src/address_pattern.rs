//! Patterns for IP addresses: ranges, and the other elements of the `addresses` argument.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wardian_access::{AddressKind, EmbeddedAddresses, canonical};

use crate::rule::Effect;

/// A range of addresses: `10.0.0.0/8`, or a single address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AddressRange {
    first: IpAddr,
    prefix: u8,
}

/// The ranges whose addresses certainly contain an IPv4 address.
const TRANSLATED: [AddressRange; 2] = [
    AddressRange { first: IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0)), prefix: 96 },
    AddressRange { first: IpAddr::V6(Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0)), prefix: 16 },
];

/// The reason why a string is not a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RangeProblem {
    #[error("it is neither an address nor a range such as \"10.0.0.0/8\"")]
    Form,
    #[error("the prefix length of this range must be from 0 to {0}")]
    Prefix(u8),
    #[error("it has bits set after its prefix; write it as \"{0}\"")]
    HostBits(AddressRange),
    #[error("it is an IPv4-mapped IPv6 address; write it as IPv4")]
    Mapped,
}

impl AddressRange {
    pub(crate) const fn from_address(address: IpAddr) -> Self {
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
        let single = Self::from_address(address);
        let Some(prefix) = prefix else { return Ok(single) };
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|prefix| is_number && *prefix <= single.prefix);
        let prefix = prefix.ok_or(RangeProblem::Prefix(single.prefix))?;
        let range = Self { first: masked(address, prefix), prefix };
        if range.first == address { Ok(range) } else { Err(RangeProblem::HostBits(range)) }
    }

    /// Returns whether the range contains a single address.
    pub(crate) const fn is_single(self) -> bool {
        self.prefix == Self::from_address(self.first).prefix
    }

    /// Returns whether the range contains a canonical address.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && masked(address, self.prefix) == self.first
    }

    /// Whether a rule with this effect applies to an address. A range grants a metadata address
    /// only if it contains no other address. A grant of IPv4 addresses includes IPv6 addresses that
    /// certainly contain one of them, and a denial also includes IPv6 addresses that may contain
    /// one of them.
    pub(crate) fn matches(self, address: IpAddr, effect: Effect) -> bool {
        let address = canonical(address);
        let embedded = match address {
            IpAddr::V4(_) => EmbeddedAddresses::default(),
            IpAddr::V6(address) => EmbeddedAddresses::from_address(address),
        };
        match effect {
            Effect::Allow => {
                let is_contained = self.contains(address)
                    || embedded.certain().is_some_and(|inner| self.contains(inner.into()));
                is_contained
                    && (self.is_single() || AddressKind::from_address(address) != AddressKind::Metadata)
            }
            Effect::Deny => {
                self.contains(address) || embedded.iter().any(|inner| self.contains(inner.into()))
            }
        }
    }

    /// Whether the ranges have no address in common that a rule could allow.
    pub(crate) fn excludes(self, other: Self) -> bool {
        if self.first.is_ipv4() == other.first.is_ipv4() {
            return !self.covers(other) && !other.covers(self);
        }
        let six = if self.first.is_ipv6() { self } else { other };
        TRANSLATED.iter().all(|prefix| !six.covers(*prefix) && !prefix.covers(six))
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

/// An element of the `addresses` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AddressPattern {
    /// All addresses of a kind.
    Kind(AddressKind),
    /// All addresses in a range.
    Range(AddressRange),
}

impl AddressPattern {
    /// Whether a rule with this effect applies to an address. A denial of a kind also applies if
    /// an embedded IPv4 address is of that kind.
    pub(crate) fn matches(self, address: IpAddr, effect: Effect) -> bool {
        match self {
            Self::Kind(kind) => {
                let is_inside = |address: IpAddr| match canonical(address) {
                    IpAddr::V4(_) => false,
                    IpAddr::V6(address) => EmbeddedAddresses::from_address(address)
                        .iter()
                        .any(|inner| AddressKind::from_address(inner.into()) == kind),
                };
                AddressKind::from_address(address) == kind
                    || effect == Effect::Deny && kind != AddressKind::Public && is_inside(address)
            }
            Self::Range(range) => range.matches(address, effect),
        }
    }

    /// Returns whether the pattern certainly matches every address that `other` matches.
    pub(crate) fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::Kind(one), Self::Kind(two)) => one == two,
            (Self::Range(one), Self::Range(two)) => one.covers(two) && (one.is_single() || !two.is_single()),
            (Self::Kind(kind), Self::Range(range)) => {
                range.is_single() && AddressKind::from_address(range.first) == kind
            }
            (Self::Range(_), Self::Kind(_)) => false,
        }
    }

    /// Returns whether the pattern certainly matches no address that `other` matches.
    pub(crate) fn excludes(self, other: Self) -> bool {
        match (self, other) {
            (Self::Kind(one), Self::Kind(two)) => one != two,
            (Self::Range(one), Self::Range(two)) => one.excludes(two),
            (Self::Kind(kind), Self::Range(range)) | (Self::Range(range), Self::Kind(kind)) => {
                common_kind(range).is_some_and(|only| only != kind)
            }
        }
    }
}

/// Returns the kind of all addresses in a range, if the prefix determines it.
fn common_kind(range: AddressRange) -> Option<AddressKind> {
    let uniform = match range.first {
        IpAddr::V4(address) => match AddressKind::from_address(range.first) {
            AddressKind::Loopback => range.prefix >= 8,
            AddressKind::Private if address.octets()[0] == 10 => range.prefix >= 8,
            AddressKind::Private | AddressKind::LinkLocal => range.prefix >= 16,
            _ => range.is_single(),
        },
        IpAddr::V6(_) if TRANSLATED.iter().any(|prefix| prefix.covers(range)) => range.is_single(),
        IpAddr::V6(_) => match AddressKind::from_address(range.first) {
            AddressKind::Private | AddressKind::LinkLocal => range.prefix >= 48,
            _ => range.is_single(),
        },
    };
    uniform.then(|| AddressKind::from_address(range.first))
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

    #[test]
    fn range_is_displayed_in_normalized_form() {
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
    fn wide_range_excludes_metadata_address() {
        let matches = |pattern: &str, address: &str| {
            let pattern = AddressPattern::Range(AddressRange::parse(pattern).unwrap());
            pattern.matches(address.parse().unwrap(), Effect::Allow)
        };
        assert!(!matches("0.0.0.0/0", "169.254.169.254"));
        assert!(!matches("169.254.0.0/16", "169.254.169.254"));
        assert!(matches("169.254.169.254", "169.254.169.254"));
        assert!(matches("169.254.0.0/16", "169.254.3.4"));
        assert!(matches("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(!matches("64:ff9b:1::/48", "64:ff9b:1::169.254.169.254"));
        assert!(!matches("::/0", "2002:a9fe:a9fe::1"));
    }

    #[test]
    fn range_applies_to_ipv4_addresses_embedded_in_ipv6() {
        let range = AddressRange::parse("10.20.0.0/16").unwrap();
        let matches = |address: &str, effect| range.matches(address.parse().unwrap(), effect);
        for certain in ["10.20.0.7", "::ffff:10.20.0.7", "64:ff9b::a14:7", "2002:a14:7::1"] {
            assert!(matches(certain, Effect::Allow) && matches(certain, Effect::Deny), "{certain}");
        }
        for possible in [
            "64:ff9b:1:a14:0:700::",
            "64:ff9b:1:a:14:7::",
            "64:ff9b:1:0:a:1400:700:0",
            "64:ff9b:1::a14:7",
            "2001:0:a14:7::1",
            "2001::f5eb:fff8",
            "::10.20.0.7",
            "::ffff:0:10.20.0.7",
            "fe80::5efe:10.20.0.7",
            "2606:2800::200:5efe:10.20.0.7",
        ] {
            assert!(!matches(possible, Effect::Allow) && matches(possible, Effect::Deny), "{possible}");
        }
        for other in ["10.21.0.7", "64:ff9b::a15:7", "2606:2800::10.20.0.7", "64:ff9b:2::10.20.0.7"] {
            assert!(!matches(other, Effect::Allow) && !matches(other, Effect::Deny), "{other}");
        }
        let private = AddressPattern::Kind(AddressKind::Private);
        assert!(private.matches("2001:0:a14:7::1".parse().unwrap(), Effect::Deny));
        assert!(!private.matches("2001:0:a14:7::1".parse().unwrap(), Effect::Allow));
    }

    fn any_address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()),
            any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()),
            any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).to_ipv6_mapped().into()),
            (0_u8..4, any::<u32>()).prop_map(|(which, bits)| {
                let inner = u128::from(bits);
                let prefix = |segments: [u16; 3]| {
                    let [a, b, c] = segments.map(u128::from);
                    a << 112 | b << 96 | c << 80
                };
                let bits = match which {
                    0 => prefix([0x64, 0xff9b, 0]) | inner,
                    1 => prefix([0x2002, 0, 0]) | inner << 80,
                    2 => prefix([0x64, 0xff9b, 1]) | inner,
                    _ => prefix([0x2606, 0, 0]) | 0x5efe << 32 | inner,
                };
                Ipv6Addr::from(bits).into()
            }),
            proptest::sample::select(vec![
                "169.254.169.254",
                "169.254.170.2",
                "100.100.100.200",
                "168.63.129.16",
                "fd00:ec2::254",
                "fd20:ce::254"
            ])
            .prop_map(|text: &str| text.parse().unwrap()),
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
                let prefix = prefix.min(AddressRange::from_address(address).prefix);
                AddressPattern::Range(AddressRange { first: masked(address, prefix), prefix })
            }),
        ]
    }

    proptest! {
        #[test]
        fn canonicalizing_a_canonical_address_changes_nothing(address in any_address()) {
            prop_assert_eq!(canonical(canonical(address)), canonical(address));
            prop_assert_eq!(AddressKind::from_address(canonical(address)), AddressKind::from_address(address));
        }

        #[test]
        fn single_range_contains_its_address(address in any_address()) {
            let address = canonical(address);
            prop_assert!(AddressRange::from_address(address).matches(address, Effect::Allow));
            prop_assert_eq!(AddressRange::parse(&address.to_string()), Ok(AddressRange::from_address(address)));
        }

        #[test]
        fn address_pattern_coverage_agrees_with_matching(
            one in any_pattern(), two in any_pattern(), address in any_address(),
        ) {
            let [by_one, by_two] = [one, two].map(|pattern| pattern.matches(address, Effect::Allow));
            let is_denied_by_one = one.matches(address, Effect::Deny);
            prop_assert!(!by_one || is_denied_by_one, "{} denies less than it allows", one);
            prop_assert!(!(one.covers(two) && by_two && !by_one), "{} covers {}", one, two);
            prop_assert!(!(one.excludes(two) && by_one && by_two), "{} excludes {}", one, two);
        }
    }
}
