//! Rules and settings that cannot be enforced for a native plugin, even if a supervisor confines it.
//!
//! The supervisor decides on each connection, but does not see the requests in it if they are
//! encrypted.

use wardian_access::Scheme;

use crate::policy::PluginPolicy;
use crate::rule::{Conditions, Effect, Rule};
use crate::source_location::SourceLocation;

/// A rule or a setting that cannot be enforced for a native plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnenforceableRule {
    pub location: SourceLocation,
    /// The part of the rule, as in a policy: `methods`.
    pub subject: &'static str,
    /// A clause: `TLS hides the method of a request`.
    pub reason: &'static str,
}

/// The kinds of [`UnenforceableRule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unenforceable {
    Methods,
    Datagrams,
    Credential,
    Deterministic,
}

impl Unenforceable {
    pub(crate) const fn subject(self) -> &'static str {
        match self {
            Self::Methods => "methods",
            Self::Datagrams => "udp",
            Self::Credential => "credential",
            Self::Deterministic => "deterministic",
        }
    }

    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Methods => "TLS hides the method of a request",
            Self::Datagrams => {
                "native plugins may not send datagrams, except for name lookups, which the host answers"
            }
            Self::Credential => "TLS hides the request, so the host cannot add a header to it",
            Self::Deterministic => "native code reads the system's clock and its source of randomness",
        }
    }

    /// Returns the parts of a rule that cannot be enforced.
    pub(crate) fn in_rule(rule: &Rule) -> impl Iterator<Item = Self> {
        let (methods, datagrams) = match &rule.conditions {
            Conditions::Network(network) => (
                network.methods.is_some(),
                rule.effect == Effect::Allow && network.schemes.contains(&Scheme::Udp),
            ),
            Conditions::Filesystem(_)
            | Conditions::Environment(_)
            | Conditions::Process(_)
            | Conditions::Communicator(_) => (false, false),
        };
        [(methods, Self::Methods), (datagrams, Self::Datagrams)]
            .into_iter()
            .filter_map(|(applies, part)| applies.then_some(part))
    }

    fn at(self, location: &SourceLocation) -> UnenforceableRule {
        UnenforceableRule { location: location.clone(), subject: self.subject(), reason: self.reason() }
    }
}

impl PluginPolicy {
    /// Returns the rules and settings of all files that cannot be enforced for the plugin if it is a
    /// confined native plugin, in the order of the files.
    pub fn unenforceable_for_native_code(&self) -> Vec<UnenforceableRule> {
        let rules = self.files.iter().flat_map(|file| &file.rules);
        let in_rules =
            rules.flat_map(|rule| Unenforceable::in_rule(rule).map(move |part| part.at(&rule.location)));
        let credentials = self.credentials.iter().map(|one| Unenforceable::Credential.at(&one.location));
        let deterministic = self.settings.deterministic.iter().filter(|set| set.value);
        let deterministic = deterministic.map(|set| Unenforceable::Deterministic.at(&set.location));
        in_rules.chain(credentials).chain(deterministic).collect()
    }
}
