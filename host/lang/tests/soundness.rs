//! Properties of all values: no expression causes a panic, a result for unknown values is
//! consistent with the result for known values, and a value that is derived from sensitive values
//! is sensitive.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_lang::{ReferenceSubject, Resolved, Scope, function_signatures, parse_expression};
use wardian_value::{Bound, Marks, Number, Refinement, Str, Type, Value, View};

/// A scope in which `local.a0`, `local.a1`, ... are the arguments.
struct Arguments<'a>(&'a [Value]);

impl Scope for Arguments<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let position: Option<usize> =
            subject.to_string().strip_prefix("local.a").and_then(|n| n.parse().ok());
        match position.and_then(|position| self.0.get(position)) {
            Some(value) => Ok(Resolved::Whole(value.clone())),
            None => Err(wardian_diagnostic::Diagnostic::error("Undeclared", "").at(span.clone()).into()),
        }
    }

    fn random_bytes(&self) -> Option<[u8; 16]> {
        Some([7; 16])
    }
}

fn evaluated(expression: &str, arguments: &[Value]) -> Result<Value, Diagnostics> {
    parse_expression(&SourceFile::new("main.tf", expression))?.evaluate(&Arguments(arguments))
}

fn any_text() -> impl Strategy<Value = String> + Clone {
    let telling = prop::sample::select(vec![
        "",
        "a",
        "b",
        "ab",
        "a,b",
        "-1",
        "0",
        "1",
        "2",
        "10",
        "1.5",
        "1e3",
        "true",
        "false",
        "%s",
        "%d-%v",
        "(a)(b)?",
        "[a-z]+",
        "10.0.0.0/8",
        "::1/64",
        "YQ==",
        "UTF-8",
        "{\"a\":[1]}",
        "[1, null]",
        "a: 1\n",
        "a,b\n1,2\n",
        "dns",
        "1h",
        "2020-01-01T00:00:00Z",
        "YYYY-MM",
        "e\u{301}",
        "\u{301}",
        "🇩🇪",
        "a\nb",
        "${a}",
        "%{",
        "/a/",
        ".",
        "k1",
    ]);
    prop_oneof![6 => telling.prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

fn any_number() -> impl Strategy<Value = Number> + Clone {
    prop_oneof![
        4 => (-3i64..12).prop_map(Number::from),
        1 => any::<i64>().prop_map(Number::from),
        1 => prop::sample::select(vec!["0.5", "-1.5", "1e30", "-1e-30", "1e400"])
            .prop_map(|text| Number::parse(text).unwrap()),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        5 => any_text().prop_map(Value::string),
        3 => any_number().prop_map(Value::number),
        2 => any::<bool>().prop_map(Value::bool),
        1 => prop::sample::select(vec![Type::Dynamic, Type::String, Type::list(Type::String)]).prop_map(Value::null),
    ];
    let strings = prop::collection::vec(any_text().prop_map(Value::string), 0..4);
    let numbers = prop::collection::vec(any_number().prop_map(Value::number), 0..4);
    let names = || prop::sample::select(vec!["a", "b", "k1"]).prop_map(Str::new);
    let typed = prop_oneof![
        strings.clone().prop_map(|items| Value::list(Type::String, items)),
        strings.clone().prop_map(|items| Value::set(Type::String, items)),
        numbers.clone().prop_map(|items| Value::list(Type::Number, items)),
        numbers.prop_map(|items| Value::set(Type::Number, items)),
        strings.clone().prop_map(Value::tuple),
        prop::collection::btree_map(names(), any_text().prop_map(Value::string), 0..3)
            .prop_map(|items| Value::map(Type::String, items)),
        prop::collection::btree_map(
            names(),
            strings.prop_map(|items| Value::list(Type::String, items)),
            0..3
        )
        .prop_map(|items| Value::map(Type::list(Type::String), items)),
    ];
    prop_oneof![3 => leaf, 3 => typed].prop_recursive(2, 8, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::tuple),
            prop::collection::btree_map(names(), inner, 0..3).prop_map(Value::object),
        ]
    })
}

/// Returns a value that contains less information: an unknown value, with refinements that are true
/// for the original value.
fn veiled(value: &Value, choice: &mut impl Iterator<Item = u8>) -> Value {
    match choice.next().unwrap_or(0) % 4 {
        0 => Value::unknown(value.ty().clone()),
        1 => Value::unknown_with(value.ty().clone(), facts(value)),
        2 => Value::unknown(Type::Dynamic),
        _ => inner_veiled(value, choice),
    }
}

