//! Opens TLS connections as a client.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::settings::ServerCertificate;
use crate::stream::Duplex;

/// Opens a TLS session with a host.
///
/// # Errors
/// Returns a message for the user if the certificate is not trusted or the handshake fails.
pub(crate) async fn connect<S: Duplex>(
    host: &str,
    trust: &ServerCertificate,
    stream: S,
) -> Result<TlsStream<S>, String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        "a certificate cannot be issued for this \
        host name"
    })?;
    let connector = TlsConnector::from(Arc::new(client_config(trust)?));
    connector.connect(name, stream).await.map_err(|error| format!("TLS failed: {error}"))
}

fn client_config(trust: &ServerCertificate) -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    match trust {
        ServerCertificate::Any => {
            let any_certificate = Arc::new(AnyCertificate(provider));
            return Ok(builder
                .dangerous()
                .with_custom_certificate_verifier(any_certificate)
                .with_no_client_auth());
        }
        ServerCertificate::Authorities(authorities) => {
            for certificate in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("cacert is not valid PEM: {error}"))?;
                roots.add(certificate).map_err(|error| format!("cacert cannot be used: {error}"))?;
            }
            if roots.is_empty() {
                return Err("cacert contains no certificate (\"-----BEGIN CERTIFICATE-----\")".into());
            }
        }
        ServerCertificate::SystemRoots => {
            roots = wardian_network::system_roots()
                .map_err(|reason| format!("this system has no root certificates: {reason}"))?;
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Accepts any certificate whose private key the peer holds.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
