//! Downloads to files, and the files that remain after failed downloads.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wardian_digest::Sha256Digest;
use wardian_download::{
    DownloadObserver, Downloaded, Downloader, DownloaderOptions, Fetch, FetchError, NetworkAccess, Target,
};

use crate::server::{Next, Reply, Server, downloader, downloader_with, options, within_limit};

pub const LIMIT: u64 = 1 << 20;

/// A directory with the target of a download.
pub struct Fixture {
    directory: tempfile::TempDir,
    pub expected: Option<Sha256Digest>,
    pub size: Option<u64>,
}

impl Fixture {
    pub fn new(expected: Option<&[u8]>) -> Self {
        let expected = expected.map(Sha256Digest::hash);
        Self { directory: tempfile::tempdir().unwrap(), expected, size: None }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("package.zip")
    }

    pub async fn download(&self, downloader: &Downloader, fetch: Fetch) -> Result<Downloaded, FetchError> {
        let path = self.path();
        let target = Target {
            path: &path,
            expected: self.expected,
            max_bytes: LIMIT,
            size: self.size,
            label: "package",
        };
        downloader.download(fetch, target).await
    }

    pub fn content(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    /// Returns the names of the files in the directory.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn file_is_written_and_verified() {
    within_limit(async {
        let content = b"content".repeat(10_000);
        let served = content.clone();
        let server = Server::start(move |request| match request.line() {
            "GET /old" => Reply::redirect("/new"),
            "GET /unsized" => Reply::until_close(&served),
            _ => Reply::ok(&served),
        })
        .await;
        for (path, expected, size) in [
            ("/old", Some(&content[..]), Some(content.len() as u64)),
            ("/new", None, None),
            ("/unsized", None, Some(content.len() as u64)),
            ("/unsized", Some(&content[..]), None),
        ] {
            let fixture = Fixture { size, ..Fixture::new(expected) };
            fs::write(fixture.path(), "previous").unwrap();
            let downloaded = fixture.download(&downloader(), server.get(path)).await.unwrap();
            assert_eq!(downloaded.sha256, Sha256Digest::hash(&content));
            assert_eq!(downloaded.size, content.len() as u64);
            let end = if path == "/old" { "/new" } else { path };
            assert_eq!(downloaded.url, server.url(end));
            assert!(fixture.content() == content);
            assert_eq!(fixture.names(), ["package.zip"]);
        }
        let empty = Server::start(|_| Reply::ok("")).await;
        let fixture = Fixture { size: Some(0), ..Fixture::new(Some(b"")) };
        fixture.download(&downloader(), empty.get("/")).await.unwrap();
        assert!(fixture.content().is_empty());
    })
    .await;
}

#[tokio::test]
async fn failed_download_leaves_the_previous_file() {
    within_limit(async {
        let server = Server::start(|request| match request.line() {
            "GET /missing" => Reply::new(404, "", "no such file"),
            "GET /gone" => Reply::new(410, "", ""),
            "GET /forbidden" => Reply::new(403, "", ""),
            "GET /partial" => Reply::new(206, "content-range: bytes 0-6/7\r\n", "content"),
            "GET /empty" => Reply::new(204, "", ""),
            "GET /compressed" => Reply::new(200, "content-encoding: br\r\n", "content"),
            "GET /broken" => Reply::broken(200, "", 10, "four"),
            "GET /long" => Reply::new(200, "etag: \"1\"\r\n", "content and more"),
            _ => Reply::new(200, "etag: \"1\"\r\n", "another"),
        })
        .await;
        for path in [
            "/missing",
            "/gone",
            "/forbidden",
            "/partial",
            "/empty",
            "/compressed",
            "/broken",
            "/long",
            "/another",
        ] {
            let fixture = Fixture { size: Some(7), ..Fixture::new(Some(b"content")) };
            fs::write(fixture.path(), "previous").unwrap();
            let error = fixture.download(&downloader(), server.get(path)).await.unwrap_err();
            match (path, &error) {
                ("/missing" | "/gone", FetchError::Status { .. }) => assert!(error.is_not_found()),
                ("/forbidden" | "/partial" | "/empty", FetchError::Status { .. }) => {
                    assert!(!error.is_not_found());
                }
                ("/compressed", FetchError::Encoding { .. })
                | ("/broken" | "/long", FetchError::SizeMismatch { expected: 7, .. })
                | ("/another", FetchError::DigestMismatch { .. }) => {}
                _ => panic!("{path}: {error}"),
            }
            assert_eq!(error.url(), server.url(path).as_str());
            assert_eq!(fixture.content(), b"previous", "{path}");
            assert_eq!(fixture.names(), ["package.zip"], "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn size_is_checked_while_the_body_is_received() {
    within_limit(async {
        let endless = || Next::Repeat(vec![b'x'; 100_000], Duration::ZERO);
        let server = Server::start(move |request| match request.line() {
            "GET /endless" => Reply::raw("HTTP/1.1 200 OK\r\netag: \"1\"\r\n\r\n", endless()),
            "GET /huge" => Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n", Next::Hang),
            _ => Reply::until_close("short"),
        })
        .await;
        let fixture = Fixture::new(None);
        for path in ["/endless", "/huge"] {
            let error = fixture.download(&downloader(), server.get(path)).await.unwrap_err();
            assert!(matches!(error, FetchError::TooLarge { limit: LIMIT, .. }), "{path}: {error}");
        }
        let fixture = Fixture { size: Some(100_000), ..Fixture::new(Some(b"content")) };
        for path in ["/endless", "/huge"] {
            let error = fixture.download(&downloader(), server.get(path)).await.unwrap_err();
            assert!(
                matches!(error, FetchError::SizeMismatch { expected: 100_000, found, .. } if found > 100_000),
                "{path}: {error}"
            );
        }
        assert_eq!(server.lines().len(), 4, "a file that is too large is not requested again");
        let error = fixture.download(&downloader(), server.get("/short")).await.unwrap_err();
        assert!(matches!(error, FetchError::SizeMismatch { expected: 100_000, found: 5, .. }), "{error}");
        assert_eq!(server.lines().len(), 8, "the connection may have been lost");
        assert!(fixture.names().is_empty());
    })
    .await;
}

#[tokio::test]
async fn stalled_download_times_out() {
    within_limit(async {
        let server =
            Server::start(|_| Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour", Next::Hang))
                .await;
        let fixture = Fixture::new(None);
        let idle = downloader().with_idle_timeout(Duration::from_millis(200));
        let error = fixture.download(&idle, server.get("/").retries(1)).await.unwrap_err();
        assert!(matches!(error, FetchError::Timeout { .. }), "{error}");
        assert_eq!(server.lines().len(), 2);
        assert!(fixture.names().is_empty());
    })
    .await;
}

#[tokio::test]
async fn concurrent_downloads_to_one_path_do_not_interfere() {
    within_limit(async {
        let content: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let served = content.clone();
        let server =
            Server::start(move |_| Reply::new(200, "etag: \"1\"\r\nconnection: close\r\n", &served)).await;
        let fixture = Arc::new(Fixture::new(Some(&content)));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (fixture, fetch) = (Arc::clone(&fixture), server.get("/"));
            // Each downloader is independent of the others, as in another process.
            tasks.spawn(async move { fixture.download(&downloader(), fetch).await.map(drop) });
        }
        while let Some(result) = tasks.join_next().await {
            result.unwrap().unwrap();
        }
        assert!(fixture.content() == content);
        assert_eq!(fixture.names(), ["package.zip"]);
    })
    .await;
}

#[tokio::test]
async fn file_that_cannot_be_written_is_an_error() {
    within_limit(async {
        let server = Server::start(|_| Reply::ok("content")).await;
        let fixture = Fixture::new(None);
        let path = fixture.path().join("missing/file");
        let target = Target { path: &path, expected: None, max_bytes: LIMIT, size: None, label: "x" };
        let error = downloader().download(server.get("/"), target).await.unwrap_err();
        assert!(matches!(error, FetchError::Write { .. }), "{error}");
        assert_eq!(server.connections(), 0);
        // The name of the complete file is the name of a directory.
        fs::create_dir(fixture.path()).unwrap();
        let error = fixture.download(&downloader(), server.get("/")).await.unwrap_err();
        assert!(matches!(&error, FetchError::Write { path, .. } if *path == fixture.path()), "{error}");
        assert_eq!(fixture.names(), ["package.zip"]);
    })
    .await;
}

#[tokio::test]
async fn offline_download_fails() {
    within_limit(async {
        let server = Server::start(|_| Reply::ok("content")).await;
        let offline = downloader_with(DownloaderOptions { network: NetworkAccess::Offline, ..options() });
        let fixture = Fixture::new(None);
        let error = fixture.download(&offline, server.get("/")).await.unwrap_err();
        assert!(matches!(error, FetchError::Offline { .. }), "{error}");
        assert!(fixture.names().is_empty());
        assert_eq!(server.connections(), 0);
    })
    .await;
}

/// Records the calls of an observer.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl DownloadObserver for Recorder {
    fn started(&self, label: &str, size: Option<u64>) {
        self.0.lock().unwrap().push(format!("{label} started {size:?}"));
    }

    fn advanced(&self, _label: &str, bytes: u64) {
        self.0.lock().unwrap().push(bytes.to_string());
    }

    fn finished(&self, label: &str) {
        self.0.lock().unwrap().push(format!("{label} finished"));
    }
}

#[tokio::test]
async fn download_progress_is_reported() {
    within_limit(async {
        let content = b"0123456789";
        let server = Server::start(|request| match (request.line(), request.header("range")) {
            ("GET /missing", _) => Reply::new(404, "", ""),
            (_, None) => Reply::broken(200, "etag: \"1\"\r\n", 10, &content[..4]),
            (_, Some(_)) => Reply::new(206, "content-range: bytes 4-9/10\r\n", &content[4..]),
        })
        .await;
        let recorder = Arc::new(Recorder::default());
        let observer = Arc::clone(&recorder) as Arc<dyn DownloadObserver>;
        let downloader = downloader_with(DownloaderOptions { observer, ..options() });
        let fixture = Fixture::new(Some(content));
        fixture.download(&downloader, server.get("/")).await.unwrap();
        let calls = std::mem::take(&mut *recorder.0.lock().unwrap());
        assert_eq!(calls.first().unwrap(), "package started Some(10)");
        assert_eq!(calls.last().unwrap(), "package finished");
        let bytes: Vec<u64> = calls.iter().filter_map(|call| call.parse().ok()).collect();
        assert!(bytes.is_sorted() && bytes.last() == Some(&10), "{calls:?}");
        // Without a successful response, no progress is reported.
        fixture.download(&downloader, server.get("/missing")).await.unwrap_err();
        assert!(recorder.0.lock().unwrap().is_empty());
    })
    .await;
}
