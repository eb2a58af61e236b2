use super::*;
use proptest::prelude::*;

use crate::rule::Effect;

fn matches(pattern: &str, text: &str) -> bool {
    HostPattern::parse(pattern).unwrap().matches(&Host::parse(text).unwrap(), Effect::Allow)
}

#[test]
fn host_pattern_matches_expected_hosts() {
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
fn invalid_host_pattern_error_names_remedy() {
    let error = |text| HostPattern::parse(text).unwrap_err().to_string();
    assert!(error("https://api.example.com/v1").contains("write \"api.example.com\""));
    assert!(error("api.example.com:8443").contains("write \"api.example.com\""));
    assert!(error("api.example.com/v1").contains("write \"api.example.com\""));
    assert!(error("https://*.example.com").contains("write \"*.example.com\""));
    assert!(error("0x7f.1").contains("write it as \"127.0.0.1\""));
    assert!(error("::ffff:127.0.0.1").contains("write it as \"127.0.0.1\""));
    assert!(error("a.**.b").contains("at the beginning"));
    assert!(error("**a.b").contains("at the beginning"));
    assert!(error("bü*.example").contains("ASCII"));
    assert!(error("xn--*.example").contains("ASCII"));
    assert!(error("10.*").contains("10.0.0.0/8"));
    assert!(error("*..com").contains("is empty"));
    assert!(error("10.0.0.1/8").contains("10.0.0.0/8"));
}

fn any_name() -> impl Strategy<Value = String> {
    "[a-c]{1,2}(\\.[a-c]{1,2}){0,3}"
}

fn any_pattern() -> impl Strategy<Value = String> {
    prop_oneof![any_name(), "(\\*\\*|[a-b*]{1,2})(\\.[a-b]{0,1}\\*?[a-b]){0,3}"]
}

proptest! {
    #[test]
    fn host_used_as_pattern_matches_itself(text in prop_oneof![any_name(), "[a-z0-9.ü-]{1,12}"]) {
        if let Ok(host) = Host::parse(&text) {
            let pattern = HostPattern::parse(&host.to_string());
            prop_assert!(pattern.is_ok_and(|pattern| pattern.matches(&host, Effect::Allow)));
        }
    }

    #[test]
    fn host_pattern_coverage_agrees_with_matching(one in any_pattern(), two in any_pattern(), name in any_name()) {
        let (Ok(one), Ok(two)) = (HostPattern::parse(&one), HostPattern::parse(&two)) else { return Ok(()) };
        let host = Host::parse(&name).unwrap();
        let (by_one, by_two) = (one.matches(&host, Effect::Allow), two.matches(&host, Effect::Allow));
        prop_assert!(!(one.covers(&two) && by_two && !by_one), "{} covers {}", one, two);
        prop_assert!(!(one.excludes(&two) && by_one && by_two), "{} excludes {}", one, two);
        prop_assert!(one.covers(&one));
        prop_assert_eq!(HostPattern::parse(&one.to_string()), Ok(one));
    }
}
