//! Concurrent installations, in one process and in several processes.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use crate::fixture::{Fixture, call, files, within};
use crate::repositories::{Repository, zip};
use crate::server::{Answer, Server};

/// The variable with which this program is started as a child: the directory of the fixture, the name of the
/// root module, and the sources.
const CHILD: &str = "WARDIAN_TEST_INSTALLATION";

/// Does nothing unless another test has started this program to install modules.
#[tokio::test]
async fn helper_installs_modules_in_a_child_process() {
    let Ok(text) = std::env::var(CHILD) else { return };
    let mut lines = text.lines();
    let (place, root) = (lines.next().unwrap(), lines.next().unwrap());
    let mut fixture = Fixture::new();
    fixture.settings.root = Box::leak(format!("{place}/{root}").into_boxed_str());
    fixture.settings.cache = Box::leak(format!("{place}/cache").into_boxed_str());
    let calls: Vec<_> = lines.enumerate().map(|(index, source)| call(&format!("m{index}"), source)).collect();
    for result in fixture.install_all(&calls).await {
        result.unwrap();
    }
}

fn start_child(fixture: &Fixture, root: &str, sources: &[String]) -> Child {
    let place = fixture.path("");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "concurrency::helper_installs_modules_in_a_child_process", "--nocapture"])
        .env(CHILD, format!("{}\n{root}\n{}", place.display(), sources.join("\n")))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

struct Installations {
    fixture: Fixture,
    sources: Vec<String>,
    _server: Server,
}

impl Installations {
    async fn new() -> Self {
        let fixture = Fixture::new();
        fixture.cache();
        let server = Server::start().await;
        let repository = Repository::new(&fixture.path("repositories/r"));
        for index in 0..50 {
            repository.write(&format!("file{index}.tf"), &"x".repeat(10_000));
        }
        repository.commit();
        repository.git(&["tag", "v1"]);
        server.serve_repositories(&fixture.path("repositories"));
        server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", "zip")])));
        let git = server.url("/git/r");
        let sources = vec![
            format!("git::{git}"),
            format!("git::{git}?ref=v1"),
            server.url("/m.zip"),
            format!("git::{git}?ref=main"),
        ];
        Self { fixture, sources, _server: server }
    }

    fn assert_complete(&self, root: &str) {
        let modules = self.fixture.path(root).join(".terraform/modules");
        for (name, count) in [("m0", 50), ("m1", 50), ("m2", 1), ("m3", 50)] {
            assert_eq!(files(&modules.join(name)).len(), count, "{root} {name}");
        }
        let names: Vec<_> = fs::read_dir(&modules).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 5, "{names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_a_cache() {
    let sources = Installations::new().await;
    let roots = ["a", "b", "c", "d"];
    let mut children: Vec<Child> =
        roots.iter().map(|root| start_child(&sources.fixture, root, &sources.sources)).collect();
    for child in &mut children {
        assert!(wait(child).await);
    }
    for root in roots {
        sources.assert_complete(root);
    }
    assert_eq!(fs::read_dir(sources.fixture.path("cache/trees")).unwrap().count(), 2);
    assert_eq!(fs::read_dir(sources.fixture.path("cache/tmp")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_a_root_module() {
    let sources = Installations::new().await;
    let mut children: Vec<Child> =
        (0..3).map(|_| start_child(&sources.fixture, "root", &sources.sources)).collect();
    for child in &mut children {
        assert!(wait(child).await);
    }
    sources.assert_complete("root");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_process_leaves_no_partial_module() {
    let sources = Installations::new().await;
    // The processes are killed at different stages.
    for milliseconds in [0, 5, 10, 20, 40, 60, 80, 120, 160] {
        let mut child = start_child(&sources.fixture, "root", &sources.sources);
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let modules = sources.fixture.path("root/.terraform/modules");
        for (name, count) in [("m0", 50), ("m1", 50), ("m2", 1), ("m3", 50)] {
            if modules.join(name).exists() {
                assert_eq!(files(&modules.join(name)).len(), count, "{name} after {milliseconds} ms");
            }
        }
    }
    let mut child = start_child(&sources.fixture, "root", &sources.sources);
    assert!(wait(&mut child).await);
    sources.assert_complete("root");
    assert_eq!(fs::read_dir(sources.fixture.path("cache/tmp")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn installation_can_run_on_another_thread() {
    let sources = Installations::new().await;
    let Installations { mut fixture, sources, _server } = sources;
    let calls: Vec<_> =
        sources.iter().enumerate().map(|(index, source)| call(&format!("m{index}"), source)).collect();
    let task =
        tokio::spawn(
            async move { fixture.install_all(&calls).await.into_iter().all(|result| result.is_ok()) },
        );
    assert!(within(task).await.unwrap());
}

async fn wait(child: &mut Child) -> bool {
    within(async {
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.success();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}
