//! The publishers of signed releases: their signatures, the requirements of policies, and the pins
//! in the consent lock file.
//!
//! `init` passes to this module the Sigstore bundles of the packages that it downloaded. A valid
//! bundle only proves who signed the package, so the identity of the publisher is compared with the
//! pin in the consent lock file and with the policies. [`crate::consent`] shows the findings to the
//! user and records the pins.
//!
//! If a package was not downloaded because the lock file contains its version, its publisher is not
//! checked: the hash in the lock file identifies the package. The publisher of an embedded plugin,
//! or of a plugin under development, is not checked either.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wardian_address::ProviderAddress;
use wardian_declaration::ApprovedCapabilities;
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_files::read_regular;
use wardian_install::lock_file::LockFile;
use wardian_install::network_source::{PackageBundles, SignedArtifact};
use wardian_install::package::PluginOrigin;
use wardian_install::selection::{SelectedPlugin, Selection};
use wardian_policy::{Policy, PublisherIdentity, SignatureRequirement};
use wardian_signature::{BundleError, MAX_TRUST_ROOT_SIZE, TrustRoot, verify_bundle};

use crate::context::AppContext;
use crate::error::{AppError, sentence};
use crate::plugin_name::plugin_name;

/// A difference between the publisher of a release and the pin in the consent lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublisherChange {
    /// The release is the first signed release.
    First {
        publisher: PublisherIdentity,
        /// Whether a policy requires this publisher.
        is_required: bool,
    },
    /// A different publisher signed the release.
    Other { before: PublisherIdentity, publisher: PublisherIdentity },
    /// The release is not signed, but earlier ones were.
    Unsigned { before: PublisherIdentity },
}

/// The result of verifying a package's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Evidence {
    /// The lock file contains the package, so it was not downloaded.
    Locked,
    /// The package is not signed by a publisher.
    Unsigned,
    /// The package has valid signatures by these publishers. The list is not empty.
    Signed(Vec<PublisherIdentity>),
}

/// The reason why a package must not be installed, even if the user would accept it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rejection {
    summary: &'static str,
    detail: String,
}

/// Returns the selected plugins' changes of publisher.
///
/// # Errors
/// Returns an error if a signature is invalid, or a requirement of a policy is not met.
pub(crate) fn examine(
    context: &AppContext,
    selection: &Selection,
    policy: &Policy,
    approved: &ApprovedCapabilities,
) -> Result<BTreeMap<ProviderAddress, PublisherChange>, AppError> {
    let lock = context.lock_file()?;
    let mut trust = None;
    let mut changes = BTreeMap::new();
    let mut problems = Diagnostics::new();
    for (address, chosen) in &selection.plugins {
        if matches!(chosen.artifact.origin(), PluginOrigin::Embedded | PluginOrigin::DevelopmentOverride(_)) {
            continue;
        }
        let evidence = match &chosen.bundles {
            Some(found) if !found.bundles.is_empty() => {
                let trust = match &mut trust {
                    Some(trust) => trust,
                    none => none.insert(trust_root(context)?),
                };
                verify(found, trust)
            }
            Some(_) => Ok(Evidence::Unsigned),
            None if is_locked(address, chosen, &lock) => Ok(Evidence::Locked),
            None => Ok(Evidence::Unsigned),
        };
        let requirement = policy.required_signature(address);
        let pinned = approved.publishers.get(address);
        match evidence.and_then(|evidence| compare(evidence, pinned, requirement.as_ref())) {
            Ok(change) => changes.extend(change.map(|change| (address.clone(), change))),
            Err(Rejection { summary, detail }) => {
                let name = plugin_name(address, Some(&chosen.version));
                let detail = sentence(&format!("{name} was not installed: {detail}"));
                problems.push(Diagnostic::error(summary, detail));
            }
        }
    }
    Ok(problems.into_result(changes)?)
}

fn is_locked(address: &ProviderAddress, chosen: &SelectedPlugin, lock: &LockFile) -> bool {
    lock.providers.get(address).is_some_and(|entry| entry.version == chosen.version)
}

