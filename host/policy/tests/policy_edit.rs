//! Adds rules to policy files, and preserves their comments and layout.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod support;

use std::path::Path;

use support::{ROOT, plugin};
use wardian_policy::{CapabilityRequest, RuleArgument, add_grants};

fn request(capability: &str, arguments: &[(&str, &[&str])]) -> CapabilityRequest {
    let arguments = arguments.iter().map(|(name, values)| {
        let is_string = matches!(*name, "reason" | "program");
        let list = || RuleArgument::List(values.iter().map(|value| (*value).to_owned()).collect());
        let value = if is_string { RuleArgument::String(values.concat()) } else { list() };
        ((*name).to_owned(), value)
    });
    CapabilityRequest::without_reason(capability, arguments, Path::new(ROOT)).unwrap()
}

fn hosts(hosts: &[&str]) -> CapabilityRequest {
    request("network", &[("hosts", hosts)])
}

#[track_caller]
fn check(old: &str, requests: &[&CapabilityRequest], expected: &str) {
    let new = add_grants(Some(old), &plugin("acme/dns"), requests, Path::new(ROOT)).unwrap();
    assert_eq!(new, expected);
}

#[test]
fn extends_list_on_one_line() {
    let one = hosts(&["a.example", "b.example"]);
    check(
        "plugin \"acme/dns\" {\n  allow network {\n    hosts = [\"a.example\"] # zones\n  }\n}\n",
        &[&one],
        "plugin \"acme/dns\" {\n  allow network {\n    hosts = [\"a.example\", \"b.example\"] # zones\n  }\n}\n",
    );
    check(
        "plugin \"acme/dns\" {\n  allow network {\n    hosts = [ \"a.example\" ]\n  }\n}\n",
        &[&one],
        "plugin \"acme/dns\" {\n  allow network {\n    hosts = [ \"a.example\", \"b.example\" ]\n  }\n}\n",
    );
}

#[test]
fn extends_list_on_several_lines() {
    let list = |items: &str| {
        format!("plugin \"acme/dns\" {{\n  allow network {{\n    hosts = [{items}]\n  }}\n}}\n")
    };
    let one = hosts(&["b.example"]);
    check(
        &list("\n      # first\n      \"a.example\", # zones\n    "),
        &[&one],
        &list("\n      # first\n      \"a.example\", # zones\n      \"b.example\",\n    "),
    );
    check(
        &list("\n      \"a.example\"\n    "),
        &[&one],
        &list("\n      \"a.example\",\n      \"b.example\"\n    "),
    );
}

#[test]
fn extends_only_rules_with_otherwise_equal_arguments() {
    let one = request("network", &[("hosts", &["b.example"]), ("methods", &["GET"])]);
    check(
        "plugin \"acme/dns\" {\n  allow network {\n    hosts = [\"a.example\"]\n  }\n}\n",
        &[&one],
        "plugin \"acme/dns\" {\n  allow network {\n    hosts = [\"a.example\"]\n  }\n\n  allow network {\n    \
         hosts   = [\"b.example\"]\n    methods = [\"GET\"]\n  }\n}\n",
    );
    check(
        "plugin \"acme/dns\" {\n  allow network {\n    hosts   = [\"a.example\"]\n    methods = [\"GET\"]\n  }\n}\n",
        &[&one],
        "plugin \"acme/dns\" {\n  allow network {\n    hosts   = [\"a.example\", \"b.example\"]\n    methods = \
         [\"GET\"]\n  }\n}\n",
    );
}

#[test]
fn keeps_comments_and_layout() {
    let names = request("environment", &[("names", &["DNS_REGION"])]);
    check(
        "# head\notherwise   =   \"defer\"\n\nplugin \"acme/dns\" { # ours\n\tnative = \"deny\" // no\n\t/* last */\n}\n\n# tail\n",
        &[&names],
        "# head\notherwise   =   \"defer\"\n\nplugin \"acme/dns\" { # ours\n\tnative = \"deny\" // no\n\t/* last */\n\n\
         \tallow environment {\n\t\tnames = [\"DNS_REGION\"]\n\t}\n}\n\n# tail\n",
    );
}

#[test]
fn extends_block_on_one_line() {
    let names = request("environment", &[("names", &["DNS_REGION"])]);
    let rule = "allow environment {\n    names = [\"DNS_REGION\"]\n  }\n}\n";
    check(
        "plugin \"acme/dns\" { native = \"deny\" }\n",
        &[&names],
        &format!("plugin \"acme/dns\" {{\n  native = \"deny\"\n\n  {rule}"),
    );
    check("plugin \"acme/dns\" {}\n", &[&names], &format!("plugin \"acme/dns\" {{\n  {rule}"));
}

#[test]
fn keeps_crlf_line_endings() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let names = request("environment", &[("names", &["DNS_REGION"])]);
    check(
        &crlf("plugin \"acme/dns\" {\n  native = \"deny\"\n}\n"),
        &[&hosts(&["a.example"]), &names],
        &crlf(
            "plugin \"acme/dns\" {\n  native = \"deny\"\n\n  allow network {\n    hosts = [\"a.example\"]\n  }\n\n  \
             allow environment {\n    names = [\"DNS_REGION\"]\n  }\n}\n",
        ),
    );
}

/// The encoder changes escape sequences, so the text cannot be edited in place.
#[test]
fn adds_new_rule_if_extending_list_would_change_layout() {
    check(
        "plugin \"acme/dns\" {\n  allow network {\n    hosts  = [\"a.example\"]\n    reason = \"caf\\u00e9\"\n  }\n}\n",
        &[&hosts(&["b.example"])],
        "plugin \"acme/dns\" {\n  allow network {\n    hosts  = [\"a.example\"]\n    reason = \"caf\\u00e9\"\n  }\n\n  \
         allow network {\n    hosts = [\"b.example\"]\n  }\n}\n",
    );
}
