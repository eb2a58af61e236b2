//! Formats of addresses and identifiers: IP networks, URLs, UUIDs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IP network: an address whose host bits are zero, and the length of its prefix.
///
/// ```
/// let block = wardian_sdk::CidrBlock::parse("10.1.2.3/16").unwrap();
/// assert_eq!((block.network().to_string(), block.prefix()), ("10.1.0.0".to_owned(), 16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CidrBlock {
    network: IpAddr,
    prefix: u8,
}

impl CidrBlock {
    /// Parses an address and a prefix length; `None` if they are not valid.
    ///
    /// ```
    /// use wardian_sdk::CidrBlock;
    ///
    /// assert_eq!(CidrBlock::parse("10.1.2.3/8").map(|block| block.to_string()), Some("10.0.0.0/8".into()));
    /// assert_eq!(CidrBlock::parse("10.1.2.3/33"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        if prefix.is_empty() || prefix.len() > 3 || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let prefix: u8 = prefix.parse().ok()?;
        let network = match address.parse().ok()? {
            IpAddr::V4(address) => {
                let host_bits = 32_u32.checked_sub(u32::from(prefix))?;
                let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let host_bits = 128_u32.checked_sub(u32::from(prefix))?;
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Some(Self { network, prefix })
    }

    /// Returns the first address of the network.
    pub fn network(&self) -> IpAddr {
        self.network
    }

    /// Returns the length of the prefix in bits.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }
}

impl std::fmt::Display for CidrBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

pub(crate) fn is_ip_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// Returns whether a string is a UUID: groups of 8, 4, 4, 4 and 12 hexadecimal digits.
pub(crate) fn is_uuid(text: &str) -> bool {
    let groups = text.split('-');
    groups.clone().map(str::len).eq([8, 4, 4, 4, 12])
        && groups.flat_map(str::bytes).all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a string is an absolute URL with a host, and with one of the schemes if there
/// are any.
pub(crate) fn is_url(text: &str, schemes: &[&str]) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let is_allowed = schemes.is_empty() || schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() => (address, port.strip_prefix(':')),
            _ => return false,
        },
        None => host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
    };
    let is_port = port.is_none_or(|port| port.is_empty() || port.parse::<u16>().is_ok());
    let is_printable = |c: char| !c.is_whitespace() && !c.is_control();
    is_scheme && is_allowed && !host.is_empty() && is_port && text.chars().all(is_printable)
}

/// Returns whether a string is standard base64 with padding.
pub(crate) fn is_base64(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - data.len() <= 2
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_identifiers_are_recognized() {
        for valid in ["0.0.0.0/0", "10.0.0.1/32", "::/0", "::1/128"] {
            assert!(CidrBlock::parse(valid).is_some(), "{valid}");
        }
        for invalid in
            ["", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/33", "::/129", "10.0.0/8", "::/999"]
        {
            assert!(CidrBlock::parse(invalid).is_none(), "{invalid}");
        }
        assert!(is_uuid("123e4567-E89B-12d3-a456-426614174000"));
        assert!(
            !is_uuid("123e4567e89b12d3a456426614174000") && !is_uuid("123e4567-e89b-12d3-a456-42661417400g")
        );
        for valid in
            ["https://a.example/b?c#d", "http://user@host:8080", "ftp://[::1]:21/", "s3://bucket/key"]
        {
            assert!(is_url(valid, &[]), "{valid}");
        }
        for invalid in [
            "",
            "a.example",
            "https://",
            "https:///b",
            "://a",
            "https://a b",
            "http://a:99999",
            "http://[::g]",
        ] {
            assert!(!is_url(invalid, &[]), "{invalid}");
        }
        assert!(is_url("HTTPS://a", &["https"]) && !is_url("ftp://a", &["http", "https"]));
        assert!(is_base64("") && is_base64("YQ==") && is_base64("++//"));
        assert!(!is_base64("YQ=") && !is_base64("Y===") && !is_base64("YQ-=") && !is_base64("Y=Q="));
    }
}
