//! Requirements on the publishers of plugins.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

mod support;

use support::{parse, plugin, policy, shown};
use wardian_policy::{IdentityPart, Level, Policy, PublisherIdentity};

const GITHUB: &str = "https://token.actions.githubusercontent.com";

const ORGANISATION: &str = r#"
require_signature "acme/*" {
  issuer     = "https://token.actions.githubusercontent.com"
  repository = "https://github.com/acme/*"
  reason     = "SEC-21"
}
require_signature "acme/dns" {
  issuer   = "https://token.actions.githubusercontent.com"
  workflow = ".github/workflows/release.yml"
}
"#;

fn repository(repository: &str, workflow: &str) -> PublisherIdentity {
    PublisherIdentity::new([
        (IdentityPart::Issuer, GITHUB.to_owned()),
        (IdentityPart::Repository, repository.to_owned()),
        (IdentityPart::Workflow, workflow.to_owned()),
    ])
    .unwrap()
}

fn unmet(policy: &Policy, address: &str, identity: &PublisherIdentity) -> Vec<String> {
    let requirement = policy.required_signature(&plugin(address)).unwrap();
    requirement.unmet(identity).iter().map(ToString::to_string).collect()
}

#[test]
fn requirements_apply_to_matching_plugins() {
    let policy = policy(&[(Level::Organisation, ORGANISATION)]);
    assert!(policy.required_signature(&plugin("other/dns")).is_none());
    assert!(policy.required_signature(&plugin("example.com/acme/dns")).is_none());
    let requirement = policy.required_signature(&plugin("acme/dns")).unwrap();
    let blocks: Vec<String> = requirement
        .blocks()
        .map(|block| format!("{} {:?} {:?}", block.location(), block.reason(), block.parts().last()))
        .collect();
    assert_eq!(
        blocks,
        [
            "/etc/wardian/wardian.policy.hcl:2 Some(\"SEC-21\") Some((Repository, \"https://github.com/acme/*\"))",
            "/etc/wardian/wardian.policy.hcl:7 None Some((Workflow, \".github/workflows/release.yml\"))"
        ]
    );
    assert_eq!(policy.required_signature(&plugin("acme/mail")).unwrap().blocks().count(), 1);
}

#[test]
fn publisher_must_meet_the_requirements_of_all_blocks() {
    let policy = policy(&[(Level::Organisation, ORGANISATION)]);
    let good = repository("https://github.com/acme/dns", ".github/workflows/release.yml");
    assert_eq!(unmet(&policy, "acme/dns", &good), [""; 0]);
    let wrong = repository("https://github.com/acme/dns/fork", ".github/workflows/test.yml");
    assert_eq!(
        unmet(&policy, "acme/dns", &wrong),
        [
            "/etc/wardian/wardian.policy.hcl:2 requires the repository \"https://github.com/acme/*\", but the \
             publisher has \"https://github.com/acme/dns/fork\"",
            "/etc/wardian/wardian.policy.hcl:7 requires the workflow \".github/workflows/release.yml\", but the \
             publisher has \".github/workflows/test.yml\""
        ]
    );
    let person = PublisherIdentity::new([
        (IdentityPart::Issuer, "https://accounts.example.com".to_owned()),
        (IdentityPart::Subject, "ada@example.com".to_owned()),
    ]);
    let reasons = unmet(&policy, "acme/mail", &person.unwrap());
    assert_eq!(reasons.len(), 2);
    assert!(reasons[1].ends_with("but the publisher has none"), "{reasons:?}");
}

/// A lower level adds requirements, and cannot remove one.
#[test]
fn user_policy_narrows_organisation_requirements() {
    let user = "require_signature \"acme/dns\" {\n  issuer = \"https://other.example\"\n}\n";
    let both = policy(&[(Level::Organisation, ORGANISATION), (Level::User, user)]);
    let good = repository("https://github.com/acme/dns", ".github/workflows/release.yml");
    let reasons = unmet(&both, "acme/dns", &good);
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].starts_with("/home/ada/.config/wardian/wardian.policy.hcl:1 requires the issuer"));
    let everything = policy(&[
        (Level::Organisation, ORGANISATION),
        (Level::User, "otherwise = \"defer\"\nrequire_signature \"acme/dns\" {}\n"),
    ]);
    let wrong = repository("https://github.com/other/dns", "x");
    assert_eq!(unmet(&everything, "acme/dns", &wrong).len(), 2);
}

#[test]
fn any_publisher_meets_a_requirement_without_arguments() {
    let policy = policy(&[(Level::User, "require_signature \"*\" {}\n")]);
    assert_eq!(unmet(&policy, "acme/dns", &repository("https://example.com/x", "y")), [""; 0]);
}

#[test]
fn identifiers_match_only_if_they_are_equal() {
    let text = format!(
        "require_signature \"acme/dns\" {{\n  issuer = \"{GITHUB}\"\n  repository_id = \"12\"\n  owner_id = \
         \"3\"\n}}\n"
    );
    let policy = policy(&[(Level::Organisation, &text)]);
    let with = |id: &str| {
        PublisherIdentity::new([
            (IdentityPart::Issuer, GITHUB.to_owned()),
            (IdentityPart::Repository, "r".to_owned()),
            (IdentityPart::RepositoryId, id.to_owned()),
            (IdentityPart::OwnerId, "3".to_owned()),
        ])
        .unwrap()
    };
    assert_eq!(unmet(&policy, "acme/dns", &with("12")).len(), 0);
    assert_eq!(unmet(&policy, "acme/dns", &with("123")).len(), 1);
}

#[test]
fn invalid_requirements_are_reported() {
    let problems = |level: Level, text: &str| match parse(level, text) {
        Ok(_) => "nothing".to_owned(),
        Err(problems) => shown(&problems),
    };
    insta::assert_snapshot!(problems(
        Level::Organisation,
        r#"require_signature "acme/*" {
  isuer      = "https://token.actions.githubusercontent.com"
  repository = "https://github.com/acme/*"
}
require_signature {
  issuer = "https://a.example"
}
require_signature "acme//x" {
  issuer  = "https://*.example"
  allow {}
}
require_signature "acme/a" {
  issuer        = "https://a.example"
  repository_id = "12*"
}
require_signature "acme/b" {
  issuer   = ["https://a.example"]
}
require_signature "acme/c" {
  issuer   = "https://a.example"
  subject  = "*@example.com"
  workflow = "x"
}
require_signature "acme/d" {
  subject = "ada@example.com"
}
require_signature "acme/e" {
  issuer  = ""
}
require-signature "acme/f" {
}
"#
    ));
    insta::assert_snapshot!(problems(
        Level::RootModule,
        "require_signature \"acme/*\" {\n  issuer = \"https://a.example\"\n}\n"
    ));
}
