//! The accesses that rules grant, and their intersection.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use wardian_access::{AddressKind, FileOperation, ProtectedClasses, Scheme, is_within};

use crate::address_pattern::AddressPattern;
use crate::glob::Glob;
use crate::host_pattern::HostPattern;
use crate::rule::{Arguments, Conditions, Destination, Ports, ProgramVariables};

use super::describe;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GrantedAccess {
    Network {
        scheme: Scheme,
        at: NetworkDestination,
        methods: Option<BTreeSet<Box<str>>>,
    },
    Filesystem {
        directory: PathBuf,
        access: BTreeSet<FileOperation>,
        protected: ProtectedClasses,
    },
    /// Only the protected files of some classes. Occurs only in denials.
    ProtectedFiles {
        directory: PathBuf,
        access: BTreeSet<FileOperation>,
        protected: ProtectedClasses,
    },
    Environment {
        names: Vec<Glob>,
    },
    Process {
        programs: Vec<Glob>,
        arguments: Vec<Arguments>,
        environment: Vec<ProgramVariables>,
    },
    Communicator {
        at: NetworkDestination,
    },
}

/// A network destination. All patterns of a list must match.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NetworkDestination {
    pub(super) hosts: Vec<HostPattern>,
    /// Ranges as first and last port; [`None`] means all ports.
    pub(super) ports: Option<Vec<(u16, u16)>>,
    /// One pattern of each list must match.
    pub(super) addresses: Vec<Vec<AddressPattern>>,
}

/// The ports of a granted network access.
pub(crate) struct GrantedPorts {
    pub(crate) scheme: Scheme,
    /// First and last port of each range; [`None`] means all ports.
    pub(crate) ranges: Option<Vec<(u16, u16)>>,
}

impl GrantedAccess {
    /// Returns the granted ports of a network access.
    pub(crate) fn ports(&self) -> Option<GrantedPorts> {
        match self {
            Self::Network { scheme, at, .. } => {
                Some(GrantedPorts { scheme: *scheme, ranges: at.ports().map(<[_]>::to_vec) })
            }
            _ => None,
        }
    }

    /// Returns the accesses that a rule grants.
    pub(crate) fn from_conditions(conditions: &Conditions) -> Vec<Self> {
        match conditions {
            Conditions::Network(rule) => rule
                .schemes
                .iter()
                .flat_map(|scheme| {
                    let at = NetworkDestination::from_rule(&rule.destination, scheme.port());
                    at.map(|at| Self::Network { scheme: *scheme, at, methods: rule.methods.clone() })
                })
                .collect(),
            Conditions::Filesystem(rule) => rule
                .directories
                .iter()
                .flatten()
                .map(|directory| Self::Filesystem {
                    directory: directory.clone(),
                    access: rule.access.clone(),
                    protected: rule.protected,
                })
                .collect(),
            Conditions::Environment(rule) => {
                rule.names.iter().map(|name| Self::Environment { names: vec![name.clone()] }).collect()
            }
            Conditions::Process(rule) => vec![Self::Process {
                programs: vec![rule.program.clone()],
                arguments: rule.arguments.iter().cloned().collect(),
                environment: rule.environment.iter().cloned().collect(),
            }],
            Conditions::Communicator(rule) => NetworkDestination::from_rule(&rule.destination, None)
                .map(|at| Self::Communicator { at })
                .collect(),
        }
    }

