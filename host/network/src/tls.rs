//! TLS as a client: whom to believe.

use std::io;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wardian_policy::Host;

/// Whose certificates are believed.
#[derive(Clone)]
pub struct TlsRoots(Arc<ClientConfig>);

/// Why there is no secure connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The system has no roots, so that nobody can be believed.
    #[error("this system has no root certificates: {0}")]
    NoRoots(String),
    /// This build has no usable cipher.
    #[error("{0}")]
    Setup(rustls::Error),
    /// A host that no certificate can be for.
    #[error("no certificate can be for this host")]
    Name,
    /// The handshake failed.
    #[error("{0}")]
    Handshake(io::Error),
}

impl TlsRoots {
    /// The system's roots. Reads files, so it is made once.
    ///
    /// # Errors
    /// Where there are none.
    pub fn of_system() -> Result<Self, TlsError> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        // Systems keep certificates that no current verifier takes; the others do.
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let reason =
                found.errors.first().map_or_else(|| "none was found".to_owned(), ToString::to_string);
            return Err(TlsError::NoRoots(reason));
        }
        Self::with(roots)
    }

    /// These certificates alone.
    ///
    /// # Errors
    /// Where one of them is none.
    pub fn of(certificates: Vec<CertificateDer<'static>>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates {
            roots.add(certificate).map_err(TlsError::Setup)?;
        }
        Self::with(roots)
    }

    fn with(roots: RootCertStore) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    /// Makes a connection a secure one with a host.
    pub(crate) async fn connect(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, TlsError> {
        let name = match host {
            Host::Name(name) => ServerName::try_from(name.to_string()).map_err(|_| TlsError::Name)?,
            Host::Address(address) => ServerName::from(*address),
        };
        let connector = TlsConnector::from(Arc::clone(&self.0));
        connector.connect(name, stream).await.map_err(TlsError::Handshake)
    }
}
