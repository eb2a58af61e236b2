//! The functions that accept collections of any kind.

use wardian_value::{Bound, Number, Refinement, Type, Value, View, convert, graphemes};

use super::{Body, Failure, Function, Outcome, ParameterType, ResultType};
use super::{any, parameter, unknown_result};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "alltrue",
        &[parameter("list", ParameterType::ListOfBool)],
        ResultType::Bool,
        Body::Pure(alltrue),
    ),
    Function::new(
        "anytrue",
        &[parameter("list", ParameterType::ListOfBool)],
        ResultType::Bool,
        Body::Pure(anytrue),
    ),
    Function::new("coalesce", &[], ResultType::Of(coalesce_type), Body::Pure(coalesce))
        .variadic(any("vals").null().unknown().dynamic()),
    Function::new("contains", &[any("list"), any("value")], ResultType::Bool, Body::Pure(contains)),
    Function::new(
        "length",
        &[any("value").unknown().dynamic().marked()],
        ResultType::Number,
        Body::Pure(length),
    ),
];

fn alltrue(arguments: &[Value]) -> Outcome {
    Ok(decide(&arguments[0], false))
}

fn anytrue(arguments: &[Value]) -> Outcome {
    Ok(decide(&arguments[0], true))
}

/// Returns whether `decisive` is one of the elements. Nulls are treated as false.
fn decide(list: &Value, decisive: bool) -> Value {
    let mut unknown = false;
    for element in list.as_elements().unwrap_or(&[]) {
        if !element.is_known() {
            unknown = true;
        } else if element.as_bool().unwrap_or(false) == decisive {
            return Value::bool(decisive);
        }
    }
    if unknown { unknown_result(Type::Bool) } else { Value::bool(!decisive) }
}

fn coalesce_type(arguments: &[Value]) -> Result<Type, Failure> {
    let types: Vec<Type> = arguments.iter().map(|argument| argument.ty().clone()).collect();
    match types.as_slice() {
        [] => Err(Failure::call("at least one argument is needed")),
        [first, rest @ ..] if rest.iter().all(|ty| ty == first) => Ok(first.clone()),
        _ => convert::unify(&types).ok_or_else(|| Failure::call("all arguments must have the same type")),
    }
}

fn coalesce(arguments: &[Value]) -> Outcome {
    let ty = coalesce_type(arguments)?;
    for argument in arguments {
        if argument.is_null() {
            continue;
        }
        let argument = convert::convert(argument, &ty).map_err(|error| Failure::Call(error.to_string()))?;
        if !argument.is_known() {
            // The argument may turn out to be null or empty, but the result is neither.
            return Ok(unknown_result(ty));
        }
        if argument.as_str() != Some("") {
            return Ok(argument);
        }
    }
    Err(Failure::call("every argument is null or an empty string"))
}

fn contains(arguments: &[Value]) -> Outcome {
    let (list, wanted) = (&arguments[0], &arguments[1]);
    if !matches!(list.ty(), Type::List(_) | Type::Set(_) | Type::Tuple(_)) {
        return Err(Failure::argument(
            0,
            format!("a list, tuple or set is needed, not a {}", list.ty().friendly_name()),
        ));
    }
    let mut unknown = false;
    for element in list.as_elements().unwrap_or(&[]) {
        if element.is_null() && !wanted.is_null() {
            continue;
        }
        match element.equals(wanted).as_bool() {
            Some(true) => return Ok(Value::bool(true)),
            Some(false) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { unknown_result(Type::Bool) } else { Value::bool(false) })
}

/// Returns the number of elements. Marks of the elements do not make this number sensitive.
fn length(arguments: &[Value]) -> Outcome {
    let value = &arguments[0];
    let length = match (value.view(), value.ty()) {
        (View::String(text), _) => Some(graphemes(text).count()),
        (View::List(items) | View::Tuple(items), _) => Some(items.len()),
        // Unknown elements of a set may turn out to be equal.
        (View::Set(items), _) if value.is_wholly_known() || items.len() <= 1 => Some(items.len()),
        (View::Map(items) | View::Object(items), _) => Some(items.len()),
        (_, Type::Tuple(types)) => Some(types.len()),
        (_, Type::Object(object)) => Some(object.len()),
        (_, Type::Number | Type::Bool) => {
            return Err(Failure::call(format!(
                "a string, collection, object or tuple is needed, not a {}",
                value.ty().friendly_name()
            )));
        }
        _ => None,
    };
    let result = match length {
        Some(length) => Value::number(Number::from(length)),
        None => {
            let bound = |value: Number| Bound { value, inclusive: true };
            let known = value.refinement();
            let (lower, upper) = match value.view() {
                View::Set(items) => (Some(1), Some(Number::from(items.len()))),
                _ if value.ty().is_collection() => (
                    known.and_then(|known| known.min_length).or(Some(0)),
                    Some(known.and_then(|known| known.max_length).map_or(i64::MAX.into(), Number::from)),
                ),
                _ if *value.ty() == Type::Dynamic => (None, None),
                _ => (Some(0), None),
            };
            Value::unknown_with(
                Type::Number,
                Refinement {
                    not_null: true,
                    lower: lower.map(|lower| bound(lower.into())),
                    upper: upper.map(bound),
                    ..Refinement::default()
                },
            )
        }
    };
    Ok(result.with_marks(value.marks()))
}
