//! Limits on size, time and number of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use wardian_network::{HttpLimits, NetworkError, RequestLimiter};

use crate::server::{Server, Setting, TIMEOUTS, answer, get, read, text};

/// Starts a server that writes these bytes and then stops responding.
async fn writes(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = [0; 1024];
            assert!(stream.read(&mut seen).await.unwrap() > 0);
            stream.write_all(bytes).await.unwrap();
            kept.push(stream);
        }
    });
    url
}

#[tokio::test]
async fn response_size_is_limited() {
    let server = Server::start(|request| text("x".repeat(request.uri().path().len() - 1))).await;
    let setting = Setting {
        limits: HttpLimits { limiter: RequestLimiter::new(1), response: 10 },
        ..Setting::default()
    };
    let client = setting.client();
    assert_eq!(answer(&client, get(&server.url("/1234567890"))).await.unwrap().len(), 10);
    let error = answer(&client, get(&server.url("/12345678901"))).await.unwrap_err();
    assert!(matches!(error, NetworkError::TooLarge { limit: 10, .. }), "{error}");
    // The response that was too large has released its permit.
    assert!(answer(&client, get(&server.url("/1"))).await.is_ok());
}

#[tokio::test]
async fn silent_server_times_out() {
    let mut timeouts = TIMEOUTS;
    timeouts.first_byte = Duration::from_millis(50);
    timeouts.between_bytes = Duration::from_millis(50);
    let client = Setting::default().client();
    let silent = writes(b"").await;
    let error = client.send(get(&silent), timeouts).await.err().unwrap();
    assert!(matches!(error, NetworkError::ResponseTimeout(_)), "{error}");
    let broken_off = writes(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345").await;
    let response = client.send(get(&broken_off), timeouts).await.unwrap();
    let error = read(response).await.unwrap_err();
    assert!(matches!(error, NetworkError::ReadTimeout(_)), "{error}");
}

#[tokio::test]
async fn invalid_http_is_an_error() {
    let client = Setting::default().client();
    for bytes in [&b"SSH-2.0-OpenSSH\r\n"[..], b"HTTP/1.1 abc\r\n\r\n", b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
        let error = answer(&client, get(&writes(bytes).await)).await.unwrap_err();
        assert!(matches!(error, NetworkError::Exchange { .. }), "{error}");
    }
}

#[tokio::test]
async fn concurrent_requests_are_limited() {
    let permit = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let counts = (Arc::clone(&permit), Arc::clone(&most));
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (permit, most) = counts.clone();
            tokio::spawn(async move {
                let mut seen = [0; 1024];
                while stream.read(&mut seen).await.is_ok_and(|read| read > 0) {
                    most.fetch_max(permit.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    permit.fetch_sub(1, Ordering::SeqCst);
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
                }
            });
        }
    });
    let setting = Setting {
        limits: HttpLimits { limiter: RequestLimiter::new(2), response: 10 },
        ..Setting::default()
    };
    let client = setting.client();
    let started = Instant::now();
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move { answer(&client, get(&url)).await })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap().unwrap(), "ok");
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert!(started.elapsed() >= Duration::from_millis(80));
}

#[tokio::test]
async fn waiting_for_a_permit_times_out() {
    let server = Server::start(|_| text("x".repeat(1_000))).await;
    let setting = Setting {
        limits: HttpLimits { limiter: RequestLimiter::new(2), response: 1_000 },
        ..Setting::default()
    };
    let client = setting.client();
    let first = client.send(get(&server.url("/")), TIMEOUTS).await.unwrap();
    let _second = client.send(get(&server.url("/")), TIMEOUTS).await.unwrap();
    let mut timeouts = TIMEOUTS;
    timeouts.first_byte = Duration::from_millis(50);
    let error = client.send(get(&server.url("/")), timeouts).await.err().unwrap();
    assert!(matches!(error, NetworkError::LimitReached(2)), "{error}");
    drop(first);
    assert!(client.send(get(&server.url("/")), timeouts).await.is_ok());
}

/// Verifies that responses that have not been read yet do not block the awaited response.
#[tokio::test]
async fn tickets_are_served_in_order() {
    let server = Server::start(|_| text("x".repeat(1_000))).await;
    let setting = Setting {
        limits: HttpLimits { limiter: RequestLimiter::new(1), response: 1_000 },
        ..Setting::default()
    };
    let client = setting.client();
    let (first, second) = (client.ticket(), client.ticket());
    let late = tokio::spawn({
        let (client, request) = (client.clone(), get(&server.url("/second")));
        async move { client.send_in_turn(second, request).await.map(|_| ()) }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!late.is_finished());
    let answer = client.send_in_turn(first, get(&server.url("/first"))).await.unwrap();
    assert_eq!(read(answer).await.unwrap().len(), 1_000);
    late.await.unwrap().unwrap();
}

/// Verifies that a dropped ticket does not block the queue.
#[tokio::test]
async fn dropped_ticket_is_removed_from_queue() {
    let patience = Duration::from_mins(1);
    let limiter = RequestLimiter::new(1);
    let (first, second, third) = (limiter.ticket(), limiter.ticket(), limiter.ticket());
    let permit = first.acquire(patience).await.unwrap();
    let too_many = limiter.ticket().acquire(Duration::ZERO).await;
    assert!(matches!(too_many, Err(NetworkError::LimitReached(1))), "{too_many:?}");
    drop(second);
    drop(permit);
    assert!(third.acquire(patience).await.is_ok());
    assert_eq!(RequestLimiter::new(0).limit(), 1);
}
