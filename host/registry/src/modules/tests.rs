use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use super::*;

fn module(host: &str) -> RegistryModule {
    RegistryModule::new(ServiceHost::parse(host).unwrap(), "ns", "name", "aws").unwrap()
}

#[test]
fn display_omits_default_host() {
    assert_eq!(module("registry.terraform.io").to_string(), "ns/name/aws");
    assert_eq!(module("a.example:81").to_string(), "a.example:81/ns/name/aws");
}

#[test]
fn module_names_must_be_safe_path_segments() {
    let host = ServiceHost::parse("a.example").unwrap();
    for bad in ["", "-a", "a-", "a/b", "..", "a.b", "ä", "a b", "a?b", &"a".repeat(65)] {
        assert!(RegistryModule::new(host.clone(), bad, "b", "c").is_err(), "{bad}");
        assert!(RegistryModule::new(host.clone(), "a", bad, "c").is_err(), "{bad}");
        assert!(RegistryModule::new(host.clone(), "a", "b", bad).is_err(), "{bad}");
    }
    assert!(RegistryModule::new(host.clone(), "A_b-1", "x", "a1").is_ok());
    assert!(RegistryModule::new(host, "a", "b", "C").is_err());
}

fn found(status: u16, header: Option<&str>, body: &str) -> Result<ModuleLocation, ModuleProblem> {
    let url = Url::parse("https://a.example/m/ns/name/aws/1.0.0/download").unwrap();
    let header = header.map(|value| (LOCATION, HeaderValue::from_str(value).unwrap()));
    let response = Fetched {
        status: StatusCode::from_u16(status).unwrap(),
        headers: header.into_iter().collect::<HeaderMap>(),
        url: url.clone(),
        body: Bytes::from(body.to_owned()),
    };
    location(&response, &url)
}

#[track_caller]
fn assert_source(found: Result<ModuleLocation, ModuleProblem>, expected: &str) {
    assert_eq!(found.unwrap(), ModuleLocation::Source(expected.to_owned()));
}

#[test]
fn location_is_read_from_header_or_body() {
    assert_source(
        found(204, Some("git::https://b.example/x.git?ref=v1"), ""),
        "git::https://b.example/x.git?ref=v1",
    );
    assert_source(found(200, Some("https://b.example/x.zip"), "not JSON"), "https://b.example/x.zip");
    assert_source(
        found(200, None, r#"{"location":"https://b.example/x.zip//sub"}"#),
        "https://b.example/x.zip//sub",
    );
    assert_source(found(200, Some("header"), r#"{"location":"body"}"#), "body");
    assert_source(found(204, Some("header"), r#"{"location":"body"}"#), "header");
}

#[test]
fn relative_location_is_resolved_against_the_request() {
    let base = "https://a.example/m/ns/name/aws";
    assert_source(found(204, Some("./x.zip"), ""), &format!("{base}/1.0.0/x.zip"));
    assert_source(found(204, Some("../x.zip?archive=zip"), ""), &format!("{base}/x.zip?archive=zip"));
    assert_source(found(204, Some("/x.zip//sub?a=b"), ""), "https://a.example/x.zip//sub?a=b");
    assert_source(found(204, Some("//b.example/x.zip"), ""), &format!("{base}/1.0.0//b.example/x.zip"));
}

#[test]
fn archive_may_need_registry_credentials() {
    for (uses, expected) in [("true", true), ("false", false)] {
        let body = format!(r#"{{"location":"../x.tgz","use_registry_credentials":{uses}}}"#);
        let url = Url::parse("https://a.example/m/ns/name/aws/x.tgz").unwrap();
        let expected = ModuleLocation::Archive { url, uses_registry_credentials: expected };
        assert_eq!(found(200, None, &body).unwrap(), expected);
    }
    for body in [
        r#"{"location":"x","use_registry_credentials":null}"#,
        r#"{"location":"x","use_registry_credentials":"true"}"#,
        r#"{"location":null}"#,
        r#"{"location":["x"]}"#,
    ] {
        assert!(matches!(found(200, None, body), Err(ModuleProblem::LocationType { .. })), "{body}");
    }
    let git = r#"{"location":"git::https://x.example/y","use_registry_credentials":true}"#;
    assert!(matches!(found(200, None, git), Err(ModuleProblem::Location { .. })));
}

#[test]
fn missing_or_malformed_location_is_an_error() {
    for (header, body) in [(None, ""), (None, "{}"), (Some(""), ""), (None, r#"{"location":""}"#)] {
        assert!(matches!(found(200, header, body), Err(ModuleProblem::NoLocation { .. })), "{body}");
    }
    for body in [r#"{"location":"a\nb"}"#.to_owned(), format!(r#"{{"location":"{}"}}"#, "x".repeat(9_000))] {
        assert!(matches!(found(200, None, &body), Err(ModuleProblem::Location { .. })), "{body}");
    }
}
