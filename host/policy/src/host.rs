//! Hosts in their one form, and patterns over them.
//!
//! | written | is |
//! |---|---|
//! | `API.Example.com`, `api.example.com.` | `api.example.com` |
//! | `bücher.example` | `xn--bcher-kva.example` |
//! | `127.1`, `0x7f.0.0.1`, `0177.0.0.1`, `2130706433` | `127.0.0.1` |
//! | `[::ffff:127.0.0.1]`, `::ffff:7f00:1` | `127.0.0.1` |
//! | an empty label, a label of 64 letters, `a b`, `a%2eb`, a zone | refused |
//!
//! The numeric forms are those that `inet_aton` of the C library takes: who looks such
//! a name up gets that address, so such a name *is* that address.
//!
//! | pattern | matches |
//! |---|---|
//! | `example.com` | that name |
//! | `*.example.com` | names with exactly one label before; not `example.com` |
//! | `**.example.com` | names with one or more labels before; not `example.com` |
//! | `api-*.example.com` | a star inside a label is any letters of that label |
//! | `**` | every name, and no address |
//! | `192.0.2.1`, `2001:db8::/32` | that address, addresses in that range, where they are written as such |

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use idna::AsciiDenyList;

use crate::address::{AddressRange, RangeProblem, canonical};
use crate::glob::{Glob, GlobError, OnUndecidable};

/// The longest text that is looked at.
const MOST_TEXT: usize = 1024;

/// A host in its one form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name: lower case, ASCII, without a dot at its end.
    Name(Box<str>),
    /// An address, IPv4 wherever it can be.
    Address(IpAddr),
}

/// Why a text is no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostProblem {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// A name has 253 bytes at most.
    #[error("it is longer than a name can be")]
    TooLong,
    /// Two dots in a row, or one at the beginning.
    #[error("there is nothing between two of its dots")]
    EmptyLabel,
    /// A part has 63 bytes at most.
    #[error("a part between its dots is longer than 63 letters")]
    LongLabel,
    /// What no name has.
    #[error("{0:?} is no part of a name")]
    Character(char),
    /// Begins or ends with a dash.
    #[error("a part between its dots begins or ends with a dash")]
    Dash,
    /// Not a name by the rules for international ones.
    #[error("its letters form no valid international name")]
    International,
    /// Ends in a number, and is no IPv4 address.
    #[error("it ends with a number and yet is no IPv4 address")]
    Ipv4,
    /// Brackets or colons, and no IPv6 address.
    #[error("it is no IPv6 address")]
    Ipv6,
}

impl Host {
    /// Reads a host in any of the forms that name it.
    ///
    /// # Errors
    /// Where it can be none.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        if text.is_empty() {
            return Err(HostProblem::Empty);
        }
        if text.len() > MOST_TEXT {
            return Err(HostProblem::TooLong);
        }
        if let Some(inside) = text.strip_prefix('[') {
            return inside.strip_suffix(']').map_or(Err(HostProblem::Ipv6), ipv6);
        }
        if text.contains(':') {
            return ipv6(text);
        }
        let name = to_ascii(text)?;
        let name = name.strip_suffix('.').unwrap_or(&name);
        let last = name.rsplit('.').next().unwrap_or_default();
        if is_number(last) {
            return ipv4(name).map(|address| Self::Address(address.into())).ok_or(HostProblem::Ipv4);
        }
        check_name(name)?;
        Ok(Self::Name(name.into()))
    }

    /// The address, if it is one.
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

fn ipv6(text: &str) -> Result<Host, HostProblem> {
    let address: Ipv6Addr = text.parse().map_err(|_| HostProblem::Ipv6)?;
    Ok(Host::Address(canonical(address.into())))
}

/// Lower case, and international letters as they are looked up.
fn to_ascii(text: &str) -> Result<Cow<'_, str>, HostProblem> {
    let plain = text.is_ascii() && !text.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"xn--"));
    if plain {
        let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        return Ok(if is_lower { text.into() } else { text.to_ascii_lowercase().into() });
    }
    idna::domain_to_ascii_cow(text.as_bytes(), AsciiDenyList::URL).map_err(|_| HostProblem::International)
}

fn check_name(name: &str) -> Result<(), HostProblem> {
    if name.len() > 253 {
        return Err(HostProblem::TooLong);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(HostProblem::EmptyLabel);
        }
        if label.len() > 63 {
            return Err(HostProblem::LongLabel);
        }
        let is_wrong = |c: &char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
        if let Some(wrong) = label.chars().find(is_wrong) {
            return Err(HostProblem::Character(wrong));
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(HostProblem::Dash);
        }
    }
    Ok(())
}

