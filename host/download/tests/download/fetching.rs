//! Requests whose bodies are held in memory.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Method, StatusCode};
use tokio::sync::Barrier;
use wardian_download::{
    Authorization, DownloaderOptions, Fetch, FetchError, Netrc, NetworkAccess, content_type_is,
};
use wardian_network::proxy::ProxySettings;

use crate::server::{Next, Reply, Server, downloader, downloader_with, options, within_limit};

#[tokio::test]
async fn response_with_any_status_is_returned() {
    within_limit(async {
        let server = Server::start(|request| match request.line() {
            "GET /" => Reply::new(200, "content-type: application/json\r\n", "{}"),
            "HEAD /" => Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n", Next::KeepAlive),
            _ => Reply::new(404, "", "nothing"),
        })
        .await;
        let fetched = downloader().fetch(server.get("/"), 2).await.unwrap();
        assert_eq!((fetched.status, &fetched.body[..]), (StatusCode::OK, b"{}".as_slice()));
        assert!(content_type_is(&fetched.headers, "application/json"));
        assert_eq!(fetched.url, server.url("/"));
        let fetched = downloader().fetch(server.get("/x"), 100).await.unwrap();
        assert_eq!((fetched.status.as_u16(), &fetched.body[..]), (404, b"nothing".as_slice()));
        let fetched = downloader().fetch(Fetch::head(server.url("/")), 0).await.unwrap();
        assert_eq!((fetched.status.as_u16(), fetched.body.len()), (200, 0));
    })
    .await;
}

