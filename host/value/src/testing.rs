//! Generates arbitrary types and values for property tests.

use proptest::prelude::*;

use crate::{Bound, Number, Refinement, Str, Type, Value};

/// Generates any type that a value can have, with a few levels of nesting.
pub(crate) fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::Bool), Just(Type::Number), Just(Type::String)];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Type::tuple),
            prop::collection::btree_map("[a-e]{1,2}", inner, 0..4).prop_map(Type::object),
        ]
    })
}

pub(crate) fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        (-100i64..100).prop_map(Number::from),
        "-?[0-9]{1,30}\\.[0-9]{1,30}".prop_map(|text| Number::parse(&text).unwrap()),
        // Large doubles are excluded: printing rounds them, but integers are compared exactly, so
        // they would not round-trip.
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| Number::from_f64(value % 1e9).unwrap()),
    ]
}

fn any_refinement(ty: &Type) -> BoxedStrategy<Refinement> {
    let not_null = any::<bool>();
    match ty {
        Type::String => (not_null, proptest::option::of("[a-z]{1,5}-"))
            .prop_map(|(not_null, prefix)| Refinement {
                not_null,
                prefix: prefix.map(|prefix| Str::new(&prefix)),
                ..Refinement::default()
            })
            .boxed(),
        Type::Number => {
            (not_null, proptest::option::of(-9i64..0), proptest::option::of(1i64..9), any::<bool>())
                .prop_map(|(not_null, lower, upper, inclusive)| {
                    let bound = |value: i64| Bound { value: value.into(), inclusive };
                    Refinement {
                        not_null,
                        lower: lower.map(bound),
                        upper: upper.map(bound),
                        ..Refinement::default()
                    }
                })
                .boxed()
        }
        Type::List(_) | Type::Set(_) | Type::Map(_) => {
            (not_null, proptest::option::of(1usize..3), proptest::option::of(4usize..9))
                .prop_map(|(not_null, min_length, max_length)| Refinement {
                    not_null,
                    min_length,
                    max_length,
                    ..Refinement::default()
                })
                .boxed()
        }
        _ => not_null.prop_map(|not_null| Refinement { not_null, ..Refinement::default() }).boxed(),
    }
}

/// Generates any value of the type. Nested values are sometimes null or, if `unknowns` is set,
/// unknown.
pub(crate) fn any_value(ty: Type, unknowns: bool) -> BoxedStrategy<Value> {
    let known = match &ty {
        Type::Bool => any::<bool>().prop_map(Value::bool).boxed(),
        Type::Number => any_number().prop_map(Value::number).boxed(),
        Type::String => {
            prop_oneof!["[a-c]{0,2}", "\\PC{0,8}", any::<String>()].prop_map(Value::string).boxed()
        }
        Type::List(element) => {
            let element = (**element).clone();
            prop::collection::vec(any_value(element.clone(), unknowns), 0..4)
                .prop_map(move |elements| Value::list(element.clone(), elements))
                .boxed()
        }
        Type::Set(element) => {
            let element = (**element).clone();
            prop::collection::vec(any_value(element.clone(), unknowns), 0..4)
                .prop_map(move |elements| Value::set(element.clone(), elements))
                .boxed()
        }
        Type::Map(element) => {
            let element = (**element).clone();
            prop::collection::btree_map("\\PC{0,3}", any_value(element.clone(), unknowns), 0..4)
                .prop_map(move |elements| {
                    let elements = elements.into_iter().map(|(key, value)| (Str::from(key), value));
                    Value::map(element.clone(), elements)
                })
                .boxed()
        }
        Type::Tuple(types) => types
            .iter()
            .map(|ty| any_value(ty.clone(), unknowns))
            .collect::<Vec<_>>()
            .prop_map(Value::tuple)
            .boxed(),
        Type::Object(object) => {
            let names: Vec<Str> = object.iter().map(|(name, _)| name.clone()).collect();
            object
                .iter()
                .map(|(_, ty)| any_value(ty.clone(), unknowns))
                .collect::<Vec<_>>()
                .prop_map(move |values| Value::object(names.iter().cloned().zip(values)))
                .boxed()
        }
        Type::Dynamic => any_type().prop_flat_map(move |ty| any_value(ty, unknowns)).boxed(),
    };
    let null = Just(Value::null(ty.clone()));
    if unknowns {
        let unknown = any_refinement(&ty).prop_map({
            let ty = ty.clone();
            move |refinement| Value::unknown_with(ty.clone(), refinement)
        });
        prop_oneof![8 => known, 1 => null, 1 => unknown].boxed()
    } else {
        prop_oneof![8 => known, 1 => null].boxed()
    }
}

/// Generates a type and a value of it.
pub(crate) fn any_typed_value(unknowns: bool) -> impl Strategy<Value = (Type, Value)> {
    any_type().prop_flat_map(move |ty| (Just(ty.clone()), any_value(ty, unknowns)))
}
