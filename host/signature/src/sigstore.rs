//! Wraps the `sigstore-verify` crate, which no other module uses.

use serde::Deserialize;
use sigstore_verify::trust_root::{
    SIGSTORE_GITHUB_TRUSTED_ROOT, SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot,
};
use sigstore_verify::types::{Bundle, Sha256Hash, SignatureContent};
use sigstore_verify::{CertificateError, Error, VerificationPolicy, Verifier};
use wardian_digest::Sha256Digest;

use crate::error::{BundleError, TrustRootError, detail};
use crate::identity::CertificateClaims;

/// The issuer of the identities in the certificates of GitHub's Sigstore instance. GitHub
/// enterprises have issuers below this URL.
const GITHUB_ISSUER: &str = "https://token.actions.githubusercontent.com";

/// A bundle whose structure is valid.
pub(crate) struct ParsedBundle(Bundle);

/// The numbers of proofs in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) log_entries: usize,
    pub(crate) inclusion_proofs: usize,
    pub(crate) timestamps: usize,
}

/// The type of an in-toto statement.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatementType {
    predicate_type: String,
}

impl ParsedBundle {
    pub(crate) fn parse(json: &[u8]) -> Result<Self, BundleError> {
        let text = std::str::from_utf8(json).map_err(|error| malformed(&error))?;
        Ok(Self(Bundle::from_json(text).map_err(|error| malformed(&error))?))
    }

    pub(crate) fn evidence(&self) -> Evidence {
        let material = &self.0.verification_material;
        Evidence {
            log_entries: material.tlog_entries.len(),
            inclusion_proofs: material
                .tlog_entries
                .iter()
                .filter(|entry| entry.inclusion_proof.is_some())
                .count(),
            timestamps: material.timestamp_verification_data.rfc3161_timestamps.len(),
        }
    }

    /// Returns the type of the in-toto statement, or `None` if the artifact itself is signed.
    pub(crate) fn statement_type(&self) -> Result<Option<String>, BundleError> {
        match &self.0.content {
            SignatureContent::MessageSignature(_) => Ok(None),
            SignatureContent::DsseEnvelope(envelope) => {
                let statement: StatementType =
                    serde_json::from_slice(envelope.payload.as_bytes()).map_err(|error| malformed(&error))?;
                Ok(Some(statement.predicate_type))
            }
            _ => Err(BundleError::Unsupported("its kind of signature".into())),
        }
    }
}

fn malformed(error: &dyn std::fmt::Display) -> BundleError {
    BundleError::Malformed(detail(&error.to_string()))
}

/// A Sigstore instance.
pub(crate) struct Instance {
    verifier: Verifier,
    policy: VerificationPolicy,
    has_log: bool,
    has_certificate_log: bool,
    /// If the instance accepts only one issuer, that issuer. The issuers below its URL are included.
    issuer: Option<&'static str>,
}

impl Instance {
    pub(crate) fn public() -> Result<Self, TrustRootError> {
        Self::from_json(SIGSTORE_PRODUCTION_TRUSTED_ROOT.as_bytes())
    }

    pub(crate) fn github() -> Result<Self, TrustRootError> {
        let instance = Self::from_json(SIGSTORE_GITHUB_TRUSTED_ROOT.as_bytes())?;
        Ok(Self { issuer: Some(GITHUB_ISSUER), ..instance })
    }

    pub(crate) fn from_json(json: &[u8]) -> Result<Self, TrustRootError> {
        let invalid = |error: &dyn std::fmt::Display| TrustRootError::Invalid(detail(&error.to_string()));
        let text = std::str::from_utf8(json).map_err(|error| invalid(&error))?;
        let root = TrustedRoot::from_json(text).map_err(|error| invalid(&error))?;
        if root.certificate_authorities.is_empty() {
            return Err(TrustRootError::NoCertificateAuthority);
        }
        if root.tlogs.is_empty() && root.timestamp_authorities.is_empty() {
            return Err(TrustRootError::NoTimeSource);
        }
        let (has_log, has_certificate_log) = (!root.tlogs.is_empty(), !root.ctlogs.is_empty());
        // The identity is not required here: the caller compares it with a record or a policy.
        let mut policy = VerificationPolicy::any_identity();
        if !has_log {
            policy = policy.skip_tlog_unsafe();
        }
        if !has_certificate_log {
            policy = policy.skip_sct();
        }
        let verifier = Verifier::new(&root).map_err(|error| invalid(&error))?;
        Ok(Self { verifier, policy, has_log, has_certificate_log, issuer: None })
    }

    /// Whether bundles of this instance contain transparency log entries.
    pub(crate) fn has_log(&self) -> bool {
        self.has_log
    }

    /// Verifies a bundle as the signature of an artifact.
    pub(crate) fn verify(
        &self,
        bundle: &ParsedBundle,
        artifact: Sha256Digest,
    ) -> Result<CertificateClaims, BundleError> {
        if bundle.0.signing_certificate().is_none() {
            return Err(BundleError::NoCertificate);
        }
        let digest = Sha256Hash::from(*artifact.as_bytes());
        let result = self.verifier.verify(digest, &bundle.0, &self.policy).map_err(bundle_error)?;
        let is_complete = result.certificate_verified()
            && (result.tlog_verified() || !self.has_log)
            && (result.sct_verified() || !self.has_certificate_log);
        let Some(certificate) = result.certificate().filter(|_| is_complete) else {
            return Err(BundleError::UntrustedCertificate("it was not verified completely".into()));
        };
        if let (Some(allowed), Some(issuer)) = (self.issuer, &certificate.issuer)
            && !issuer.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            return Err(BundleError::OtherIssuer(detail(issuer)));
        }
        let claims = &certificate.ci_claims;
        Ok(CertificateClaims {
            issuer: certificate.issuer.clone(),
            subject: certificate.identity.as_ref().map(ToString::to_string),
            repository: claims.source_repository_uri.clone(),
            repository_id: claims.source_repository_identifier.clone(),
            owner_id: claims.source_repository_owner_identifier.clone(),
            workflow_uri: claims.build_config_uri.clone(),
            git_ref: claims.source_repository_ref.clone(),
            commit: claims.source_repository_digest.clone(),
            signed_at: result.verified_timestamps().iter().min().copied(),
        })
    }
}

fn bundle_error(error: Error) -> BundleError {
    let text = detail(&error.to_string());
    match error {
        Error::ArtifactMismatch(_) => BundleError::OtherArtifact,
        Error::SignatureInvalid(_) | Error::Crypto(_) => BundleError::InvalidSignature(text),
        Error::Certificate(
            CertificateError::NotYetValid { .. }
            | CertificateError::Expired { .. }
            | CertificateError::NoValidAuthority { .. },
        ) => BundleError::CertificateNotValidThen(text),
        Error::Certificate(_) => BundleError::UntrustedCertificate(text),
        Error::TransparencyLog(_) => BundleError::LogEntry(text),
        Error::Timestamp(_) => BundleError::Time(text),
        Error::UnsupportedArtifact(_) | Error::UnsupportedBundle(_) => BundleError::Unsupported(text),
        _ => BundleError::Malformed(text),
    }
}
