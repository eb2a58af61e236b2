//! Checks that arbitrary text does not cause a panic.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use wardian_diagnostic::{NoStyle, SourceFile};
use wardian_lang::{EmptyScope, TypeConstraint, parse_body, parse_expression, parse_template};

fn exercise(text: &str) {
    let file = SourceFile::new("x.tf", text);
    let show = |problems: &wardian_diagnostic::Diagnostics| {
        for problem in problems {
            let _ = problem.to_text(40, &NoStyle);
            let _ = problem.to_json();
        }
    };
    show(&parse_body(&file).1);
    for expression in [parse_expression(&file), parse_template(&file)] {
        match expression {
            Ok(expression) => {
                let _ = expression.references();
                let _ = expression.as_traversal();
                let _ = expression.as_object_items();
                show(&expression.check());
                if let Err(problems) = expression.evaluate(&EmptyScope) {
                    show(&problems);
                }
                if let Err(problems) = TypeConstraint::parse(&expression) {
                    show(&problems);
                }
            }
            Err(problems) => show(&problems),
        }
    }
}

/// Generates text from typical fragments. Such text passes more checks than random text.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "var.x",
        "each",
        "1",
        "1e999",
        "-",
        "+",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        "!",
        "?",
        ":",
        "=",
        "=>",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "${",
        "%{",
        "$${",
        "~}",
        "<<EOT\n",
        "<<-EOT\n",
        "EOT\n",
        "for ",
        " in ",
        " if ",
        "...",
        ".",
        "*",
        "[*]",
        ".*",
        ",",
        "\n",
        " ",
        "null",
        "true",
        "\\n",
        "\\u00e9",
        "é",
        "\u{301}",
        "#",
        "/*",
        "*/",
        "if ",
        "else ",
        "endif ",
        "endfor ",
        "upper(",
        "format(\"%",
        "regex(",
        "merge(",
        "\r\n",
        "\u{feff}",
        "x = ",
        "resource \"a\" \"b\" {\n",
        "}\n",
        "object({",
        "optional(string,",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Generates calls of every function with arguments of every kind.
fn calls() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = wardian_lang::function_names().collect();
    let argument = prop::sample::select(vec![
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e30",
        "1/0",
        "3",
        "\"\"",
        "\"a\"",
        "\"é%d%[1]s%5.2f\"",
        "\"10.0.0.0/8\"",
        "\"fd00::/48\"",
        "\"[a-\"",
        "\"2018-01-02T23:12:01Z\"",
        "\"1h\"",
        "[]",
        "[1, \"a\"]",
        "[null]",
        "[[1], [2, [3]]]",
        "{}",
        "{ a = 1, b = [] }",
        "tolist([])",
        "tomap({ a = \"x\" })",
        "toset([\"b\", \"a\"])",
        "sensitive(\"s\")",
        "[sensitive(1)]",
        "timestamp()",
        "[timestamp()]",
        "{ a = timestamp() }",
        "tolist([timestamp()])",
        "toset([timestamp(), \"a\"])",
        "nothing.here",
    ]);
    (prop::sample::select(names), prop::collection::vec(argument, 0..4), any::<bool>()).prop_map(
        |(name, arguments, expands)| {
            let dots = if expands && !arguments.is_empty() { "..." } else { "" };
            format!("{name}({}{dots})", arguments.join(", "))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printable_text_never_panics(text in "\\PC{0,80}") {
        exercise(&text);
    }

    #[test]
    fn random_tokens_never_panic(text in pieces()) {
        exercise(&text);
    }

    #[test]
    fn functions_with_any_arguments_never_panic(text in calls()) {
        exercise(&text);
    }
}
