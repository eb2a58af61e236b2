//! Packages in Git repositories.

use std::fs;

use wardian_modules::InstallMode;

use crate::fixture::{Fixture, call, files};
use crate::repositories::{Repository, has_program, run};
use crate::server::Server;

/// A fixture with a repository that has three commits, a tag and two branches.
struct GitFixture {
    fixture: Fixture,
    repository: Repository,
    commits: [String; 3],
}

impl GitFixture {
    fn new() -> Self {
        let fixture = Fixture::new();
        let repository = Repository::new(&fixture.path("repositories/r"));
        repository.write("main.tf", "one");
        repository.write("sub/main.tf", "sub");
        repository.write("mods/a/main.tf", "a");
        repository.write("mods/b/main.tf", "b");
        repository.write(".hidden/file", "hidden");
        std::os::unix::fs::symlink("main.tf", repository.path.join("link")).unwrap();
        let first = repository.commit();
        repository.git(&["tag", "v1"]);
        repository.git(&["tag", "--annotate", "--message=m", "annotated"]);
        repository.write("main.tf", "two");
        let second = repository.commit();
        repository.git(&["branch", "feature/x"]);
        repository.write("main.tf", "three");
        let third = repository.commit();
        Self { fixture, repository, commits: [first, second, third] }
    }

    fn url(&self) -> String {
        format!("git::file://{}", self.repository.path.display())
    }

    fn content(&self) -> String {
        fs::read_to_string(self.fixture.module("m/main.tf")).unwrap()
    }
}

#[tokio::test]
async fn default_branch_is_installed_with_its_commit() {
    let mut git = GitFixture::new();
    let source = git.url();
    let installed = git.fixture.install(&source).await.unwrap();
    assert_eq!(installed.directory.to_str(), Some(".terraform/modules/m"));
    let pin = installed.pin.unwrap();
    assert_eq!(pin.commit.unwrap().as_str(), git.commits[2]);
    assert_eq!(pin.package, source);
    let found = files(&git.fixture.module("m"));
    let expected = [
        (".hidden/file", "hidden"),
        ("link", "-> main.tf"),
        ("main.tf", "three"),
        ("mods/a/main.tf", "a"),
        ("mods/b/main.tf", "b"),
        ("sub/main.tf", "sub"),
    ];
    assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
    assert!(!git.fixture.module("m/.git").exists());
    assert_eq!(
        git.fixture.take_lines(),
        [format!("Downloading {source} for m..."), "- m in .terraform/modules/m".to_owned()]
    );
}

#[tokio::test]
async fn refs_are_resolved_as_by_git_checkout() {
    let mut git = GitFixture::new();
    git.fixture.settings.mode = InstallMode::Upgrade;
    let short = git.commits[0][..10].to_owned();
    let (first, second) = (git.commits[0].clone(), git.commits[1].clone());
    for (reference, content) in [
        ("v1", "one"),
        ("annotated", "one"),
        ("refs/tags/v1", "one"),
        ("main", "three"),
        ("feature/x", "two"),
        ("feature%2Fx", "two"),
        ("origin/feature/x", "two"),
        (first.as_str(), "one"),
        (second.as_str(), "two"),
        (short.as_str(), "one"),
        ("main~1", "two"),
        ("v1^{commit}", "one"),
    ] {
        let source = format!("{}?ref={reference}", git.url());
        git.fixture.install(&source).await.unwrap_or_else(|error| panic!("{reference}: {error}"));
        assert_eq!(git.content(), content, "{reference}");
    }
    for (reference, expected) in [("nope", "no branch, tag or commit \"nope\""), ("v1:main.tf", "no branch")]
    {
        let source = format!("{}?ref={reference}", git.url());
        let (summary, detail) = Fixture::failure(git.fixture.install(&source).await);
        assert_eq!(summary, "Failed to download module");
        assert!(detail.contains(expected), "{detail}");
    }
}

#[tokio::test]
async fn depth_has_no_effect_on_the_files() {
    let mut git = GitFixture::new();
    git.fixture.settings.mode = InstallMode::Upgrade;
    let first = git.commits[0].clone();
    for (query, content) in [
        ("depth=1", "three"),
        ("depth=1&ref=v1", "one"),
        ("depth=x", "three"),
        (&format!("depth=1&ref={first}"), "one"),
    ] {
        let source = format!("{}?{query}", git.url());
        git.fixture.install(&source).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(git.content(), content, "{query}");
    }
}

