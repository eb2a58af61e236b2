//! Publishers of signed releases: bundles next to a release, pins, policy requirements, and
//! consent. The bundles are verified with the test's own trust root.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use wardian_end_to_end::platform;
use wardian_test_sigstore::{Claims, Content, REPOSITORY, SIGNED_AT, Sigstore};

use crate::install_setup::{CLI_CONFIGURATION, CLI_FILE, Installation, provider, requiring, usual_content};

const ADDRESS: &str = "example.test/acme/signed";
const LOCK: &str = ".wardian.lock.hcl";
const FORK: &str = "https://github.com/evil/terraform-provider-dns";

/// An installation with a Sigstore instance that the CLI configuration trusts.
struct Signed {
    installation: Installation,
    sigstore: Sigstore,
}

impl Signed {
    /// Starts a server with the versions of a provider, which are not signed yet.
    fn new(versions: &[&str]) -> Self {
        let mut content = usual_content();
        content.providers.push(provider("acme/signed", versions));
        let configuration = requiring(&[("signed", ADDRESS, "")]);
        let installation = Installation::new(content, &[("main.tf", &configuration)]);
        let sigstore = Sigstore::new();
        installation.write("home/trusted_root.json", &sigstore.trust_root_json().to_string());
        let trust_root = "sigstore_trust_root = \"[FOLDER]/home/trusted_root.json\"\n";
        installation.write(CLI_FILE, &format!("{CLI_CONFIGURATION}{trust_root}"));
        Self { installation, sigstore }
    }

    fn file(&self, version: &str, suffix: &str) -> (String, Vec<u8>) {
        let name = format!("terraform-provider-signed_{version}_{suffix}");
        let content = self.installation.server.release_file("acme/signed", version, &name).unwrap();
        (name, content)
    }

    fn package(&self, version: &str) -> (String, Vec<u8>) {
        self.file(version, &format!("{}.zip", platform()))
    }

    /// Adds a bundle next to a file.
    fn add(&self, version: &str, name: &str, claims: &Claims, signed: &[u8]) {
        let bundle = self.sigstore.sign(claims, Content::Artifact(signed), SIGNED_AT + 60);
        self.add_text(version, name, bundle.to_string());
    }

    fn add_text(&self, version: &str, name: &str, text: String) {
        let mut description = self.installation.server.description();
        let provider = description.providers.iter_mut().find(|one| one.address == "acme/signed").unwrap();
        let release = provider.versions.iter_mut().find(|one| one.version == version).unwrap();
        release.assets.insert(format!("{name}.sigstore.json"), text);
        self.installation.server.update(description);
    }

    /// Signs the package of a version.
    fn sign(&self, version: &str, claims: &Claims) {
        let (name, content) = self.package(version);
        self.add(version, &name, claims, &content);
    }

    fn require(&self, version: &str) {
        self.installation.write("main.tf", &requiring(&[("signed", ADDRESS, version)]));
    }

    fn lock(&self) -> String {
        self.installation.project.read(LOCK)
    }

    /// Installs 1.0.0, whose publisher is accepted.
    fn pinned() -> Self {
        let signed = Self::new(&["1.0.0", "1.1.0"]);
        signed.sign("1.0.0", &Claims::of_release("v1.0.0"));
        signed.require("1.0.0");
        signed.installation.run(&format!("init -accept={ADDRESS}")).success();
        signed.require("1.1.0");
        signed
    }
}

fn fork() -> Claims {
    Claims::of_release("v1.1.0").with(12, FORK).with(15, "99")
}

#[test]
fn first_publisher_needs_consent_and_is_pinned() {
    let signed = Signed::new(&["1.0.0", "1.1.0"]);
    signed.sign("1.0.0", &Claims::of_release("v1.0.0"));
    signed.sign("1.1.0", &Claims::of_release("v1.1.0"));
    signed.require("1.0.0");
    let installation = &signed.installation;
    let refused = installation.run("init").ended_with(4);
    assert!(refused.errors.contains(&format!("wardian init -accept={ADDRESS}")), "{}", refused.text());
    assert!(refused.text().contains(REPOSITORY), "{}", refused.text());
    assert!(!installation.project.has(".terraform.lock.hcl") && !installation.project.has(LOCK));

    let reported = installation.run("init -json").ended_with(4);
    let event = reported.out.lines().find(|line| line.contains("\"type\":\"publisher\"")).unwrap();
    let event: serde_json::Value = serde_json::from_str(event).unwrap();
    assert_eq!(event["publisher"]["change"], "new");
    assert_eq!(event["publisher"]["identity"]["repository"], REPOSITORY);

    installation.run(&format!("init -accept={ADDRESS}")).success();
    let pins = signed.lock();
    assert!(pins.contains(&format!("publisher \"{ADDRESS}\"")), "{pins}");
    assert!(pins.contains(".github/workflows/release.yml\""), "{pins}");
    installation.requests();
    installation.run("init").success();
    assert_eq!(installation.requests(), Vec::<String>::new());
    // The next release from the same workflow, built from another tag.
    signed.require("1.1.0");
    installation.run("init -upgrade").success();
    assert_eq!(signed.lock(), pins);
}

