use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::testing::{any_type, any_typed_value};
use crate::{Bound, Marks, Number, ObjectType, Refinement, Type, Value};

fn number(text: &str) -> Value {
    Value::number(Number::parse(text).unwrap())
}

fn string_list(texts: &[&str]) -> Value {
    Value::list(Type::String, texts.iter().map(|text| Value::from(*text)))
}

fn optional(attributes: &[(&str, Type, bool)]) -> Type {
    let attributes = attributes.iter().map(|(name, ty, optional)| ((*name).into(), ty.clone(), *optional));
    Type::Object(ObjectType::with_optional(attributes).into())
}

fn check(value: &Value, ty: &Type, expected: &Value) {
    let converted = convert(value, ty).unwrap_or_else(|error| panic!("{value:?} to {ty}: {error}"));
    assert_eq!(converted, *expected, "{value:?} to {ty}");
}

fn check_error(value: &Value, ty: &Type, message: &str) {
    match convert(value, ty) {
        Ok(converted) => panic!("{value:?} to {ty} gave {converted:?}"),
        Err(error) => assert_eq!(error.to_string(), message),
    }
}

#[test]
fn converts_primitives() {
    check(&number("1.50"), &Type::String, &"1.5".into());
    check(&true.into(), &Type::String, &"true".into());
    check(&"1e3".into(), &Type::Number, &number("1000"));
    check(&"1".into(), &Type::Bool, &true.into());
    check(&"false".into(), &Type::Bool, &false.into());
    check_error(&"x".into(), &Type::Number, "a number is required");
    check_error(&true.into(), &Type::Number, "a number is required");
    check_error(&"yes".into(), &Type::Bool, "a bool is required");
    check_error(
        &"TRUE".into(),
        &Type::Bool,
        "a bool is required; to convert from a string, use lowercase \"true\"",
    );
    check_error(&1.into(), &Type::Bool, "a bool is required");
}

#[test]
fn converts_collections() {
    let tuple = Value::tuple([1.into(), "b".into(), Value::null(Type::Dynamic)]);
    let null = Value::null(Type::String);
    let list = Value::list(Type::String, ["1".into(), "b".into(), null.clone()]);
    let set = Value::set(Type::String, ["1".into(), "b".into(), null]);
    check(&tuple, &Type::list(Type::String), &list);
    check(&tuple, &Type::list(Type::Dynamic), &list);
    check(&tuple, &Type::set(Type::Dynamic), &set);
    check(&list, &Type::set(Type::String), &set);
    check(&set, &Type::list(Type::Dynamic), &list);
    let numbers = Value::list(Type::Number, [2.into(), 1.into(), 2.into()]);
    check(&numbers, &Type::set(Type::String), &Value::set(Type::String, ["1".into(), "2".into()]));
    check(&Value::tuple([]), &Type::set(Type::Dynamic), &Value::set(Type::Dynamic, []));
    check(&Value::tuple([]), &Type::list(Type::Bool), &Value::list(Type::Bool, []));
    check(&Value::list(Type::Bool, []), &Type::set(Type::Dynamic), &Value::set(Type::Bool, []));
    let object = Value::object([("a", 1.into()), ("b", "x".into())]);
    let map = Value::map(Type::String, [("a".into(), "1".into()), ("b".into(), "x".into())]);
    check(&object, &Type::map(Type::Dynamic), &map);
    check(&object, &Type::map(Type::String), &map);
    check_error(&object, &Type::map(Type::Number), "element \"b\": a number is required");
    check_error(&tuple, &Type::list(Type::Number), "element 1: a number is required");
    let mixed = Value::tuple([1.into(), true.into()]);
    check_error(&mixed, &Type::list(Type::Dynamic), "all list elements must have the same type");
    let nested = Value::tuple([Value::tuple([]), "x".into()]);
    check_error(&nested, &Type::list(Type::list(Type::Bool)), "element 1: a list of bool is required");
    check_error(
        &Value::list(Type::list(Type::Bool), []),
        &Type::list(Type::String),
        "incorrect list element type: a string is required",
    );
}