#[tokio::test]
async fn request_has_the_given_method_headers_and_body() {
    within_limit(async {
        let server = Server::start(|_| Reply::new(201, "", "")).await;
        let fetch = Fetch::new(Method::POST, server.url("/a?b=c#d"))
            .header(header::ACCEPT, HeaderValue::from_static("text/plain"))
            .body(Bytes::from_static(b"body"))
            .authorization(Authorization::bearer("token"));
        assert_eq!(downloader().fetch(fetch, 10).await.unwrap().status, StatusCode::CREATED);
        let [request] = &server.received()[..] else { panic!("{:?}", server.received()) };
        assert_eq!((request.line(), &request.body[..]), ("POST /a?b=c", b"body".as_slice()));
        for (name, value) in [
            ("host", Some(server.address.to_string().as_str())),
            ("accept", Some("text/plain")),
            ("authorization", Some("Bearer token")),
            ("user-agent", Some("test")),
            ("accept-encoding", None),
        ] {
            assert_eq!(request.header(name), value, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn netrc_entry_for_host_and_port_is_used_if_requested() {
    within_limit(async {
        let server = Server::start(|_| Reply::ok("")).await;
        let netrc = format!("machine {} login me password secret", server.address);
        let downloader =
            downloader_with(DownloaderOptions { netrc: Netrc::parse(&netrc).unwrap(), ..options() });
        downloader.fetch(server.get("/"), 10).await.unwrap();
        downloader.fetch(server.get("/").with_netrc(), 10).await.unwrap();
        let mut url = server.url("/");
        url.set_username("you").unwrap();
        downloader.fetch(Fetch::get(url).with_netrc(), 10).await.unwrap();
        let sent: Vec<_> = server
            .received()
            .iter()
            .map(|request| request.header("authorization").map(str::to_owned))
            .collect();
        assert_eq!(sent, [None, Some("Basic bWU6c2VjcmV0".to_owned()), Some("Basic eW91Og==".to_owned())]);
    })
    .await;
}

#[tokio::test]
async fn body_beyond_the_limit_is_an_error() {
    within_limit(async {
        let endless = |head: &str, chunk: &str| {
            let next = Next::Repeat(chunk.repeat(1000).into_bytes(), Duration::ZERO);
            Reply::raw(format!("HTTP/1.1 200 OK\r\n{head}\r\n"), next)
        };
        let server = Server::start(move |request| match request.line() {
            "GET /announced" => Reply::ok([b'x'; 11]),
            "GET /huge" => {
                Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775807\r\n\r\n", Next::Hang)
            }
            "GET /chunked" => endless("transfer-encoding: chunked\r\n", "1\r\nx\r\n"),
            "GET /endless" => endless("", "x"),
            _ => Reply::ok([b'x'; 10]),
        })
        .await;
        assert_eq!(downloader().fetch(server.get("/exact"), 10).await.unwrap().body.len(), 10);
        for path in ["/announced", "/huge", "/chunked", "/endless"] {
            let error = downloader().fetch(server.get(path), 10).await.unwrap_err();
            assert!(matches!(&error, FetchError::TooLarge { limit: 10, .. }), "{path}: {error}");
            assert_eq!(error.url(), server.url(path).as_str());
        }
        assert_eq!(server.lines().len(), 5, "it is not retried");
    })
    .await;
}

#[tokio::test]
async fn endless_error_response_body_is_truncated() {
    within_limit(async {
        let server = Server::start(|_| {
            let next = Next::Repeat(vec![b'x'; 1000], Duration::ZERO);
            Reply::raw("HTTP/1.1 404 Not Found\r\n\r\n", next)
        })
        .await;
        for (limit, expected) in [(10, 10), (u64::MAX, 64 * 1024)] {
            let fetched = downloader().fetch(server.get("/"), limit).await.unwrap();
            assert_eq!((fetched.status, fetched.body.len()), (StatusCode::NOT_FOUND, expected));
        }
    })
    .await;
}

#[tokio::test]
async fn endless_response_headers_are_an_error() {
    within_limit(async {
        let server = Server::start(|_| {
            let next = Next::Repeat(b"x-header: value\r\n".repeat(100), Duration::ZERO);
            Reply::raw("HTTP/1.1 200 OK\r\n", next)
        })
        .await;
        let error = downloader().fetch(server.get("/").retries(0), 10).await.unwrap_err();
        assert!(matches!(error, FetchError::Interrupted { .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn response_that_never_ends_times_out() {
    within_limit(async {
        let server = Server::start(|request| match request.line() {
            "GET /silent" => Reply::raw("", Next::Hang),
            "GET /stopped" => Reply::raw("HTTP/1.1 200 OK\r\n\r\nsome", Next::Hang),
            _ => Reply::raw(
                "HTTP/1.1 200 OK\r\n\r\nsome",
                Next::Repeat(b"x".to_vec(), Duration::from_millis(1)),
            ),
        })
        .await;
        let short = Duration::from_millis(300);
        let total = downloader_with(DownloaderOptions { metadata_timeout: short, ..options() });
        for path in ["/silent", "/stopped", "/slow"] {
            let error = total.fetch(server.get(path).retries(1), u64::MAX).await.unwrap_err();
            let expected = "there was no complete response within 0.3 seconds";
            assert!(error.is_unreachable() && error.to_string().contains(expected), "{path}: {error}");
        }
        assert_eq!(server.lines().len(), 6);
        let idle = downloader().with_idle_timeout(short);
        for path in ["/silent", "/stopped"] {
            let fetch = server.get(path).without_total_timeout().retries(0);
            let error = idle.fetch(fetch, u64::MAX).await.unwrap_err();
            assert!(matches!(error, FetchError::Timeout { .. }), "{path}: {error}");
        }
    })
    .await;
}

#[tokio::test]
async fn compressed_body_is_an_error() {
    within_limit(async {
        let server = Server::start(|request| match request.line() {
            "GET /identity" => Reply::new(200, "content-encoding: Identity\r\n", "x"),
            "GET /missing" => Reply::new(404, "content-encoding: gzip\r\n", "x"),
            line if line.starts_with("HEAD") => {
                Reply::raw("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n", Next::KeepAlive)
            }
            _ => Reply::new(200, "content-encoding: gzip\r\n", "x"),
        })
        .await;
        let error = downloader().fetch(server.get("/"), 10).await.unwrap_err();
        assert!(matches!(&error, FetchError::Encoding { encoding, .. } if encoding == "gzip"), "{error}");
        assert_eq!(downloader().fetch(server.get("/identity"), 10).await.unwrap().body, "x");
        assert!(downloader().fetch(server.get("/missing"), 10).await.unwrap().body.is_empty());
        downloader().fetch(Fetch::head(server.url("/")), 10).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn offline_request_opens_no_connection() {
    within_limit(async {
        let server = Server::start(|_| Reply::ok("")).await;
        let downloader = downloader_with(DownloaderOptions { network: NetworkAccess::Offline, ..options() });
        let mut url = server.url("/x?token=secret");
        url.set_password(Some("secret")).unwrap();
        let error = downloader.fetch(Fetch::get(url), 10).await.unwrap_err();
        assert!(matches!(error, FetchError::Offline { .. }), "{error}");
        assert_eq!(error.url(), format!("http://{}/x?token=***", server.address));
        assert_eq!(server.connections(), 0);
    })
    .await;
}

#[tokio::test]
async fn urls_that_cannot_be_requested_are_errors() {
    within_limit(async {
        for url in ["ftp://a.example/", "file:///etc/passwd", "data:x"] {
            let fetch = Fetch::get(url::Url::parse(url).unwrap());
            let error = downloader().fetch(fetch, 10).await.unwrap_err();
            assert!(matches!(error, FetchError::Invalid { .. }), "{url}: {error}");
        }
        let server = Server::start(|_| Reply::ok("")).await;
        let fetch = server.get("/").authorization(Authorization::bearer("sec\nret"));
        let error = downloader().fetch(fetch, 10).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("ret\""), "{error:?}");
        assert!(matches!(error, FetchError::Invalid { .. }), "{error}");
        assert_eq!(server.connections(), 0);
    })
    .await;
}

#[tokio::test]
async fn at_most_six_requests_are_sent_to_one_server() {
    within_limit(async {
        let (current, highest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let barrier = Arc::new(Barrier::new(6));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let counters = (Arc::clone(&current), Arc::clone(&highest));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (current, highest) = (Arc::clone(&counters.0), Arc::clone(&counters.1));
                let barrier = Arc::clone(&barrier);
                tokio::spawn(async move {
                    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                    let mut buffer = [0; 4096];
                    assert!(stream.read(&mut buffer).await.unwrap() > 0);
                    highest.fetch_max(current.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    // Each response waits until six requests are open.
                    barrier.wait().await;
                    current.fetch_sub(1, Ordering::SeqCst);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                });
            }
        });
        let downloader = downloader();
        let url = url::Url::parse(&format!("http://{address}/")).unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..18 {
            let (downloader, url) = (downloader.clone(), url.clone());
            tasks.spawn(async move {
                // The server closes each connection, so each request needs its own connection.
                let close = (header::CONNECTION, HeaderValue::from_static("close"));
                downloader.fetch(Fetch::get(url).header(close.0, close.1), 10).await
            });
        }
        while let Some(result) = tasks.join_next().await {
            result.unwrap().unwrap();
        }
        assert_eq!(highest.load(Ordering::SeqCst), 6);
    })
    .await;
}

#[tokio::test]
async fn requests_are_sent_through_the_proxy() {
    within_limit(async {
        let proxy = Server::start(|_| Reply::ok("from the proxy")).await;
        let address = format!("http://me:secret@{}", proxy.address);
        let proxies =
            ProxySettings::from_variables(|name| (name == "http_proxy").then(|| address.clone())).unwrap();
        let downloader = downloader_with(DownloaderOptions { proxies, ..options() });
        let url = url::Url::parse("http://registry.example/x").unwrap();
        let fetched = downloader.fetch(Fetch::get(url), 100).await.unwrap();
        assert_eq!(fetched.body, "from the proxy");
        let [request] = &proxy.received()[..] else { panic!() };
        assert_eq!(request.line(), "GET http://registry.example/x");
        assert_eq!(request.header("proxy-authorization"), Some("Basic bWU6c2VjcmV0"));
    })
    .await;
}

/// Collects log lines.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_contain_requests_but_no_secrets() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // If another test emits an event first, a subscriber of this thread alone does not receive it later.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    tracing::callsite::rebuild_interest_cache();
    within_limit(async {
        let server = Server::start(|request| match request.index {
            0 => Reply::redirect("/next?sig=s3cret"),
            1 => Reply::new(503, "", "s3cret"),
            2 => Reply::redirect("/next?sig=s3cret"),
            _ => Reply::ok("s3cret"),
        })
        .await;
        let mut url = server.url("/first?token=s3cret");
        url.set_password(Some("s3cret")).unwrap();
        let fetch = Fetch::get(url).authorization(Authorization::bearer("s3cret"));
        downloader().fetch(fetch, 10).await.unwrap();
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(log.contains("/next?sig=***") && log.contains("retrying a request"), "{log}");
        assert!(!log.contains("s3cret"), "{log}");
    })
    .await;
}
