//! Checks that the memory and time of a function call are proportional to the length of the call's
//! text, because calls with huge results are rejected.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use base64::Engine as _;
use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_lang::{ReferenceSubject, Resolved, Scope, parse_expression};
use wardian_value::{Type, Value};

/// A scope in which `local.long` is a string of a million letters, `local.many` is a list of a
/// hundred thousand equal elements, and `local.text` is the given text.
struct World(String);

impl Scope for World {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let long = || Value::string("a".repeat(1_000_000));
        Ok(Resolved::Whole(match subject.to_string().as_str() {
            "local.long" => long(),
            "local.many" => Value::list(Type::String, vec![long(); 100_000]),
            "local.text" => Value::string(self.0.as_str()),
            name => {
                return Err(wardian_diagnostic::Diagnostic::error("Undeclared", name)
                    .at(span.clone())
                    .into());
            }
        }))
    }
}

fn quickly(expression: &str, text: &str) -> Result<Value, Diagnostics> {
    let start = Instant::now();
    let outcome = parse_expression(&SourceFile::new("main.tf", expression))
        .and_then(|expression| expression.evaluate(&World(text.to_owned())));
    let spent = start.elapsed();
    assert!(spent < Duration::from_secs(5), "{expression}: {spent:?}");
    outcome
}

#[test]
fn rejects_calls_with_huge_results() {
    for expression in [
        "range(1000000000)",
        "range(0, 1, 0.0000001)",
        "setproduct(range(1000), range(1000), range(1000))",
        "format(\"%999999999d\", 1)",
        "format(\"%.999999999f\", 1)",
        "format(\"%[999999999999999999999]d\", 1)",
        "format(replace(local.long, \"a\", \"%100000[1]d\"), 1)",
        "indent(999999999, \"a\\nb\")",
        "replace(local.long, \"a\", local.long)",
        "replace(local.long, \"/a/\", local.long)",
        "join(local.long, local.many)",
        "join(\"\", local.many)",
        "indent(100000, replace(local.long, \"a\", \"\\n\"))",
        "cidrsubnets(\"::/0\", 999999999)",
        "regex(\"(((a{1000}){1000}){1000})\", \"a\")",
        "regex(\"a{99999999}\", \"a\")",
    ] {
        let outcome = quickly(expression, "");
        assert!(outcome.is_err(), "{expression}");
    }
}

#[test]
fn bounds_cost_of_large_arguments() {
    for expression in [
        "setproduct(range(1000), range(1000), [])",
        "pow(10, 999999)",
        "pow(10, pow(10, 300))",
        "parseint(local.long, 16)",
        "tonumber(\"1e999999999\")",
        "1e999999999 * 1e999999999",
        "format(\"%f\", 1e999999)",
        "format(\"%d\", 1e999999)",
        "tostring(1e999999)",
        "jsonencode(1e999999)",
        "ceil(1e999999)",
        "1e999999 % 3",
        "regexall(\"a*?b\", local.long)",
        "cidrhost(\"10.0.0.0/8\", 1e30)",
    ] {
        if let Ok(value) = quickly(expression, "") {
            assert!(value.as_str().is_none_or(|text| text.len() < 10_000_000), "{expression}");
        }
    }
}

#[test]
fn rejects_decompression_bombs() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..200 {
        packer.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let packed = base64::engine::general_purpose::STANDARD.encode(packer.finish().unwrap());
    assert!(quickly("base64gunzip(local.text)", &packed).is_err());

    let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let alias = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(aliases, "a{level}: &a{level} [{alias}]").unwrap();
    }
    assert!(quickly("yamldecode(local.text)", &aliases).is_err());
    for open in ["[", "{a: ", "- ", "? "] {
        assert!(quickly("yamldecode(local.text)", &open.repeat(100_000)).is_err(), "{open}");
    }
    for open in ["[", "{\"a\":"] {
        assert!(quickly("jsondecode(local.text)", &open.repeat(1_000_000)).is_err(), "{open}");
    }
    let nested = "${".repeat(100_000);
    assert!(quickly("templatestring(local.text, {})", &nested).is_err());
    let calls = format!("${{{}\"a\"{}}}", "upper(".repeat(100_000), ")".repeat(100_000));
    assert!(quickly("templatestring(local.text, {})", &calls).is_err());
}
