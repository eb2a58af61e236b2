//! A connection is reused only by the client that opened it.

use http_body_util::{BodyExt as _, Full};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::server::{Server, Setting, TIMEOUTS, answer, echo, get, text};

#[tokio::test]
async fn sequential_requests_share_a_connection() {
    let server = Server::start(|_| text("x".repeat(100_000))).await;
    let client = Setting::default().client();
    for _ in 0..20 {
        assert_eq!(answer(&client, get(&server.url("/"))).await.unwrap().len(), 100_000);
        tokio::task::yield_now().await;
    }
    assert!(server.connections() <= 2, "{}", server.connections());
}

#[tokio::test]
async fn clients_share_no_connections() {
    let server = Server::start(echo).await;
    let setting = Setting::default();
    for _ in 0..3 {
        answer(&setting.client(), get(&server.url("/"))).await.unwrap();
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn dropped_response_closes_its_connection() {
    let server = Server::start(|_| text(vec![b'x'; 500_000])).await;
    let client = Setting::default().client();
    for _ in 0..3 {
        let mut response = client.send(get(&server.url("/")), TIMEOUTS).await.unwrap();
        response.body_mut().frame().await.unwrap().unwrap();
    }
    assert_eq!(server.connections(), 3);
}

/// The server closes each connection after one response, without announcing it in the response.
#[tokio::test]
async fn closed_idle_connection_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = [0; 1024];
            if stream.read(&mut seen).await.unwrap() > 0 {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            }
        }
    });
    let client = Setting::default().client();
    for _ in 0..10 {
        assert_eq!(answer(&client, get(&url)).await.unwrap(), "ok");
    }
}

#[tokio::test]
async fn response_without_body_returns_its_connection() {
    let server = Server::start(|_| http::Response::new(Full::default().boxed_unsync())).await;
    let client = Setting::default().client();
    for _ in 0..5 {
        client.send(get(&server.url("/")), TIMEOUTS).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(server.connections(), 1);
}
