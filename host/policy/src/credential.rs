//! Credentials that the host adds to requests, so that no plugin has to know them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::place::Place;
use crate::request::{NetworkRequest, Scheme};
use crate::rule::{Destination, Effect};

/// Where the host has a secret from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialSource {
    /// A variable of the host's environment.
    Environment(Box<str>),
    /// A file of the host's; its last line break is no part of the secret.
    File(PathBuf),
}

/// A secret bound to destinations: the host adds the header to the requests that go
/// there, and the plugin may not set it.
#[derive(Clone, Debug)]
pub struct CredentialBinding {
    /// The header's name, in lower case.
    pub header: Box<str>,
    /// What stands before the secret, such as `Bearer `.
    pub prefix: Box<str>,
    /// Where the secret is.
    pub source: CredentialSource,
    /// The line that says so.
    pub place: Place,
    pub(crate) schemes: BTreeSet<Scheme>,
    pub(crate) destination: Destination,
}

impl CredentialBinding {
    /// Whether a request gets it.
    pub(crate) fn matches(&self, request: &NetworkRequest) -> bool {
        self.schemes.contains(&request.scheme)
            && self.destination.matches(
                &request.host,
                (request.port, request.scheme.port()),
                None,
                Effect::Allow,
            )
    }

    /// Where it is sent to, for people.
    pub(crate) fn destinations(&self) -> Vec<String> {
        self.destination
            .hosts
            .iter()
            .flat_map(|hosts| hosts.patterns())
            .map(|host| host.to_string())
            .collect()
    }
}
