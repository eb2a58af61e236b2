//! A certificate authority, and a certificate for all names of the server.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

/// The names of the certificate. Requests for names other than `localhost` come through the proxy.
const NAMES: [&str; 6] = [
    "localhost",
    "127.0.0.1",
    "example.test",
    "*.example.test",
    "registry.terraform.io",
    "registry.opentofu.org",
];

pub(crate) struct Certificates {
    pub(crate) acceptor: TlsAcceptor,
    /// The certificate of the authority, as PEM.
    pub(crate) authority: String,
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        authority.distinguished_name.push(DnType::CommonName, "Authority of tests");
        let key = KeyPair::generate().unwrap();
        let certificate = authority.self_signed(&key).unwrap();
        let issuer = Issuer::new(authority, key);

        let server_key = KeyPair::generate().unwrap();
        let mut server = CertificateParams::new(NAMES.map(str::to_owned).to_vec()).unwrap();
        server.distinguished_name.push(DnType::CommonName, "Server of tests");
        server.use_authority_key_identifier_extension = true;
        let chain = server.signed_by(&server_key, &issuer).unwrap();

        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let configuration = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![chain.der().clone()],
                PrivateKeyDer::try_from(server_key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self { acceptor: TlsAcceptor::from(Arc::new(configuration)), authority: certificate.pem() }
    }
}
