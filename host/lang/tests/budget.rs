//! Expressions that describe more values than a budget allows.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_lang::{Budget, EvaluationLimits, ReferenceSubject, Resolved, Scope, parse_expression};
use wardian_value::{Type, Value};

struct Run {
    budget: Budget,
    locals: BTreeMap<String, Value>,
}

impl Run {
    fn new(expression: u64, total: u64) -> Self {
        let limits = EvaluationLimits { expression, total, origin: "Set in p.hcl:1.".into() };
        Self { budget: Budget::new(limits), locals: BTreeMap::new() }
    }

    fn evaluate(&self, text: &str) -> Result<Value, Diagnostics> {
        parse_expression(&SourceFile::new("main.tf", text))?.evaluate(self)
    }

    /// Returns the summary and the position of the error.
    fn error(&self, text: &str) -> (String, String) {
        let problems = self.evaluate(text).unwrap_err();
        let problem = problems.iter().next().unwrap();
        assert!(problem.detail.ends_with("Set in p.hcl:1."), "{}", problem.detail);
        (problem.summary.clone(), problem.subject.as_ref().unwrap().to_string())
    }
}

impl Scope for Run {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _: Option<&Value>,
        _: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let name = subject.to_string();
        Ok(Resolved::Whole(self.locals.get(&name).cloned().unwrap_or_else(|| Value::unknown(Type::Dynamic))))
    }

    fn budget(&self) -> Option<&Budget> {
        Some(&self.budget)
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn large_results_are_rejected_at_their_expression() {
    let mut run = Run::new(4 * MIB, 1_000 * MIB);
    run.locals.insert("local.long".to_owned(), Value::string("a,".repeat(1_000_000)));
    run.locals.insert("local.lines".to_owned(), Value::string("a\n1\n".repeat(500_000)));
    run.locals.insert("local.secret".to_owned(), {
        let part = Value::tuple(vec![Value::string("x").with_marks(wardian_value::Marks::SENSITIVE); 60_000]);
        Value::tuple([part])
    });
    for expression in [
        "[for a in range(1024): [for b in range(1024): [for c in range(1024): c]]]",
        "[for a in range(1024): length([for b in range(1024): [for c in range(1024): c]])]",
        "{for a in range(1024): a => {for b in range(1024): b => a}}",
        "setproduct(range(300), range(300))",
        "setproduct(range(100), range(100), [1, 2, 3, 4, 5, 6, 7, 8])",
        "split(\",\", local.long)",
        "split(\"\", local.long)",
        "regexall(\"a\", local.long)",
        "regexall(\"(a)\", local.long)",
        "csvdecode(local.lines)",
        "jsondecode(\"[${local.long}0]\")",
        "replace(local.long, \",\", \"123456789\")",
        "replace(local.long, \"/,/\", \"123456789\")",
        "join(\"\", [local.long, local.long, local.long])",
        "join(\",,,,,,,\", split(\",\", substr(local.long, 0, 60000)))",
        "format(\"%99999s%99999s%99999s%99999s%99999s\", join(\"\", [for i in range(50): format(\"%99999s\", i)]), 1, 2, 3, 4)",
        "formatlist(\"%99999s\", range(100))",
        "indent(99999, join(\"\\n\", range(100)))",
        "\"${local.long}${local.long}${local.long}\"",
        "\"%{for a in range(1024)}%{for b in range(1024)}${local.long}%{endfor}%{endfor}\"",
        "\"%{for a in range(1024)}%{for b in range(1024)}%{endfor}%{endfor}\"",
        "[for x in [[1]]: [for y in [[x, x, x, x, x, x, x, x]]: [for z in [[y, y, y, y, y, y, y, y]]: [for w in [[z, z, z, z, z, z, z, z]]: [for v in [[w, w, w, w, w, w, w, w]]: [v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v]]]]]]",
        "flatten([for a in range(200): [for b in range(200): [a, b]]])",
        "concat([for a in range(200): [for b in range(200): a]]...)",
        "range(1024)[*].a",
        "upper(local.secret[0][0])",
        "[for i in range(40): coalescelist(local.secret[0])]",
        "[for i in range(20): reverse(tolist(local.secret[0]))]",
    ] {
        match run.evaluate(expression) {
            Ok(value) => assert!(value.expanded_size() <= 4 * MIB, "{expression}"),
            Err(problems) => {
                let problem = problems.iter().next().unwrap();
                if problem.summary == "Evaluation limit exceeded" {
                    assert!(problem.subject.is_some(), "{expression}");
                } else {
                    assert!(expression.starts_with("range(1024)[*]"), "{expression}: {}", problem.detail);
                }
            }
        }
    }
    assert_eq!(
        run.error("[1, [for a in range(1024): [for b in range(1024): b]]]"),
        ("Evaluation limit exceeded".to_owned(), "main.tf:1,38-49".to_owned())
    );
}

#[test]
fn shared_values_count_for_each_occurrence() {
    let mut run = Run::new(4 * MIB, 1_000 * MIB);
    run.locals.insert("local.a0".to_owned(), Value::string("x"));
    let mut at = 0;
    let error = loop {
        match run.evaluate(&format!("[local.a{at}, {{ same = local.a{at} }}]")) {
            Ok(value) => {
                at += 1;
                run.locals.insert(format!("local.a{at}"), value);
            }
            Err(problems) => break problems,
        }
        assert!(at < 40);
    };
    assert!(at > 10, "{at}");
    let problem = error.iter().next().unwrap();
    assert_eq!(problem.summary, "Evaluation limit exceeded");
    assert!(problem.detail.contains("if values that occur several times"), "{}", problem.detail);
}

#[test]
fn types_of_unknown_values_are_limited() {
    let mut run = Run::new(4 * MIB, 1_000 * MIB);
    run.locals.insert("local.t0".to_owned(), Value::unknown(Type::String));
    run.locals.insert("local.condition".to_owned(), Value::unknown(Type::Bool));
    for at in 0..40 {
        let result = format!("local.condition ? [local.t{at}, local.t{at}] : [local.t{at}, local.t{at}]");
        // If both sides of a conditional are too large, its result is unknown and has no type.
        let value = run.evaluate(&result).unwrap();
        assert!(!value.is_known());
        assert!(value.expanded_size() <= 4 * MIB, "{at}: {}", value.expanded_size());
        let at = at + 1;
        run.locals.insert(format!("local.t{at}"), value);
    }
}

#[test]
fn all_evaluations_share_the_total() {
    let run = Run::new(4 * MIB, 10 * MIB);
    let expression = "[for a in range(10): [for b in range(1000): b]]";
    let evaluated = (0..100).take_while(|_| run.evaluate(expression).is_ok()).count();
    assert!((5..20).contains(&evaluated), "{evaluated}");
    assert!(run.evaluate("[1]").is_err());
    assert!(run.evaluate("1 + 1").is_ok(), "what produces nothing is not counted");
}

#[test]
fn failed_attempts_share_the_limit_of_their_expression() {
    let huge = "[for b in range(1024): [for c in range(1024): c]]";
    for expression in [
        format!("[for a in range(1024): try({huge}, 1)]"),
        format!("[for a in range(1024): can({huge})]"),
        format!("[true ? 1 : {huge}, [1]]"),
    ] {
        let run = Run::new(4 * MIB, 1_000 * MIB);
        let result = run.evaluate(&expression);
        assert!(result.is_err(), "{expression}");
        assert!(run.budget.used() <= 5 * MIB, "{expression}: {}", run.budget.used());
    }
}

#[test]
fn typical_expressions_stay_within_the_default_limits() {
    let mut run = Run::new(1 << 30, 8 << 30);
    let element = Value::object([("name", Value::string("x".repeat(20))), ("size", Value::number(7_i64))]);
    run.locals.insert("local.many".to_owned(), Value::tuple(vec![element; 20_000]));
    for expression in [
        "{for at, one in local.many: \"${one.name}-${at}\" => merge(one, { at = at })}",
        "jsonencode(local.many)",
        "jsondecode(jsonencode(local.many))",
        "split(\",\", join(\",\", local.many[*].name))",
    ] {
        run.evaluate(expression).unwrap();
    }
    assert!(run.budget.used() < 200 * MIB, "{}", run.budget.used());
}