/// Returns the trust root that the CLI configuration specifies, or else the embedded trust root.
fn trust_root(context: &AppContext) -> Result<TrustRoot, AppError> {
    const SUMMARY: &str = "Trust root cannot be used";
    let Some(path) = context.cli_config()?.sigstore_trust_root else {
        return TrustRoot::embedded().map_err(|error| AppError::new(SUMMARY, sentence(&error.to_string())));
    };
    let failed = |reason: String| {
        let detail = format!(
            "The file {}, which sigstore_trust_root in the CLI configuration names, cannot be used: {reason}",
            path.display()
        );
        AppError::new(SUMMARY, sentence(&detail))
    };
    let json =
        read_regular(&path, MAX_TRUST_ROOT_SIZE as u64).map_err(|error| failed(system_reason(&error)))?;
    TrustRoot::from_json(&json).map_err(|error| failed(error.to_string()))
}

/// Verifies the bundles of a package. Bundles without a statement about the publisher are ignored.
/// If other bundles exist, at least one of them must be valid.
fn verify(found: &PackageBundles, trust: &TrustRoot) -> Result<Evidence, Rejection> {
    let mut publishers = Vec::new();
    let mut invalid = None;
    for bundle in &found.bundles {
        let artifact = match bundle.artifact {
            SignedArtifact::Package => found.package,
            SignedArtifact::Document(digest) => digest,
        };
        match verify_bundle(&bundle.bytes, artifact, trust) {
            Ok(identity) => {
                if !publishers.contains(&identity.publisher) {
                    publishers.push(identity.publisher);
                }
            }
            Err(error @ (BundleError::NoCertificate | BundleError::OtherStatement(_))) => {
                tracing::debug!(place = bundle.place, %error, "a signature does not identify the publisher");
            }
            Err(error) => {
                tracing::warn!(place = bundle.place, %error, "a signature is invalid");
                invalid.get_or_insert_with(|| format!("its signature {} is invalid: {error}", bundle.place));
            }
        }
    }
    match invalid {
        _ if !publishers.is_empty() => Ok(Evidence::Signed(publishers)),
        Some(detail) => Err(Rejection { summary: "Invalid publisher signature", detail }),
        None => Ok(Evidence::Unsigned),
    }
}

/// Compares the result of verifying a signature with the pin and with the requirements of policies.
fn compare(
    evidence: Evidence,
    pinned: Option<&PublisherIdentity>,
    requirement: Option<&SignatureRequirement<'_>>,
) -> Result<Option<PublisherChange>, Rejection> {
    let publishers = match (evidence, pinned, requirement) {
        (Evidence::Locked, _, None) | (Evidence::Unsigned, None, None) => return Ok(None),
        (Evidence::Locked, Some(pinned), Some(requirement)) => {
            return match unmet(requirement, pinned) {
                Some(rejection) => Err(rejection),
                None => Ok(None),
            };
        }
        (Evidence::Locked, None, Some(requirement)) => {
            let advice = "the package was not downloaded in this run, and its publisher is not recorded. To \
                          download it again, remove it from .terraform/providers and from the plugin cache";
            return Err(unsigned(requirement, advice));
        }
        (Evidence::Unsigned, _, Some(requirement)) => {
            return Err(unsigned(requirement, "the package is not signed"));
        }
        (Evidence::Unsigned, Some(before), None) => {
            return Ok(Some(PublisherChange::Unsigned { before: before.clone() }));
        }
        (Evidence::Signed(publishers), ..) => publishers,
    };
    let mut rejection = None;
    let mut accepted = Vec::new();
    for publisher in publishers {
        match requirement.and_then(|requirement| unmet(requirement, &publisher)) {
            Some(problem) => rejection = rejection.or(Some(problem)),
            None => accepted.push(publisher),
        }
    }
    if pinned.is_some_and(|pinned| accepted.contains(pinned)) {
        return Ok(None);
    }
    let Some(publisher) = accepted.into_iter().next() else { return rejection.map_or(Ok(None), Err) };
    Ok(Some(match pinned {
        Some(before) => PublisherChange::Other { before: before.clone(), publisher },
        None => {
            let is_required = requirement
                .is_some_and(|requirement| requirement.blocks().any(|block| block.parts().next().is_some()));
            PublisherChange::First { publisher, is_required }
        }
    }))
}

