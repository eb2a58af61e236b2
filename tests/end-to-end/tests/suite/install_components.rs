//! Components from registries, mirrors and OCI registries: the selected package, and the content of
//! the lock file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::path::{Path, PathBuf};

use wardian_end_to_end::{platform, terraform};
use wardian_registry_server::{ComponentChannel, OciRepository, ServerDescription};

use crate::install_setup::{CLI_CONFIGURATION, CLI_FILE, Installation, provider, requiring, usual_content};

const USE: &str = "\nresource \"null_resource\" \"a\" {}\n";

/// Returns the file of an embedded plugin, if it was built.
pub(crate) fn component(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("WARDIAN_TEST_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/test"),
        PathBuf::from,
    );
    let path = directory.parent()?.join(format!("{name}.wasm"));
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: {} does not exist; `cargo xtask guests` builds it", path.display());
    None
}

/// Returns a server with a release that has native packages and a component.
fn content(channel: ComponentChannel, has_native: bool) -> Option<ServerDescription> {
    let file = component("null")?;
    let mut release = provider("acme/null", &["1.0.0"]);
    release.versions[0].component = Some(file);
    release.versions[0].component_channel = channel;
    if !has_native {
        release.versions[0].platforms.clear();
    }
    Some(ServerDescription { providers: vec![release], ..usual_content() })
}

fn configuration() -> String {
    requiring(&[("null", "example.test/acme/null", "1.0.0")]) + USE
}

/// Returns the hashes of a lock file that has one provider.
fn hashes(lock: &str) -> Vec<String> {
    let lines =
        lock.lines().map(str::trim).filter(|line| line.starts_with("\"h1:") || line.starts_with("\"zh:"));
    lines.map(|line| line.trim_matches(['"', ',']).to_owned()).collect()
}

/// Returns the `zh:` hashes of SHA256SUMS, sorted.
fn signed_hashes(installation: &Installation) -> Vec<String> {
    let sums = "terraform-provider-null_1.0.0_SHA256SUMS";
    let sums = installation.server.release_file("acme/null", "1.0.0", sums).unwrap();
    let sums = String::from_utf8(sums).unwrap();
    let mut hashes: Vec<String> =
        sums.lines().filter_map(|line| Some(format!("zh:{}", line.split(' ').next()?))).collect();
    hashes.sort();
    hashes.dedup();
    hashes
}

#[test]
fn release_component_is_used_instead_of_the_native_package() {
    for channel in [ComponentChannel::Platform, ComponentChannel::Sums, ComponentChannel::SumsZip] {
        let Some(content) = content(channel, true) else { return };
        let installation = Installation::new(content, &[("main.tf", &configuration())]);
        let seen = installation.run("init").success();
        assert!(seen.out.contains("component"), "{channel:?}: {}", seen.text());
        let requests = installation.requests();
        let native = format!("_{}.zip", platform());
        assert!(!requests.iter().any(|line| line.contains(&native)), "{channel:?}: {requests:#?}");
        // The entry equals the one that Terraform writes if there is no package for this platform.
        let lock = installation.project.read(".terraform.lock.hcl");
        assert_eq!(hashes(&lock), signed_hashes(&installation), "{channel:?}: {lock}");
        let applied = installation.run("apply -auto-approve").success();
        assert!(applied.out.contains("1 added"), "{channel:?}: {}", applied.text());
        installation.requests();
        installation.run("init").success();
        assert_eq!(installation.requests(), Vec::<String>::new(), "{channel:?}");
    }
}

#[test]
fn release_with_only_a_component_is_installed() {
    let Some(content) = content(ComponentChannel::Platform, false) else { return };
    let installation = Installation::new(content, &[("main.tf", &configuration())]);
    installation.run("init").success();
    installation.run("apply -auto-approve").success();
}

