use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::testing::{any_type, any_typed_value};
use crate::{Bound, MAX_VALUES, Marks, Number, Refinement, Type, Value};

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn check(value: &Value, ty: &Type, bytes: &str) {
    assert_eq!(encode(value, ty).unwrap(), hex(bytes), "{value:?}");
    assert_eq!(decode(&hex(bytes), ty).unwrap(), *value, "{bytes}");
}

fn not_null() -> Refinement {
    Refinement::not_null()
}

/// The expected bytes are the output of Terraform's encoder.
#[test]
fn encodes_as_terraform() {
    let string = Type::String;
    check(&Value::unknown(string.clone()), &string, "d4 00 00");
    check(&Value::unknown_with(string.clone(), not_null()), &string, "c7 03 0c 81 01 c2");
    let prefixed = Refinement { prefix: Some("ab".into()), ..not_null() };
    check(&Value::unknown_with(string.clone(), prefixed), &string, "c7 07 0c 82 01 c2 02 a2 61 62");
    let list = Type::list(Type::String);
    let sized = Refinement { min_length: Some(1), max_length: Some(2), ..not_null() };
    check(&Value::unknown_with(list.clone(), sized), &list, "c7 07 0c 83 01 c2 05 01 06 02");
    let positive = Refinement { lower: Some(Bound { value: 0i64.into(), inclusive: true }), ..not_null() };
    let number = Type::Number;
    check(&Value::unknown_with(number.clone(), positive), &number, "c7 07 0c 82 01 c2 03 92 00 c3");
    let object = Type::object([("a", Type::Number), ("b", Type::String)]);
    let value = Value::object([("a", 1.into()), ("b", Value::null(Type::String))]);
    check(&value, &object, "82 a1 61 01 a1 62 c0");
    check(&"a".into(), &Type::Dynamic, "92 c4 08 22 73 74 72 69 6e 67 22 a1 61");
    let dynamic_list = Type::list(Type::Dynamic);
    let list = Value::list(Type::String, ["a".into()]);
    check(&list, &dynamic_list, "91 92 c4 08 22 73 74 72 69 6e 67 22 a1 61");
    check(&Value::null(Type::Dynamic), &Type::Dynamic, "c0");
    check(&Value::unknown(Type::Dynamic), &Type::Dynamic, "d4 00 00");
    check(&Value::null(Type::Bool), &Type::Dynamic, "92 c4 06 22 62 6f 6f 6c 22 c0");
}

#[test]
fn numbers_use_smallest_exact_encoding() {
    for (text, bytes) in [
        ("0", "00"),
        ("-0", "00"),
        ("127", "7f"),
        ("128", "cc 80"),
        ("256", "cd 01 00"),
        ("65536", "ce 00 01 00 00"),
        ("4294967296", "cf 00 00 00 01 00 00 00 00"),
        ("-1", "ff"),
        ("-33", "d0 df"),
        ("-129", "d1 ff 7f"),
        ("0.5", "cb 3f e0 00 00 00 00 00 00"),
        ("18446744073709551616", "cb 43 f0 00 00 00 00 00 00"),
        ("0.1", "a3 30 2e 31"),
        ("Inf", "cb 7f f0 00 00 00 00 00 00"),
    ] {
        check(&Value::number(Number::parse(text).unwrap()), &Type::Number, bytes);
    }
    let long = "123456789012345678901234567890";
    let bytes = encode(&Value::number(Number::parse(long).unwrap()), &Type::Number).unwrap();
    assert_eq!(&bytes[1..], long.as_bytes());
}

#[test]
fn decodes_output_from_other_encoders() {
    let same = |bytes: &str, ty: Type, value: Value| {
        assert_eq!(decode(&hex(bytes), &ty).unwrap(), value);
    };
    same("ca 3f 00 00 00", Type::Number, Value::number(Number::from_f64(0.5).unwrap()));
    same("d9 01 61", Type::String, "a".into());
    same("c4 01 61", Type::String, "a".into());
    same("d3 00 00 00 00 00 00 00 01", Type::Number, 1.into());
    same("c7 00 00", Type::String, Value::unknown(Type::String));
    same("d5 63 01 02", Type::String, Value::unknown(Type::String));
    // Text that is not normalized, a map that is not sorted, and a set with duplicates.
    same("a3 65 cc 81", Type::String, "\u{e9}".into());
    let set = Value::set(Type::Number, [1.into(), 2.into()]);
    same("93 02 01 02", Type::set(Type::Number), set);
    // A refinement with an unsupported key, and one that permits only one value.
    same("c7 05 0c 82 01 c2 20 90", Type::Bool, Value::unknown_with(Type::Bool, not_null()));
    let two = Value::list(Type::Bool, [Value::unknown(Type::Bool), Value::unknown(Type::Bool)]);
    same("c7 07 0c 83 01 c2 05 02 06 02", Type::list(Type::Bool), two);
    same("c7 03 0c 81 01 c3", Type::Bool, Value::null(Type::Bool));
}

