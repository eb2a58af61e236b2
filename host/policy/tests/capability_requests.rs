//! Capability requests are equivalent to the rules that grant them.

mod support;

use std::path::Path;

use proptest::prelude::*;
use support::questions::{allows, file, host, questions};
use support::{ROOT, parse, plugin, policy};
use wardian_policy::{
    CapabilityRequest, CapabilityRequestError, DenialSource, GrantStatus, Level, RuleArgument, add_grants,
    grant_block,
};

type Arguments<'a> = [(&'a str, &'a [&'a str])];

fn asked(capability: &str, arguments: &Arguments<'_>) -> Result<CapabilityRequest, CapabilityRequestError> {
    let list = |texts: &[&str]| RuleArgument::List(texts.iter().map(|text| (*text).to_owned()).collect());
    let arguments = arguments.iter().map(|(name, texts)| {
        let is_one = matches!(*name, "reason" | "program");
        let words = if is_one { RuleArgument::String(texts.concat()) } else { list(texts) };
        ((*name).to_owned(), words)
    });
    CapabilityRequest::new(capability, arguments, Path::new(ROOT))
}

#[expect(clippy::unwrap_used, reason = "the tests' own hosts are hosts")]
fn network(hosts: &[&str]) -> CapabilityRequest {
    asked("network", &[("hosts", hosts), ("reason", &["it reads zones"])]).unwrap()
}

