//! Identities of publishers.
//!
//! A release's signature contains an identity that an issuer (an OpenID Connect provider)
//! confirmed: a repository and a workflow, or a person. [`PublisherIdentity`] is the part of the
//! identity that is the same for all releases. The consent lock file records it at the first use of
//! a plugin, [`PublisherIdentity::changes`] compares a later release with it, and policies can
//! require it ([`crate::IdentityRequirement`]).

use std::collections::BTreeMap;
use std::fmt;

use wardian_printable::escape::{Extent, escape};

use crate::suggest::string_literal;

/// Maximum length of a part of an identity, in bytes.
const MAX_PART_LENGTH: usize = 1024;

/// A part of a publisher's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentityPart {
    /// URL of the provider that confirmed the identity.
    Issuer,
    /// URL of the repository that ran the workflow.
    Repository,
    /// The provider's immutable identifier of the repository.
    RepositoryId,
    /// The provider's immutable identifier of the repository's owner.
    OwnerId,
    /// Path of the workflow in the repository, without a branch or tag.
    Workflow,
    /// The name of a publisher without a repository: an email address or a URI.
    Subject,
}

impl IdentityPart {
    pub const ALL: [Self; 6] =
        [Self::Issuer, Self::Repository, Self::RepositoryId, Self::OwnerId, Self::Workflow, Self::Subject];

    /// Returns the name of the argument in policies and in the consent lock file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Issuer => "issuer",
            Self::Repository => "repository",
            Self::RepositoryId => "repository_id",
            Self::OwnerId => "owner_id",
            Self::Workflow => "workflow",
            Self::Subject => "subject",
        }
    }

    /// Whether only an identity with a repository has this part.
    pub(crate) const fn belongs_to_repository(self) -> bool {
        matches!(self, Self::Repository | Self::RepositoryId | Self::OwnerId | Self::Workflow)
    }
}

impl fmt::Display for IdentityPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The reason why parts do not form an identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublisherIdentityError {
    #[error("the identity has no {0}")]
    Missing(IdentityPart),
    #[error("the identity has more than one {0}")]
    Duplicate(IdentityPart),
    #[error("an identity has either a repository or a subject")]
    RepositoryAndSubject,
    #[error("the {0} of the identity is empty, too long, or contains control or invisible characters")]
    InvalidText(IdentityPart),
}

/// The identity of a publisher: an issuer, and either a repository with a workflow, or a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublisherIdentity {
    parts: BTreeMap<IdentityPart, Box<str>>,
}

impl PublisherIdentity {
    /// Creates an identity from its parts.
    ///
    /// # Errors
    /// Returns an error if the parts do not form an identity, or cannot be displayed unambiguously.
    pub fn new(
        parts: impl IntoIterator<Item = (IdentityPart, String)>,
    ) -> Result<Self, PublisherIdentityError> {
        let mut identity = Self { parts: BTreeMap::new() };
        for (part, text) in parts {
            let is_valid = !text.is_empty()
                && text.len() <= MAX_PART_LENGTH
                && escape(&text, Extent::Line) == text
                && string_literal(&text).is_some();
            if !is_valid {
                return Err(PublisherIdentityError::InvalidText(part));
            }
            if identity.parts.insert(part, text.into()).is_some() {
                return Err(PublisherIdentityError::Duplicate(part));
            }
        }
        if identity.part(IdentityPart::Issuer).is_none() {
            return Err(PublisherIdentityError::Missing(IdentityPart::Issuer));
        }
        let has_repository = identity.part(IdentityPart::Repository).is_some();
        match (has_repository, identity.part(IdentityPart::Subject).is_some()) {
            (true, true) => Err(PublisherIdentityError::RepositoryAndSubject),
            (false, false) => Err(PublisherIdentityError::Missing(IdentityPart::Subject)),
            (false, true) if identity.parts.keys().any(|part| part.belongs_to_repository()) => {
                Err(PublisherIdentityError::Missing(IdentityPart::Repository))
            }
            _ => Ok(identity),
        }
    }

    pub fn part(&self, part: IdentityPart) -> Option<&str> {
        self.parts.get(&part).map(|text| &**text)
    }

    /// Returns the parts in a fixed order.
    pub fn parts(&self) -> impl Iterator<Item = (IdentityPart, &str)> {
        self.parts.iter().map(|(part, text)| (*part, &**text))
    }

    /// Renders the parts as arguments of a block, without indentation.
    pub fn arguments(&self) -> String {
        let width = self.parts.keys().map(|part| part.as_str().len()).max().unwrap_or_default();
        self.parts()
            .filter_map(|(part, text)| {
                Some(format!("{:width$} = {}\n", part.as_str(), string_literal(text)?))
            })
            .collect()
    }

    /// Returns the parts in which another identity differs from this identity.
    pub fn changes(&self, new: &Self) -> Vec<IdentityChange> {
        IdentityPart::ALL
            .into_iter()
            .map(|part| IdentityChange {
                part,
                before: self.part(part).map(Into::into),
                after: new.part(part).map(Into::into),
            })
            .filter(|change| change.before != change.after)
            .collect()
    }
}