fn unsigned(requirement: &SignatureRequirement<'_>, found: &str) -> Rejection {
    let (mut places, mut reasons) = (Vec::new(), String::new());
    for block in requirement.blocks() {
        places.push(block.location().to_string());
        if let Some(reason) = block.reason() {
            // Writing into a string cannot fail.
            let _ = write!(reasons, " ({reason})");
        }
    }
    Rejection {
        summary: "Policy requires a signature",
        detail: format!("{} requires a publisher signature{reasons}, but {found}", places.join(" and ")),
    }
}

fn unmet(requirement: &SignatureRequirement<'_>, publisher: &PublisherIdentity) -> Option<Rejection> {
    let unmet = requirement.unmet(publisher);
    if unmet.is_empty() {
        return None;
    }
    let parts: Vec<String> = unmet.iter().map(ToString::to_string).collect();
    let detail = format!("its publisher is {publisher}, but {}", parts.join("; "));
    Some(Rejection { summary: "Policy requires another publisher", detail })
}

impl PublisherChange {
    /// Returns whether the user must accept the change if no policy applies to it.
    pub(crate) fn needs_consent(&self) -> bool {
        !matches!(self, Self::First { is_required: true, .. })
    }

    /// Returns whether only a command with `-accept` can accept the change.
    pub(crate) fn stops(&self) -> bool {
        matches!(self, Self::Other { .. } | Self::Unsigned { .. })
    }

    /// Returns the publisher to record.
    pub fn publisher(&self) -> Option<&PublisherIdentity> {
        match self {
            Self::First { publisher, .. } | Self::Other { publisher, .. } => Some(publisher),
            Self::Unsigned { .. } => None,
        }
    }

    /// Returns the recorded publisher.
    pub fn before(&self) -> Option<&PublisherIdentity> {
        match self {
            Self::First { .. } => None,
            Self::Other { before, .. } | Self::Unsigned { before } => Some(before),
        }
    }

    /// Records the change.
    pub(crate) fn record(&self, address: &ProviderAddress, approved: &mut ApprovedCapabilities) {
        match self.publisher() {
            Some(publisher) => approved.publishers.insert(address.clone(), publisher.clone()),
            None => approved.publishers.remove(address),
        };
    }

    /// Returns the error about a change that the user has not accepted, with the command that accepts it.
    pub(crate) fn refusal(&self, plugin: &str, command: &str) -> Diagnostic {
        match self {
            Self::First { publisher, .. } => Diagnostic::error(
                "Publisher needs your consent",
                format!(
                    "{plugin} is signed by a publisher that {} does not record, and Wardian cannot ask, \
                     because the session is not interactive. Nothing was installed.\n\n{}\n\nTo accept this \
                     publisher for all later releases, run:\n  {command}",
                    wardian_policy::CONSENT_LOCK_FILE_NAME,
                    indented(publisher)
                ),
            ),
            Self::Other { before, publisher } => {
                let changes: Vec<String> =
                    before.changes(publisher).iter().map(|change| format!("  - {change}")).collect();
                Diagnostic::error(
                    "Publisher has changed",
                    format!(
                        "{plugin} is signed by a different publisher than the previously installed \
                         releases. Nothing was installed.\n\n{}\n\nAsk the publisher whether the change is \
                         intended. To accept it, run:\n  {command}",
                        changes.join("\n")
                    ),
                )
            }
            Self::Unsigned { before } => Diagnostic::error(
                "Signature is missing",
                format!(
                    "{plugin} has no publisher signature, but previously installed releases were signed \
                     by:\n\n{}\n\nNothing was installed. Ask the publisher whether this is intended. To \
                     accept the release, and later ones without a signature, run:\n  {command}",
                    indented(before)
                ),
            ),
        }
    }
}

