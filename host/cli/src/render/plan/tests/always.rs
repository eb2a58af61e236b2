//! Invariants for all values: no panic, no sensitive value in the output, linear cost.

use std::time::{Duration, Instant};

use super::*;
use crate::render::value::render_value;

const SECRET: &str = "s3cr3t";

/// A deterministic pseudo-random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % limit
    }

    fn value(&mut self, depth: u64) -> Value {
        let value = match self.below(if depth == 0 { 6 } else { 12 }) {
            0 => Value::null(Type::Dynamic),
            1 => Value::unknown(Type::Dynamic),
            2 => (self.below(2) == 0).into(),
            3 => i64::try_from(self.below(9)).unwrap().into(),
            4 | 5 => self.text().into(),
            6 | 7 => {
                let count = self.below(4);
                Value::tuple((0..count).map(|_| self.value(depth - 1)).collect::<Vec<_>>())
            }
            8 => {
                let count = self.below(4);
                Value::list(Type::String, (0..count).map(|_| self.text().into()).collect::<Vec<_>>())
            }
            9 => {
                let count = self.below(4);
                Value::set(Type::String, (0..count).map(|_| self.text().into()).collect::<Vec<_>>())
            }
            _ => {
                let names = ["a", "b", "id", "inner", "s", "name"];
                let count = usize::try_from(self.below(6)).unwrap();
                let attributes: Vec<_> =
                    names.iter().take(count).map(|name| (*name, self.value(depth - 1))).collect();
                Value::object(attributes)
            }
        };
        if self.below(8) == 0 { self.secret(value) } else { value }
    }

    /// Returns a sensitive value whose text must never be shown.
    fn secret(&mut self, value: Value) -> Value {
        let secret = match self.below(4) {
            0 => Value::tuple([SECRET.into(), value.unmark_deep()]),
            1 => format!("{{\"{SECRET}\":1}}").into(),
            2 => format!("a\n{SECRET}").into(),
            _ => SECRET.into(),
        };
        secret.with_marks(Marks::SENSITIVE)
    }

    fn text(&mut self) -> String {
        let texts = [
            "",
            "a",
            "b",
            "a\nb",
            "a\nc\n",
            "[1,2]",
            "{\"a\":[1]}",
            "{\"a\": [2]}",
            "[",
            "\u{7}\u{301}",
            "\r\n",
        ];
        texts[usize::try_from(self.below(texts.len() as u64)).unwrap()].into()
    }

    /// Returns an object with some attributes whose values do not conform to the schema.
    fn object(&mut self, schema: &Schema) -> Value {
        if self.below(10) == 0 {
            return Value::null(Type::Dynamic);
        }
        let names: Vec<String> = schema
            .block
            .attributes
            .keys()
            .chain(schema.block.block_types.keys())
            .map(ToString::to_string)
            .filter(|_| self.below(2) == 0)
            .collect();
        let attributes: Vec<_> = names.into_iter().map(|name| (name, self.value(4))).collect();
        Value::object(attributes)
    }
}

#[test]
fn random_values_never_panic_or_leak_secrets() {
    let mut dice = Dice(1);
    let schema = schemas::thing();
    let actions = [Action::Create, Action::Update, Action::Delete, Action::DeleteThenCreate];
    for round in 0..4_000 {
        let (before, after) = (dice.object(&schema), dice.object(&schema));
        let action = actions[round % actions.len()];
        let one = ResourceChange {
            required_replace: vec![Path::root().attribute("blist").index(0).attribute("a")],
            ..change("mock_thing.t", action, before.clone(), after.clone(), schema.clone())
        };
        let output = OutputChange { action: Action::Update, before, after, sensitive: false };
        let mut plan = empty_plan(Mode::Normal);
        let console = render_value(&output.after, 0).into_string();
        plan.changes.push(one);
        plan.outputs.insert("o".into(), output);
        let text = render_plan(
            &plan,
            PlanNote::NotSaved,
            RenderOptions { color: true, width: 0, ..RenderOptions::default() },
        )
        .into_string();
        assert!(!text.contains(SECRET), "{text}");
        assert!(!console.contains(SECRET), "{console}");
    }
}

#[test]
fn sensitive_schema_attributes_are_redacted_without_marks() {
    let thing = |secret: &str| {
        let nested = Value::object([("a", "x".into()), ("s", secret.into())]);
        Value::object([
            ("secret", secret.into()),
            ("nlist", Value::tuple([nested.clone()])),
            ("blist", Value::tuple([nested])),
        ])
    };
    let other = format!("{SECRET}2");
    let one = change("mock_thing.t", Action::Update, thing(SECRET), thing(&other), schemas::thing());
    let text = rendered(&one);
    assert_eq!(text.matches("(sensitive value)").count(), 3, "{text}");
    assert!(!text.contains(SECRET), "{text}");
}

/// The time limit allows for slow machines: this output of 9 MB takes about 0.4 s.
#[test]
fn ten_thousand_changes_render_quickly() {
    let values = |n: i64| {
        Value::object([
            ("id", "some-identifier".into()),
            ("input", Value::tuple((n..n + 20).map(Value::from))),
            ("triggers_replace", format!("{{\"a\":[{n},2],\"b\":\"c\"}}").into()),
        ])
    };
    let schema = terraform_data();
    let changes: Vec<_> = (0..10_000)
        .map(|n| {
            let address = format!("terraform_data.a[{n}]");
            change(&address, Action::Update, values(n), values(n + 3), schema.clone())
        })
        .collect();
    let plan = Plan { changes, ..empty_plan(Mode::Normal) };
    let start = Instant::now();
    let text = render_plan(&plan, PlanNote::None, RenderOptions::default()).into_string();
    assert!(text.len() > 1_000_000);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn long_lists_and_strings_render_quickly() {
    let numbers = |from: i64| (from..50_000 + 2 * from).map(|n| n * 7919 % 60_000);
    let text = |from: i64| numbers(from).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let list = |from: i64| Value::tuple(numbers(from).map(Value::from));
    let object = |from: i64| Value::object([("input", list(from)), ("output", text(from).into())]);
    let one = change("terraform_data.a", Action::Update, object(0), object(101), terraform_data());
    let start = Instant::now();
    assert!(rendered(&one).contains("unchanged elements hidden"));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// The values have the maximum depth that decoders allow.
#[test]
fn deep_values_do_not_exhaust_the_stack() {
    let deep = |leaf: &str| {
        (0..256).fold(Value::string(leaf), |inner, level| match level % 2 {
            0 => Value::tuple([inner]),
            _ => Value::object([("a", inner)]),
        })
    };
    let json = format!("{}1{}", "[".repeat(250), "]".repeat(250));
    let object = |leaf| Value::object([("input", deep(leaf)), ("output", json.as_str().into())]);
    let one = change("terraform_data.a", Action::Update, object("x"), object("y"), terraform_data());
    assert!(rendered(&one).contains("~ \"x\" -> \"y\""));
    assert!(render_value(&deep("x"), 0).as_str().contains("\"x\""));
    let typed = schema_of([("deep", deep("x").ty().clone())]);
    let object = |leaf| Value::object([("deep", deep(leaf))]);
    let one = change("terraform_data.a", Action::Update, object("x"), object("y"), Arc::new(typed));
    assert!(rendered(&one).contains("~ \"x\" -> \"y\""));
}
