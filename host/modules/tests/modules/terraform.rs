//! Compares the installation of the same sources with Terraform's: the manifests and the
//! directories are the same, and each program uses the other program's installation unchanged.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, call, files};
use crate::repositories::{Repository, has_program, write_file, zip};
use crate::server::{Answer, Server};

struct Comparison {
    fixture: Fixture,
    sources: Vec<(String, String)>,
    _server: Server,
}

impl Comparison {
    async fn new() -> Option<Self> {
        if !has_program("terraform") {
            return None;
        }
        let mut fixture = Fixture::new();
        let server = Server::start().await;
        let repository = Repository::new(&fixture.path("repositories/r"));
        repository.write("main.tf", "output \"a\" { value = 1 }\n");
        repository.write("sub/main.tf", "output \"a\" { value = 2 }\n");
        repository.write(".hidden/file", "x");
        std::os::unix::fs::symlink("main.tf", repository.path.join("link")).unwrap();
        repository.commit();
        repository.git(&["tag", "v1"]);
        repository.git(&["branch", "dev"]);
        repository.write("main.tf", "output \"b\" { value = 1 }\n");
        repository.commit();
        server.serve_repositories(&fixture.path("repositories"));
        server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", ""), ("sub/main.tf", "")])));
        server.answer("/page", Answer::location(&server.url("/m.zip")));
        server.answer(
            "/v1/a/b/c/versions",
            Answer::bytes("{\"modules\":[{\"versions\":[{\"version\":\"1.2.0\"}]}]}"),
        );
        server.answer("/v1/a/b/c/1.2.0/download", Answer::location("/m.zip"));
        fixture.settings.registries.insert("reg.example".into(), server.url("/v1/"));
        let shared = fixture.path("shared");
        write_file(&shared.join("main.tf"), "");
        let git = format!("git::{}", server.url("/git/r"));
        let sources = [
            ("branch", format!("{git}?ref=dev&depth=1")),
            ("commit", format!("{git}//sub?ref=v1")),
            ("first", git.clone()),
            ("page", server.url("/page//sub")),
            ("path", shared.display().to_string()),
            ("registry", "reg.example/a/b/c//sub".to_owned()),
            ("second", git),
            ("zip", server.url("/m.zip?archive=zip")),
        ];
        let sources = sources.map(|(key, source)| (key.to_owned(), source)).to_vec();
        let mut configuration = String::new();
        for (key, source) in &sources {
            write!(configuration, "module \"{key}\" {{\n  source = \"{source}\"\n}}\n").unwrap();
        }
        for root in ["terraform", "wardian"] {
            fixture.write(&format!("{root}/main.tf"), &configuration);
        }
        let url = server.url("/v1/");
        fixture.write(
            "cli.tfrc",
            &format!("host \"reg.example\" {{\n  services = {{ \"modules.v1\" = \"{url}\" }}\n}}\n"),
        );
        Some(Self { fixture, sources, _server: server })
    }

    /// Runs `terraform get`. Returns its output.
    async fn terraform(&self, root: &str) -> String {
        let mut command = Command::new("terraform");
        command
            .args(["get", "-no-color"])
            .current_dir(self.fixture.path(root))
            .env("TF_CLI_CONFIG_FILE", self.fixture.path("cli.tfrc"))
            .env("HOME", self.fixture.path("home"))
            .env("CHECKPOINT_DISABLE", "1");
        fs::create_dir_all(self.fixture.path("home")).unwrap();
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    async fn wardian(&mut self, root: &'static str) -> Vec<String> {
        self.fixture.settings.root = root;
        let calls: Vec<_> = self.sources.iter().map(|(key, source)| call(key, source)).collect();
        for result in self.fixture.install_all(&calls).await {
            result.unwrap();
        }
        self.fixture.take_lines()
    }

    fn modules(&self, root: &str) -> std::path::PathBuf {
        self.fixture.path(root).join(".terraform/modules")
    }
}

/// Returns the files that Terraform installs for a directory. It omits hidden files when it
/// installs a package again.
fn without_hidden_files(directory: &Path) -> Vec<(String, String)> {
    files(directory)
        .into_iter()
        .filter(|(name, _)| !name.split('/').any(|part| part.starts_with('.')))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn manifest_and_directories_match_terraform() {
    let Some(mut comparison) = Comparison::new().await else { return };
    let mut expected: Vec<String> =
        comparison.terraform("terraform").await.lines().map(str::to_owned).collect();
    let mut lines = comparison.wardian("wardian").await;
    expected.sort();
    lines.sort();
    assert_eq!(lines, expected);
    let (terraform, wardian) = (comparison.modules("terraform"), comparison.modules("wardian"));
    let manifest = |directory: &Path| fs::read_to_string(directory.join("modules.json")).unwrap();
    assert_eq!(manifest(&wardian), manifest(&terraform));
    for (key, _) in &comparison.sources {
        assert_eq!(
            without_hidden_files(&wardian.join(key)),
            without_hidden_files(&terraform.join(key)),
            "{key}"
        );
        assert_eq!(fs::read_link(wardian.join(key)).ok(), fs::read_link(terraform.join(key)).ok(), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wardian_and_terraform_accept_each_others_module_directories() {
    let Some(mut comparison) = Comparison::new().await else { return };
    comparison.terraform("terraform").await;
    comparison.wardian("wardian").await;
    for root in ["wardian", "terraform"] {
        let manifest = comparison.modules(root).join("modules.json");
        let written = || fs::metadata(&manifest).unwrap().modified().unwrap();
        let (before, written_before) = (files(&comparison.modules(root)), written());
        if root == "wardian" {
            assert_eq!(comparison.terraform(root).await, "");
        } else {
            comparison.fixture.settings.pins = wardian_module_source::ModulePins::default();
            assert_eq!(comparison.wardian("terraform").await, Vec::<String>::new());
            let commits = comparison.fixture.settings.pins.iter().filter(|pin| pin.commit.is_some()).count();
            assert_eq!(commits, 3, "the commits are read from the repositories that Terraform has cloned");
        }
        assert_eq!(before, files(&comparison.modules(root)), "{root}");
        // Terraform always writes the manifest, here with the same content.
        if root == "terraform" {
            assert_eq!(written_before, written());
        }
    }
}
