//! Hostile and broken servers, archives and repositories. Each causes an error that contains the
//! module and the server, and nothing is installed.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use wardian_module_source::ModuleSource;
use wardian_modules::ModuleInstaller;

use crate::fixture::{Fixture, call, within};
use crate::repositories::{Repository, has_program, run, tar, write_file, zip};
use crate::server::{Answer, Server};

async fn failure(fixture: &mut Fixture, source: &str) -> String {
    let (summary, detail) = Fixture::failure(fixture.install(source).await);
    assert_eq!(summary, "Failed to download module", "{detail}");
    assert!(detail.starts_with("Could not download module \"m\" (main.tf:1)"), "{detail}");
    fixture.assert_nothing_installed();
    assert_eq!(fs::read_dir(fixture.path("cache/trees")).unwrap().count(), 0, "{detail}");
    assert_eq!(fs::read_dir(fixture.path("cache/tmp")).unwrap().count(), 0, "{detail}");
    detail
}

#[tokio::test]
async fn archives_that_cannot_be_unpacked_are_rejected() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    for (archive, expected) in [
        (zip(&[("../evil.tf", "x")]), "../evil.tf"),
        (zip(&[("/etc/evil.tf", "x")]), "/etc/evil.tf"),
        (zip(&[("a/../../evil.tf", "x")]), "a/../../evil.tf"),
        (zip(&[("a\\..\\evil.tf", "x")]), "evil.tf"),
        (zip(&[("main.tf", "x"), ("main.tf", "y")]), "twice"),
        (zip(&[("main.tf\u{0}x", "x")]), "main.tf"),
        (zip(&[]), "contains no files"),
        (b"<html>not an archive</html>".to_vec(), "cannot be unpacked"),
        (zip(&[("main.tf", "x")])[..40].to_vec(), "cannot be unpacked"),
        (Vec::new(), "cannot be unpacked"),
    ] {
        server.answer("/m.zip", Answer::bytes(archive));
        let detail = failure(&mut fixture, &server.url("/m.zip")).await;
        assert!(detail.contains(expected), "{expected}: {detail}");
    }
    if !has_program("tar") {
        return;
    }
    for (target, name) in [("/etc/passwd", "absolute"), ("../../outside", "above"), ("../tree", "around")] {
        let tree = fixture.path("tree");
        write_file(&tree.join("main.tf"), "x");
        symlink(target, tree.join(name)).unwrap();
        server.answer("/m.tar.gz", Answer::bytes(tar(&tree, "--gzip")));
        let detail = failure(&mut fixture, &server.url("/m.tar.gz")).await;
        assert!(detail.contains(name), "{detail}");
        fs::remove_dir_all(&tree).unwrap();
    }
    let tree = fixture.path("tree");
    write_file(&tree.join("main.tf"), "x");
    run("mkfifo", &tree, &["pipe"]);
    server.answer("/m.tar.gz", Answer::bytes(tar(&tree, "--gzip")));
    assert!(failure(&mut fixture, &server.url("/m.tar.gz")).await.contains("pipe"));
    fs::remove_file(tree.join("pipe")).unwrap();
    fs::hard_link(tree.join("main.tf"), tree.join("other.tf")).unwrap();
    server.answer("/m.tar.gz", Answer::bytes(tar(&tree, "--gzip")));
    assert!(failure(&mut fixture, &server.url("/m.tar.gz")).await.contains("hard link"));
}

#[tokio::test]
async fn broken_servers_are_reported() {
    let server = Server::start().await;
    server.answer("/truncated.zip", Answer::truncated());
    server.answer("/page", Answer::endless());
    server.answer("/loop.zip", Answer::status(302).header("Location", "/loop.zip"));
    server.answer("/file.zip", Answer::status(302).header("Location", "file:///etc/passwd"));
    server.answer("/error.zip", Answer::status(500));
    server.answer("/binary", Answer::bytes([0xff; 1000]).header("Content-Type", "text/html"));
    server.answer("/odd", Answer::location("git::https://a.example/\u{fffd}\u{1}x"));
    let port = server.port;
    // Failed requests are repeated after waits, so the cases run at the same time.
    let mut cases = tokio::task::JoinSet::new();
    for (source, expected) in [
        (server.url("/truncated.zip"), "/truncated.zip"),
        (server.url("/page"), "larger than the limit"),
        (server.url("/loop.zip"), "/loop.zip"),
        (server.url("/file.zip"), "not an http or https URL"),
        (server.url("/error.zip"), "500"),
        (server.url("/binary"), "no source URL was returned"),
        (server.url("/odd"), "/odd"),
        (format!("https://127.0.0.1:{port}/m.zip"), "https://127.0.0.1"),
        ("http://127.0.0.1:1/m.zip".to_owned(), "http://127.0.0.1:1/m.zip"),
    ] {
        cases.spawn(async move {
            let detail = failure(&mut Fixture::new(), &source).await;
            (source, expected, detail)
        });
    }
    for (source, expected, detail) in cases.join_all().await {
        assert!(detail.contains(expected) && detail.contains("127.0.0.1"), "{source}: {detail}");
    }
}

