//! Mutual TLS between the bridge and one process.
//!
//! The bridge creates a certificate for each process and passes it in the environment; the process
//! returns its own certificate in the handshake. No authority signs these certificates: each side
//! trusts only the certificate that it received, for this one connection. Go's certificates are
//! both authorities and end entities, with P-521 keys, so the usual verification would reject them.
//! The verification in this module compares the bytes, and then verifies the signature of the TLS
//! handshake with the certificate's key.
//!
//! The bridge's own key is P-256, which Go accepts and which plugins also accept if their TLS
//! library does not support P-521.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error};

use crate::cert_pinning::PinnedCertificate;

/// The host name in all certificates of this protocol.
pub(crate) const SERVER_NAME: &str = "localhost";

/// The certificate could not be created.
#[derive(Debug, thiserror::Error)]
#[error("could not make a certificate for the connection: {0}")]
pub struct IdentityError(#[from] rcgen::Error);

/// Describes the reason why a connection could not be secured.
pub(crate) fn describe_error(error: &std::io::Error) -> String {
    let cause = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    match cause {
        Some(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) => {
            "the listener at that address has a different certificate than the plugin announced".to_owned()
        }
        _ => format!("TLS failed: {error}"),
    }
}

/// The bridge's identity for one process.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    /// The private key in PKCS #8.
    key: Vec<u8>,
    /// The certificate in PEM format, for the process's environment.
    pub(crate) pem: String,
}

impl Identity {
    /// Creates a key and a certificate. The certificate practically never expires, since it is
    /// discarded together with the process.
    pub(crate) fn new() -> Result<Self, IdentityError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new([SERVER_NAME.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, SERVER_NAME);
        params.distinguished_name.push(DnType::OrganizationName, "Wardian");
        // Plugins use this certificate as their only certificate authority.
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
            KeyUsagePurpose::KeyAgreement,
            KeyUsagePurpose::KeyCertSign,
        ];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.self_signed(&key)?;
        Ok(Self { certificate: certificate.der().clone(), key: key.serialize_der(), pem: certificate.pem() })
    }

    /// Returns the certificate and its key, for a server.
    pub(crate) fn certificate_and_key(&self) -> (CertificateDer<'static>, Vec<u8>) {
        (self.certificate.clone(), self.key.clone())
    }

    /// Secures a connection to the process that announced the certificate `expected`.
    pub(crate) async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        expected: Vec<u8>,
    ) -> std::io::Result<TlsStream<S>> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = PinnedCertificate::new(expected.into(), &provider);
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.clone()));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(verifier))
                    .with_client_auth_cert(vec![self.certificate.clone()], key)
            })
            .map_err(std::io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        let name = ServerName::try_from(SERVER_NAME).map_err(std::io::Error::other)?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}