    pub(super) fn capability(&self) -> &'static str {
        match self {
            Self::Network { .. } => "network",
            Self::Filesystem { .. } | Self::ProtectedFiles { .. } => "filesystem",
            Self::Environment { .. } => "environment",
            Self::Process { .. } => "process",
            Self::Communicator { .. } => "communicator",
        }
    }

    pub(super) fn into_directory(self) -> Option<(PathBuf, BTreeSet<FileOperation>)> {
        match self {
            Self::Filesystem { directory, access, .. } => Some((directory, access)),
            _ => None,
        }
    }

    /// Returns the intersection; [`None`] if it is certainly empty.
    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (
                Self::Network { scheme, at, methods },
                Self::Network { scheme: other_scheme, at: other_at, methods: other_methods },
            ) if scheme == other_scheme => {
                let methods = match (methods, other_methods) {
                    (Some(one), Some(two)) => Some(one.intersection(two).cloned().collect::<BTreeSet<_>>()),
                    (one, two) => one.clone().or_else(|| two.clone()),
                };
                if methods.as_ref().is_some_and(BTreeSet::is_empty) {
                    return None;
                }
                Some(Self::Network { scheme: *scheme, at: at.intersection(other_at)?, methods })
            }
            (
                Self::Filesystem { directory, access, protected },
                Self::Filesystem {
                    directory: other_directory,
                    access: other_access,
                    protected: other_protected,
                },
            ) => {
                let access: BTreeSet<FileOperation> = access.intersection(other_access).copied().collect();
                let directory = if is_within(directory, other_directory) {
                    directory
                } else if is_within(other_directory, directory) {
                    other_directory
                } else {
                    return None;
                };
                let protected = protected.intersection(*other_protected);
                (!access.is_empty()).then(|| Self::Filesystem {
                    directory: directory.clone(),
                    access,
                    protected,
                })
            }
            (Self::Environment { names }, Self::Environment { names: others }) => {
                Some(Self::Environment { names: intersect_patterns(names, others)? })
            }
            (
                Self::Process { programs, arguments, environment },
                Self::Process {
                    programs: other_programs,
                    arguments: other_arguments,
                    environment: other_environment,
                },
            ) => Some(Self::Process {
                programs: intersect_patterns(programs, other_programs)?,
                arguments: intersect_patterns(arguments, other_arguments)?,
                environment: intersect_patterns(environment, other_environment)?,
            }),
            (Self::Communicator { at }, Self::Communicator { at: other }) => {
                Some(Self::Communicator { at: at.intersection(other)? })
            }
            _ => None,
        }
    }
}

impl NetworkDestination {
    fn from_rule(destination: &Destination, scheme_default: Option<u16>) -> impl Iterator<Item = Self> {
        let ports = match &destination.ports {
            Ports::Any => None,
            Ports::SchemeDefault => Some(scheme_default.iter().map(|port| (*port, *port)).collect()),
            Ports::Listed(listed) => Some(ranges(listed)),
        };
        let addresses = destination.addresses.as_ref().map(|listed| listed.to_vec());
        destination.hosts.iter().flat_map(|hosts| hosts.patterns()).map(move |host| {
            let addresses = match (&addresses, &host) {
                (Some(listed), _) => vec![listed.clone()],
                // The host pattern already restricts the address.
                (None, HostPattern::Range(_)) => Vec::new(),
                (None, _) => vec![vec![AddressPattern::Kind(AddressKind::Public)]],
            };
            Self { hosts: vec![host], ports: ports.clone(), addresses }
        })
    }

    pub(crate) fn ports(&self) -> Option<&[(u16, u16)]> {
        self.ports.as_deref()
    }

