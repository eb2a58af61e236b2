//! Hostile policies: a decision or errors must be returned in bounded time.

mod support;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use support::{parse, plugin, project, request};
use wardian_policy::Level;

/// A generous time limit, since tests run unoptimized and in parallel.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn thousands_of_wildcards_match_quickly() {
    let mut text = String::from("plugin \"*\" {\n  allow network {\n    hosts = [\n");
    for index in 0..20_000 {
        let _ = writeln!(text, "      \"*a*b*-{index}.*.*.example.com\",");
    }
    text.push_str("    ]\n  }\n}\n");
    let began = Instant::now();
    let policy = project(&text);
    let view = policy.for_plugin(&plugin("acme/dns"));
    let name = format!("GET https://{}-x.{}.b.example.com", "ab".repeat(30), "c".repeat(60));
    for _ in 0..10 {
        assert!(!view.decide(&request(&name)).is_allowed());
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn thousands_of_rules_on_one_line_are_parsed() {
    // Each rule needs its position in the file, and counting columns for each position is slow.
    let mut text = String::new();
    for index in 0..8_000 {
        let _ = write!(text, "/* ü */ plugin \"acme/p{index}\" {{\n deterministic = true\n}}\n");
    }
    let line = format!("plugin \"acme/x\" {{ native = \"{}\" }}\n", "ü".repeat(200_000));
    let began = Instant::now();
    assert!(parse(Level::RootModule, &text).is_ok());
    assert!(parse(Level::RootModule, &line).is_err());
    assert!(parse(Level::RootModule, &format!("x = [{}]", "\"ü\", ".repeat(100_000))).is_err());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn deep_nesting_is_rejected() {
    for (open, close) in [("[", "]"), ("(", ")"), ("{a={", "}}"), ("\"${", "}\"")] {
        let text = format!("otherwise = {}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(parse(Level::RootModule, &text).is_err());
    }
    assert!(parse(Level::RootModule, &"plugin \"*\" {\n".repeat(10_000)).is_err());
}

#[test]
fn number_of_problems_is_limited() {
    let lines: Vec<String> = (0..5_000).map(|index| format!("y{index} = 1")).collect();
    let text = lines.join("\n");
    let problems = parse(Level::RootModule, &text).unwrap_err();
    assert!(problems.len() <= 51, "{}", problems.len());
    assert!(problems.to_string().contains("more problems"));
}

#[test]
fn explanation_size_is_limited() {
    let names =
        |prefix: &str| (0..3_000).map(|index| format!("\"{prefix}{index}*\"")).collect::<Vec<_>>().join(", ");
    let file =
        |names: String| format!("plugin \"*\" {{\n  allow environment {{\n    names = [{names}]\n  }}\n}}\n");
    let (one, two) = (file(names("*a")), file(names("*b")));
    let began = Instant::now();
    let policy = support::policy(&[(Level::Organisation, &one), (Level::RootModule, &two)]);
    let explanation = policy.for_plugin(&plugin("acme/dns")).explain();
    assert!(explanation.is_cut_short);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

proptest! {
    #[test]
    fn arbitrary_policy_text_never_panics(text in "[a-z\"{}=\\[\\]\n*./ $%]{0,200}") {
        if let Err(problems) = parse(Level::RootModule, &text) {
            prop_assert!(problems.has_errors());
        }
    }

    #[test]
    fn arbitrary_arguments_never_panic(
        block in prop::sample::select(&["allow network", "deny network", "allow filesystem", "allow environment",
            "allow process", "allow communicator", "limits", "credential", ""][..]),
        name in prop::sample::select(&["hosts", "ports", "methods", "schemes", "addresses", "directories", "access",
            "names", "program", "arguments", "memory", "cpu_time", "concurrent_requests", "header", "prefix", "file",
            "native", "deterministic", "reason"][..]),
        value in "\\PC{0,20}",
        listed in any::<bool>(),
    ) {
        let value = value.replace(['"', '\\'], "");
        let value = if listed { format!("[\"{value}\"]") } else { format!("\"{value}\"") };
        let inside = if block.is_empty() { format!("{name} = {value}") } else { format!("{block} {{\n{name} = {value}\n}}") };
        let _ = parse(Level::Organisation, &format!("plugin \"*\" {{\n{inside}\n}}\n"));
    }
}
