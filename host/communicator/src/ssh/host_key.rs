//! Verifies the host keys that machines present.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use russh::client::Handler;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey, PublicKeyOrCertificate};

use crate::settings::Hop;

/// The description of the host key that was rejected, if any.
#[derive(Clone, Default)]
pub(crate) struct Verdict(Arc<Mutex<Option<String>>>);

impl Verdict {
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Checks the host key that a machine presents.
pub(crate) struct Verifier {
    expected: Option<PublicKey>,
    host: String,
    verdict: Verdict,
}

impl Verifier {
    pub(crate) fn new(hop: &Hop, verdict: Verdict) -> Self {
        Self { expected: hop.host_key.clone(), host: hop.host.clone(), verdict }
    }

    fn check(&self, shown: &PublicKeyOrCertificate) -> Result<(), String> {
        let Some(expected) = &self.expected else { return Ok(()) };
        // The server has proven that it holds the private key, so the certificate does not need to
        // be checked.
        let key = shown.public_key();
        if key.key_data() == expected.key_data() {
            return Ok(());
        }
        match shown.certificate() {
            None => Err(format!("the key {}", describe_key(&key))),
            Some(certificate) => check_certificate(certificate, expected, &self.host)
                .map_err(|problem| format!("a certificate for {} that {problem}", describe_key(&key))),
        }
    }
}

/// Checks a host certificate; the error describes the problem.
fn check_certificate(certificate: &Certificate, authority: &PublicKey, host: &str) -> Result<(), String> {
    if certificate.signature_key() != authority.key_data() {
        return Err("was signed by another authority".into());
    }
    if certificate.cert_type() != CertType::Host {
        return Err("is not a host certificate".into());
    }
    let principals = certificate.valid_principals();
    if !principals.is_empty() && !principals.iter().any(|principal| principal.eq_ignore_ascii_case(host)) {
        return Err(format!("is for {} and not for {host}", principals.join(", ")));
    }
    if certificate.critical_options().iter().next().is_some() {
        return Err("has unsupported critical options".into());
    }
    let fingerprint = authority.fingerprint(HashAlg::Sha256);
    certificate
        .validate([&fingerprint])
        .map_err(|_| "is not currently valid, or has an invalid signature".into())
}

/// Formats the type and the fingerprint as `ssh-keygen -l` does.
pub(crate) fn describe_key(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256))
}

impl Handler for Verifier {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
        match self.check(shown) {
            Ok(()) => Ok(true),
            Err(problem) => {
                *self.verdict.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
                Ok(false)
            }
        }
    }
}

/// Returns the host key algorithms to request. The expected key's algorithms are first: a machine
/// with several keys then presents that key.
pub(crate) fn preferred_algorithms(hop: &Hop) -> (Cow<'static, [Algorithm]>, Cow<'static, [Algorithm]>) {
    // RSA with SHA-1 is excluded because it is insecure.
    let all: Vec<Algorithm> = russh::Preferred::DEFAULT
        .key
        .iter()
        .filter(|algorithm| !matches!(algorithm, Algorithm::Rsa { hash: None }))
        .cloned()
        .collect();
    let Some(expected) = &hop.host_key else { return (all.into(), Cow::Borrowed(&[])) };
    let kind = expected.algorithm();
    let is_of_kind = |algorithm: &Algorithm| match (&kind, algorithm) {
        (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
        (kind, algorithm) => *kind == *algorithm,
    };
    let (mut first, rest): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_of_kind);
    first.extend(rest);
    (first.into(), all.into())
}
