//! Packages on web servers: archives, checksums, and pages that refer to another location.

use std::fs;

use wardian_modules::InstallMode;

use crate::fixture::{Fixture, files};
use crate::repositories::{Repository, has_program, tar, write_file, zip};
use crate::server::{Answer, Server};

const MD5: &str = "md5";

struct Web {
    fixture: Fixture,
    server: Server,
}

impl Web {
    async fn new() -> Self {
        let mut fixture = Fixture::new();
        fixture.settings.mode = InstallMode::Upgrade;
        let server = Server::start().await;
        server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", "zip"), ("sub/main.tf", "sub")])));
        server
            .answer("/top.zip", Answer::bytes(zip(&[("top-1/main.tf", "top"), ("top-1/sub/main.tf", "x")])));
        Self { fixture, server }
    }

    /// Installs a path of the server. Returns the content of `main.tf` in the module's directory.
    async fn install(&mut self, path: &str) -> String {
        let source = self.server.url(path);
        let installed = self.fixture.install(&source).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        fs::read_to_string(self.fixture.root().join(installed.directory).join("main.tf")).unwrap()
    }

    async fn failure(&mut self, path: &str) -> String {
        let source = self.server.url(path);
        let (summary, detail) = Fixture::failure(self.fixture.install(&source).await);
        assert_eq!(summary, "Failed to download module", "{path}");
        detail
    }