#[test]
fn terraform_lock_file_pins_the_component() {
    for channel in [ComponentChannel::Platform, ComponentChannel::Sums] {
        let Some(content) = content(channel, true) else { return };
        let installation = Installation::new(content, &[("main.tf", &configuration())]);
        let Some(terraform) = terraform() else { return };
        let mut command = terraform.command(&installation.project, "init");
        command.envs(installation.variables());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lock = installation.project.read(".terraform.lock.hcl");
        std::fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
        installation.run("init -lockfile=readonly").success();
        assert_eq!(installation.project.read(".terraform.lock.hcl"), lock, "{channel:?}");
        installation.run("apply -auto-approve").success();

        // Terraform also accepts the lock file that Wardian writes.
        std::fs::remove_file(installation.project.path(".terraform.lock.hcl")).unwrap();
        std::fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
        installation.run("init").success();
        let mut command = terraform.command(&installation.project, "init");
        let output = command.envs(installation.variables()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn changed_component_does_not_match_the_lock_file() {
    let Some(content) = content(ComponentChannel::Sums, true) else { return };
    let Some(other) = component("time") else { return };
    let installation = Installation::new(content, &[("main.tf", &configuration())]);
    installation.run("init").success();
    let lock = installation.project.read(".terraform.lock.hcl");
    let mut description = installation.server.description();
    description.providers[0].versions[0].component = Some(other);
    installation.server.update(description);
    std::fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    // The download cache also contains the correct component.
    std::fs::remove_dir_all(installation.cache.path()).unwrap();
    let refused = installation.run("init").ended_with(1);
    assert!(refused.errors.contains("acme/null"), "{}", refused.text());
    assert_eq!(installation.project.read(".terraform.lock.hcl"), lock);
}

#[test]
fn network_mirror_offers_a_component() {
    let Some(content) = content(ComponentChannel::Platform, true) else { return };
    let installation = Installation::new(content, &[("main.tf", &configuration())]);
    installation.write(
        CLI_FILE,
        "provider_installation {\n  network_mirror {\n    url = \"[TLS]/mirror/\"\n  }\n}\n",
    );
    let seen = installation.run("init").success();
    assert!(seen.out.contains("component"), "{}", seen.text());
    installation.run("apply -auto-approve").success();
}

#[test]
fn oci_mirror_offers_a_component() {
    let Some(content) = content(ComponentChannel::Sums, true) else { return };
    let repository = OciRepository {
        name: "mirror/acme/null".to_owned(),
        provider: Some("acme/null".to_owned()),
        ..OciRepository::default()
    };
    let content = ServerDescription { oci: vec![repository], ..content };
    let installation = Installation::new(content, &[("main.tf", &configuration())]);
    installation.write(
        CLI_FILE,
        "provider_installation {\n  oci_mirror {\n    repository_template = \
         \"[HOST]/mirror/acme/${type}\"\n    include = [\"example.test/acme/*\"]\n  }\n}\n",
    );
    let seen = installation.run("init").success();
    assert!(seen.out.contains("component"), "{}", seen.text());
    installation.run("apply -auto-approve").success();
    let requests = installation.requests();
    let blobs = requests.iter().filter(|line| line.contains("/blobs/") && line.starts_with("GET")).count();
    assert!(blobs <= 2, "{requests:#?}");
}

#[test]
fn mirrored_component_is_installed_from_the_mirror() {
    let Some(content) = content(ComponentChannel::Platform, true) else { return };
    let installation = Installation::new(content, &[("main.tf", &configuration())]);
    installation.run("providers mirror out").success();
    let document = installation.project.read("out/example.test/acme/null/1.0.0.json");
    assert!(document.contains("\"wasip2_wasm\""), "{document}");
    installation.write(
        CLI_FILE,
        "provider_installation {\n  filesystem_mirror {\n    path = \"[FOLDER]/out\"\n  }\n}\n",
    );
    installation.run("init").success();
    installation.run("apply -auto-approve").success();
}

#[test]
fn native_package_is_used_if_there_is_no_component() {
    let installation = Installation::new(
        usual_content(),
        &[("main.tf", &requiring(&[("fake", "example.test/acme/fake", "1.0.0")]))],
    );
    installation.write(CLI_FILE, CLI_CONFIGURATION);
    let seen = installation.run("init").success();
    assert!(seen.out.contains("native"), "{}", seen.text());
}
