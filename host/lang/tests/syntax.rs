//! Files: structure, heredocs, and errors with their spans.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use wardian_diagnostic::{NoStyle, SourceFile};
use wardian_lang::{Body, EmptyScope, parse_body, parse_expression};

fn problems(text: &str) -> String {
    let (_, found) = parse_body(&SourceFile::new("main.tf", text));
    if found.is_empty() {
        return "(none)".to_owned();
    }
    found.iter().map(|problem| problem.to_text(80, &NoStyle).into_string()).collect()
}

fn body(file: &Arc<SourceFile>) -> Body {
    let (body, found) = parse_body(file);
    assert!(found.is_empty(), "{found}");
    body
}

fn first_place(text: &str) -> (usize, String) {
    let (_, found) = parse_body(&SourceFile::new("main.tf", text));
    let first = found.iter().next().unwrap().clone();
    (first.subject.unwrap().start_position().line, first.summary)
}

#[test]
fn body_elements_have_spans() {
    let text = "# c\nresource \"a\" b { # {\n  x = 1\n  y {\n  }\n}\nz = [\n  1,\n]\n";
    let body = body(&SourceFile::new("main.tf", text));
    let block = &body.blocks[0];
    assert_eq!(block.label_texts(), ["a", "b"]);
    assert_eq!(block.header_span.text(), "resource \"a\" b");
    assert_eq!(block.labels[0].span.text(), "\"a\"");
    assert!(block.body.span.text().starts_with(" # {\n  x = 1"));
    assert_eq!(block.body.attributes[0].span.text(), "x = 1");
    assert_eq!(block.body.blocks[0].span.to_string(), "main.tf:4,3-5,4");
    assert_eq!(body.attribute("z").unwrap().expression.span().text(), "[\n  1,\n]");
}

#[test]
fn heredocs_match_terraform() {
    // Recorded by evaluating the same file in `terraform console`.
    let text = include_str!("data/heredocs.tf");
    let body = body(&SourceFile::new("heredocs.tf", text));
    let expected: serde_json::Value = serde_json::from_str(include_str!("data/heredocs.json")).unwrap();
    for attribute in &body.blocks[0].body.attributes {
        let value = attribute.expression.evaluate(&EmptyScope).unwrap();
        assert_eq!(value.as_str(), expected[&*attribute.name].as_str(), "local.{}", attribute.name);
    }
}

#[test]
fn accepts_byte_order_mark_and_windows_line_endings() {
    let body = body(&SourceFile::new("main.tf", "\u{feff}a = 1\r\nb {\r\n  c = 2\r\n}\r\n"));
    assert_eq!(body.attributes[0].name_span.start, 3);
    assert_eq!(body.blocks[0].body.attributes[0].span.text(), "c = 2");
}

#[test]
fn accepts_unusual_but_valid_text() {
    for text in [
        "a = 1e1000",
        "a = { b = 1, b = 2, \"c\" = 3, \"c\" = 4, b = 5 }",
        "a = { for k, v in {} : k => v\n  ? 1 # one\n  : 2 }",
        "a = { for k, v in {} :\n  k => \"${v}\"\n  if v != \"\"\n  && true\n}",
        "a = <<EOT\nEOT and more\n  EOT-x\nEOT\n",
        "a = [<<-EOT\n  EOT\n, 1]\n",
        "a = {\n  # comment\n  for k in [] : k => <<EOT\n x\nEOT\n}",
    ] {
        assert_eq!(problems(text), "(none)", "{text}");
    }
    let file = SourceFile::new("x", "{ bb = 1, bb = 2, a = 3, a = 4 }");
    let value = parse_expression(&file).unwrap().evaluate(&EmptyScope).unwrap();
    assert_eq!(format!("{value:?}"), "{\"a\": 4, \"bb\": 2}");
}

#[test]
fn errors_point_at_their_line() {
    for (text, line) in [
        ("a = \n", 1),
        ("a = 1\nb = [1, 2\nc = 3\n", 3),
        ("a {\n  b = 1\n", 1),
        ("a = [<<EOT\nx\nEOT, 1]\n", 3),
        ("a = 1\na = 2\n", 2),
        ("a = \"x\n", 1),
        ("a = 'x'\n", 1),
        ("a = 1 b = 2\n", 1),
        ("\n\nresource a b\n", 3),
        ("a = foo(\n  1\n", 1),
        ("a = <<EOT\nx\n", 3),
        ("a = \"x\\q\"\n", 1),
        ("a = 1 +\n", 1),
        ("a {\n  b = 1 }\n", 2),
        ("a = ${b}\n", 1),
        ("a\n", 1),
        ("= 1\n", 1),
        ("a = \"x\ny\"\n", 1),
        ("b \"x\ny\" {\n}\n", 1),
    ] {
        let (found, summary) = first_place(text);
        assert!(found.abs_diff(line) <= 1, "{text:?}: line {found}, {summary}");
    }
}

