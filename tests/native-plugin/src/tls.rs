//! The server side of mutual TLS, with certificates like the certificates of Go plugins: P-521, and
//! a certificate authority that is also the end entity.

use std::error::Error;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::{
    CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{self, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tokio_rustls::server::TlsStream;

pub(crate) struct Acceptor {
    acceptor: TlsAcceptor,
    /// The certificate as DER.
    pub(crate) certificate: Vec<u8>,
}

impl Acceptor {
    /// Creates an acceptor that requires this client certificate.
    pub(crate) fn new(client_pem: &str) -> Result<Self, Box<dyn Error>> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let client = CertificateDer::from_pem_slice(client_pem.as_bytes())?;
        let (certificate, key) = certificate()?;
        let verifier = Arc::new(Pinned { client, provider: Arc::clone(&provider) });
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(
                vec![certificate.clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate: certificate.to_vec() })
    }

    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> std::io::Result<TlsStream<S>> {
        self.acceptor.accept(stream).await
    }
}

/// Returns a certificate whose key is discarded.
pub(crate) fn another() -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(certificate()?.0.to_vec())
}

fn certificate() -> Result<(CertificateDer<'static>, KeyPair), Box<dyn Error>> {
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512)?;
    let mut params = CertificateParams::new(["localhost".to_owned()])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // The key is parsed, to ensure that it is usable.
    PrivateKeyDer::try_from(key.serialize_der())?;
    Ok((params.self_signed(&key)?.der().clone(), key))
}

#[derive(Debug)]
struct Pinned {
    client: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if end_entity.as_ref() == self.client.as_ref() {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(rustls::Error::General("it is not the host's certificate".into()))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