impl fmt::Display for PublisherIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.part(IdentityPart::Repository).or_else(|| self.part(IdentityPart::Subject));
        formatter.write_str(name.unwrap_or_default())?;
        if let Some(workflow) = self.part(IdentityPart::Workflow) {
            write!(formatter, ", workflow {workflow}")?;
        }
        write!(formatter, ", confirmed by {}", self.part(IdentityPart::Issuer).unwrap_or_default())
    }
}

/// A part in which two identities differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityChange {
    pub part: IdentityPart,
    pub before: Option<Box<str>>,
    pub after: Option<Box<str>>,
}

impl fmt::Display for IdentityChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.part;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(formatter, "{part} changed from {before} to {after}"),
            (Some(before), None) => write!(formatter, "{part} was {before}, and is missing now"),
            (None, Some(after)) => write!(formatter, "{part} was missing, and is {after} now"),
            (None, None) => write!(formatter, "{part} is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(parts: &[(IdentityPart, &str)]) -> Result<PublisherIdentity, PublisherIdentityError> {
        PublisherIdentity::new(parts.iter().map(|(part, text)| (*part, (*text).to_owned())))
    }

    const REPOSITORY: [(IdentityPart, &str); 5] = [
        (IdentityPart::Workflow, ".github/workflows/release.yml"),
        (IdentityPart::Issuer, "https://token.actions.githubusercontent.com"),
        (IdentityPart::Repository, "https://github.com/acme/dns"),
        (IdentityPart::RepositoryId, "1234"),
        (IdentityPart::OwnerId, "56"),
    ];

    #[test]
    fn identities_are_displayed_and_rendered() {
        let one = identity(&REPOSITORY).unwrap();
        assert_eq!(
            one.to_string(),
            "https://github.com/acme/dns, workflow .github/workflows/release.yml, confirmed by \
             https://token.actions.githubusercontent.com"
        );
        assert_eq!(
            one.arguments(),
            "issuer        = \"https://token.actions.githubusercontent.com\"\n\
             repository    = \"https://github.com/acme/dns\"\n\
             repository_id = \"1234\"\n\
             owner_id      = \"56\"\n\
             workflow      = \".github/workflows/release.yml\"\n"
        );
        let person =
            identity(&[(IdentityPart::Issuer, "https://a.example"), (IdentityPart::Subject, "x${y}%{z")])
                .unwrap();
        assert_eq!(person.to_string(), "x${y}%{z, confirmed by https://a.example");
        assert!(person.arguments().contains("\"x$${y}%%{z\""), "{}", person.arguments());
    }

    #[test]
    fn changes_name_the_changed_fields() {
        let old = identity(&REPOSITORY).unwrap();
        assert_eq!(old.changes(&old), []);
        let mut parts = REPOSITORY;
        parts[2].1 = "https://github.com/acme/renamed";
        let new = identity(&parts[..4]).unwrap();
        let changes: Vec<String> = old.changes(&new).iter().map(ToString::to_string).collect();
        assert_eq!(
            changes,
            [
                "repository changed from https://github.com/acme/dns to https://github.com/acme/renamed",
                "owner_id was 56, and is missing now"
            ]
        );
        assert_eq!(new.changes(&old).len(), 2);
        assert!(new.changes(&old)[1].to_string().ends_with("was missing, and is 56 now"));
    }

    #[test]
    fn rejects_incomplete_and_contradictory_identities() {
        use IdentityPart::{Issuer, OwnerId, Repository, Subject};
        for (parts, error) in [
            (&[][..], PublisherIdentityError::Missing(Issuer)),
            (&[(Issuer, "i")], PublisherIdentityError::Missing(Subject)),
            (&[(Repository, "r")], PublisherIdentityError::Missing(Issuer)),
            (&[(Issuer, "i"), (Subject, "s"), (OwnerId, "1")], PublisherIdentityError::Missing(Repository)),
            (
                &[(Issuer, "i"), (Subject, "s"), (Repository, "r")],
                PublisherIdentityError::RepositoryAndSubject,
            ),
            (&[(Issuer, "i"), (Issuer, "j")], PublisherIdentityError::Duplicate(Issuer)),
            (&[(Issuer, ""), (Subject, "s")], PublisherIdentityError::InvalidText(Issuer)),
            (&[(Issuer, "i"), (Subject, "a\u{1b}[2J")], PublisherIdentityError::InvalidText(Subject)),
            (&[(Issuer, "i"), (Subject, "a\u{202e}b")], PublisherIdentityError::InvalidText(Subject)),
        ] {
            assert_eq!(identity(parts), Err(error));
        }
        let long = "x".repeat(MAX_PART_LENGTH + 1);
        assert!(identity(&[(Issuer, "i"), (Subject, &long)]).is_err());
    }
}
