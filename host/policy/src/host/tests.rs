use super::*;
use proptest::prelude::*;

fn host(text: &str) -> String {
    match Host::parse(text) {
        Ok(host) => host.to_string(),
        Err(problem) => format!("refused: {problem}"),
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    HostPattern::parse(pattern).unwrap().matches(&Host::parse(text).unwrap())
}

#[test]
fn hosts_have_one_form() {
    for (written, expected) in [
        ("API.Example.COM", "api.example.com"),
        ("api.example.com.", "api.example.com"),
        ("localhost", "localhost"),
        ("_service.example.com", "_service.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7F.0.0.0x1", "127.0.0.1"),
        ("0X7f000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.0.0.0x", "127.0.0.0"),
        ("１２７。０。０。１", "127.0.0.1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),
        ("::FFFF:7f00:1", "127.0.0.1"),
        ("0:0:0:0:0:0:0:1", "::1"),
    ] {
        assert_eq!(host(written), expected, "{written}");
    }
}

#[test]
fn what_is_no_host_is_refused() {
    let long_label = format!("{}.example", "a".repeat(64));
    let long_name = vec!["a".repeat(60); 5].join(".");
    for text in [
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "a b",
        "a%2eb",
        "a/b",
        "user@host",
        "-a.example",
        "a-.example",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.256",
        "09.1.1.1",
        "a.1",
        "4294967296",
        "[::1",
        "[::1%25eth0]",
        "fe80::1%eth0",
        "1:2",
        "xn--\u{fffd}.example",
        "xn--zzzzzz999999.example",
        "a\u{0}b",
        "a\u{ad}\u{200d}.example",
        &long_label,
        &long_name,
        &"a.".repeat(1000),
    ] {
        let shown = host(text);
        assert!(shown.starts_with("refused"), "{text:?}: {shown}");
    }
}

#[test]
fn patterns_match_what_the_table_says() {
    for (pattern, yes, no) in [
        ("Example.com", &["example.com", "EXAMPLE.COM."][..], &["a.example.com", "example.co"][..]),
        ("*.example.com", &["a.example.com"], &["example.com", "a.b.example.com", "aexample.com"]),
        ("**.example.com", &["a.example.com", "a.b.example.com"], &["example.com", "xexample.com"]),
        ("**", &["a", "a.b.c"], &["127.0.0.1", "::1"]),
        ("*", &["localhost"], &["a.b", "127.0.0.1"]),
        ("api-*.example.com", &["api-1.example.com"], &["api.example.com"]),
        ("s3.*.amazonaws.com", &["s3.eu-west-1.amazonaws.com"], &["s3.amazonaws.com"]),
        ("127.0.0.1", &["127.1", "::ffff:127.0.0.1", "0x7f000001"], &["127.0.0.2", "localhost"]),
        ("10.0.0.0/8", &["10.1.2.3"], &["11.0.0.1", "ten.example"]),
        ("169.254.0.0/16", &["169.254.1.1"], &["169.254.169.254"]),
        ("[::1]", &["::1"], &["::2"]),
        ("*.bücher.example", &["a.xn--bcher-kva.example", "a.bücher.example"], &["a.bucher.example"]),
    ] {
        for text in yes {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for text in no {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}

#[test]
fn what_is_no_pattern_is_told() {
    let told = |text| HostPattern::parse(text).unwrap_err().to_string();
    assert!(told("https://api.example.com/v1").contains("write \"api.example.com\""));
    assert!(told("api.example.com:8443").contains("write \"api.example.com\""));
    assert!(told("api.example.com/v1").contains("write \"api.example.com\""));
    assert!(told("https://*.example.com").contains("write \"*.example.com\""));
    assert!(told("0x7f.1").contains("write it as \"127.0.0.1\""));
    assert!(told("::ffff:127.0.0.1").contains("write it as \"127.0.0.1\""));
    assert!(told("a.**.b").contains("at the beginning"));
    assert!(told("**a.b").contains("at the beginning"));
    assert!(told("bü*.example").contains("ASCII"));
    assert!(told("xn--*.example").contains("ASCII"));
    assert!(told("10.*").contains("10.0.0.0/8"));
    assert!(told("*..com").contains("nothing between"));
    assert!(told("10.0.0.1/8").contains("10.0.0.0/8"));
}

fn any_name() -> impl Strategy<Value = String> {
    "[a-c]{1,2}(\\.[a-c]{1,2}){0,3}"
}

fn any_pattern() -> impl Strategy<Value = String> {
    prop_oneof![any_name(), "(\\*\\*|[a-b*]{1,2})(\\.[a-b]{0,1}\\*?[a-b]){0,3}"]
}

proptest! {
    #[test]
    fn the_one_form_is_its_own(text in "\\PC{0,40}") {
        if let Ok(once) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&once.to_string()), Ok(once));
        }
    }

    #[test]
    fn numeric_forms_are_one(text in "(0x)?[0-9a-f]{1,9}(\\.(0x)?[0-9]{1,4}){0,3}\\.?") {
        if let Ok(once) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&once.to_string()), Ok(once));
        }
    }

    #[test]
    fn a_host_as_a_pattern_matches_itself(text in prop_oneof![any_name(), "[a-z0-9.ü-]{1,12}"]) {
        if let Ok(host) = Host::parse(&text) {
            let pattern = HostPattern::parse(&host.to_string());
            prop_assert!(pattern.is_ok_and(|pattern| pattern.matches(&host)));
        }
    }

    #[test]
    fn covering_and_excluding_are_true(one in any_pattern(), two in any_pattern(), name in any_name()) {
        let (Ok(one), Ok(two)) = (HostPattern::parse(&one), HostPattern::parse(&two)) else { return Ok(()) };
        let host = Host::parse(&name).unwrap();
        let (by_one, by_two) = (one.matches(&host), two.matches(&host));
        prop_assert!(!(one.covers(&two) && by_two && !by_one), "{} covers {}", one, two);
        prop_assert!(!(one.excludes(&two) && by_one && by_two), "{} excludes {}", one, two);
        prop_assert!(one.covers(&one));
        prop_assert_eq!(HostPattern::parse(&one.to_string()), Ok(one));
    }
}
