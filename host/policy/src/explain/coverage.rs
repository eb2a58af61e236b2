//! Whether what is granted, or denied, includes all of something else.
//!
//! May say no where it is so; never says yes where it is not.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::address::AddressPattern;
use crate::host::HostPattern;
use crate::path::is_within;
use crate::rule::{Arguments, Conditions, Destination, Ports};

use super::combined::{At, Granted, Pattern, ranges};

impl Granted {
    /// What a rule denies. A list of patterns with nothing in it is anything.
    pub(crate) fn denied_by(conditions: &Conditions) -> Vec<Self> {
        match conditions {
            Conditions::Network(rule) => rule
                .schemes
                .iter()
                .flat_map(|scheme| {
                    let ats = At::denied_by(&rule.destination, scheme.port());
                    ats.into_iter().map(|at| Self::Network {
                        scheme: *scheme,
                        at,
                        methods: rule.methods.clone(),
                    })
                })
                .collect(),
            Conditions::Filesystem(rule) => match &rule.directories {
                Some(_) => Self::of(conditions),
                None => {
                    vec![Self::Filesystem { directory: PathBuf::from("/"), access: rule.access.clone() }]
                }
            },
            Conditions::Environment(_) | Conditions::Process(_) => Self::of(conditions),
            Conditions::Communicator(rule) => At::denied_by(&rule.destination, None)
                .into_iter()
                .map(|at| Self::Communicator { at })
                .collect(),
        }
    }

    /// It in pieces that are either granted as a whole by one rule or not.
    pub(crate) fn pieces(self) -> Vec<Self> {
        match self {
            Self::Filesystem { directory, access } => access
                .into_iter()
                .map(|access| Self::Filesystem {
                    directory: directory.clone(),
                    access: BTreeSet::from([access]),
                })
                .collect(),
            Self::Network { scheme, at, methods: Some(methods) } => methods
                .into_iter()
                .map(|method| Self::Network {
                    scheme,
                    at: at.clone(),
                    methods: Some(BTreeSet::from([method])),
                })
                .collect(),
            whole => vec![whole],
        }
    }

    /// Whether it surely includes all that `other` does.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Network { scheme, at, methods },
                Self::Network { scheme: other_scheme, at: other_at, methods: other_methods },
            ) => {
                let has_methods = match (methods, other_methods) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(all), Some(some)) => some.is_subset(all),
                };
                scheme == other_scheme && has_methods && at.covers(other_at)
            }
            (
                Self::Filesystem { directory, access },
                Self::Filesystem { directory: inner, access: inner_access },
            ) => inner_access.is_subset(access) && is_within(inner, directory),
            (Self::Environment { names }, Self::Environment { names: others }) => all_cover(names, others),
            (
                Self::Process { programs, arguments },
                Self::Process { programs: other_programs, arguments: other_arguments },
            ) => {
                all_cover(programs, other_programs)
                    && arguments.iter().all(|wide| {
                        other_arguments
                            .iter()
                            .any(|narrow| wide.covers(narrow) && takes_options(wide, narrow))
                    })
            }
            (Self::Communicator { at }, Self::Communicator { at: other }) => at.covers(other),
            _ => false,
        }
    }
}

impl At {
    fn denied_by(destination: &Destination, of_scheme: Option<u16>) -> Vec<Self> {
        let ports = match &destination.ports {
            Ports::Any => None,
            Ports::OfScheme => Some(of_scheme.iter().map(|port| (*port, *port)).collect()),
            Ports::Listed(listed) => Some(ranges(listed)),
        };
        let addresses: Vec<Vec<AddressPattern>> =
            destination.addresses.iter().map(|listed| listed.to_vec()).collect();
        let at = |hosts| Self { hosts, ports: ports.clone(), addresses: addresses.clone() };
        match &destination.hosts {
            None => vec![at(Vec::new())],
            Some(hosts) => hosts.patterns().map(|host| at(vec![host])).collect(),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let has_ports = match (&self.ports, &other.ports) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(all), Some(some)) => {
                some.iter().all(|(first, last)| all.iter().any(|(from, to)| from <= first && last <= to))
            }
        };
        // A host that is written as an address is at that address.
        let written = other.hosts.iter().filter_map(|host| match host {
            HostPattern::Range(range) => Some(vec![AddressPattern::Range(*range)]),
            HostPattern::Name(_) | HostPattern::Labels(_) => None,
        });
        let addresses: Vec<Vec<AddressPattern>> = other.addresses.iter().cloned().chain(written).collect();
        has_ports && all_cover(&self.hosts, &other.hosts) && all_cover(&self.addresses, &addresses)
    }
}

/// Of two lists whose patterns must all match: whether the first matches wherever the
/// second does.
fn all_cover<P: Pattern>(wide: &[P], narrow: &[P]) -> bool {
    wide.iter().all(|pattern| narrow.iter().any(|other| pattern.covers(other)))
}

/// A pattern that begins with a star takes no options, whatever else it takes.
fn takes_options(wide: &Arguments, narrow: &Arguments) -> bool {
    wide.patterns
        .iter()
        .zip(&narrow.patterns)
        .all(|(one, two)| !one.begins_open() || two.begins_open() || !two.as_str().starts_with('-'))
}
