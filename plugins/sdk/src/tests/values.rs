use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_value::{Number, Type, Value};

use crate::model::{Unknowns, from_value, to_value};
use crate::{Attr, Dynamic};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Blue,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    name: String,
    count: Option<u8>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Whole {
    flag: bool,
    big: u64,
    fraction: f64,
    colour: Colour,
    parts: Vec<Part>,
    labels: Option<BTreeMap<String, Option<String>>>,
    unset: Attr<String>,
    later: Attr<Vec<String>>,
    known: Attr<i64>,
    anything: Dynamic,
}

fn part_type() -> Type {
    Type::object([("name", Type::String), ("count", Type::Number)])
}

fn whole_type() -> Type {
    Type::object([
        ("flag", Type::Bool),
        ("big", Type::Number),
        ("fraction", Type::Number),
        ("colour", Type::String),
        ("parts", Type::list(part_type())),
        ("labels", Type::map(Type::String)),
        ("unset", Type::String),
        ("later", Type::list(Type::String)),
        ("known", Type::Number),
        ("anything", Type::Dynamic),
        ("without_field", Type::set(Type::String)),
    ])
}

#[test]
fn struct_is_converted_to_value_and_back() {
    let whole = Whole {
        flag: true,
        big: u64::MAX,
        fraction: 0.1,
        colour: Colour::Blue,
        parts: vec![Part { name: "a".into(), count: None }, Part { name: "b".into(), count: Some(7) }],
        labels: Some(BTreeMap::from([("x".into(), None), ("y".into(), Some("z".into()))])),
        unset: Attr::Null,
        later: Attr::Unknown,
        known: Attr::Known(-3),
        anything: Dynamic(Value::tuple([Value::bool(true), Value::string("text")])),
    };
    let value = to_value(&whole, &whole_type()).unwrap();
    assert!(value.get("without_field").unwrap().is_null());
    assert!(!value.get("later").unwrap().is_known());
    assert_eq!(value.get("fraction").unwrap(), &Value::number(Number::parse("0.1").unwrap()));
    assert_eq!(from_value::<Whole>(&value, Unknowns::Reject).unwrap(), whole);
}

#[test]
fn conversion_errors_have_paths() {
    let parts = |count: Value| {
        let part = Value::object([("name", Value::string("a")), ("count", count)]);
        Value::object([("parts", Value::list(part_type(), [part]))])
    };
    #[derive(Debug, Deserialize)]
    struct Holder {
        #[expect(dead_code, reason = "only read into")]
        parts: Vec<Part>,
    }
    let error = |value: &Value| from_value::<Holder>(value, Unknowns::Reject).unwrap_err().to_string();
    assert_eq!(
        error(&parts(Value::number(Number::parse("1.5").unwrap()))),
        "parts[0].count: a whole number is required, not 1.5"
    );
    assert_eq!(error(&parts(Value::number(256i64))), "parts[0].count: the number 256 is out of range");
    assert_eq!(
        error(&parts(Value::unknown(Type::Number))),
        "parts[0].count: number is required, but the value is not known yet"
    );

    let misfit = Part { name: "a".into(), count: Some(1) };
    let ty = Type::object([("name", Type::Bool), ("count", Type::Number)]);
    assert_eq!(to_value(&misfit, &ty).unwrap_err().to_string(), "name: bool is required, not string");
    let ty = Type::object([("name", Type::String)]);
    assert_eq!(to_value(&misfit, &ty).unwrap_err().to_string(), "the schema has no attribute \"count\"");
}

#[test]
fn unknown_decodes_as_none_in_operations() {
    let value = Value::object([("name", Value::string("a")), ("count", Value::unknown(Type::Number))]);
    let part: Part = from_value(&value, Unknowns::AsNone).unwrap();
    assert_eq!(part.count, None);
}