#[test]
fn errors_include_path() {
    let ty = Type::object([("a", Type::list(Type::map(Type::Number)))]);
    let error = decode(&hex("81 a1 61 91 81 a1 6b c3"), &ty).unwrap_err();
    assert_eq!(error.to_string(), ".a[0][\"k\"]: a number is required, but a bool was found");
    let marked = Value::object([("a", Value::string("x").with_marks(Marks::SENSITIVE))]);
    let error = encode(&marked, &Type::object([("a", Type::String)])).unwrap_err();
    assert_eq!((error.path.to_string().as_str(), error.problem), (".a", EncodeProblem::Marked));
    let error = encode(&"a".into(), &Type::Number).unwrap_err();
    assert_eq!(error.to_string(), "number is required, but the value is string");
}

#[test]
fn rejects_malformed_msgpack() {
    let object = Type::object([("a", Type::Number), ("b", Type::Number)]);
    let tuple = Type::tuple([Type::Bool]);
    for (bytes, ty) in [
        ("", Type::Bool),
        ("c1", Type::Bool),
        ("c2 c2", Type::Bool),
        ("a2 61", Type::String),
        ("a1 ff", Type::String),
        ("cb 7f f8 00 00 00 00 00 00", Type::Number),
        ("a1 78", Type::Number),
        ("80", object.clone()),
        ("82 a1 61 01 a1 61 01", object.clone()),
        ("82 a1 61 01 a1 63 01", object),
        ("90", tuple.clone()),
        ("92 c2 c2", tuple),
        ("dd ff ff ff ff", Type::list(Type::Bool)),
        ("df ff ff ff ff", Type::map(Type::Bool)),
        ("c6 ff ff ff ff", Type::String),
        ("91 c4 06 22 62 6f 6f 6c 22", Type::Dynamic),
        ("92 c4 03 22 62 22 c2", Type::Dynamic),
        ("c7 03 0c 81 02 c2", Type::String),
        ("c7 03 0c 81 05 ff", Type::list(Type::Bool)),
        ("c7 05 0c 82 05 09 06 01", Type::list(Type::Bool)),
        // Elements of one list with different types.
        ("92 92 c4 06 22 62 6f 6f 6c 22 c2 92 c4 08 22 6e 75 6d 62 65 72 22 01", Type::list(Type::Dynamic)),
    ] {
        assert!(decode(&hex(bytes), &ty).is_err(), "{bytes}");
    }
}

#[test]
fn bounds_hostile_nesting_and_lengths() {
    let step = hex("92 c4 09 22 64 79 6e 61 6d 69 63 22");
    let bytes: Vec<u8> = step.iter().copied().cycle().take(step.len() * 100_000).collect();
    assert_eq!(decode(&bytes, &Type::Dynamic).unwrap_err().problem, DecodeProblem::TooDeep);
    let deep = format!("{}\"bool\"{}", "[\"list\",".repeat(100_000), "]".repeat(100_000));
    assert_eq!(Type::from_json(&deep).unwrap_err().problem, DecodeProblem::TooDeep);
    // Unknown lists of 1000 elements each. The size of the input limits how many of them are
    // expanded.
    let one = hex("c7 0b 0c 83 01 c2 05 cd 03 e8 06 cd 03 e8");
    let mut bytes = hex("dd 00 01 00 00");
    bytes.extend(one.iter().copied().cycle().take(one.len() * 0x1_0000));
    let lists = decode(&bytes, &Type::list(Type::list(Type::Bool))).unwrap();
    let grown: usize =
        lists.as_elements().unwrap().iter().filter_map(Value::as_elements).map(<[Value]>::len).sum();
    assert!(grown > 0 && grown <= bytes.len() + 1024, "{grown}");
}

