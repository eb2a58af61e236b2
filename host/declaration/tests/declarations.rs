//! Declarations of components: parsing, comparison with imports, consent, and hostile input.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use support::{component, custom, import, leb, nested, section};
use wardian_component::{CheckError, LimitExceeded};
use wardian_declaration::{
    Approval, ApprovedCapabilities, Declaration, InspectError, Inspected, MAX_DECLARATION_SIZE, SECTION_NAME,
    inspect,
};
use wardian_policy::{IdentityPart, Level, Policy, PolicyFile, PublisherIdentity, add_grants};

const ROOT: &str = "/srv/project";
const HTTP: &str = "wasi:http/outgoing-handler@0.2.6";
const NETWORK: &str = r#"{"version":1,"sdk":"wardian-sdk 0.1.0","capabilities":[{"network":{"hosts":["api.example.com"],"reason":"zones"}}]}"#;
const FILES: &str =
    r#"{"version":1,"sdk":"other 2","capabilities":[{"filesystem":{"reason":"files","directories":["."]}}]}"#;

fn look(bytes: &[u8]) -> Result<Inspected, InspectError> {
    inspect(bytes, Path::new(ROOT))
}

fn declared(text: &str) -> Result<Declaration, InspectError> {
    look(&component(&[custom(SECTION_NAME, text.as_bytes())])).map(|found| found.declaration)
}

fn requests(declaration: &Declaration) -> Vec<String> {
    declaration.requests.iter().map(|one| format!("{} {}", one.capability(), one.description())).collect()
}

#[test]
fn component_without_section_has_empty_declaration() {
    let found = look(&component(&[import("wasi:cli/environment@0.2.6"), custom("other", b"{")])).unwrap();
    assert_eq!(found.declaration, Declaration::default());
    assert_eq!(found.imports, ["wasi:cli/environment@0.2.6".into()]);
    assert_eq!(found.verify_imports(), wardian_declaration::ImportVerification::default());
}

#[test]
fn all_sections_are_combined() {
    let module = nested(1, &[custom(SECTION_NAME, FILES.as_bytes())]);
    let inner = nested(4, &[custom(SECTION_NAME, NETWORK.as_bytes()), custom(SECTION_NAME, b"\n\n")]);
    let empty = r#"{"version":1,"capabilities":[]}"#;
    let bytes = component(&[custom(SECTION_NAME, empty.as_bytes()), module, inner]);
    let found = look(&bytes).unwrap().declaration;
    assert_eq!(
        requests(&found),
        ["filesystem read /srv/project", "network https to api.example.com, the scheme's port"]
    );
    assert_eq!(found.sdks, ["other 2", "wardian-sdk 0.1.0"]);
    // Duplicate requests are merged, since linkers concatenate documents.
    assert_eq!(requests(&declared(&format!("{NETWORK}\n{NETWORK}\n{FILES}")).unwrap()).len(), 2);
}

#[test]
fn imports_must_be_declared() {
    let with = |imports: &[&str], text: &str| {
        let mut sections: Vec<Vec<u8>> = imports.iter().map(|name| import(name)).collect();
        sections.push(custom(SECTION_NAME, text.as_bytes()));
        look(&component(&sections)).unwrap().verify_imports()
    };
    let lying = with(&[HTTP, "wasi:sockets/tcp@0.2.6", "wardian:plugin/process@0.1.0"], FILES);
    let told: Vec<String> = lying.undeclared.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"));
    assert!(with(&[HTTP], NETWORK).undeclared.is_empty());
    assert_eq!(with(&["wasi:http/types@0.2.6"], NETWORK).unused, ["network"]);
    let passive = with(&["wasi:http/types@0.2.6", "wasi:sockets/network@0.2.6"], FILES);
    assert_eq!(passive, wardian_declaration::ImportVerification::default());
    // An unknown interface of `wasi:http` also counts as network access.
    assert_eq!(with(&["wasi:http/something@0.9.0"], FILES).undeclared.len(), 1);
}

