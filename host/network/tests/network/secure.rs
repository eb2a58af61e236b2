//! Secure connections: only with who is proven to be the host.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use wardian_network::{NetworkError, TlsRoots};

use crate::server::{Names, Setting, answer, get, serve, told};

/// A server that proves to be these hosts by a certificate that nobody vouches for but
/// itself. Its port, and the certificate.
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
                tokio::spawn(serve(stream, told));
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
async fn the_host_is_who_the_certificate_says() {
    let (port, certificate) = secure_server(&["api.example", "127.0.0.1"]).await;
    let roots = TlsRoots::of(vec![certificate]).unwrap();
    let client = Setting { names: names(), roots, ..Setting::default() }.client();
    for host in ["api.example", "API.example.", "127.0.0.1"] {
        let said = answer(&client, get(&format!("https://{host}:{port}/"))).await.unwrap();
        assert!(said.starts_with("GET /"), "{said}");
    }
    let error = answer(&client, get(&format!("https://other.example:{port}/"))).await.unwrap_err();
    assert!(
        matches!(&error, NetworkError::Tls { place, .. } if place.starts_with("other.example")),
        "{error}"
    );
}

#[tokio::test]
async fn who_nobody_vouches_for_is_not_spoken_to() {
    let (port, _) = secure_server(&["api.example"]).await;
    let (_, another) = secure_server(&["api.example"]).await;
    for roots in [vec![], vec![another]] {
        let roots = TlsRoots::of(roots).unwrap();
        let client = Setting { names: names(), roots, ..Setting::default() }.client();
        let error = answer(&client, get(&format!("https://api.example:{port}/"))).await.unwrap_err();
        assert!(matches!(error, NetworkError::Tls { .. }), "{error}");
    }
}

#[tokio::test]
async fn who_speaks_in_clear_is_no_secure_server() {
    let server = crate::server::Server::start(told).await;
    let client = Setting { names: names(), ..Setting::default() }.client();
    let url = format!("https://api.example:{}/", server.address.port());
    let error = answer(&client, get(&url)).await.unwrap_err();
    assert!(matches!(error, NetworkError::Tls { .. }), "{error}");
}
