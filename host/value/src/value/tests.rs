use super::*;
use crate::Bound;

fn unknown() -> Value {
    Value::unknown(Type::String)
}

fn certain(refinement: Refinement) -> Refinement {
    Refinement { not_null: true, ..refinement }
}

fn starts(prefix: &str) -> Value {
    let prefix = Some(prefix.into());
    Value::unknown_with(Type::String, certain(Refinement { prefix, ..Refinement::default() }))
}

/// Checks the result of `==`; `None` means that it is unknown.
fn check(a: &Value, b: &Value, expected: Option<bool>) {
    for (a, b) in [(a, b), (b, a)] {
        assert_eq!(a.equals(b).as_bool(), expected, "{a:?} == {b:?}");
    }
}

/// The expected results are the output of `terraform console -plan` 1.11.4.
#[test]
fn equals_matches_terraform() {
    let object = |a: Value| Value::object([("a", a)]);
    let null = Value::null;
    let list = |values: Vec<Value>| Value::list(Type::String, values);
    let set = |values: Vec<Value>| Value::set(Type::String, values);
    check(&null(Type::String), &null(Type::Number), Some(true));
    check(&unknown(), &5.into(), Some(false));
    check(&unknown(), &"x".into(), None);
    check(&unknown(), &null(Type::String), None);
    check(&starts("a-"), &null(Type::Dynamic), Some(false));
    check(&starts("a-"), &"b-x".into(), Some(false));
    check(&starts("a-"), &"a-x".into(), None);
    check(&starts("a-"), &starts("b-"), None);
    check(&Value::tuple([unknown()]), &Value::tuple([1.into()]), Some(false));
    check(&Value::tuple([unknown(), 1.into()]), &Value::tuple(["x".into(), 2.into()]), None);
    check(&Value::tuple([1.into(), unknown()]), &Value::tuple([2.into(), "x".into()]), Some(false));
    check(&Value::tuple([unknown()]), &list(vec!["a".into()]), Some(false));
    check(&list(vec![unknown(), "b".into()]), &list(vec!["a".into()]), Some(false));
    check(&set(vec![unknown()]), &set(vec!["a".into(), "b".into()]), None);
    check(&set(vec!["b".into(), "a".into()]), &set(vec!["a".into(), "b".into()]), Some(true));
    check(&object(null(Type::Dynamic)), &object("x".into()), Some(false));
    check(&object(null(Type::Dynamic)), &object(null(Type::String)), Some(false));
    check(&object(null(Type::Dynamic)), &object(null(Type::Dynamic)), Some(true));
    check(&object(unknown()), &Value::object([("b", 1.into())]), Some(false));
    check(&object(Value::unknown(Type::Dynamic)), &object("x".into()), None);
    check(&object(Value::unknown(Type::Dynamic)), &Value::object([("b", 1.into())]), Some(false));
    let map = |a: Value, b: Value| Value::map(Type::String, [("a".into(), a), ("b".into(), b)]);
    check(&map(unknown(), "1".into()), &map("x".into(), "2".into()), Some(false));
    check(&Value::empty_object(), &Value::empty_object(), Some(true));
    check(&list(vec![]), &Value::tuple([]), Some(false));
}

#[test]
fn equals_uses_refinements() {
    let bound = |value: i64| Some(Bound { value: value.into(), inclusive: false });
    let positive = Refinement { lower: bound(0), ..Refinement::not_null() };
    check(&Value::unknown_with(Type::Number, positive.clone()), &0.into(), Some(false));
    check(&Value::unknown_with(Type::Number, positive), &1.into(), None);
    let long = Refinement { min_length: Some(2), ..Refinement::not_null() };
    let ty = Type::list(Type::Bool);
    check(&Value::unknown_with(ty, long), &Value::list(Type::Bool, [true.into()]), Some(false));
}

#[test]
fn either_preserves_common_refinements() {
    let bound = |value: i64| Some(Bound { value: value.into(), inclusive: true });
    let a = Refinement {
        lower: bound(1),
        upper: bound(5),
        prefix: Some("ab-x".into()),
        ..Refinement::not_null()
    };
    let b =
        Refinement { lower: bound(0), upper: None, prefix: Some("ab-y".into()), ..Refinement::not_null() };
    let expected = Refinement { lower: bound(0), prefix: Some("ab-".into()), ..Refinement::not_null() };
    assert_eq!(a.either(&b), expected);
    assert_eq!(b.either(&a), expected);
    assert!(a.either(&Refinement::default()).is_empty());
}

