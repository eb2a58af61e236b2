//! Hosts in their canonical form.
//!
//! | text | host |
//! |---|---|
//! | `API.Example.com`, `api.example.com.` | `api.example.com` |
//! | `bücher.example` | `xn--bcher-kva.example` |
//! | `127.1`, `0x7f.0.0.1`, `0177.0.0.1`, `2130706433` | `127.0.0.1` |
//! | `[::ffff:127.0.0.1]`, `::ffff:7f00:1` | `127.0.0.1` |
//! | an empty label, a label of 64 letters, `a b`, `a%2eb`, a zone | rejected |
//!
//! The numeric forms are the forms accepted by the C library's `inet_aton`. A name in such a form
//! resolves to the address that it denotes, and is therefore treated as that address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::host_name::{self, MAX_TEXT_LENGTH};
use crate::ip_address::canonical;

/// A host in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name: lower case, ASCII, without a trailing dot.
    Name(Box<str>),
    /// An address; an IPv4-mapped IPv6 address is IPv4.
    Address(IpAddr),
}

/// The reason why a string is not a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostProblem {
    #[error("it is empty")]
    Empty,
    /// The name has more than 253 bytes.
    #[error("it exceeds the maximum length of a host name")]
    TooLong,
    /// The name has a leading dot, or two consecutive dots.
    #[error("a label is empty")]
    EmptyLabel,
    /// A label has more than 63 bytes.
    #[error("a label is longer than 63 characters")]
    LongLabel,
    /// The name contains a character that is not allowed.
    #[error("{0:?} is not allowed in a host name")]
    Character(char),
    /// A label begins or ends with a dash.
    #[error("a label begins or ends with a dash")]
    Dash,
    /// The name is not a valid internationalized domain name.
    #[error("it is not a valid internationalized domain name")]
    International,
    /// The text ends with a number, but is not an IPv4 address.
    #[error("it ends with a number, but is not an IPv4 address")]
    Ipv4,
    /// The text has brackets or colons, but is not an IPv6 address.
    #[error("it is not an IPv6 address")]
    Ipv6,
}

impl Host {
    /// Parses a host in any of its forms.
    ///
    /// # Errors
    /// Returns an error if the text is not a host.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        if text.is_empty() {
            return Err(HostProblem::Empty);
        }
        if text.len() > MAX_TEXT_LENGTH {
            return Err(HostProblem::TooLong);
        }
        if let Some(inside) = text.strip_prefix('[') {
            return inside.strip_suffix(']').map_or(Err(HostProblem::Ipv6), parse_ipv6);
        }
        if text.contains(':') {
            return parse_ipv6(text);
        }
        let name = host_name::to_ascii(text)?;
        let name = name.strip_suffix('.').unwrap_or(&name);
        let last = name.rsplit('.').next().unwrap_or_default();
        if host_name::is_number(last) {
            return parse_ipv4(name).map(|address| Self::Address(address.into())).ok_or(HostProblem::Ipv4);
        }
        host_name::check(name)?;
        Ok(Self::Name(name.into()))
    }

    /// Returns the address; `None` for a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Name(_) => None,
            Self::Address(address) => Some(*address),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(address) => fmt::Display::fmt(address, formatter),
        }
    }
}

fn parse_ipv6(text: &str) -> Result<Host, HostProblem> {
    let address: Ipv6Addr = text.parse().map_err(|_| HostProblem::Ipv6)?;
    Ok(Host::Address(canonical(address.into())))
}

/// Parses an IPv4 address of one to four decimal, octal or hexadecimal numbers. The last number
/// fills the remaining bytes.
fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut numbers = [0_u32; 4];
    let mut count = 0;
    for part in text.split('.') {
        *numbers.get_mut(count)? = parse_ipv4_number(part)?;
        count += 1;
    }
    let (last, preceding) = numbers.get(..count)?.split_last()?;
    let free_bits = 32_u32.checked_sub(8 * u32::try_from(preceding.len()).ok()?)?;
    if free_bits < 32 && *last >> free_bits != 0 {
        return None;
    }
    let mut address = *last;
    for (index, number) in preceding.iter().enumerate() {
        if *number > 255 {
            return None;
        }
        address |= number << (24 - 8 * u32::try_from(index).ok()?);
    }
    Some(address.into())
}

fn parse_ipv4_number(text: &str) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    if digits.is_empty() {
        return Some(0);
    }
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, radix).ok().filter(|_| all_digits)
}

#[cfg(test)]
mod tests;
