//! Tests the checks before a request is sent, and the choice of its destination.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use wardian_access::{HttpCredential, ReachError};
use wardian_network::NetworkError;

use crate::server::{Judge, Names, Server, Setting, TIMEOUTS, answer, body, echo, get, read, text};

fn loopback() -> IpAddr {
    [127, 0, 0, 1].into()
}

/// Returns an address of the test network TEST-NET-1, which is unreachable.
fn unreachable_address() -> IpAddr {
    [192, 0, 2, 1].into()
}

#[tokio::test]
async fn request_is_sent_and_reported() {
    let server = Server::start(echo).await;
    let setting = Setting::default();
    let request =
        Request::post(server.url("/a/b?c=d")).header("connection", "close").body(body("four")).unwrap();
    let response = setting.client().send(request, TIMEOUTS).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let said = read(response).await.unwrap();
    assert_eq!(said, format!("POST /a/b?c=d\nhost: {}", server.address));
    let asked = [format!("POST http://{}", server.address), "127.0.0.1".to_owned()];
    assert_eq!(setting.judge.asked(), asked);
    let ended = setting.judge.ended.lock().unwrap();
    let [exchange] = &**ended else { panic!("{ended:?}") };
    assert_eq!((exchange.status, exchange.sent, exchange.received), (Some(200), 4, said.len() as u64));
    assert_eq!(exchange.address, Some(loopback()));
}