/// Whether a last label makes the whole an IPv4 address or nothing.
fn is_number(label: &str) -> bool {
    let digits = label.strip_prefix("0x");
    !label.is_empty()
        && (label.bytes().all(|byte| byte.is_ascii_digit())
            || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())))
}

/// One to four numbers, decimal, octal or hexadecimal; the last one fills what is left.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut numbers = [0_u32; 4];
    let mut count = 0;
    for part in text.split('.') {
        *numbers.get_mut(count)? = ipv4_number(part)?;
        count += 1;
    }
    let (last, before) = numbers.get(..count)?.split_last()?;
    let free_bits = 32_u32.checked_sub(8 * u32::try_from(before.len()).ok()?)?;
    if free_bits < 32 && *last >> free_bits != 0 {
        return None;
    }
    let mut address = *last;
    for (index, number) in before.iter().enumerate() {
        if *number > 255 {
            return None;
        }
        address |= number << (24 - 8 * u32::try_from(index).ok()?);
    }
    Some(address.into())
}

fn ipv4_number(text: &str) -> Option<u32> {
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

/// A pattern over hosts; the module's second table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum HostPattern {
    /// One name.
    Name(Box<str>),
    /// Names by their labels.
    Labels(LabelPattern),
    /// Addresses that are written as such.
    Range(AddressRange),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LabelPattern {
    /// One or more further labels stand before the others.
    open: bool,
    /// From the last to the first.
    labels: Box<[Glob]>,
    text: Box<str>,
}

/// How many labels a star at the beginning stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Depth {
    One,
    /// One or more.
    Any,
}

/// Why a text is no pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternProblem {
    #[error(transparent)]
    Host(#[from] HostProblem),
    #[error(transparent)]
    Range(#[from] RangeProblem),
    #[error(transparent)]
    Glob(#[from] GlobError),
    #[error("it is an address in a form that hides it; write it as \"{0}\"")]
    Disguised(Host),
    #[error("a host has no scheme, port or path; write \"{0}\", and the others with schemes and ports")]
    Url(String),
    #[error("\"**\" stands for whole labels, and only at the beginning, as in \"**.example.com\"")]
    DoubleStar,
    #[error("stars match names, and this looks like an address; write a range such as \"10.0.0.0/8\"")]
    Numbers,
    #[error("a label with a star is written in ASCII, and not in the encoded form \"xn--\"")]
    International,
}

impl HostPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternProblem> {
        if text.len() > MOST_TEXT {
            return Err(HostProblem::TooLong.into());
        }
        if let Some(host) = host_of_url(text) {
            return Err(PatternProblem::Url(host.to_owned()));
        }
        if text.contains('*') {
            return Self::of_labels(text);
        }
        if text.contains('/') {
            return Ok(Self::Range(AddressRange::parse(text)?));
        }
        match Host::parse(text)? {
            Host::Name(name) => Ok(Self::Name(name)),
            Host::Address(address) => {
                let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
                if bare.parse() == Ok(address) {
                    Ok(Self::Range(AddressRange::of(address)))
                } else {
                    Err(PatternProblem::Disguised(Host::Address(address)))
                }
            }
        }
    }

    fn of_labels(text: &str) -> Result<Self, PatternProblem> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let (open, rest) = match text.strip_prefix("**") {
            Some("") => (true, ""),
            Some(rest) => (true, rest.strip_prefix('.').ok_or(PatternProblem::DoubleStar)?),
            None => (false, text),
        };
        if rest.contains("**") {
            return Err(PatternProblem::DoubleStar);
        }
        let mut labels = Vec::new();
        for label in rest.split('.').filter(|_| !(open && rest.is_empty())) {
            labels.push(label_glob(label)?);
        }
        let mut canonical: Vec<&str> = if open { vec!["**"] } else { Vec::new() };
        canonical.extend(labels.iter().map(Glob::as_str));
        let text = canonical.join(".").into();
        labels.reverse();
        // Neither ends a name in a number, nor is `10.*` meant to be one.
        let is_numeric = |label: &Glob| is_number(&label.as_str().replace('*', ""));
        let is_open_or_numeric = |label: &Glob| label.as_str() == "*" || is_numeric(label);
        if labels.first().is_some_and(is_numeric)
            || labels.iter().any(is_numeric) && labels.iter().all(is_open_or_numeric)
        {
            return Err(PatternProblem::Numbers);
        }
        Ok(Self::Labels(LabelPattern { open, labels: labels.into(), text }))
    }

    /// What follows the star of `*.example.com` or `**.example.com`, where no other star
    /// is.
    pub(crate) fn suffix(&self) -> Option<(Depth, String)> {
        let Self::Labels(pattern) = self else { return None };
        let (depth, labels) = match pattern.labels.split_last() {
            _ if pattern.open => (Depth::Any, &*pattern.labels),
            Some((first, rest)) if first.as_str() == "*" => (Depth::One, rest),
            _ => return None,
        };
        let labels: Option<Vec<&str>> = labels.iter().rev().map(Glob::literal).collect();
        labels.filter(|labels| !labels.is_empty()).map(|labels| (depth, labels.join(".")))
    }

    /// Whether it matches every name there is.
    pub(crate) fn is_every_name(&self) -> bool {
        matches!(self, Self::Labels(pattern) if pattern.open && pattern.labels.is_empty())
    }

    pub(crate) fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Name(wanted), Host::Name(name)) => wanted == name,
            (Self::Labels(pattern), Host::Name(name)) => pattern.matches(name),
            (Self::Range(range), Host::Address(address)) => range.names(*address),
            _ => false,
        }
    }

    /// Whether it surely matches every host that `other` does.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Range(one), Self::Range(two)) => one.covers(*two) && (one.is_single() || !two.is_single()),
            (Self::Name(_) | Self::Labels(_), Self::Name(name)) => self.matches(&Host::Name(name.clone())),
            (Self::Labels(one), Self::Labels(two)) => one.covers(two),
            _ => false,
        }
    }

    /// Whether it surely shares no host with `other`.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Range(one), Self::Range(two)) => !one.covers(*two) && !two.covers(*one),
            (Self::Range(_), _) | (_, Self::Range(_)) => true,
            (Self::Name(name), pattern) | (pattern, Self::Name(name)) => {
                !pattern.matches(&Host::Name(name.clone()))
            }
            (Self::Labels(one), Self::Labels(two)) => one.excludes(two),
        }
    }
}

