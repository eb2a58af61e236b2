//! The change of a policy that would allow a denied access.

use std::net::IpAddr;
use std::sync::Arc;

use wardian_access::AccessRequest;

use crate::capability_request::CapabilityRequest;
use crate::decision::Denial;
use crate::policy::PluginPolicy;

/// A change of a policy that would allow a denied access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The grants that the plugin declares, which the root module's policy does not contain.
    DeclaredGrants,
    /// A rule in the root module's policy.
    Rule(String),
    /// A rule in the policy file of a higher level. A rule in the root module's policy, which may already
    /// grant the access, would have no effect.
    RuleInFile {
        /// Display name of the file.
        file: Arc<str>,
        rule: String,
    },
}

impl Remedy {
    /// Returns the source of the rule, if the remedy is one rule.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::DeclaredGrants => None,
            Self::Rule(rule) | Self::RuleInFile { rule, .. } => Some(rule),
        }
    }
}

impl PluginPolicy {
    /// Returns the remedy for a denial, if a rule can allow `granted`: the denied request, or another
    /// request that the plugin makes together with it. `declared` contains the plugin's declaration, and
    /// `rule` is the source of the rule that allows `granted`.
    pub fn remedy(
        &self,
        denial: &Denial,
        (granted, address): (&AccessRequest, Option<IpAddr>),
        declared: &[CapabilityRequest],
        rule: Option<&str>,
    ) -> Option<Remedy> {
        if !denial.is_missing_grant() {
            return None;
        }
        let rule = rule.map(str::to_owned);
        if let Some(file) = denial.higher_file() {
            return Some(Remedy::RuleInFile { file: Arc::clone(file), rule: rule? });
        }
        let classes = self.classes(granted);
        if declared.iter().any(|request| request.grants(granted, classes, address)) {
            return Some(Remedy::DeclaredGrants);
        }
        rule.map(Remedy::Rule)
    }
}
