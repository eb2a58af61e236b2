//! Transient failures.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use wardian_download::{DownloaderOptions, Fetch, FetchError};

use crate::server::{Next, Reply, Server, downloader, downloader_with, options, within_limit};

#[tokio::test]
async fn retry_after_header_determines_the_delay() {
    within_limit(async {
        let server = Server::start(|request| match request.index {
            0 => Reply::new(429, "retry-after: 1\r\n", "slow down"),
            _ => Reply::ok("done"),
        })
        .await;
        let started = Instant::now();
        assert_eq!(downloader().fetch(server.get("/"), 10).await.unwrap().body, "done");
        assert!(started.elapsed() >= Duration::from_secs(1));
        // A delay of more than a minute ends the attempts.
        let busy = Server::start(|_| Reply::new(429, "retry-after: 3600\r\n", "")).await;
        assert_eq!(downloader().fetch(busy.get("/"), 10).await.unwrap().status, 429);
        assert_eq!(busy.lines().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn number_of_attempts_is_limited() {
    within_limit(async {
        let server = Server::start(|_| Reply::new(500, "", "broken")).await;
        let fetched = downloader().fetch(server.get("/"), 10).await.unwrap();
        assert_eq!((fetched.status.as_u16(), fetched.body.as_ref()), (500, b"broken".as_slice()));
        assert_eq!(server.lines().len(), 4);
        let configured = downloader_with(DownloaderOptions { retries: 1, ..options() });
        configured.fetch(server.get("/"), 10).await.unwrap();
        assert_eq!(server.lines().len(), 6);
        configured.fetch(server.get("/").retries(0), 10).await.unwrap();
        assert_eq!(server.lines().len(), 7);
    })
    .await;
}

#[tokio::test]
async fn requests_with_permanent_errors_are_not_retried() {
    within_limit(async {
        for status in [400, 401, 403, 404, 501] {
            let server = Server::start(move |_| Reply::new(status, "", "")).await;
            assert_eq!(downloader().fetch(server.get("/"), 10).await.unwrap().status, status);
            assert_eq!(server.lines().len(), 1, "{status}");
        }
    })
    .await;
}

#[tokio::test]
async fn requests_with_broken_responses_are_retried() {
    within_limit(async {
        let server = Server::start(|request| match request.index {
            0 => Reply::broken(200, "", 10, "four"),
            1 => Reply::raw("", Next::Close),
            2 => Reply::raw("SSH-2.0-OpenSSH\r\n", Next::Close),
            _ => Reply::ok("complete"),
        })
        .await;
        assert_eq!(downloader().fetch(server.get("/"), 10).await.unwrap().body, "complete");
        let server = Server::start(|_| Reply::broken(200, "", 10, "four")).await;
        let error = downloader().fetch(server.get("/"), 10).await.unwrap_err();
        assert!(matches!(error, FetchError::Interrupted { .. }) && error.is_unreachable(), "{error}");
        assert_eq!(server.lines().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn unreachable_server_is_an_error() {
    within_limit(async {
        // The port is closed when the listener is dropped.
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = url::Url::parse(&format!("http://{closed}/x")).unwrap();
        let error = downloader().fetch(Fetch::get(url.clone()), 10).await.unwrap_err();
        assert!(matches!(error, FetchError::Connect { .. }) && error.is_unreachable(), "{error}");
        assert!(error.to_string().starts_with(&format!("failed to request {url}: ")), "{error}");
    })
    .await;
}

#[tokio::test]
async fn requests_with_side_effects_are_retried_only_if_not_processed() {
    within_limit(async {
        let server = Server::start(|request| match request.line() {
            "POST /busy" if request.index == 0 => Reply::new(429, "", ""),
            "POST /busy" => Reply::ok("done"),
            "POST /broken" => Reply::raw("", Next::Close),
            _ => Reply::new(500, "", ""),
        })
        .await;
        let post = |path| Fetch::new(Method::POST, server.url(path)).body(Bytes::from_static(b"body"));
        assert_eq!(downloader().fetch(post("/busy"), 10).await.unwrap().body, "done");
        assert_eq!(server.received()[1].body, b"body");
        assert_eq!(downloader().fetch(post("/failed"), 10).await.unwrap().status, 500);
        downloader().fetch(post("/broken"), 10).await.unwrap_err();
        assert_eq!(server.lines(), ["POST /busy", "POST /busy", "POST /failed", "POST /broken"]);
    })
    .await;
}
