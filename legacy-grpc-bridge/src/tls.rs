//! Mutual TLS between us and one process.
//!
//! Each process gets a certificate of its own from us, by its environment, and
//! answers with its own in the handshake. Neither is signed by anybody: each side
//! trusts the very certificate that it was shown, for this one connection. Go's
//! are authorities and end entities at once, with keys of P-521, so the usual
//! verification would refuse them; ours compares the bytes, and then has the
//! signature of the TLS handshake verified with the certificate's key.
//!
//! Our own key is of P-256, which Go takes as well, and with it all plugins whose
//! TLS knows no P-521.

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

/// The name that all certificates of this protocol are for.
pub(crate) const SERVER_NAME: &str = "localhost";

/// Why there is no identity to show.
#[derive(Debug, thiserror::Error)]
#[error("could not make a certificate for the connection: {0}")]
pub struct IdentityError(#[from] rcgen::Error);

/// Why a stream could not be secured.
pub(crate) fn describe_error(error: &std::io::Error) -> String {
    let cause = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    match cause {
        Some(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) => {
            "who listens there has another certificate than the plugin showed".to_owned()
        }
        _ => format!("TLS failed: {error}"),
    }
}

/// What we show to one process.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    /// PKCS #8.
    key: Vec<u8>,
    /// The certificate as the process is given it.
    pub(crate) pem: String,
}

impl Identity {
    /// A new key, and a certificate for it that is valid as long as anybody could
    /// want: it ends with the process.
    pub(crate) fn new() -> Result<Self, IdentityError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new([SERVER_NAME.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, SERVER_NAME);
        params.distinguished_name.push(DnType::OrganizationName, "Wardian");
        // Plugins take it as the one authority they know.
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

    /// The certificate and its key, as a server shows and uses them.
    pub(crate) fn certificate_and_key(&self) -> (CertificateDer<'static>, Vec<u8>) {
        (self.certificate.clone(), self.key.clone())
    }

    /// Secures a stream to the process that showed `expected`.
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