#[test]
fn marks_round_trip_through_paths() {
    let plain = Value::object([
        ("list", Value::list(Type::String, ["a".into(), "b".into()])),
        ("set", Value::set(Type::String, ["a".into()])),
        ("map", Value::map(Type::String, [("k".into(), "v".into())])),
    ]);
    let root = Path::root();
    let marks = vec![
        (root.attribute("list").index(1), Marks::SENSITIVE),
        (root.attribute("map").key("k"), Marks::EPHEMERAL),
        (root.attribute("set"), Marks::SENSITIVE),
    ];
    let marked = plain.mark_at(&marks);
    assert_eq!(marked.mark_paths(), marks);
    assert_eq!(marked.unmark_deep(), plain);
    assert!(marked.has_sensitive() && !plain.has_sensitive());
    // Marking a missing path marks its nearest existing ancestor.
    let missing = plain.mark_at(&[
        (root.attribute("list").index(7), Marks::SENSITIVE),
        (root.attribute("set").index(0), Marks::SENSITIVE),
        (root.attribute("none"), Marks::EPHEMERAL),
    ]);
    assert_eq!(
        missing.mark_paths(),
        [
            (root.clone(), Marks::EPHEMERAL),
            (root.attribute("list"), Marks::SENSITIVE),
            (root.attribute("set"), Marks::SENSITIVE),
        ]
    );
}

#[test]
fn untyped_nulls_receive_element_type() {
    let list = Value::list(Type::String, [Value::null(Type::Dynamic), Value::unknown(Type::Dynamic)]);
    let elements = list.as_elements().unwrap();
    assert!(elements.iter().all(|element| *element.ty() == Type::String));
}

#[test]
fn transform_rebuilds_types_and_keeps_marks() {
    let value = Value::object([("a", Value::tuple([1.into()]).with_marks(Marks::SENSITIVE))]);
    let changed = value.transform(&mut |path, part| {
        if path.steps().len() == 2 { Value::string(part.as_number().unwrap().to_string()) } else { part }
    });
    assert_eq!(*changed.ty(), Type::object([("a", Type::tuple([Type::String]))]));
    assert_eq!(changed.mark_paths(), value.mark_paths());
}

#[test]
fn debug_output_redacts_sensitive_values() {
    let value = Value::object([("a", Value::string("hunter2").with_marks(Marks::SENSITIVE))]);
    assert!(!format!("{value:?}").contains("hunter2"));
}

#[test]
fn expanded_size_counts_shared_values_for_each_occurrence() {
    assert_eq!(size_of::<Value>(), 56);
    let mut value = Value::string("x".repeat(1_000));
    assert_eq!(value.expanded_size(), 16 * 64);
    for _ in 0..10 {
        value = Value::tuple([value.clone(), value]);
    }
    assert_eq!(value.expanded_size(), ((16 << 10) + (1 << 10) - 1) * 64);
    for _ in 0..60 {
        value = Value::object([("a", value.clone()), ("b", value)]);
    }
    assert_eq!(value.expanded_size(), u64::from(u32::MAX) * 64);
}

#[test]
fn owned_size_excludes_shared_values() {
    let shared = Value::tuple(vec![Value::string("x"); 1_000]);
    let pair = Value::tuple([shared.clone(), shared.clone()]);
    assert_eq!(pair.owned_size(), 3 * 64);
    drop(shared);
    let Some([first, _]) = pair.as_elements() else { panic!() };
    assert_eq!(first.owned_size(), 64, "both occurrences are one allocation");
    assert_eq!(Value::tuple(vec![Value::bool(true); 10]).owned_size(), 11 * 64);
}

#[test]
fn unknown_value_is_as_large_as_its_type() {
    let mut ty = Type::String;
    for _ in 0..12 {
        ty = Type::tuple([ty.clone(), ty]);
    }
    assert_eq!(Value::unknown(ty.clone()).expanded_size(), ((1 << 13) - 1) * 64);
    for _ in 0..12 {
        ty = Type::tuple([ty.clone(), ty]);
    }
    assert_eq!(Value::unknown(ty.clone()).expanded_size(), u64::from(u32::MAX) * 64);
    assert_eq!(Value::null(ty).expanded_size(), u64::from(u32::MAX) * 64);
}

#[test]
fn object_type_changes_with_replaced_attribute() {
    let object = Value::object([("a", Value::from(1_i64)), ("b", Value::null(Type::String))]);
    for (name, value) in [
        ("a", Value::from(2_i64)),
        ("a", Value::from("x")),
        ("b", Value::unknown(Type::String)),
        ("b", Value::null(Type::Bool)),
        ("c", Value::from(true)),
    ] {
        let mut attributes = object.as_mapping().unwrap().to_map();
        attributes.insert(name.into(), value.clone());
        let expected = Value::object(attributes);
        let replaced = object.with_attribute(name, value);
        assert_eq!(replaced, expected);
        assert_eq!((replaced.ty(), replaced.inside_marks()), (expected.ty(), expected.inside_marks()));
        assert_eq!(replaced.is_wholly_known(), expected.is_wholly_known());
    }
}
