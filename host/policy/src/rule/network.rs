//! Rules for network destinations.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::ops::RangeInclusive;

use wardian_access::{AddressKind, CommunicatorConnection, Host, NetworkRequest, Scheme};

use super::Effect;
use crate::address_pattern::AddressPattern;
use crate::glob::OnUndecidable;
use crate::host_pattern::{Depth, HostPattern};

/// `allow network`, `deny network`.
#[derive(Clone, Debug)]
pub(crate) struct NetworkRule {
    pub(crate) schemes: BTreeSet<Scheme>,
    pub(crate) destination: Destination,
    /// HTTP methods; [`None`] matches all.
    pub(crate) methods: Option<BTreeSet<Box<str>>>,
}

/// `allow communicator`, `deny communicator`.
#[derive(Clone, Debug)]
pub(crate) struct CommunicatorRule {
    pub(crate) destination: Destination,
}

/// Hosts, ports, and addresses of the hosts.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// [`None`] matches all hosts.
    pub(crate) hosts: Option<HostSet>,
    pub(crate) ports: Ports,
    /// [`None`] matches public addresses in a rule that allows, and all addresses in a rule that
    /// denies.
    pub(crate) addresses: Option<Box<[AddressPattern]>>,
}

/// The ports of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ports {
    /// The default port of the scheme.
    SchemeDefault,
    Any,
    Listed(Box<[RangeInclusive<u16>]>),
}

/// Host patterns. Names without wildcards, and names whose only wildcard is the first label, are
/// found in constant time.
#[derive(Clone, Debug)]
pub(crate) struct HostSet {
    names: HashSet<Box<str>>,
    /// The patterns with a leading wildcard, by the suffix after it.
    suffixes: HashMap<String, Vec<Depth>>,
    others: Vec<HostPattern>,
    all: Box<[HostPattern]>,
}

/// The way in which a rule matched a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostMatch {
    /// A name pattern matched, and the name can resolve to any address.
    Name,
    /// An address pattern matched, so no name has to be resolved.
    Address,
}

impl HostSet {
    pub(crate) fn new(patterns: impl IntoIterator<Item = HostPattern>) -> Self {
        let all: Box<[HostPattern]> = patterns.into_iter().collect();
        let mut set =
            Self { names: HashSet::new(), suffixes: HashMap::new(), others: Vec::new(), all: Box::default() };
        for pattern in &all {
            if let HostPattern::Name(name) = pattern {
                set.names.insert(name.clone());
            } else if let Some((depth, suffix)) = pattern.suffix() {
                let depths = set.suffixes.entry(suffix).or_default();
                if !depths.contains(&depth) {
                    depths.push(depth);
                }
            } else {
                set.others.push(pattern.clone());
            }
        }
        Self { all, ..set }
    }

    fn find(&self, host: &Host, effect: Effect) -> Option<HostMatch> {
        let by_others = || self.others.iter().any(|pattern| pattern.matches(host, effect));
        match host {
            Host::Name(name) => {
                let is_named = self.names.contains(name) || self.has_suffix_of(name) || by_others();
                is_named.then_some(HostMatch::Name)
            }
            Host::Address(_) => by_others().then_some(HostMatch::Address),
        }
    }

    fn has_suffix_of(&self, name: &str) -> bool {
        !self.suffixes.is_empty()
            && name.match_indices('.').enumerate().any(|(before, (dot, _))| {
                let depths = name.get(dot + 1..).and_then(|suffix| self.suffixes.get(suffix));
                depths.is_some_and(|depths| before == 0 || depths.contains(&Depth::Any))
            })
    }

    /// Returns all patterns in source order.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = HostPattern> {
        self.all.iter().cloned()
    }
}

impl Ports {
    fn contains(&self, port: u16, scheme_default: Option<u16>) -> bool {
        match self {
            Self::SchemeDefault => scheme_default == Some(port),
            Self::Any => true,
            Self::Listed(ranges) => ranges.iter().any(|range| range.contains(&port)),
        }
    }
}

impl Destination {
    /// Whether a rule with this effect applies to a host and a port. `address` is the resolved
    /// address if the host is a name.
    pub(crate) fn matches(
        &self,
        host: &Host,
        (port, scheme_default): (u16, Option<u16>),
        address: Option<IpAddr>,
        effect: Effect,
    ) -> bool {
        if !self.ports.contains(port, scheme_default) {
            return false;
        }
        let host_match = match &self.hosts {
            None => Some(HostMatch::Name),
            Some(hosts) => hosts.find(host, effect),
        };
        let Some(host_match) = host_match else { return false };
        match (&self.addresses, host.address().or(address), effect) {
            (Some(listed), Some(address), _) => listed.iter().any(|pattern| pattern.matches(address, effect)),
            (None, Some(address), Effect::Allow) => {
                host_match == HostMatch::Address || AddressKind::from_address(address) == AddressKind::Public
            }
            // The resolved address is checked later.
            (_, None, Effect::Allow) => true,
            (Some(_), None, Effect::Deny) => false,
            (None, _, Effect::Deny) => true,
        }
    }
}

impl NetworkRule {
    pub(crate) fn matches(&self, request: &NetworkRequest, address: Option<IpAddr>, effect: Effect) -> bool {
        let method_matches = match (&self.methods, request.method()) {
            (None, _) => true,
            (Some(methods), Some(method)) => methods.contains(method),
            // On a connection, the host does not know the method.
            (Some(_), None) if request.scheme().has_methods() => {
                effect.on_undecidable() == OnUndecidable::Match
            }
            // Other protocols have no methods.
            (Some(_), None) => false,
        };
        method_matches
            && self.schemes.contains(&request.scheme())
            && self.destination.matches(
                request.host(),
                (request.port(), request.scheme().port()),
                address,
                effect,
            )
    }

    /// Whether the rule applies to a name lookup. A rule that allows TCP or UDP to a name also
    /// allows its lookup, and a rule that denies all TCP and UDP access to it also denies its
    /// lookup. For HTTP, the host looks up names itself.
    pub(crate) fn matches_look_up(&self, host: &Host, effect: Effect) -> bool {
        let sockets = [Scheme::Tcp, Scheme::Udp];
        let is_named = self.destination.hosts.as_ref().is_none_or(|hosts| hosts.find(host, effect).is_some());
        is_named
            && match effect {
                Effect::Allow => sockets.iter().any(|scheme| self.schemes.contains(scheme)),
                Effect::Deny => {
                    sockets.iter().all(|scheme| self.schemes.contains(scheme))
                        && self.methods.is_none()
                        && self.destination.addresses.is_none()
                        && self.destination.ports == Ports::Any
                }
            }
    }
}

impl CommunicatorRule {
    pub(crate) fn matches(
        &self,
        connection: &CommunicatorConnection,
        address: Option<IpAddr>,
        effect: Effect,
    ) -> bool {
        self.destination.matches(connection.host(), (connection.port(), None), address, effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn host_set_finds_matching_pattern(
            patterns in prop::collection::vec("(\\*\\*\\.|\\*\\.|\\*)?[ab](\\.[ab*]){0,2}|\\*|\\*\\*", 1..5),
            name in "[ab]{1,2}(\\.[ab]){0,3}",
        ) {
            let patterns: Vec<HostPattern> =
                patterns.iter().filter_map(|text| HostPattern::parse(text).ok()).collect();
            let host = Host::parse(&name).unwrap();
            let one_by_one = patterns.iter().any(|pattern| pattern.matches(&host, Effect::Allow));
            prop_assert_eq!(HostSet::new(patterns).find(&host, Effect::Allow).is_some(), one_by_one);
        }
    }
}