#[test]
fn converts_objects() {
    let ty = optional(&[("a", Type::String, false), ("b", optional(&[("c", Type::Bool, true)]), true)]);
    let plain_inner = Type::object([("c", Type::Bool)]);
    check(
        &Value::object([("a", 1.into()), ("extra", true.into())]),
        &ty,
        &Value::object([("a", "1".into()), ("b", Value::null(plain_inner.clone()))]),
    );
    let inner = Value::object([("c", Value::null(Type::Bool))]);
    check(
        &Value::object([("a", "x".into()), ("b", Value::empty_object())]),
        &ty,
        &Value::object([("a", "x".into()), ("b", inner)]),
    );
    check_error(&Value::empty_object(), &ty, "attribute \"a\" is required");
    let three = Type::object([("a", Type::Bool), ("b", Type::Bool), ("c", Type::Bool)]);
    check_error(&Value::empty_object(), &three, "attributes \"a\", \"b\", and \"c\" are required");
    let map = Value::map(Type::String, [("a".into(), "1".into()), ("z".into(), "x".into())]);
    check(&map, &Type::object([("a", Type::Number)]), &Value::object([("a", 1.into())]));
    check_error(&map, &Type::object([("b", Type::Number)]), "attribute \"b\" is required");
    check_error(&map, &Type::object([("z", Type::Number)]), "element \"z\": a number is required");
    let wrong = Value::object([("a", Value::tuple([]))]);
    check_error(&wrong, &Type::object([("a", Type::Bool)]), "attribute \"a\": a bool is required");
    let list = Value::tuple([Value::object([("a", "x".into())])]);
    check_error(
        &list,
        &Type::list(Type::object([("a", Type::Number)])),
        "element 0: attribute \"a\": a number is required",
    );
    check_error(&"x".into(), &three, "an object is required");
}

#[test]
fn unifies_elements_with_differing_dynamic_types() {
    let ty = Type::list(optional(&[("a", Type::Dynamic, true)]));
    let tuple = Value::tuple([Value::object([("a", 1.into())]), Value::object([("a", "x".into())])]);
    let expected = Value::list(
        Type::object([("a", Type::String)]),
        [Value::object([("a", "1".into())]), Value::object([("a", "x".into())])],
    );
    check(&tuple, &ty, &expected);
}

#[test]
fn null_and_unknown_receive_target_type() {
    let ty = optional(&[("a", Type::String, true)]);
    let plain = Type::object([("a", Type::String)]);
    check(&Value::null(Type::Dynamic), &ty, &Value::null(plain.clone()));
    check(&Value::unknown(Type::Dynamic), &ty, &Value::unknown(plain));
    let known = Value::unknown_with(Type::Number, Refinement::not_null());
    check(&known, &Type::String, &Value::unknown_with(Type::String, Refinement::not_null()));
    let bounded =
        Refinement { lower: Some(Bound { value: 1i64.into(), inclusive: true }), ..Refinement::default() };
    check(&Value::unknown_with(Type::Number, bounded), &Type::String, &Value::unknown(Type::String));
    let tuple = Value::unknown_with(Type::tuple([Type::Bool, Type::Bool]), Refinement::not_null());
    let pair = [Value::unknown(Type::String), Value::unknown(Type::String)];
    check(&tuple, &Type::list(Type::String), &Value::list(Type::String, pair));
    let sized = Refinement { min_length: Some(1), max_length: Some(2), ..Refinement::not_null() };
    check(&tuple, &Type::set(Type::Bool), &Value::unknown_with(Type::set(Type::Bool), sized));
    let dynamic = Type::list(Type::Dynamic);
    check(&Value::unknown(Type::set(Type::Bool)), &dynamic, &Value::unknown(Type::list(Type::Bool)));
    check(&Value::null(Type::tuple([Type::Bool])), &dynamic, &Value::null(Type::list(Type::Bool)));
    let half = Value::set(Type::String, ["a".into(), Value::unknown(Type::String)]);
    check(&half, &Type::list(Type::String), &Value::unknown(Type::list(Type::String)));
    let single = Value::set(Type::String, [Value::unknown(Type::String)]);
    check(&single, &Type::list(Type::String), &Value::list(Type::String, [Value::unknown(Type::String)]));
}

