//! Text that is crafted to be expensive to parse, and text that is nearly valid.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use wardian_diagnostic::{NoStyle, SourceFile};
use wardian_lang::{EmptyScope, parse_body, parse_expression, parse_template};

fn time(text: &str) -> Duration {
    let file = SourceFile::new("main.tf", text);
    let start = Instant::now();
    let (_, found) = parse_body(&file);
    assert!(found.len() <= 1000);
    let _ = parse_expression(&file);
    let _ = parse_template(&file);
    start.elapsed()
}

/// Strings whose repetition could cause a parser to backtrack repeatedly.
const PIECES: &[&str] = &[
    "(",
    "[",
    "{",
    "a(",
    "a[",
    "{a=",
    "[for x in ",
    "{for x in y : x => ",
    "\"${",
    "\"%{ if ",
    "\"",
    "\"\n",
    "<<A\n",
    "<<-A\nx\n",
    "${",
    "%{",
    "x = \"%{ for a in b }",
    "%{ for a in b }",
    "%{ if a }",
    "%{ else }",
    "a = \"${b",
    "/*",
    "#",
    "\n",
    "(\n",
    "-",
    "!",
    "a ? ",
    "a ? b : ",
    "a +",
    "a.",
    ".*",
    "[*]",
    "a::",
    "a {\n",
    "a {",
    "a = 1\n",
    "a = {\n",
    "'",
    "\u{0}",
    "\\",
    "\"\\q",
    "~}",
    "}",
    ")",
    "]",
    "a b ",
    "a = 1 b = 2\n",
    "1.",
    "é",
];

#[test]
fn parsing_hostile_text_is_linear() {
    for piece in PIECES {
        for (before, behind) in [("", ""), ("a = ", "\n"), ("b {\na = [\n\"", "\n}\n"), ("((((((((1", "")] {
            let text = format!("{before}{}{behind}", piece.repeat(300_000 / piece.len()));
            let taken = time(&text);
            assert!(taken < Duration::from_secs(4), "{before:?} {piece:?} took {taken:?}");
        }
    }
}

const VALID: &str = r#"variable "x" {
  type    = object({ a = optional(string, "b"), c = list(any) })
  default = { a = null, c = [1, -2.5e3, true] } # comment
}
/* block */
resource "a" "b" {
  for_each = { for k, v in var.x : k => v... if k != "" && !v }
  text     = "a ${~ upper("x") ~} %{ if true }b%{ else }c%{ endif } $${d} \u00e9"
  here     = <<-EOT
    ${each.key}
      %{ for x in [1, 2] ~}
      ${x}
      %{ endfor ~}
  EOT
  splat = a.b[*].c.*.d.0[var.i + 1]
  call  = provider::p::f(1, [2]...)
  cond  = a ? b : c == d ? e : f
  one { line = 1 }
  dynamic "x" {
    for_each = []
    content {}
  }
}
"#;

#[test]
fn valid_text_has_no_errors() {
    let (_, found) = parse_body(&SourceFile::new("main.tf", VALID));
    assert!(found.is_empty(), "{found}");
}

fn exercise(text: &str) {
    let (body, found) = parse_body(&SourceFile::new("main.tf", text));
    for problem in &found {
        assert!(problem.subject.is_some());
        let _ = problem.to_text(40, &NoStyle);
    }
    let mut bodies = vec![&body];
    while let Some(body) = bodies.pop() {
        for attribute in &body.attributes {
            let _ = attribute.expression.references();
            let _ = attribute.expression.check();
            let _ = attribute.expression.evaluate(&EmptyScope);
        }
        bodies.extend(body.blocks.iter().map(|block| &block.body));
    }
}

#[test]
fn truncated_text_is_parsed_without_panic() {
    for (end, _) in VALID.char_indices() {
        exercise(&VALID[..end]);
        exercise(&VALID[end..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_text_is_parsed_without_panic(
        changes in prop::collection::vec(
            (
                any::<prop::sample::Index>(),
                0_usize..5,
                prop::sample::select(vec![
                    "", "", "\"", "${", "%{", "}", "{", "(", ")", "[", "]", "\n", "<<E\n", "E\n", "=", ":", ",", ".", "*",
                    "?", "for ", "if ", "~}", "\\", "#", "/*", "é", "'", "...", "=>", "::",
                ]),
            ),
            1..6,
        )
    ) {
        let mut characters: Vec<char> = VALID.chars().collect();
        for (index, removed, added) in changes {
            let at = index.index(characters.len());
            let end = (at + removed).min(characters.len());
            characters.splice(at..end, added.chars());
        }
        exercise(&characters.into_iter().collect::<String>());
    }
}
