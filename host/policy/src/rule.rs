//! Compiled rules: their effect and conditions.
//!
//! A rule allows or denies accesses of one capability. All its conditions must match. An absent
//! condition of a `deny` rule matches everything. In an `allow` rule, the parser has replaced each
//! absent condition with its narrow default.

mod local;
mod network;
mod program_variables;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_access::{AccessRequest, FileOperation, ProtectedClasses};

use crate::glob::OnUndecidable;
use crate::source_location::SourceLocation;

pub(crate) use local::{Arguments, EnvironmentRule, FilesystemRule, ProcessRule, grants_all_programs};
pub(crate) use network::{CommunicatorRule, Destination, HostSet, NetworkRule, Ports};
pub(crate) use program_variables::{ProgramVariables, is_controlling};

/// The effect of a matching rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    Allow,
    /// Denies, even if another rule of the file grants the access.
    Deny,
}

impl Effect {
    /// Returns the result of a condition whose outcome cannot be determined.
    pub(crate) const fn on_undecidable(self) -> OnUndecidable {
        match self {
            Self::Allow => OnUndecidable::NoMatch,
            Self::Deny => OnUndecidable::Match,
        }
    }
}

/// An `allow` or `deny` block.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) effect: Effect,
    pub(crate) location: SourceLocation,
    /// The `reason` argument.
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) conditions: Conditions,
}

/// The capability and its conditions.
#[derive(Clone, Debug)]
pub(crate) enum Conditions {
    Network(NetworkRule),
    Filesystem(FilesystemRule),
    Environment(EnvironmentRule),
    Process(ProcessRule),
    Communicator(CommunicatorRule),
}

impl Rule {
    /// Returns the directories that the rule grants for writing.
    pub(crate) fn writable_directories(&self) -> Option<&[PathBuf]> {
        match &self.conditions {
            Conditions::Filesystem(rule)
                if self.effect == Effect::Allow && rule.access.contains(&FileOperation::Write) =>
            {
                rule.directories.as_deref()
            }
            _ => None,
        }
    }

    /// Whether the rule applies to a request. `classes` are the classes of the request's files, and
    /// `address` is the resolved address of its host, if known.
    pub(crate) fn matches(
        &self,
        request: &AccessRequest,
        classes: ProtectedClasses,
        address: Option<IpAddr>,
    ) -> bool {
        match (&self.conditions, request) {
            (Conditions::Network(rule), AccessRequest::Network(request)) => {
                rule.matches(request, address, self.effect)
            }
            (Conditions::Network(rule), AccessRequest::LookUp(host)) => {
                rule.matches_look_up(host, self.effect)
            }
            (Conditions::Filesystem(rule), AccessRequest::File(access)) => {
                rule.matches(access, classes, self.effect)
            }
            (Conditions::Environment(rule), AccessRequest::Environment(name)) => {
                rule.matches(name, self.effect)
            }
            (Conditions::Process(rule), AccessRequest::Process(start)) => rule.matches(start, self.effect),
            (Conditions::Communicator(rule), AccessRequest::Communicator(connection)) => {
                rule.matches(connection, address, self.effect)
            }
            _ => false,
        }
    }
}
