//! Services that the organisation opens to untrusted configurations: backends, whose states are then
//! read, and key providers, whose keys decrypt them.
//!
//! The author of an untrusted configuration chooses its arguments, and therefore the servers to
//! which requests with the operator's credentials are sent. A rule names every argument that the configuration may set. An
//! argument that no rule names must not be set, so an argument that this crate does not know, such as
//! one that selects an endpoint, a profile or a file with certificates, cannot redirect a request.
//!
//! A wildcard matches only letters, digits, `.`, `_` and `-` (and `/` for `**`), and no segment `.` or
//! `..`: otherwise, a value could end the path of a URL, or add a parameter to a connection string.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::glob::{Glob, OnUndecidable};
use crate::policy::Policy;
use crate::source_location::SourceLocation;

/// The workspace that a rule without `workspaces` includes.
const DEFAULT_WORKSPACE: &str = "default";

/// The kind of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    Backend,
    KeyProvider,
}

impl ServiceKind {
    pub const ALL: [Self; 2] = [Self::Backend, Self::KeyProvider];

    /// Returns the name of the block.
    pub const fn block(self) -> &'static str {
        match self {
            Self::Backend => "untrusted_backend",
            Self::KeyProvider => "untrusted_key_provider",
        }
    }

    /// Returns the name in messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::KeyProvider => "key provider",
        }
    }
}

/// The pattern of an argument's value.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentPattern {
    glob: Glob,
}

/// The reason why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentPatternError {
    #[error("{0}")]
    Pattern(String),
    #[error("a wildcard must follow the host and a \"/\", because it could match another host")]
    WildcardInHost,
    #[error("wildcards are not supported in this argument, because it determines a destination or a file")]
    Wildcard,
}

/// Parts of the names of arguments that determine a destination, a file, a program, or how a server is
/// verified.
const EXACT_NAMES: [&str; 25] = [
    "_file",
    "account",
    "address",
    "bundle",
    "ca_",
    "cert",
    "command",
    "config",
    "conn",
    "credential",
    "datacenter",
    "domain",
    "endpoint",
    "environment",
    "exec",
    "files",
    "host",
    "insecure",
    "metadata",
    "profile",
    "proxy",
    "region",
    "role",
    "scheme",
    "url",
];

impl ArgumentPattern {
    /// Parses the pattern of the argument with this name.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, ArgumentPatternError> {
        let glob = Glob::parse(text).map_err(|error| ArgumentPatternError::Pattern(error.to_string()))?;
        if glob.literal().is_some() {
            return Ok(Self { glob });
        }
        match text.split_once("://") {
            Some((scheme, rest)) => {
                let host = rest.split_once('/').map(|(host, _)| host);
                if scheme.contains('*') || host.is_none_or(|host| host.contains('*')) {
                    return Err(ArgumentPatternError::WildcardInHost);
                }
            }
            None if EXACT_NAMES.iter().any(|part| name.contains(part)) => {
                return Err(ArgumentPatternError::Wildcard);
            }
            None => {}
        }
        // The parameters of a connection string can change its host.
        if name.contains("conn") {
            return Err(ArgumentPatternError::Wildcard);
        }
        Ok(Self { glob })
    }

    fn matches(&self, value: &str) -> bool {
        if self.glob.literal().is_some() {
            return self.glob.matches(value, OnUndecidable::NoMatch);
        }
        // If the value has as many special characters as the literal parts of the pattern, then the
        // wildcards match none.
        let special = |text: &str| text.bytes().filter(|byte| !is_plain(*byte) && *byte != b'*').count();
        special(value) == special(self.glob.as_str())
            && !value.contains('*')
            && !value.split('/').any(|segment| matches!(segment, "." | ".."))
            && self.glob.matches(value, OnUndecidable::NoMatch)
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-/".contains(&byte)
}

/// The patterns of arguments by name. The name of a nested argument contains dots.
pub(crate) type ArgumentPatterns = BTreeMap<String, Vec<ArgumentPattern>>;

/// A rule that names a service.
#[derive(Clone, Debug)]
pub struct ServiceRule {
    pub(crate) kind: ServiceKind,
    pub(crate) type_name: Box<str>,
    /// The arguments that the configuration must set.
    pub(crate) required: ArgumentPatterns,
    /// The arguments that the configuration may set.
    pub(crate) accepted: ArgumentPatterns,
    /// [`None`] for the default workspace only.
    pub(crate) workspaces: Option<Vec<Glob>>,
    pub(crate) location: SourceLocation,
    pub(crate) reason: Option<Arc<str>>,
}

/// An argument of a configuration: its name, in which dots separate nested arguments, and its value. A
/// list has one entry for each element.
pub type ServiceArgument = (String, String);

/// The reason why no rule permits a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceDenial {
    /// There is no rule for services of the type.
    NoRule { kind: ServiceKind },
    /// The arguments do not match the rule that is the closest.
    Mismatch { location: SourceLocation, reason: Option<Arc<str>>, mismatch: ArgumentMismatch },
}