#[tokio::test]
async fn subdirectories_are_found() {
    let mut git = GitFixture::new();
    let url = git.url();
    for (subdirectory, directory) in
        [("sub", "m/sub"), ("mods/[b]", "m/mods/b"), (".", "m"), ("/sub", "m/sub")]
    {
        let installed = git.fixture.install(&format!("{url}//{subdirectory}")).await.unwrap();
        assert_eq!(installed.directory.display().to_string(), format!(".terraform/modules/{directory}"));
        assert_eq!(installed.package_directory.display().to_string(), ".terraform/modules/m");
    }
    for (subdirectory, expected) in [
        ("mods/*", "matches multiple paths"),
        ("nope", "subdir \"nope\" not found"),
        ("main.tf", "not a directory"),
    ] {
        let (summary, detail) =
            Fixture::failure(git.fixture.install(&format!("{url}//{subdirectory}")).await);
        assert_eq!(summary, "Failed to expand subdir globs");
        assert!(detail.contains(expected), "{detail}");
    }
}

#[tokio::test]
async fn submodules_are_installed_recursively() {
    let mut git = GitFixture::new();
    let server = Server::start().await;
    server.serve_repositories(&git.fixture.path("repositories"));
    let inner = Repository::new(&git.fixture.path("repositories/inner"));
    inner.write("inner.tf", "inner");
    inner.commit();
    let outer = Repository::new(&git.fixture.path("repositories/outer"));
    outer.write("outer.tf", "outer");
    let allow = "protocol.file.allow=always";
    let inner_path = inner.path.display().to_string();
    outer.git(&["-c", allow, "submodule", "--quiet", "add", &inner_path, "vendor/inner"]);
    outer.git(&["config", "--file", ".gitmodules", "submodule.vendor/inner.url", "../inner"]);
    outer.commit();
    let outer_path = outer.path.display().to_string();
    git.repository.git(&["-c", allow, "submodule", "--quiet", "add", &outer_path, "outer"]);
    git.repository.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.outer.url",
        &server.url("/git/outer"),
    ]);
    git.repository.git(&[
        "-c",
        allow,
        "submodule",
        "--quiet",
        "add",
        "--name",
        "skipped",
        &inner_path,
        "skipped",
    ]);
    git.repository.git(&["config", "--file", ".gitmodules", "submodule.skipped.update", "none"]);
    git.repository.commit();
    git.fixture.install(&format!("git::{}", server.url("/git/r"))).await.unwrap();
    let found = files(&git.fixture.module("m"));
    assert_eq!(found.get("outer/outer.tf").map(String::as_str), Some("outer"));
    assert_eq!(found.get("outer/vendor/inner/inner.tf").map(String::as_str), Some("inner"));
    assert!(!found.keys().any(|name| name.starts_with("skipped")), "{found:?}");
    assert!(git.fixture.module("m/skipped").is_dir());
}

#[tokio::test]
async fn local_submodules_are_rejected() {
    let mut git = GitFixture::new();
    let inner = Repository::new(&git.fixture.path("repositories/inner"));
    inner.write("inner.tf", "inner");
    inner.commit();
    let inner_path = inner.path.display().to_string();
    git.repository.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &inner_path,
        "x",
    ]);
    for url in [inner_path.as_str(), "../inner", "ext::sh -c 'touch x'", "-u./evil"] {
        git.repository.git(&["config", "--file", ".gitmodules", "submodule.x.url", url]);
        git.repository.commit();
        let source = git.url();
        let (summary, detail) = Fixture::failure(git.fixture.install(&source).await);
        assert_eq!(summary, "Failed to download module");
        assert!(detail.contains("the submodule \"x\" cannot be fetched"), "{detail}");
        git.fixture.assert_nothing_installed();
    }
}

