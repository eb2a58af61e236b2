//! `plugin publish`: releases are the same in every run, Terraform installs the published native
//! package, and Wardian installs the published component.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use wardian_end_to_end::{Seen, platform, terraform};
use wardian_registry_server::{ProviderRelease, RegistryProvider, ServerDescription};
use wardian_state_server::free_port;

use crate::install_components::component;
use crate::install_setup::{CLI_FILE, Installation, requiring, usual_content};

const NATIVE: &str = "#!/bin/sh\nexit 1\n";

/// Returns an installation with the files to publish; [`None`] if the component was not built.
fn publisher() -> Option<Installation> {
    let file = component("null")?;
    let installation = Installation::new(usual_content(), &[]);
    installation.project.write("provider.wasm", fs::read(file).unwrap());
    installation.project.write("native", NATIVE);
    installation.write("main.tf", &requiring(&[("null", "example.test/acme/null", "1.0.0")]));
    Some(installation)
}

fn publish(installation: &Installation, target: &str, more: &str) -> Seen {
    let line = format!(
        "plugin publish -address=example.test/acme/null -version=1.0.0 -component=provider.wasm \
         -native={}=native -native=plan9_mips=native {more} {target}",
        platform()
    );
    installation.run(line.trim_end())
}

/// Returns the digests of the files of a directory.
fn digests(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    entries
        .map(|entry| {
            let digest = Sha256::digest(fs::read(entry.path()).unwrap());
            let digest = digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
            (entry.file_name().to_string_lossy().into_owned(), digest)
        })
        .collect()
}

#[test]
fn release_is_the_same_in_every_run() {
    let Some(installation) = publisher() else { return };
    publish(&installation, "-dir=one", "").success();
    // File modification times do not affect the result.
    installation.project.write("native", NATIVE);
    publish(&installation, "-dir=two", "").success();
    let (one, two) = (digests(&installation.project.path("one")), digests(&installation.project.path("two")));
    assert_eq!(one, two);
    assert!(one.contains_key("terraform-provider-null_1.0.0_wasip2_wasm.wasm"), "{one:?}");
    let sums = installation.project.read("one/terraform-provider-null_1.0.0_SHA256SUMS");
    for line in sums.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        assert_eq!(one.get(name).map(String::as_str), Some(digest), "{name}");
    }
}

#[test]
fn source_date_changes_the_times_in_a_release() {
    let Some(installation) = publisher() else { return };
    publish(&installation, "-dir=one", "").success();
    let line = format!(
        "plugin publish -address=example.test/acme/null -version=1.0.0 -component=provider.wasm \
         -native={}=native -native=plan9_mips=native -dir=two",
        platform()
    );
    installation.run_with(&line, "", &[("SOURCE_DATE_EPOCH", "1700000000")]).success();
    let name = "terraform-provider-null_1.0.0_plan9_mips.zip";
    let (one, two) = (digests(&installation.project.path("one")), digests(&installation.project.path("two")));
    assert_ne!(one[name], two[name]);
    let bare = "terraform-provider-null_1.0.0_wasip2_wasm.wasm";
    assert_eq!(one[bare], two[bare]);
}