/// Returns the value with a nested value replaced by an unknown value.
fn inner_veiled(value: &Value, choice: &mut impl Iterator<Item = u8>) -> Value {
    let mut part = |item: &Value| {
        if choice.next().unwrap_or(0).is_multiple_of(2) {
            Value::unknown_with(
                item.ty().clone(),
                Refinement { not_null: !item.is_null(), ..Refinement::default() },
            )
        } else {
            item.clone()
        }
    };
    match (value.view(), value.ty()) {
        (View::List(items), Type::List(ty)) => Value::list((**ty).clone(), items.iter().map(part)),
        (View::Set(items), Type::Set(ty)) => Value::set((**ty).clone(), items.iter().map(part)),
        (View::Tuple(items), _) => Value::tuple(items.iter().map(part)),
        (View::Map(items), Type::Map(ty)) => {
            Value::map((**ty).clone(), items.iter().map(|(key, item)| (key.clone(), part(item))))
        }
        (View::Object(items), _) => Value::object(items.iter().map(|(key, item)| (key.clone(), part(item)))),
        _ => Value::unknown(value.ty().clone()),
    }
}

fn facts(value: &Value) -> Refinement {
    let mut facts = Refinement { not_null: !value.is_null(), ..Refinement::default() };
    match value.view() {
        View::String(text) if text.starts_with('a') => facts.prefix = Some(Str::new("a")),
        View::Number(number) => {
            facts.lower = Some(Bound { value: number.clone(), inclusive: true });
            facts.upper = number.add(&Number::from(1i64)).ok().map(|value| Bound { value, inclusive: true });
        }
        View::List(items) | View::Set(items) => {
            facts.min_length = Some(items.len()).filter(|length| *length > 0);
            facts.max_length = Some(items.len() + 1);
        }
        View::Map(items) => facts.max_length = Some(items.len() + 1),
        _ => {}
    }
    facts
}

/// Returns the reason why a result for unknown values is inconsistent with the result for known
/// values, if it is.
fn disagreement(before: &Value, after: &Value) -> Option<String> {
    if !types_agree(before.ty(), after.ty()) {
        return Some(format!("the type {} is not {}", after.ty(), before.ty()));
    }
    if !before.is_known() {
        let excluded = before.refinement().is_some_and(|facts| facts.excludes(after));
        return excluded.then(|| format!("{after:?} is excluded by {before:?}"));
    }
    if before.is_wholly_known() {
        let same = match (before.is_null(), after.is_null()) {
            (true, true) => true,
            _ => before.ty() != after.ty() || before == after,
        };
        return (!same).then(|| format!("{after:?} is not {before:?}"));
    }
    match (before.view(), after.view()) {
        (View::List(a), View::List(b)) | (View::Tuple(a), View::Tuple(b)) => {
            if a.len() != b.len() {
                return Some(format!("{after:?} is not as long as {before:?}"));
            }
            a.iter().zip(b).find_map(|(a, b)| disagreement(a, b))
        }
        // Set elements have no position, but each known element must occur.
        (View::Set(a), View::Set(b)) => {
            let lost = a.iter().find(|item| item.is_wholly_known() && !b.contains(item));
            lost.map(|item| format!("{item:?} is not in {after:?}"))
        }
        (View::Map(a), View::Map(b)) | (View::Object(a), View::Object(b)) => {
            if !a.keys().eq(b.keys()) {
                return Some(format!("{after:?} has different keys than {before:?}"));
            }
            a.values().zip(b.values()).find_map(|(a, b)| disagreement(a, b))
        }
        _ => Some(format!("{after:?} is not of the kind of {before:?}")),
    }
}

fn types_agree(before: &Type, after: &Type) -> bool {
    match (before, after) {
        (Type::Dynamic, _) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            types_agree(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| types_agree(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|((an, a), (bn, b))| an == bn && types_agree(a, b))
        }
        (a, b) => a == b,
    }
}

/// Checks all properties of one expression with one choice of values.
fn check(expression: &str, values: &[Value], position: usize, choices: &[u8]) -> Result<(), TestCaseError> {
    let outcome = evaluated(expression, values);
    // Sensitive values.
    if let Ok(plain) = &outcome
        && !SHOWS.iter().any(|shown| expression.starts_with(shown))
        && !(position == 1 && MAY_NOT_LOOK.iter().any(|part| expression.contains(part)))
    {
        let mut marked = values.to_vec();
        marked[position] = marked[position].clone().with_marks(Marks::SENSITIVE);
        let secret = evaluated(expression, &marked);
        prop_assert!(
            secret.is_ok(),
            "{expression} with {values:?} fails if argument {position} is sensitive"
        );
        let secret = secret.unwrap();
        prop_assert!(secret.has_sensitive(), "{expression} with {values:?} shows argument {position}");
        prop_assert_eq!(secret.unmark_deep(), plain.unmark_deep(), "{} with {:?}", expression, values);
    }
    if excused(expression, &values[position], choices) {
        return Ok(());
    }
    // Unknown values.
    let mut before = values.to_vec();
    before[position] = veiled(&values[position], &mut choices.iter().copied());
    let early = evaluated(expression, &before);
    if let Ok(after) = &outcome {
        match &early {
            Ok(early) => {
                if let Some(why) = disagreement(early, after) {
                    prop_assert!(false, "{expression}\n  before {before:?}\n  after {values:?}\n  {why}");
                }
            }
            Err(problems) => {
                prop_assert!(false, "{expression}\n  before {before:?}\n  after {values:?}\n  {problems}");
            }
        }
    }
    Ok(())
}