#[test]
fn conversion_keeps_marks() {
    let secret = |value: Value| value.with_marks(Marks::SENSITIVE);
    check(&secret(1.into()), &Type::String, &secret("1".into()));
    let tuple = secret(Value::tuple([secret(1.into())]));
    check(&tuple, &Type::list(Type::String), &secret(Value::list(Type::String, [secret("1".into())])));
    let set = secret(Value::set(Type::String, ["1".into()]));
    check(&Value::tuple([secret(1.into())]), &Type::set(Type::String), &set);
}

fn check_unify(types: &[Type], expected: Option<&Type>) {
    assert_eq!(unify(types).as_ref(), expected, "{types:?}");
    let backwards: Vec<Type> = types.iter().rev().cloned().collect();
    assert_eq!(unify(&backwards).as_ref(), expected, "{backwards:?}");
}

#[test]
fn unifies_types() {
    let (s, n, b, any) = (Type::String, Type::Number, Type::Bool, Type::Dynamic);
    let list = |ty: &Type| Type::list(ty.clone());
    let map = |ty: &Type| Type::map(ty.clone());
    let set = |ty: &Type| Type::set(ty.clone());
    let tuple = |types: &[&Type]| Type::tuple(types.iter().map(|ty| (*ty).clone()));
    let object = |attributes: &[(&str, &Type)]| {
        Type::object(attributes.iter().map(|(name, ty)| (*name, (*ty).clone())))
    };
    check_unify(&[], None);
    check_unify(&[n.clone(), s.clone(), b.clone()], Some(&s));
    check_unify(&[n.clone(), b.clone()], None);
    check_unify(&[s.clone(), any.clone()], Some(&s));
    check_unify(&[list(&s), list(&n)], Some(&list(&s)));
    check_unify(&[list(&b), list(&n)], None);
    check_unify(&[list(&s), any.clone()], Some(&any));
    check_unify(&[list(&n), tuple(&[&s, &n])], Some(&list(&s)));
    check_unify(&[map(&n), object(&[("a", &s)])], Some(&map(&s)));
    check_unify(&[tuple(&[&n]), tuple(&[&s])], Some(&tuple(&[&s])));
    check_unify(&[tuple(&[&n]), tuple(&[&s, &s])], Some(&list(&s)));
    check_unify(&[tuple(&[]), tuple(&[&n])], Some(&list(&n)));
    check_unify(&[object(&[("a", &n)]), object(&[("a", &s)])], Some(&object(&[("a", &s)])));
    check_unify(&[object(&[("a", &n)]), object(&[("b", &s)])], Some(&map(&s)));
    check_unify(&[object(&[("a", &n)]), object(&[("a", &b)])], None);
    check_unify(&[object(&[("a", &n)]), tuple(&[&n])], None);
    check_unify(&[object(&[("a", &n)]), any.clone()], Some(&any));
    check_unify(&[set(&n), list(&n)], Some(&list(&n)));
    check_unify(&[set(&n), tuple(&[&n])], Some(&set(&n)));
    check_unify(&[s.clone(), list(&s)], None);
}

#[test]
fn unify_values_converts_all_values() {
    let (ty, values) = unify_values(&[1.into(), "a".into(), Value::null(Type::Dynamic)]).unwrap();
    assert_eq!(ty, Type::String);
    assert_eq!(values, ["1".into(), "a".into(), Value::null(Type::String)]);
    assert!(unify_values(&[1.into(), true.into()]).is_err());
    let (ty, values) = unify_values(&[string_list(&["a"]), Value::unknown(Type::Dynamic)]).unwrap();
    assert_eq!(ty, Type::Dynamic);
    assert!(values.iter().all(|value| !value.is_known()));
}

