//! Generates arbitrary policy files and requests.

use std::net::IpAddr;

use proptest::prelude::*;
use wardian_access::AccessRequest;
use wardian_policy::Policy;

use super::{plugin, request};

pub fn host() -> impl Strategy<Value = &'static str> {
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

pub fn list<T: std::fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", items.join(", "))
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Option<Vec<&'static str>>> {
    prop::option::of(prop::collection::vec(prop::sample::select(of), 1..3))
}

/// Renders an argument, if it has a value.
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
    let files = (some(&[".", "a", "a/b", "/opt"]), some(&["read", "write", "connect"])).prop_map(
        |(directories, access)| {
            let directories = directories.unwrap_or_else(|| vec!["."]);
            format!(
                "filesystem {{\ndirectories = {}\n{}}}\n",
                list(&directories),
                argument("access", access.as_ref())
            )
        },
    );
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

pub fn file() -> impl Strategy<Value = String> {
    let block = (
        prop::sample::select(&["*", "acme/*", "acme/dns", "other/dns"][..]),
        prop::collection::vec(rule(), 0..4),
    )
        .prop_map(|(address, rules)| format!("plugin \"{address}\" {{\n{}}}\n", rules.concat()));
    (prop::sample::select(&["deny", "defer"][..]), prop::collection::vec(block, 0..4))
        .prop_map(|(otherwise, blocks)| format!("otherwise = \"{otherwise}\"\n{}", blocks.concat()))
}

/// Generates files that contain only settings, for plugins that match several blocks.
pub fn settings() -> impl Strategy<Value = String> {
    let set = |name: &'static str, values: &'static [&'static str]| {
        prop::option::of(prop::sample::select(values))
            .prop_map(move |value| value.map_or(String::new(), |value| format!("{name} = {value}\n")))
    };
    let limits = (
        set("memory", &["\"1 MiB\"", "\"1 GiB\""]),
        set("cpu_time", &["\"1s\"", "\"1m\""]),
        set("wall_time", &["\"1s\"", "\"1m\""]),
        set("concurrent_requests", &["1", "100"]),
        set("response_size", &["\"1 KiB\"", "\"1 GiB\""]),
        set("bytes_written", &["\"1 KiB\"", "\"1 GiB\""]),
    )
        .prop_map(|(one, two, three, four, five, six)| {
            format!("limits {{\n{one}{two}{three}{four}{five}{six}}}\n")
        });
    let native = set("native", &["\"allow\"", "\"warn\"", "\"confine-files\"", "\"confine\"", "\"deny\""]);
    let block = (
        prop::sample::select(&["*", "acme/*", "acme/dns", "other/dns"][..]),
        native,
        set("deterministic", &["true", "false"]),
        limits,
    )
        .prop_map(|(address, native, deterministic, limits)| {
            format!("plugin \"{address}\" {{\n{native}{deterministic}{limits}}}\n")
        });
    (prop::sample::select(&["deny", "defer"][..]), prop::collection::vec(block, 0..4))
        .prop_map(|(otherwise, blocks)| format!("otherwise = \"{otherwise}\"\n{}", blocks.concat()))
}

/// Generates arbitrary requests. Some of their words also occur in rules.
pub fn any_request() -> impl Strategy<Value = AccessRequest> {
    let word = || prop::sample::select(&["a", "b", "A", "AB", "-b", "git", "*", "x y", "opt"][..]);
    let name = prop::collection::vec(prop::sample::select(&["a", "b", "example", "other", "c-d"][..]), 1..4)
        .prop_map(|labels| labels.join("."));
    let host = prop_oneof![
        3 => name,
        1 => prop::sample::select(&["127.0.0.1", "10.1.2.3", "0x7f.1", "2130706433", "[::ffff:10.1.2.3]"][..])
            .prop_map(str::to_owned),
    ];
    let port = prop::sample::select(&[1_u16, 22, 80, 443, 1_000, 1_001, 65_535][..]);
    let path = prop::collection::vec(prop::sample::select(&["a", "b", ".", "ab"][..]), 1..4)
        .prop_map(|names| names.join("/"));
    let path = prop_oneof![3 => path.clone(), 1 => path.prop_map(|path| format!("/opt/{path}"))];
    let text = prop_oneof![
        (prop::sample::select(&["GET", "POST", "DELETE"][..]), prop::bool::ANY, host.clone(), port.clone())
            .prop_map(|(method, secure, host, port)| {
                format!("{method} http{}://{host}:{port}", if secure { "s" } else { "" })
            }),
        (prop::sample::select(&["read", "write", "socket"][..]), path)
            .prop_map(|(access, path)| format!("{access} {path}")),
        word().prop_map(|name| format!("env {name}")),
        prop::collection::vec(word(), 1..4).prop_map(|words| format!("run {}", words.join(" "))),
        (host.clone(), port)
            .prop_map(|(host, port)| format!("connect {} {port}", host.trim_matches(['[', ']']))),
        host.prop_map(|host| format!("lookup {}", host.trim_matches(['[', ']']))),
    ];
    (text, prop::bool::ANY).prop_map(|(text, below)| match request(&text) {
        AccessRequest::File(file) if below => AccessRequest::File(file.with_descendants()),
        request => request,
    })
}

pub const REQUESTS: [&str; 24] = [
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

pub const ADDRESSES: [&str; 5] =
    ["93.184.216.34", "127.0.0.1", "10.1.2.3", "169.254.169.254", "::ffff:10.1.2.3"];

/// Returns all requests, by name and by address.
pub fn questions() -> Vec<(AccessRequest, Option<IpAddr>)> {
    let addresses = || std::iter::once(None).chain(ADDRESSES.iter().map(|text| text.parse().ok()));
    let all = REQUESTS.iter().flat_map(|text| addresses().map(move |address| (request(text), address)));
    all.filter(|(request, address)| {
        address.is_none() || matches!(request, AccessRequest::Network(_) | AccessRequest::Communicator(_))
    })
    .collect()
}

pub fn allows(policy: &Policy, request: &AccessRequest, address: Option<IpAddr>) -> bool {
    let view = policy.for_plugin(&plugin("acme/dns"));
    match address {
        Some(address) => view.decide_at(request, address).is_allowed(),
        None => view.decide(request).is_allowed(),
    }
}
