//! Whatever files say: a lower one never grants what a higher one denies, and what is
//! written as granted is granted.

mod support;

use std::net::IpAddr;

use proptest::prelude::*;
use support::{parse, plugin, policy, request};
use wardian_policy::{Level, Policy, Request};

fn host() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "a.example",
            "b.a.example",
            "*.example",
            "**.example",
            "**",
            "*",
            "a*.example",
            "127.0.0.1",
            "10.0.0.0/8",
        ][..],
    )
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", items.join(", "))
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Option<Vec<&'static str>>> {
    prop::option::of(prop::collection::vec(prop::sample::select(of), 1..3))
}

/// An argument, where it is said.
fn argument(name: &str, value: Option<&Vec<&'static str>>) -> String {
    value.map_or(String::new(), |value| format!("{name} = {}\n", list(value)))
}

fn rule() -> impl Strategy<Value = String> {
    let effect = prop::sample::select(&["allow", "allow", "allow", "deny"][..]);
    let network = (
        prop::collection::vec(host(), 1..3),
        some(&["https", "http"]),
        some(&["443", "80", "1-1000", "*"]),
        some(&["GET", "POST"]),
        some(&["public", "private", "loopback", "10.0.0.0/8", "0.0.0.0/0"]),
    )
        .prop_map(|(hosts, schemes, ports, methods, addresses)| {
            format!(
                "network {{\nhosts = {}\n{}{}{}{}}}\n",
                list(&hosts),
                argument("schemes", schemes.as_ref()),
                argument("ports", ports.as_ref()),
                argument("methods", methods.as_ref()),
                argument("addresses", addresses.as_ref())
            )
        });
    let files =
        (some(&[".", "a", "a/b", "/opt"]), some(&["read", "write"])).prop_map(|(directories, access)| {
            let directories = directories.unwrap_or_else(|| vec!["."]);
            format!(
                "filesystem {{\ndirectories = {}\n{}}}\n",
                list(&directories),
                argument("access", access.as_ref())
            )
        });
    let names = some(&["A", "B", "A*", "*B", "*"]).prop_map(|names| {
        format!("environment {{\nnames = {}\n}}\n", list(&names.unwrap_or_else(|| vec!["A"])))
    });
    let process = (
        prop::sample::select(&["git", "/bin/git", "*", "**"][..]),
        prop::collection::vec(prop::sample::select(&["a", "-b", "*", "a*"][..]), 0..3),
        any::<bool>(),
    )
        .prop_map(|(program, mut arguments, open)| {
            arguments.extend(open.then_some("..."));
            format!("process {{\nprogram = \"{program}\"\narguments = {}\n}}\n", list(&arguments))
        });
    let communicator = prop::collection::vec(host(), 1..3)
        .prop_map(|hosts| format!("communicator {{\nhosts = {}\n}}\n", list(&hosts)));
    (effect, prop_oneof![3 => network, 1 => files, 1 => names, 1 => process, 1 => communicator])
        .prop_map(|(effect, rest)| format!("{effect} {rest}"))
}

fn file() -> impl Strategy<Value = String> {
    let block = (
        prop::sample::select(&["*", "acme/*", "acme/dns", "other/dns"][..]),
        prop::collection::vec(rule(), 0..4),
    )
        .prop_map(|(address, rules)| format!("plugin \"{address}\" {{\n{}}}\n", rules.concat()));
    (prop::sample::select(&["deny", "defer"][..]), prop::collection::vec(block, 0..4))
        .prop_map(|(otherwise, blocks)| format!("otherwise = \"{otherwise}\"\n{}", blocks.concat()))
}

const REQUESTS: [&str; 24] = [
    "GET https://a.example",
    "POST https://a.example",
    "GET http://a.example",
    "GET http://a.example:8080",
    "GET https://b.a.example",
    "DELETE https://b.a.example:80",
    "GET https://example",
    "GET https://other",
    "GET https://127.0.0.1",
    "GET http://10.1.2.3",
    "read .",
    "read a/b/c",
    "write a/b/c",
    "write a",
    "read /opt/x",
    "env A",
    "env AB",
    "env C",
    "run git",
    "run /bin/git a",
    "run git a -b",
    "run git -b",
    "connect a.example 22",
    "connect 127.0.0.1 22",
];

const ADDRESSES: [&str; 5] = ["93.184.216.34", "127.0.0.1", "10.1.2.3", "169.254.169.254", "::ffff:10.1.2.3"];

/// All that is asked, by name and by address.
fn questions() -> Vec<(Request, Option<IpAddr>)> {
    let addresses = || std::iter::once(None).chain(ADDRESSES.iter().map(|text| text.parse().ok()));
    let all = REQUESTS.iter().flat_map(|text| addresses().map(move |address| (request(text), address)));
    all.filter(|(request, address)| {
        address.is_none() || matches!(request, Request::Network(_) | Request::Communicator(_))
    })
    .collect()
}

fn allows(policy: &Policy, request: &Request, address: Option<IpAddr>) -> bool {
    let view = policy.of(&plugin("acme/dns"));
    match address {
        Some(address) => view.decide_at(request, address).is_allowed(),
        None => view.decide(request).is_allowed(),
    }
}

