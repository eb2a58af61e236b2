use proptest::prelude::*;

use super::*;

fn canonical(text: &str) -> String {
    match Constraints::parse(text, ConstraintDialect::Provider) {
        Ok(constraints) => constraints.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

fn accepts(text: &str, dialect: ConstraintDialect, version: &str) -> bool {
    Constraints::parse(text, dialect).unwrap().accepts(&Version::parse(version).unwrap())
}

#[test]
fn canonical_text_matches_terraform() {
    for (text, expected) in [
        ("1", "1.0.0"),
        ("~> 1", "~> 1.0"),
        ("~>1.2.3", "~> 1.2.3"),
        (">1,<2", "> 1.0.0, < 2.0.0"),
        (
            "!= 1, = 1, >1, >=1, <1, <=1, ~>1, ~> 1.0.0",
            "> 1.0.0, >= 1.0.0, 1.0.0, ~> 1.0.0, ~> 1.0, <= 1.0.0, < 1.0.0, != 1.0.0",
        ),
        ("1.2.0-beta1", "1.2.0-beta1"),
        ("1.2-beta", "1.2.0-beta"),
        ("~> 1.2-beta1", "~> 1.2-beta1"),
        ("> 1, > 1.0, > 1.0.0", "> 1.0.0"),
        (">= 5.50.0, ~> 5.0", "~> 5.0, >= 5.50.0"),
        (">= 1.0.0-a, >= 1.0.0, >= 1.0.0-b", ">= 1.0.0-a, >= 1.0.0-b, >= 1.0.0"),
        ("01.2.3", "1.2.3"),
        ("1 , 2", "1.0.0, 2.0.0"),
        ("1,", "1.0.0"),
        ("1.", "1.0.0"),
        ("1.2.3-", "1.2.3"),
        ("1.2.3+", "1.2.3"),
        (" \t1", "1.0.0"),
        ("  ", ""),
        ("18446744073709551615", "18446744073709551615.0.0"),
    ] {
        assert_eq!(canonical(text), expected, "{text:?}");
    }
}

#[test]
fn constraint_error_names_part_and_reason() {
    for (text, expected) in [
        ("v1", "invalid version constraint \"v1\": a version must not begin with \"v\""),
        (
            ">= 1, => 2",
            "invalid version constraint \">= 1, => 2\": in \"=> 2\", \"=>\" is not an operator; did you mean \">=\"?",
        ),
        ("1 2", "invalid version constraint \"1 2\": a comma is missing after \"1\""),
        (
            "1.x",
            "invalid version constraint \"1.x\": wildcards are not supported; omit the parts that may vary \
             and use ~>",
        ),
        ("foo", "invalid version constraint \"foo\": \"foo\" is not a version number"),
    ] {
        assert_eq!(canonical(text), format!("error: {expected}"));
    }
    for text in [
        ",",
        ",1",
        "1,,2",
        "1.2.3.4",
        "=  1",
        "== 1",
        "^1",
        "> = 1",
        "-1",
        "1..2",
        "!1",
        "*",
        "18446744073709551616",
        ">",
        "1.0 - 2.0",
        "1 || 2",
        "=v1",
    ] {
        assert!(Constraints::parse(text, ConstraintDialect::Provider).is_err(), "{text:?}");
    }
}

#[test]
fn provider_constraints_accept_versions() {
    let provider = |text, version| accepts(text, ConstraintDialect::Provider, version);
    assert!(provider("~> 1.2", "1.99.0"));
    assert!(!provider("~> 1.2", "2.0.0"));
    assert!(!provider("~> 1.2", "1.1.9"));
    assert!(provider("~> 1.2.3", "1.2.9"));
    assert!(!provider("~> 1.2.3", "1.3.0"));
    assert!(!provider("~> 1", "2.0.0"));
    assert!(!provider("= 1.11", "1.11.4"));
    assert!(provider("", "0.0.1"));
    assert!(!provider("", "1.0.0-beta"));
    assert!(!provider(">= 1.0.0-beta", "1.0.0-beta"));
    assert!(provider("1.0.0-beta", "1.0.0-beta"));
    assert!(provider("1.0.0-beta, < 1", "1.0.0-beta"));
    assert!(!provider("2.0.0-beta, ~> 1.0", "2.0.0-beta"));
    assert!(provider("1.0.0", "1.0.0+build"));
    assert!(!provider("> 1, != 1.5", "1.5.0"));
}

#[test]
fn required_version_accepts_versions() {
    let tool = |text| accepts(text, ConstraintDialect::Tool, "1.11.4");
    for text in [
        "~> 1",
        "~> 0",
        "~> 1.11",
        "~> 1.11.0",
        "~> 1.10",
        ">1,<2",
        "1.11.4",
        "v1.11.4",
        ">= v1.0",
        "1.11.4+meta",
        "1.11.4.0",
        "=1.11.4",
        "=  1.11.4",
        "!=1.0",
        "> 1.11",
    ] {
        assert!(tool(text), "{text:?}");
    }
    for text in ["1", "= 1.11", "~> 1.10.0", "<= 1.11", "~> 1.11.5", "~> 2", ">= 1.0, < 1.5"] {
        assert!(!tool(text), "{text:?}");
    }
    for text in ["", " ", ",", "1.11.4,", "1.x", "== 1", ">= 1.2.0-beta1", "1.11.4-", "1 2"] {
        assert!(Constraints::parse(text, ConstraintDialect::Tool).is_err(), "{text:?}");
    }
    assert!(accepts(">= 1.12", ConstraintDialect::Tool, "1.12.0-dev"));
    assert!(accepts("1.0.0-rc1", ConstraintDialect::Module, "1.0.0-rc1"));
}

#[test]
fn newest_skips_prereleases() {
    let versions: Vec<Version> =
        ["1.0.0", "1.2.0", "1.3.0-rc1", "2.0.0"].iter().map(|text| Version::parse(text).unwrap()).collect();
    let constraints = Constraints::parse("~> 1.0", ConstraintDialect::Provider).unwrap();
    assert_eq!(constraints.newest(&versions), Some(&Version::new(1, 2, 0)));
}

fn any_constraint_text() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec!["", "= ", "!=", "> ", ">=", "<", "<= ", "~> ", "~>"]),
        prop::collection::vec(0u64..4, 1..=3),
        prop::option::of(prop::sample::select(vec!["-alpha", "-beta.2", "+build"])),
    )
        .prop_map(|(operator, parts, suffix)| {
            let numbers: Vec<String> = parts.iter().map(u64::to_string).collect();
            format!("{operator}{}{}", numbers.join("."), suffix.unwrap_or_default())
        })
}

