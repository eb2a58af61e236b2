//! The server side of mutual TLS: the client must hold the certificate that the host passed in
//! the environment.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

use crate::cert_pinning::PinnedCertificate;
use crate::tls::Identity;

/// Accepts connections of one host.
pub(super) struct Acceptor(TlsAcceptor);

impl Acceptor {
    pub(super) fn new(host_certificate: &str, own: &Identity) -> io::Result<Self> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let host = CertificateDer::from_pem_slice(host_certificate.as_bytes()).map_err(io::Error::other)?;
        let verifier = Arc::new(PinnedCertificate::new(host, &provider));
        let (certificate, key) = own.certificate_and_key();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_client_cert_verifier(verifier))
            .and_then(|builder| {
                let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key));
                builder.with_single_cert(vec![certificate], key)
            })
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        self.0.accept(stream).await
    }
}