#[tokio::test]
async fn denied_request_is_not_resolved() {
    let judge = Arc::new(Judge { denied_hosts: vec!["evil.example"], ..Judge::default() });
    let setting = Setting { judge, ..Setting::default() };
    for url in ["http://evil.example", "https://EVIL.example:8443/x", "http://evil.example./"] {
        let error = answer(&setting.client(), get(url)).await.unwrap_err();
        assert!(matches!(error, NetworkError::Reach(ReachError::Denied(_))), "{url}: {error}");
    }
    assert_eq!(setting.names.looked_up.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn denied_address_receives_no_connection() {
    let server = Server::start(echo).await;
    let judge = Arc::new(Judge { denied_addresses: vec![loopback()], ..Judge::default() });
    let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
    let answers = [("plain.example", vec![vec![loopback()]]), ("mapped.example", vec![vec![mapped]])];
    let names = Arc::new(Names { answers: answers.into_iter().collect(), ..Names::default() });
    let setting = Setting { judge, names, ..Setting::default() };
    let port = server.address.port();
    for host in [
        "plain.example",
        "mapped.example",
        "127.0.0.1",
        "[::ffff:7f00:1]",
        "127.1",
        "0177.0.0.1",
        "2130706433",
        "0x7f000001",
    ] {
        let error = answer(&setting.client(), get(&format!("http://{host}:{port}/"))).await.unwrap_err();
        let NetworkError::Reach(ReachError::AddressDenied { address, .. }) = error else {
            panic!("{host}: {error}")
        };
        assert_eq!(address, loopback(), "{host}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn only_allowed_addresses_receive_connections() {
    let server = Server::start(echo).await;
    let judge = Arc::new(Judge { denied_addresses: vec![unreachable_address()], ..Judge::default() });
    let answers = [("two.example", vec![vec![unreachable_address(), loopback()]])];
    let names = Arc::new(Names { answers: answers.into_iter().collect(), ..Names::default() });
    let setting = Setting { judge, names, ..Setting::default() };
    let url = format!("http://two.example:{}/", server.address.port());
    let said = answer(&setting.client(), get(&url)).await.unwrap();
    assert!(said.contains("host: two.example:"), "{said}");
}

#[tokio::test]
async fn rebinding_name_is_checked_by_its_current_address() {
    let server = Server::start(echo).await;
    let judge = Arc::new(Judge { denied_addresses: vec![loopback()], ..Judge::default() });
    // The first lookup returns a harmless address, and the next one a loopback address.
    let answers = [("rebinds.example", vec![vec![unreachable_address()], vec![loopback()]])];
    let names = Arc::new(Names { answers: answers.into_iter().collect(), ..Names::default() });
    let setting = Setting { judge, names, ..Setting::default() };
    let url = format!("http://rebinds.example:{}/", server.address.port());
    let client = setting.client();
    let mut timeouts = TIMEOUTS;
    timeouts.connect = std::time::Duration::from_millis(100);
    for _ in 0..3 {
        assert!(client.send(get(&url), timeouts).await.is_err());
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(setting.names.looked_up.load(Ordering::Relaxed), 3, "once for each connection");
}

#[tokio::test]
async fn pooled_connection_is_checked_again() {
    let server = Server::start(echo).await;
    let setting = Setting::default();
    let client = setting.client();
    for _ in 0..2 {
        answer(&client, get(&server.url("/"))).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
    // The destination is the same, but the address is now denied.
    setting.judge.is_closed.store(true, Ordering::Relaxed);
    let error = answer(&client, get(&server.url("/"))).await.unwrap_err();
    assert!(matches!(error, NetworkError::Reach(ReachError::AddressDenied { .. })), "{error}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn redirects_are_returned() {
    let server = Server::start(|_| {
        let empty = Full::default().boxed_unsync();
        Response::builder().status(302).header("location", "http://192.0.2.1/").body(empty).unwrap()
    })
    .await;
    let setting = Setting::default();
    let response = setting.client().send(get(&server.url("/")), TIMEOUTS).await.unwrap();
    assert_eq!(response.status(), StatusCode::FOUND);
    assert_eq!(setting.judge.asked().len(), 2);
}

#[tokio::test]
async fn invalid_and_forbidden_requests_are_rejected() {
    let server = Server::start(echo).await;
    let setting = Setting::default();
    let client = setting.client();
    let with =
        |name: &str, value: &str| Request::get(server.url("/")).header(name, value).body(body("")).unwrap();
    let lies = [
        with("host", "other.example"),
        with("host", "127.0.0.1:1"),
        with("upgrade", "websocket"),
        with("proxy-authorization", "Basic x"),
        Request::builder().method(Method::CONNECT).uri(server.url("/")).body(body("")).unwrap(),
        Request::get("/no/host").body(body("")).unwrap(),
        Request::get("ftp://127.0.0.1/").body(body("")).unwrap(),
        Request::get(format!("http://good.example@{}/", server.address)).body(body("")).unwrap(),
    ];
    for request in lies {
        let shown = format!("{request:?}");
        assert!(answer(&client, request).await.is_err(), "{shown}");
    }
    assert_eq!((server.connections(), setting.judge.asked().len()), (0, 0));
    // An equivalent Host header is accepted.
    let port = server.address.port();
    assert!(answer(&client, with("host", &format!("127.1:{port}"))).await.is_ok());
}

#[tokio::test]
async fn credentials_are_added_after_the_checks() {
    let server = Server::start(echo).await;
    let credential = HttpCredential {
        name: HeaderName::from_static("authorization"),
        value: HeaderValue::from_static("Bearer s3cret"),
    };
    assert_eq!(format!("{credential:?}"), "HttpCredential(authorization, ...)");
    let judge =
        Judge { credentials: [("api.example", vec![credential])].into_iter().collect(), ..Judge::default() };
    let answers = ["api.example", "other.example"].map(|name| (name, vec![vec![loopback()]]));
    let names = Arc::new(Names { answers: answers.into_iter().collect(), ..Names::default() });
    let setting = Setting { judge: Arc::new(judge), names, ..Setting::default() };
    let client = setting.client();
    let port = server.address.port();
    let url = |host: &str| format!("http://{host}:{port}/");
    assert!(answer(&client, get(&url("api.example"))).await.unwrap().contains("Bearer s3cret"));
    assert!(!answer(&client, get(&url("other.example"))).await.unwrap().contains("Bearer"));
    let own = Request::get(url("api.example")).header("Authorization", "mine").body(body("")).unwrap();
    let error = answer(&client, own).await.unwrap_err();
    assert!(matches!(&error, NetworkError::CredentialHeader(name) if name == "authorization"), "{error}");
    for method in ["TRACE", "trace", "Trace", "CONNECT", "connect"] {
        let echo = Request::builder().method(method).uri(url("api.example")).body(body("")).unwrap();
        let error = answer(&client, echo).await.unwrap_err();
        assert!(matches!(&error, NetworkError::Forbidden(_)), "{method}: {error}");
    }
    assert_eq!(server.connections(), 2, "one for each host");
}

#[tokio::test]
async fn checked_method_is_sent() {
    let server = Server::start(echo).await;
    let client = Setting::default().client();
    for method in ["get", "GET", "Post", "purge"] {
        let request = Request::builder().method(method).uri(server.url("/")).body(body("")).unwrap();
        let first_line = answer(&client, request).await.unwrap();
        assert!(first_line.starts_with(&format!("{} /", method.to_ascii_uppercase())), "{first_line}");
    }
}

#[tokio::test]
async fn error_names_unreachable_server() {
    let setting = Setting::default();
    let client = setting.client();
    let unknown = answer(&client, get("http://unknown.example/")).await.unwrap_err();
    assert_eq!(unknown.to_string(), "unknown.example cannot be resolved: nobody knows it");
    let server = Server::start(|_| text("")).await;
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let refused = answer(&client, get(&format!("http://{closed}/"))).await.unwrap_err();
    assert!(refused.to_string().starts_with(&format!("could not connect to {closed}: ")), "{refused}");
    assert!(answer(&client, get(&server.url("/"))).await.is_ok(), "and the client is well");
}