fn indented(publisher: &PublisherIdentity) -> String {
    let lines: Vec<String> = publisher.arguments().lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wardian_diagnostic::SourceFile;
    use wardian_policy::{IdentityPart, Level, PolicyFile};

    use super::*;

    fn publisher(repository: &str) -> PublisherIdentity {
        PublisherIdentity::new([
            (IdentityPart::Issuer, "https://issuer.example".to_owned()),
            (IdentityPart::Repository, format!("https://code.example/{repository}")),
        ])
        .unwrap()
    }

    fn signed(repositories: &[&str]) -> Evidence {
        Evidence::Signed(repositories.iter().map(|repository| publisher(repository)).collect())
    }

    #[test]
    fn first_publisher_needs_consent_and_unsigned_release_does_not() {
        assert_eq!(compare(Evidence::Unsigned, None, None), Ok(None));
        assert_eq!(compare(Evidence::Locked, None, None), Ok(None));
        let first = PublisherChange::First { publisher: publisher("a"), is_required: false };
        assert!(first.needs_consent() && !first.stops());
        assert_eq!(compare(signed(&["a", "b"]), None, None), Ok(Some(first)));
    }

    #[test]
    fn publisher_that_differs_from_the_pin_is_rejected() {
        let pinned = publisher("a");
        assert_eq!(compare(Evidence::Locked, Some(&pinned), None), Ok(None));
        assert_eq!(compare(signed(&["a"]), Some(&pinned), None), Ok(None));
        assert_eq!(compare(signed(&["b", "a"]), Some(&pinned), None), Ok(None));
        let other = PublisherChange::Other { before: pinned.clone(), publisher: publisher("b") };
        assert!(other.stops());
        let refusal = other.refusal("acme/dns v2.0.0", "wardian init -accept=acme/dns");
        assert!(
            refusal
                .detail
                .contains("  - repository changed from https://code.example/a to https://code.example/b"),
            "{}",
            refusal.detail
        );
        assert!(refusal.detail.ends_with("\n  wardian init -accept=acme/dns"), "{}", refusal.detail);
        assert_eq!(compare(signed(&["b"]), Some(&pinned), None), Ok(Some(other)));
        let unsigned = PublisherChange::Unsigned { before: pinned.clone() };
        assert!(unsigned.stops());
        assert_eq!(compare(Evidence::Unsigned, Some(&pinned), None), Ok(Some(unsigned.clone())));

        let address = ProviderAddress::parse("acme/dns").unwrap();
        let mut approved = ApprovedCapabilities::default();
        approved.publishers.insert(address.clone(), pinned);
        unsigned.record(&address, &mut approved);
        assert_eq!(approved, ApprovedCapabilities::default());
    }

    #[test]
    fn release_must_have_the_publisher_that_policy_requires() {
        let text = "require_signature \"acme/*\" {\n  issuer = \"https://issuer.example\"\n  repository = \
                    \"https://code.example/a*\"\n  reason = \"SEC-21\"\n}\n";
        let directory = Path::new("/configuration");
        let file = PolicyFile::parse(Level::User, &SourceFile::new("organisation.hcl", text), directory);
        let policy = Policy::new(directory, [file.unwrap()], []);
        let address = ProviderAddress::parse("acme/dns").unwrap();
        let requirement = policy.required_signature(&address);
        let requirement = requirement.as_ref();
        assert!(requirement.is_some());

        let missing = compare(Evidence::Unsigned, None, requirement).unwrap_err();
        assert!(missing.detail.contains("organisation.hcl:1 requires"), "{}", missing.detail);
        assert!(missing.detail.contains("(SEC-21)"), "{}", missing.detail);
        assert!(compare(Evidence::Unsigned, Some(&publisher("a")), requirement).is_err());
        assert!(compare(Evidence::Locked, None, requirement).is_err());
        assert!(compare(Evidence::Locked, Some(&publisher("b")), requirement).is_err());
        assert_eq!(compare(Evidence::Locked, Some(&publisher("a")), requirement), Ok(None));
        let other = compare(signed(&["b"]), None, requirement).unwrap_err();
        assert_eq!(other.summary, "Policy requires another publisher");
        let first = compare(signed(&["b", "a1"]), None, requirement).unwrap().unwrap();
        assert!(!first.needs_consent());
        assert_eq!(first.publisher(), Some(&publisher("a1")));
        // Even if several publishers satisfy the policy, the publisher must match the pin.
        let changed = compare(signed(&["a2"]), Some(&publisher("a1")), requirement).unwrap().unwrap();
        assert!(changed.stops());
    }
}
