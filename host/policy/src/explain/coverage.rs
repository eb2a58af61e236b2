//! Checks whether a set of accesses includes another set.
//!
//! The check may fail to detect an inclusion, but never reports an inclusion that does not exist.

use std::collections::BTreeSet;
use std::path::PathBuf;

use wardian_access::{ProtectedClasses, is_within};

use crate::address_pattern::AddressPattern;
use crate::host_pattern::HostPattern;
use crate::rule::{Arguments, Conditions, Destination, Ports};

use super::combined::{GrantedAccess, NetworkDestination, Pattern, ranges};

impl GrantedAccess {
    /// Returns the accesses that a rule denies. An empty list of patterns matches everything.
    pub(crate) fn from_denial(conditions: &Conditions) -> Vec<Self> {
        match conditions {
            Conditions::Network(rule) => rule
                .schemes
                .iter()
                .flat_map(|scheme| {
                    let ats = NetworkDestination::from_denial(&rule.destination, scheme.port());
                    ats.into_iter().map(|at| Self::Network {
                        scheme: *scheme,
                        at,
                        methods: rule.methods.clone(),
                    })
                })
                .collect(),
            Conditions::Filesystem(rule) => {
                let everything = [PathBuf::from("/")];
                let directories = rule.directories.as_deref().unwrap_or(&everything);
                let denied = |directory: &PathBuf| {
                    let (directory, access) = (directory.clone(), rule.access.clone());
                    if rule.protected.is_empty() {
                        Self::Filesystem { directory, access, protected: ProtectedClasses::all() }
                    } else {
                        Self::ProtectedFiles { directory, access, protected: rule.protected }
                    }
                };
                directories.iter().map(denied).collect()
            }
            // A denial with `environment` does not apply if a program is started without these
            // variables, so it does not cover every start of the program.
            Conditions::Process(rule) if rule.environment.is_some() => Vec::new(),
            Conditions::Environment(_) | Conditions::Process(_) => Self::from_conditions(conditions),
            Conditions::Communicator(rule) => NetworkDestination::from_denial(&rule.destination, None)
                .into_iter()
                .map(|at| Self::Communicator { at })
                .collect(),
        }
    }

    /// Splits the access into parts, each of which a rule grants either completely or not at all.
    pub(crate) fn pieces(self) -> Vec<Self> {
        match self {
            Self::Filesystem { directory, access, protected } => access
                .into_iter()
                .flat_map(|access| {
                    let classes = protected.iter().map(ProtectedClasses::from);
                    std::iter::once(ProtectedClasses::NONE).chain(classes).map(move |class| (access, class))
                })
                .map(|(access, protected)| Self::Filesystem {
                    directory: directory.clone(),
                    access: BTreeSet::from([access]),
                    protected,
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

    /// Returns whether this access certainly covers `other`.
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
                Self::Filesystem { directory, access, protected },
                Self::Filesystem { directory: inner, access: inner_access, protected: inner_protected },
            ) => {
                inner_access.is_subset(access)
                    && is_within(inner, directory)
                    && inner_protected.is_subset(*protected)
            }
            (
                Self::ProtectedFiles { directory, access, protected },
                Self::Filesystem { directory: inner, access: inner_access, protected: inner_protected },
            ) => {
                inner_access.is_subset(access)
                    && is_within(inner, directory)
                    && !inner_protected.is_empty()
                    && inner_protected.is_subset(*protected)
            }
            (Self::Environment { names }, Self::Environment { names: others }) => each_covers(names, others),
            (
                Self::Process { programs, arguments, environment },
                Self::Process {
                    programs: other_programs,
                    arguments: other_arguments,
                    environment: other_environment,
                },
            ) => {
                each_covers(programs, other_programs)
                    && each_covers(environment, other_environment)
                    && arguments.iter().all(|wide| {
                        other_arguments
                            .iter()
                            .any(|narrow| wide.covers(narrow) && covers_options(wide, narrow))
                    })
            }
            (Self::Communicator { at }, Self::Communicator { at: other }) => at.covers(other),
            _ => false,
        }
    }
}

impl NetworkDestination {
    fn from_denial(destination: &Destination, scheme_default: Option<u16>) -> Vec<Self> {
        let ports = match &destination.ports {
            Ports::Any => None,
            Ports::SchemeDefault => Some(scheme_default.iter().map(|port| (*port, *port)).collect()),
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
        // A host pattern that is an address range also restricts the address.
        let written = other.hosts.iter().filter_map(|host| match host {
            HostPattern::Range(range) => Some(vec![AddressPattern::Range(*range)]),
            HostPattern::Name(_) | HostPattern::Labels(_) => None,
        });
        let addresses: Vec<Vec<AddressPattern>> = other.addresses.iter().cloned().chain(written).collect();
        has_ports && each_covers(&self.hosts, &other.hosts) && each_covers(&self.addresses, &addresses)
    }
}

/// Whether `wide` matches every string that `narrow` matches, for lists whose patterns must all match.
fn each_covers<P: Pattern>(wide: &[P], narrow: &[P]) -> bool {
    wide.iter().all(|pattern| narrow.iter().any(|other| pattern.covers(other)))
}

/// A pattern that starts with a wildcard matches no options in a rule that allows.
fn covers_options(wide: &Arguments, narrow: &Arguments) -> bool {
    wide.patterns.iter().zip(&narrow.patterns).all(|(one, two)| {
        !one.starts_with_wildcard() || two.starts_with_wildcard() || !two.as_str().starts_with('-')
    })
}