#[tokio::test]
async fn repository_is_fetched_once_over_http() {
    let mut git = GitFixture::new();
    let server = Server::start().await;
    server.serve_repositories(&git.fixture.path("repositories"));
    let source = format!("git::{}?ref=v1", server.url("/git/r"));
    let calls = [call("a", &source), call("b", &source), call("c", &source.replace('?', "//sub?"))];
    let results = git.fixture.install_all(&calls).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let requests = server.take_lines();
    assert_eq!(requests.iter().filter(|line| line.starts_with("GET")).count(), 1, "{requests:?}");
    // Another root module with the same pins is installed without a request or a program.
    git.fixture.settings.root = "other";
    git.fixture.settings.environment.push(("PATH".into(), String::new()));
    let results = git.fixture.install_all(&calls).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(server.take_lines(), Vec::<String>::new());
    // A commit in the cache needs no request and no program either, even without a pin.
    git.fixture.settings.pins = wardian_module_source::ModulePins::default();
    git.fixture.settings.root = "third";
    let by_commit = format!("git::{}?ref={}", server.url("/git/r"), git.commits[0]);
    git.fixture.install(&by_commit).await.unwrap();
    assert_eq!(server.take_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn server_without_shallow_fetches_is_supported() {
    let mut git = GitFixture::new();
    let server = Server::start().await;
    // A web server without git support serves the repository's files.
    git.repository.git(&["gc", "--quiet"]);
    git.repository.git(&["update-server-info"]);
    let base = git.repository.path.join(".git");
    let mut waiting = vec![base.clone()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(&base).unwrap().display().to_string();
                server
                    .answer(&format!("/dumb/{name}"), crate::server::Answer::bytes(fs::read(&path).unwrap()));
            }
        }
    }
    let source = format!("git::{}?ref=v1", server.url("/dumb"));
    git.fixture.install(&source).await.unwrap();
    assert_eq!(git.content(), "one");
}

#[tokio::test]
async fn cached_repository_is_updated() {
    let mut git = GitFixture::new();
    let source = git.url();
    git.fixture.install(&source).await.unwrap();
    git.repository.write("main.tf", "four");
    let commit = git.repository.commit();
    // The pin selects the old commit, also in another root module.
    git.fixture.settings.root = "other";
    git.fixture.install(&source).await.unwrap();
    assert_eq!(git.content(), "three");
    git.fixture.settings.mode = InstallMode::Upgrade;
    let installed = git.fixture.install(&source).await.unwrap();
    assert_eq!(git.content(), "four");
    assert_eq!(installed.pin.unwrap().commit.unwrap().as_str(), commit);
}

#[tokio::test]
async fn stale_locks_left_by_a_killed_process_are_removed() {
    let mut git = GitFixture::new();
    let source = format!("{}?ref=v1", git.url());
    git.fixture.install(&source).await.unwrap();
    let cached = fs::read_dir(git.fixture.path("cache/git")).unwrap().next().unwrap().unwrap().path();
    let names =
        ["shallow.lock", "objects/pack/tmp_pack_x", "packed-refs.lock", "refs/remotes/origin/main.lock"];
    for name in names {
        fs::create_dir_all(cached.join(name).parent().unwrap()).unwrap();
        fs::write(cached.join(name), "").unwrap();
    }
    git.fixture.install(&format!("{}?ref=feature/x", git.url())).await.unwrap();
    assert_eq!(git.content(), "two");
    // To resolve `main~1`, the complete history with all branches is fetched.
    git.fixture.install(&format!("{}?ref=main~1", git.url())).await.unwrap();
    assert_eq!(git.content(), "two");
    for name in names {
        assert!(!cached.join(name).exists(), "{name}");
    }
}

