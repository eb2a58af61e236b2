//! TLS as a client: whom to believe.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wardian_policy::Host;

/// Sessions that one client remembers, to begin the next one sooner.
const SESSIONS: usize = 64;

/// Whose certificates are believed.
#[derive(Clone)]
pub struct TlsRoots(Arc<Source>);

enum Source {
    /// Read when they are needed first, and then kept.
    System(OnceLock<Result<Arc<ClientConfig>, String>>),
    Given(Arc<ClientConfig>),
}

/// What one client makes secure connections with.
pub(crate) struct Tls {
    roots: TlsRoots,
    config: OnceLock<Arc<ClientConfig>>,
}

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

impl TlsError {
    /// Whether it is the certificate that is not believed.
    pub fn is_about_the_certificate(&self) -> bool {
        let Self::Handshake(error) = self else { return matches!(self, Self::Name) };
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        matches!(cause, Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented))
    }
}

impl TlsRoots {
    /// The system's roots, which are read when the first secure connection is made.
    pub fn of_system() -> Self {
        Self(Arc::new(Source::System(OnceLock::new())))
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
        Ok(Self(Arc::new(Source::Given(config_with(roots).map_err(TlsError::Setup)?))))
    }

    pub(crate) fn of_one_client(self) -> Tls {
        Tls { roots: self, config: OnceLock::new() }
    }

    /// Reads files the first time.
    fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        match &*self.0 {
            Source::Given(config) => Ok(Arc::clone(config)),
            Source::System(read) => read.get_or_init(system_config).clone().map_err(TlsError::NoRoots),
        }
    }
}

fn system_config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Systems keep certificates that no current verifier takes; the others do.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let reason = found.errors.first().map_or_else(|| "none was found".to_owned(), ToString::to_string);
        return Err(reason);
    }
    config_with(roots).map_err(|error| error.to_string())
}

fn config_with(roots: RootCertStore) -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

impl Tls {
    /// Sessions are remembered for this client alone: one that is taken up again tells the
    /// server that both are the same.
    async fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let roots = self.roots.clone();
        let read = tokio::task::spawn_blocking(move || roots.config()).await;
        let shared = read.map_err(|error| TlsError::NoRoots(error.to_string()))??;
        let mut config = (*shared).clone();
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(Arc::clone(self.config.get_or_init(|| Arc::new(config))))
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
        let connector = TlsConnector::from(self.config().await?);
        connector.connect(name, stream).await.map_err(TlsError::Handshake)
    }
}
