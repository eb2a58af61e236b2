//! Redirects to the same server, to other servers and in cycles.

use http::header::{self, HeaderValue};
use wardian_download::{Authorization, DownloaderOptions, Fetch, FetchError, RedirectProblem, Target};

use crate::server::{Received, Reply, Server, downloader, downloader_with, options, within_limit};

fn problem(error: FetchError) -> RedirectProblem {
    match error {
        FetchError::Redirect { problem, .. } => problem,
        error => panic!("{error}"),
    }
}

#[tokio::test]
async fn redirects_are_followed() {
    within_limit(async {
        let server = Server::start(|request| match request.line() {
            "GET /a/b" => Reply::new(301, "location: ../c?d=e\r\n", "moved".repeat(50_000)),
            "GET /c?d=e" => Reply::new(307, "location: /f#g\r\n", ""),
            _ => Reply::ok("found"),
        })
        .await;
        let fetched = downloader().fetch(server.get("/a/b"), 10).await.unwrap();
        assert_eq!((fetched.body.as_ref(), &fetched.url), (b"found".as_slice(), &server.url("/f")));
        assert_eq!(server.lines(), ["GET /a/b", "GET /c?d=e", "GET /f"]);
        // A redirect without a location is returned like any other response.
        let odd = Server::start(|_| Reply::new(302, "", "")).await;
        assert_eq!(downloader().fetch(odd.get("/"), 10).await.unwrap().status, 302);
    })
    .await;
}

#[tokio::test]
async fn loops_and_long_chains_are_errors() {
    within_limit(async {
        let server = Server::start(|request| match request.line() {
            "GET /self" => Reply::redirect("/self?"),
            "GET /self?" => Reply::redirect("/self"),
            line => Reply::redirect(&format!("{}1", line.trim_start_matches("GET "))),
        })
        .await;
        let error = downloader().fetch(server.get("/self"), 10).await.unwrap_err();
        assert_eq!(problem(error), RedirectProblem::Loop(server.url("/self").to_string()));
        assert_eq!(server.lines().len(), 2, "it is not repeated");
        let error = downloader().fetch(server.get("/"), 10).await.unwrap_err();
        assert_eq!(problem(error), RedirectProblem::TooMany(5));
        assert_eq!(server.lines().len(), 8);
        let error = downloader().fetch(server.get("/").redirects(0), 10).await.unwrap_err();
        assert_eq!(problem(error), RedirectProblem::TooMany(0));
    })
    .await;
}

#[tokio::test]
async fn credentials_are_not_sent_to_another_server() {
    within_limit(async {
        let other = Server::start(|_| Reply::ok("other")).await;
        let (secure, roots) = Server::start_secure(|_| Reply::ok("secure")).await;
        let (to_other, to_secure) = (other.url("/").to_string(), secure.url("/").to_string());
        let first = Server::start(move |request: &Received| match request.line() {
            "GET /other" => Reply::redirect(&to_other),
            "GET /secure" => Reply::redirect(&to_secure),
            "GET /same" => Reply::redirect("/end"),
            _ => Reply::ok("first"),
        })
        .await;
        let downloader = downloader_with(DownloaderOptions { roots, ..options() });
        for path in ["/other", "/secure", "/same"] {
            let fetch = first
                .get(path)
                .authorization(Authorization::bearer("token"))
                .header(header::COOKIE, HeaderValue::from_static("c=1"))
                .header(header::ACCEPT, HeaderValue::from_static("text/plain"));
            downloader.fetch(fetch, 10).await.unwrap();
        }
        for server in [&other, &secure] {
            let [request] = &server.received()[..] else { panic!("{:?}", server.received()) };
            assert_eq!((request.header("authorization"), request.header("cookie")), (None, None));
            assert_eq!(request.header("accept"), Some("text/plain"));
        }
        for request in first.received() {
            assert_eq!(request.header("authorization"), Some("Bearer token"), "{}", request.line());
        }
    })
    .await;
}

#[tokio::test]
async fn redirect_from_https_to_http_is_an_error() {
    within_limit(async {
        let plain = Server::start(|_| Reply::ok("")).await;
        let location = plain.url("/x?token=secret").to_string();
        let (secure, roots) = Server::start_secure(move |_| Reply::redirect(&location)).await;
        let downloader = downloader_with(DownloaderOptions { roots, ..options() });
        let expected = RedirectProblem::Downgrade(format!("http://{}/x?token=***", plain.address));
        let error = downloader.fetch(secure.get("/"), 10).await.unwrap_err();
        assert_eq!(problem(error), expected);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let target = Target { path: &path, expected: None, max_bytes: 10, size: None, label: "file" };
        let error = downloader.download(secure.get("/"), target).await.unwrap_err();
        assert_eq!(problem(error), expected);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        assert_eq!(plain.connections(), 0);
    })
    .await;
}

#[tokio::test]
async fn private_certificate_authorities_are_used() {
    within_limit(async {
        let (server, roots) = Server::start_secure(|_| Reply::ok("secure")).await;
        let trusting = downloader_with(DownloaderOptions { roots, ..options() });
        assert_eq!(trusting.fetch(server.get("/"), 10).await.unwrap().body, "secure");
        let connections = server.connections();
        let error = downloader().fetch(Fetch::get(server.url("/")), 10).await.unwrap_err();
        assert!(matches!(error, FetchError::Tls { .. }) && error.is_unreachable(), "{error}");
        assert!(error.to_string().contains("SSL_CERT_FILE"), "{error}");
        assert_eq!(server.connections(), connections + 1, "it is not retried");
    })
    .await;
}