#[test]
fn rejects_too_many_values() {
    let length = u32::try_from(MAX_VALUES).unwrap();
    let input = |marker: u8, length: u32, element: &[u8]| {
        let mut bytes = vec![marker];
        bytes.extend(length.to_be_bytes());
        bytes.extend(element.repeat(length as usize));
        bytes
    };
    let problem = |bytes: &[u8], ty: &Type| decode(bytes, ty).unwrap_err().problem;
    let list = Type::list(Type::Bool);
    // The list itself is also counted.
    assert_eq!(
        decode(&input(0xdd, length - 1, &[0xc0]), &list).unwrap().as_elements().unwrap().len(),
        MAX_VALUES - 1
    );
    assert_eq!(problem(&input(0xdd, length, &[0xc0]), &list), DecodeProblem::TooMany);
    assert_eq!(problem(&input(0xdd, length, &[0xc2]), &Type::set(Type::Bool)), DecodeProblem::TooMany);
    assert_eq!(
        problem(&input(0xdf, length, &[0xa1, b'k', 0xc0]), &Type::map(Type::Bool)),
        DecodeProblem::TooMany
    );
    // Values are counted on all levels: 1000 objects or tuples of 1999 elements, and the containers
    // themselves.
    let names: Vec<String> = (0..1999).map(|index| format!("{index:04}")).collect();
    let object = Type::object(names.iter().map(|name| (name.as_str(), Type::Bool)));
    let mut one = hex("de 07 cf");
    for name in &names {
        one.push(0xa4);
        one.extend(name.bytes());
        one.push(0xc0);
    }
    assert_eq!(problem(&input(0xdd, 1000, &one), &Type::list(object)), DecodeProblem::TooMany);
    let tuple = Type::tuple(vec![Type::Bool; 1999]);
    let one = [hex("dc 07 cf"), vec![0xc0; 1999]].concat();
    assert_eq!(problem(&input(0xdd, 1000, &one), &Type::list(tuple)), DecodeProblem::TooMany);
    assert!(DecodeProblem::TooMany.to_string().contains("more than 2000000 values"));
}

#[test]
fn decoding_cost_is_linear() {
    let object = |index: i64| {
        Value::object([
            ("id", Value::number(index)),
            ("name", Value::string(format!("name-{index}"))),
            ("share", Value::number(Number::parse("0.1").unwrap())),
        ])
    };
    let first = object(0);
    let value = Value::list(first.ty().clone(), (0..100_000).map(object));
    let start = Instant::now();
    let bytes = encode(&value, value.ty()).unwrap();
    assert_eq!(decode(&bytes, value.ty()).unwrap(), value);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn typed_values_round_trip((ty, value) in any_typed_value(true)) {
        let bytes = encode(&value, &ty).unwrap();
        prop_assert_eq!(&decode(&bytes, &ty).unwrap(), &value);
        prop_assert_eq!(&encode(&decode(&bytes, &ty).unwrap(), &ty).unwrap(), &bytes);
    }

    #[test]
    fn dynamic_values_round_trip((_, value) in any_typed_value(true)) {
        let bytes = encode(&value, &Type::Dynamic).unwrap();
        prop_assert_eq!(&decode(&bytes, &Type::Dynamic).unwrap(), &value);
    }

    #[test]
    fn decoder_accepts_any_bytes_without_panic(ty in any_type(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes, &ty);
        let _ = decode(&bytes, &Type::Dynamic);
    }

    #[test]
    fn decoder_accepts_damaged_bytes_without_panic((ty, value) in any_typed_value(true), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = encode(&value, &ty).unwrap();
        let index = at.index(bytes.len());
        bytes[index] = byte;
        if let Ok(value) = decode(&bytes, &ty) {
            prop_assert!(encode(&value, &ty).is_ok());
        }
        let _ = decode(&bytes[..cut.index(bytes.len())], &ty);
    }

    #[test]
    fn types_round_trip_as_json(ty in any_type()) {
        prop_assert_eq!(Type::from_json(&ty.to_json()).unwrap(), ty);
    }

    #[test]
    fn type_parser_accepts_any_text_without_panic(text in "[\\[\\]{}\",:a-z \\PC]{0,60}") {
        let _ = Type::from_json(&text);
    }
}