#[tokio::test]
async fn git_arguments_are_not_options() {
    let mut fixture = Fixture::new();
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "x");
    repository.commit();
    let marker = fixture.path("marker");
    let url = format!("git::file://{}", repository.path.display());
    // Like Terraform, Wardian does not accept this address as a URL.
    assert!(ModuleSource::parse("git::ssh://-oProxyCommand=touch%20marker/r").is_err());
    // A program that can be called without a space.
    let bin = fixture.path("bin");
    write_file(&bin.join("touch-marker"), &format!("#!/bin/sh\ntouch {}\n", marker.display()));
    run("chmod", &bin, &["755", "touch-marker"]);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    fixture.settings.environment.push(("PATH".into(), path));
    for source in [
        format!("{url}?ref=--upload-pack=touch%20{}", marker.display()),
        format!("{url}?ref=-b"),
        format!("git::ext::sh -c touch% {}", marker.display()),
        "git::ssh://-oProxyCommand=touch-marker/r".to_owned(),
        "git::fd::17/foo".to_owned(),
        format!("hg::file://{}?rev=--config=alias.update=!touch", repository.path.display()),
    ] {
        failure(&mut fixture, &source).await;
        assert!(!marker.exists(), "{source}");
    }
}

#[tokio::test]
async fn links_in_repositories_must_point_inside() {
    for (name, target) in [("absolute", "/etc/passwd"), ("above", "../secret"), ("sub/above", "../../secret")]
    {
        let mut fixture = Fixture::new();
        fixture.write("secret", "x");
        let repository = Repository::new(&fixture.path("r"));
        repository.write("main.tf", "x");
        repository.write("sub/main.tf", "x");
        symlink(target, repository.path.join(name)).unwrap();
        repository.commit();
        let detail = failure(&mut fixture, &format!("git::file://{}", repository.path.display())).await;
        assert!(detail.contains("outside of its package") && detail.contains(target), "{detail}");
    }
}

#[tokio::test]
async fn module_directory_must_be_inside_the_package() {
    let mut fixture = Fixture::new();
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "x");
    repository.write("real/main.tf", "x");
    symlink("real", repository.path.join("link")).unwrap();
    repository.commit();
    let url = format!("git::file://{}", repository.path.display());
    fixture.install(&format!("{url}//link")).await.unwrap();
    // A local path may be a symbolic link, because the user chose it, but its subdirectory must
    // be inside the link's target.
    let shared = fixture.path("shared");
    write_file(&shared.join("main.tf"), "x");
    symlink("../r", shared.join("outside")).unwrap();
    let (summary, detail) =
        Fixture::failure(fixture.install(&format!("{}//outside", shared.display())).await);
    assert_eq!(summary, "Failed to expand subdir globs");
    assert!(detail.contains("points outside the module package"), "{detail}");
}

#[tokio::test]
async fn cancelled_installation_terminates_its_programs() {
    let mut fixture = Fixture::new();
    let bin = fixture.path("bin");
    write_file(&bin.join("git"), "#!/bin/sh\necho $$ > \"$HOME/pid\"\nsleep 1000 & wait\n");
    run("chmod", &bin, &["755", "git"]);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    fixture.settings.environment.push(("PATH".into(), path));
    let installer = within(ModuleInstaller::open(fixture.options())).await.unwrap();
    let calls = vec![call("m", "git::http://127.0.0.1:1/r")];
    let pid_file = fixture.path("home/pid");
    let started = async {
        while fs::read_to_string(&pid_file).map_or(true, |pid| pid.trim().is_empty()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        results = installer.install_all(calls) => panic!("{results:?}"),
        () = within(started) => {}
    }
    drop(installer);
    let pid = fs::read_to_string(&pid_file).unwrap();
    let directory = std::path::Path::new("/proc").join(pid.trim());
    if std::path::Path::new("/proc/self").exists() {
        within(async {
            while directory.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
    fixture.assert_nothing_installed();
    assert_eq!(fs::read_dir(fixture.path("cache/tmp")).unwrap().count(), 0);
}

#[tokio::test]
async fn files_left_by_a_killed_process_are_removed() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", "x")])));
    write_file(&fixture.module(".wardian-module.0123.tmp/main.tf"), "half");
    fixture.install(&server.url("/m.zip")).await.unwrap();
    let names: Vec<_> =
        fs::read_dir(fixture.module("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}