#[tokio::test]
async fn repository_partially_created_by_a_killed_process_is_completed() {
    let mut git = GitFixture::new();
    git.fixture.install(&format!("{}?ref=v1", git.url())).await.unwrap();
    let cached = fs::read_dir(git.fixture.path("cache/git")).unwrap().next().unwrap().unwrap().path();
    let names = ["objects", "refs", "config", "HEAD"];
    for (index, name) in names.into_iter().enumerate() {
        // The files that a process leaves if it is killed while it creates this file or directory.
        for missing in names[index..].iter().chain(&["shallow"]) {
            let path = cached.join(missing);
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        if matches!(name, "config" | "HEAD") {
            fs::write(cached.join(name), "").unwrap();
        }
        git.fixture.settings.mode = InstallMode::Upgrade;
        let source = format!("{}?ref=feature/x", git.url());
        git.fixture.install(&source).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(git.content(), "two", "{name}");
    }
}

#[tokio::test]
async fn gitattributes_are_applied() {
    let mut git = GitFixture::new();
    git.repository.write(".gitattributes", "*.ps1 text eol=crlf\nsecret.tf export-ignore\n");
    git.repository.write("run.ps1", "a\nb\n");
    git.repository.write("secret.tf", "x");
    git.repository.commit();
    let source = git.url();
    // The user's line-ending settings do not change the content.
    git.fixture.write("home/.gitconfig", "[core]\n\tautocrlf = true\n");
    git.fixture.install(&source).await.unwrap();
    let found = files(&git.fixture.module("m"));
    assert_eq!(found.get("run.ps1").map(String::as_str), Some("a\r\nb\r\n"));
    assert_eq!(found.get("main.tf").map(String::as_str), Some("three"));
    assert!(found.contains_key("secret.tf"));
}

#[tokio::test]
async fn user_git_hooks_do_not_run_but_url_settings_apply() {
    let mut git = GitFixture::new();
    let marker = git.fixture.path("marker");
    let hooks = git.fixture.path("home/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        let path = hooks.join(hook);
        fs::write(&path, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
        run("chmod", &hooks, &["755", hook]);
    }
    git.fixture.write("home/.gitconfig", &format!("[core]\n\thooksPath = {}\n", hooks.display()));
    let source = git.url();
    git.fixture.install(&source).await.unwrap();
    assert!(!marker.exists());
    // Settings that replace URLs apply, as in Terraform.
    let path = git.repository.path.display();
    git.fixture.write(
        "home/.gitconfig",
        &format!("[url \"file://{path}\"]\n\tinsteadOf = https://github.com/o/r.git\n"),
    );
    git.fixture.install("github.com/o/r//sub?ref=v1").await.unwrap();
    assert_eq!(git.content(), "one");
}

#[tokio::test]
async fn packages_are_fetched_from_git_daemon() {
    let mut git = GitFixture::new();
    if !has_program("git") {
        return;
    }
    let port = free_port();
    let mut daemon = std::process::Command::new("git")
        .args(["daemon", "--reuseaddr", "--export-all", "--listen=127.0.0.1"])
        .arg(format!("--port={port}"))
        .arg(format!("--base-path={}", git.fixture.path("repositories").display()))
        .env("HOME", git.fixture.path("home"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for_port(port);
    let result = git.fixture.install(&format!("git::git://127.0.0.1:{port}/r?ref=v1")).await;
    // The daemon's child process, which responds to requests, must be killed as well.
    run("sh", &git.fixture.path(""), &["-c", &format!("pkill -P {} || true", daemon.id())]);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    result.unwrap();
    assert_eq!(git.content(), "one");
}

#[tokio::test]
async fn ssh_uses_the_key_from_the_source() {
    let mut git = GitFixture::new();
    let sshd = "/usr/sbin/sshd";
    if !std::path::Path::new(sshd).exists() || !has_program("ssh-keygen") {
        println!("skipped: sshd is not installed");
        return;
    }
    let place = git.fixture.path("ssh");
    fs::create_dir_all(&place).unwrap();
    for name in ["host", "client"] {
        run("ssh-keygen", &place, &["-q", "-t", "ed25519", "-N", "", "-f", name]);
    }
    let port = free_port();
    let shown = place.display();
    let user = run("id", &place, &["-un"]);
    let configuration = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/client.pub\n\
         StrictModes no\nPidFile none\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
    );
    fs::write(place.join("sshd_config"), configuration).unwrap();
    let _ = fs::create_dir_all("/run/sshd");
    let mut server = std::process::Command::new(sshd)
        .args(["-D", "-e", "-f"])
        .arg(place.join("sshd_config"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for_port(port);
    let known = place.join("known");
    git.fixture.settings.environment.push((
        "GIT_SSH_COMMAND".into(),
        format!(
            "ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile={} -o IdentitiesOnly=yes",
            known.display()
        ),
    ));
    let repository = git.repository.path.display().to_string();
    let key = run("base64", &place, &["--wrap=0", "client"]).replace('+', "%2B");
    let with_key = git
        .fixture
        .install(&format!("git::ssh://{user}@127.0.0.1:{port}{repository}?ref=v1&sshkey={key}"))
        .await;
    let lines = git.fixture.take_lines();
    let without_key =
        git.fixture.install(&format!("git::ssh://{user}@127.0.0.1:{port}{repository}?ref=feature/x")).await;
    server.kill().unwrap();
    server.wait().unwrap();
    let installed = with_key.unwrap();
    assert_eq!(git.content(), "one");
    assert!(!installed.pin.unwrap().package.contains("sshkey"));
    assert!(lines.iter().all(|line| !line.contains(&key)), "{lines:?}");
    let (_, detail) = Fixture::failure(without_key);
    assert!(detail.contains("Permission denied"), "{detail}");
    // The key is removed with the other temporary files.
    assert_eq!(fs::read_dir(git.fixture.path("cache/tmp")).unwrap().count(), 0);
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until a server accepts connections.
fn wait_for_port(port: u16) {
    for _ in 0..600 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the server did not start");
}
