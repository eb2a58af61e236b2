//! Patterns for hosts.
//!
//! | pattern | matches |
//! |---|---|
//! | `example.com` | that name |
//! | `*.example.com` | names with exactly one label before `.example.com`; not `example.com` |
//! | `**.example.com` | names with one or more labels before `.example.com`; not `example.com` |
//! | `api-*.example.com` | a wildcard inside a label matches any characters of that label |
//! | `**` | every name, but not addresses |
//! | `192.0.2.1`, `2001:db8::/32` | that address, or addresses in that range; not names that resolve to them |

use std::fmt;
use std::net::IpAddr;

use wardian_access::{
    Host, HostProblem,
    host_name::{self, MAX_TEXT_LENGTH},
};

use crate::address_pattern::{AddressRange, RangeProblem};
use crate::glob::{Glob, GlobError, OnUndecidable};
use crate::rule::Effect;

/// A pattern of hosts; see the table in the module documentation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum HostPattern {
    Name(Box<str>),
    /// Names with matching labels.
    Labels(LabelPattern),
    /// Addresses in the range, but not names that resolve to them.
    Range(AddressRange),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LabelPattern {
    /// Whether the pattern also requires one or more additional labels before `labels`.
    open: bool,
    /// The labels from last to first.
    labels: Box<[Glob]>,
    text: Box<str>,
}

/// The number of labels that leading wildcards match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Depth {
    One,
    /// One or more.
    Any,
}

/// The reason why a string is not a host pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternProblem {
    #[error(transparent)]
    Host(#[from] HostProblem),
    #[error(transparent)]
    Range(#[from] RangeProblem),
    #[error(transparent)]
    Glob(#[from] GlobError),
    #[error("it is an obfuscated address; write it as \"{0}\"")]
    Disguised(Host),
    #[error("a host has no scheme, port or path; write \"{0}\", and specify the rest with schemes and ports")]
    Url(String),
    #[error("\"**\" matches complete labels, and is allowed only at the beginning, as in \"**.example.com\"")]
    DoubleStar,
    #[error("wildcards match names, but this looks like an address; write a range such as \"10.0.0.0/8\"")]
    Numbers,
    #[error("a label with a wildcard must be ASCII, and must not be Punycode (\"xn--\")")]
    International,
}

impl HostPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternProblem> {
        if text.len() > MAX_TEXT_LENGTH {
            return Err(HostProblem::TooLong.into());
        }
        if let Some(host) = host_of_url(text) {
            return Err(PatternProblem::Url(host.to_owned()));
        }
        if text.contains('*') {
            return Self::parse_labels(text);
        }
        if text.contains('/') {
            return Ok(Self::Range(AddressRange::parse(text)?));
        }
        match Host::parse(text)? {
            Host::Name(name) => Ok(Self::Name(name)),
            Host::Address(address) => {
                let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
                if bare.parse() == Ok(address) {
                    Ok(Self::Range(AddressRange::from_address(address)))
                } else {
                    Err(PatternProblem::Disguised(Host::Address(address)))
                }
            }
        }
    }

    fn parse_labels(text: &str) -> Result<Self, PatternProblem> {
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
        // The last label of a host name cannot be numeric, and `10.*` is probably meant as an
        // address range.
        let is_numeric = |label: &Glob| host_name::is_number(&label.as_str().replace('*', ""));
        let is_open_or_numeric = |label: &Glob| label.as_str() == "*" || is_numeric(label);
        if labels.first().is_some_and(is_numeric)
            || labels.iter().any(is_numeric) && labels.iter().all(is_open_or_numeric)
        {
            return Err(PatternProblem::Numbers);
        }
        Ok(Self::Labels(LabelPattern { open, labels: labels.into(), text }))
    }

    /// Returns the labels after the wildcard of `*.example.com` or `**.example.com`; `None` if
    /// there is another wildcard.
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

    /// Returns whether the pattern matches every name.
    pub(crate) fn is_every_name(&self) -> bool {
        matches!(self, Self::Labels(pattern) if pattern.open && pattern.labels.is_empty())
    }

    pub(crate) fn matches(&self, host: &Host, effect: Effect) -> bool {
        match (self, host) {
            (Self::Name(wanted), Host::Name(name)) => wanted == name,
            (Self::Labels(pattern), Host::Name(name)) => pattern.matches(name),
            (Self::Range(range), Host::Address(address)) => range.matches(*address, effect),
            _ => false,
        }
    }

    /// Returns whether the pattern certainly matches every host that `other` matches.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Range(one), Self::Range(two)) => one.covers(*two) && (one.is_single() || !two.is_single()),
            (Self::Name(_) | Self::Labels(_), Self::Name(name)) => {
                self.matches(&Host::Name(name.clone()), Effect::Allow)
            }
            (Self::Labels(one), Self::Labels(two)) => one.covers(two),
            _ => false,
        }
    }

    /// Returns whether the pattern certainly matches no host that `other` matches.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Range(one), Self::Range(two)) => one.excludes(*two),
            (Self::Range(_), _) | (_, Self::Range(_)) => true,
            (Self::Name(name), pattern) | (pattern, Self::Name(name)) => {
                !pattern.matches(&Host::Name(name.clone()), Effect::Allow)
            }
            (Self::Labels(one), Self::Labels(two)) => one.excludes(two),
        }
    }
}

/// Returns the host in a URL, or in a host with a port.
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
    let has_path = rest.len() > authority.len() && !is_address(authority);
    (!is_range || has_path).then_some(host)
}

/// Returns whether the text before a slash is an address. In that case, the pattern is intended as
/// a range.
fn is_address(text: &str) -> bool {
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
        host_name::to_ascii(label)?
    };
    // A wildcard may match characters that make the end of the label valid.
    host_name::check(&label.replace('*', "x"))?;
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
        // The minimum and maximum number of labels.
        let bounds = |pattern: &Self| {
            let count = pattern.labels.len();
            if pattern.open { (count + 1, usize::MAX) } else { (count, count) }
        };
        let ((min, max), (other_min, other_max)) = (bounds(self), bounds(other));
        max < other_min || other_max < min
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
