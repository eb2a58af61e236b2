//! Terraform and these backends use one state in turn, under one lock, with the servers of this
//! machine. The tests end with a printed reason if `terraform` is not on the `PATH`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tempfile::TempDir;
use wardian_backend::{Backend, BackendHost, EnterpriseService, ServiceHosts};
use wardian_state::{LockError, State};
use wardian_state_server::{Consul, Enterprise, Kubernetes, ServiceServer};
use wardian_value::Value;

use crate::support::{configure_with, host, large, manager, request, text, with};

const LIMIT: Duration = Duration::from_mins(1);
const TOKEN: &str = "s3cret";
const HOST: &str = "tfe.example.com";

/// A resource that does nothing, with a large attribute and with a step that waits for a file.
const MAIN: &str = "variable \"v\" {\n  default = \"1\"\n}\nvariable \"size\" {\n  default = 0\n}\nvariable \"waits\" {\n  default = \
                    false\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\nresource \"terraform_data\" \"large\" {\n  count \
                    = var.size\n  input = [for i in range(100) : sha512(\"${count.index} ${i} ${var.v}\")]\n}\nresource \
                    \"terraform_data\" \"wait\" {\n  count = var.waits ? 1 : 0\n  provisioner \"local-exec\" {\n    command = \
                    \"touch started; for i in $(seq 600); do test -e finish && exit 0; sleep 0.1; done; exit \
                    1\"\n  }\n}\n";

#[derive(Debug)]
struct Hosts(String);

#[async_trait]
impl ServiceHosts for Hosts {
    async fn enterprise(&self, _host: &str) -> Result<EnterpriseService, String> {
        Ok(EnterpriseService { url: self.0.parse().unwrap(), token: Some(TOKEN.to_owned()) })
    }
}

/// A configuration's directory, and the backend that it configures.
struct Case {
    name: &'static str,
    directory: TempDir,
    backend: Arc<dyn Backend>,
    /// The workspace in this crate.
    workspace: &'static str,
}

fn find_terraform() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|directory| directory.join("terraform")).find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: `terraform` is not on PATH");
    }
    found
}

impl Case {
    fn new(name: &'static str, workspace: &'static str, block: &str, files: &[(&str, String)]) -> Self {
        let directory = TempDir::new().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        fs::write(directory.path().join("main.tf"), format!("terraform {{\n{block}\n}}\n{MAIN}")).unwrap();
        let backend =
            configure_with("http", &[("address", text("http://a.example/"))], &host(&[], LIMIT)).unwrap();
        Self { name, directory, backend, workspace }
    }

    fn configured(mut self, kind: &str, arguments: &[(&str, Value)], host: BackendHost) -> Self {
        let host = BackendHost { directory: self.directory.path().to_owned(), ..host };
        self.backend = configure_with(kind, arguments, &host).unwrap();
        self
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(find_terraform().unwrap());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TF_") {
                command.env_remove(name);
            }
        }
        let config = self.path().join("cli.tfrc");
        command.args(arguments).current_dir(self.path()).env("CHECKPOINT_DISABLE", "1");
        command.env("HOME", self.path()).env("TF_CLI_CONFIG_FILE", config).stdin(Stdio::null());
        command
    }

    fn ask(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.command(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), text)
    }

    #[track_caller]
    fn terraform(&self, arguments: &[&str]) -> String {
        let (is_successful, text) = self.ask(arguments);
        assert!(is_successful, "{}: terraform {arguments:?}:\n{text}", self.name);
        text
    }

    fn start_waiting_apply(&self) -> Child {
        let apply = self
            .command(&["apply", "-auto-approve", "-input=false", "-var", "waits=true"])
            .stdout(Stdio::null())
            .spawn();
        let deadline = Instant::now() + LIMIT;
        while !self.path().join("started").exists() {
            assert!(Instant::now() < deadline, "{}: the apply has not started", self.name);
            thread::sleep(Duration::from_millis(20));
        }
        apply.unwrap()
    }
}

fn cases() -> Vec<Case> {
    let empty = ("cli.tfrc", String::new());
    let consul = ServiceServer::start(|_| Consul::default());
    let mut cases = Vec::new();
    for gzip in [false, true] {
        let block = format!(
            "backend \"consul\" {{\n address = \"{}\"\n scheme = \"http\"\n path = \"team/{gzip}\"\n gzip = {gzip}\n}}",
            consul.address()
        );
        let arguments = [
            ("address", text(consul.address())),
            ("path", text(format!("team/{gzip}"))),
            ("gzip", Value::bool(gzip)),
        ];
        let case = Case::new("consul", "default", &block, std::slice::from_ref(&empty));
        cases.push(case.configured("consul", &arguments, host(&[], LIMIT)));
    }

    let enterprise = ServiceServer::start(|origin| Enterprise::new(origin, "org", TOKEN));
    let url = format!("{}/api/v2/", enterprise.origin());
    let config = format!(
        "host \"{HOST}\" {{\n services = {{ \"tfe.v2\" = \"{url}\", \"tfe.v2.1\" = \"{url}\" }}\n}}\ncredentials \"{HOST}\" {{\n token = \"{TOKEN}\"\n}}\n"
    );
    for (kind, header, workspace) in
        [("remote", "backend \"remote\"", "default"), ("cloud", "cloud", "cloud-app")]
    {
        let name = if kind == "cloud" { "cloud-app" } else { "remote-app" };
        let block = format!(
            "{header} {{\n hostname = \"{HOST}\"\n organization = \"org\"\n workspaces {{\n name = \"{name}\"\n }}\n}}"
        );
        let arguments = [
            ("hostname", text(HOST)),
            ("organization", text("org")),
            ("workspaces", Value::object([("name", text(name))])),
        ];
        let host = BackendHost { services: Arc::new(Hosts(url.clone())), ..host(&[], LIMIT) };
        let case = Case::new(kind, workspace, &block, &[("cli.tfrc", config.clone())]);
        cases.push(case.configured(kind, &arguments, host));
    }

    let kubernetes = ServiceServer::start(|_| Kubernetes::default());
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster: {{ server: '{}' }}\ncontexts:\n- \
         name: c\n  context: {{ cluster: c, user: u }}\nusers:\n- name: u\n  user: {{}}\n",
        kubernetes.origin()
    );
    let block = "backend \"kubernetes\" {\n secret_suffix = \"state\"\n config_path = \"kubeconfig\"\n}";
    let arguments = [("secret_suffix", text("state")), ("config_path", text("kubeconfig"))];
    let case = Case::new("kubernetes", "default", block, &[empty, ("kubeconfig", config)]);
    cases.push(case.configured("kubernetes", &arguments, host(&[], LIMIT)));
    cases
}