#[test]
fn decoding_cost_is_linear() {
    let object = |index: i64| Value::object([("id", index.into()), ("name", "x".into())]);
    let tuple = Value::tuple((0..100_000).map(object));
    let ty = Type::list(Type::object([("id", Type::String), ("name", Type::String)]));
    let start = Instant::now();
    let list = convert(&tuple, &ty).unwrap();
    assert_eq!(list.as_elements().map(<[Value]>::len), Some(100_000));
    let dynamic = convert(&tuple, &Type::list(Type::Dynamic)).unwrap();
    assert_eq!(dynamic.ty(), &Type::list(object(0).ty().clone()));
    convert(&list, &Type::set(Type::Dynamic)).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn unifies_differing_elements_of_lists_but_not_sets() {
    let object = |x: Value| Value::object([("x", x)]);
    let element = optional(&[("x", Type::Dynamic, true)]);
    let nothing: [(crate::Str, Value); 0] = [];
    let empty = Value::object(nothing);
    let typed = Type::object([(crate::Str::new("x"), Type::Number)]);
    let null = object(Value::null(Type::Number));
    let two = Value::tuple([empty.clone(), object(1.into())]);
    check(&two, &Type::list(element.clone()), &Value::list(typed.clone(), [null.clone(), object(1.into())]));
    let two_by_name = Value::object([("a", empty.clone()), ("b", object(1.into()))]);
    let map = Value::map(typed, [("a".into(), null), ("b".into(), object(1.into()))]);
    check(&two_by_name, &Type::map(element.clone()), &map);
    check_error(&two, &Type::set(element.clone()), "all set elements must have the same type");
    let unlike = Value::tuple([empty, object(Value::tuple([1.into()]))]);
    check_error(&unlike, &Type::list(element), "all list elements must have the same type");
    let lists = Value::tuple([Value::tuple([]), Value::tuple([1.into()])]);
    let numbers = |items: &[i64]| Value::list(Type::Number, items.iter().map(|item| Value::from(*item)));
    let expected = Value::list(Type::list(Type::Number), [numbers(&[]), numbers(&[1])]);
    check(&lists, &Type::list(Type::list(Type::Dynamic)), &expected);
}

proptest! {
    #[test]
    fn value_converts_to_own_type_and_dynamic((ty, value) in any_typed_value(true)) {
        prop_assert_eq!(&convert(&value, &ty).unwrap(), &value);
        prop_assert_eq!(&convert(&value, &Type::Dynamic).unwrap(), &value);
    }

    #[test]
    fn conversion_yields_target_type_and_is_idempotent((_, value) in any_typed_value(true), ty in any_type()) {
        if let Ok(converted) = convert(&value, &ty) {
            prop_assert_eq!(converted.ty(), &ty);
            prop_assert_eq!(convert(&converted, &ty).unwrap(), converted);
        }
    }

    #[test]
    fn all_values_convert_to_common_type((_, a) in any_typed_value(true), (_, b) in any_typed_value(true)) {
        if let Some(common) = unify(&[a.ty().clone(), b.ty().clone()]) {
            prop_assert!(possible::is_possible(a.ty(), &common));
            if let Ok((ty, values)) = unify_values(&[a, b]) {
                prop_assert_eq!(&ty, &common);
                prop_assert!(values.iter().all(|value| value.ty() == &ty));
            }
        }
    }

    #[test]
    fn structures_convert_to_collections_of_dynamic((_, value) in any_typed_value(true)) {
        for target in [Type::list(Type::Dynamic), Type::set(Type::Dynamic), Type::map(Type::Dynamic)] {
            if let Ok(converted) = convert(&value, &target) {
                prop_assert!(converted.ty().is_collection());
                for element in converted.as_elements().unwrap_or_default() {
                    prop_assert_eq!(Some(element.ty()), converted.ty().element());
                }
            }
        }
    }
}
