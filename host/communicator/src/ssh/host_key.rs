//! Whether a machine is who it should be.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use russh::client::Handler;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey, PublicKeyOrCertificate};

use crate::settings::Hop;

/// What was found about a key that was not believed.
#[derive(Clone, Default)]
pub(crate) struct Verdict(Arc<Mutex<Option<String>>>);

impl Verdict {
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Checks the key that a machine shows.
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
        // Who holds the key has proven so by now, whatever an authority says of it.
        let key = shown.public_key();
        if key.key_data() == expected.key_data() {
            return Ok(());
        }
        match shown.certificate() {
            None => Err(format!("the key {}", described(&key))),
            Some(certificate) => certified(certificate, expected, &self.host)
                .map_err(|problem| format!("a certificate for {} that {problem}", described(&key))),
        }
    }
}

/// What is the matter with a certificate, if something is.
fn certified(certificate: &Certificate, authority: &PublicKey, host: &str) -> Result<(), String> {
    if certificate.signature_key() != authority.key_data() {
        return Err("another authority has signed".into());
    }
    if certificate.cert_type() != CertType::Host {
        return Err("is not for machines".into());
    }
    let principals = certificate.valid_principals();
    if !principals.is_empty() && !principals.iter().any(|principal| principal.eq_ignore_ascii_case(host)) {
        return Err(format!("is for {} and not for {host}", principals.join(", ")));
    }
    if certificate.critical_options().iter().next().is_some() {
        return Err("has conditions that are not known here".into());
    }
    let fingerprint = authority.fingerprint(HashAlg::Sha256);
    certificate.validate([&fingerprint]).map_err(|_| "is not valid now, or whose signature is wrong".into())
}

/// The kind and the fingerprint, as `ssh-keygen -l` shows them.
pub(crate) fn described(key: &PublicKey) -> String {
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

/// The kinds of key that a machine is asked for: of the kind that is known of it first,
/// so that it does not show another one that it has as well.
pub(crate) fn wanted(hop: &Hop) -> (Cow<'static, [Algorithm]>, Cow<'static, [Algorithm]>) {
    // RSA with SHA-1 is not among them: nobody should be believed for that.
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