/// Returns the state without the differences of formatting.
fn pulled(case: &Case) -> State {
    let text = case.terraform(&["state", "pull"]);
    wardian_state::decode_state(text.as_bytes()).unwrap().unwrap()
}

#[tokio::test]
async fn state_is_changed_in_turn() {
    if find_terraform().is_none() {
        return;
    }
    for case in cases() {
        println!("{}", case.name);
        case.terraform(&["init", "-input=false"]);
        case.terraform(&["apply", "-auto-approve", "-input=false"]);
        let place = TempDir::new().unwrap();
        let mut state = manager(case.backend.state(case.workspace).unwrap(), place.path());
        state.lock(&request()).await.unwrap();
        let first = state.read().await.unwrap();
        assert_eq!(*first, pulled(&case), "{}", case.name);
        // A state that is stored in several values, by this crate and by Terraform.
        let second = state.write(&large(&first, "random_id.ours", 3_000_000)).await.unwrap();
        assert_eq!(*second, pulled(&case), "{}", case.name);
        let third = state.write(&with(&first, "random_id.ours", "1")).await.unwrap();
        state.unlock().await.unwrap();
        assert_eq!(*third, pulled(&case), "{}", case.name);
        case.terraform(&["state", "rm", "random_id.ours"]);
        case.terraform(&["apply", "-auto-approve", "-input=false", "-var", "v=2", "-var", "size=150"]);
        let theirs = manager(case.backend.state(case.workspace).unwrap(), place.path()).read().await.unwrap();
        assert_eq!(*theirs, pulled(&case), "{}", case.name);
        assert_eq!(theirs.instances().count(), 151, "{}", case.name);
        case.terraform(&["apply", "-auto-approve", "-input=false"]);
        let theirs = manager(case.backend.state(case.workspace).unwrap(), place.path()).read().await.unwrap();
        assert_eq!(theirs.instances().count(), 1, "{}", case.name);
    }
}

#[tokio::test]
async fn one_lock_excludes_the_other_program() {
    if find_terraform().is_none() {
        return;
    }
    for case in cases() {
        println!("{}", case.name);
        case.terraform(&["init", "-input=false"]);
        let storage = case.backend.state(case.workspace).unwrap();
        let info = storage.lock(&request()).await.unwrap();
        let (is_successful, text) = case.ask(&["plan", "-input=false", "-no-color"]);
        assert!(!is_successful && text.contains("Error acquiring the state lock"), "{}: {text}", case.name);
        case.terraform(&["force-unlock", "-force", &info.id]);
        assert!(storage.unlock().await.is_err(), "{}: the lock was lost", case.name);
        let mut apply = case.start_waiting_apply();
        let error = storage.lock(&request()).await.unwrap_err();
        assert!(matches!(error, LockError::Held { .. }), "{}: {error}", case.name);
        fs::write(case.path().join("finish"), "").unwrap();
        assert!(apply.wait().unwrap().success(), "{}", case.name);
        storage.lock(&request()).await.unwrap();
        storage.unlock().await.unwrap();
        case.terraform(&["plan", "-detailed-exitcode", "-input=false", "-var", "waits=true"]);
    }
}

#[tokio::test]
async fn workspaces_are_shared() {
    if find_terraform().is_none() {
        return;
    }
    for case in cases().into_iter().filter(|case| case.backend.has_workspaces()) {
        println!("{}", case.name);
        case.terraform(&["init", "-input=false"]);
        case.terraform(&["workspace", "new", "theirs"]);
        case.backend.create_workspace("ours", Some(&request())).await.unwrap();
        let list = case.terraform(&["workspace", "list"]);
        // Terraform's order is arbitrary for some backends.
        let mut names: Vec<&str> = list.lines().map(|line| line.trim_start_matches(['*', ' '])).collect();
        names.sort_unstable();
        assert_eq!(names.join(" ").trim(), "default ours theirs", "{}", case.name);
        assert_eq!(case.backend.workspaces().await.unwrap(), ["default", "ours", "theirs"]);
        case.terraform(&["workspace", "select", "ours"]);
        case.backend.delete_workspace("theirs").await.unwrap();
        case.terraform(&["workspace", "select", "default"]);
        case.terraform(&["workspace", "delete", "ours"]);
        assert_eq!(case.backend.workspaces().await.unwrap(), ["default"]);
    }
}
