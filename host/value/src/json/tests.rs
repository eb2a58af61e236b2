use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::testing::{any_type, any_typed_value};
use crate::{DecodeProblem, MAX_VALUES, Marks, Number, ObjectType, Type, Value};

fn check(value: &Value, ty: &Type, text: &str) {
    assert_eq!(encode(value, ty).unwrap(), text);
    assert_eq!(decode(text, ty).unwrap(), *value);
}

#[test]
fn dynamic_null_encodes_with_its_type() {
    assert_eq!(
        encode(&Value::null(Type::String), &Type::Dynamic).unwrap(),
        r#"{"value":null,"type":"string"}"#
    );
    assert_eq!(encode(&Value::null(Type::Dynamic), &Type::Dynamic).unwrap(), "null");
    assert_eq!(encode(&Value::null(Type::String), &Type::String).unwrap(), "null");
}

#[test]
fn encodes_as_terraform() {
    check(&"<a>&\u{2028}\"\\\n\u{1}".into(), &Type::String, r#""\u003ca\u003e\u0026\u2028\"\\\n\u0001""#);
    check(&Value::number(Number::parse("1e21").unwrap()), &Type::Number, "1000000000000000000000");
    check(&Value::number(Number::parse("0.1").unwrap()), &Type::Number, "0.1");
    check(&Value::null(Type::Bool), &Type::Bool, "null");
    let object = Type::object([("b", Type::Bool), ("a", Type::list(Type::Number))]);
    let value = Value::object([("b", true.into()), ("a", Value::list(Type::Number, [1.into()]))]);
    check(&value, &object, r#"{"a":[1],"b":true}"#);
    check(
        &value,
        &Type::Dynamic,
        r#"{"value":{"a":[1],"b":true},"type":["object",{"a":["list","number"],"b":"bool"}]}"#,
    );
    check(&Value::null(Type::Dynamic), &Type::Dynamic, "null");
    let third = Number::parse("1").unwrap().div(&Number::parse("3").unwrap()).unwrap();
    check(&Value::number(third.clone()), &Type::Number, &third.to_string());
}

#[test]
fn decodes_alternative_scalar_forms() {
    let same = |text: &str, ty: Type, value: Value| assert_eq!(decode(text, &ty).unwrap(), value);
    same("1.50", Type::String, "1.50".into());
    same("true", Type::String, "true".into());
    same("\"7\"", Type::Number, 7.into());
    same("\"1\"", Type::Bool, true.into());
    same("1e2", Type::Number, 100.into());
    same(r#" { "type" : "bool" , "value" : true } "#, Type::Dynamic, true.into());
    same(r#""😀\/\u00e9""#, Type::String, "\u{1f600}/\u{e9}".into());
    same(r#""\ud83d\ude00 \ud83d""#, Type::String, "\u{1f600} \u{fffd}".into());
    let object = Type::object([("a", Type::Bool), ("b", Type::Bool)]);
    same("{\"b\":false}", object, Value::object([("a", Value::null(Type::Bool)), ("b", false.into())]));
}

#[test]
fn rejects_unknown_infinite_and_marked_values() {
    let object = Value::object([("a", Value::unknown(Type::Bool))]);
    let error = encode(&object, object.ty()).unwrap_err();
    assert_eq!((error.path.to_string().as_str(), error.problem), (".a", EncodeProblem::Unknown));
    let infinite = encode(&Value::number(Number::INFINITY), &Type::Number).unwrap_err();
    assert_eq!(infinite.problem, EncodeProblem::Infinite);
    let marked = Value::bool(true).with_marks(Marks::EPHEMERAL);
    assert_eq!(encode(&marked, &Type::Bool).unwrap_err().problem, EncodeProblem::Marked);
}

#[test]
fn rejects_malformed_json() {
    let object = Type::object([("a", Type::Bool)]);
    for (text, ty) in [
        ("", Type::Bool),
        ("tru", Type::Bool),
        ("true false", Type::Bool),
        ("1", Type::Bool),
        ("01", Type::Number),
        ("-", Type::Number),
        ("1.", Type::Number),
        (".5", Type::Number),
        ("1e", Type::Number),
        ("\"x\"", Type::Number),
        ("\"", Type::String),
        ("\"\\x\"", Type::String),
        ("\"\\u12\"", Type::String),
        ("\"\t\"", Type::String),
        ("[1,]", Type::list(Type::Number)),
        ("[,1]", Type::list(Type::Number)),
        ("[1 2]", Type::list(Type::Number)),
        ("{\"a\" true}", object.clone()),
        ("{\"b\":true}", object.clone()),
        ("{\"a\":true,}", object),
        ("[true]", Type::tuple([])),
        ("{\"value\":1}", Type::Dynamic),
        ("{\"type\":\"number\"}", Type::Dynamic),
        ("{\"value\":1,\"type\":\"number\",\"x\":1}", Type::Dynamic),
        ("1", Type::Dynamic),
        ("1e1000000000", Type::Number),
    ] {
        assert!(decode(text, &ty).is_err(), "{text}");
    }
    assert!(decode(b"\"\xff\"", &Type::String).is_err());
    let deep = "[".repeat(100_000);
    assert_eq!(decode_simple(&deep).unwrap_err().problem, DecodeProblem::TooDeep);
    let path = decode("[{\"k\":1},{\"k\":{}}]", &Type::list(Type::map(Type::Number))).unwrap_err();
    assert_eq!(path.to_string(), "[1][\"k\"]: a number is required, but an object was found");
}

#[test]
fn encodes_types_as_in_schemas() {
    let optional = Type::Object(
        ObjectType::with_optional([("a".into(), Type::String, true), ("b".into(), Type::Dynamic, false)])
            .into(),
    );
    let text = r#"["object",{"a":"string","b":"dynamic"},["a"]]"#;
    assert_eq!(optional.to_json(), text);
    assert_eq!(Type::from_json(text).unwrap(), optional);
    let spaced = " [ \"map\" , [\"tuple\", [\"bool\"] ] ] ";
    assert_eq!(Type::from_json(spaced).unwrap(), Type::map(Type::tuple([Type::Bool])));
    for text in [
        "\"int\"",
        "[]",
        "[\"list\"]",
        "[\"list\",\"bool\",\"bool\"]",
        "[\"object\",[]]",
        "1",
        "null",
        "[\"object\",{},[\"a\"]]",
        "[\"tuple\",{}]",
        "[\"object\",{\"a\":\"bool\",\"a\":\"bool\"}]",
    ] {
        assert!(Type::from_json(text).is_err(), "{text}");
    }
}

#[test]
fn simple_json_round_trips_without_type() {
    let value = decode_simple(r#"{"b":[1,"x",null],"a":{"c":true}}"#).unwrap();
    let tuple = Value::tuple([1.into(), "x".into(), Value::null(Type::Dynamic)]);
    let expected = Value::object([("a", Value::object([("c", true.into())])), ("b", tuple)]);
    assert_eq!(value, expected);
    assert_eq!(encode_simple(&value).unwrap(), r#"{"a":{"c":true},"b":[1,"x",null]}"#);
    assert_eq!(to_json_value(&value).to_string(), r#"{"a":{"c":true},"b":[1,"x",null]}"#);
    assert!(decode_simple(r#"{"a":1,"a":"x"}"#).is_err());
    assert_eq!(decode_simple(r#"{"a":1,"a":2}"#).unwrap().get("a"), Some(&2.into()));
    let big = "123456789012345678901234567890.5";
    assert_eq!(to_json_value(&decode_simple(big).unwrap()).to_string(), big);
}

#[test]
fn decoding_cost_is_linear() {
    let text = format!("[{}]", vec![r#"{"id":12345,"name":"a name","share":0.1}"#; 100_000].join(","));
    let start = Instant::now();
    let ty =
        Type::list(Type::object([("id", Type::Number), ("name", Type::String), ("share", Type::Number)]));
    let value = decode(&text, &ty).unwrap();
    assert_eq!(encode(&value, &ty).unwrap(), text);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn rejects_too_many_values() {
    let text =
        |element: &str, count: usize| format!("[{}{element}]", format!("{element},").repeat(count - 1));
    let list = Type::list(Type::Number);
    assert!(decode(text("1", MAX_VALUES - 1), &list).is_ok());
    assert_eq!(decode(text("1", MAX_VALUES), &list).unwrap_err().problem, DecodeProblem::TooMany);
    assert_eq!(decode_simple(text("1", MAX_VALUES)).unwrap_err().problem, DecodeProblem::TooMany);
    // Absent attributes become nulls.
    let names: Vec<String> = (0..1999).map(|index| index.to_string()).collect();
    let object = Type::object(names.iter().map(|name| (name.as_str(), Type::Bool)));
    let problem = decode(text("{}", 1000), &Type::list(object)).unwrap_err().problem;
    assert_eq!(problem, DecodeProblem::TooMany);
}

proptest! {
    #[test]
    fn typed_values_round_trip((ty, value) in any_typed_value(false)) {
        let text = encode(&value, &ty).unwrap();
        prop_assert_eq!(&decode(&text, &ty).unwrap(), &value);
        prop_assert!(text.parse::<serde_json::Value>().is_ok());
        prop_assert_eq!(&decode(encode(&value, &Type::Dynamic).unwrap(), &Type::Dynamic).unwrap(), &value);
    }

    #[test]
    fn simple_json_round_trips((_, value) in any_typed_value(false)) {
        let text = encode_simple(&value).unwrap();
        let read = decode_simple(&text).unwrap();
        prop_assert_eq!(encode_simple(&read).unwrap(), text);
    }

    #[test]
    fn parser_accepts_any_text_without_panic(ty in any_type(), text in "[\\[\\]{}\",:0-9a-z\\\\ \\PC]{0,80}") {
        let _ = decode(&text, &ty);
        let _ = decode(&text, &Type::Dynamic);
        let ours = decode_simple(&text).is_ok();
        let theirs = text.parse::<serde_json::Value>().is_ok();
        // Inputs that serde accepts but this reader rejects contain numbers out of range or
        // repeated keys.
        prop_assert!(!ours || theirs, "{}", text);
    }
}
