//! TLS as a client.

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

/// Makes a connection a secure one with a host.
///
/// # Errors
/// Where it is not who it should be, or does not speak TLS; in words for people.
pub(crate) async fn connect<S: Duplex>(
    host: &str,
    believed: &ServerCertificate,
    stream: S,
) -> Result<TlsStream<S>, String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| "no certificate can be for this host")?;
    let connector = TlsConnector::from(Arc::new(configuration(believed)?));
    connector.connect(name, stream).await.map_err(|error| format!("TLS failed: {error}"))
}

fn configuration(believed: &ServerCertificate) -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    match believed {
        ServerCertificate::Any => {
            let anybody = Arc::new(Anybody(provider));
            return Ok(builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth());
        }
        ServerCertificate::Of(authorities) => {
            for certificate in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("cacert is no PEM: {error}"))?;
                roots.add(certificate).map_err(|error| format!("cacert cannot be used: {error}"))?;
            }
            if roots.is_empty() {
                return Err("cacert has no certificate (\"-----BEGIN CERTIFICATE-----\")".into());
            }
        }
        ServerCertificate::OfSystem => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("this system has no root certificates".into());
            }
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Believes everybody who holds the key of the certificate that they show.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
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