proptest! {
    #[test]
    fn a_narrower_level_never_grants_more(
        organisation in file(), user in file(), root_module in file(), further in file(),
    ) {
        let files = [
            (Level::Organisation, &*organisation),
            (Level::User, &*user),
            (Level::RootModule, &*root_module),
            (Level::RootModule, &*further),
        ];
        for count in 1..files.len() {
            let (higher, all) = (policy(&files[..count]), policy(&files[..=count]));
            let defers = files[..count].iter().all(|(_, text)| text.contains("defer"));
            for (request, address) in questions() {
                // What nobody has decided yet may be granted; all else stays denied.
                if !defers && !allows(&higher, &request, address) {
                    prop_assert!(!allows(&all, &request, address), "{request} {address:?}\n{files:#?}");
                }
                // In every case each file has its say.
                for (level, text) in &files[..=count] {
                    if !text.contains("defer") && !allows(&policy(&[(*level, text)]), &request, address) {
                        prop_assert!(!allows(&all, &request, address), "{request} {address:?}\n{files:#?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_denial_is_final(organisation in file(), root_module in file()) {
        // The same denials alone, in a file that allows all else.
        let all = "plugin \"*\" {\n allow network {\n hosts = [\"**\", \"0.0.0.0/0\"]\n schemes = [\"http\", \"https\"]\n \
                   ports = [\"*\"]\n addresses = [\"public\", \"private\", \"loopback\", \"0.0.0.0/0\"]\n }\n}\n";
        let open = policy(&[(Level::Organisation, &format!("{organisation}{all}"))]);
        let both = policy(&[(Level::Organisation, &organisation), (Level::RootModule, &root_module)]);
        for (request, address) in questions() {
            let is_network = matches!(request, Request::Network(_));
            let is_metadata = address.is_some_and(|address| address.to_string() == "169.254.169.254");
            if is_network && !is_metadata && !allows(&open, &request, address) {
                prop_assert!(!allows(&both, &request, address), "{request} {address:?}\n{organisation}\n{root_module}");
            }
        }
    }

    #[test]
    fn explaining_says_what_is_decided(organisation in file(), root_module in file()) {
        let policy = policy(&[(Level::Organisation, &organisation), (Level::RootModule, &root_module)]);
        let explanation = policy.of(&plugin("acme/dns")).explain();
        for (request, address) in questions() {
            // Where a name leads is part of what is explained.
            let view = policy.of(&plugin("acme/dns"));
            let decision = match address {
                Some(address) => view.decide_at(&request, address),
                None if matches!(request, Request::Network(_) | Request::Communicator(_)) => continue,
                None => view.decide(&request),
            };
            if let wardian_policy::Decision::Allowed(grant) = decision {
                let is_explained = explanation
                    .allowed
                    .iter()
                    .any(|explained| grant.rules.iter().any(|place| explained.rules.contains(place)));
                prop_assert!(is_explained, "{request} by {grant:?}\n{explanation:#?}\n{organisation}\n{root_module}");
            }
        }
        if explanation.allowed.is_empty() {
            for (request, address) in questions().into_iter().filter(|(_, address)| address.is_some()) {
                prop_assert!(!allows(&policy, &request, address), "{request} {address:?}");
            }
        }
    }

    #[test]
    fn the_rule_that_is_shown_allows_the_request(index in 0..REQUESTS.len(), at in 0..ADDRESSES.len()) {
        let request = request(REQUESTS[index]);
        let address: Option<IpAddr> = ADDRESSES[at].parse().ok();
        let view = policy(&[]).of(&plugin("acme/dns"));
        let is_network = matches!(request, Request::Network(_) | Request::Communicator(_));
        let by_address = address.filter(|_| is_network && !REQUESTS[index].contains(".1"));
        let rule = view.rule_for(&request, by_address);
        let granted = policy(&[(Level::RootModule, &rule.clone().unwrap_or_default())]);
        // The root module's own directory can be read whole, and is not written as such.
        prop_assert!(rule.is_some());
        prop_assert!(allows(&granted, &request, by_address), "{request} {by_address:?}\n{rule:?}");
        prop_assert!(!granted.of(&plugin("acme/other")).decide(&request).is_allowed());
    }

    #[test]
    fn texts_of_requests_come_through_the_rule(name in "[^=\u{0}]{1,12}", argument in "\\PC{0,12}") {
        for request in [
            Request::Environment(wardian_policy::EnvironmentName::new(&name).unwrap()),
            Request::Process(wardian_policy::ProcessStart::new("git", [argument.clone()]).unwrap()),
        ] {
            let view = policy(&[]).of(&plugin("acme/dns"));
            if let Some(rule) = view.rule_for(&request, None) {
                prop_assert!(parse(Level::RootModule, &rule).is_ok(), "{rule}");
                let granted = policy(&[(Level::RootModule, &rule)]);
                prop_assert!(allows(&granted, &request, None), "{rule}");
            }
        }
    }
}
