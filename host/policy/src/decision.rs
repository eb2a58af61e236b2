//! Decisions on access requests, each with the policy line and the reason.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_access::{AccessRequest, AddressKind, ProtectedClass, ProtectedClasses};
use wardian_address::ProviderAddress;

use crate::level::Level;
use crate::source_location::SourceLocation;

/// The decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allowed(Grant),
    Denied(Denial),
}

impl Decision {
    /// Whether the request is allowed.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// Returns the line that determined the decision: the denying rule, or the grant of the lowest
    /// level. `None` if no line grants the request.
    pub fn rule(&self) -> Option<&SourceLocation> {
        match self {
            Self::Allowed(grant) => grant.rules.last(),
            Self::Denied(denial) => denial.rule(),
        }
    }
}

/// The lines that grant a request, one for each relevant file, from the highest level down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub rules: Vec<SourceLocation>,
    /// The classes of protected files for which the rules were needed.
    pub protected: ProtectedClasses,
}

/// The denial of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    plugin: ProviderAddress,
    /// The denied request, as part of a sentence.
    request: String,
    /// The classes of protected files that the request concerns.
    pub protected: ProtectedClasses,
    pub reason: DenialReason,
    /// The file that has to grant the request, if the root module's policy cannot.
    higher_file: Option<Arc<str>>,
}

/// The reason why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DenialReason {
    /// A rule denies the request.
    Rule {
        location: SourceLocation,
        /// The rule's `reason` argument.
        reason: Option<Arc<str>>,
    },
    /// A file does not grant the request, and its default action is not `defer`.
    NotGranted { level: Level, file: Arc<str> },
    /// All files defer, and none grants the request.
    NoGrant,
    /// There is no policy file.
    NoPolicy,
    /// The name is granted, but not the address to which it resolves.
    Address {
        /// The resolved address.
        address: IpAddr,
        /// The line that grants the name, if there is one.
        location: Option<SourceLocation>,
    },
    /// The configuration is untrusted.
    Untrusted(&'static str),
    /// The directory is granted, but the rule does not name the classes of the protected files.
    ProtectedClass {
        /// The line that grants the directory.
        location: SourceLocation,
    },
    /// No plugin may write to the path, regardless of the rules.
    ReadOnly(PathBuf),
}

impl Denial {
    pub(crate) fn new(
        plugin: &ProviderAddress,
        request: &AccessRequest,
        protected: ProtectedClasses,
        reason: DenialReason,
    ) -> Self {
        Self { plugin: plugin.clone(), request: request.to_string(), protected, reason, higher_file: None }
    }

    /// Returns a denial that only a policy file of a higher level than the root module's can change.
    pub(crate) fn with_higher_file(self, level: Level, file: &Arc<str>) -> Self {
        let higher_file = (level != Level::RootModule).then(|| Arc::clone(file));
        Self { higher_file, ..self }
    }

    pub(crate) fn higher_file(&self) -> Option<&Arc<str>> {
        self.higher_file.as_ref()
    }

    /// Whether another rule could allow the request: no rule denies it, and only a grant is
    /// missing.
    pub fn is_missing_grant(&self) -> bool {
        match &self.reason {
            DenialReason::NotGranted { .. }
            | DenialReason::NoGrant
            | DenialReason::NoPolicy
            | DenialReason::ProtectedClass { .. }
            | DenialReason::Address { .. } => true,
            DenialReason::Rule { .. } | DenialReason::Untrusted(_) | DenialReason::ReadOnly(_) => false,
        }
    }

    /// Returns the line that denies the request. If the name is granted but not the address, or if
    /// the directory is granted but not its protected files, returns the line of that grant.
    pub fn rule(&self) -> Option<&SourceLocation> {
        match &self.reason {
            DenialReason::Rule { location, .. } | DenialReason::ProtectedClass { location } => Some(location),
            DenialReason::Address { location, .. } => location.as_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} is denied access ({}): {}",
            self.plugin.for_display(),
            self.request,
            self.reason
        )?;
        if self.protected.is_empty() || !self.is_missing_grant() {
            return Ok(());
        }
        let quoted: Vec<String> = self.protected.iter().map(|class| format!("\"{class}\"")).collect();
        write!(formatter, "; the rule must name the protected classes: protected = [{}]", quoted.join(", "))?;
        if self.protected.iter().any(ProtectedClass::belongs_to_machine) {
            formatter.write_str(", which only policies of the user and the organisation can")?;
        }
        Ok(())
    }
}

impl fmt::Display for DenialReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { location, reason: None } => write!(formatter, "{location} denies it"),
            Self::Rule { location, reason: Some(reason) } => {
                write!(formatter, "{location} denies it ({reason})")
            }
            Self::NotGranted { level, file } => {
                write!(formatter, "{file}, the policy of the {level}, does not grant it")
            }
            Self::NoGrant => formatter.write_str("no policy file grants it"),
            Self::NoPolicy => formatter.write_str("there is no policy file"),
            Self::Address { address, location } => {
                let kind = AddressKind::from_address(*address);
                write!(formatter, "it resolves to {address}, a {kind} address")?;
                match location {
                    Some(location) => write!(formatter, ", which {location} does not list"),
                    None => formatter.write_str(", which no policy file lists"),
                }
            }
            Self::Untrusted(reason) => write!(formatter, "-untrusted denies it: {reason}"),
            Self::ProtectedClass { location } => {
                write!(formatter, "{location} grants the directory, but not its protected files")
            }
            Self::ReadOnly(path) => {
                write!(
                    formatter,
                    "{} records or controls the accesses of plugins, so no plugin may write to it",
                    path.display()
                )
            }
        }
    }
}
