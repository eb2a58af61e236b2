//! Requests through a proxy.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use wardian_access::ReachError;
use wardian_network::NetworkError;
use wardian_network::proxy::ProxySettings;

use crate::server::{Judge, Server, Setting, answer, echo, get};

fn through(proxy: &str) -> ProxySettings {
    ProxySettings::from_variables(|name| (name == "ALL_PROXY").then(|| proxy.to_owned())).unwrap()
}

#[tokio::test]
async fn plain_request_sends_absolute_uri_to_proxy() {
    let proxy = Server::start(echo).await;
    let setting =
        Setting { proxies: through(&format!("http://me:secret@{}", proxy.address)), ..Setting::default() };
    let said = answer(&setting.client(), get("http://far.example/path?x=1")).await.unwrap();
    let expected =
        "GET http://far.example/path?x=1\nhost: far.example\nproxy-authorization: Basic bWU6c2VjcmV0";
    assert_eq!(said, expected);
    // The proxy resolves the name.
    assert_eq!(setting.judge.asked(), ["GET http://far.example"]);
}

#[tokio::test]
async fn address_is_checked_despite_proxy() {
    let proxy = Server::start(echo).await;
    let address = [169, 254, 169, 254].into();
    let judge = Arc::new(Judge { denied_addresses: vec![address], ..Judge::default() });
    let setting = Setting { judge, proxies: through(&proxy.address.to_string()), ..Setting::default() };
    for url in ["http://169.254.169.254/", "https://169.254.169.254/", "http://[::ffff:169.254.169.254]/"] {
        let error = answer(&setting.client(), get(url)).await.unwrap_err();
        assert!(matches!(error, NetworkError::Reach(ReachError::AddressDenied { .. })), "{error}");
    }
    assert_eq!(proxy.connections(), 0);
}

/// Starts a proxy that responds to `CONNECT` with `answer`. Also returns the requests that it
/// receives.
async fn tunnel_proxy(answer: &'static [u8]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = vec![0; 1024];
            let read = stream.read(&mut seen).await.unwrap();
            hears.lock().unwrap().push(String::from_utf8_lossy(&seen[..read]).into_owned());
            stream.write_all(answer).await.unwrap();
            // The other end does not use TLS, so only the first bytes in the tunnel are recorded.
            let read = stream.read(&mut seen).await.unwrap_or_default();
            hears.lock().unwrap().push(format!("{:02x?}", seen.get(..read.min(2)).unwrap_or_default()));
        }
    });
    (address, heard)
}

#[tokio::test]
async fn https_request_uses_a_tunnel() {
    let (address, heard) = tunnel_proxy(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let setting = Setting { proxies: through(&format!("http://me:secret@{address}")), ..Setting::default() };
    let error = answer(&setting.client(), get("https://far.example/path")).await.unwrap_err();
    assert!(matches!(error, NetworkError::Tls { .. }), "{error}");
    let heard = heard.lock().unwrap();
    let asked = heard.first().map(|asked| asked.to_ascii_lowercase()).unwrap_or_default();
    assert!(asked.starts_with("connect far.example:443 http/1.1\r\nhost: far.example:443\r\n"), "{asked}");
    assert!(asked.contains("proxy-authorization: basic "), "{asked}");
    assert!(!asked.contains("/path"), "{asked}");
    assert_eq!(heard.get(1).map(String::as_str), Some("[16, 03]"), "the first bytes of TLS");
}

#[tokio::test]
async fn refused_tunnel_error_names_the_proxy() {
    let (address, _) =
        tunnel_proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await;
    let setting = Setting { proxies: through(&address), ..Setting::default() };
    let error = answer(&setting.client(), get("https://far.example/")).await.unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "proxy {address} did not connect to far.example:443: it responded with 407 Proxy Authentication Required"
        )
    );
}
