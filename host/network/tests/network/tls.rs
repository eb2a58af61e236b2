//! TLS connections are opened only to hosts with a valid certificate.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use wardian_network::{NetworkError, TlsRoots};

use crate::server::{Names, Setting, answer, echo, get, serve};

/// Starts a server with a self-signed certificate for these hosts. Returns its port and the
/// certificate.
async fn secure_server(hosts: &[&str]) -> (u16, CertificateDer<'static>) {
    let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let certificate = certificate.der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(serve(stream, echo));
            }
        }
    });
    (port, certificate)
}

fn names() -> Arc<Names> {
    let here = |name| (name, vec![vec![[127, 0, 0, 1].into()]]);
    let answers = ["api.example", "other.example"].map(here);
    Arc::new(Names { answers: answers.into_iter().collect(), ..Names::default() })
}

#[tokio::test]
async fn certificate_must_match_host() {
    let (port, certificate) = secure_server(&["api.example", "127.0.0.1"]).await;
    let roots = TlsRoots::from_certificates(vec![certificate]).unwrap();
    let client = Setting { names: names(), roots, ..Setting::default() }.client();
    for host in ["api.example", "API.example.", "127.0.0.1"] {
        let said = answer(&client, get(&format!("https://{host}:{port}/"))).await.unwrap();
        assert!(said.starts_with("GET /"), "{said}");
    }
    let error = answer(&client, get(&format!("https://other.example:{port}/"))).await.unwrap_err();
    assert!(
        matches!(&error, NetworkError::Tls { endpoint, .. } if endpoint.starts_with("other.example")),
        "{error}"
    );
}

#[tokio::test]
async fn rejects_untrusted_certificate() {
    let (port, _) = secure_server(&["api.example"]).await;
    let (_, another) = secure_server(&["api.example"]).await;
    for roots in [vec![], vec![another]] {
        let roots = TlsRoots::from_certificates(roots).unwrap();
        let client = Setting { names: names(), roots, ..Setting::default() }.client();
        let error = answer(&client, get(&format!("https://api.example:{port}/"))).await.unwrap_err();
        assert!(matches!(error, NetworkError::Tls { .. }), "{error}");
    }
}

#[tokio::test]
async fn server_without_tls_causes_a_tls_error() {
    let server = crate::server::Server::start(echo).await;
    let client = Setting { names: names(), ..Setting::default() }.client();
    let url = format!("https://api.example:{}/", server.address.port());
    let error = answer(&client, get(&url)).await.unwrap_err();
    assert!(matches!(error, NetworkError::Tls { .. }), "{error}");
}