#[test]
fn changed_publisher_stops_init_until_it_is_accepted() {
    let signed = Signed::pinned();
    signed.sign("1.1.0", &fork());
    let installation = &signed.installation;
    let (pins, lock) = (signed.lock(), installation.project.read(".terraform.lock.hcl"));
    let refused = installation.run("init -upgrade").ended_with(4);
    assert!(refused.errors.contains("Publisher has changed"), "{}", refused.text());
    assert!(refused.errors.contains("repository_id changed from 1234 to 99"), "{}", refused.text());
    assert!(
        refused.errors.contains(&format!("wardian init -upgrade -accept={ADDRESS}")),
        "{}",
        refused.text()
    );
    assert_eq!((signed.lock(), installation.project.read(".terraform.lock.hcl")), (pins, lock));
    installation.run(&format!("init -upgrade -accept={ADDRESS}")).success();
    assert!(signed.lock().contains(FORK), "{}", signed.lock());
}

#[test]
fn unsigned_release_after_signed_releases_stops_init() {
    let signed = Signed::pinned();
    let refused = signed.installation.run("init -upgrade").ended_with(4);
    assert!(refused.errors.contains("Signature is missing"), "{}", refused.text());
    assert!(refused.errors.contains(REPOSITORY), "{}", refused.text());
    let pins = signed.lock();
    signed.installation.run(&format!("init -upgrade -accept={ADDRESS}")).success();
    assert_ne!(signed.lock(), pins);
    assert!(!signed.lock().contains("publisher"), "{}", signed.lock());
}

#[test]
fn signature_for_another_artifact_is_invalid() {
    let signed = Signed::new(&["1.0.0"]);
    let (name, _) = signed.package("1.0.0");
    signed.add("1.0.0", &name, &Claims::of_release("v1.0.0"), b"another file");
    let refused = signed.installation.run(&format!("init -accept={ADDRESS}")).ended_with(1);
    assert!(refused.errors.contains("Invalid publisher signature"), "{}", refused.text());
    assert!(!signed.installation.project.has(".terraform.lock.hcl"));
    // A page that a server sends in place of a missing file is not a signature.
    signed.add_text("1.0.0", &name, "<html>Not found</html>".to_owned());
    signed.installation.run("init").success();
}

#[test]
fn signature_does_not_verify_with_another_trust_root() {
    let signed = Signed::new(&["1.0.0"]);
    signed.sign("1.0.0", &Claims::of_release("v1.0.0"));
    signed.installation.write(CLI_FILE, CLI_CONFIGURATION);
    let refused = signed.installation.run(&format!("init -accept={ADDRESS}")).ended_with(1);
    assert!(refused.errors.contains("Invalid publisher signature"), "{}", refused.text());
}

#[test]
fn policy_requires_a_publisher() {
    let signed = Signed::new(&["1.0.0", "1.1.0"]);
    signed.sign("1.1.0", &Claims::of_release("v1.1.0"));
    let installation = &signed.installation;
    let rule = |repository: &str| {
        format!(
            "require_signature \"{ADDRESS}\" {{\n  issuer     = \
             \"https://token.actions.githubusercontent.com\"\n  repository = \"{repository}\"\n  reason     = \
             \"SEC-21\"\n}}\nplugin \"{ADDRESS}\" {{\n  native = \"warn\"\n}}\n"
        )
    };
    installation.write("home/organisation.hcl", &rule("https://github.com/acme/*"));
    let policy = installation.project.path("home/organisation.hcl").display().to_string();
    let variables = [("WARDIAN_POLICY", policy.as_str())];
    signed.require("1.0.0");
    let refused = installation.run_with(&format!("init -accept={ADDRESS}"), "", &variables).ended_with(1);
    assert!(refused.errors.contains("Policy requires a signature"), "{}", refused.text());
    assert!(refused.errors.contains("organisation.hcl:1"), "{}", refused.text());
    signed.require("1.1.0");
    // If the policy requires the publisher, Wardian does not ask for consent.
    installation.run_with("init", "", &variables).success();
    assert!(signed.lock().contains(REPOSITORY), "{}", signed.lock());
    installation.write("home/organisation.hcl", &rule("https://github.com/other/*"));
    let refused = installation.run_with("init", "", &variables).ended_with(1);
    assert!(refused.errors.contains("Policy requires another publisher"), "{}", refused.text());
}

#[test]
fn signed_checksums_identify_the_publisher() {
    let signed = Signed::new(&["1.0.0"]);
    let (name, content) = signed.file("1.0.0", "SHA256SUMS");
    signed.add("1.0.0", &name, &Claims::of_release("v1.0.0"), &content);
    signed.installation.run(&format!("init -accept={ADDRESS}")).success();
    assert!(signed.lock().contains(REPOSITORY), "{}", signed.lock());
}

#[test]
fn pins_do_not_change_in_read_only_and_untrusted_runs() {
    let signed = Signed::new(&["1.0.0"]);
    signed.installation.run("init").success();
    signed.sign("1.0.0", &Claims::of_release("v1.0.0"));
    std::fs::remove_dir_all(signed.installation.project.path(".terraform")).unwrap();
    for option in ["-lockfile=readonly", "-untrusted"] {
        let refused = signed.installation.run(&format!("init {option} -accept={ADDRESS}")).ended_with(4);
        assert!(refused.errors.contains(REPOSITORY), "{}", refused.text());
        assert!(!signed.installation.project.has(LOCK));
    }
}
