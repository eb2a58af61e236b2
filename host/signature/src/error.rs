//! Errors about bundles and trust roots.

use wardian_policy::PublisherIdentityError;

/// Maximum length of a detail in an error, in characters.
const MAX_DETAIL_LENGTH: usize = 300;

/// The reason why a bundle is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    #[error("the bundle is larger than {} KiB", crate::MAX_BUNDLE_SIZE / 1024)]
    TooLarge,
    #[error("the bundle has more than {0} log entries or timestamps")]
    TooManyEntries(usize),
    #[error("it is not a valid Sigstore bundle: {0}")]
    Malformed(Box<str>),
    #[error("the bundle uses a feature that is not supported: {0}")]
    Unsupported(Box<str>),
    /// The signature was made with a key without a certificate that assigns an identity to it.
    #[error("the bundle contains no certificate, so the signer's identity is unknown")]
    NoCertificate,
    #[error("the bundle contains the signature of another artifact")]
    OtherArtifact,
    #[error("the signature does not match the artifact: {0}")]
    InvalidSignature(Box<str>),
    #[error(
        "the signer's certificate is not trusted: {0}. If the bundle is newer than this version of Wardian, \
         the trust root may be outdated"
    )]
    UntrustedCertificate(Box<str>),
    #[error("the artifact was not signed while the signer's certificate was valid: {0}")]
    CertificateNotValidThen(Box<str>),
    #[error("the bundle contains no transparency log entry")]
    NoLogEntry,
    #[error(
        "the bundle contains a log entry without an inclusion proof; sign with a newer version of the \
        signing tool"
    )]
    NoInclusionProof,
    #[error("the transparency log entry is not valid: {0}")]
    LogEntry(Box<str>),
    #[error("the time of signing is not proven: {0}")]
    Time(Box<str>),
    #[error("the attestation has the type {0:?}, which does not mean that the signer published the artifact")]
    OtherStatement(Box<str>),
    #[error("the certificate does not contain a publisher identity: {0}")]
    Identity(#[from] PublisherIdentityError),
    #[error(
        "the certificate contains the issuer {0:?}, for which its certificate authority is not responsible"
    )]
    OtherIssuer(Box<str>),
}

/// The reason why a trust root cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustRootError {
    #[error("the trust root is larger than {} KiB", crate::MAX_TRUST_ROOT_SIZE / 1024)]
    TooLarge,
    #[error("it is not a valid Sigstore trust root: {0}")]
    Invalid(Box<str>),
    #[error("the trust root contains no certificate authority")]
    NoCertificateAuthority,
    #[error("the trust root contains neither a transparency log nor a timestamp authority")]
    NoTimeSource,
}

/// Truncates a detail, and removes non-ASCII characters, since it may contain text from a bundle.
pub(crate) fn detail(text: &str) -> Box<str> {
    let is_plain = |character: &char| character.is_ascii_graphic() || *character == ' ';
    let plain: String = text.chars().filter(is_plain).take(MAX_DETAIL_LENGTH).collect();
    plain.trim_end_matches('.').into()
}
