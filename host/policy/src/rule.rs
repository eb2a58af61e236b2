//! Rules as they are matched.
//!
//! A rule allows or denies uses of one capability. The conditions that it states must
//! all hold. What it does not state is any in a rule that denies; in one that allows,
//! reading the file has put the narrow default in its place.

mod local;
mod network;

use std::net::IpAddr;
use std::sync::Arc;

use crate::glob::Doubt;
use crate::place::Place;
use crate::request::Request;

pub(crate) use local::{Arguments, EnvironmentRule, FilesystemRule, ProcessRule};
pub(crate) use network::{CommunicatorRule, Destination, HostSet, NetworkRule, Ports};

/// What a matching rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It grants.
    Allow,
    /// It forbids, whatever else the file says.
    Deny,
}

impl Effect {
    /// Whether a condition that cannot be told yet counts as met.
    pub(crate) const fn doubt(self) -> Doubt {
        match self {
            Self::Allow => Doubt::Excludes,
            Self::Deny => Doubt::Includes,
        }
    }
}

/// A block `allow` or `deny`.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) effect: Effect,
    pub(crate) place: Place,
    /// Why it is there, in the words of its author.
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) conditions: Conditions,
}

/// The capability and what of it.
#[derive(Clone, Debug)]
pub(crate) enum Conditions {
    Network(NetworkRule),
    Filesystem(FilesystemRule),
    Environment(EnvironmentRule),
    Process(ProcessRule),
    Communicator(CommunicatorRule),
}

impl Rule {
    /// Whether it is about a request. `address` is where the request's name leads to,
    /// once that is known.
    pub(crate) fn matches(&self, request: &Request, address: Option<IpAddr>) -> bool {
        match (&self.conditions, request) {
            (Conditions::Network(rule), Request::Network(request)) => {
                rule.matches(request, address, self.effect)
            }
            (Conditions::Network(rule), Request::LookUp(host)) => rule.matches_look_up(host, self.effect),
            (Conditions::Filesystem(rule), Request::File(access)) => rule.matches(access, self.effect),
            (Conditions::Environment(rule), Request::Environment(name)) => rule.matches(name, self.effect),
            (Conditions::Process(rule), Request::Process(start)) => rule.matches(start, self.effect),
            (Conditions::Communicator(rule), Request::Communicator(connection)) => {
                rule.matches(connection, address, self.effect)
            }
            _ => false,
        }
    }
}