/// The first difference between the arguments and a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentMismatch {
    /// The rule does not name the argument.
    NotNamed(String),
    /// The value does not match.
    Value(String),
    /// The rule requires the argument, and the configuration does not set it.
    Missing(String),
}

impl fmt::Display for ServiceDenial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule { kind } => {
                write!(formatter, "the organisation's policy has no {} block for it", kind.block())
            }
            Self::Mismatch { location, reason, mismatch } => {
                let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
                write!(formatter, "{mismatch} ({location}{reason})")
            }
        }
    }
}

impl fmt::Display for ArgumentMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNamed(name) => {
                write!(
                    formatter,
                    "the configuration sets \"{name}\", which the organisation's policy does not name"
                )
            }
            Self::Value(name) => {
                write!(formatter, "the value of \"{name}\" does not match the organisation's policy")
            }
            Self::Missing(name) => {
                write!(
                    formatter,
                    "the configuration does not set \"{name}\", which the organisation's policy requires"
                )
            }
        }
    }
}

impl ServiceRule {
    /// Returns the line of the rule.
    pub fn location(&self) -> &SourceLocation {
        &self.location
    }

    /// Whether states of a workspace may be read.
    pub fn permits_workspace(&self, workspace: &str) -> bool {
        match &self.workspaces {
            None => workspace == DEFAULT_WORKSPACE,
            Some(patterns) => patterns.iter().any(|one| one.matches(workspace, OnUndecidable::NoMatch)),
        }
    }

    fn mismatch(&self, arguments: &[ServiceArgument]) -> Option<ArgumentMismatch> {
        for (name, value) in arguments {
            let Some(patterns) = self.required.get(name).or_else(|| self.accepted.get(name)) else {
                return Some(ArgumentMismatch::NotNamed(name.clone()));
            };
            if !patterns.iter().any(|one| one.matches(value)) {
                return Some(ArgumentMismatch::Value(name.clone()));
            }
        }
        let is_set = |required: &str| arguments.iter().any(|(name, _)| name == required);
        let missing = self.required.keys().find(|name| !is_set(name));
        missing.map(|name| ArgumentMismatch::Missing(name.clone()))
    }
}

impl Policy {
    /// Returns the rules that name services for untrusted configurations.
    pub fn service_rules(&self) -> impl Iterator<Item = &ServiceRule> {
        self.files().iter().flat_map(|file| &file.services)
    }

