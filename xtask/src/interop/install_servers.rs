//! The servers and the configuration of `interop install` and of the installation benchmark: 12
//! modules from a registry and from git, and 4 providers with packages of 50 MB.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::process;
use crate::workspace::Workspace;

/// The delay of each response of the servers.
pub(crate) const LATENCY_MS: u64 = 20;
const PACKAGE_BYTES: u64 = 50_000_000;
const PROVIDERS: usize = 4;
const REGISTRY_MODULES: [&str; 4] = ["net", "zone", "queue", "store"];
const REPOSITORIES: [&str; 3] = ["alpha", "beta", "gamma"];

/// The servers, which are stopped when this value is dropped.
pub(crate) struct Servers {
    process: Child,
    addresses: Value,
}

impl Servers {
    /// Starts the servers with the content of a description.
    pub(crate) fn start(workspace: &Workspace, description: &Value, place: &Path) -> Result<Self> {
        let file = place.join("description.json");
        fs::write(&file, description.to_string())?;
        let program = workspace.host_program("wardian-registry-server");
        let mut process = Command::new(&program)
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let mut line = String::new();
        let out = process.stdout.take().context("the servers have no standard output")?;
        BufReader::new(out).read_line(&mut line)?;
        let addresses = serde_json::from_str(&line).context("the servers did not print their addresses")?;
        Ok(Self { process, addresses })
    }

    /// Returns the URL of an origin: `plain` or `tls`.
    pub(crate) fn url(&self, origin: &str) -> &str {
        self.addresses[origin].as_str().unwrap_or_default()
    }

    /// Returns the certificate of the servers' authority.
    pub(crate) fn authority(&self) -> &str {
        self.url("authority")
    }

    /// Writes the CLI configuration that selects the servers.
    pub(crate) fn write_cli_configuration(&self, file: &Path) -> Result<()> {
        let url = self.url("plain");
        let text = format!(
            "host \"example.test\" {{\n  services = {{\n    \"providers.v1\" = \"{url}/v1/providers/\"\n    \
             \"modules.v1\"   = \"{url}/v1/modules/\"\n  }}\n}}\n"
        );
        fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
    }

    /// Returns the number of requests since the last call.
    pub(crate) fn take_request_count(&self) -> Result<usize> {
        let requests: Value = serde_json::from_str(&self.get("/-/requests")?)?;
        self.get("/-/forget-requests")?;
        Ok(requests.as_array().map_or(0, Vec::len))
    }

    /// Sends a request about the servers themselves.
    fn get(&self, path: &str) -> Result<String> {
        use std::io::{Read as _, Write as _};
        let address = self.url("plain").trim_start_matches("http://").to_owned();
        let mut stream = std::net::TcpStream::connect(&address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("the servers sent no response")?;
        Ok(body.to_owned())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // The program exits when its standard input is closed.
        drop(self.process.stdin.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the description of the servers, and creates the repositories in `place`.
pub(crate) fn description(workspace: &Workspace, place: &Path) -> Result<Value> {
    let program = stripped(&workspace.host_program("wardian-native-plugin"), place)?;
    let padding = PACKAGE_BYTES.saturating_sub(fs::metadata(&program)?.len());
    let providers: Vec<Value> = (0..PROVIDERS)
        .map(|number| {
            json!({
                "address": format!("acme/p{number}"),
                "versions": [
                    { "version": "1.0.0" },
                    { "version": "1.1.0", "package": { "program": { "path": program, "padding": padding } },
                      "platforms": [platform()] },
                ],
            })
        })
        .collect();
    let modules: Vec<Value> = REGISTRY_MODULES
        .iter()
        .map(|name| {
            let version = |version: &str| {
                json!({
                    "version": version,
                    "files": {
                        "main.tf": output(name, version),
                        "modules/inner/main.tf": output("inner", version),
                    },
                })
            };
            json!({ "address": format!("acme/{name}/test"), "versions": [version("1.0.0"), version("1.1.0")] })
        })
        .collect();
    let git = place.join("git");
    fs::create_dir_all(&git)?;
    for name in REPOSITORIES {
        create_repository(&git, name)?;
    }
    Ok(json!({ "providers": providers, "modules": modules, "git": git, "latency_ms": LATENCY_MS }))
}

fn output(name: &str, version: &str) -> String {
    format!("output \"name\" {{\n  value = \"{name} {version}\"\n}}\n")
}

/// Returns the platform as in package file names.
pub(crate) fn platform() -> String {
    let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}_{architecture}")
}

/// Returns a copy of a program without debug information, to give the package the intended size.
fn stripped(program: &Path, place: &Path) -> Result<PathBuf> {
    if !program.is_file() {
        bail!("{} does not exist", program.display());
    }
    let copy = place.join("native-plugin");
    fs::copy(program, &copy)?;
    if let Some(strip) = process::on_path("strip") {
        process::output(Command::new(strip).arg(&copy))?;
    }
    Ok(copy)
}

/// Creates a repository with two tags, and a module in a subdirectory.
fn create_repository(directory: &Path, name: &str) -> Result<()> {
    let work = directory.join(format!("{name}.work"));
    fs::create_dir_all(work.join("modules/inner"))?;
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&work).env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Tester");
            command.env(format!("GIT_{role}_EMAIL"), "tester@example.test");
            command.env(format!("GIT_{role}_DATE"), "2025-01-01T00:00:00Z");
        }
        process::output(command.env("GIT_CONFIG_GLOBAL", "/dev/null"))
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    for version in ["v1.0.0", "v2.0.0"] {
        fs::write(work.join("main.tf"), output(name, version))?;
        fs::write(work.join("modules/inner/main.tf"), output("inner", version))?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message=change"])?;
        git(&["tag", version])?;
    }
    let bare = directory.join(format!("{name}.git")).display().to_string();
    git(&["clone", "--quiet", "--bare", ".", &bare])?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Returns the root module: 12 modules and 4 providers, with a resource of each provider.
pub(crate) fn configuration(servers: &Servers) -> String {
    let mut text = "terraform {\n  required_providers {\n".to_owned();
    for number in 0..PROVIDERS {
        let _ = write!(
            text,
            "    p{number} = {{\n      source  = \"example.test/acme/p{number}\"\n      version = \"~> 1.0\"\n    }}\n"
        );
    }
    text.push_str("  }\n}\n");
    for number in 0..PROVIDERS {
        let _ = write!(
            text,
            "\nresource \"fake_thing\" \"r{number}\" {{\n  provider = p{number}\n  name     = \"r{number}\"\n}}\n"
        );
    }
    let mut module = |name: &str, source: &str, version: Option<&str>| {
        let version = version.map_or(String::new(), |version| format!("  version = \"{version}\"\n"));
        let _ = write!(text, "\nmodule \"{name}\" {{\n  source  = \"{source}\"\n{version}}}\n");
    };
    for name in REGISTRY_MODULES {
        module(name, &format!("example.test/acme/{name}/test"), Some("~> 1.0"));
    }
    module("net_inner", "example.test/acme/net/test//modules/inner", Some("1.0.0"));
    module("zone_inner", "example.test/acme/zone/test//modules/inner", Some("~> 1.0"));
    let url = servers.url("plain");
    for name in REPOSITORIES {
        module(&format!("{name}_one"), &format!("git::{url}/git/{name}.git?ref=v1.0.0"), None);
        module(&format!("{name}_two"), &format!("git::{url}/git/{name}.git//modules/inner?ref=v2.0.0"), None);
    }
    text
}