/// The host of what looks like an address of the web, or a host with a port.
fn host_of_url(text: &str) -> Option<&str> {
    let (had_scheme, rest) = match text.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, text),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let is_range = !had_scheme && host.len() == authority.len();
    let has_path = rest.len() > authority.len() && !is_number_like(authority);
    (!is_range || has_path).then_some(host)
}

/// Whether what stands before a slash is an address, so that a range is meant.
fn is_number_like(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

fn label_glob(label: &str) -> Result<Glob, PatternProblem> {
    if label.is_empty() {
        return Err(HostProblem::EmptyLabel.into());
    }
    let label = if label.contains('*') {
        if !label.is_ascii() || label.to_ascii_lowercase().starts_with("xn--") {
            return Err(PatternProblem::International);
        }
        label.to_ascii_lowercase().into()
    } else {
        to_ascii(label)?
    };
    // A star may stand for what would be wrong at an end.
    check_name(&label.replace('*', "x"))?;
    Ok(Glob::parse(&label)?)
}

impl LabelPattern {
    fn matches(&self, name: &str) -> bool {
        let mut rest = name.rsplit('.');
        for label in &self.labels {
            match rest.next() {
                Some(text) if label.matches(text, OnUndecidable::NoMatch) => {}
                _ => return false,
            }
        }
        rest.next().is_some() == self.open
    }

    fn covers(&self, other: &Self) -> bool {
        let labels = || self.labels.iter().zip(&other.labels);
        if !labels().all(|(one, two)| one.covers(two)) {
            return false;
        }
        match (self.open, other.open) {
            (false, false) => self.labels.len() == other.labels.len(),
            (false, true) => false,
            (true, false) => other.labels.len() > self.labels.len(),
            (true, true) => other.labels.len() >= self.labels.len(),
        }
    }

    fn excludes(&self, other: &Self) -> bool {
        if self.labels.iter().zip(&other.labels).any(|(one, two)| one.excludes(two)) {
            return true;
        }
        // The fewest labels that a name has, and the most if there is a most.
        let span = |pattern: &Self| {
            let count = pattern.labels.len();
            if pattern.open { (count + 1, usize::MAX) } else { (count, count) }
        };
        let ((least, most), (other_least, other_most)) = (span(self), span(other));
        most < other_least || other_most < least
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Labels(pattern) => formatter.write_str(&pattern.text),
            Self::Range(range) => fmt::Display::fmt(range, formatter),
        }
    }
}

#[cfg(test)]
mod tests;
