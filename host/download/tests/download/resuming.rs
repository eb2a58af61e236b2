//! Interrupted downloads.

use std::fs;
use std::sync::Arc;

use tokio::sync::Notify;
use wardian_download::{DownloadObserver, DownloaderOptions, FetchError};

use crate::files::Fixture;
use crate::server::{Next, Received, Reply, Server, downloader, downloader_with, options, within_limit};

const CONTENT: &[u8] = b"0123456789";

/// Returns a response with the requested part of the content.
fn part(request: &Received, tag: &str) -> Reply {
    let range = request.header("range").unwrap();
    let start: usize = range.strip_prefix("bytes=").unwrap().strip_suffix('-').unwrap().parse().unwrap();
    let headers = format!("etag: {tag}\r\ncontent-range: bytes {start}-9/10\r\n");
    Reply::new(206, &headers, &CONTENT[start..])
}

#[tokio::test]
async fn missing_bytes_are_requested_with_the_validator() {
    within_limit(async {
        for (header, validator) in [
            ("etag: \"1\"\r\n", "\"1\""),
            ("last-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Sun, 06 Nov 1994 08:49:37 GMT"),
            (
                "etag: W/\"1\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                "Sun, 06 Nov 1994 08:49:37 GMT",
            ),
        ] {
            let server = Server::start(move |request| match request.index {
                0 => Reply::broken(200, header, 10, &CONTENT[..4]),
                1 => {
                    let headers = format!("{header}content-range: bytes 4-9/10\r\n");
                    Reply::broken(206, &headers, 6, &CONTENT[4..7])
                }
                _ => Reply::new(206, &format!("{header}content-range: bytes 7-9/10\r\n"), &CONTENT[7..]),
            })
            .await;
            let fixture = Fixture::new(Some(CONTENT));
            let downloaded = fixture.download(&downloader(), server.get("/")).await.unwrap();
            assert_eq!((downloaded.size, &fixture.content()[..]), (10, CONTENT));
            let received = server.received();
            let sent: Vec<_> = received
                .iter()
                .map(|request| (request.header("range"), request.header("if-range")))
                .collect();
            let expected =
                [(None, None), (Some("bytes=4-"), Some(validator)), (Some("bytes=7-"), Some(validator))];
            assert_eq!(sent, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn download_without_digest_or_validator_restarts() {
    within_limit(async {
        for (header, expected) in
            [("etag: \"1\"\r\n", None), ("", Some(CONTENT)), ("etag: W/\"1\"\r\n", Some(CONTENT))]
        {
            let server = Server::start(move |request| match request.index {
                0 => Reply::broken(200, header, 10, &CONTENT[..4]),
                _ => Reply::new(200, header, CONTENT),
            })
            .await;
            let fixture = Fixture::new(expected);
            fixture.download(&downloader(), server.get("/")).await.unwrap();
            assert_eq!(fixture.content(), CONTENT);
            assert!(server.received().iter().all(|request| request.header("range").is_none()));
        }
    })
    .await;
}

#[tokio::test]
async fn changed_file_is_downloaded_from_the_start() {
    within_limit(async {
        type Respond = fn(&Received) -> Reply;
        let cases: [(&str, Respond); 4] = [
            ("the whole new file", |_| Reply::new(200, "etag: \"2\"\r\n", CONTENT)),
            ("a part of the new file, although If-Range names the old one", |request| {
                match request.header("range") {
                    Some(_) => part(request, "\"2\""),
                    None => Reply::new(200, "etag: \"2\"\r\n", CONTENT),
                }
            }),
            ("another range", |request| match request.header("range") {
                Some(_) => Reply::new(206, "etag: \"1\"\r\ncontent-range: bytes 0-9/10\r\n", CONTENT),
                None => Reply::new(200, "etag: \"1\"\r\n", CONTENT),
            }),
            ("no range", |request| match request.header("range") {
                Some(_) => Reply::new(416, "content-range: bytes */10\r\n", ""),
                None => Reply::new(200, "etag: \"2\"\r\n", CONTENT),
            }),
        ];
        for (case, respond) in cases {
            let server = Server::start(move |request| match request.index {
                0 => Reply::broken(200, "etag: \"1\"\r\n", 10, b"old."),
                _ => respond(request),
            })
            .await;
            let fixture = Fixture::new(Some(CONTENT));
            fixture.download(&downloader(), server.get("/")).await.unwrap();
            assert_eq!(fixture.content(), CONTENT, "{case}");
            assert_eq!(server.received()[1].header("if-range"), Some("\"1\""), "{case}");
            assert_eq!(fixture.names(), ["package.zip"], "{case}");
        }
    })
    .await;
}

#[tokio::test]
async fn file_joined_from_different_versions_is_downloaded_again_once() {
    within_limit(async {
        // The server changes the file but not its validator.
        let server = Server::start(|request| match request.index {
            0 => Reply::broken(200, "etag: \"1\"\r\n", 10, b"old."),
            1 => part(request, "\"1\""),
            _ => Reply::new(200, "etag: \"1\"\r\n", CONTENT),
        })
        .await;
        let fixture = Fixture::new(Some(CONTENT));
        fixture.download(&downloader(), server.get("/")).await.unwrap();
        assert_eq!((fixture.content(), server.lines().len()), (CONTENT.to_vec(), 3));

        let server = Server::start(|request| match request.header("range") {
            None => Reply::broken(200, "etag: \"1\"\r\n", 10, b"old."),
            Some(_) => part(request, "\"1\""),
        })
        .await;
        let fixture = Fixture::new(Some(CONTENT));
        let error = fixture.download(&downloader(), server.get("/")).await.unwrap_err();
        assert!(matches!(error, FetchError::DigestMismatch { .. }), "{error}");
        assert!(fixture.names().is_empty());
    })
    .await;
}

#[tokio::test]
async fn server_that_rejects_every_range_is_an_error() {
    within_limit(async {
        let server = Server::start(|request| match request.header("range") {
            None => Reply::broken(200, "etag: \"1\"\r\n", 10, &CONTENT[..4]),
            Some(_) => Reply::new(416, "", ""),
        })
        .await;
        let fixture = Fixture::new(Some(CONTENT));
        let error = fixture.download(&downloader(), server.get("/")).await.unwrap_err();
        assert!(matches!(error, FetchError::Invalid { .. }), "{error}");
        assert!(fixture.names().is_empty());
    })
    .await;
}

/// Reports that bytes were received.
struct Arrival(Arc<Notify>);

impl DownloadObserver for Arrival {
    fn advanced(&self, _label: &str, bytes: u64) {
        if bytes > 0 {
            self.0.notify_one();
        }
    }
}

#[tokio::test]
async fn cancelled_download_is_resumed_by_the_next_process() {
    within_limit(async {
        let server = Server::start(|request| match request.header("range") {
            None => Reply::raw(
                [b"HTTP/1.1 200 OK\r\netag: \"1\"\r\ncontent-length: 10\r\n\r\n", &CONTENT[..4]].concat(),
                Next::Hang,
            ),
            Some(_) => part(request, "\"1\""),
        })
        .await;
        let arrived = Arc::new(Notify::new());
        let observer = Arc::new(Arrival(Arc::clone(&arrived)));
        let first = downloader_with(DownloaderOptions { observer, ..options() });
        let fixture = Arc::new(Fixture::new(Some(CONTENT)));
        let download = {
            let (fixture, fetch) = (Arc::clone(&fixture), server.get("/"));
            tokio::spawn(async move { fixture.download(&first, fetch).await.map(drop) })
        };
        arrived.notified().await;
        download.abort();
        assert!(download.await.unwrap_err().is_cancelled());
        // The writing thread ends shortly after the download; then the file is unlocked.
        let part_path = fixture.path().with_file_name("package.zip.part");
        while fs::metadata(&part_path).unwrap().len() != 4
            || fs::File::open(&part_path).unwrap().try_lock().is_err()
        {
            tokio::task::yield_now().await;
        }
        assert_eq!(fixture.names(), ["package.zip.part", "package.zip.part.validator"]);
        fixture.download(&downloader(), server.get("/")).await.unwrap();
        assert_eq!(fixture.content(), CONTENT);
        assert_eq!(fixture.names(), ["package.zip"]);
        assert_eq!(server.received()[1].header("range"), Some("bytes=4-"));
    })
    .await;
}

#[tokio::test]
async fn cancelled_download_without_digest_leaves_no_files() {
    within_limit(async {
        let server = Server::start(|_| {
            Reply::raw("HTTP/1.1 200 OK\r\netag: \"1\"\r\ncontent-length: 10\r\n\r\n0123", Next::Hang)
        })
        .await;
        let arrived = Arc::new(Notify::new());
        let observer = Arc::new(Arrival(Arc::clone(&arrived)));
        let first = downloader_with(DownloaderOptions { observer, ..options() });
        let fixture = Arc::new(Fixture::new(None));
        let download = {
            let (fixture, fetch) = (Arc::clone(&fixture), server.get("/"));
            tokio::spawn(async move { fixture.download(&first, fetch).await.map(drop) })
        };
        arrived.notified().await;
        download.abort();
        assert!(download.await.unwrap_err().is_cancelled());
        while !fixture.names().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn failed_download_is_resumed_by_the_next_process() {
    within_limit(async {
        let server = Server::start(|request| match request.header("range") {
            None => Reply::broken(200, "etag: \"1\"\r\n", 10, &CONTENT[..4]),
            Some(_) if request.index < 3 => Reply::new(500, "", ""),
            Some(_) => part(request, "\"1\""),
        })
        .await;
        let fixture = Fixture::new(Some(CONTENT));
        let error = fixture.download(&downloader(), server.get("/").retries(0)).await.unwrap_err();
        assert!(matches!(error, FetchError::Interrupted { .. }), "{error}");
        let error = fixture.download(&downloader(), server.get("/").retries(1)).await.unwrap_err();
        assert!(matches!(error, FetchError::Status { .. }), "{error}");
        fixture.download(&downloader(), server.get("/")).await.unwrap();
        assert_eq!(fixture.content(), CONTENT);
        let ranges: Vec<_> =
            server.received().iter().map(|request| request.header("range").map(str::to_owned)).collect();
        assert_eq!(ranges[1..], vec![Some("bytes=4-".to_owned()); 3]);
    })
    .await;
}

#[tokio::test]
async fn complete_partial_file_is_not_requested_again() {
    within_limit(async {
        let server = Server::start(|_| Reply::new(500, "", "")).await;
        let fixture = Fixture::new(Some(CONTENT));
        let record = format!("{}\n\"1\"\n", fixture.expected.unwrap());
        fs::write(fixture.path().with_file_name("package.zip.part"), CONTENT).unwrap();
        fs::write(fixture.path().with_file_name("package.zip.part.validator"), record).unwrap();
        let downloaded = fixture.download(&downloader(), server.get("/")).await.unwrap();
        assert_eq!((downloaded.size, downloaded.url), (10, server.url("/")));
        assert_eq!(fixture.content(), CONTENT);
        assert_eq!(fixture.names(), ["package.zip"]);
        assert_eq!(server.connections(), 0);
    })
    .await;
}
