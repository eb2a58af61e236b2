//! Verifies Sigstore bundles.

use wardian_digest::Sha256Digest;

use crate::error::{BundleError, detail};
use crate::identity::VerifiedIdentity;
use crate::sigstore::ParsedBundle;
use crate::trust_root::TrustRoot;

/// Maximum size of a bundle, in bytes.
pub const MAX_BUNDLE_SIZE: usize = 1 << 20;

/// Maximum number of log entries of a bundle, and also of timestamps. Usually, there is one.
const MAX_ENTRIES: usize = 16;

/// The types of in-toto statements with which a publisher confirms that it published an artifact:
/// cosign signatures, and provenance. Other statements, such as scan results, can be about
/// artifacts of other publishers.
pub const PUBLISHER_STATEMENTS: [&str; 3] = [
    "https://sigstore.dev/cosign/sign/v1",
    "https://slsa.dev/provenance/v1",
    "https://slsa.dev/provenance/v0.2",
];

/// Verifies that a bundle is a signature of an artifact with the given digest, and returns the
/// identity of the signer. For an artifact in an OCI registry, the digest is the manifest's digest.
///
/// # Errors
/// Returns an error if the bundle is not a valid signature of the artifact under the trust root.
pub fn verify_bundle(
    bundle: &[u8],
    artifact: Sha256Digest,
    trust: &TrustRoot,
) -> Result<VerifiedIdentity, BundleError> {
    if bundle.len() > MAX_BUNDLE_SIZE {
        return Err(BundleError::TooLarge);
    }
    let bundle = ParsedBundle::parse(bundle)?;
    let evidence = bundle.evidence();
    if evidence.log_entries > MAX_ENTRIES || evidence.timestamps > MAX_ENTRIES {
        return Err(BundleError::TooManyEntries(MAX_ENTRIES));
    }
    if let Some(statement) = bundle.statement_type()?
        && !PUBLISHER_STATEMENTS.contains(&&*statement)
    {
        return Err(BundleError::OtherStatement(detail(&statement)));
    }
    let Some(instance) = trust.instance_for(evidence.log_entries > 0) else {
        return Err(BundleError::UntrustedCertificate("the trust root is empty".into()));
    };
    if instance.has_log() {
        if evidence.log_entries == 0 {
            return Err(BundleError::NoLogEntry);
        }
        if evidence.inclusion_proofs < evidence.log_entries {
            return Err(BundleError::NoInclusionProof);
        }
    }
    let claims = instance.verify(&bundle, artifact)?;
    VerifiedIdentity::from_claims(claims)
}