/// Each form of nesting, as a prefix, a centre and a suffix.
const NESTS: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{ a = ", "1", " }"),
    ("\"${", "1", "}\""),
    ("\"x${", "1", "}\""),
    ("<<E\n${", "1", "}\nE\n"),
    ("max(", "1", ")"),
    ("[for x in [1] : ", "x", "]"),
    ("{for x in [1] : x => ", "x", "}"),
    ("[0][", "0", "]"),
    ("true ? ", "1", " : 2"),
    ("(1 + 2 * ", "3", ")"),
    ("(true || true && 1 == 2 ? 1 : 1 + 1 * ", "3", ")"),
    ("\"%{ if true }${", "1", "}%{ endif }\""),
    ("\"%{ for x in [1] }${", "x", "}%{ endfor }\""),
    ("-", "1", ""),
    ("!", "true", ""),
    ("", "[]", "[*]"),
    ("", "[]", ".*[0]"),
    ("[", "[]", "][*][0].*"),
    ("try(", "1", ", 2)"),
];

fn nested((before, middle, behind): (&str, &str, &str), depth: usize) -> String {
    format!("{}{middle}{}\n", before.repeat(depth), behind.repeat(depth))
}

/// The test runs on the stack of a test thread, which has 2 MiB like the stack of any other thread.
#[test]
fn evaluates_256_levels_of_nesting() {
    for nest in NESTS {
        let text = format!("a = {}", nested(*nest, 256));
        let (body, found) = parse_body(&SourceFile::new("main.tf", text.as_str()));
        assert!(found.is_empty(), "{nest:?}: {found}");
        let expression = &body.attributes[0].expression;
        let _ = expression.references();
        let _ = expression.check();
        // Some expressions have no value, such as the splat of an empty splat.
        let _ = expression.evaluate(&EmptyScope);
    }
    for (before, behind) in [("%{ if true }", "%{ endif }"), ("%{ for x in [1] }", "%{ endfor }")] {
        let text = format!("\"{}x{}\"", before.repeat(256), behind.repeat(256));
        let expression = parse_expression(&SourceFile::new("main.tf", text)).unwrap();
        assert_eq!(expression.evaluate(&EmptyScope).unwrap().as_str(), Some("x"));
    }
    let text = format!("{}{}", "b {\n".repeat(256), "}\n".repeat(256));
    assert_eq!(problems(&text), "(none)");
}

#[test]
fn reports_excessive_nesting_once() {
    for depth in [299, 301, 1000, 100_000] {
        for nest in NESTS {
            for text in [nested(*nest, depth), nest.0.repeat(depth), nest.2.repeat(depth)] {
                let text = format!("a = {text}");
                let (body, found) = parse_body(&SourceFile::new("main.tf", text.as_str()));
                let deep = found.iter().filter(|problem| problem.summary == "Nested too deeply").count();
                assert!(deep <= 1, "{nest:?} {depth}: {deep}");
                for attribute in &body.attributes {
                    let _ = attribute.expression.check();
                    let _ = attribute.expression.evaluate(&EmptyScope);
                }
            }
        }
        let (_, found) = parse_body(&SourceFile::new("main.tf", "b {\n".repeat(depth)));
        assert_eq!(found.len(), 1, "{found}");
    }
}

#[test]
fn long_expressions_do_not_exceed_the_nesting_limit() {
    let length = 100_000;
    for (text, expected) in [
        (format!("1{}", " + 1".repeat(length)), Some("100001")),
        (format!("1{}", " - 1 + 2 * 1".repeat(length / 2)), Some("50001")),
        (format!("true{}", " && true".repeat(length)), Some("true")),
        (format!("false{}", " || false && true || 1 == 2".repeat(length / 4)), Some("false")),
        (format!("{}3", "false ? 1 : ".repeat(length)), Some("3")),
        (format!("[{}]", "1, ".repeat(length)), None),
        (format!("\"{}\"", "${1}".repeat(length)), None),
        (format!("x{}", ".y".repeat(length)), None),
        (format!("x{}", "[0]".repeat(length)), None),
        (format!("max({}1)", "1, ".repeat(length)), Some("1")),
        (format!("\"{}\"", "%{ if true }x%{ endif }".repeat(length)), None),
        (format!("1{}", " + \"x\"".repeat(1000)), None),
    ] {
        let expression = parse_expression(&SourceFile::new("main.tf", text)).unwrap();
        let _ = expression.references();
        let _ = expression.check();
        let value = expression.evaluate(&EmptyScope);
        if let Some(expected) = expected {
            assert_eq!(format!("{:?}", value.unwrap()), expected);
        }
    }
}

#[test]
fn renders_diagnostics() {
    insta::assert_snapshot!(problems("resource \"a\" \"b\" {\n  x = \"${foo(}\"\n}\n"));
    insta::assert_snapshot!(problems("a = 'x'\n"));
    insta::assert_snapshot!(problems("a = [\n  1,\n  2\nb = 3\n"));
    insta::assert_snapshot!(problems("a = \"unfinished\nb = 1\n"));
    insta::assert_snapshot!(problems("a = 1\na = 2\n"));
    insta::assert_snapshot!(problems("a = 1; b = 2\n"));
    insta::assert_snapshot!(problems("a {\n  b = 1\n"));
}

#[test]
fn renders_diagnostics_with_values() {
    let file = SourceFile::new("main.tf", "[for name, é in { a = {} } : é.zone]");
    let mut found = parse_expression(&file).unwrap().evaluate(&EmptyScope).unwrap_err();
    found = found.in_block("resource \"null_resource\" \"x\"");
    let problem = found.iter().next().unwrap();
    insta::assert_snapshot!(problem.to_text(60, &NoStyle).as_str());
    insta::assert_snapshot!(serde_json::to_string_pretty(&problem.to_json()).unwrap());
}