    /// Returns the rule of the organisation that permits an untrusted configuration to use a service with
    /// these arguments, which must be all arguments that the configuration sets.
    ///
    /// # Errors
    /// Returns the reason if no rule permits it.
    pub fn untrusted_service(
        &self,
        kind: ServiceKind,
        type_name: &str,
        arguments: &[ServiceArgument],
    ) -> Result<&ServiceRule, ServiceDenial> {
        let mut denial = ServiceDenial::NoRule { kind };
        for rule in self.service_rules().filter(|rule| rule.kind == kind && *rule.type_name == *type_name) {
            match rule.mismatch(arguments) {
                None => return Ok(rule),
                Some(mismatch) => {
                    let (location, reason) = (rule.location.clone(), rule.reason.clone());
                    denial = ServiceDenial::Mismatch { location, reason, mismatch };
                }
            }
        }
        Err(denial)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wardian_diagnostic::SourceFile;

    use super::*;
    use crate::{Level, PolicyFile};

    fn policy(text: &str) -> Policy {
        let file = SourceFile::new("wardian.policy.hcl", text);
        let root = Path::new("/srv");
        Policy::new(root, [PolicyFile::parse(Level::Organisation, &file, root).unwrap()], [])
    }

    fn problem(level: Level, text: &str) -> String {
        let file = SourceFile::new("wardian.policy.hcl", text);
        let problems = PolicyFile::parse(level, &file, Path::new("/srv")).unwrap_err();
        problems.iter().map(|one| one.detail.clone()).collect()
    }

    fn arguments(given: &[(&str, &str)]) -> Vec<ServiceArgument> {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn permits(policy: &Policy, type_name: &str, given: &[(&str, &str)]) -> bool {
        policy.untrusted_service(ServiceKind::Backend, type_name, &arguments(given)).is_ok()
    }

    const S3: &str = "untrusted_backend \"s3\" {\n  reason = \"SEC-3\"\n  workspaces = [\"default\", \"dev-*\"]\n  require {\n    bucket = \"states\"\n    \
                      key = [\"network/*.tfstate\", \"dns\"]\n  }\n  accept {\n    encrypt = \"*\"\n    endpoints {\n      \
                      s3 = \"https://s3.example.com\"\n    }\n  }\n}\n";

    #[test]
    fn only_named_arguments_and_values_are_permitted() {
        let policy = policy(S3);
        let base = [("bucket", "states"), ("key", "network/a.tfstate")];
        assert!(permits(&policy, "s3", &base));
        assert!(permits(&policy, "s3", &[("bucket", "states"), ("key", "dns"), ("encrypt", "true")]));
        assert!(permits(&policy, "s3", &[base[0], base[1], ("endpoints.s3", "https://s3.example.com")]));
        for more in [
            ("endpoints.s3", "https://s3.example.com.evil.example"),
            ("endpoints.sts", "https://s3.example.com"),
            ("endpoint", "https://s3.example.com"),
            ("profile", "admin"),
            ("shared_config_files", "config"),
            ("assume_role.role_arn", "arn:aws:iam::1:role/x"),
            ("custom_ca_bundle", "ca.pem"),
            ("bucket", "other"),
        ] {
            assert!(!permits(&policy, "s3", &[base[0], base[1], more]), "{more:?}");
        }
        for key in
            ["network/a/b.tfstate", "network/../x.tfstate", "network/...tfstate?", "other", "dns/x", ""]
        {
            assert!(!permits(&policy, "s3", &[("bucket", "states"), ("key", key)]), "{key}");
        }
        assert!(!permits(&policy, "s3", &[("bucket", "states")]), "the key is required");
        assert!(!permits(&policy, "gcs", &base));
        let provider = policy.untrusted_service(ServiceKind::KeyProvider, "s3", &arguments(&base));
        assert_eq!(provider.unwrap_err(), ServiceDenial::NoRule { kind: ServiceKind::KeyProvider });
        let rule = policy.untrusted_service(ServiceKind::Backend, "s3", &arguments(&base)).unwrap();
        assert!(rule.permits_workspace("dev-1") && !rule.permits_workspace("prod"));
        let denial = policy.untrusted_service(ServiceKind::Backend, "s3", &arguments(&[("bucket", "x")]));
        assert_eq!(
            denial.unwrap_err().to_string(),
            "the value of \"bucket\" does not match the organisation's policy (wardian.policy.hcl:1: SEC-3)"
        );
    }

    #[test]
    fn wildcards_match_no_other_host_path_or_parameter() {
        let policy = policy(
            "untrusted_backend \"http\" {\n  require {\n    address = \"https://states.example.com/team/**\"\n  }\n}\n",
        );
        let address = |text| permits(&policy, "http", &[("address", text)]);
        assert!(address("https://states.example.com/team/a/b"));
        for bad in [
            "https://states.example.com/team/../other",
            "https://states.example.com/team/%2e%2e/other",
            "https://states.example.com/team/a?x=1",
            "https://states.example.com/team/a#x",
            "https://states.example.com/team/a@evil.example",
            "https://states.example.com\\team/a",
            "https://states.example.com/team/a\\..\\b",
            "https://evil.example/team/a",
            "http://states.example.com/team/a",
            "https://states.example.com/team/é",
            "https://states.example.com/team/\t../x",
        ] {
            assert!(!address(bad), "{bad}");
        }
    }

    #[test]
    fn unsafe_rules_are_rejected() {
        let rule = |name: &str, value: &str| {
            format!("untrusted_backend \"x\" {{\n  require {{\n    {name} = \"{value}\"\n  }}\n}}\n")
        };
        for (name, value, expected) in [
            ("address", "https://*.example.com/x", "follow the host"),
            ("address", "https://example.com*", "follow the host"),
            ("address", "*://example.com/x", "follow the host"),
            ("address", "*", "not supported in this argument"),
            ("conn_str", "postgres://db.example.com/states?*", "not supported in this argument"),
            ("conn_str", "host=db dbname=*", "not supported in this argument"),
            ("hostname", "**", "not supported in this argument"),
            ("profile", "team-*", "not supported in this argument"),
            ("key", "***", "not a wildcard"),
        ] {
            let found = problem(Level::Organisation, &rule(name, value));
            assert!(found.contains(expected), "{name} = {value}: {found}");
        }
        for level in [Level::User, Level::RootModule] {
            assert!(problem(level, S3).contains("Only a policy of the organisation"));
        }
        let program = "untrusted_key_provider \"external\" {\n}\n";
        assert!(problem(Level::Organisation, program).contains("start a program"));
        let local = "untrusted_backend \"local\" {\n}\n";
        assert!(problem(Level::Organisation, local).contains("directory"));
        let twice = "untrusted_backend \"s3\" {\n  require {\n    key = \"a\"\n  }\n  accept {\n    key = \"b\"\n  }\n}\n";
        assert!(problem(Level::Organisation, twice).contains("required and accepted"));
    }

    #[test]
    fn other_levels_and_files_without_rules_permit_nothing() {
        assert!(!permits(&policy("otherwise = \"defer\"\n"), "s3", &[("bucket", "states")]));
        // Without arguments, the operator's environment determines everything.
        assert!(permits(&policy("untrusted_backend \"pg\" {\n}\n"), "pg", &[]));
        assert!(!permits(&policy("untrusted_backend \"pg\" {\n}\n"), "pg", &[("conn_str", "host=x")]));
    }
}