    /// Returns the digest of `m.zip` that a program such as `sha256sum` computes.
    fn digest(&self, algorithm: &str) -> String {
        let path = self.fixture.path("m.zip");
        fs::write(&path, zip(&[("main.tf", "zip"), ("sub/main.tf", "sub")])).unwrap();
        let output = crate::repositories::run(&format!("{algorithm}sum"), &self.fixture.path(""), &["m.zip"]);
        output.split(' ').next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn archives_are_recognized_by_suffix_or_argument() {
    let mut web = Web::new().await;
    assert_eq!(web.install("/m.zip").await, "zip");
    assert_eq!(web.install("/m.zip//sub").await, "sub");
    assert_eq!(web.install("/top.zip//*").await, "top");
    assert_eq!(web.server.take_lines(), ["GET /m.zip", "GET /m.zip", "GET /top.zip"]);
    web.server.answer("/plain", Answer::bytes(zip(&[("main.tf", "plain")])));
    assert_eq!(web.install("/plain?archive=zip&x=1").await, "plain");
    assert_eq!(web.server.take_lines(), ["GET /plain?x=1"]);
    web.server.answer("/moved.zip", Answer::status(302).header("Location", "/m.zip"));
    assert_eq!(web.install("/moved.zip").await, "zip");
    if !has_program("tar") {
        return;
    }
    let directory = web.fixture.path("tree");
    write_file(&directory.join("main.tf"), "tar");
    for (suffix, option) in [
        ("tar.gz", "--gzip"),
        ("tgz", "--gzip"),
        ("tar.bz2", "--bzip2"),
        ("tbz2", "--bzip2"),
        ("tar.xz", "--xz"),
        ("txz", "--xz"),
    ] {
        web.server.answer(&format!("/m.{suffix}"), Answer::bytes(tar(&directory, option)));
        assert_eq!(web.install(&format!("/m.{suffix}")).await, "tar", "{suffix}");
    }
}

#[tokio::test]
async fn archive_must_match_its_checksum() {
    let mut web = Web::new().await;
    let sha256 = web.digest("sha256");
    for algorithm in [MD5, "sha1", "sha256", "sha512"] {
        let digest = web.digest(algorithm);
        for checksum in [format!("{algorithm}:{digest}"), digest.clone(), digest.to_uppercase()] {
            assert_eq!(web.install(&format!("/m.zip?checksum={checksum}")).await, "zip", "{checksum}");
        }
        let wrong = "0".repeat(digest.len());
        let detail = web.failure(&format!("/m.zip?checksum={algorithm}:{wrong}")).await;
        assert!(detail.contains(&wrong) && detail.contains(&digest), "{detail}");
    }
    let list = |name: &str| format!("checksum=file:{}", web.server.url(name));
    let (gnu, bsd, other, missing) = (list("/GNU"), list("/BSD"), list("/OTHER"), list("/MISSING"));
    web.server.answer("/GNU", Answer::bytes(format!("{sha256}  m.zip\n")));
    web.server.answer("/BSD", Answer::bytes(format!("SHA256 (m.zip) = {sha256}\n")));
    web.server.answer("/OTHER", Answer::bytes(format!("{sha256}  other.zip\n")));
    assert_eq!(web.install(&format!("/m.zip?{gnu}")).await, "zip");
    assert_eq!(web.install(&format!("/m.zip?{bsd}")).await, "zip");
    assert!(web.failure(&format!("/m.zip?{other}")).await.contains("no digest of the file \"m.zip\""));
    assert!(web.failure(&format!("/m.zip?{missing}")).await.contains("404"));
    assert!(web.failure("/m.zip?checksum=file:./x").await.contains("not an http or https URL"));
    for bad in ["md5:0", "foo:00", "sha256:zz"] {
        assert!(web.failure(&format!("/m.zip?checksum={bad}")).await.contains("is not a checksum"));
    }
    let page = format!("/page?checksum=md5:{}", "0".repeat(32));
    assert!(web.failure(&page).await.contains("only for an archive"));
}

#[tokio::test]
async fn archive_with_a_checksum_is_fetched_once() {
    let mut web = Web::new().await;
    let path = format!("/m.zip?checksum=sha256:{}", web.digest("sha256"));
    web.install(&path).await;
    web.server.take_lines();
    web.fixture.settings.root = "other";
    web.install(&path).await;
    assert_eq!(web.server.take_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn location_in_response_selects_the_package() {
    let mut web = Web::new().await;
    let archive = web.server.url("/m.zip");
    let top = web.server.url("/top.zip");
    web.server.answer("/header", Answer::location(&archive));
    web.server.answer("/inner", Answer::location(&format!("{top}//top-1")));
    web.server.answer("/pattern", Answer::location(&format!("{top}//*")));
    web.server.answer("/again", Answer::location(&web.server.url("/header")));
    web.server
        .answer("/meta", Answer::bytes(format!("<head><meta name=\"terraform-get\" content=\"{archive}\">")));
    assert_eq!(web.install("/header").await, "zip");
    assert_eq!(web.server.take_lines(), ["GET /header?terraform-get=1", "GET /m.zip"]);
    assert_eq!(web.install("/header//sub").await, "sub");
    // A subdirectory in the location becomes the root of the package.
    assert_eq!(web.install("/inner").await, "top");
    assert_eq!(web.install("/pattern").await, "top");
    assert_eq!(web.install("/pattern//sub").await, "x");
    assert_eq!(web.install("/again").await, "zip");
    assert_eq!(web.install("/meta").await, "zip");
    assert_eq!(
        web.fixture.manifest(),
        format!(
            "{{\"Modules\":[{{\"Key\":\"\",\"Source\":\"\",\"Dir\":\".\"}},{{\"Key\":\"m\",\"Source\":\"{}\",\
             \"Dir\":\".terraform/modules/m\"}}]}}",
            web.server.url("/meta")
        )
    );
}

#[tokio::test]
async fn location_in_response_may_be_a_repository() {
    let mut web = Web::new().await;
    let repository = Repository::new(&web.fixture.path("repositories/r"));
    repository.write("main.tf", "git");
    let commit = repository.commit();
    web.server.serve_repositories(&web.fixture.path("repositories"));
    web.server.answer("/page", Answer::location(&format!("git::{}", web.server.url("/git/r"))));
    let source = web.server.url("/page");
    let installed = web.fixture.install(&source).await.unwrap();
    assert_eq!(installed.pin.unwrap().commit.unwrap().as_str(), commit);
}

#[tokio::test]
async fn local_locations_from_servers_are_rejected() {
    let mut web = Web::new().await;
    let local = web.fixture.path("local");
    write_file(&local.join("main.tf"), "secret");
    let repository = Repository::new(&web.fixture.path("r"));
    repository.write("main.tf", "secret");
    repository.commit();
    let (local, repository) = (local.display(), repository.path.display());
    for (location, expected) in [
        (format!("file://{local}"), "which is on this machine"),
        (format!("{local}"), "which is on this machine"),
        (format!("git::file://{repository}"), "which is on this machine"),
        ("git::ext::sh -c x".to_owned(), "cannot fetch a URL with the scheme 'ext'"),
        ("git::https://a.example/r?ref=--upload-pack=x".to_owned(), "must not begin with a dash"),
        ("./m.zip".to_owned(), "the server referred to \"./m.zip\""),
        ("a/b/c".to_owned(), "the server referred to \"a/b/c\""),
        ("foo::bar".to_owned(), "the server referred to \"foo::bar\""),
        (format!("{}//../x", web.server.url("/m.zip")), "points outside the module package"),
        (String::new(), "no source URL was returned"),
        (web.server.url("/missing.zip"), "404"),
    ] {
        web.server.answer("/page", Answer::location(&location));
        let detail = web.failure("/page").await;
        assert!(detail.contains(expected), "{location}: {detail}");
        web.fixture.assert_nothing_installed();
    }
    web.server.answer("/loop", Answer::location(&web.server.url("/loop")));
    assert!(web.failure("/loop").await.contains("more than 10 consecutive X-Terraform-Get redirects"));
    assert_eq!(web.server.take_lines().iter().filter(|line| line.contains("/loop")).count(), 11);
}

#[tokio::test]
async fn credentials_are_sent_but_not_shown() {
    let mut web = Web::new().await;
    let port = web.server.port;
    let with_user = format!("http://me:s3cret@127.0.0.1:{port}/m.zip");
    let installed = web.fixture.install(&with_user).await.unwrap();
    let authorization =
        |web: &Web| web.server.received().pop().unwrap().headers.get("authorization").cloned();
    assert_eq!(authorization(&web).as_deref(), Some("Basic bWU6czNjcmV0"));
    assert!(
        !format!("{installed:?} {:?}", web.fixture.take_lines())
            .replace(&installed.source, "")
            .contains("s3cret")
    );
    assert_eq!(installed.pin.unwrap().package, web.server.url("/m.zip"));
    web.fixture.settings.netrc = format!("machine 127.0.0.1:{port} login me password s3cret");
    web.install("/m.zip").await;
    assert_eq!(authorization(&web).as_deref(), Some("Basic bWU6czNjcmV0"));
    let missing = format!("http://me:s3cret@127.0.0.1:{port}/missing.zip?token=s3cret");
    let (_, detail) = Fixture::failure(web.fixture.install(&missing).await);
    assert!(!detail.contains("s3cret"), "{detail}");
}

#[tokio::test]
async fn local_archives_are_unpacked() {
    let mut fixture = Fixture::new();
    let path = fixture.path("m.zip");
    fs::write(&path, zip(&[("main.tf", "x")])).unwrap();
    let installed = fixture.install(&path.display().to_string()).await.unwrap();
    assert_eq!(files(&fixture.module("m")).len(), 1);
    assert_eq!(installed.source, format!("file://{}", path.display()));
    let (_, detail) = Fixture::failure(fixture.install("/nonexistent/m.zip").await);
    assert!(detail.contains("source path error: /nonexistent/m.zip"), "{detail}");
}