#[test]
fn rejects_invalid_declarations() {
    let long_sdk = "x".repeat(200);
    let lists = r#"{"network":{"hosts":["a.example"],"reason":"r"}}"#;
    let many: Vec<String> =
        (0..200).map(|one| lists.replace("a.example", &format!("a{one}.example"))).collect();
    let line = |capabilities: &str| format!(r#"{{"version":1,"capabilities":[{capabilities}]}}"#);
    let problems: Vec<String> = [
        "no json".to_owned(),
        "\u{1b}[2J".to_owned(),
        r#"{"version":2,"new":[]}"#.to_owned(),
        r#"{"version":1,"capabilities":[],"more":1}"#.to_owned(),
        r#"{"version":1}"#.to_owned(),
        r#"{"version":1,"version":1,"capabilities":[]}"#.to_owned(),
        format!(r#"{{"version":1,"sdk":"{long_sdk}","capabilities":[]}}"#),
        r#"{"version":1,"sdk":"\u001b[2J","capabilities":[]}"#.to_owned(),
        line(r#"{"secrets":{"reason":"r"}}"#),
        line(r#"{"network":{"hosts":["a.example"]}}"#),
        line(r#"{"network":{"hosts":"a.example","reason":"r"}}"#),
        line(r#"{"network":{"hosts":[1],"reason":"r"}}"#),
        line(r#"{"network":{"hosts":["a.example"],"hosts":["b.example"],"reason":"r"}}"#),
        line(r#"{"network {}\n}":{"hosts":["a.example"],"reason":"r"}}"#),
        line(r#"{"filesystem":{"directories":["../.."],"reason":"r"}}"#),
        line(&many.join(",")),
        format!("{NETWORK}\n{}", "[".repeat(10_000)),
    ]
    .iter()
    .map(|text| declared(text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn hostile_input_is_rejected_quickly() {
    let started = Instant::now();
    let hundred_megabytes = custom(SECTION_NAME, &vec![b' '; 100 << 20]);
    assert_eq!(look(&component(&[hundred_megabytes])), Err(InspectError::TooLarge));
    let half = custom(SECTION_NAME, &vec![b' '; MAX_DECLARATION_SIZE / 2]);
    assert_eq!(look(&component(&[half.clone(), half.clone(), half])), Err(InspectError::TooLarge));
    let mut deep = component(&[]);
    for _ in 0..10_000 {
        deep = component(&[section(4, &deep)]);
    }
    assert_eq!(
        look(&deep),
        Err(InspectError::Limit(CheckError::Limit(LimitExceeded {
            what: "nested components",
            measured: 65,
            limit: 64
        })))
    );
    let many: Vec<Vec<u8>> = (0..20_000).map(|_| import("a:b/c@1.0.0")).collect();
    assert_eq!(look(&component(&many)), Err(InspectError::TooManyInterfaces));
    // A section whose declared length exceeds the end of the file.
    let mut cut = component(&[]);
    cut.push(0);
    cut.extend(leb(usize::MAX >> 32));
    assert!(matches!(look(&cut), Err(InspectError::Invalid(_))));
    for bytes in [&b""[..], b"\0asm", b"\0asm\x01\0\0\0", b"junk"] {
        assert_eq!(look(bytes), Err(InspectError::NotAComponent));
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn displayed_names_contain_no_control_characters() {
    let found = look(&component(&[import("a:\u{1b}[2J/\u{202e}b@1.0.0")])).unwrap();
    assert_eq!(&*found.imports[0], "a:\\u{1b}[2J/\\u{202e}b@1.0.0");
}

#[test]
fn consent_lock_round_trips() {
    let declaration = declared(&format!("{NETWORK}\n{FILES}")).unwrap();
    let mut approved = ApprovedCapabilities::default();
    for (address, requests) in [("acme/dns", declaration.requests), ("acme/other", Vec::new())] {
        let approval = Approval { version: "1.2.3".parse().unwrap(), sha256: "0f".repeat(32), requests };
        approved.plugins.insert(address.parse().unwrap(), approval);
    }
    let text = approved.render();
    insta::assert_snapshot!(text);
    let read = |text: &str| ApprovedCapabilities::parse(text, Path::new(ROOT));
    assert_eq!(read(&text).unwrap(), approved);
    assert_eq!(read("").unwrap(), ApprovedCapabilities::default());
    let changes = [
        ("api.example.com", "evil.example.com"),
        ("asks network", "asks secrets"),
        ("asks network {", "asks {"),
        ("asks network", "allow network"),
        ("sha256 ", "sha "),
        ("0f0f", "0g0f"),
        ("\"1.2.3\"", "1.2.3"),
        ("registry.terraform.io/acme/dns", "acme/dns"),
        ("acme/other", "acme/dns"),
        ("plugin \"", "provider \""),
        ("}", "}}"),
    ];
    let problems: Vec<String> = changes
        .iter()
        .map(|(from, to)| {
            let found = read(&text.replacen(from, to, 1)).unwrap_err();
            let first = found.iter().next().unwrap();
            let line = first.subject.as_ref().map_or(0, |span| span.start_position().line);
            format!("{from} -> {to}: line {line}: {}: {}", first.summary, first.detail)
        })
        .collect();
    insta::assert_snapshot!(problems.join("\n"));
}

fn publisher(parts: &[(IdentityPart, &str)]) -> PublisherIdentity {
    PublisherIdentity::new(parts.iter().map(|(part, text)| (*part, (*text).to_owned()))).unwrap()
}

#[test]
fn publishers_round_trip() {
    let mut approved = ApprovedCapabilities::default();
    let repository = publisher(&[
        (IdentityPart::Issuer, "https://token.actions.githubusercontent.com"),
        (IdentityPart::Repository, "https://github.com/acme/terraform-provider-dns"),
        (IdentityPart::RepositoryId, "1234"),
        (IdentityPart::OwnerId, "56"),
        (IdentityPart::Workflow, ".github/workflows/release.yml"),
    ]);
    let person = publisher(&[
        (IdentityPart::Issuer, "https://accounts.example.com"),
        (IdentityPart::Subject, "ada@example.com"),
    ]);
    approved.publishers.insert("acme/dns".parse().unwrap(), repository);
    approved.publishers.insert("acme/mail".parse().unwrap(), person);
    let approval =
        Approval { version: "1.2.3".parse().unwrap(), sha256: "0f".repeat(32), requests: Vec::new() };
    approved.plugins.insert("acme/dns".parse().unwrap(), approval);
    let text = approved.render();
    insta::assert_snapshot!(text);
    let read = |text: &str| ApprovedCapabilities::parse(text, Path::new(ROOT));
    assert_eq!(read(&text).unwrap(), approved);
    let changes = [
        ("terraform-provider-dns", "terraform-provider-evil"),
        ("  workflow", "  subject"),
        ("  issuer     ", "  # issuer"),
        ("repository_id = \"1234\"", "repository_id = 1234"),
        ("  owner_id", "  owner"),
        ("digest = \"", "digest = \"0"),
        ("  digest", "  asks x {\n  }\n  digest"),
        ("ada@example.com", "ada@example.com\\u001b"),
        ("publisher \"registry.terraform.io/acme/mail\"", "publisher \"registry.terraform.io/acme/dns\""),
        ("publisher \"registry.terraform.io/acme/mail\"", "publisher \"acme/mail\""),
        ("publisher ", "publishers "),
    ];
    let problems: Vec<String> = changes
        .iter()
        .map(|(from, to)| {
            let found = read(&text.replacen(from, to, 1)).unwrap_err();
            let first = found.iter().next().unwrap();
            let line = first.subject.as_ref().map_or(0, |span| span.start_position().line);
            format!("{from} -> {to}: line {line}: {}", first.detail)
        })
        .collect();
    insta::assert_snapshot!(problems.join("\n"));
}

/// Verifies that the section written by the SDK's macro can be read.
#[test]
fn reads_declaration_written_by_sdk() {
    use wardian_sdk::declaration::{Capability, encode, length};
    const NEEDED: &[Capability] = wardian_sdk::capabilities![
        network {
            hosts: ["*.example.com"],
            schemes: ["tcp"],
            ports: ["5432"],
            reason: "\"quoted\" ${and} %{more} \\"
        },
        filesystem { directories: [".", "/opt/x"], access: ["read", "write"], reason: "files" },
        environment { names: ["X_*"], reason: "names" },
        process { program: "git", reason: "version" },
        communicator { hosts: ["**"], addresses: ["private"], reason: "machines" },
    ];
    static ENCODED: [u8; length(NEEDED)] = encode(NEEDED);
    let found = declared(std::str::from_utf8(&ENCODED).unwrap()).unwrap();
    insta::assert_snapshot!(requests(&found).join("\n"));
    assert_eq!(found.requests[0].reason(), "\"quoted\" ${and} %{more} \\");
    assert!(found.sdks[0].starts_with("wardian-sdk "));
}

proptest! {
    /// Verifies that any reason and any name are either preserved in the declaration, the rule and
    /// the consent lock file, or rejected.
    #[test]
    fn declared_request_equals_granted_rule(reason in "\\PC{1,40}", host in "[a-z*.]{1,12}", name in "[A-Z_*]{1,8}") {
        let document = format!(
            r#"{{"version":1,"capabilities":[{{"network":{{"hosts":[{host:?}],"reason":{}}}}},{{"environment":{{"names":[{name:?}],"reason":"r"}}}}]}}"#,
            json_text(&reason),
        );
        if let Ok(declaration) = declared(&document) {
            let plugin = "acme/dns".parse().unwrap();
            let requests: Vec<_> = declaration.requests.iter().collect();
            let text = add_grants(None, &plugin, &requests, Path::new(ROOT)).unwrap();
            let file = wardian_diagnostic::SourceFile::new("p", &*text);
            let file = PolicyFile::parse(Level::RootModule, &file, Path::new(ROOT)).unwrap();
            let view = Policy::new(Path::new(ROOT), [file], []).for_plugin(&plugin);
            for one in &declaration.requests {
                prop_assert_eq!(view.grant_status(one), wardian_policy::GrantStatus::Granted);
            }
            let reasons: Vec<_> = view.explain().allowed.into_iter().map(|one| one.reason).collect();
            prop_assert!(reasons.contains(&Some(reason.clone())), "{reasons:?}");
            let approval =
                Approval { version: "1.0.0".parse().unwrap(), sha256: "00".repeat(32), requests: declaration.requests };
            let approved = ApprovedCapabilities { plugins: [(plugin, approval)].into(), ..Default::default() };
            prop_assert_eq!(ApprovedCapabilities::parse(&approved.render(), Path::new(ROOT)).unwrap(), approved);
        }
    }

    #[test]
    fn publishers_are_preserved(issuer in "\\PC{1,30}", name in "\\PC{1,30}", is_repository in any::<bool>()) {
        let part = if is_repository { IdentityPart::Repository } else { IdentityPart::Subject };
        if let Ok(publisher) = PublisherIdentity::new([(IdentityPart::Issuer, issuer), (part, name)]) {
            let publishers = [("acme/dns".parse().unwrap(), publisher)].into();
            let approved = ApprovedCapabilities { publishers, ..Default::default() };
            prop_assert_eq!(ApprovedCapabilities::parse(&approved.render(), Path::new(ROOT)).unwrap(), approved);
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        let _ = look(&bytes);
        let mut whole = component(&[import(HTTP), nested(1, &[custom(SECTION_NAME, NETWORK.as_bytes())])]);
        let index = at.index(whole.len());
        whole[index] = whole[index].wrapping_add(1);
        let _ = look(&whole);
        whole.truncate(index);
        whole.append(&mut bytes);
        let _ = look(&whole);
    }
}

fn json_text(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
