//! Credentials that the host adds to requests. Plugins do not see them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use wardian_access::{NetworkRequest, Scheme};

use crate::rule::{Destination, Effect};
use crate::source_location::SourceLocation;

/// The source of a secret on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialSource {
    /// An environment variable of the host.
    Environment(Box<str>),
    /// A file on the host; a trailing line break is not part of the secret.
    File(PathBuf),
}

/// A credential that is bound to destinations: the host adds the header to requests to these
/// destinations, and the plugin must not set it.
#[derive(Clone, Debug)]
pub struct CredentialBinding {
    /// Name of the header, in lower case.
    pub header: Box<str>,
    /// Text before the secret, such as `Bearer `.
    pub prefix: Box<str>,
    pub source: CredentialSource,
    /// The policy line of the credential.
    pub location: SourceLocation,
    pub(crate) schemes: BTreeSet<Scheme>,
    pub(crate) destination: Destination,
}

impl CredentialBinding {
    /// Whether the credential is added to a request.
    pub(crate) fn matches(&self, request: &NetworkRequest) -> bool {
        self.schemes.contains(&request.scheme())
            && self.destination.matches(
                request.host(),
                (request.port(), request.scheme().port()),
                None,
                Effect::Allow,
            )
    }

    /// Describes the hosts to which the credential is sent.
    pub(crate) fn destinations(&self) -> Vec<String> {
        self.destination
            .hosts
            .iter()
            .flat_map(|hosts| hosts.patterns())
            .map(|host| host.to_string())
            .collect()
    }
}
