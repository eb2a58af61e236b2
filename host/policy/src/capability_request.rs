//! Capability requests, represented by the rules that grant them.
//!
//! A request can contain only access that a rule can grant: the request is converted to the text of
//! a rule, which is then parsed like any other rule. The parsed rule represents the request.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use wardian_access::{AccessRequest, FileOperation, ProtectedClasses};
use wardian_diagnostic::SourceFile;
use wardian_printable::escape::{Extent, escape};

use crate::explain::{GrantedAccess, describe_conditions};
use crate::host_pattern::HostPattern;
use crate::level::Level;
use crate::policy::PolicyFile;
use crate::rule::{Conditions, Rule};
use crate::suggest::{list, string_literal};

/// Maximum length of a reason, in characters.
const MAX_REASON_LENGTH: usize = 500;

/// Maximum number of combinations of a request's values, for example of hosts and methods.
const MAX_COMBINATIONS: usize = 1000;

/// The arguments of rules in the order of rendering.
const ARGUMENT_ORDER: [&str; 13] = [
    "hosts",
    "directories",
    "names",
    "program",
    "arguments",
    "environment",
    "access",
    "protected",
    "schemes",
    "ports",
    "methods",
    "addresses",
    "reason",
];

/// The value of a rule's argument.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleArgument {
    /// `"..."`
    String(String),
    /// `["...", "..."]`
    List(Vec<String>),
}

#[derive(Clone, Debug)]
pub struct CapabilityRequest {
    capability: String,
    arguments: Vec<(String, String)>,
    rule: Arc<Rule>,
}

impl PartialEq for CapabilityRequest {
    fn eq(&self, other: &Self) -> bool {
        self.capability == other.capability && self.arguments == other.arguments
    }
}

impl Eq for CapabilityRequest {}

/// The reason why a capability request is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CapabilityRequestError {
    /// The name of the capability or of an argument is invalid.
    #[error("{0:?} is not a valid name in a policy")]
    InvalidName(String),
    /// The string cannot occur in a policy or would mislead a reader, for example because it
    /// contains a control character.
    #[error("the value of \"{0}\" contains characters that policies do not allow")]
    InvalidString(String),
    /// The reason is missing or too long.
    #[error("a reason of at most {MAX_REASON_LENGTH} characters is required")]
    InvalidReason,
    /// The request is too large to be reviewed.
    #[error("it lists more than {MAX_COMBINATIONS} combinations of hosts, methods and other values")]
    TooLarge,
    /// The rule that would grant the request is invalid.
    #[error("{0}")]
    InvalidRule(String),
}

impl CapabilityRequest {
    /// Creates a request from a capability's name in policies and the arguments of its rule,
    /// which must include `reason`. Relative directories are relative to `root_module`, which
    /// must be absolute.
    ///
    /// # Errors
    /// Returns an error if the request is not a valid rule.
    pub fn new(
        capability: &str,
        arguments: impl IntoIterator<Item = (String, RuleArgument)>,
        root_module: &Path,
    ) -> Result<Self, CapabilityRequestError> {
        let request = Self::without_reason(capability, arguments, root_module)?;
        if request.reason().trim().is_empty() {
            return Err(CapabilityRequestError::InvalidReason);
        }
        match &request.rule.conditions {
            Conditions::Filesystem(rule) if rule.access.contains(&FileOperation::Connect) => {
                let problem = "a component cannot connect to Unix domain sockets";
                Err(CapabilityRequestError::InvalidRule(problem.to_owned()))
            }
            _ => Ok(request),
        }
    }

    /// Creates a request on behalf of a user, without a reason; see [`CapabilityRequest::new`].
    ///
    /// # Errors
    /// Returns an error if the request is not a valid rule.
    pub fn without_reason(
        capability: &str,
        arguments: impl IntoIterator<Item = (String, RuleArgument)>,
        root_module: &Path,
    ) -> Result<Self, CapabilityRequestError> {
        let mut rendered = Vec::new();
        for (name, argument) in arguments {
            check_name(&name)?;
            let value = match &argument {
                RuleArgument::String(reason)
                    if name == "reason" && reason.chars().nth(MAX_REASON_LENGTH).is_some() =>
                {
                    return Err(CapabilityRequestError::InvalidReason);
                }
                RuleArgument::String(one) => {
                    Some(one).filter(|one| is_unambiguous(one)).and_then(|one| string_literal(one))
                }
                // Hosts are written in canonical form, in which they are looked up, because letters
                // of another script can look like Latin letters.
                RuleArgument::List(all) if name == "hosts" => {
                    let hosts: Vec<String> = all.iter().map(|one| canonical_host(one)).collect();
                    list(hosts.iter().map(String::as_str))
                        .filter(|_| all.iter().all(|one| is_unambiguous(one)))
                }
                RuleArgument::List(all) if all.iter().all(|one| is_unambiguous(one)) => {
                    list(all.iter().map(String::as_str))
                }
                RuleArgument::List(_) => None,
            };
            let Some(value) = value else { return Err(CapabilityRequestError::InvalidString(name)) };
            rendered.push((name, value));
        }
        // Equal requests are rendered equally, regardless of the order in the declaration.
        rendered.sort_by_key(|(name, _)| ARGUMENT_ORDER.iter().position(|known| known == name));
        check_name(capability)?;
        let rule = parse_rule(&block("allow", capability, &rendered), root_module)?;
        let request = Self { capability: capability.to_owned(), arguments: rendered, rule };
        if request.combinations() > MAX_COMBINATIONS {
            Err(CapabilityRequestError::TooLarge)
        } else {
            Ok(request)
        }
    }