#[test]
fn published_release_is_installed_by_terraform_and_wardian() {
    for more in ["", "-component-zip"] {
        let Some(installation) = publisher() else { return };
        publish(&installation, "-dir=release", more).success();
        let release = ProviderRelease {
            version: "1.0.0".to_owned(),
            directory: Some(installation.project.path("release")),
            ..ProviderRelease::default()
        };
        let provider = RegistryProvider {
            address: "acme/null".to_owned(),
            versions: vec![release],
            warnings: Vec::new(),
        };
        installation
            .server
            .update(ServerDescription { providers: vec![provider], ..ServerDescription::default() });
        let seen = installation.run("init").success();
        assert!(seen.out.contains("component"), "{}", seen.text());
        let lock = installation.project.read(".terraform.lock.hcl");
        if let Some(terraform) = terraform() {
            fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
            let mut command = terraform.command(&installation.project, "init");
            let output = command.envs(installation.variables()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let file = format!(
                ".terraform/providers/example.test/acme/null/1.0.0/{}/terraform-provider-null_v1.0.0",
                platform()
            );
            assert_eq!(installation.project.read(&file), NATIVE);
            let both = installation.project.read(".terraform.lock.hcl");
            for line in lock.lines().filter(|line| line.contains("zh:")) {
                assert!(both.contains(line), "{line} is not in {both}");
            }
        }
    }
}

/// Returns the CLI configuration with an OCI mirror.
fn oci_configuration(host: &str) -> String {
    format!(
        "provider_installation {{\n  oci_mirror {{\n    repository_template = \
         \"{host}/mirror/${{namespace}}/${{type}}\"\n    include = [\"example.test/acme/*\"]\n  }}\n}}\n"
    )
}

#[test]
fn release_is_pushed_once_to_oci_registry() {
    let Some(installation) = publisher() else { return };
    let target = installation.replaced("oci://[HOST]/mirror/acme/null");
    publish(&installation, &target, "").success();
    let first = installation.server.oci_manifest("mirror/acme/null", "1.0.0").unwrap();
    publish(&installation, &target, "").success();
    assert_eq!(installation.server.oci_manifest("mirror/acme/null", "1.0.0").unwrap(), first);
    let tags = installation.server.oci_tags("mirror/acme/null");
    assert_eq!(tags, ["1.0.0", "wasm-1.0.0"]);
    // Publishing different content under the same version requires an option.
    installation.project.write("native", "#!/bin/sh\nexit 2\n");
    let refused = publish(&installation, &target, "").ended_with(1);
    assert!(refused.errors.contains("already published"), "{}", refused.text());
    assert_eq!(installation.server.oci_manifest("mirror/acme/null", "1.0.0").unwrap(), first);
    publish(&installation, &target, "-replace").success();
    assert_ne!(installation.server.oci_manifest("mirror/acme/null", "1.0.0").unwrap(), first);
}

#[test]
fn pushed_release_is_installed_from_oci_mirror() {
    let Some(installation) = publisher() else { return };
    publish(&installation, &installation.replaced("oci://[HOST]/mirror/acme/null"), "").success();
    installation.write(CLI_FILE, &oci_configuration("[HOST]"));
    let seen = installation.run("init").success();
    assert!(seen.out.contains("component"), "{}", seen.text());
    installation.project.write("resource.tf", "resource \"null_resource\" \"a\" {}\n");
    installation.run("apply -auto-approve").success();
}

#[test]
fn push_and_pull_use_docker_credentials() {
    let Some(installation) = publisher() else { return };
    let mut description = installation.server.description();
    description.password = Some("user:pass".to_owned());
    installation.server.update(description);
    let target = installation.replaced("oci://[HOST]/mirror/acme/null");
    let refused = publish(&installation, &target, "").ended_with(1);
    assert!(!refused.text().contains("user:pass"), "{}", refused.text());
    // `user:pass` in base64.
    installation.write("home/.docker/config.json", "{\"auths\": {\"[HOST]\": {\"auth\": \"dXNlcjpwYXNz\"}}}");
    publish(&installation, &target, "").success();
    installation.write(CLI_FILE, &oci_configuration("[HOST]"));
    installation.run("init").success();
    for request in installation.server.requests() {
        let authorization = request.header("authorization");
        assert!(
            request.path.starts_with("/token") || !authorization.starts_with("Basic"),
            "{}",
            request.line()
        );
    }
}

/// Debian's OCI registry.
struct DockerRegistry {
    process: Child,
    port: u16,
}

impl DockerRegistry {
    fn start(directory: &Path) -> Option<Self> {
        let port = free_port();
        let configuration = format!(
            "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\n  delete:\n    \
             enabled: true\nhttp:\n  addr: 127.0.0.1:{port}\n",
            directory.join("blobs").display()
        );
        let file = directory.join("registry.yml");
        fs::create_dir_all(directory).unwrap();
        fs::write(&file, configuration).unwrap();
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut process) = process else {
            println!("skipped: there is no `docker-registry` (Debian's package of that name)");
            return None;
        };
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(matches!(process.try_wait(), Ok(None)), "docker-registry has ended");
            assert!(started.elapsed() < Duration::from_secs(30), "docker-registry does not listen");
            sleep(Duration::from_millis(10));
        }
        Some(Self { process, port })
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn docker_registry_serves_published_release() {
    let Some(installation) = publisher() else { return };
    let Some(registry) = DockerRegistry::start(&installation.project.path("home/registry")) else { return };
    let host = format!("127.0.0.1:{}", registry.port);
    let variables = [("WARDIAN_OCI_PLAIN_HTTP", host.as_str())];
    let line = format!(
        "plugin publish -address=example.test/acme/null -version=1.0.0 -component=provider.wasm \
         -native={}=native oci://{host}/mirror/acme/null",
        platform()
    );
    installation.run_with(&line, "", &variables).success();
    installation.run_with(&line, "", &variables).success();
    installation.project.write(CLI_FILE, oci_configuration(&host));
    let seen = installation.run_with("init", "", &variables).success();
    assert!(seen.out.contains("component"), "{}", seen.text());
}

#[test]
fn plugin_cache_is_pruned_to_a_size() {
    let installation = Installation::new(
        usual_content(),
        &[(
            "main.tf",
            &requiring(&[
                ("fake", "example.test/acme/fake", "1.0.0"),
                ("other", "example.test/acme/other", ""),
            ]),
        )],
    );
    let cache = installation.project.path("plugin-cache");
    fs::create_dir_all(&cache).unwrap();
    let cache = cache.display().to_string();
    let variables = [("TF_PLUGIN_CACHE_DIR", cache.as_str())];
    installation.run_with("init", "", &variables).success();
    let package = format!("plugin-cache/example.test/acme/fake/1.0.0/{}", platform());
    assert!(installation.project.has(&package));
    installation.run_with("plugin cache prune -max-size=1GB", "", &variables).success();
    assert!(installation.project.has(&package));
    installation.run_with("plugin cache prune -max-size=0 -dry-run", "", &variables).success();
    assert!(installation.project.has(&package));
    installation.run_with("plugin cache prune -max-size=0", "", &variables).success();
    assert!(!installation.project.has(&package));
    installation.run_with("init", "", &variables).success();
}