/// Functions that handle marks themselves, or whose result is not determined by their arguments.
const SHOWS: [&str; 4] = ["nonsensitive(", "issensitive(", "try(", "can("];

/// Conditions that can prevent the evaluation of an expression.
const MAY_NOT_LOOK: [&str; 2] = [" if x", "%{ if"];

/// Returns true for cases in which Terraform's own results, which Wardian matches, are inconsistent
/// with later results.
fn excused(expression: &str, value: &Value, choices: &[u8]) -> bool {
    // The type of the result is determined by the arguments whose types are known.
    let common_type = ["coalesce(", "setintersection(", "setsubtract(", "setunion(", "local.a0 ? "];
    let of_no_type = choices.first().is_some_and(|choice| choice % 4 == 2);
    // Unknown elements are sorted to the end of a set.
    let iterates = ["[*]", "for ", "flatten(", "reverse("].iter().any(|part| expression.contains(part));
    let is_set = matches!(value.ty(), Type::Set(_));
    // Null lacks the requested attributes, but an unknown value of its type does not cause that
    // error.
    let null_splat = expression.contains("[*].") && value.is_null();
    (of_no_type && common_type.iter().any(|name| expression.starts_with(name)))
        || (iterates && is_set)
        || null_splat
}

fn run(
    name: &str,
    expression: impl Fn(usize) -> String,
    counts: std::ops::RangeInclusive<usize>,
    cases: u32,
) -> Option<String> {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let values = prop::collection::vec(any_value(), counts);
    let all = (values, any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 6));
    let result = runner.run(&all, |(values, position, choices)| {
        if values.is_empty() {
            return Ok(());
        }
        check(&expression(values.len()), &values, position.index(values.len()), &choices)
    });
    result.err().map(|error| format!("{name}: {error}"))
}

#[test]
fn function_results_for_unknown_arguments_are_sound() {
    let mut wrong = Vec::new();
    for signature in function_signatures() {
        // These functions are not deterministic, or require an argument in a special form.
        if matches!(
            signature.name,
            "templatestring" | "convert" | "bcrypt" | "timestamp" | "plantimestamp" | "uuid"
        ) {
            continue;
        }
        let least = signature.parameters.len();
        let most = if signature.variadic.is_some() { least + 3 } else { least };
        let call = |count: usize| {
            let arguments: Vec<String> = (0..count).map(|n| format!("local.a{n}")).collect();
            format!("{}({})", signature.name, arguments.join(", "))
        };
        wrong.extend(run(signature.name, call, least..=most, 400));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn expression_results_for_unknown_operands_are_sound() {
    let mut wrong = Vec::new();
    for (expression, operands) in [
        ("local.a0 + local.a1", 2),
        ("local.a0 - local.a1", 2),
        ("local.a0 * local.a1", 2),
        ("local.a0 / local.a1", 2),
        ("local.a0 % local.a1", 2),
        ("local.a0 < local.a1", 2),
        ("local.a0 >= local.a1", 2),
        ("local.a0 == local.a1", 2),
        ("local.a0 != local.a1", 2),
        ("local.a0 && local.a1", 2),
        ("local.a0 || local.a1", 2),
        ("!local.a0", 1),
        ("-local.a0", 1),
        ("local.a0 ? local.a1 : local.a2", 3),
        ("local.a0[local.a1]", 2),
        ("local.a0.a", 1),
        ("local.a0[*]", 1),
        ("local.a0[*].a", 1),
        ("[local.a0, local.a1]", 2),
        ("{ a = local.a0, (\"k-${local.a1}\") = 1 }", 2),
        ("[for x in local.a0 : x]", 1),
        ("[for k, x in local.a0 : [k, x] if x != local.a1]", 2),
        ("{ for k, x in local.a0 : k => x }", 1),
        ("{ for k, x in local.a0 : x => k... }", 1),
        ("\"x-${local.a0}-${local.a1}\"", 2),
        ("\"x-%{ if local.a0 }${local.a1}%{ endif }\"", 2),
        ("\"%{ for x in local.a0 }${x},%{ endfor }\"", 1),
    ] {
        wrong.extend(run(expression, |_| expression.to_owned(), operands..=operands, 2_000));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
