//! Opens TLS connections as a client.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wardian_access::Host;

/// Number of sessions that a client stores for resumption.
const MAX_SESSIONS: usize = 64;

/// Trusted root certificates.
#[derive(Clone)]
pub struct TlsRoots(Arc<Source>);

enum Source {
    /// The system's certificates, which are loaded when they are first used and then cached.
    System(OnceLock<Result<Arc<ClientConfig>, String>>),
    Given(Arc<ClientConfig>),
}

/// The user's TLS settings for one of the host's own services, such as a backend. Plugins cannot
/// have such settings.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    /// The authorities that are trusted instead of the system's, in PEM format.
    pub authorities: Option<Vec<u8>>,
    /// The client's certificate chain and its private key, in PEM format.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    pub verification: Verification,
}

/// The checks of a server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verification {
    /// The certificate must be issued by a trusted authority for the server's name.
    #[default]
    Full,
    /// The certificate must be issued by a trusted authority, for any name.
    Authority,
    /// The certificate is not checked.
    None,
}

impl TlsSettings {
    /// Returns the TLS configuration.
    ///
    /// # Errors
    /// Returns an error if a certificate or key is invalid, or the system has no root certificates.
    pub fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let builder = match self.verification {
            Verification::Full => builder.with_root_certificates(self.roots()?),
            Verification::Authority => {
                let roots = Arc::new(self.roots()?);
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(AnyName { roots: Some(roots), provider }))
            }
            Verification::None => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyName { roots: None, provider })),
        };
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = certificates(chain, "the client certificate")?;
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError::Pem {
                    subject: "the client key",
                    reason: error.to_string(),
                })?;
                builder.with_client_auth_cert(chain, key).map_err(TlsError::Setup)?
            }
        };
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let Some(authorities) = &self.authorities else {
            return system_roots().map_err(TlsError::NoRoots);
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authorities, "the certificate authority")? {
            roots.add(certificate).map_err(TlsError::Setup)?;
        }
        Ok(roots)
    }
}

fn certificates(pem: &[u8], subject: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(TlsError::Pem { subject, reason: "it contains no certificate".to_owned() }),
        Err(error) => Err(TlsError::Pem { subject, reason: error.to_string() }),
    }
}

/// Accepts a certificate for any name; from any issuer if there are no roots. Signatures of the
/// handshake are always verified.
#[derive(Debug)]
struct AnyName {
    roots: Option<Arc<RootCertStore>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            rustls::client::verify_server_cert_signed_by_trust_anchor(
                &rustls::server::ParsedCertificate::try_from(certificate)?,
                roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The TLS configuration of one client.
pub(crate) struct Tls {
    roots: TlsRoots,
    config: OnceLock<Arc<ClientConfig>>,
}

/// The reason why a TLS connection could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The system has no root certificates.
    #[error("this system has no root certificates: {0}")]
    NoRoots(String),
    /// The TLS library could not be configured.
    #[error("{0}")]
    Setup(rustls::Error),
    /// The host name is not valid in a certificate.
    #[error("a certificate cannot be issued for this host name")]
    Name,
    #[error("{0}")]
    Handshake(io::Error),
    /// A certificate or a key is not in PEM format.
    #[error("{subject} cannot be used: {reason}")]
    Pem { subject: &'static str, reason: String },
}

impl TlsError {
    /// Whether the certificate was rejected.
    pub fn is_certificate_error(&self) -> bool {
        let Self::Handshake(error) = self else { return matches!(self, Self::Name) };
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        matches!(cause, Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented))
    }

    /// Whether the connection was lost during the handshake. In this case, another attempt may
    /// succeed.
    pub fn is_connection_error(&self) -> bool {
        let Self::Handshake(error) = self else { return false };
        !error.get_ref().is_some_and(|cause| cause.is::<rustls::Error>())
    }
}

impl TlsRoots {
    /// Returns the system's root certificates, which are loaded for the first TLS connection.
    pub fn from_system() -> Self {
        Self(Arc::new(Source::System(OnceLock::new())))
    }

    /// Returns only these root certificates.
    ///
    /// # Errors
    /// Returns an error if one of them is invalid.
    pub fn from_certificates(certificates: Vec<CertificateDer<'static>>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates {
            roots.add(certificate).map_err(TlsError::Setup)?;
        }
        Ok(Self(Arc::new(Source::Given(config_with(roots).map_err(TlsError::Setup)?))))
    }

    /// Returns the roots and the other settings for one service.
    ///
    /// # Errors
    /// Returns an error if a certificate or key is invalid, or the system has no root certificates.
    pub fn from_settings(settings: &TlsSettings) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(Source::Given(settings.config()?))))
    }

    pub(crate) fn for_client(self) -> Tls {
        Tls { roots: self, config: OnceLock::new() }
    }

    /// Loads the system's certificates on the first call.
    fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        match &*self.0 {
            Source::Given(config) => Ok(Arc::clone(config)),
            Source::System(read) => read.get_or_init(system_config).clone().map_err(TlsError::NoRoots),
        }
    }
}

/// Loads the system's root certificates.
///
/// # Errors
/// Returns the reason if the system has no root certificates.
pub fn system_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // The verifier cannot parse some certificates on some systems; all other certificates are used.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let reason = found.errors.first().map_or_else(|| "none were found".to_owned(), ToString::to_string);
        return Err(reason);
    }
    Ok(roots)
}

fn system_config() -> Result<Arc<ClientConfig>, String> {
    config_with(system_roots()?).map_err(|error| error.to_string())
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
    /// Sessions are resumed only within one client, because a resumed session reveals to the server
    /// that both connections belong to the same client.
    async fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let roots = self.roots.clone();
        let read = tokio::task::spawn_blocking(move || roots.config()).await;
        let shared = read.map_err(|error| TlsError::NoRoots(error.to_string()))??;
        let mut config = (*shared).clone();
        config.resumption = Resumption::in_memory_sessions(MAX_SESSIONS);
        Ok(Arc::clone(self.config.get_or_init(|| Arc::new(config))))
    }

    /// Opens a TLS session with a host.
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
