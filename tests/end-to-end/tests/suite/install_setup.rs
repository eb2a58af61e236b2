//! Code that the installation tests share: a server, and a project whose CLI configuration refers to it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tempfile::TempDir;
use wardian_end_to_end::{Output, Project, Seen, platform};
use wardian_registry_server::{
    ModuleRelease, Origin, ProviderRelease, RegistryModule, RegistryProvider, RegistryServer,
    ServerDescription,
};

/// The CLI configuration of a project, in which all hosts refer to the server.
pub(crate) const CLI_CONFIGURATION: &str = r#"host "example.test" {
  services = {
    "providers.v1" = "[PLAIN]/v1/providers/"
    "modules.v1"   = "[PLAIN]/v1/modules/"
  }
}

host "registry.terraform.io" {
  services = {
    "providers.v1" = "[PLAIN]/v1/providers/"
    "modules.v1"   = "[PLAIN]/v1/modules/"
  }
}
"#;

/// The file of the CLI configuration, in the directory of a project.
pub(crate) const CLI_FILE: &str = "home/cli.tfrc";

/// Returns a provider with these versions.
pub(crate) fn provider(address: &str, versions: &[&str]) -> RegistryProvider {
    let release =
        |version: &&str| ProviderRelease { version: (*version).to_owned(), ..ProviderRelease::default() };
    RegistryProvider {
        address: address.to_owned(),
        versions: versions.iter().map(release).collect(),
        warnings: Vec::new(),
    }
}

/// Returns a module with these versions, each with a submodule.
pub(crate) fn module(address: &str, versions: &[&str]) -> RegistryModule {
    let release = |version: &&str| ModuleRelease {
        version: (*version).to_owned(),
        files: [
            ("main.tf", format!("output \"version\" {{\n  value = \"{version}\"\n}}\n")),
            ("modules/inner/main.tf", "output \"inner\" {\n  value = true\n}\n".to_owned()),
        ]
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text))
        .collect(),
        ..ModuleRelease::default()
    };
    RegistryModule { address: address.to_owned(), versions: versions.iter().map(release).collect() }
}

/// Returns the content of a server with two providers and two modules.
pub(crate) fn usual_content() -> ServerDescription {
    ServerDescription {
        providers: vec![
            provider("acme/fake", &["1.0.0", "1.1.0", "1.2.0-beta1", "2.0.0"]),
            provider("acme/other", &["0.1.0"]),
            provider("hashicorp/implied", &["3.0.0"]),
        ],
        modules: vec![
            module("acme/net/aws", &["1.0.0", "1.1.0", "1.2.0-beta1", "2.0.0"]),
            module("acme/zone/aws", &["0.1.0"]),
        ],
        ..ServerDescription::default()
    }
}

/// Returns the text of a root module that requires providers: names, sources and constraints.
pub(crate) fn requiring(providers: &[(&str, &str, &str)]) -> String {
    let mut text = "terraform {\n  required_providers {\n".to_owned();
    for (name, source, version) in providers {
        let _ = write!(text, "    {name} = {{\n      source  = \"{source}\"\n");
        if !version.is_empty() {
            let _ = writeln!(text, "      version = \"{version}\"");
        }
        text.push_str("    }\n");
    }
    text + "  }\n}\n"
}

/// Creates a temporary directory that only this user can change.
pub(crate) fn private_directory() -> TempDir {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/end-to-end");
    fs::create_dir_all(&parent).unwrap();
    tempfile::Builder::new().prefix("installation-").tempdir_in(parent.canonicalize().unwrap()).unwrap()
}

/// A server, and a project that uses it.
pub(crate) struct Installation {
    pub(crate) server: RegistryServer,
    pub(crate) project: Project,
    /// The user's cache, which is not shared with other tests. It is not in the system's directory
    /// of temporary files, because Wardian does not use a cache in a directory that other users can
    /// change.
    pub(crate) cache: TempDir,
}

impl Installation {
    /// Starts a server, and creates a project with these files and a CLI configuration.
    pub(crate) fn new(content: ServerDescription, files: &[(&str, &str)]) -> Self {
        let server = RegistryServer::start(|_| content);
        let project = Project::new(&[]);
        let installation = Self { server, project, cache: private_directory() };
        installation.write(CLI_FILE, CLI_CONFIGURATION);
        for (path, text) in files {
            installation.write(path, text);
        }
        installation
    }

