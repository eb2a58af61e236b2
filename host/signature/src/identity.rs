//! The identity in a certificate, and the part of it that identifies a publisher.

use jiff::Timestamp;
use wardian_policy::{IdentityPart, PublisherIdentity};

use crate::error::BundleError;

/// The values in a verified certificate.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertificateClaims {
    pub(crate) issuer: Option<String>,
    /// The subject alternative name: an email address or a URI.
    pub(crate) subject: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) repository_id: Option<String>,
    pub(crate) owner_id: Option<String>,
    /// URI of the workflow, with the branch or tag.
    pub(crate) workflow_uri: Option<String>,
    pub(crate) git_ref: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) signed_at: Option<Timestamp>,
}

/// The identity of the signer of a verified bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedIdentity {
    /// The part of the identity that is the same for all releases. For a certificate without a
    /// repository, it consists of the issuer and the subject.
    pub publisher: PublisherIdentity,
    /// The complete name in the certificate. For a workflow, it contains the branch or tag.
    pub subject: Box<str>,
    /// The branch or tag from which the artifact was built.
    pub git_ref: Option<Box<str>>,
    /// The commit from which the artifact was built.
    pub commit: Option<Box<str>>,
    /// The earliest proven time of signing.
    pub signed_at: Option<Timestamp>,
}

impl VerifiedIdentity {
    pub(crate) fn from_claims(claims: CertificateClaims) -> Result<Self, BundleError> {
        let workflow = claims.repository.as_deref().and_then(|repository| {
            workflow_path(claims.workflow_uri.as_deref()?, repository, claims.git_ref.as_deref())
        });
        let subject = claims.subject.clone().unwrap_or_default();
        let parts = match claims.repository {
            Some(repository) => vec![
                (IdentityPart::Issuer, claims.issuer),
                (IdentityPart::Repository, Some(repository)),
                (IdentityPart::RepositoryId, claims.repository_id),
                (IdentityPart::OwnerId, claims.owner_id),
                (IdentityPart::Workflow, workflow.map(str::to_owned)),
            ],
            None => vec![(IdentityPart::Issuer, claims.issuer), (IdentityPart::Subject, claims.subject)],
        };
        let parts = parts.into_iter().filter_map(|(part, text)| Some((part, text?)));
        Ok(Self {
            publisher: PublisherIdentity::new(parts)?,
            subject: subject.into(),
            git_ref: claims.git_ref.map(Into::into),
            commit: claims.commit.map(Into::into),
            signed_at: claims.signed_at,
        })
    }

    /// Returns a part of the publisher's identity.
    pub fn part(&self, part: IdentityPart) -> Option<&str> {
        self.publisher.part(part)
    }
}

/// Returns the path of a workflow in its repository, without the branch or tag. For a workflow in
/// another repository, returns its URI.
fn workflow_path<'a>(uri: &'a str, repository: &str, git_ref: Option<&str>) -> Option<&'a str> {
    // A tag may contain an at sign, so the text is split at the last at sign only if the tag is
    // unknown.
    let known = git_ref.and_then(|git_ref| uri.strip_suffix(git_ref)?.strip_suffix('@'));
    let without_ref = known.or_else(|| uri.rsplit_once('@').map(|(path, _)| path)).unwrap_or(uri);
    let path = without_ref.strip_prefix(repository).filter(|path| path.starts_with('/'));
    // GitLab separates the path with two slashes.
    let path = path.map_or(without_ref, |path| path.trim_start_matches('/'));
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_is_a_path_without_branch_or_tag() {
        let github = "https://github.com/acme/dns";
        for (uri, repository, git_ref, expected) in [
            (
                "https://github.com/acme/dns/.github/workflows/release.yml@refs/tags/v1.2.3",
                github,
                Some("refs/tags/v1.2.3"),
                ".github/workflows/release.yml",
            ),
            (
                "https://github.com/acme/dns/.github/workflows/release.yml@refs/tags/dns@1.2.3",
                github,
                Some("refs/tags/dns@1.2.3"),
                ".github/workflows/release.yml",
            ),
            (
                "https://github.com/acme/dns/.github/workflows/a@b.yml@refs/heads/main",
                github,
                None,
                ".github/workflows/a@b.yml",
            ),
            (
                "https://gitlab.com/acme/dns//.gitlab-ci.yml@refs/heads/main",
                "https://gitlab.com/acme/dns",
                Some("refs/heads/main"),
                ".gitlab-ci.yml",
            ),
            (
                "https://github.com/acme/dns-fork/.github/workflows/x.yml@refs/heads/main",
                github,
                Some("refs/heads/main"),
                "https://github.com/acme/dns-fork/.github/workflows/x.yml",
            ),
            ("https://github.com/acme/dns/x.yml", github, None, "x.yml"),
        ] {
            assert_eq!(workflow_path(uri, repository, git_ref), Some(expected), "{uri}");
        }
        assert_eq!(workflow_path("https://github.com/acme/dns/@refs/heads/main", github, None), None);
    }

    #[test]
    fn certificate_without_repository_identifies_a_subject() {
        let claims = CertificateClaims {
            issuer: Some("https://accounts.example.com".to_owned()),
            subject: Some("ada@example.com".to_owned()),
            workflow_uri: Some("https://example.com/x@y".to_owned()),
            ..CertificateClaims::default()
        };
        let identity = VerifiedIdentity::from_claims(claims.clone()).unwrap();
        assert_eq!(identity.part(IdentityPart::Subject), Some("ada@example.com"));
        assert_eq!(identity.part(IdentityPart::Workflow), None);
        for incomplete in [
            CertificateClaims { issuer: None, ..claims.clone() },
            CertificateClaims { subject: None, ..claims.clone() },
            CertificateClaims { subject: Some("a\u{202e}b".to_owned()), ..claims },
        ] {
            assert!(matches!(VerifiedIdentity::from_claims(incomplete), Err(BundleError::Identity(_))));
        }
    }
}