    fn intersection(&self, other: &Self) -> Option<Self> {
        let hosts = intersect_patterns(&self.hosts, &other.hosts)?;
        let ports = match (&self.ports, &other.ports) {
            (Some(one), Some(two)) => Some(common_ports(one, two)?),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        let addresses = intersect_patterns(&self.addresses, &other.addresses)?;
        let written = hosts.iter().filter_map(|host| match host {
            HostPattern::Range(range) => Some(vec![AddressPattern::Range(*range)]),
            _ => None,
        });
        if written.into_iter().any(|range| addresses.iter().any(|listed| listed.excludes(&range))) {
            return None;
        }
        Some(Self { hosts, ports, addresses })
    }
}

fn common_ports(one: &[(u16, u16)], two: &[(u16, u16)]) -> Option<Vec<(u16, u16)>> {
    let both = one.iter().flat_map(|(first, last)| {
        two.iter()
            .map(move |(other_first, other_last)| ((*first).max(*other_first), (*last).min(*other_last)))
    });
    let common: BTreeSet<(u16, u16)> = both.filter(|(first, last)| first <= last).collect();
    (!common.is_empty()).then(|| common.into_iter().collect())
}

/// Returns the first and the last port of each range.
pub(super) fn ranges(listed: &[RangeInclusive<u16>]) -> Vec<(u16, u16)> {
    listed.iter().map(|range| (*range.start(), *range.end())).collect()
}

/// Patterns that can be compared for inclusion and exclusion.
pub(super) trait Pattern: Clone + PartialEq {
    fn covers(&self, other: &Self) -> bool;
    fn excludes(&self, other: &Self) -> bool;
}

impl Pattern for Glob {
    fn covers(&self, other: &Self) -> bool {
        self.covers(other)
    }
    fn excludes(&self, other: &Self) -> bool {
        self.excludes(other)
    }
}

impl Pattern for HostPattern {
    fn covers(&self, other: &Self) -> bool {
        self.covers(other)
    }
    fn excludes(&self, other: &Self) -> bool {
        self.excludes(other)
    }
}

impl Pattern for Vec<AddressPattern> {
    fn covers(&self, other: &Self) -> bool {
        other.iter().all(|two| self.iter().any(|one| one.covers(*two)))
    }
    fn excludes(&self, other: &Self) -> bool {
        other.iter().all(|two| self.iter().all(|one| one.excludes(*two)))
    }
}

impl Pattern for ProgramVariables {
    fn covers(&self, other: &Self) -> bool {
        self.covers(other)
    }
    /// Always false, since two such rules always have a granted access in common: the program
    /// without variables.
    fn excludes(&self, _other: &Self) -> bool {
        false
    }
}

impl Pattern for Arguments {
    fn covers(&self, other: &Self) -> bool {
        let lengths = if self.allows_more {
            other.patterns.len() >= self.patterns.len()
        } else {
            !other.allows_more && other.patterns.len() == self.patterns.len()
        };
        lengths && self.patterns.iter().zip(&other.patterns).all(|(one, two)| one.covers(two))
    }
    fn excludes(&self, other: &Self) -> bool {
        let (one, two) = (self.patterns.len(), other.patterns.len());
        let lengths = match (self.allows_more, other.allows_more) {
            (false, false) => one != two,
            (false, true) => one < two,
            (true, false) => two < one,
            (true, true) => false,
        };
        lengths || self.patterns.iter().zip(&other.patterns).any(|(one, two)| one.excludes(two))
    }
}

/// Returns the patterns of both lists without redundant ones; [`None`] if no string can match all
/// of them.
fn intersect_patterns<P: Pattern>(one: &[P], two: &[P]) -> Option<Vec<P>> {
    if one.iter().any(|pattern| two.iter().any(|other| pattern.excludes(other))) {
        return None;
    }
    let mut result: Vec<P> = Vec::with_capacity(one.len() + two.len());
    for pattern in one.iter().chain(two) {
        if result.iter().any(|narrow| pattern.covers(narrow)) {
            continue;
        }
        result.retain(|wide| !pattern.covers(wide) && !wide.covers(pattern));
        result.push(pattern.clone());
    }
    Some(result)
}

impl fmt::Display for GrantedAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network { scheme, at, methods } => {
                write!(formatter, "{scheme} to {at}")?;
                describe::methods(methods.as_ref(), formatter)
            }
            Self::Filesystem { directory, access, protected }
            | Self::ProtectedFiles { directory, access, protected } => {
                write!(formatter, "{} {}", describe::accesses(access), directory.display())?;
                describe::protected(*protected, formatter)
            }
            Self::Environment { names } => {
                formatter.write_str(&describe::join_with_and(names, |name| name.as_str().to_owned()))
            }
            Self::Process { programs, arguments, environment } => {
                formatter
                    .write_str(&describe::join_with_and(programs, |program| program.as_str().to_owned()))?;
                for (index, arguments) in arguments.iter().enumerate() {
                    formatter.write_str(if index > 0 { " and" } else { "" })?;
                    describe::arguments(arguments, formatter)?;
                }
                for (index, names) in environment.iter().enumerate() {
                    formatter.write_str(if index > 0 { " and" } else { "" })?;
                    describe::variables(names, formatter)?;
                }
                Ok(())
            }
            Self::Communicator { at } => fmt::Display::fmt(at, formatter),
        }
    }
}

impl fmt::Display for NetworkDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&describe::join_with_and(&self.hosts, HostPattern::to_string))?;
        describe::ports(self.ports.as_deref(), formatter)?;
        for addresses in &self.addresses {
            if *addresses != [AddressPattern::Kind(AddressKind::Public)] {
                write!(formatter, ", at addresses {}", describe::join_with_commas(addresses))?;
            }
        }
        Ok(())
    }
}