    /// Writes a file, in which placeholders for addresses are replaced.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.project.write(path, self.replaced(text));
    }

    /// Replaces the placeholders for the server's addresses, the project's directory, and the platform.
    pub(crate) fn replaced(&self, text: &str) -> String {
        self.server
            .with_addresses(text)
            .replace("[FOLDER]", &self.project.path("").display().to_string())
            .replace("[PLATFORM]", &platform())
    }

    /// Replaces text that differs from run to run with placeholders.
    pub(crate) fn named(&self, text: &str) -> String {
        let directory = self.project.path("");
        let canonical = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        let mut text = text.replace(&platform(), "[PLATFORM]");
        for path in [canonical, directory] {
            text = text.replace(&path.display().to_string(), "[FOLDER]");
        }
        for (name, origin) in [
            ("[PLAIN]", Origin::Plain),
            ("[TLS]", Origin::Tls),
            ("[OTHER]", Origin::OtherPlain),
            ("[OTHER_TLS]", Origin::OtherTls),
            ("[PROXY]", Origin::Proxy),
        ] {
            text = text.replace(&self.server.url(origin), name);
        }
        for (name, host, origin) in [
            ("[HOST]", "localhost", Origin::Tls),
            ("[PLAIN_HOST]", "127.0.0.1", Origin::Plain),
            ("[PROXY_HOST]", "127.0.0.1", Origin::Proxy),
        ] {
            text = text.replace(&format!("{host}:{}", self.server.addresses().port(origin)), name);
        }
        text
    }

    /// Returns the environment variables of all commands.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        vec![
            ("TF_CLI_CONFIG_FILE".to_owned(), self.project.path(CLI_FILE).display().to_string()),
            ("SSL_CERT_FILE".to_owned(), self.server.authority_file().display().to_string()),
            // The test servers run on this machine.
            ("WARDIAN_OFFLINE".to_owned(), String::new()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned()),
        ]
    }

    /// Runs `wardian` with the CLI configuration and a separate cache.
    pub(crate) fn run(&self, line: &str) -> Seen {
        self.run_with(line, "", &[])
    }

    pub(crate) fn run_with(&self, line: &str, input: &str, more: &[(&str, &str)]) -> Seen {
        let mut variables = self.variables();
        variables.push(("XDG_CACHE_HOME".to_owned(), self.cache.path().display().to_string()));
        variables.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut seen = self.project.run_with(line, input, &variables);
        seen.out = self.named(&seen.out);
        seen.errors = self.named(&seen.errors);
        seen
    }

    /// Builds the `wardian` command.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.project.command(line);
        command.envs(self.variables()).env("XDG_CACHE_HOME", self.cache.path());
        command
    }

    /// Returns the request lines of all requests since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.server.take_requests().iter().map(|request| request.line()).collect()
    }

    /// Writes the package of a provider in the layout of a filesystem mirror, packed or unpacked.
    pub(crate) fn place(&self, directory: &str, host: &str, address: &str, version: &str, is_packed: bool) {
        let kind = address.split('/').next_back().unwrap();
        let name = format!("terraform-provider-{kind}_{version}_{}.zip", platform());
        let package = self.server.release_file(address, version, &name).unwrap();
        if is_packed {
            self.project.write(&format!("{directory}/{host}/{address}/{name}"), package);
            return;
        }
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(package)).unwrap();
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).unwrap();
            let path =
                format!("{directory}/{host}/{address}/{version}/{}/{}", platform(), entry.name().unwrap());
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            self.project.write(&path, content);
            let permissions = fs::Permissions::from_mode(entry.unix_mode().unwrap_or(0o644) & 0o777);
            fs::set_permissions(self.project.path(&path), permissions).unwrap();
        }
    }
}

/// Runs a command with input. If it does not end within the limit, the command is killed, and the
/// result is [`None`].
pub(crate) fn output_within(mut command: Command, input: &str, limit: Duration) -> Option<Output> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    thread::spawn(move || {
        // A command that does not read its input may already have exited.
        let _ = stdin.write_all(input.as_bytes());
    });
    let reader = |mut stream: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = reader(Box::new(child.stdout.take().unwrap()));
    let errors = reader(Box::new(child.stderr.take().unwrap()));
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(Output {
                code: status.code(),
                out: out.join().unwrap_or_default(),
                errors: errors.join().unwrap_or_default(),
            });
        }
        if started.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A commit of a repository that a test creates.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitCommit {
    /// Files by path; null removes a file.
    pub(crate) files: std::collections::BTreeMap<String, Option<String>>,
    pub(crate) tag: Option<String>,
    /// The branch of this commit and of the following commits. The branch is created if necessary.
    pub(crate) branch: Option<String>,
}

impl GitCommit {
    pub(crate) fn new(files: &[(&str, &str)], tag: Option<&str>) -> Self {
        Self {
            files: files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect(),
            tag: tag.map(str::to_owned),
            branch: None,
        }
    }
}

/// Creates a bare repository `DIRECTORY/NAME.git` with these commits. The commits have the same
/// hashes in every run.
pub(crate) fn create_repository(directory: &Path, name: &str, commits: &[GitCommit]) {
    let work = directory.join(format!("{name}.work"));
    fs::create_dir_all(&work).unwrap();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(&work)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", "Tester")
            .env("GIT_AUTHOR_EMAIL", "tester@example.test")
            .env("GIT_COMMITTER_NAME", "Tester")
            .env("GIT_COMMITTER_EMAIL", "tester@example.test")
            .env("GIT_AUTHOR_DATE", "2025-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2025-01-01T00:00:00Z")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    for commit in commits {
        if let Some(branch) = &commit.branch {
            git(&["checkout", "--quiet", "-B", branch]);
        }
        for (path, text) in &commit.files {
            let file = work.join(path);
            match text {
                Some(text) => {
                    fs::create_dir_all(file.parent().unwrap()).unwrap();
                    fs::write(&file, text).unwrap();
                }
                None => fs::remove_file(&file).unwrap(),
            }
        }
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--allow-empty", "--message=change"]);
        if let Some(tag) = &commit.tag {
            git(&["tag", tag]);
        }
    }
    git(&["checkout", "--quiet", "main"]);
    let bare = directory.join(format!("{name}.git")).display().to_string();
    git(&["clone", "--quiet", "--bare", ".", &bare]);
    fs::remove_dir_all(&work).unwrap();
}
