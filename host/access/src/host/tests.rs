use super::*;
use proptest::prelude::*;

fn host(text: &str) -> String {
    match Host::parse(text) {
        Ok(host) => host.to_string(),
        Err(problem) => format!("error: {problem}"),
    }
}

#[test]
fn host_is_displayed_in_canonical_form() {
    for (text, expected) in [
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
        assert_eq!(host(text), expected, "{text}");
    }
}

#[test]
fn rejects_invalid_hosts() {
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
        let result = host(text);
        assert!(result.starts_with("error"), "{text:?}: {result}");
    }
}

proptest! {
    #[test]
    fn canonical_form_parses_as_same_host(text in "\\PC{0,40}") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
    }

    #[test]
    fn canonical_numeric_host_parses_as_same_host(text in "(0x)?[0-9a-f]{1,9}(\\.(0x)?[0-9]{1,4}){0,3}\\.?") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
    }
}