    pub fn capability(&self) -> &str {
        &self.capability
    }

    /// Returns the rule's arguments: name and rendered value.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = (&str, &str)> {
        self.arguments.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn description(&self) -> String {
        describe_conditions(&self.rule.conditions)
    }

    pub fn reason(&self) -> &str {
        self.rule.reason.as_deref().unwrap_or_default()
    }

    /// Renders the request as a block without indentation; `verb` is `allow` in a policy.
    pub fn block(&self, verb: &str) -> String {
        block(verb, &self.capability, &self.arguments)
    }

    /// Returns whether a grant of the request allows an access to files of these classes, or to a host with
    /// this resolved address.
    pub(crate) fn grants(
        &self,
        access: &AccessRequest,
        classes: ProtectedClasses,
        address: Option<IpAddr>,
    ) -> bool {
        self.rule.matches(access, classes, address)
    }

    /// Returns whether `others` include the whole request. May return false negatives.
    pub fn is_covered_by<'a>(&self, others: impl IntoIterator<Item = &'a Self>) -> bool {
        let others: Vec<GrantedAccess> = others
            .into_iter()
            .flat_map(|other| GrantedAccess::from_conditions(&other.rule.conditions))
            .collect();
        self.pieces().iter().all(|piece| others.iter().any(|other| other.covers(piece)))
    }

    /// Returns the number of combinations, without building them.
    fn combinations(&self) -> usize {
        let granted = GrantedAccess::from_conditions(&self.rule.conditions);
        let methods = match &self.rule.conditions {
            Conditions::Network(rule) => rule.methods.as_ref().map_or(1, BTreeSet::len),
            Conditions::Filesystem(_)
            | Conditions::Environment(_)
            | Conditions::Process(_)
            | Conditions::Communicator(_) => 1,
        };
        granted.len().saturating_mul(methods)
    }

    pub(crate) fn pieces(&self) -> Vec<GrantedAccess> {
        let all: BTreeSet<GrantedAccess> = GrantedAccess::from_conditions(&self.rule.conditions)
            .into_iter()
            .flat_map(GrantedAccess::pieces)
            .collect();
        all.into_iter().collect()
    }
}

/// Returns whether a string is displayed unambiguously. With invisible characters, or characters
/// that change the text direction, a string can look like a different string.
fn is_unambiguous(text: &str) -> bool {
    escape(text, Extent::Line) == text
}

/// Returns a host in canonical form. The policy therefore contains the host in the form that the
/// user has seen, even if the name contains confusable characters. An invalid host is returned
/// unchanged, and rejected together with the rule.
fn canonical_host(host: &str) -> String {
    HostPattern::parse(host).map_or_else(|_| host.to_owned(), |pattern| pattern.to_string())
}

/// A name is rendered without quotes, so it must be an identifier.
fn check_name(name: &str) -> Result<(), CapabilityRequestError> {
    let is_word = (1..=32).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_word { Ok(()) } else { Err(CapabilityRequestError::InvalidName(name.chars().take(32).collect())) }
}

fn block(verb: &str, capability: &str, arguments: &[(String, String)]) -> String {
    let width = arguments.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut block = format!("{verb} {capability} {{\n");
    for (name, value) in arguments {
        let _ = writeln!(block, "  {name:width$} = {value}");
    }
    block.push_str("}\n");
    block
}

fn parse_rule(block: &str, root_module: &Path) -> Result<Arc<Rule>, CapabilityRequestError> {
    let file = SourceFile::new("", format!("plugin \"*\" {{\n{block}}}\n"));
    let policy = PolicyFile::parse(Level::RootModule, &file, root_module).map_err(|problems| {
        let first = problems.iter().next();
        CapabilityRequestError::InvalidRule(first.map_or(String::new(), |first| {
            format!("{}: {}", first.summary, first.detail.trim_end_matches('.'))
        }))
    })?;
    let rules: Vec<&Arc<Rule>> = policy.plugins.iter().flat_map(|plugin| &plugin.rules).collect();
    match rules.as_slice() {
        [rule] => Ok(Arc::clone(rule)),
        _ => Err(CapabilityRequestError::InvalidRule("it consists of more than one rule".to_owned())),
    }
}