#[test]
fn rejects_requests_that_no_rule_grants() {
    let reason: (&str, &[&str]) = ("reason", &["why"]);
    let all: [(&str, &Arguments<'_>); 14] = [
        ("network", &[("hosts", &["a.example"]), ("reason", &["safe \u{202e}live"])]),
        ("network", &[("hosts", &["https://a.example/"]), reason]),
        ("network", &[reason]),
        ("network", &[("hosts", &["a.example"])]),
        ("network", &[("hosts", &["a.example"]), ("reason", &[" "])]),
        ("network", &[("hosts", &["a.example"]), ("reason", &["a\u{1b}[2J"])]),
        ("network", &[("hosts", &["a.example"]), ("host", &["a"]), reason]),
        ("network", &[("hosts", &["a.example"]), ("x = 1\n", &["a"]), reason]),
        ("network {}\n allow network", &[("hosts", &["a.example"]), reason]),
        ("filesystem", &[("directories", &["../other"]), reason]),
        ("filesystem", &[("directories", &["/run/a.sock"]), ("access", &["connect"]), reason]),
        ("environment", &[("names", &["A=B"]), reason]),
        ("process", &[("program", &["git"]), reason]),
        ("credential", &[reason]),
    ];
    let problems: Vec<String> = all
        .iter()
        .map(|(capability, arguments)| asked(capability, arguments).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(problems.join("\n"));
    let many: Vec<String> = (0..300).map(|one| format!("a{one}.example")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let much = asked(
        "network",
        &[("hosts", &many), ("schemes", &["https", "http"]), ("methods", &["GET", "PUT"]), reason],
    );
    assert_eq!(much.unwrap_err(), CapabilityRequestError::TooLarge);
}

#[test]
fn request_is_described_and_rendered() {
    let one = asked(
        "network",
        &[
            ("hosts", &["api.example.com", "**.b.example"]),
            ("methods", &["GET"]),
            ("reason", &["a \"${b}\" %{c}"]),
        ],
    )
    .unwrap();
    assert_eq!(one.description(), "https to api.example.com, **.b.example, the scheme's port, methods GET");
    assert_eq!(one.reason(), "a \"${b}\" %{c}");
    insta::assert_snapshot!(grant_block(&plugin("example.com/acme/dns"), &[&one, &network(&["a.example"])]));
}

/// The first letter of the host is Cyrillic.
#[test]
fn internationalized_host_is_displayed_and_written_in_punycode() {
    let one = network(&["\u{430}pple.example", "*.\u{430}pple.example", "API.example"]);
    for text in [one.description(), one.block("allow")] {
        assert!(text.contains("xn--pple-43d.example") && text.contains("api.example"), "{text}");
        assert!(text.is_ascii(), "{text}");
    }
}

#[test]
fn grants_are_added_to_plugin_block() {
    let one = network(&["a.example"]);
    let dns = plugin("acme/dns");
    let grant = |text: Option<&str>| add_grants(text, &dns, &[&one], Path::new(ROOT)).unwrap();
    let alone = "# ours\nplugin \"acme/dns\" { # mine\n  native = \"deny\" # no\n}\n\nplugin \"*\" {\n}\n";
    let shown = [
        grant(None),
        grant(Some("")),
        grant(Some(alone)),
        grant(Some("plugin \"registry.terraform.io/acme/dns\" {\n\t}")),
        grant(Some("plugin \"acme/dns\" { native = \"deny\" }")),
        grant(Some("plugin \"acme/*\" {\n}\n")),
        grant(Some(&grant(None))),
    ];
    insta::assert_snapshot!(shown.join("-----\n"));
    let windows = grant(Some(&alone.replace('\n', "\r\n")));
    assert_eq!(windows, shown[2].replace('\n', "\r\n"));
    assert!(add_grants(Some("plugin {"), &dns, &[&one], Path::new(ROOT)).is_err());
}

#[test]
fn higher_level_denial_is_reported() {
    let one = network(&["a.example"]);
    let standing = |files: &[(Level, &str)]| policy(files).for_plugin(&plugin("acme/dns")).grant_status(&one);
    let allow = "plugin \"acme/*\" {\n allow network {\n hosts = [\"*.example\"]\n }\n}\n";
    let deny = "otherwise = \"defer\"\nplugin \"*\" {\n deny network {\n }\n}\n";
    let other = "plugin \"other/x\" {\n}\n";
    let defer = "otherwise = \"defer\"\n";
    use Level::{Organisation, RootModule, User};
    assert_eq!(standing(&[]), GrantStatus::Undecided);
    assert_eq!(standing(&[(RootModule, other)]), GrantStatus::Undecided);
    assert_eq!(standing(&[(RootModule, allow)]), GrantStatus::Granted);
    assert_eq!(standing(&[(Organisation, allow)]), GrantStatus::Granted);
    assert_eq!(standing(&[(Organisation, allow), (RootModule, other)]), GrantStatus::Undecided);
    assert_eq!(standing(&[(Organisation, defer), (RootModule, allow)]), GrantStatus::Granted);
    assert!(matches!(
        standing(&[(Organisation, other), (User, allow)]),
        GrantStatus::Denied(DenialSource::NotGranted { .. })
    ));
    let denied = standing(&[(Organisation, allow), (RootModule, deny)]);
    let GrantStatus::Denied(by) = denied else { panic!("{denied:?}") };
    assert_eq!(by.to_string(), "wardian.policy.hcl:3 denies it");
}

/// Generates arbitrary valid requests.
fn any_asked() -> impl Strategy<Value = CapabilityRequest> {
    fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(of), 0..3)
    }
    let network = (
        prop::collection::vec(host(), 1..3),
        some(&["https", "http"]),
        some(&["443", "80", "1-1000", "*"]),
        some(&["GET", "POST"]),
        some(&["public", "private", "loopback", "10.0.0.0/8"]),
    )
        .prop_map(|(hosts, schemes, ports, methods, addresses)| {
            let all = [hosts, schemes, ports, methods, addresses];
            let names = ["hosts", "schemes", "ports", "methods", "addresses"];
            ("network", names.into_iter().zip(all).collect::<Vec<_>>())
        });
    let files =
        (some(&[".", "a", "a/b", "/opt"]), some(&["read", "write"])).prop_map(|(mut directories, access)| {
            directories.push("a");
            ("filesystem", vec![("directories", directories), ("access", access)])
        });
    let names = some(&["A", "A*", "*B"]).prop_map(|mut names| {
        names.push("A");
        ("environment", vec![("names", names)])
    });
    let process =
        (prop::sample::select(&["git", "/bin/git", "*"][..]), some(&["a", "-b", "*"]), any::<bool>())
            .prop_map(|(program, mut arguments, open)| {
                arguments.extend(open.then_some("..."));
                ("process", vec![("program", vec![program]), ("arguments", arguments)])
            });
    let communicator =
        prop::collection::vec(host(), 1..3).prop_map(|hosts| ("communicator", vec![("hosts", hosts)]));
    prop_oneof![4 => network, 2 => files, 1 => names, 2 => process, 1 => communicator].prop_filter_map(
        "a rule that there is",
        |(capability, mut arguments)| {
            arguments.retain(|(name, texts)| !texts.is_empty() || *name == "arguments");
            arguments.push(("reason", vec!["why"]));
            let arguments: Vec<(&str, &[&str])> =
                arguments.iter().map(|(name, texts)| (*name, texts.as_slice())).collect();
            asked(capability, &arguments).ok()
        },
    )
}

/// Returns whether `new` differs from `old` only in added lines.
fn holds_all_lines(new: &str, old: &str) -> bool {
    let mut lines = new.lines();
    old.lines().all(|wanted| lines.any(|line| line == wanted))
}

proptest! {
    #[test]
    fn granting_rule_allows_exactly_the_request(one in any_asked()) {
        let text = add_grants(None, &plugin("acme/dns"), &[&one], Path::new(ROOT)).unwrap();
        let granted = policy(&[(Level::RootModule, &text)]);
        let wanted = policy(&[(Level::User, &format!("plugin \"*\" {{\n{}}}\n", one.block("allow")))]);
        for (request, address) in questions() {
            prop_assert_eq!(allows(&granted, &request, address), allows(&wanted, &request, address), "{}", request);
            prop_assert!(!granted.for_plugin(&plugin("acme/other")).decide(&request).is_allowed());
        }
    }

    #[test]
    fn grant_determines_whether_the_request_is_allowed(
        one in any_asked(), organisation in file(), root_module in file(),
    ) {
        let alone = policy(&[(Level::User, &format!("plugin \"*\" {{\n{}}}\n", one.block("allow")))]);
        let files = [(Level::Organisation, &*organisation), (Level::RootModule, &*root_module)];
        let before = policy(&files);
        let standing = before.for_plugin(&plugin("acme/dns")).grant_status(&one);
        for (request, address) in questions() {
            if standing == GrantStatus::Granted && allows(&alone, &request, address) {
                // A rule may deny a part of the request, but the request is never denied for lack
                // of a grant.
                let reason = match before.for_plugin(&plugin("acme/dns")).decide(&request) {
                    wardian_policy::Decision::Denied(denial) => Some(denial.to_string()),
                    wardian_policy::Decision::Allowed(_) => None,
                };
                let is_missing = reason.as_ref().is_some_and(|reason| reason.contains("grant"));
                prop_assert!(!is_missing, "{request} {reason:?}\n{files:#?}");
            }
        }
        let text = add_grants(Some(&root_module), &plugin("acme/dns"), &[&one], Path::new(ROOT)).unwrap();
        prop_assert!(holds_all_lines(&text, &root_module), "{text}");
        let after = policy(&[(Level::Organisation, &organisation), (Level::RootModule, &text)]);
        prop_assert_ne!(after.for_plugin(&plugin("acme/dns")).grant_status(&one), GrantStatus::Undecided, "{}", text);
        for (request, address) in questions().into_iter().filter(|(request, address)| allows(&before, request, *address)) {
            prop_assert!(allows(&after, &request, address), "{request} was allowed before\n{text}");
        }
    }

    #[test]
    fn covering_requests_allow_the_whole_request(one in any_asked(), others in prop::collection::vec(any_asked(), 0..4)) {
        let text = |all: &[&CapabilityRequest]| format!("plugin \"*\" {{\n{}}}\n", all.iter().map(|one| one.block("allow")).collect::<String>());
        let alone = policy(&[(Level::User, &text(&[&one]))]);
        let all = policy(&[(Level::User, &text(&others.iter().collect::<Vec<_>>()))]);
        prop_assert!(one.is_covered_by([&one]));
        if one.is_covered_by(&others) {
            for (request, address) in questions() {
                prop_assert!(!allows(&alone, &request, address) || allows(&all, &request, address), "{request}");
            }
        }
        prop_assert!(parse(Level::RootModule, &text(&[&one])).is_ok());
    }
}

#[test]
fn hosts_are_written_in_their_canonical_form() {
    // The first letter of the first host is Cyrillic.
    let request = network(&["\u{430}pi.example.com", "API.Example.com.", "*.B\u{fc}cher.example"]);
    let written = request.block("allow");
    for host in ["\"xn--pi-6kc.example.com\"", "\"api.example.com\""] {
        assert!(written.contains(host), "{written}");
    }
    assert!(written.is_ascii() && request.description().is_ascii(), "{written}");
}
