//! What was decided, by which line, and why.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_address::ProviderAddress;

use crate::address::AddressKind;
use crate::place::Place;
use crate::policy::Level;
use crate::request::Request;

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may be.
    Allowed(Grant),
    /// It must not be.
    Denied(Denial),
}

impl Decision {
    /// Whether it may be.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// The line that settled it: the one that forbids, or the lowest that grants. None
    /// where the matter is that no line grants it.
    pub fn rule(&self) -> Option<&Place> {
        match self {
            Self::Allowed(grant) => grant.rules.last(),
            Self::Denied(denial) => denial.rule(),
        }
    }
}

/// The lines that grant something, one for each file that has a say, from the highest
/// down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Where they stand.
    pub rules: Vec<Place>,
}

/// That something is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    plugin: ProviderAddress,
    /// What was asked for, as part of a sentence.
    asked: String,
    /// Why.
    pub reason: DenialReason,
}

/// Why something is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DenialReason {
    /// A line forbids it.
    Rule {
        /// Where.
        place: Place,
        /// In the words of the one who wrote it.
        reason: Option<Arc<str>>,
    },
    /// A file grants other things, and not this.
    NotGranted {
        /// Whose file it is.
        level: Level,
        /// The file.
        file: Arc<str>,
    },
    /// Every file leaves it to the others.
    NobodyGrants,
    /// There is no file.
    NoPolicy,
    /// The name is granted; what it leads to is not.
    Address {
        /// Where it leads.
        address: IpAddr,
        /// The line that grants the name, if there is one.
        place: Option<Place>,
    },
    /// The configuration is a stranger's, and this is denied to such.
    Untrusted(&'static str),
    /// It says what plugins may do or which ones run, so that none may write it.
    Protected(PathBuf),
}

impl Denial {
    pub(crate) fn new(plugin: &ProviderAddress, request: &Request, reason: DenialReason) -> Self {
        Self { plugin: plugin.clone(), asked: request.to_string(), reason }
    }

    /// Whether a further rule could allow it: nothing forbids it, and it is only that
    /// nobody grants it.
    pub fn is_lack_of_grant(&self) -> bool {
        match &self.reason {
            DenialReason::NotGranted { .. }
            | DenialReason::NobodyGrants
            | DenialReason::NoPolicy
            | DenialReason::Address { .. } => true,
            DenialReason::Rule { .. } | DenialReason::Untrusted(_) | DenialReason::Protected(_) => false,
        }
    }

    /// The line that forbids it, or that grants the name and not the address.
    pub fn rule(&self) -> Option<&Place> {
        match &self.reason {
            DenialReason::Rule { place, .. } => Some(place),
            DenialReason::Address { place, .. } => place.as_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is denied {}: {}", self.plugin.for_display(), self.asked, self.reason)
    }
}

impl fmt::Display for DenialReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { place, reason: None } => write!(formatter, "{place} forbids it"),
            Self::Rule { place, reason: Some(reason) } => {
                write!(formatter, "{place} forbids it ({reason})")
            }
            Self::NotGranted { level, file } => {
                write!(formatter, "nothing in {file}, the policy of the {level}, grants it")
            }
            Self::NobodyGrants => formatter.write_str("no policy file grants it"),
            Self::NoPolicy => formatter.write_str("there is no policy file that could grant it"),
            Self::Address { address, place } => {
                let kind = AddressKind::of(*address);
                write!(formatter, "it leads to {address}, a {kind} address")?;
                match place {
                    Some(place) => write!(formatter, ", which {place} does not name"),
                    None => formatter.write_str(", which no policy file names"),
                }
            }
            Self::Untrusted(why) => write!(formatter, "-untrusted forbids it: {why}"),
            Self::Protected(path) => {
                write!(
                    formatter,
                    "{} says what plugins may do, so that none of them may write it",
                    path.display()
                )
            }
        }
    }
}