proptest! {
    #[test]
    fn canonical_text_accepts_same_versions(
        pieces in prop::collection::vec(any_constraint_text(), 0..5),
        candidate in (0u64..4, 0u64..4, 0u64..4, prop::bool::ANY),
    ) {
        let text = pieces.join(",");
        let constraints = Constraints::parse(&text, ConstraintDialect::Provider).unwrap();
        let again = Constraints::parse(&constraints.to_string(), ConstraintDialect::Provider).unwrap();
        prop_assert_eq!(&again, &constraints);
        let mut version = Version::new(candidate.0, candidate.1, candidate.2);
        if candidate.3 {
            version.pre = Prerelease::new("alpha").unwrap();
        }
        let each = pieces.iter().all(|piece| {
            let own = Constraints::parse(piece, ConstraintDialect::Provider).unwrap();
            version.pre.is_empty() && own.accepts(&version)
        });
        if version.pre.is_empty() {
            prop_assert_eq!(constraints.accepts(&version), each);
        }
    }

    #[test]
    fn parses_any_text_without_panic(text in "\\PC{0,40}", wild in "[~<>=!v0-9., *x+-]{0,24}") {
        for dialect in [ConstraintDialect::Provider, ConstraintDialect::Tool, ConstraintDialect::Module] {
            let _ = Constraints::parse(&text, dialect);
            let _ = Constraints::parse(&wild, dialect);
        }
        let _ = crate::ProviderAddress::parse(&text);
        let _ = crate::ProviderAddress::parse_full(&wild);
    }
}
